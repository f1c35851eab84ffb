//! What the registry answers when it does not do what was asked: one error type for every handler.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use skillpkg_schema::Diagnostic;
use skillpkg_schema::wire::Problem;

use crate::blobs::BlobsError;
use crate::database::file_code;

/// Media type of a problem document, RFC 9457.
pub const PROBLEM_MEDIA_TYPE: &str = "application/problem+json";

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal, $status:ident, $title:literal;)+) => {
        /// The reasons for which a request is refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Code {
            /// Every code there is.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The stable text that clients match on.
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text),+ }
            }

            /// The HTTP status that it is answered with.
            pub fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status),+ }
            }

            /// One line, the same for every problem of the code.
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title),+ }
            }
        }
    };
}

codes! {
    /// A text in the path or the query that does not parse.
    InvalidRequest = "invalid_request", BAD_REQUEST, "The request cannot be read";
    /// A name that is none.
    InvalidName = "invalid_name", BAD_REQUEST, "Not a name";
    /// A version that is none.
    InvalidVersion = "invalid_version", BAD_REQUEST, "Not a version";
    /// An address that is none.
    InvalidAddress = "invalid_address", BAD_REQUEST, "Not an address";
    /// A grant that is none.
    InvalidGrant = "invalid_grant", BAD_REQUEST, "Not a grant";
    /// A public key that is none, or a weak one.
    InvalidKey = "invalid_key", BAD_REQUEST, "Not a public key";
    /// No token where one is needed, or one that is unknown, revoked or over.
    Unauthorized = "unauthorized", UNAUTHORIZED, "A valid token is needed";
    /// A token that does not allow this.
    TokenLacksGrant = "token_lacks_grant", FORBIDDEN, "The token does not allow this";
    /// An account that may read a skill and not change it.
    NotAnOwner = "not_an_owner", FORBIDDEN, "Only an owner may do this";
    /// A scope that the account may not publish to, or that is not there.
    ScopeRefused = "scope_refused", FORBIDDEN, "Not a scope that the account may publish to";
    /// Signed by a key that the account has not registered.
    KeyNotRegistered = "key_not_registered", FORBIDDEN, "The signing key is not the account's";
    /// Signed by a key that the account has revoked.
    KeyRevoked = "key_revoked", FORBIDDEN, "The signing key is revoked";
    /// A key of which nothing shows that the account holds it.
    KeyUnproven = "key_unproven", FORBIDDEN, "Nothing shows that the account holds the key";
    /// A publish through a face that an operator does not take, or whose author signs the skill.
    FacePublishRefused = "face_publish_refused", FORBIDDEN, "Not taken from this client";
    /// An identity of a build service that is none here.
    IdentityRefused = "identity_refused", FORBIDDEN, "The identity is not taken";
    /// An identity of a job that is not trusted to publish the skill.
    PublisherRefused = "publisher_refused", FORBIDDEN, "Not a trusted publisher";
    /// Nothing is there, or nothing that the caller may read.
    NotFound = "not_found", NOT_FOUND, "Not found";
    /// What a face's protocol has, and this registry does not.
    NotOffered = "not_offered", NOT_FOUND, "Not offered here";
    /// The path takes other methods.
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "Method not allowed";
    /// Too slow.
    Timeout = "timeout", REQUEST_TIMEOUT, "The request took too long";
    /// The version exists with another manifest.
    VersionExists = "version_exists", CONFLICT, "The version exists";
    /// The name is one with another for a reader.
    NameTaken = "name_taken", CONFLICT, "The name reads like another";
    /// The name reads like one that many use.
    NameConfusable = "name_confusable", CONFLICT, "The name reads like a popular one";
    /// The name reads like one that many use, and waits for an operator.
    NameHeld = "name_held", CONFLICT, "The name waits for an operator";
    /// An operator gives the name to nobody.
    NameRefused = "name_refused", CONFLICT, "An operator refused the name";
    /// The version was deleted, and its number stays taken.
    VersionDeleted = "version_deleted", CONFLICT, "The version was deleted";
    /// The name was deleted, and is given to nobody else yet.
    NameDeleted = "name_deleted", CONFLICT, "The name was deleted";
    /// A name that is another registry's, which this one mirrors.
    Mirrored = "mirrored", CONFLICT, "The name is another registry's";
    /// A key that is registered already.
    KeyTaken = "key_taken", CONFLICT, "The key is registered";
    /// The last owner.
    LastOwner = "last_owner", CONFLICT, "The last owner cannot be removed";
    /// An owner through the scope.
    OwnedThroughScope = "owned_through_scope", CONFLICT, "Owned through the scope";
    /// Not an account that can be an owner.
    NoSuchAccount = "no_such_account", CONFLICT, "Not an account that can own it";
    /// An account that is a member of the scope, in another role.
    AlreadyAMember = "already_a_member", CONFLICT, "A member already";
    /// More than a skill may have.
    TooMany = "too_many", CONFLICT, "Too many";
    /// A version that is not to be used.
    AdvisoryForbids = "advisory_forbids", GONE, "An advisory forbids this version";
    /// A body over its limit.
    TooLarge = "too_large", PAYLOAD_TOO_LARGE, "The body is too large";
    /// An answer over its limit.
    AnswerTooLarge = "answer_too_large", PAYLOAD_TOO_LARGE, "The answer would be too large";
    /// A range outside the content.
    RangeNotSatisfiable = "range_not_satisfiable", RANGE_NOT_SATISFIABLE, "The range is outside the content";
    /// Bytes that are no archive, or not the one that the path names.
    ArchiveRefused = "archive_refused", UNPROCESSABLE_ENTITY, "The archive is refused";
    /// A signature that does not vouch for it.
    SignatureRefused = "signature_refused", UNPROCESSABLE_ENTITY, "The signature is refused";
    /// Too often.
    RateLimited = "rate_limited", TOO_MANY_REQUESTS, "Too many requests";
    /// A fault of the registry's own.
    Internal = "internal", INTERNAL_SERVER_ERROR, "The registry failed";
    /// What the mirrored registry says is not believed.
    UpstreamRefused = "upstream_refused", BAD_GATEWAY, "The mirrored registry is not believed";
    /// Busy, stopping, or its storage does not answer.
    Unavailable = "unavailable", SERVICE_UNAVAILABLE, "The registry cannot answer now";
    /// A request that has come through this mirror before.
    MirrorLoop = "mirror_loop", LOOP_DETECTED, "The mirrors ask each other";
}

