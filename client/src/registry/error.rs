//! Why a registry did not do what was asked.

use std::path::PathBuf;
use std::time::Duration;

use skillpkg_schema::diagnostic::{escape, escape_whole};
use skillpkg_schema::wire::Problem;
use skillpkg_schema::{ContentAddress, Diagnostic};

use crate::{Error, Kind};

/// Why a registry did not do what was asked.
///
/// `url` is the registry's base URL; texts of the other side are escaped when shown.
#[derive(Debug, thiserror::Error)]
pub(super) enum RegistryError {
    /// A file of certificates that cannot be read.
    #[error("the certificates in `{}` cannot be read: {reason}", escape(&file.to_string_lossy()))]
    Certificates { file: PathBuf, reason: String },
    /// The client itself cannot be made.
    #[error("no connection to `{url}` can be prepared: {reason}")]
    Setup { url: String, reason: String },
    /// A bundle stands in for it, and does not tell this.
    #[error(
        "the registry at `{url}` would have to be asked, and is not: a bundle stands in for it"
    )]
    NotAsked { url: String },
    /// A token with characters that no token has.
    #[error("the token for `{url}` holds characters that no token has")]
    Token { url: String },
    /// No connection, or one that broke.
    #[error("cannot reach the registry at `{url}`{}: {}", through(proxy.as_deref()), escape(cause))]
    Unreachable { url: String, proxy: Option<String>, cause: String },
    /// A connection that ended while a file was sent over it.
    #[error(
        "the connection to the registry at `{url}`{} ended while {size} bytes were sent, without an \
         answer: {}",
        through(proxy.as_deref()),
        escape(cause)
    )]
    BrokenOff { url: String, proxy: Option<String>, size: u64, cause: String },
    /// A connection that ended in the middle of an answer.
    #[error(
        "the registry at `{url}`{} began to answer, and the connection ended {}: {}",
        through(proxy.as_deref()),
        received_of(*received, *expected),
        escape(cause)
    )]
    CutOff {
        url: String,
        proxy: Option<String>,
        received: u64,
        expected: Option<u64>,
        cause: String,
    },
    /// No answer in time.
    #[error(
        "the registry at `{url}` did not answer{} within {} seconds",
        through(proxy.as_deref()),
        waited.as_secs_f32()
    )]
    Silent { url: String, proxy: Option<String>, waited: Duration },
    /// An answer that trickles.
    #[error("the registry at `{url}` answers too slowly: {received} bytes in {} seconds", waited.as_secs_f32())]
    Slow { url: String, received: u64, waited: Duration },
    /// A redirect, which could lead to anybody.
    #[error(
        "the registry at `{url}` answers with a redirect to `{}`, which is not followed",
        escape(target)
    )]
    Redirect { url: String, target: String },
    /// Not a document of ours: another server's, a proxy's or a portal's.
    #[error(
        "`{url}` does not answer like a skillpkg registry: it answers with status {status} and {}",
        kind_of_content(media_type)
    )]
    NotRegistry { url: String, status: u16, media_type: String },
    /// More than is read.
    #[error("the registry at `{url}` answers with more than {limit} bytes")]
    TooLong { url: String, limit: u64 },
    /// Less than was announced.
    #[error("the registry at `{url}` answers with {received} bytes of {expected}")]
    TooShort { url: String, received: u64, expected: u64 },
    /// JSON of another shape.
    #[error(
        "the registry at `{url}` answers with JSON of another shape than expected: {}",
        escape(reason)
    )]
    Shape { url: String, reason: String },
    /// An answer about something else than what was asked.
    #[error(
        "the registry at `{url}` was asked for `{}` and answers with `{}`",
        escape(asked),
        escape(answered)
    )]
    Other { url: String, asked: String, answered: String },
    /// Bytes that are not those of their address.
    #[error("what the registry at `{url}` sends for {address} is something else")]
    Digest { url: String, address: ContentAddress },
    /// What the registry says itself.
    #[error("{}", told(problem))]
    Problem { url: String, problem: Box<Problem>, retry_after: Option<u64> },
    /// A failure without a problem document.
    #[error("the registry at `{url}` answers with status {status} and does not say why")]
    Status { url: String, status: u16 },
    /// A local file that cannot be sent.
    #[error("`{}` cannot be read: {reason}", escape(&file.to_string_lossy()))]
    File { file: PathBuf, reason: String },
}

