//! Why a host did not get what it asked for.

use skillpkg_schema::contract::BindError;
use skillpkg_schema::skill::ResolveError;

use crate::runner::RunFailure;
use crate::{Error, Kind};

/// Why a call gave no outcome.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The skill or the capability is not there, is not active, is not what was signed, or needs
    /// what this machine does not have. Nothing was run.
    #[error(transparent)]
    Skill(#[from] Error),
    /// The arguments are not what the capability takes: worded for the model that gave them.
    /// Nothing was run.
    #[error("{message}")]
    Arguments {
        /// Stable, in `snake_case`.
        code: String,
        /// JSON pointer of the value, where one is at fault.
        path: Option<String>,
        /// Names the argument and what was expected.
        message: String,
    },
    /// It was not run, or was cut short, or failed.
    #[error(transparent)]
    Run(#[from] RunFailure),
}

impl CallError {
    pub(super) fn arguments(code: &str, message: impl Into<String>) -> Self {
        Self::Arguments { code: code.to_owned(), path: None, message: message.into() }
    }
}

impl From<BindError> for CallError {
    fn from(error: BindError) -> Self {
        Self::Arguments {
            code: error.code.name().to_owned(),
            message: error.to_string(),
            path: Some(error.path),
        }
    }
}

impl From<ResolveError> for CallError {
    fn from(error: ResolveError) -> Self {
        Self::arguments(error.code, error.message)
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Skill(error) => error,
            CallError::Arguments { code, message, path } => {
                Self { path, ..Self::new(Kind::Failed, code, message) }
            }
            CallError::Run(failure) => failure.into(),
        }
    }
}
