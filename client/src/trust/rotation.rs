//! Identities that a log has had since it was last seen.

use skillpkg_schema::log::IdentityError;
use url::Url;

use super::ask::{Notice, Trust};
use super::error::Refusal;
use super::evidence::Seen;
use super::store::{Kept, KnownLog};
use crate::Error;
use crate::registry::Registry;
use crate::settings::registry_text;

impl Trust<'_> {
    /// Takes over identities that a log has had since, each named by the one before; whether there
    /// are any.
    pub(super) async fn rotate(
        &self,
        registry: &Url,
        place: &Registry,
        log: &KnownLog,
        notices: &mut Vec<Notice>,
    ) -> Result<bool, Error> {
        let shown = place.place();
        let logs = place.logs().await?;
        let infos = logs.into_iter().flat_map(|logs| logs.logs);
        let Some(info) = infos.into_iter().find(|info| info.origin == log.origin()) else {
            return Ok(false);
        };
        let chain = log.chain.continued(info.identities).map_err(|reason| {
            let place = shown.clone();
            let refusal = match reason {
                IdentityError::Other { .. } | IdentityError::OtherOrigin { .. } => {
                    Refusal::KeyChanged { place, reason: reason.to_string() }
                }
                reason => Refusal::Identity { place, reason },
            };
            let seen = Seen {
                known: Some(log.record.checkpoint.clone()),
                received: Some(info.checkpoint.clone()),
                ..Seen::default()
            };
            seen.refuse(&self.store, log.origin(), &refusal)
        })?;
        if chain.envelopes().len() == log.chain.envelopes().len() {
            return Ok(false);
        }
        let mut now = log.clone();
        now.record.identities = chain.envelopes().to_vec();
        if self.store.advance(log, &now)? == Kept::Yes {
            let number = chain.latest().map_or(0, |latest| latest.number);
            notices.push(Notice::Tell(format!(
                "the log of `{}` has other keys (identity {number}), named by those before",
                registry_text(registry)
            )));
        }
        Ok(true)
    }
}