/// Where a proxy stands between, which may be what is wrong.
fn through(proxy: Option<&str>) -> String {
    proxy.map_or_else(String::new, |proxy| format!(" through the proxy at `{proxy}`"))
}

/// How far an answer had come.
fn received_of(received: u64, expected: Option<u64>) -> String {
    match expected {
        Some(expected) => format!("after {received} of {expected} bytes"),
        None => format!("after {received} bytes"),
    }
}

/// What a media type says of an answer.
fn kind_of_content(media_type: &str) -> String {
    match media_type {
        "" => "nothing that says what it is".to_owned(),
        "application/json" => "JSON that is none of a registry's".to_owned(),
        other => format!("`{}`", escape(other)),
    }
}

/// Most characters of a text of a registry's that are shown.
const LONGEST: usize = 4_000;
/// Most faults of a registry's that are shown.
const MOST_FAULTS: usize = 100;

/// A text of a registry's on one line, bounded.
fn one_line(text: &str) -> String {
    let text: String = text.trim().chars().take(LONGEST).collect();
    escape_whole(&text)
}

/// A problem's words.
fn told(problem: &Problem) -> String {
    let text = if problem.detail.trim().is_empty() { &problem.title } else { &problem.detail };
    one_line(text)
}

impl RegistryError {
    fn kind(&self) -> Kind {
        match self {
            Self::Digest { .. } | Self::Other { .. } => Kind::Verification,
            Self::Token { .. } => Kind::Usage,
            Self::Problem { problem, .. } if matches!(problem.status, 401 | 403) => Kind::Refused,
            Self::Status { status: 401 | 403, .. } => Kind::Refused,
            _ => Kind::Failed,
        }
    }

    fn code(&self) -> String {
        match self {
            Self::Certificates { .. } => "certificates_unreadable",
            Self::Setup { .. } => "registry_setup_failed",
            Self::NotAsked { .. } => "offline",
            Self::Token { .. } => "token_invalid",
            Self::Unreachable { .. } | Self::BrokenOff { .. } => "registry_unreachable",
            Self::Silent { .. } | Self::Slow { .. } => "registry_timeout",
            Self::Redirect { .. } => "registry_redirects",
            Self::NotRegistry { .. } => "not_a_registry",
            Self::TooLong { .. } => "answer_too_long",
            Self::CutOff { .. } | Self::TooShort { .. } => "answer_too_short",
            Self::Shape { .. } => "answer_invalid",
            Self::Other { .. } => "answer_mismatch",
            Self::Digest { .. } => "digest_mismatch",
            Self::Problem { problem, .. } if is_code(&problem.code) => &problem.code,
            Self::Problem { .. } => "registry_refused",
            Self::Status { status: 401, .. } => "unauthorized",
            Self::Status { status: 403, .. } => "forbidden",
            Self::Status { .. } => "registry_failed",
            Self::File { .. } => "file_unreadable",
        }
        .to_owned()
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unreachable { cause, .. } if cause.contains("certificate") => Some(
                "a certificate that only your organisation knows is trusted with \
                 `ca = \"FILE.pem\"` under the registry in the configuration file"
                    .to_owned(),
            ),
            Self::Unreachable { url, cause, .. } if cause.contains("InvalidContentType") => {
                let plain = url.replacen("https://", "http://", 1);
                Some(format!("no TLS is spoken there: is its URL `{plain}`?"))
            }
            Self::Unreachable { proxy: Some(_), .. } => Some(
                "is the proxy running, and does the configuration file name its URL? Without \
                 `proxy` there the registry is asked directly"
                    .to_owned(),
            ),
            Self::Unreachable { .. } => Some("is it running, and is this its URL?".to_owned()),
            Self::BrokenOff { .. } => Some(
                "it, or what stands before it, may not take this much: try again, and where it \
                 stays so, ask the registry's operator"
                    .to_owned(),
            ),
            Self::CutOff { .. } | Self::TooShort { .. } => Some(
                "nothing of it was used: try again; where it stays so, something between ends long \
                 answers, or the registry does: tell its operator"
                    .to_owned(),
            ),
            Self::Silent { .. } | Self::Slow { .. } => {
                Some("try again; where it stays so, tell the registry's operator".to_owned())
            }
            Self::Status { status: 407, .. } => {
                Some("a proxy that asks for a user name and a password is not supported".to_owned())
            }
            Self::Status { status: 413, .. } => Some(
                "something before the registry lets no more bytes through: its operator can raise \
                 that bound"
                    .to_owned(),
            ),
            Self::Status { status: 502..=504, .. } => Some(
                "what stands before the registry does not reach it: try again, or tell its operator"
                    .to_owned(),
            ),
            Self::Status { status: 500.., .. } => {
                Some("try again, or tell its operator: the registry's log says why".to_owned())
            }
            Self::NotRegistry { .. } => Some(
                "check the URL; where it is right, something between may answer for the registry"
                    .to_owned(),
            ),
            Self::Redirect { .. } => {
                Some("if the registry has moved, configure its new URL".to_owned())
            }
            Self::Problem { problem, url, .. } if problem.status == 401 => Some(format!(
                "`skillpkg login --registry {url}` keeps a token; `SKILLPKG_TOKEN` gives one for \
                 a run"
            )),
            Self::Status { status: 401, url } => {
                Some(format!("`skillpkg login --registry {url}` keeps a token"))
            }
            Self::Problem { problem, .. } if problem.code == "token_lacks_grant" => {
                Some("`skillpkg whoami` tells what the token allows".to_owned())
            }
            Self::Problem { problem, .. } if problem.code == "key_revoked" => {
                Some(crate::keys::SIGN_WITH_ANOTHER.to_owned())
            }
            Self::Problem { problem, .. } if problem.code == "key_unproven" => Some(
                "publish from where the private key is, or register it there with \
                 `skillpkg keys add`"
                    .to_owned(),
            ),
            Self::Problem { problem, .. } if problem.code == "key_not_registered" => Some(
                "`skillpkg keys add` registers a further key with your account, and \
                 `skillpkg keys` tells which it has"
                    .to_owned(),
            ),
            Self::Problem { problem, url, .. }
                if problem.code == "not_found" && base_has_path(url) =>
            {
                Some(format!(
                    "is `{url}` the registry's URL as its operator gave it? Most have no path"
                ))
            }
            Self::Problem { retry_after: Some(seconds), .. } => {
                Some(format!("try again in {seconds} seconds"))
            }
            _ => None,
        }
    }
}

