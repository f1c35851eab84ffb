//! Asks a registry for documents, and believes what its log proves.

use std::sync::Arc;

use skillpkg_schema::wire::{Document, KnownLog as KnownSize, MAX_INDEX_NAMES, View};
use skillpkg_schema::{ContentAddress, QualifiedName};
use url::Url;

use super::error::Refusal;
use super::evidence::Seen;
use super::first::Introduced;
use super::kept_tree::{lagging, told_of_bundle, tree_of};
use super::places::{Places, RegistryTrust, passed_over};
use super::rules::{LogKey, Rules};
use super::speaker::{relays, speaker};
use super::store::{Kept, KnownLog, TrustStore};
use super::time;
use super::view::{Expected, VerifiedView};
use crate::install::Attendant;
use crate::registry::{Indexed, Place, Registry};
use crate::settings::registry_text;
use crate::{Error, Settings};

/// How often an answer is asked for again, where another process moved on meanwhile or the log has
/// other keys.
const ATTEMPTS: usize = 12;

/// Something worth telling; safe to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// That something happened.
    Tell(String),
    /// That somebody should look at something.
    Warn(String),
}

impl Notice {
    /// Tells it to whoever watches.
    pub(crate) fn to(&self, attendant: &mut dyn Attendant) {
        match self {
            Self::Tell(text) => attendant.tell(text),
            Self::Warn(text) => attendant.warn(text),
        }
    }

    /// Its words.
    pub fn into_text(self) -> String {
        match self {
            Self::Tell(text) | Self::Warn(text) => text,
        }
    }
}

/// A document, and the view that proves it; none where the registry keeps no log.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) document: Document,
    pub(crate) view: Option<Arc<VerifiedView>>,
}

/// What was asked for.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) documents: Vec<Found>,
    pub(crate) missing: Vec<QualifiedName>,
    pub(crate) notices: Vec<Notice>,
    /// The answers of registries with logs, as they were believed.
    pub(super) answers: Vec<Arc<Indexed>>,
}

/// What this machine knows of logs, and what it asks of them.
#[derive(Debug, Clone)]
pub(crate) struct Trust<'s> {
    pub(super) settings: &'s Settings,
    pub(super) store: TrustStore,
    pub(super) rules: Rules,
    pub(super) now: u64,
}

/// The logs against which an answer is held.
struct Logs<'l> {
    bound: &'l [KnownLog],
    /// The same, where none is remembered yet to speak for the registry.
    introduced: &'l [Introduced],
}

/// What became of one answer.
enum Judged {
    Believed(Asked),
    /// It has to be asked for again.
    Again,
}

impl<'s> Trust<'s> {
    /// What is known beneath the settings' home, with these rules.
    pub(crate) fn new(settings: &'s Settings, rules: Rules) -> Self {
        // Where nothing can be written, what is known still decides.
        let store = if settings.is_read_only() {
            TrustStore::looking(&settings.home)
        } else {
            TrustStore::new(&settings.home)
        };
        Self { settings, store, rules, now: time::now() }
    }

    /// As [`Trust::new`], for what is only looked at: what is known stays as it is.
    pub(crate) fn looking(settings: &'s Settings, rules: Rules) -> Self {
        let store = TrustStore::looking(&settings.home);
        Self { store, ..Self::new(settings, rules) }
    }

