//! What whoever runs a machine, its user and a project forbid.
//!
//! A policy stands in up to three places: the machine's file, the user's beside the configuration,
//! and `[policy]` of a project's `skillpkg.toml`. All that are there apply together. A policy has
//! no word that permits anything: what one of them forbids, no other lets through, and adding one
//! only ever refuses more. One that cannot be read, or that says anything that is not understood,
//! refuses whatever would be decided by it.

mod check;
mod content;
mod duration;
mod file;
mod installed;
mod parse;
mod place;
mod programs;
mod rule;
mod skill;
mod sources;
#[cfg(test)]
mod tests;
mod violation;

pub use content::check_content;
pub use duration::{Age, AgeError};
pub use file::Witnesses;
pub(crate) use installed::{Installed, violations_of};
pub use place::Place;
pub use rule::Rule;
pub(crate) use skill::{Before, From, Skill};
pub use sources::{MAX_POLICY_BYTES, POLICY_FILE, PolicySource, Whose, machine_files};
pub use violation::Violation;
pub(crate) use violation::{both, is_refusal, refuse};

use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;
use skillpkg_schema::finding::{FindingKind, Findings, Severity};
use skillpkg_schema::wire::VersionEntry;
use skillpkg_schema::{Faults, Manifest, QualifiedName};
use url::Url;

use crate::project::{PROJECT_FILE, ProjectDirectory};
use crate::runner::commands;
use crate::trust::MAXIMUM_AGE;
use crate::{Error, Kind, Settings};
use check::{Runners, is_young, old_enough_at};
use file::PolicyFile;

/// Every policy that applies, together.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    files: Vec<PolicyFile>,
    runners: Runners,
}

/// One rule in force, as `skillpkg policy` tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleInForce {
    /// The rule.
    pub rule: Rule,
    /// Its value, as a policy writes it; safe to print.
    pub value: String,
    /// Whose policy it stands in.
    pub whose: Whose,
    /// Where it stands.
    #[serde(flatten)]
    pub place: Place,
}

impl Policy {
    /// The policies of the machine and the user, as they are now.
    ///
    /// # Errors
    ///
    /// `policy_unreadable` and `policy_invalid`, both [`Kind::Refused`], with the file, and the line
    /// and column where there is one.
    pub fn of_user(settings: &Settings) -> Result<Self, Error> {
        let mut files = Vec::new();
        for source in &settings.policies {
            if let Some(text) = source.text()? {
                let shown = source.path.to_string_lossy();
                files.push(parse::policy(&text, &shown, source.whose).map_err(invalid)?);
            }
        }
        let runners = if files.is_empty() { Runners::new() } else { commands(settings) };
        Ok(Self { files, runners })
    }

    /// The policies of the machine, the user and the project at `root`, as they are now. Fails as
    /// [`Policy::of_user`] does.
    pub fn of_project(settings: &Settings, root: &Path) -> Result<Self, Error> {
        let text = match root.try_exists() {
            Ok(false) => None,
            _ => ProjectDirectory::open(root)?.read_text(PROJECT_FILE)?,
        };
        Self::with_project(settings, text.as_deref())
    }

    /// The policies of the machine, the user and a project whose `skillpkg.toml` has this text.
    pub(crate) fn with_project(settings: &Settings, text: Option<&str>) -> Result<Self, Error> {
        let mut policy = Self::of_user(settings)?;
        let project = text.map(|text| parse::policy_of_project(text, PROJECT_FILE));
        if let Some(file) = project.transpose().map_err(invalid)?.flatten() {
            policy.files.push(file);
            policy.runners = commands(settings);
        }
        Ok(policy)
    }

    /// Whether nothing is ruled.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Every rule in force, those of the machine first.
    pub fn rules(&self) -> Vec<RuleInForce> {
        let shown = |file: &PolicyFile| {
            let whose = file.whose;
            file.shown().into_iter().map(move |(rule, value, place)| RuleInForce {
                rule,
                value,
                whose,
                place,
            })
        };
        self.files.iter().flat_map(shown).collect()
    }

    /// The greatest age of a registry's checkpoint that every policy allows, and where the one
    /// stands that allows no more.
    ///
    /// Whoever runs the machine and its user may allow more than there is without a policy; a
    /// project, which somebody else wrote, only less.
    pub fn maximum_checkpoint_age(&self) -> Option<(Age, &Place)> {
        let least = |is_project: bool| {
            let files = self.files.iter();
            files
                .filter(|file| (file.whose == Whose::Project) == is_project)
                .filter_map(|file| file.maximum_checkpoint_age.as_ref())
                .map(|age| (age.value, &age.place))
                .min_by_key(|(age, _)| *age)
        };
        let of_owner = least(false);
        let allowed = of_owner.map_or(MAXIMUM_AGE, |(age, _)| age.seconds());
        least(true).filter(|(age, _)| age.seconds() < allowed).or(of_owner)
    }

    /// The witnesses of each policy that names any, with its quorum. A checkpoint has to satisfy
    /// each of them by itself: taken together, the few of one would stand in for those of another.
    pub fn witnesses(&self) -> impl Iterator<Item = &Witnesses> {
        self.files.iter().filter_map(|file| file.witnesses.as_ref())
    }

    /// Where it is said that a skill must be in its registry's log; [`None`] where nobody says so.
    pub fn require_log(&self) -> Option<&Place> {
        let rules = self.files.iter().filter_map(|file| file.require_log.as_ref());
        rules.filter(|rule| rule.value).map(|rule| &rule.place).next()
    }

