//! A record in words.

use std::collections::BTreeMap;

use skillpkg_schema::QualifiedName;
use skillpkg_schema::log::{Record, Subject};

use crate::web::link;
use crate::web::text::Text;

/// A record in words.
#[derive(Debug)]
pub(super) struct Told {
    /// What was done.
    pub(super) what: &'static str,
    /// What it was done to.
    pub(super) to: Text,
    /// The page of that.
    pub(super) link: Option<String>,
    /// Who did it.
    pub(super) by: Option<Text>,
    /// What else is said.
    pub(super) said: Option<Text>,
    /// When.
    pub(super) at: String,
    /// Whether it is of the log's own doing.
    pub(super) is_own: bool,
}

impl Told {
    /// A record in words.
    pub(super) fn of(record: &Record) -> Self {
        let mut told = Self {
            what: "",
            to: Text::from(""),
            link: record.subject.skill().map(link::skill),
            by: None,
            said: None,
            at: record.at.trim_end_matches('Z').replacen('T', " ", 1),
            is_own: false,
        };
        let by = |by: &Option<String>| Some(by.as_deref().unwrap_or("an operator").into());
        let skill = |name: &QualifiedName| Text::from(name.to_string());
        match &record.subject {
            Subject::Publish { name, version, account, .. } => {
                told.what = "published";
                told.to = format!("{name} {version}").into();
                told.link = Some(link::version(name, version));
                told.by = Some(account.as_str().into());
            }
            Subject::Yank { name, version, reason, by: who } => {
                told.what = "yanked";
                told.to = format!("{name} {version}").into();
                told.link = Some(link::version(name, version));
                (told.by, told.said) = (by(who), Some(reason.as_str().into()));
            }
            Subject::Unyank { name, version, by: who } => {
                told.what = "yank taken back";
                told.to = format!("{name} {version}").into();
                told.link = Some(link::version(name, version));
                told.by = by(who);
            }
            Subject::VersionDeleted { name, version, reason } => {
                told.what = "version deleted";
                told.to = format!("{name} {version}").into();
                told.said = Some(reason.as_str().into());
            }
            Subject::NameDeleted { name, reason } => {
                (told.what, told.to, told.link) = ("name deleted", skill(name), None);
                told.said = Some(reason.as_str().into());
            }
            Subject::OwnerAdded { name, account, by: who } => {
                (told.what, told.to) = ("owner added", skill(name));
                (told.by, told.said) = (by(who), Some(account.as_str().into()));
            }
            Subject::OwnerRemoved { name, account, by: who } => {
                (told.what, told.to) = ("owner removed", skill(name));
                (told.by, told.said) = (by(who), Some(account.as_str().into()));
            }
            Subject::ScopeAdded { scope } => {
                (told.what, told.to) = ("scope made", scope.to_string().into());
                told.link = Some(format!("/scopes/{scope}"));
            }
            Subject::MemberAdded { scope, account, role, by: who } => {
                (told.what, told.to) = ("member added", scope.to_string().into());
                told.link = Some(format!("/scopes/{scope}"));
                (told.by, told.said) = (by(who), Some(format!("{account}, {role}").into()));
            }
            Subject::MemberRemoved { scope, account, by: who } => {
                (told.what, told.to) = ("member removed", scope.to_string().into());
                told.link = Some(format!("/scopes/{scope}"));
                (told.by, told.said) = (by(who), Some(account.as_str().into()));
            }
            Subject::KeyAdded { account, key } => {
                (told.what, told.to) = ("key added", account.as_str().into());
                told.link = Some(format!("/people/{}", link::segment(account)));
                told.said = Some(key.short().into());
            }
            Subject::KeyRevoked { account, key, reason } => {
                (told.what, told.to) = ("key revoked", account.as_str().into());
                told.link = Some(format!("/people/{}", link::segment(account)));
                let reason = reason.as_deref().map_or_else(String::new, |why| format!(": {why}"));
                told.said = Some(format!("{}{reason}", key.short()).into());
            }
            Subject::Advisory { id, name, versions, summary, by: who, .. } => {
                (told.what, told.to) = ("advisory", skill(name));
                (told.by, told.said) =
                    (by(who), Some(format!("{id}, {versions}: {summary}").into()));
            }
            Subject::AdvisoryWithdrawn { id, name, by: who } => {
                (told.what, told.to) = ("advisory withdrawn", skill(name));
                (told.by, told.said) = (by(who), Some(id.as_str().into()));
            }
            Subject::TrustedPublisherAdded { name, issuer, claims, by: who, .. } => {
                (told.what, told.to) = ("build jobs trusted", skill(name));
                (told.by, told.said) = (by(who), Some(jobs(issuer, claims)));
            }
            Subject::TrustedPublisherRemoved { name, id, by: who } => {
                (told.what, told.to) = ("build jobs trusted no more", skill(name));
                (told.by, told.said) = (by(who), Some(id.as_str().into()));
            }
            Subject::LogIdentity { number, .. } => {
                (told.what, told.to) = ("identity of the log", number.to_string().into());
                told.is_own = true;
            }
            Subject::Heads { .. } => {
                told.what = "root of all documents";
                told.is_own = true;
            }
            Subject::Blinded { .. } => told.what = "something of a private scope",
        }
        told
    }
}

/// Which jobs are trusted.
fn jobs(issuer: &str, claims: &BTreeMap<String, String>) -> Text {
    let claims = claims.iter().map(|(claim, value)| format!(", {claim} {value}"));
    format!("{issuer}{}", claims.collect::<String>()).into()
}
