//! Why something was not done: a kind that decides the exit code, a stable code, a message.

use std::fmt;

use serde::Serialize;
use skillpkg_schema::{Diagnostic, Faults};
use skillpkg_store::archive::ArchiveError;
use skillpkg_store::content::StoreError;

/// What sort of failure it is. The design fixes the exit code of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// It failed.
    Failed,
    /// It was asked for wrongly.
    Usage,
    /// Something is not what its digest, signature or manifest says.
    Verification,
    /// A program, a runner or an environment variable is missing.
    Requirement,
    /// Permission, policy or trust says no.
    Refused,
    /// What is there is not what the lockfile or the manifest says.
    Drift,
}

impl Kind {
    /// The exit code of a command that ends in this way.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Verification => 3,
            Self::Requirement => 4,
            Self::Refused => 5,
            Self::Drift => 6,
        }
    }
}

/// A failure, with everything that a person or a script needs to act on it.
///
/// Each part of this library has an error type of its own with a variant a reason; all of them
/// become this one at its edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Decides the exit code.
    pub kind: Kind,
    /// Stable, in `snake_case`.
    pub code: String,
    /// What was wrong; text from outside is escaped.
    pub message: String,
    /// The file in which it is wrong, if it is in one.
    pub file: Option<String>,
    /// The line of that file, from 1.
    pub line: Option<u32>,
    /// The column of that line, in characters from 1.
    pub column: Option<u32>,
    /// JSON pointer of the value that is wrong, if it is one of a JSON document.
    pub path: Option<String>,
    /// What to do.
    pub hint: Option<String>,
    /// Every fault found, where there are several.
    pub faults: Vec<Diagnostic>,
    /// The skills that it is about, `[scope/]name@version`, where there may be several.
    pub skills: Vec<String>,
}

impl Error {
    /// A failure of this kind.
    pub fn new(kind: Kind, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind,
            code: code.into(),
            message: message.into(),
            file: None,
            line: None,
            column: None,
            path: None,
            hint: None,
            faults: Vec::new(),
            skills: Vec::new(),
        }
    }

    /// With this advice.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// In this file.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// This failure with the faults of another of its kind after its own.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.faults.extend(other.faults);
        self
    }

    /// The object under `error` that `--json` prints.
    pub fn to_json(&self) -> serde_json::Value {
        #[derive(Serialize)]
        struct Shape<'a> {
            code: &'a str,
            message: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            file: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            line: Option<u32>,
            #[serde(skip_serializing_if = "Option::is_none")]
            column: Option<u32>,
            #[serde(skip_serializing_if = "Option::is_none")]
            path: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            hint: Option<&'a str>,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            faults: &'a [Diagnostic],
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            skills: &'a [String],
        }
        let shape = Shape {
            code: &self.code,
            message: &self.message,
            file: self.file.as_deref(),
            line: self.line,
            column: self.column,
            path: self.path.as_deref(),
            hint: self.hint.as_deref(),
            faults: &self.faults,
            skills: &self.skills,
        };
        serde_json::json!({ "error": shape })
    }
}

impl From<Faults> for Error {
    /// The first error stands for all; [`Error::faults`] holds every one.
    fn from(faults: Faults) -> Self {
        let first = faults.first().clone();
        Self {
            kind: Kind::Failed,
            code: first.code,
            message: first.message,
            file: first.file,
            line: first.line,
            column: first.column,
            path: None,
            hint: first.hint,
            faults: faults.into_diagnostics(),
            skills: Vec::new(),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::Archive(error) => error.into(),
            StoreError::Mismatch(faults) => Self { kind: Kind::Verification, ..faults.into() },
            StoreError::Format { .. } => Self::new(Kind::Failed, "format_too_new", message)
                .with_hint("use the version of skillpkg that wrote it, or a later one"),
            StoreError::FormatUnread { path, known, .. } => {
                let path = skillpkg_schema::diagnostic::escape(&path.to_string_lossy());
                Self::new(Kind::Failed, "store_failed", message).with_hint(format!(
                    "where this version wrote the store, move `{path}` away: it is written anew, as \
                     `skillpkg.store/{known}`"
                ))
            }
            StoreError::Absent(_) => Self::new(Kind::Failed, "not_found", message),
            StoreError::Damaged { .. } => {
                Self::new(Kind::Verification, "verification_failed", message)
                    .with_hint("`skillpkg verify --repair` fetches it again")
            }
            StoreError::Held { .. } => Self::new(Kind::Failed, "locked_by", message),
            StoreError::TooLong { .. } => Self::new(Kind::Failed, "too_long", message),
            StoreError::Exists(_) => Self::new(Kind::Failed, "already_there", message),
            StoreError::Misplaced { .. } | StoreError::Output(_) => {
                Self::new(Kind::Failed, "store_failed", message)
            }
            StoreError::Io { path, source } => crate::project::io_error(&path, &source),
        }
    }
}

impl From<ArchiveError> for Error {
    fn from(error: ArchiveError) -> Self {
        let kind = match error {
            ArchiveError::Io(_) => Kind::Failed,
            _ => Kind::Verification,
        };
        let told = Self::new(kind, error.code(), error.to_string());
        match error {
            ArchiveError::Frame(_)
            | ArchiveError::Header { .. }
            | ArchiveError::OtherStart { .. }
            | ArchiveError::Padding { .. } => told.with_hint(
                "an archive has one form, which `skillpkg pack` writes: what another tar or zstd \
                 made, or packed again, is another, whatever files it holds",
            ),
            _ => told,
        }
    }
}

impl fmt::Display for Error {
    /// `file:line:column: message` and, on a line of its own, the hint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            f.write_str(&skillpkg_schema::diagnostic::escape(file))?;
            for place in [self.line, self.column].into_iter().map_while(|place| place) {
                write!(f, ":{place}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
