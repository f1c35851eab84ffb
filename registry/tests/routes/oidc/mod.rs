//! Publishing from jobs of build services: identities, keys of issuers, trusted publishers.

mod attacks;
mod keys;
mod publishers;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use skillpkg_registry::oidc::{Oidc, Pace};
use skillpkg_registry::state::Options;
use skillpkg_registry::upstream::Patience;
use skillpkg_registry::upstream::hosts::HostName;
use skillpkg_schema::wire::{ExchangedToken, TrustedPublishers};
use skillpkg_tests::issuer::Issuer;

use crate::support::{Author, TestRegistry, json as read};

/// For whom identities are made here: a registry is not asked which host it is called by.
pub(crate) const AUDIENCE: &str = "https://skills.example";

/// Options of a registry that trusts these issuers, `SERVICE=URL`, on this machine.
pub(crate) fn trusting(issuers: &[String], pace: Pace) -> Options {
    let issuers = issuers.iter().map(|issuer| issuer.parse().unwrap()).collect();
    let host: HostName = "127.0.0.1".parse().unwrap();
    let allowed = [host].into_iter().collect();
    let patience = Patience {
        connect: Duration::from_secs(1),
        answer: Duration::from_millis(700),
        window: Duration::from_millis(500),
        least_bytes: 256,
        document: Duration::from_secs(2),
        ..Patience::default()
    };
    let url = format!("{AUDIENCE}/").parse().unwrap();
    let oidc = Oidc::new(issuers, &url, &allowed, patience, pace).unwrap();
    Options { oidc: Some(Arc::new(oidc)), ..Options::default() }
}

/// A registry, an issuer that it trusts, and `ana`, who owns `waitlist` and trusts jobs of the issuer.
struct Stage {
    registry: TestRegistry,
    issuer: Issuer,
    ana: Author,
}

impl Stage {
    async fn new() -> Self {
        Self::paced(Pace::default()).await
    }

    async fn paced(pace: Pace) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut stage = Self::start_in(directory.path(), Issuer::start(), pace).await;
        stage.registry.keep(directory);
        stage.registry.published(&stage.ana, "waitlist", "1.0.0").await;
        stage.trust("_/waitlist", &stage.issuer.recorded()).await;
        stage
    }

    async fn start_in(directory: &Path, issuer: Issuer, pace: Pace) -> Self {
        let options = trusting(&[format!("github={}", issuer.url())], pace);
        let registry = TestRegistry::start_in(directory, options).await;
        let ana = registry.author("ana").await;
        Self { registry, issuer, ana }
    }

    async fn trust(&self, name: &str, recorded: &Value) -> TrustedPublishers {
        let path = format!("/v1/skills/{name}/publishers");
        let answer = self.registry.send(Method::POST, &path, Some(&self.ana.token), recorded).await;
        read(answer, StatusCode::OK).await
    }

    async fn exchange_for(&self, name: &str, token: &str) -> Response {
        let body = json!({"token": token, "name": name});
        self.registry.send(Method::POST, "/v1/oidc/token", None, &body).await
    }

    async fn exchange(&self, token: &str) -> Response {
        self.exchange_for("waitlist", token).await
    }

    /// What the job says that ana trusts, with some claims changed; null takes one away.
    fn claims(&self, changes: &[(&str, Value)]) -> Value {
        let mut claims = self.issuer.github(AUDIENCE);
        for (claim, value) in changes {
            claims[*claim] = value.clone();
            if value.is_null() {
                claims.as_object_mut().unwrap().remove(*claim);
            }
        }
        claims
    }

    fn token(&self, changes: &[(&str, Value)]) -> String {
        self.issuer.token(&self.claims(changes))
    }

    /// A token that the registry gives in exchange for an identity that it takes.
    async fn given(&self) -> ExchangedToken {
        read(self.exchange(&self.token(&[])).await, StatusCode::CREATED).await
    }
}
