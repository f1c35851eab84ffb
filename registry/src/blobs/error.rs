//! Why objects are not read or written.

use std::error::Error as _;
use std::fmt::Write as _;

use object_store::client::{HttpError, HttpErrorKind};
use skillpkg_schema::diagnostic::escape;

use super::address::BucketAddressError;
use crate::random::NoRandomness;

/// Why objects are not read or written.
#[derive(Debug, thiserror::Error)]
pub enum BlobsError {
    /// Files of the data directory.
    #[error("{0}")]
    Files(#[from] object_store::Error),
    /// A bucket.
    #[error("the bucket `{bucket}`: {trouble}")]
    Bucket {
        /// Its address.
        bucket: String,
        /// What is the matter with it.
        trouble: BucketTrouble,
    },
    /// The address of a bucket.
    #[error(transparent)]
    Address(#[from] BucketAddressError),
    /// The certificates that the environment names.
    #[error("`AWS_CA_BUNDLE` names `{path}`, which is no file of certificates in PEM: {reason}")]
    Certificates {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No HTTP client.
    #[error("no client for S3 can be made: {0}")]
    Client(String),
    /// What is stored is not what its key says, or not all of it came.
    #[error("`{key}` {what}")]
    Damaged {
        /// The object.
        key: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A key that is to name its sender.
    #[error(transparent)]
    Random(#[from] NoRandomness),
    /// What is to be stored could not be read.
    #[error("what was received cannot be read: {0}")]
    Received(#[source] std::io::Error),
}

/// What is the matter with a bucket, and what an operator can do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BucketTrouble {
    /// It is not there.
    #[error(
        "there is no such bucket; make it (the registry makes none), or correct `--blobs` and its `endpoint`"
    )]
    NoBucket,
    /// What was asked for is not allowed.
    #[error(
        "access is denied; its policy must allow these credentials `s3:ListBucket` on the bucket, and \
         `s3:GetObject`, `s3:PutObject`, `s3:DeleteObject` and `s3:AbortMultipartUpload` on what is \
         beneath the prefix"
    )]
    Denied,
    /// The credentials are none of this service.
    #[error(
        "the service does not accept the credentials (`{0}`); check `AWS_ACCESS_KEY_ID`, \
         `AWS_SECRET_ACCESS_KEY` and, for temporary ones, `AWS_SESSION_TOKEN`"
    )]
    Credentials(String),
    /// There are none.
    #[error(
        "there are no credentials; set `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or run this \
         where a role gives some"
    )]
    NoCredentials,
    /// The clocks differ.
    #[error(
        "the clock of this machine is too far from the service's, which refuses what is signed with \
         it; set the clock"
    )]
    Clock,
    /// It is in another region.
    #[error(
        "it is in another region than the requests are signed for (`{0}`); say which with `?region=…` or `AWS_REGION`"
    )]
    Region(String),
    /// Nothing answers.
    #[error(
        "the service cannot be reached ({0}); is its `endpoint` right, does it run, and may this machine connect to it?"
    )]
    Unreachable(String),
    /// It takes too long.
    #[error("the service does not answer in time")]
    Slow,
    /// It says less, or more, than it said it would.
    #[error("an answer of the service is cut short")]
    CutShort,
    /// It says that it cannot at present.
    #[error("the service fails at present (`{0}`)")]
    Failing(String),
    /// A put that must not replace anything is not understood.
    #[error(
        "the service does not honour `If-None-Match: *`, so that a put could replace what is there; \
         use one that does, or add `conditional-put=off` to `--blobs` where this registry alone \
         writes beneath the prefix"
    )]
    Unconditional,
    /// Too much is being put at once.
    #[error("too much is being stored at once")]
    Crowded,
    /// What was written does not come back.
    #[error("what was just written does not come back as it was")]
    Forgetful,
    /// Anything else.
    #[error("the service refuses: `{0}`")]
    Other(String),
}

