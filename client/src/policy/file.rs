//! What one policy's file says.

use std::collections::BTreeMap;

use regex::Regex;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::finding::{FindingKind, Severity};
use skillpkg_schema::log::NoteKey;
use skillpkg_schema::signature::KeyId;
use url::Url;

use super::duration::Age;
use super::place::{Place, Placed};
use super::rule::Rule;
use super::sources::Whose;
use crate::settings::registry_text;

/// What one policy's file says. What it does not say it does not rule.
#[derive(Debug, Clone)]
pub(super) struct PolicyFile {
    pub(super) whose: Whose,
    pub(super) registries: Option<Placed<Vec<Origin>>>,
    /// Scopes; that of names without one is `_`.
    pub(super) scopes: Option<Placed<Vec<String>>>,
    /// By `scope`, `scope/name` or `*`.
    pub(super) signers: BTreeMap<String, Placed<Vec<KeyId>>>,
    pub(super) minimum_release_age: Option<Placed<Age>>,
    pub(super) maximum_checkpoint_age: Option<Placed<Age>>,
    pub(super) witnesses: Option<Witnesses>,
    pub(super) require_log: Option<Placed<bool>>,
    pub(super) forbid_programs: Vec<Placed<String>>,
    pub(super) forbid_runners: Vec<Placed<String>>,
    pub(super) forbid_run: Vec<Placed<Regex>>,
    pub(super) new_executables: Option<Placed<NewExecutables>>,
    pub(super) findings: BTreeMap<FindingKind, Placed<Severity>>,
}

/// Where a skill may come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    Registry(Url),
    /// An archive in a file.
    File,
}

/// Whether an update may bring what the version before did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewExecutables {
    /// After a yes to it, as without a policy.
    Ask,
    /// It may not.
    Refuse,
}

/// Witnesses of which a quorum must have signed a registry's checkpoint, as one policy names them.
///
/// Where several policies name witnesses, a checkpoint has to satisfy each of them by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witnesses {
    /// Their keys, with which they sign checkpoints and a time (C2SP tlog-cosignature).
    pub keys: Vec<NoteKey>,
    /// How many of them must have signed; from 1 to the number of keys.
    pub quorum: usize,
    /// Where the policy says so.
    pub place: Place,
}

/// The text of a rule that lets archives in files in, among the registries.
pub(super) const FILES: &str = "file:";

impl Origin {
    pub(super) fn shown(&self) -> &str {
        match self {
            Self::Registry(url) => registry_text(url),
            Self::File => FILES,
        }
    }
}

impl PolicyFile {
    /// One that rules nothing.
    pub(super) fn empty(whose: Whose) -> Self {
        Self {
            whose,
            registries: None,
            scopes: None,
            signers: BTreeMap::new(),
            minimum_release_age: None,
            maximum_checkpoint_age: None,
            witnesses: None,
            require_log: None,
            forbid_programs: Vec::new(),
            forbid_runners: Vec::new(),
            forbid_run: Vec::new(),
            new_executables: None,
            findings: BTreeMap::new(),
        }
    }

    /// Every rule with its value, as it would be written, and where it stands; in the order of
    /// [`Rule::ALL`]. Safe to print.
    pub(super) fn shown(&self) -> Vec<(Rule, String, Place)> {
        let mut shown = Vec::new();
        let mut add = |rule: Rule, value: String, place: &Place| {
            shown.push((rule, value, place.clone()));
        };
        if let Some(registries) = &self.registries {
            let texts = registries.value.iter().map(Origin::shown);
            add(Rule::Registries, list(texts), &registries.place);
        }
        if let Some(scopes) = &self.scopes {
            add(Rule::Scopes, list(scopes.value.iter().map(String::as_str)), &scopes.place);
        }
        for (whom, keys) in &self.signers {
            let ids: Vec<String> = keys.value.iter().map(KeyId::to_string).collect();
            let value = format!("{} = {}", quoted(whom), list(ids.iter().map(String::as_str)));
            add(Rule::Signers, value, &keys.place);
        }
        if let Some(age) = &self.minimum_release_age {
            add(Rule::MinimumReleaseAge, quoted(&age.value.to_string()), &age.place);
        }
        if let Some(age) = &self.maximum_checkpoint_age {
            add(Rule::MaximumCheckpointAge, quoted(&age.value.to_string()), &age.place);
        }
        if let Some(Witnesses { keys, quorum, place }) = &self.witnesses {
            let keys: Vec<String> = keys.iter().map(NoteKey::to_string).collect();
            let keys = list(keys.iter().map(String::as_str));
            add(Rule::Witnesses, format!("{keys}, quorum = {quorum}"), place);
        }
        if let Some(required) = &self.require_log {
            add(Rule::RequireLog, required.value.to_string(), &required.place);
        }
        for program in &self.forbid_programs {
            add(Rule::ForbidPrograms, quoted(&program.value), &program.place);
        }
        for runner in &self.forbid_runners {
            add(Rule::ForbidRunners, quoted(&runner.value), &runner.place);
        }
        for pattern in &self.forbid_run {
            add(Rule::ForbidRun, quoted(pattern.value.as_str()), &pattern.place);
        }
        if let Some(placed) = &self.new_executables {
            let value = match placed.value {
                NewExecutables::Ask => "ask",
                NewExecutables::Refuse => "refuse",
            };
            add(Rule::NewExecutables, quoted(value), &placed.place);
        }
        for (kind, severity) in &self.findings {
            let value = format!("{kind} = {}", quoted(severity.value.as_str()));
            add(Rule::Findings, value, &severity.place);
        }
        shown
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escape(text))
}

/// Texts as a list is written.
fn list<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = texts.map(quoted).collect();
    format!("[{}]", quoted.join(", "))
}
