//! Why upstream was not asked, or what was wrong with what it answered.

use std::net::IpAddr;
use std::time::Duration;

use super::address::Special;

/// An address that upstream may not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{host}` has the address {address}, {special}; if it is meant, list it with `--allow-upstream {host}`"
)]
pub struct AddressRefused {
    /// Whose.
    pub host: String,
    /// Which.
    pub address: IpAddr,
    /// Of what kind it is.
    pub special: Special,
}

/// A URL that is not asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefused {
    /// A scheme without one.
    #[error("the URL names no host")]
    NoHost,
    /// Neither of the web's.
    #[error("the scheme is `{scheme}`; only `https` is asked")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// Without TLS.
    #[error(
        "`http` is not encrypted: use `https`, or list the host with `--allow-upstream {host}`"
    )]
    Plain {
        /// The host.
        host: String,
    },
    /// Another port of a listed host.
    #[error(
        "`{host}` is listed, and its port {port} is not; if it is meant, list it with `--allow-upstream {host}:{port}`"
    )]
    Port {
        /// The host.
        host: String,
        /// The port.
        port: u16,
    },
    /// With a name or a password.
    #[error("the URL holds a name or a password; upstream is asked as anybody")]
    Credentials,
    /// An address in the place of a name.
    #[error(transparent)]
    Address(#[from] AddressRefused),
}

/// Why there is no answer of upstream that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    /// The upstream that was configured is none that may be asked.
    #[error("`{url}` cannot be mirrored: {reason}")]
    Refused {
        /// Its URL.
        url: String,
        /// Why not.
        reason: UrlRefused,
    },
    /// The HTTP client could not be made.
    #[error("the client for `{url}` could not be made: {reason}")]
    Setup {
        /// The upstream's URL.
        url: String,
        /// Why.
        reason: String,
    },
    /// It was asked in vain a moment ago.
    #[error("`{url}` did not answer; it is asked again in {} s", .wait.as_secs() + 1)]
    Paused {
        /// The upstream's URL.
        url: String,
        /// For how long it is left alone.
        wait: Duration,
    },
    /// The host has an address that upstream may not have.
    #[error("`{url}` was not asked: {reason}")]
    Address {
        /// The URL that was to be asked for.
        url: String,
        /// Which address.
        reason: AddressRefused,
    },
    /// A redirect that is not followed.
    #[error("`{url}` redirects to `{target}`, which is not followed: {reason}")]
    Redirect {
        /// The URL that was asked for.
        url: String,
        /// Where it leads.
        target: String,
        /// Why it is not followed.
        reason: String,
    },
    /// No connection, or one that broke.
    #[error("`{url}` cannot be reached: {reason}")]
    Unreachable {
        /// The URL.
        url: String,
        /// What the other side or the system said.
        reason: String,
    },
    /// Nothing came.
    #[error("`{url}` did not answer within {} s", .waited.as_secs())]
    Silent {
        /// The URL.
        url: String,
        /// For how long it was waited.
        waited: Duration,
    },
    /// Too little came.
    #[error("`{url}` answers too slowly: {received} bytes came in {} s", .waited.as_secs())]
    Slow {
        /// The URL.
        url: String,
        /// What came.
        received: u64,
        /// In what time.
        waited: Duration,
    },
    /// More than its bound.
    #[error("`{url}` answers with more than {limit} bytes")]
    TooLong {
        /// The URL.
        url: String,
        /// The bound.
        limit: u64,
    },
    /// Fewer bytes than were declared.
    #[error("`{url}` answers with {received} bytes where {declared} were declared")]
    TooShort {
        /// The URL.
        url: String,
        /// What came.
        received: u64,
        /// What was to come.
        declared: u64,
    },
    /// It has nothing there.
    #[error("`{url}` has nothing there")]
    NotFound {
        /// The URL.
        url: String,
    },
    /// It is, in the end, a mirror of this registry.
    #[error("`{url}` mirrors this registry: each asks the other")]
    Loop {
        /// The URL.
        url: String,
    },
    /// Its answer is too long for it: fewer names would fit.
    #[error("`{url}` says that the answer would be too large")]
    AnswerTooLarge {
        /// The URL.
        url: String,
    },
    /// It was asked too often.
    #[error("`{url}` was asked too often; it may be asked again in {} s", .wait.as_secs())]
    Busy {
        /// The URL.
        url: String,
        /// How long it says to wait, within bounds.
        wait: Duration,
    },
    /// Another status than was hoped for.
    #[error("`{url}` answers with the status {status}")]
    Status {
        /// The URL.
        url: String,
        /// The status.
        status: u16,
    },
    /// What came is not what was asked for.
    #[error("`{url}` answers with something else than was asked for: {reason}")]
    Shape {
        /// The URL.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An older state of its log than it has shown before: a server that is behind others.
    #[error("`{url}` answers with the state of {size} leaves of its log, after one of {seen}")]
    Behind {
        /// The URL.
        url: String,
        /// Leaves of what it answered.
        size: u64,
        /// Leaves of what was seen before.
        seen: u64,
    },
    /// It speaks of no name that was asked about: all of them are its own, beside the log that it
    /// relays.
    #[error("`{url}` relays nothing of what was asked for")]
    Elsewhere {
        /// The URL.
        url: String,
    },
    /// What came could not be kept.
    #[error("what `{url}` answered could not be written: {reason}")]
    Disk {
        /// The URL.
        url: String,
        /// Why.
        reason: String,
    },
}

impl UpstreamError {
    /// Whether it says that upstream is not there for now, as against what it said.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Paused { .. }
            | Self::Unreachable { .. }
            | Self::Silent { .. }
            | Self::Slow { .. } => true,
            Self::Status { status, .. } => *status >= 500,
            _ => false,
        }
    }

    /// Whether it is an answer that no registry gives to what was asked, in the place of one that can
    /// be held against the log: it is refused, and says nothing of what there is.
    pub fn is_no_answer(&self) -> bool {
        matches!(
            self,
            Self::NotFound { .. }
                | Self::TooLong { .. }
                | Self::TooShort { .. }
                | Self::Shape { .. }
                | Self::Redirect { .. }
        )
    }

    /// Whether it says nothing of upstream: it was not asked, or the fault is this machine's.
    pub(super) fn is_ours(&self) -> bool {
        matches!(
            self,
            Self::Refused { .. } | Self::Setup { .. } | Self::Address { .. } | Self::Disk { .. }
        )
    }

    /// Whether asking again at once may help.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Status { status, .. } => matches!(status, 502..=504),
            _ => false,
        }
    }
}
