//! One finding.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::kind::FindingKind;
use crate::diagnostic::{Diagnostic, escape};
use crate::skill::HIDDEN_CHARACTER;

/// One thing in a skill's files that is worth an eye, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    /// The file, relative to the skill's directory, `/`-separated.
    pub file: String,
    /// Line of the file, from 1; absent where the whole file is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column of that line in characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Of what kind it is.
    pub kind: FindingKind,
    /// One phrase that says what it is.
    pub message: String,
    /// What stands there, safe to print and at most some 120 characters; absent for a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
}

impl Finding {
    /// Of what kind it is, what it is and what stands there, in one line, without its place.
    pub fn phrase(&self) -> String {
        let phrase = format!("{}: {}", self.kind, escape(&self.message));
        match &self.excerpt {
            Some(excerpt) => format!("{phrase}: `{}`", escape(excerpt)),
            None => phrase,
        }
    }
}

impl fmt::Display for Finding {
    /// `kind: file:line:column: message: excerpt`, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, escape(&self.file))?;
        for place in [self.line, self.column].into_iter().map_while(|place| place) {
            write!(f, ":{place}")?;
        }
        write!(f, ": {}", escape(&self.message))?;
        match &self.excerpt {
            Some(excerpt) => write!(f, ": `{}`", escape(excerpt)),
            None => Ok(()),
        }
    }
}

impl Finding {
    /// The finding as a warning for its author; [`None`] for the kinds that are errors to whoever
    /// packs, and told as such.
    pub fn warning(&self) -> Option<Diagnostic> {
        let (code, hint) = match self.kind {
            FindingKind::HiddenText | FindingKind::Bidirectional | FindingKind::Secret => {
                return None;
            }
            FindingKind::UnseenCharacter => {
                (HIDDEN_CHARACTER, "take it out: a model reads it all the same")
            }
            FindingKind::HtmlComment | FindingKind::HiddenMarkup => {
                ("hidden_text", "write it as prose, or take it out")
            }
            FindingKind::FetchAndRun => {
                ("fetch_and_run", "pack the script with the skill, or name a program to install")
            }
            FindingKind::HostCommand => (
                "host_command",
                "make it a tool or a script, which nobody runs unasked; whoever installs the \
                 skill is shown it",
            ),
            FindingKind::RunsParam => (
                "runs_param",
                "let a program that you name read it as an argument, or say with `enum` what it \
                 may be; whoever installs the skill is shown it",
            ),
        };
        let message = match &self.excerpt {
            Some(excerpt) => format!("{}: `{excerpt}`", self.message),
            None => self.message.clone(),
        };
        let (line, column) = (self.line, self.column);
        let warning = Diagnostic::warning(code, message).in_file(self.file.as_str());
        Some(Diagnostic { line, column, ..warning.with_hint(hint) })
    }
}

/// How many findings of a kind a version has, as its document says.
///
/// The kind is a text, so that a later registry may know kinds that this reader does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FindingCount {
    /// The text of a [`FindingKind`].
    pub kind: String,
    /// At least 1.
    pub count: u32,
}