/// Whether a registry's URL goes on behind its host, as one does that was copied out of a request.
fn base_has_path(url: &str) -> bool {
    url.split("://").nth(1).is_some_and(|rest| rest.contains('/'))
}

/// Whether a text from outside can stand where our own codes stand.
fn is_code(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// A fault from outside, safe to print.
pub(super) fn printable(fault: Diagnostic) -> Diagnostic {
    Diagnostic {
        code: if is_code(&fault.code) { fault.code } else { "fault".to_owned() },
        message: one_line(&fault.message),
        hint: fault.hint.as_deref().map(one_line),
        file: fault.file.as_deref().map(one_line),
        ..fault
    }
}

impl From<RegistryError> for Error {
    fn from(error: RegistryError) -> Self {
        let mut told = Error::new(error.kind(), error.code(), error.to_string());
        told.hint = error.hint();
        if let RegistryError::Problem { problem, .. } = error {
            let more = problem.faults.len().saturating_sub(MOST_FAULTS);
            told.faults = problem.faults.into_iter().take(MOST_FAULTS).map(printable).collect();
            if more > 0 {
                told.faults.push(Diagnostic::error("more_findings", format!("and {more} more")));
            }
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_registry_says_is_one_line_each_and_at_most_a_hundred_faults() {
        let fault = Diagnostic::error("x", "a\nerror: b").with_hint("c\nd\u{1b}[31m");
        let problem: Problem = serde_json::from_value(serde_json::json!({
            "type": "about:blank", "title": "t", "status": 422, "code": "x",
            "detail": "first\nerror: second", "faults": vec![fault; 250],
        }))
        .unwrap();
        let url = "https://x.test/".to_owned();
        let error = Error::from(RegistryError::Problem {
            url,
            problem: Box::new(problem),
            retry_after: None,
        });
        assert_eq!(error.message, "first\\nerror: second");
        assert_eq!(error.faults.len(), 101);
        assert_eq!(error.faults[0].message, "a\\nerror: b");
        assert_eq!(error.faults[0].hint.as_deref(), Some("c\\nd\\u{1b}[31m"));
        assert_eq!(error.faults[100].message, "and 150 more");
    }
}
