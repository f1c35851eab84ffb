//! Advisories: what is known to be wrong with versions of a skill.

use reqwest::Method;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::{Advisory, NewAdvisory};

use super::Registry;
use super::transport::{Ask, Payload, json};
use crate::Error;

impl Registry {
    /// Publishes an advisory about versions of a skill.
    ///
    /// Sent once: the same again would be a second advisory.
    pub async fn publish_advisory(
        &self,
        name: &QualifiedName,
        new: &NewAdvisory,
    ) -> Result<Advisory, Error> {
        let url = self.skill(name, &["advisories"]);
        Ok(self.transport.json(Ask::new(Method::POST, url, json(new)?)).await?)
    }

    /// Withdraws an advisory; one that is withdrawn already stays so.
    pub async fn withdraw_advisory(&self, name: &QualifiedName, id: &str) -> Result<(), Error> {
        let url = self.skill(name, &["advisories", id]);
        let ask = Ask::new(Method::DELETE, url, Payload::Nothing).repeatable();
        Ok(self.transport.done(ask).await?)
    }
}