/// A request that is not done.
#[derive(Debug)]
pub struct Refusal {
    code: Code,
    detail: String,
    faults: Vec<Diagnostic>,
    cause: Option<String>,
    retry_after: Option<u32>,
    content_range: Option<String>,
}

/// Why the registry failed: for its log, beside the request's id, and for nobody else.
#[derive(Debug, Clone)]
pub(crate) struct Cause(pub(crate) String);

/// What was wrong, for whoever writes the answer anew in another form.
#[derive(Debug, Clone)]
pub(crate) struct Told(pub(crate) Problem);

/// What a handler answers.
pub type Answer<T> = Result<T, Refusal>;

impl Refusal {
    /// A refusal for this reason; `detail` says what was wrong this time, and what to do.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        let faults = Vec::new();
        Self { code, detail, faults, cause: None, retry_after: None, content_range: None }
    }

    /// What is answered for whatever is not there, and for whatever the caller may not read.
    ///
    /// It says nothing of what was asked for: one answer cannot tell the two apart.
    pub fn not_found() -> Self {
        Self::new(Code::NotFound, "there is nothing here that you may read")
    }

    /// No valid token.
    pub fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(Code::Unauthorized, detail)
    }

    /// A fault of the registry's own: the log says which, the caller learns nothing of it.
    pub fn internal(error: &dyn std::fmt::Display) -> Self {
        let detail = "the registry failed to do this; its log says why";
        Self::new(Code::Internal, detail).caused_by(error)
    }

    /// Not now; again after this many seconds.
    pub fn unavailable(detail: impl Into<String>, retry_after: u32) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(Code::Unavailable, detail) }
    }

    /// Too often; again after this many seconds.
    pub fn rate_limited(detail: impl Into<String>, retry_after: u32) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(Code::RateLimited, detail) }
    }

    /// A range outside content of this many bytes.
    pub fn range_not_satisfiable(size: u64) -> Self {
        let detail = format!("the content is {size} bytes long");
        let content_range = Some(format!("bytes */{size}"));
        Self { content_range, ..Self::new(Code::RangeNotSatisfiable, detail) }
    }

    pub(crate) fn caused_by(mut self, cause: &dyn std::fmt::Display) -> Self {
        self.cause = Some(cause.to_string());
        self
    }

    /// With every fault found.
    #[must_use]
    pub fn with_faults(mut self, faults: Vec<Diagnostic>) -> Self {
        self.faults = faults;
        self
    }

    /// The reason.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What was wrong, and for a fault of the registry's own why: for whoever runs the registry.
    pub fn told_in_full(&self) -> String {
        match &self.cause {
            Some(cause) => format!("{}: {cause}", self.detail),
            None => self.detail.clone(),
        }
    }

    /// The document that it is answered with.
    pub fn problem(&self) -> Problem {
        Problem {
            kind: format!("urn:skillpkg:problem:{}", self.code.text()),
            title: self.code.title().to_owned(),
            status: self.code.status().as_u16(),
            code: self.code.text().to_owned(),
            detail: self.detail.clone(),
            faults: self.faults.clone(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let problem = self.problem();
        // Texts and numbers alone: nothing in it that serialisation can refuse.
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let mut response = (self.code.status(), body).into_response();
        response.extensions_mut().insert(Told(problem));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_MEDIA_TYPE));
        // A refusal depends on who asks: no cache may hand it to somebody else.
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
        headers.insert(header::VARY, HeaderValue::from_static("authorization"));
        if self.code == Code::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(cause) = self.cause {
            response.extensions_mut().insert(Cause(cause));
        }
        let headers = response.headers_mut();
        if let Some(Ok(range)) = self.content_range.map(HeaderValue::try_from) {
            headers.insert(header::CONTENT_RANGE, range);
        }
        response
    }
}

