//! Jobs of build services that publish without a token of anybody's: an issuer that the operator
//! trusts says which job it is (OIDC), an owner of the skill has said which jobs may, and the
//! job is given a token for that skill and for minutes.
//!
//! What an identity is, is decided here alone: its issuer, its signature, for whom and when it is. What
//! it may is [`publishers`]'s.

mod error;
pub mod exchange;
mod identity;
mod jws;
mod key;
mod keys;
mod provider;
pub mod publishers;

use std::sync::Arc;
use std::time::Duration;

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::wire::IdentityIssuer;
use url::Url;

pub use self::error::IdentityError;
pub use self::identity::{Identity, LEEWAY};
pub use self::keys::Pace;
pub use self::provider::{Claims, Issuer, IssuerError, Provider, WORKFLOW_FILE};

use self::jws::Unverified;
use self::keys::Keys;
use crate::clock;
use crate::upstream::hosts::AllowedHosts;
use crate::upstream::{Patience, Upstream, UpstreamError};

/// The issuers that an operator trusts, and for whom identities must be made.
#[derive(Debug)]
pub struct Oidc {
    audience: String,
    issuers: Vec<Trusted>,
}

#[derive(Debug)]
struct Trusted {
    issuer: Issuer,
    keys: Arc<Keys>,
}

/// How an issuer is asked: as a mirror asks upstream, and sooner given up, since somebody waits.
pub fn patience() -> Patience {
    Patience {
        connect: Duration::from_secs(3),
        answer: Duration::from_secs(4),
        window: Duration::from_secs(3),
        least_bytes: 256,
        document: Duration::from_secs(5),
        ..Patience::default()
    }
}

impl Oidc {
    /// These issuers, for a registry that is reached at `public_url`; none is asked yet.
    ///
    /// What an identity must be made for is that URL without a `/` at its end. It is never taken from a
    /// request: whoever sends one could then say for whom the identity was to be.
    pub fn new(
        issuers: Vec<Issuer>,
        public_url: &Url,
        allowed: &AllowedHosts,
        patience: Patience,
        pace: Pace,
    ) -> Result<Self, UpstreamError> {
        let trusted = issuers.into_iter().map(|issuer| {
            let upstream = Upstream::new(issuer.url.clone(), allowed.clone(), patience)?;
            let keys = Arc::new(Keys::new(issuer.name.clone(), upstream, pace));
            Ok(Trusted { issuer, keys })
        });
        let issuers = trusted.collect::<Result<Vec<_>, UpstreamError>>()?;
        let audience = public_url.as_str().trim_end_matches('/').to_owned();
        Ok(Self { audience, issuers })
    }

    /// For whom an identity must be made.
    pub fn audience(&self) -> &str {
        &self.audience
    }

    /// The issuers, as they are told.
    pub fn issuers(&self) -> Vec<IdentityIssuer> {
        let told = |trusted: &Trusted| IdentityIssuer {
            issuer: trusted.issuer.name.clone(),
            provider: trusted.issuer.provider.text().to_owned(),
        };
        self.issuers.iter().map(told).collect()
    }

    /// The service that an issuer is of; [`None`] where the issuer is not trusted.
    pub fn provider(&self, issuer: &str) -> Option<Provider> {
        self.trusted(issuer).map(|trusted| trusted.issuer.provider)
    }

    /// Verifies the identity of a job.
    pub async fn verify(&self, token: &str) -> Result<Identity, IdentityError> {
        let unverified = Unverified::read(token)?;
        let said = identity::issuer_of(&unverified.claims)?;
        let trusted = self
            .trusted(said)
            .ok_or_else(|| IdentityError::Issuer { seen: said.to_owned(), known: self.known() })?;
        let key = trusted.keys.key(&unverified.kid).await?;
        let kid = || unverified.kid.clone();
        if unverified.algorithm != key.algorithm() {
            // The key says how it signs: else one could be used as if it were of another kind.
            let (said, key) = (unverified.algorithm, key.algorithm());
            return Err(IdentityError::OtherAlgorithm { said, kid: unverified.kid, key });
        }
        if !key.verifies(unverified.signed.as_bytes(), &unverified.signature) {
            return Err(IdentityError::Signature(kid()));
        }
        let now = i64::try_from(clock::unix_seconds()).unwrap_or(i64::MAX);
        let issuer = (trusted.issuer.name.as_str(), trusted.issuer.provider);
        Identity::of(&unverified.claims, unverified.signed, issuer, &self.audience, now)
    }

    fn trusted(&self, issuer: &str) -> Option<&Trusted> {
        self.issuers.iter().find(|trusted| trusted.issuer.name == issuer)
    }

    fn known(&self) -> String {
        let names =
            self.issuers.iter().map(|trusted| format!("`{}`", escape(&trusted.issuer.name)));
        names.collect::<Vec<_>>().join(" and ")
    }
}