    /// What is done about a kind of finding: the gravest of what is done without a policy and of
    /// what each policy says; and where the policy stands that makes it graver.
    pub fn severity(&self, kind: FindingKind) -> (Severity, Option<&Place>) {
        let rules = self.files.iter().filter_map(|file| file.findings.get(&kind));
        let mut gravest = (kind.default_severity(), None);
        for rule in rules {
            if rule.value > gravest.0 {
                gravest = (rule.value, Some(&rule.place));
            }
        }
        gravest
    }

    /// What the policies forbid of what was found in a snapshot's files.
    pub(crate) fn found(&self, manifest: &Manifest, findings: &Findings) -> Vec<Violation> {
        let shown = format!("`{}@{}`", manifest.name, manifest.version);
        let mut told = Vec::new();
        for file in &self.files {
            file.found(&shown, findings.told(), &mut told);
        }
        told
    }

    /// Whether it matters what is found in a skill's files.
    pub(crate) fn rules_findings(&self) -> bool {
        self.files.iter().any(|file| !file.findings.is_empty())
    }

    /// Whether anything of a skill is ruled.
    pub(crate) fn rules_skills(&self) -> bool {
        let of_logs = [Rule::MaximumCheckpointAge, Rule::Witnesses, Rule::RequireLog];
        let rules = self.files.iter().flat_map(PolicyFile::shown);
        rules.into_iter().any(|(rule, _, _)| !of_logs.contains(&rule))
    }

    /// Whether what stands in a skill's prose matters.
    pub(crate) fn reads_prose(&self) -> bool {
        let reads = |file: &PolicyFile| {
            !file.forbid_run.is_empty()
                || !file.forbid_programs.is_empty()
                || file.new_executables.is_some()
        };
        self.files.iter().any(reads)
    }

    /// Whether it matters which version one takes the place of.
    pub(crate) fn compares_versions(&self) -> bool {
        self.files.iter().any(|file| file.new_executables.is_some())
    }

    /// Whether it matters whose keys signed a skill.
    pub(crate) fn rules_signers(&self) -> bool {
        self.files.iter().any(|file| !file.signers.is_empty())
    }

    /// Whether it matters when a version was published.
    pub(crate) fn rules_release_age(&self) -> bool {
        self.files.iter().any(|file| file.minimum_release_age.is_some())
    }

    /// Whether a version is younger than a policy allows at `now`.
    pub(crate) fn is_young(&self, entry: &VersionEntry, now: Timestamp) -> bool {
        let ages = self.files.iter().filter_map(|file| file.minimum_release_age.as_ref());
        let published = published(&entry.published);
        ages.into_iter().any(|age| is_young(published, age.value, now))
    }

    /// That a version was passed over for its age, with the rule and when it will be old enough.
    pub(crate) fn passed_over(&self, name: &QualifiedName, entry: &VersionEntry) -> String {
        let published = published(&entry.published);
        let ages = self.files.iter().filter_map(|file| file.minimum_release_age.as_ref());
        let longest = ages.max_by_key(|age| age.value);
        let Some(longest) = longest else { return String::new() };
        let when = old_enough_at(published, longest.value).map_or_else(
            || "at a time that nobody can tell".to_owned(),
            |when| format!("at {when}"),
        );
        format!(
            "`{name}@{}` is passed over: it was published at {}, and is old enough {when} \
             (`minimum-release-age = \"{}\"`, {})",
            entry.version,
            skillpkg_schema::diagnostic::escape(&entry.published),
            longest.value,
            longest.place
        )
    }

    /// What is forbidden of a name and where it comes from.
    pub(crate) fn origin(&self, name: &QualifiedName, from: From<'_>) -> Vec<Violation> {
        let mut told = Vec::new();
        self.files.iter().for_each(|file| file.origin(name, from, &mut told));
        told
    }

    /// Refuses a registry that may not be asked at all.
    pub fn check_registry(&self, url: &Url) -> Result<(), Error> {
        let mut told = Vec::new();
        self.files.iter().for_each(|file| file.registry(url, &mut told));
        refuse(&told)
    }

    /// Everything that is forbidden of a skill at `now`.
    pub(crate) fn violations(&self, skill: &Skill<'_>, now: Timestamp) -> Vec<Violation> {
        let mut told = Vec::new();
        for file in &self.files {
            file.violations(skill, &self.runners, now, &mut told);
        }
        told
    }

    /// What is forbidden of a call of a tool with this run line that runs `argv`.
    pub(crate) fn call(&self, skill: &str, run: &[String], argv: &[String]) -> Vec<Violation> {
        let mut told = Vec::new();
        self.files.iter().for_each(|file| file.call(skill, run, argv, &mut told));
        told
    }

    /// What is forbidden of a call of a script with a runner, as it calls itself.
    pub(crate) fn script_call(&self, skill: &str, runner: &str) -> Vec<Violation> {
        let mut told = Vec::new();
        self.files.iter().for_each(|file| file.script_call(skill, runner, &mut told));
        told
    }
}

/// When a registry says that a version was published.
pub(crate) fn published(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// The refusal of a policy that is not understood.
fn invalid(faults: Faults) -> Error {
    let error = Error { kind: Kind::Refused, ..Error::from(faults) };
    match error.hint {
        Some(_) => error,
        None => error.with_hint("a policy that is not understood refuses all that it would decide"),
    }
}