impl From<sqlx::Error> for Refusal {
    fn from(error: sqlx::Error) -> Self {
        if is_no_text(&error) {
            // Nothing is called so: a file would have looked for it, and found nothing.
            return Self::not_found();
        }
        if is_disk_full(&error) {
            return Self::unavailable(DISK_FULL, ROOM_AFTER).caused_by(&error);
        }
        if is_away(&error) {
            let detail = "the registry's database does not answer; try again";
            return Self::unavailable(detail, 2).caused_by(&error);
        }
        if is_busy(&error) {
            let detail = "the registry's database is busy; try again";
            return Self::unavailable(detail, 2).caused_by(&error);
        }
        Self::internal(&error)
    }
}

/// Whether a server was asked about a text with a zero in it, which is none to it.
fn is_no_text(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(sqlx::error::DatabaseError::code).as_deref() == Some("22021")
}

/// Whether the server of the database is away, starting or stopping, or has no connection to give.
fn is_away(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::PoolTimedOut | sqlx::Error::Io(_) | sqlx::Error::Tls(_) => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| {
            code.len() == 5 && (code.starts_with("08") || code.starts_with("57P"))
        }),
        _ => false,
    }
}

/// What is told of a disk that takes nothing more: only its operator can help.
const DISK_FULL: &str =
    "the registry's disk is full: it takes nothing new until its operator has made room";
/// After how many seconds it is worth asking a full disk again.
const ROOM_AFTER: u32 = 60;

