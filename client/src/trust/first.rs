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
use super::view::{Expected, VerifiedView};
use crate::Error;
use crate::registry::{Indexed, Place, Registry};
use crate::settings::registry_text;

/// Most logs of one registry: its own and what it relays.
const MOST_LOGS: usize = 8;

/// A log that a registry shows, and that does not speak for it yet as far as is remembered.
#[derive(Debug, Clone)]
pub(super) struct Introduced {
    /// As it is to be remembered.
    pub(super) log: KnownLog,
    /// As it is known from another registry.
    known: Option<KnownLog>,
    /// What is told once it is remembered.
    told: String,
}

impl Trust<'_> {
    /// The logs of a registry of which nothing is known here: the one whose key the configuration
    /// names, or else, where that is allowed, those that it shows. None is remembered yet.
    pub(super) async fn first_contact(
        &self,
        registry: &Url,
        place: &Registry,
        answer: &Indexed,
    ) -> Result<Vec<Introduced>, Error> {
        let key = self.configured(registry).and_then(|trust| trust.log_key.clone());
        self.introduced(registry, place, key.as_ref(), Some(answer)).await
    }

    /// Pins logs that a registry shows: the one that `key` means, or all where none is given; all of
    /// these or, where one of them is refused, none.
    pub(super) async fn pin_those_of(
        &self,
        registry: &Url,
        place: &Registry,
        key: Option<&LogKey>,
        notices: &mut Vec<Notice>,
    ) -> Result<(), Error> {
        for one in self.introduced(registry, place, key, None).await? {
            match self.remember(&one, None, notices)? {
                Kept::Raced if one.known.is_some() => {
                    return Err(Refusal::Busy { place: Place::registry(registry) }.into());
                }
                // Another process was first: what it pinned is held against the next answer.
                _ => {}
            }
        }
        Ok(())
    }

    /// Remembers that a log speaks for a registry, as far as `view` shows it, else as it was
    /// introduced.
    pub(super) fn remember(
        &self,
        introduced: &Introduced,
        view: Option<&VerifiedView>,
        notices: &mut Vec<Notice>,
    ) -> Result<Kept, Error> {
        let Introduced { log, known, told } = introduced;
        let now = view.map_or_else(|| log.clone(), |view| self.shown_by(log, view));
        let kept = match known {
            Some(known) => self.store.advance(known, &now)?,
            None => self.store.pin(&now.record)?,
        };
        if kept == Kept::Yes {
            notices.push(Notice::Tell(told.clone()));
        }
        Ok(kept)
    }

    /// The logs that a registry shows and that are meant, each with a checkpoint that holds.
    async fn introduced(
        &self,
        registry: &Url,
        place: &Registry,
        key: Option<&LogKey>,
        answer: Option<&Indexed>,
    ) -> Result<Vec<Introduced>, Error> {
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
                return Err(Refusal::NotNamed { place: shown, found }.into());
            }
        }
        let mut all = Vec::with_capacity(chains.len());
        for (info, chain) in chains {
            let view = answer.into_iter().flat_map(|answer| &answer.views);
            let view = view.into_iter().find(|view| view.origin == info.origin);
            let note = view.map_or(&info.checkpoint, |view| &view.checkpoint);
            all.push(self.introduce(registry, place, key, &info, chain, note)?);
        }
        Ok(all)
    }

    fn introduce(
        &self,
        registry: &Url,
        place: &Registry,
        key: Option<&LogKey>,
        info: &LogInfo,
        chain: IdentityChain,
        note: &str,
    ) -> Result<Introduced, Error> {
        let text = registry_text(registry).to_owned();
        // A bundle's word for whose it is, which nobody signed, is not kept.
        let relayed = place.shelf().is_none().then_some(info.relayed);
        let bound = Bound { url: text.clone(), relayed, scopes: Vec::new() };
        let fingerprint = chain.fingerprint();
        let known = self.store.log(&info.origin)?;
        // Whose log it is, a bundle could say of any registry: the registry itself is refused later.
        if let Some(known) = known.filter(|_| {
            self.settings.bundle.is_none() || key.is_some() || self.settings.trust_on_first_use
        }) {
            return bind(known, bound, place, &chain);
        }
        if key.is_none() && !self.settings.trust_on_first_use {
            let (place, origin) = (Place::registry(registry), info.origin.clone());
            let carried = self.settings.bundle.is_some();
            return Err(Refusal::Unknown { place, origin, fingerprint, carried }.into());
        }
        let keys: &[NoteKey] = chain.keys();
        let expected = Expected {
            place: &place.place(),
            origin: &info.origin,
            keys,
            known: None,
            configured: key,
            rules: &self.rules,
            now: self.now,
        };
        let verified = expected.checkpoint(note).map_err(|refusal| {
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
        let origin = escape(&info.origin);
        let told = match pinned {
            Pinned::FirstUse if self.store.was_forgotten(&info.origin) => format!(
                "`{text}` shows the log `{origin}` again, which was forgotten here; it is pinned \
                 anew as it is now: fingerprint {fingerprint}"
            ),
            Pinned::FirstUse => format!(
                "`{text}` keeps a log, seen here for the first time and pinned from now on: \
                 `{origin}`, fingerprint {fingerprint}"
            ),
            _ => format!("the log `{origin}` of `{text}` is the one that was named"),
        };
        Ok(Introduced { log: KnownLog { record, chain, verified }, known: None, told })
    }
}

/// A log that is known from another registry, which this one shows too.
fn bind(
    known: KnownLog,
    bound: Bound,
    place: &Registry,
    chain: &IdentityChain,
) -> Result<Introduced, Error> {
    let chain = known.chain.continued(chain.envelopes().to_vec()).map_err(|reason| {
        let reason = reason.to_string();
        Error::from(Refusal::KeyChanged { place: place.place(), reason })
    })?;
    let mut log = known.clone();
    log.record.identities = chain.envelopes().to_vec();
    log.chain = chain;
    let text = &bound.url;
    let origin = escape(known.origin());
    let told = format!("`{text}` shows the log `{origin}`, which is known here");
    log.record.registries.retain(|one| one.url != *text);
    log.record.registries.push(bound);
    Ok(Introduced { log, known: Some(known), told })
}
