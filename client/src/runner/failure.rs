//! Why a script did not give a result.

use std::fmt;

use super::RunOutput;
use crate::{Error, Kind};

/// The eight ways in which a call of a script fails. Their `snake_case` names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// No runner, more than one, or one that could not start.
    RunnerUnavailable,
    /// Permission was refused.
    PermissionDenied,
    /// It ran longer than its timeout, and was killed.
    TimedOut,
    /// The host called it off, and it was killed.
    Cancelled,
    /// The script's bytes are not there, or are not those of its address.
    InvalidContent,
    /// It ran and failed.
    ExecutionFailed,
    /// It wrote more than its maximum, and was killed.
    OutputTooLarge,
    /// Its result is of a kind that cannot be handed on, such as text that is not UTF-8.
    UnsupportedResult,
}

impl FailureKind {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RunnerUnavailable => "runner_unavailable",
            Self::PermissionDenied => "permission_denied",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::InvalidContent => "invalid_content",
            Self::ExecutionFailed => "execution_failed",
            Self::OutputTooLarge => "output_too_large",
            Self::UnsupportedResult => "unsupported_result",
        }
    }

    /// What sort of failure of a command it is.
    pub fn kind(self) -> Kind {
        match self {
            Self::RunnerUnavailable => Kind::Requirement,
            Self::PermissionDenied => Kind::Refused,
            Self::InvalidContent => Kind::Verification,
            Self::TimedOut
            | Self::Cancelled
            | Self::ExecutionFailed
            | Self::OutputTooLarge
            | Self::UnsupportedResult => Kind::Failed,
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A run that gave no result.
///
/// The message names the script, a program or a bound, and never what was handed in or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RunFailure {
    /// In which way.
    pub kind: FailureKind,
    /// What happened; text from outside is escaped.
    pub message: String,
    /// What it wrote before it failed by itself: only with [`FailureKind::ExecutionFailed`].
    pub output: Option<Box<RunOutput>>,
}

impl RunFailure {
    /// A failure without output.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), output: None }
    }
}

impl From<RunFailure> for Error {
    fn from(failure: RunFailure) -> Self {
        Self::new(failure.kind.kind(), failure.kind.as_str(), failure.message)
    }
}
