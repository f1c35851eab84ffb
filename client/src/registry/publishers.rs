//! Jobs of build services that publish: which are trusted, and the token that one is given.

use reqwest::Method;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::{
    DistrustPublisher, ExchangeIdentity, ExchangedToken, TrustPublisher, TrustedPublishers,
};

use super::Registry;
use super::transport::{Ask, json};
use crate::Error;

impl Registry {
    /// The trusted publishers of a skill.
    pub async fn trusted_publishers(
        &self,
        name: &QualifiedName,
    ) -> Result<TrustedPublishers, Error> {
        Ok(self.transport.json(Ask::get(self.skill(name, &["publishers"]))).await?)
    }

    /// Trusts jobs of a build service to publish a skill.
    pub async fn trust_publisher(
        &self,
        name: &QualifiedName,
        request: &TrustPublisher,
    ) -> Result<TrustedPublishers, Error> {
        let url = self.skill(name, &["publishers"]);
        // The same again is the one that is there.
        let ask = Ask::new(Method::POST, url, json(request)?).repeatable();
        Ok(self.transport.json(ask).await?)
    }

    /// Trusts them no more.
    pub async fn distrust_publisher(
        &self,
        name: &QualifiedName,
        id: &str,
    ) -> Result<TrustedPublishers, Error> {
        let request = DistrustPublisher { id: id.to_owned() };
        let url = self.skill(name, &["publishers"]);
        Ok(self.transport.json(Ask::new(Method::DELETE, url, json(&request)?)).await?)
    }

    /// A token for a skill in exchange for the identity of a job, which is taken once.
    pub(crate) async fn exchange_identity(
        &self,
        name: &QualifiedName,
        token: &str,
    ) -> Result<ExchangedToken, Error> {
        let request = ExchangeIdentity { token: token.to_owned(), name: name.clone() };
        let url = self.transport.route(&["oidc", "token"]);
        let ask = Ask::new(Method::POST, url, json(&request)?);
        let given: ExchangedToken = self.transport.json(ask).await?;
        self.same(name, &given.name)?;
        Ok(given)
    }

    /// The same, spoken to with another token.
    pub(crate) fn with_token(&self, token: String) -> Result<Self, Error> {
        Ok(Self { transport: self.transport.with_token(token)?, ..self.clone() })
    }
}
