//! The first contact with a registry: which log is believed to be its own.

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::log::{IdentityChain, IdentityError, NoteKey};
use skillpkg_schema::wire::LogInfo;
use url::Url;

use super::ask::{Notice, Trust};
use super::error::Refusal;
use super::evidence::Seen;
use super::rules::LogKey;
use super::store::{Bound, Kept, KnownLog, LogRecord, Pinned};
use super::view::Expected;
use crate::registry::{Indexed, Registry};
use crate::settings::registry_text;
use crate::{Error, Kind};

/// Most logs of one registry: its own and what it relays.
const MOST_LOGS: usize = 8;

impl Trust<'_> {
    /// Pins the logs of a registry of which nothing is known here: the one whose key the
    /// configuration names, or else, where that is allowed, those that it shows.
    pub(super) async fn first_contact(
        &self,
        registry: &Url,
        place: &Registry,
        answer: &Indexed,
        notices: &mut Vec<Notice>,
    ) -> Result<(), Error> {
        let key = self.configured(registry).and_then(|trust| trust.log_key.clone());
        self.pin_those_of(registry, place, key.as_ref(), Some(answer), notices).await
    }

    /// Pins logs that a registry shows: the one that `key` means, or all where none is given.
    pub(super) async fn pin_those_of(
        &self,
        registry: &Url,
        place: &Registry,
        key: Option<&LogKey>,
        answer: Option<&Indexed>,
        notices: &mut Vec<Notice>,
    ) -> Result<(), Error> {
        let shown = place.place();
        let infos = place.logs().await?.map(|logs| logs.logs).unwrap_or_default();
        let mut chains = Vec::new();
        for info in infos.into_iter().take(MOST_LOGS) {
            let refused = |reason| Refusal::Identity { place: shown.clone(), reason };
            let chain = IdentityChain::verify(info.identities.clone()).map_err(refused)?;
            if chain.origin() != info.origin {
                return Err(refused(IdentityError::OtherOrigin {
                    number: 1,
                    expected: info.origin,
                    found: chain.origin().to_owned(),
                })
                .into());
            }
            chains.push((info, chain));
        }
        if chains.is_empty() {
            let why = "its answers speak of one that it does not introduce".to_owned();
            return Err(Refusal::Missing { place: shown, origin: None, why }.into());
        }
        if let Some(key) = key {
            let found = chains.iter().map(|(_, chain)| chain.fingerprint().to_string());
            let found = found.collect::<Vec<_>>().join(", ");
            chains.retain(|(_, chain)| match key {
                LogKey::Fingerprint(fingerprint) => chain.fingerprint() == *fingerprint,
                LogKey::Key(key) => chain.keys().contains(key),
            });
            if chains.is_empty() {
                let reason = format!("its fingerprint is {found}, and not what was named");
                return Err(Refusal::KeyChanged { place: shown, reason }.into());
            }
        }
        for (info, chain) in chains {
            let view = answer.into_iter().flat_map(|answer| &answer.views);
            let view = view.into_iter().find(|view| view.origin == info.origin);
            let note = view.map_or(&info.checkpoint, |view| &view.checkpoint);
            self.pin(registry, &shown, key, &info, &chain, note, notices)?;
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "each is another part of one introduction")]
    fn pin(
        &self,
        registry: &Url,
        place: &str,
        key: Option<&LogKey>,
        info: &LogInfo,
        chain: &IdentityChain,
        note: &str,
        notices: &mut Vec<Notice>,
    ) -> Result<(), Error> {
        let text = registry_text(registry).to_owned();
        let bound = Bound { url: text.clone(), relayed: info.relayed, scopes: Vec::new() };
        let fingerprint = chain.fingerprint();
        let known = self.store.log(&info.origin)?;
        // Whose log it is, a bundle could say of any registry: the registry itself is refused later.
        if let Some(known) = known.filter(|_| {
            self.settings.bundle.is_none() || key.is_some() || self.settings.trust_on_first_use
        }) {
            return self.bind(&known, bound, place, chain, notices);
        }
        if key.is_none() && !self.settings.trust_on_first_use {
            let (place, origin) = (text, info.origin.clone());
            let carried = self.settings.bundle.is_some();
            return Err(Refusal::Unknown { place, origin, fingerprint, carried }.into());
        }
        let keys: &[NoteKey] = chain.keys();
        let expected = Expected {
            place,
            origin: &info.origin,
            keys,
            known: None,
            configured: key,
            rules: &self.rules,
            now: self.now,
        };
        expected.checkpoint(note).map_err(|refusal| {
            let seen = Seen { received: Some(note.to_owned()), ..Seen::default() };
            seen.refuse(&self.store, &info.origin, &refusal)
        })?;
        let pinned = match key {
            None => Pinned::FirstUse,
            Some(_) if self.configured(registry).is_some_and(|one| one.log_key.is_some()) => {
                Pinned::Configuration
            }
            Some(_) => Pinned::User,
        };
        let record = LogRecord {
            origin: info.origin.clone(),
            identities: chain.envelopes().to_vec(),
            checkpoint: note.to_owned(),
            seen: self.now,
            pinned,
            registries: vec![bound],
        };
        // Another process may have been first: what it pinned is held against this answer.
        if self.store.pin(&record)? == Kept::Yes {
            let origin = escape(&info.origin);
            notices.push(Notice::Tell(match pinned {
                Pinned::FirstUse => format!(
                    "`{text}` keeps a log, seen here for the first time and pinned from now on: \
                     `{origin}`, fingerprint {fingerprint}"
                ),
                _ => format!("the log `{origin}` of `{text}` is the one that was named"),
            }));
        }
        Ok(())
    }

    /// A log that is known from another registry, which this one shows too.
    fn bind(
        &self,
        known: &KnownLog,
        bound: Bound,
        place: &str,
        chain: &IdentityChain,
        notices: &mut Vec<Notice>,
    ) -> Result<(), Error> {
        let chain = known.chain.continued(chain.envelopes().to_vec()).map_err(|reason| {
            let reason = reason.to_string();
            Error::from(Refusal::KeyChanged { place: place.to_owned(), reason })
        })?;
        let mut now = known.clone();
        now.record.identities = chain.envelopes().to_vec();
        let text = bound.url.clone();
        now.record.registries.retain(|one| one.url != text);
        now.record.registries.push(bound);
        match self.store.advance(known, &now)? {
            Kept::Raced => Err(Error::new(
                Kind::Failed,
                "trust_state_busy",
                "another process on this machine changed what is known of the log",
            )
            .with_hint("run this again")),
            Kept::Yes => {
                notices.push(Notice::Tell(format!(
                    "`{text}` shows the log `{}`, which is known here",
                    escape(known.origin())
                )));
                Ok(())
            }
        }
    }
}