impl BucketTrouble {
    /// What an error of the client means.
    pub(super) fn of(error: &object_store::Error) -> Self {
        let mut told = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            if let Some(http) = cause.downcast_ref::<HttpError>() {
                return Self::of_transport(http);
            }
            let _ = write!(told, "\n{cause}");
            source = cause.source();
        }
        Self::of_text(&told)
    }

    fn of_transport(error: &HttpError) -> Self {
        if error.kind() == HttpErrorKind::Timeout {
            return Self::Slow;
        }
        let mut innermost: &dyn std::error::Error = error;
        while let Some(source) = innermost.source() {
            innermost = source;
        }
        Self::Unreachable(escape(&innermost.to_string()))
    }

    /// Reads the service's own code, or else the status: nothing else of what it says is repeated,
    /// for it may hold key ids and what was signed.
    fn of_text(told: &str) -> Self {
        let between = |start: &str, end: &str| {
            let (_, rest) = told.split_once(start)?;
            Some(escape(rest.split_once(end)?.0.trim()))
        };
        let status = between("status code: ", " ").map(|status| status.replace(':', ""));
        if let Some(code) = between("<Code>", "</Code>") {
            return match code.as_str() {
                "NoSuchBucket" => Self::NoBucket,
                "AccessDenied" | "AllAccessDisabled" | "AccountProblem" => Self::Denied,
                "RequestTimeTooSkewed" | "RequestExpired" => Self::Clock,
                "InvalidAccessKeyId"
                | "SignatureDoesNotMatch"
                | "ExpiredToken"
                | "InvalidToken"
                | "TokenRefreshRequired"
                | "InvalidSecurity"
                | "NotSignedUp" => Self::Credentials(code),
                "AuthorizationHeaderMalformed"
                | "PermanentRedirect"
                | "TemporaryRedirect"
                | "IllegalLocationConstraintException" => Self::Region(code),
                "NotImplemented" => Self::Unconditional,
                "SlowDown"
                | "InternalError"
                | "ServiceUnavailable"
                | "RequestTimeout"
                | "ConditionalRequestConflict"
                | "OperationAborted" => Self::Failing(code),
                _ => Self::Other(code),
            };
        }
        if told.contains("redirect without LOCATION") {
            return Self::Region("redirect".to_owned());
        }
        match status.as_deref() {
            Some("301" | "302" | "307" | "308") => Self::Region(status.unwrap_or_default()),
            Some("401" | "403") => Self::Denied,
            Some("501") => Self::Unconditional,
            Some(status) if status.starts_with('5') || status == "429" => {
                Self::Failing(status.to_owned())
            }
            Some(status) => Self::Other(status.to_owned()),
            None => Self::Other(escape(told.lines().next().unwrap_or_default())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: &str, body: &str) -> BucketTrouble {
        BucketTrouble::of_text(&format!(
            "Generic S3 error: Error performing PUT http://127.0.0.1:1/b/k in 2ms - Server returned \
             non-2xx status code: {status}: {body}"
        ))
    }

    #[test]
    fn what_a_service_says_is_told_by_what_to_do() {
        let coded = |status: &str, code: &str| {
            answered(
                status,
                &format!(
                    "<?xml version=\"1.0\"?><Error><Code>{code}</Code><AWSAccessKeyId>KEY</AWSAccessKeyId>\
                     <StringToSign>SIGNED</StringToSign></Error>"
                ),
            )
            .to_string()
        };
        for (status, code, told) in [
            ("404 Not Found", "NoSuchBucket", "make it"),
            ("403 Forbidden", "AccessDenied", "`s3:PutObject`"),
            ("403 Forbidden", "InvalidAccessKeyId", "`AWS_ACCESS_KEY_ID`"),
            ("403 Forbidden", "SignatureDoesNotMatch", "`AWS_SECRET_ACCESS_KEY`"),
            ("400 Bad Request", "ExpiredToken", "`AWS_SESSION_TOKEN`"),
            ("403 Forbidden", "RequestTimeTooSkewed", "set the clock"),
            ("400 Bad Request", "AuthorizationHeaderMalformed", "`?region=…`"),
            ("301 Moved Permanently", "PermanentRedirect", "`?region=…`"),
            ("501 Not Implemented", "NotImplemented", "`conditional-put=off`"),
            ("503 Service Unavailable", "SlowDown", "fails at present (`SlowDown`)"),
            ("400 Bad Request", "NewReason", "refuses: `NewReason`"),
        ] {
            let found = coded(status, code);
            assert!(found.contains(told), "{code}: {found}");
            assert!(!found.contains("KEY<") && !found.contains("SIGNED"), "{found}");
        }
        assert_eq!(answered("403 Forbidden", ""), BucketTrouble::Denied);
        assert_eq!(answered("500 Internal", ""), BucketTrouble::Failing("500".to_owned()));
        assert_eq!(answered("418 Odd", "<html>"), BucketTrouble::Other("418".to_owned()));
    }

    #[test]
    fn what_a_service_says_is_escaped() {
        let told = answered("400 Bad", "<Code>\u{1b}[2J</Code>").to_string();
        assert!(!told.contains('\u{1b}'), "{told:?}");
    }
}
