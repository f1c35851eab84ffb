//! One thing that a skill needs and that is not here.

use serde::Serialize;
use skillpkg_schema::diagnostic::{Severity, escape_quoted};
use skillpkg_schema::{Diagnostic, Manifest};

/// What kind of thing a skill needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingKind {
    /// A program, by its name, or by its path in the skill or on the machine.
    Program,
    /// One program of several.
    AnyProgram,
    /// A variable of the environment that is set and not empty.
    Environment,
    /// An operating system of several.
    System,
    /// Exactly one runner of a script.
    Runner,
    /// The program that the first line of an executable file names.
    Interpreter,
    /// Whatever stands where a requirement is expected and cannot be read.
    Unreadable,
}

/// One thing that a skill needs and that is not here.
///
/// An error of [`Missing::told`] keeps the skill from being activated; for a warning it is not
/// eligible, and whoever knows better may activate it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// What kind of thing it is.
    pub kind: MissingKind,
    /// What would do, each by itself. Texts of the skill.
    pub names: Vec<String>,
    /// The tools, scripts or files that need it; empty where all of the skill does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needed_by: Vec<String>,
    /// The stable code, a sentence that can be printed, and what to do.
    #[serde(flatten)]
    pub told: Diagnostic,
}

impl Missing {
    /// Whether the skill cannot be activated without it.
    pub fn refuses(&self) -> bool {
        self.told.severity == Severity::Error
    }
}

/// What kind of condition a host alone can judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostCondition {
    /// A key of the host's own configuration that must be set.
    Config,
    /// A condition of a kind that is not known here.
    Unknown,
}

/// A condition that the host alone can judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftToHost {
    /// What kind of condition it is.
    pub kind: HostCondition,
    /// The key of the configuration, or of the frontmatter. A text of the skill.
    pub name: String,
}

/// Names in backticks, escaped.
pub(crate) fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{}`", escape_quoted(name))).collect::<Vec<_>>().join(", ")
}

/// What needs something, as messages end with it: they may be about one skill of many.
pub(super) fn needed_by(manifest: &Manifest, parts: &[String]) -> String {
    if parts.is_empty() {
        format!(" (needed by `{}`)", manifest.name)
    } else {
        format!(" (needed by {} of `{}`)", listed(parts), manifest.name)
    }
}
