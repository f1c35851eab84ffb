//! One thing that an audit found.

use std::path::PathBuf;

use serde::Serialize;
use skillpkg_schema::{QualifiedName, Version};

use crate::Kind;

/// How grave a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// It is refused, or would be.
    Error,
    /// It is worth a look.
    Warning,
}

impl Level {
    /// The stable text, which SARIF has too.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One thing that an audit found of one installed skill.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// The skill.
    pub name: QualifiedName,
    /// The version that is installed.
    pub version: Version,
    /// The rule of a policy, by its key, where one forbids the skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'static str>,
    /// What it is where it is not that, as `verify` calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// What is wrong; safe to print.
    pub message: String,
    /// The policy's file, or the file of the skill that is meant, where one is.
    pub file: Option<String>,
    /// The line of that file, from 1.
    pub line: Option<u32>,
    /// How grave it is.
    pub level: Level,
    /// The lockfile that has the skill.
    #[serde(skip)]
    pub lockfile: PathBuf,
    /// Decides the exit code where it is an error.
    #[serde(skip)]
    pub(super) sort: Kind,
}

impl Problem {
    /// What it is: the rule or the kind.
    pub fn what(&self) -> &'static str {
        self.rule.or(self.kind).unwrap_or("problem")
    }
}
