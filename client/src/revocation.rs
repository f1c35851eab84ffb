//! Keys that their account revoked: what a registry's document says of them, and what they may still
//! vouch for.

use serde::{Deserialize, Serialize};
use skillpkg_schema::diagnostic::{escape, escape_whole};
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::wire::{Document, SignerKey, VersionEntry};
use skillpkg_schema::{ContentAddress, QualifiedName};
use url::Url;

use crate::Error;
use crate::registry::Registry;
use crate::settings::registry_text;
use crate::state::{Pinned, Signers, State};
use crate::trust::Trust;

/// That a key was revoked, and what it signed before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Revocation {
    pub(crate) key: KeyId,
    pub(crate) account: String,
    /// When, as the registry writes it.
    pub(crate) when: String,
    /// Why, in the account's words, where it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// The snapshots that the document lists as signed with the key.
    listed: Vec<ContentAddress>,
}

impl Revocation {
    /// What a document says of a key of it; [`None`] where the key is not revoked.
    pub(crate) fn of(document: &Document, signer: &SignerKey) -> Option<Self> {
        // Both are leaves of the registry's log, which has an order that no clock changes.
        let is_before = |entry: &&VersionEntry| {
            signer.revoked_index.zip(entry.log_index).is_none_or(|(key, version)| version < key)
        };
        let versions = document.versions.iter().filter(|entry| entry.key_ids.contains(&signer.id));
        let listed = versions.filter(is_before);
        signer.revoked.as_ref().map(|when| Self {
            key: signer.id,
            account: signer.account.clone(),
            when: when.clone(),
            why: signer.reason.clone(),
            listed: listed.map(|entry| entry.address).collect(),
        })
    }

    /// What a document says of each key of it that is revoked.
    pub(crate) fn all_of(document: &Document) -> Vec<Self> {
        document.keys.iter().filter_map(|signer| Self::of(document, signer)).collect()
    }

    /// Whether the key may still vouch for a snapshot: the registry took it in before the key was
    /// revoked. Anything else may be the work of whoever has the key now.
    pub(crate) fn allows(&self, address: &ContentAddress) -> bool {
        self.listed.contains(address)
    }

    /// What two registries say of one key: it may vouch for what both list.
    pub(crate) fn and(mut self, other: &Self) -> Self {
        self.listed.retain(|address| other.listed.contains(address));
        self
    }

    /// Why the key does not vouch for a snapshot that was not taken in before, a phrase; safe to
    /// print.
    pub(crate) fn refusal(&self) -> String {
        let reason = self.reason();
        format!("{reason}, and the registry does not list it among what the key signed before")
    }

    /// That the key was revoked, a phrase; safe to print.
    pub(crate) fn reason(&self) -> String {
        let (key, account) = (self.key.short(), escape(&self.account));
        let when = escape(&self.when);
        let why = self.why.as_deref().map(|why| format!(" (\"{}\")", escape_whole(why)));
        let why = why.unwrap_or_default();
        format!("it is signed with key {key} of `{account}`, which was revoked on {when}{why}")
    }
}

/// What the registries say of revoked keys that the user knows a name from.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// What they say, of each key that one of them says was revoked.
    pub(crate) revoked: Vec<Revocation>,
    /// Why one did not answer.
    pub(crate) unanswered: Vec<Error>,
}

/// Asks the registry of the user's configuration, and those at which somebody is pinned for `name`,
/// which keys were revoked, and remembers it: all but the one at `asked`, which was asked already.
///
/// Of an archive in a file a project decides which registry is asked, by naming its own; it must not
/// decide thereby that nobody hears of a revoked key. These tell that alone: they bring in no key,
/// and one at which the name is pinned speaks of the keys pinned there.
pub(crate) async fn of_known_registries(
    trust: &Trust<'_>,
    (state, signers): (&State, &Signers),
    name: &QualifiedName,
    asked: Option<&Url>,
) -> Result<Told, Error> {
    let settings = trust.settings();
    let mut registries: Vec<(Url, Option<&Pinned>)> = Vec::new();
    // A scope that is bound to a registry is asked for there and nowhere else.
    if name.scope().is_none_or(|scope| !settings.routes.contains_key(scope)) {
        registries.extend(settings.configured_registry.iter().map(|url| (url.clone(), None)));
        registries.extend(signers.registries_of(name).map(|(url, pinned)| (url, Some(pinned))));
    }
    let mut done: Vec<String> = asked.iter().map(|url| registry_text(url).to_owned()).collect();
    let mut told = Told::default();
    for (url, pinned) in registries {
        let text = registry_text(&url).to_owned();
        if done.contains(&text) {
            continue;
        }
        done.push(text);
        match document(trust, &url, name).await {
            Ok(None) => {}
            Ok(Some(document)) => {
                state.learn_revocations(signers, [(&url, &document)])?;
                let speaks_of =
                    |one: &Revocation| pinned.is_none_or(|pinned| pinned.keys.contains(&one.key));
                told.revoked.extend(Revocation::all_of(&document).into_iter().filter(speaks_of));
            }
            Err(error) => told.unanswered.push(error),
        }
    }
    Ok(told)
}

async fn document(
    trust: &Trust<'_>,
    url: &Url,
    name: &QualifiedName,
) -> Result<Option<Document>, Error> {
    let choice = trust.settings().registry_at(url);
    let registry = Registry::chosen(trust.settings(), &choice)?;
    let (found, _) = trust.document(&registry, name).await?;
    Ok(found.map(|found| found.document))
}
