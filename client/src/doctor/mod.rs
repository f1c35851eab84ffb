//! What is wrong on this machine and in a project, each with what to do about it.
//!
//! Nothing is changed: neither what is found damaged nor what registries say is remembered. Each
//! part is looked at whatever became of the others.

mod files;
mod hosts;
mod needs;
mod once;
mod project;
mod registries;
mod search_path;

use std::collections::BTreeSet;

use serde::Serialize;
use skillpkg_schema::diagnostic::{Diagnostic, escape};

use crate::agents::{Agents, Reach};
use crate::install::{Approval, Attendant, Progress, locked_skills};
use crate::policy::Policy;
use crate::runner::RunnerSet;
use crate::settings::registry_text;
use crate::{Error, Settings};

/// What a complaint is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Area {
    /// Configuration and policies.
    Configuration,
    /// A registry that does not answer.
    Registry,
    /// The log of a registry.
    Log,
    /// The clock of this machine.
    Clock,
    /// What lies in the store.
    Store,
    /// A project that is not what its files say.
    Project,
    /// A link that leads nowhere.
    Link,
    /// A skill that an agent sees twice.
    Duplicate,
    /// A program, a runner or a variable that a skill lacks.
    Requirement,
    /// A skill that `skillpkg mcp` cannot serve, or not whole.
    Mcp,
    /// A file with a secret that others may read.
    Credentials,
    /// A file of what this machine remembers.
    State,
    /// The directories in which programs are looked for.
    Path,
    /// What was left behind.
    Litter,
}

impl Area {
    /// The stable text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Registry => "registry",
            Self::Log => "log",
            Self::Clock => "clock",
            Self::Store => "store",
            Self::Project => "project",
            Self::Link => "link",
            Self::Duplicate => "duplicate",
            Self::Requirement => "requirement",
            Self::Mcp => "mcp",
            Self::Credentials => "credentials",
            Self::State => "state",
            Self::Path => "path",
            Self::Litter => "litter",
        }
    }
}

/// One thing that is wrong. Its texts are safe to print.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Complaint {
    /// What it is about.
    pub area: Area,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub advice: String,
    /// Whether it is only worth knowing, and nothing is wrong.
    pub note: bool,
}

impl Complaint {
    fn new(area: Area, what: impl Into<String>, advice: impl Into<String>) -> Self {
        // Skills that one way of serving them leaves out are whole.
        let note = area == Area::Mcp;
        Self { area, what: what.into(), advice: advice.into(), note }
    }

    /// A failure as a complaint, with its own advice where it has one.
    pub fn of(area: Area, error: &Error, otherwise: &str) -> Self {
        let what = match (&error.file, error.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: {}", error.message),
            (Some(file), None) => format!("{file}: {}", error.message),
            (None, _) => error.message.clone(),
        };
        Self::new(area, what, error.hint.as_deref().unwrap_or(otherwise))
    }

    /// A warning about a file as a complaint.
    pub fn of_warning(area: Area, warning: &Diagnostic, otherwise: &str) -> Self {
        let Diagnostic { message, file, line, hint, .. } = warning;
        let what = match (file, line) {
            (Some(file), Some(line)) => format!("{file}:{line}: {message}"),
            (Some(file), None) => format!("{file}: {message}"),
            (None, _) => message.clone(),
        };
        Self::new(area, what, hint.as_deref().unwrap_or(otherwise))
    }
}

/// Everything that is wrong, sorted by what it is about. Registries are not asked where the settings
/// say that none is.
pub async fn examine(settings: &Settings) -> Vec<Complaint> {
    let settings = &Settings { looks_only: true, ..settings.clone() };
    let mut complaints = Vec::new();
    configuration(settings, &mut complaints);
    registries::examine(settings, &mut complaints).await;
    project::store(settings, &mut complaints).await;
    for reach in [Reach::Project, Reach::Global] {
        let mut warned = Warned::default();
        project::drift(settings, reach, &mut warned, &mut complaints);
        let warnings = warned.0.into_iter();
        complaints.extend(warnings.map(|what| Complaint::new(Area::Project, what, CORRECT)));
        needs::examine(settings, reach, &mut complaints);
    }
    hosts::examine(settings, &mut complaints);
    files::examine(settings, &mut complaints);
    search_path::examine(settings, &mut complaints);
    complaints.sort();
    complaints.dedup();
    once::tell_once(&mut complaints);
    complaints
}

/// What to do about a warning that says no more.
const CORRECT: &str = "correct what it names";

/// Collects warnings; nothing is asked where nothing is changed.
#[derive(Debug, Default)]
struct Warned(Vec<String>);

impl Attendant for Warned {
    fn tell(&mut self, _: &str) {}

    fn warn(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }

    fn progress(&mut self, _: Progress) {}

    fn approve(&mut self, _: &[Approval]) -> Result<bool, Error> {
        Ok(false)
    }
}

/// That no registry is configured: nothing wrong as long as all that is wanted is locked, since a
/// lockfile names the registry of each skill.
fn no_registry(settings: &Settings) -> Complaint {
    const NAME: &str = "name one: `registry = \"URL\"` in the user's configuration, \
                        `SKILLPKG_REGISTRY` or `--registry URL`";
    let locked = [Reach::Project, Reach::Global].into_iter();
    let locked = locked.flat_map(|reach| locked_skills(settings, reach).unwrap_or_default());
    let named: BTreeSet<String> = locked
        .filter_map(|locked| locked.source.registry().map(|url| registry_text(url).to_owned()))
        .map(|url| format!("`{}`", escape(&url)))
        .collect();
    if named.is_empty() {
        return Complaint::new(Area::Configuration, "no registry is configured", NAME);
    }
    let named: Vec<String> = named.into_iter().collect();
    let what = format!(
        "no registry is configured; what is locked is had from where its lockfile says: {}",
        named.join(", ")
    );
    let advice = format!("to search and to install more, {NAME}");
    Complaint { note: true, ..Complaint::new(Area::Configuration, what, advice) }
}

fn configuration(settings: &Settings, complaints: &mut Vec<Complaint>) {
    const CORRECT: &str = "correct the user's configuration";
    let failures = [
        Policy::of_project(settings, &settings.project).map(drop),
        Agents::of(settings).map(drop),
        RunnerSet::configured(settings).map(drop),
        crate::credentials::Credentials::new(&settings.home).check(),
    ];
    for error in failures.into_iter().filter_map(Result::err) {
        complaints.push(Complaint::of(Area::Configuration, &error, CORRECT));
    }
    if settings.registry.is_none() && settings.routes.is_empty() {
        complaints.push(no_registry(settings));
    }
    for error in crate::keys::list(&settings.home).map(|keys| keys.broken).unwrap_or_default() {
        complaints.push(Complaint::of(
            Area::Configuration,
            &error,
            "restore the key, or remove it",
        ));
    }
}