    /// Where things are.
    pub(crate) fn settings(&self) -> &'s Settings {
        self.settings
    }

    /// Whether every skill has to be in a log.
    pub(crate) fn requires_log(&self) -> bool {
        self.rules.require_log.is_some()
    }

    /// Whether a log speaks for a registry, as far as is known here.
    pub(crate) fn speaks_for(&self, registry: &Url) -> Result<bool, Error> {
        Ok(!self.store.speaking_for(registry)?.is_empty())
    }

    /// The origins of the logs that speak for a registry, as far as is known here, unverified.
    pub(crate) fn speaking_for(&self, registry: &Url) -> Result<Vec<String>, Error> {
        Ok(self.store.speaking_for(registry)?)
    }

    /// Whether a proof of a snapshot is kept of one of these logs, whatever is in it.
    pub(crate) fn has_proof(&self, origins: &[String], address: &ContentAddress) -> bool {
        self.store.has_proof(origins, address)
    }

    pub(super) fn configured(&self, registry: &Url) -> Option<&RegistryTrust> {
        self.settings.trust.get(registry)
    }

    fn log_key(&self, registry: &Url) -> Option<&LogKey> {
        self.configured(registry)?.log_key.as_ref()
    }

    /// One document, as [`Trust::documents`] answers it.
    pub(crate) async fn document(
        &self,
        registry: &Registry,
        name: &QualifiedName,
    ) -> Result<(Option<Found>, Vec<Notice>), Error> {
        let asked = self.documents(registry, std::slice::from_ref(name)).await?;
        Ok((asked.documents.into_iter().next(), asked.notices))
    }

    /// The documents of `names`, from the registry's mirrors or itself, each proven by the log that
    /// speaks for the registry.
    ///
    /// A registry that is asked for the first time has its log pinned, unless the settings say that
    /// only one that is named is believed. What a mirror falsifies is told, and the next place is
    /// asked; that a mirror does not have something is asked of the registry itself.
    pub(crate) async fn documents(
        &self,
        registry: &Registry,
        names: &[QualifiedName],
    ) -> Result<Asked, Error> {
        let places = Places::of(self.settings, registry)?;
        let is_known = !self.store.logs_of(registry.url())?.is_empty();
        let is_named = matches!(self.log_key(registry.url()), Some(LogKey::Fingerprint(_)));
        let mut all = Asked { missing: names.to_vec(), ..Asked::default() };
        for (place, is_last) in places.iter() {
            let is_mirror = place.url() != registry.url();
            // A mirror could show any log as the registry's: who that is, the registry tells.
            if is_mirror && !is_known && !is_named && !is_last {
                continue;
            }
            let wanted = std::mem::take(&mut all.missing);
            match self.documents_at(registry.url(), place, &wanted).await {
                Ok(asked) => {
                    all.documents.extend(asked.documents);
                    all.notices.extend(asked.notices);
                    all.missing = asked.missing;
                    all.answers.extend(asked.answers);
                }
                Err(error) if is_mirror && !is_last => {
                    all.notices.push(passed_over(place, &error));
                    all.missing = wanted;
                }
                Err(error) => return Err(error),
            }
            if all.missing.is_empty() {
                break;
            }
        }
        Ok(all)
    }

    pub(super) async fn documents_at(
        &self,
        registry: &Url,
        place: &Registry,
        names: &[QualifiedName],
    ) -> Result<Asked, Error> {
        let mut all = Asked::default();
        let mut pending: Vec<&[QualifiedName]> = names.chunks(MAX_INDEX_NAMES).rev().collect();
        while let Some(names) = pending.pop() {
            if let Some(part) = self.part(registry, place, names, &mut all.notices).await? {
                all.documents.extend(part.documents);
                all.missing.extend(part.missing);
                all.answers.extend(part.answers);
            } else {
                let (first, second) = names.split_at(names.len() / 2);
                pending.extend([second, first]);
            }
        }
        Ok(all)
    }

    /// The documents that one answer holds; [`None`] where it would be too long.
    pub(super) async fn part(
        &self,
        registry: &Url,
        place: &Registry,
        names: &[QualifiedName],
        notices: &mut Vec<Notice>,
    ) -> Result<Option<Asked>, Error> {
        let mut turn = None;
        let mut introduced: Vec<Introduced> = Vec::new();
        self.ask_of_bundled(registry, place).await?;
        for attempt in 0..ATTEMPTS {
            // Whoever was overtaken goes one after the other, so that each comes to an end.
            if attempt > 0 && turn.is_none() {
                turn = self.store.turn().await;
            }
            let mut bound = self.named_logs(registry)?;
            if bound.is_empty() {
                bound.extend(introduced.iter().map(|one| one.log.clone()));
            } else {
                introduced.clear();
            }
            let known = bound.iter().map(|log| KnownSize {
                origin: log.origin().to_owned(),
                size: log.checkpoint().size,
            });
            let Some(answer) = place.index_with_views(names, known.collect()).await? else {
                return Ok(None);
            };
            if bound.is_empty() && answer.views.is_empty() {
                self.check_unlogged(registry, place)?;
                let Indexed { documents, missing, .. } = answer;
                let documents = documents.into_iter();
                let documents =
                    documents.map(|(document, _)| Found { document, view: None }).collect();
                return Ok(Some(Asked { documents, missing, ..Asked::default() }));
            }
            if bound.is_empty() {
                introduced = self.first_contact(registry, place, &answer).await?;
                bound.extend(introduced.iter().map(|one| one.log.clone()));
                // One that is known from elsewhere has to be shown to continue what is known.
                let is_shown = |log: &KnownLog| {
                    let of_log = answer.views.iter().filter(|view| view.origin == log.origin());
                    of_log.into_iter().all(|view| view.checkpoint == log.record.checkpoint)
                };
                if !bound.iter().all(is_shown) {
                    continue;
                }
            }
            let logs = Logs { bound: &bound, introduced: &introduced };
            match self.judge(registry, place, names, &logs, answer, notices).await? {
                Judged::Believed(asked) => return Ok(Some(asked)),
                Judged::Again => introduced.clear(),
            }
        }
        Err(Refusal::Busy { place: Place::registry(registry) }.into())
    }

    /// Asks a registry whose the logs are that it was first met by in a bundle, before anything that
    /// it answers is held against them.
    async fn ask_of_bundled(&self, registry: &Url, place: &Registry) -> Result<(), Error> {
        if place.shelf().is_some() || place.url() != registry {
            return Ok(());
        }
        let text = registry_text(registry);
        let is_told = |log: &KnownLog| log.bound(text).is_some_and(|one| one.relayed.is_some());
        if self.named_logs(registry)?.iter().all(is_told) {
            return Ok(());
        }
        self.ask_whose(registry, place).await
    }

    /// The logs that speak for a registry; where the configuration names one by its fingerprint, no
    /// other, however it came to be known.
    fn named_logs(&self, registry: &Url) -> Result<Vec<KnownLog>, Refusal> {
        let mut logs = self.store.logs_of(registry)?;
        if let (Some(LogKey::Fingerprint(named)), Some(first)) =
            (self.log_key(registry), logs.first())
        {
            let found = first.chain.fingerprint();
            logs.retain(|log| log.chain.fingerprint() == *named);
            if logs.is_empty() {
                let reason = format!(
                    "its fingerprint is {found}; the configuration names {named} (`log-key`)"
                );
                let place = Place::registry(registry);
                return Err(Refusal::KeyChanged { place, reason });
            }
        }
        Ok(logs)
    }

    /// That a registry without a log may be asked.
    fn check_unlogged(&self, registry: &Url, place: &Registry) -> Result<(), Error> {
        let why = if self.log_key(registry).is_some() {
            "the configuration names its key (`log-key`)".to_owned()
        } else if let Some(rule) = &self.rules.require_log {
            format!("there must be one ({rule})")
        } else {
            return Ok(());
        };
        let place = place.place();
        Err(Refusal::Missing { place, origin: None, why }.into())
    }

    /// Verifies the views of an answer, remembers what they show, and holds the documents against
    /// them.
    async fn judge(
        &self,
        registry: &Url,
        place: &Registry,
        names: &[QualifiedName],
        logs: &Logs<'_>,
        answer: Indexed,
        notices: &mut Vec<Notice>,
    ) -> Result<Judged, Error> {
        let Logs { bound, introduced } = *logs;
        let shown = place.place();
        let mut views: Vec<(&KnownLog, Arc<VerifiedView>)> = Vec::new();
        let mut trees = Vec::new();
        for log in bound {
            let Some(view) = answer.views.iter().find(|view| view.origin == log.origin()) else {
                continue;
            };
            let earlier = self
                .earlier(place, log, view)
                .map_err(|refusal| self.refuse(log, Some(view), &answer, &refusal))?;
            let keys_of_all = log.chain.keys_of_all();
            let mut expected = self.expected(registry, &shown, log);
            if earlier {
                (expected.known, expected.keys) = (None, &keys_of_all);
            }
            let verified = match expected.view(view, names.len()) {
                Ok(verified) => verified,
                Err(refusal) => {
                    if Expected::may_be_rotated(&refusal)
                        && self.rotate(registry, place, log, notices).await?
                    {
                        return Ok(Judged::Again);
                    }
                    let refusal = expected.superseded(refusal, &view.checkpoint, log);
                    let refusal = told_of_bundle(place, log, view, refusal);
                    return Err(self.refuse(log, Some(view), &answer, &refusal));
                }
            };
            if earlier {
                notices.extend(lagging(place, log, &verified));
                views.push((log, Arc::new(verified)));
                continue;
            }
            let tree = tree_of(place, view, &verified)
                .map_err(|refusal| self.refuse(log, Some(view), &answer, &refusal))?;
            let now = self.shown_by(log, &verified);
            // Of what is not known yet nothing is kept before all of the answer holds.
            if introduced.is_empty() && self.store.advance(log, &now)? == Kept::Raced {
                return Ok(Judged::Again);
            }
            trees.extend(tree.map(|tree| (now, tree)));
            views.push((log, Arc::new(verified)));
        }
        if views.is_empty() {
            return Err(self.missing(registry, place, bound, &answer).await);
        }
        let mut asked = Asked::default();
        let relays = |log: &KnownLog| relays(registry, place, log);
        let Indexed { documents, missing, .. } = &answer;
        for (document, digest) in documents {
            let name = &document.name;
            let (log, view) = speaker(registry, &views, name, Some(digest), &relays)?;
            if let Err(refusal) = view.check_document(document, digest) {
                let view = answer.views.iter().find(|view| view.origin == log.origin());
                return Err(self.refuse(log, view, &answer, &refusal));
            }
            let document = document.clone();
            asked.documents.push(Found { document, view: Some(Arc::clone(view)) });
        }
        for name in missing {
            let (log, view) = speaker(registry, &views, name, None, &relays)?;
            if let Err(refusal) = view.check_missing(name) {
                let view = answer.views.iter().find(|view| view.origin == log.origin());
                return Err(self.refuse(log, view, &answer, &refusal));
            }
        }
        for one in introduced {
            let view = views.iter().find(|(log, _)| log.origin() == one.log.origin());
            let Some((log, view)) = view else { continue };
            let is_later = view.checkpoint().size >= log.checkpoint().size;
            if self.remember(one, is_later.then_some(&**view), notices)? == Kept::Raced {
                return Ok(Judged::Again);
            }
        }
        for (now, tree) in trees {
            self.store.keep_tree(&now, tree)?;
        }
        if bound.len() > 1 && !self.remember_scopes(registry, &asked)? {
            return Ok(Judged::Again);
        }
        asked.missing.clone_from(missing);
        asked.answers.push(Arc::new(answer));
        Ok(Judged::Believed(asked))
    }

    pub(super) fn expected<'e>(
        &'e self,
        registry: &Url,
        place: &'e Place,
        log: &'e KnownLog,
    ) -> Expected<'e> {
        Expected {
            place,
            origin: log.origin(),
            keys: log.chain.keys(),
            known: Some(&log.verified),
            configured: self.log_key(registry),
            rules: &self.rules,
            now: self.now,
        }
    }

    /// What is known of a log once a view of it was verified.
    pub(super) fn shown_by(&self, log: &KnownLog, view: &VerifiedView) -> KnownLog {
        let mut now = log.clone();
        now.record.checkpoint.clone_from(&view.note);
        now.record.seen = self.now;
        now.verified = view.verified.clone();
        now
    }

    /// The refusal with what was seen, which is kept.
    fn refuse(
        &self,
        log: &KnownLog,
        view: Option<&View>,
        answer: &Indexed,
        refusal: &Refusal,
    ) -> Error {
        let seen = Seen {
            known: Some(log.record.checkpoint.clone()),
            received: view.map(|view| view.checkpoint.clone()),
            proof: view.map(|view| view.consistency.to_string()),
            answer: answer.bytes.to_vec(),
        };
        seen.refuse(&self.store, log.origin(), refusal)
    }

    /// That an answer has no view of any log that the registry is known by: another log took its
    /// place, or none did.
    async fn missing(
        &self,
        registry: &Url,
        place: &Registry,
        bound: &[KnownLog],
        answer: &Indexed,
    ) -> Error {
        let shown = place.place();
        let Some(log) = bound.first() else {
            return Refusal::Missing { place: shown, origin: None, why: String::new() }.into();
        };
        // Nothing of this is believed: it says which words are right.
        let others = place.logs().await.ok().flatten();
        let others: Vec<String> = others
            .into_iter()
            .flat_map(|logs| logs.logs)
            .map(|info| info.origin)
            .chain(answer.views.iter().map(|view| view.origin.clone()))
            .filter(|origin| bound.iter().all(|log| log.origin() != origin))
            .take(2)
            .collect();
        let refusal = if let Some(other) = others.first() {
            let reason = format!("it is `{other}`, and was `{}`", log.origin());
            Refusal::KeyChanged { place: shown, reason }
        } else {
            let text = registry_text(registry);
            let why = format!("`{text}` had one when this machine asked it before");
            Refusal::Missing { place: shown, origin: Some(log.origin().to_owned()), why }
        };
        self.refuse(log, None, answer, &refusal)
    }
}
