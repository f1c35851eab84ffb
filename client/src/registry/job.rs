//! The identity of the job of a build service that this runs in, and what a registry gives for it.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;
use url::Url;
use zeroize::Zeroizing;

use super::Registry;
use super::connect::{Patience, client};
use super::transport::cause;
use crate::settings::{Connection, is_loopback, registry_text};
use crate::{Error, Kind, Settings};

/// Most bytes of an identity, and of the answer that it comes in.
const MAX_BYTES: usize = 64 * 1024;
/// For how long a build service is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where the identity of a job comes from.
#[derive(Clone)]
pub enum JobIdentity {
    /// It is this token, which the job was given.
    Token(Zeroizing<String>),
    /// GitHub Actions gives one to whoever asks at this URL with this token.
    GitHub {
        /// Where.
        url: String,
        /// With what.
        token: Zeroizing<String>,
    },
}

impl fmt::Debug for JobIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Token(_) => "Token(…)",
            Self::GitHub { .. } => "GitHub(…)",
        })
    }
}

/// A registry that is spoken to as a job that it trusts.
#[derive(Debug, Clone)]
pub struct Trusted {
    /// The registry, with a token for one skill and for minutes.
    pub registry: Registry,
    /// The account that trusts the job, and that it publishes as.
    pub account: String,
    /// When the token ends, RFC 3339 in UTC.
    pub expires: String,
}

/// Shows a registry which job this is, and takes the token for `name` that it gives for that.
///
/// Both tokens stay in memory. Refuses with `job_identity_missing` where this is no job, and with
/// `job_identity_audience` where the identity was made for another registry: it is not sent.
pub async fn trusted(
    settings: &Settings,
    registry: &Registry,
    name: &QualifiedName,
) -> Result<Trusted, Error> {
    let audience = registry_text(registry.url());
    let identity = match &settings.job {
        Some(JobIdentity::Token(token)) => token.clone(),
        Some(JobIdentity::GitHub { url, token }) => of_github(url, token, audience).await?,
        None => return Err(missing()),
    };
    check_audience(&identity, audience)?;
    let registry = registry.without_token();
    let given =
        registry.exchange_identity(name, &identity).await.map_err(|error| explain(error, name))?;
    let (account, expires) = (given.account, given.expires);
    Ok(Trusted { registry: registry.with_token(given.secret)?, account, expires })
}

fn missing() -> Error {
    let message = "nothing here tells which job of a build service this is";
    Error::new(Kind::Refused, "job_identity_missing", message).with_hint(
        "on GitHub Actions the job needs `permissions: id-token: write`; elsewhere \
         `SKILLPKG_OIDC_TOKEN` holds the identity, made for the registry's URL",
    )
}

fn explain(error: Error, name: &QualifiedName) -> Error {
    match error.code.as_str() {
        "not_found" => {
            let message = format!("the registry knows no jobs that it would let publish `{name}`");
            Error { message, ..error }.with_hint(format!(
                "an owner trusts them with `skillpkg trusted add {name} …`, and sees them with \
                 `skillpkg trusted list {name}`, where the registry takes identities of build services"
            ))
        }
        _ => error,
    }
}

/// Refuses an identity that is for somebody else: whoever got it could use it there.
///
/// Nothing is verified, which is the registry's to do.
fn check_audience(identity: &str, audience: &str) -> Result<(), Error> {
    let unreadable = || {
        let message = "the identity of the job is no signed JSON Web Token";
        Error::new(Kind::Usage, "job_identity_invalid", message)
    };
    let is_token = identity.len() <= MAX_BYTES && identity.bytes().all(|b| b.is_ascii_graphic());
    let claims = identity.split('.').nth(1).filter(|_| is_token).ok_or_else(unreadable)?;
    let claims = URL_SAFE_NO_PAD.decode(claims).map_err(|_| unreadable())?;
    let claims: Value = serde_json::from_slice(&claims).map_err(|_| unreadable())?;
    let made_for = match &claims["aud"] {
        Value::Array(all) if all.len() == 1 => &all[0],
        other => other,
    };
    if made_for == audience {
        return Ok(());
    }
    let message = format!(
        "the identity of the job is made for {}, and not for the registry at `{audience}`",
        escape(&made_for.to_string())
    );
    Err(Error::new(Kind::Refused, "job_identity_audience", message)
        .with_hint(format!("it was not sent: its audience (`aud`) must be `{audience}`")))
}

/// Asks GitHub for an identity that is made for `audience`.
async fn of_github(url: &str, token: &str, audience: &str) -> Result<Zeroizing<String>, Error> {
    #[derive(Deserialize)]
    struct Given {
        value: String,
    }
    let failed = |reason: String| {
        let message = format!("GitHub gives this job no identity: {}", escape(&reason));
        Error::new(Kind::Failed, "job_identity_failed", message)
    };
    let mut url = Url::parse(url)
        .map_err(|error| failed(format!("`ACTIONS_ID_TOKEN_REQUEST_URL` is no URL: {error}")))?;
    if url.scheme() != "https" && !(url.scheme() == "http" && is_loopback(&url)) {
        return Err(failed("`ACTIONS_ID_TOKEN_REQUEST_URL` is not `https`".to_owned()));
    }
    url.query_pairs_mut().append_pair("audience", audience);
    let asking = async {
        let client = client(&url, &Connection::default(), Patience::default())?;
        let answer = client.get(url.clone()).bearer_auth(token).send().await;
        let mut answer = answer.map_err(|error| failed(cause(&error)))?;
        if !answer.status().is_success() {
            return Err(failed(format!("it answers with status {}", answer.status().as_u16())));
        }
        let mut body = Zeroizing::new(Vec::new());
        while let Some(part) = answer.chunk().await.map_err(|error| failed(cause(&error)))? {
            if body.len() + part.len() > MAX_BYTES {
                return Err(failed(format!("it answers with more than {MAX_BYTES} bytes")));
            }
            body.extend_from_slice(&part);
        }
        // The parser's words would show what was sent.
        let given: Given = serde_json::from_slice(&body)
            .map_err(|_| failed("its answer holds no identity".to_owned()))?;
        Ok(Zeroizing::new(given.value))
    };
    let silent = || failed(format!("it did not answer within {} s", PATIENCE.as_secs()));
    tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(|_| Err(silent()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(claims: &str) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn an_identity_for_another_registry_is_not_sent() {
        let here = "https://skills.example";
        for claims in
            [r#"{"aud":"https://skills.example"}"#, r#"{"aud":["https://skills.example"]}"#]
        {
            assert!(check_audience(&token(claims), here).is_ok(), "{claims}");
        }
        for claims in [
            r#"{"aud":"https://other.example"}"#,
            r#"{"aud":"https://skills.example/"}"#,
            r#"{"aud":["https://skills.example","https://other.example"]}"#,
            r#"{"aud":[]}"#,
            "{}",
        ] {
            let refused = check_audience(&token(claims), here).unwrap_err();
            assert_eq!(refused.code, "job_identity_audience", "{claims}");
        }
        for text in ["", "a", "a.b", "a.b.c", "a.\n.c", &"a".repeat(100_000)] {
            assert_eq!(check_audience(text, here).unwrap_err().code, "job_identity_invalid");
        }
    }

    #[test]
    fn no_debug_output_shows_a_token() {
        let secret = || Zeroizing::new("s3cret".to_owned());
        for identity in [
            JobIdentity::Token(secret()),
            JobIdentity::GitHub { url: "https://x/s3cret".to_owned(), token: secret() },
        ] {
            assert!(!format!("{identity:?}").contains("s3cret"));
        }
    }
}
