//! Why a mirror has nothing to answer with.

use crate::blobs::BlobsError;
use crate::problem::{Code, Refusal};
use crate::upstream::UpstreamError;

/// Why something of upstream's is not had.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Upstream does not answer, or not with what was asked for.
    Upstream(UpstreamError),
    /// Upstream says what cannot be: it is refused, and the operator is told.
    Lie {
        /// What it is about: a skill, a version or the log.
        subject: String,
        /// What is wrong with it.
        detail: String,
    },
    /// A fault of this registry's own.
    Ours(Refusal),
}

impl Trouble {
    pub(super) fn lie(subject: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Lie { subject: subject.into(), detail: detail.into() }
    }

    /// What is no answer to something that every registry answers is refused as what cannot be:
    /// nothing follows from it, least of all that there is nothing. What passes stays what it is.
    pub(super) fn unanswered(subject: &str, error: UpstreamError) -> Self {
        if error.is_no_answer() {
            Self::lie(subject, error.to_string())
        } else {
            Self::Upstream(error)
        }
    }

    /// That of the log itself.
    pub(super) fn log(detail: impl Into<String>) -> Self {
        Self::lie("log", detail)
    }
}

impl From<UpstreamError> for Trouble {
    fn from(error: UpstreamError) -> Self {
        Self::Upstream(error)
    }
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        Self::Ours(refusal)
    }
}

impl From<sqlx::Error> for Trouble {
    fn from(error: sqlx::Error) -> Self {
        Self::Ours(error.into())
    }
}

impl From<BlobsError> for Trouble {
    fn from(error: BlobsError) -> Self {
        Self::Ours(error.into())
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Self::Ours(error.into())
    }
}

impl From<Trouble> for Refusal {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Ours(refusal) => refusal,
            Trouble::Upstream(UpstreamError::Loop { .. }) => Self::new(
                Code::MirrorLoop,
                "the registry that this one mirrors mirrors this one: each asked the other",
            ),
            Trouble::Upstream(UpstreamError::NotFound { .. } | UpstreamError::Elsewhere { .. }) => {
                Self::not_found()
            }
            Trouble::Upstream(UpstreamError::AnswerTooLarge { .. }) => Self::new(
                Code::AnswerTooLarge,
                "the documents are too long for one answer; ask for half of the names",
            ),
            Trouble::Upstream(error) if error.is_no_answer() => Self::new(
                Code::UpstreamRefused,
                format!("what the mirrored registry answers is refused: {error}"),
            ),
            Trouble::Upstream(error) => {
                let (why, wait) = match &error {
                    UpstreamError::Behind { .. } => {
                        ("answers with an older state than it did before", 5)
                    }
                    UpstreamError::Busy { wait, .. } => {
                        ("was asked too often", u32::try_from(wait.as_secs()).unwrap_or(60))
                    }
                    UpstreamError::Status { status, .. } if *status < 500 => {
                        ("refuses to answer", 5)
                    }
                    UpstreamError::Refused { .. } | UpstreamError::Address { .. } => {
                        ("has an address that may not be asked; its operator's log says which", 60)
                    }
                    UpstreamError::Disk { .. } => {
                        ("answers, but this registry's disk does not take it", 5)
                    }
                    _ => ("does not answer", 5),
                };
                let detail = format!(
                    "the registry that this one mirrors {why}, and what was asked for is not held \
                     here; try again later"
                );
                Self::unavailable(detail, wait).caused_by(&error)
            }
            Trouble::Lie { subject, detail } => Self::new(
                Code::UpstreamRefused,
                format!("what the mirrored registry says of `{subject}` is refused: {detail}"),
            ),
        }
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Upstream(error) => error.fmt(f),
            Self::Lie { subject, detail } => write!(f, "`{subject}`: {detail}"),
            Self::Ours(refusal) => f.write_str(&refusal.problem().detail),
        }
    }
}