/// Whether something failed since a disk of the registry's, or its database's, is full.
pub fn is_disk_full(error: &(dyn std::error::Error + 'static)) -> bool {
    const FULL: i32 = 13;
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            use std::io::ErrorKind::{QuotaExceeded, StorageFull};
            if [StorageFull, QuotaExceeded].contains(&error.kind()) {
                return true;
            }
        }
        if let Some(error) = error.downcast_ref::<sqlx::Error>() {
            let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
            if file_code(error) == Some(FULL) || code.as_deref() == Some("53100") {
                return true;
            }
        }
        cause = error.source();
    }
    false
}

/// `SQLITE_BUSY` and its kin, and a server that is out of something: all of them pass.
fn is_busy(error: &sqlx::Error) -> bool {
    const BUSY: i32 = 5;
    const LOCKED: i32 = 6;
    // Resources, what the system does; a transaction that is to be begun again, a server that only
    // reads for now, and waits that took too long.
    const PASSING: [&str; 7] = ["53", "58", "40", "25006", "25P03", "55P03", "57014"];
    if let Some(code) = file_code(error) {
        return [BUSY, LOCKED].contains(&code);
    }
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| PASSING.iter().any(|passing| code.starts_with(passing)))
}

impl From<BlobsError> for Refusal {
    fn from(error: BlobsError) -> Self {
        if let BlobsError::Damaged { .. } = error {
            return Self::internal(&error);
        }
        if is_disk_full(&error) {
            return Self::unavailable(DISK_FULL, ROOM_AFTER).caused_by(&error);
        }
        let detail = "the registry's storage does not answer; try again";
        Self::unavailable(detail, 5).caused_by(&error)
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        if is_disk_full(&error) {
            return Self::unavailable(DISK_FULL, ROOM_AFTER).caused_by(&error);
        }
        Self::unavailable("the registry's disk does not answer; try again", 5).caused_by(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_one_snake_case_text_with_a_failing_status() {
        let mut texts: Vec<&str> = Code::ALL.iter().map(|code| code.text()).collect();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), Code::ALL.len());
        for code in Code::ALL {
            assert!(code.text().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
            assert!(code.status().is_client_error() || code.status().is_server_error());
            assert!(!code.title().is_empty());
        }
    }

    #[test]
    fn the_documentation_has_every_code_with_its_status_and_no_other() {
        let page = include_str!("../../docs/wire/api.md");
        let (_, table) = page.split_once("| code | status | when |").unwrap();
        let rows: Vec<(&str, &str)> = table
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
            .filter_map(|(code, rest)| Some((code, rest.split_once(" | ")?.0)))
            .collect();
        let codes: Vec<(&str, String)> =
            Code::ALL.iter().map(|code| (code.text(), code.status().as_str().to_owned())).collect();
        let codes: Vec<(&str, &str)> =
            codes.iter().map(|(code, status)| (*code, status.as_str())).collect();
        assert_eq!(rows, codes);
    }

    #[test]
    fn a_full_disk_is_told_as_such_wherever_it_was_met() {
        let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
        let generic = object_store::Error::Generic { store: "files", source: Box::new(full()) };
        for refused in [
            Refusal::from(full()),
            Refusal::from(BlobsError::Received(full())),
            Refusal::from(BlobsError::Files(generic)),
        ] {
            let told = refused.problem();
            assert!(told.status == 503 && told.detail.contains("disk is full"), "{told:?}");
        }
        let other = Refusal::from(std::io::Error::other("it hangs")).problem();
        assert!(other.detail.contains("does not answer"), "{other:?}");
    }

    #[test]
    fn nothing_tells_what_is_hidden_from_what_is_not_there() {
        let (one, other) = (Refusal::not_found().problem(), Refusal::not_found().problem());
        assert_eq!(one, other);
        assert_eq!(one.kind, "urn:skillpkg:problem:not_found");
    }
}
