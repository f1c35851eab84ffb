//! What this machine knows of logs, and what its user says of them.

use std::path::PathBuf;

use serde::Serialize;
use skillpkg_schema::log::{Hash, NoteKey};
use skillpkg_schema::wire::Document;
use skillpkg_schema::{ContentAddress, Manifest, QualifiedName};
use url::Url;

use super::ask::{Notice, Trust};
use super::rules::{LogKey, Rules};
use super::store::{KnownLog, Pinned, TrustStore};
use crate::policy::Policy;
use crate::project::Locked;
use crate::registry::Registry;
use crate::settings::{RegistryChoice, registry_text};
use crate::{Error, Kind, Settings};

use super::claim::Claim;
use super::kept::KeptProof;
use super::proofs::KeptProofs;

/// A registry that a log speaks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SpeaksFor {
    /// Its base URL, without a trailing `/`.
    pub url: String,
    /// Whether it relays the log of another registry.
    pub relayed: bool,
}

/// What this machine knows of one log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogStatus {
    /// Its origin, which is a text of the registry's.
    pub origin: String,
    /// SHA-256 of its first identity: what people compare.
    pub fingerprint: Hash,
    /// The number of the identity that signs now.
    pub identity: u64,
    /// The keys that sign now.
    pub keys: Vec<NoteKey>,
    /// Leaves in the newest checkpoint that was verified.
    pub size: u64,
    /// Its root.
    pub root: Hash,
    /// When the log signed it, in seconds since 1970, where it tells.
    pub time: Option<u64>,
    /// When this machine verified it, in seconds since 1970.
    pub seen: u64,
    /// How it came to be known.
    pub pinned: Pinned,
    /// Whom it speaks for.
    pub registries: Vec<SpeaksFor>,
    /// Where that is remembered; what was refused lies in `evidence` beneath it.
    pub directory: PathBuf,
}

/// Every log that this machine knows, sorted by origin.
pub fn logs(settings: &Settings) -> Result<Vec<LogStatus>, Error> {
    let store = TrustStore::new(&settings.home);
    Ok(store.logs()?.iter().map(|log| status(&store, log)).collect())
}

fn status(store: &TrustStore, log: &KnownLog) -> LogStatus {
    let registries = log.record.registries.iter();
    LogStatus {
        origin: log.origin().to_owned(),
        fingerprint: log.chain.fingerprint(),
        identity: log.chain.latest().map_or(0, |latest| latest.number),
        keys: log.chain.keys().to_vec(),
        size: log.checkpoint().size,
        root: log.checkpoint().root,
        time: log.verified.time,
        seen: log.record.seen,
        pinned: log.record.pinned,
        registries: registries
            .map(|bound| SpeaksFor { url: bound.url.clone(), relayed: bound.relayed == Some(true) })
            .collect(),
        directory: store.directory_of(log.origin()),
    }
}

/// Forgets logs: the one with this origin, those that speak for the registry with this URL, the one
/// in the directory of this name, or all where it is `*`. Answers with where what was known lies
/// now; nothing is removed.
///
/// Works also where what is known cannot be read. A kill leaves a log known or forgotten.
pub fn forget(settings: &Settings, what: &str) -> Result<Vec<PathBuf>, Error> {
    TrustStore::new(&settings.home).forget(&meant(what))
}

/// Whether [`forget`] would forget anything.
pub fn is_known(settings: &Settings, what: &str) -> Result<bool, Error> {
    Ok(!TrustStore::new(&settings.home).meant(&meant(what))?.is_empty())
}

fn meant(what: &str) -> String {
    Url::parse(what).map_or_else(|_| what.to_owned(), |url| registry_text(&url).into())
}

/// Pins the log of a registry of which none is known: the one that `key` means, or that the
/// configuration names, else the one that the registry shows.
pub async fn pin(
    settings: &Settings,
    choice: &RegistryChoice,
    key: Option<&LogKey>,
) -> Result<Vec<Notice>, Error> {
    let registry = Registry::chosen(settings, choice)?;
    let trust = Trust::new(settings, Rules::of(&Policy::of_user(settings)?));
    let text = registry_text(&choice.url);
    if let Some(log) = trust.store.logs_of(&choice.url)?.first() {
        let fingerprint = log.chain.fingerprint();
        let is_it = match key {
            None => true,
            Some(LogKey::Fingerprint(wanted)) => fingerprint == *wanted,
            Some(LogKey::Key(wanted)) => log.chain.keys().contains(wanted),
        };
        if is_it {
            let told = format!("the log of `{text}` is pinned already: fingerprint {fingerprint}");
            return Ok(vec![Notice::Tell(told)]);
        }
        let message =
            format!("the log of `{text}` is pinned already, and has the fingerprint {fingerprint}");
        return Err(Error::new(Kind::Refused, "log_key_changed", message).with_hint(format!(
            "ask the registry's operator which it is; `skillpkg log forget {text}` forgets this one"
        )));
    }
    let mut notices = Vec::new();
    let configured = trust.configured(&choice.url).and_then(|trust| trust.log_key.clone());
    let key = key.cloned().or(configured);
    // Whoever asks for it by hand has been asked.
    let settings = Settings { trust_on_first_use: true, ..settings.clone() };
    let trust = Trust { settings: &settings, ..trust };
    trust.pin_those_of(&choice.url, &registry, key.as_ref(), &mut notices).await?;
    Ok(notices)
}

/// The origins of the registry's own logs among those that are pinned, as it says now; where none is
/// pinned, what it shows is first. Answers with what is worth telling.
pub(crate) async fn origins(
    settings: &Settings,
    registry: &Registry,
) -> Result<(Vec<String>, Vec<Notice>), Error> {
    let trust = Trust::new(settings, Rules::of(&Policy::of_user(settings)?));
    let url = registry.url();
    let mut notices = Vec::new();
    if trust.store.logs_of(url)?.is_empty() {
        let key = trust.configured(url).and_then(|trust| trust.log_key.clone());
        trust.pin_those_of(url, registry, key.as_ref(), &mut notices).await?;
    } else {
        trust.ask_whose(url, registry).await?;
    }
    let logs = trust.store.logs_of(url)?;
    let own = logs.iter().filter(|log| !log.is_relayed(registry_text(url)));
    Ok((own.map(|log| log.origin().to_owned()).collect(), notices))
}

/// The document of a skill at a registry or its mirrors, proven by its log; [`None`] where there is
/// none that one may read. Answers with what is worth telling.
pub async fn document(
    settings: &Settings,
    registry: &Registry,
    name: &QualifiedName,
) -> Result<(Option<Document>, Vec<Notice>), Error> {
    let trust = Trust::new(settings, Rules::of(&Policy::of_user(settings)?));
    let (found, notices) = trust.document(registry, name).await?;
    Ok((found.map(|found| found.document), notices))
}

/// When a snapshot was published, as the record in its registry's log says of which a proof is kept;
/// [`None`] where none is that holds.
pub(crate) fn proven_time(
    settings: &Settings,
    registry: &Url,
    manifest: &Manifest,
    address: &ContentAddress,
) -> Result<Option<String>, Error> {
    let claim = Claim {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        address: *address,
        archive: None,
        keys: None,
        index: None,
    };
    let trust = Trust::new(settings, Rules::default());
    let kept = KeptProofs::new(&trust).of(registry, &claim)?;
    Ok(kept.ok().flatten().map(|kept| kept.published))
}

/// The kept proof that a locked skill is in its registry's log, verified; [`None`] where none is
/// kept.
pub fn proof(settings: &Settings, locked: &Locked) -> Result<Option<KeptProof>, Error> {
    let Some(registry) = locked.source.registry() else { return Ok(None) };
    let trust = Trust::new(settings, Rules::default());
    KeptProofs::new(&trust).of(registry, &Claim::locked(locked))?.map_err(|reason| {
        let message =
            format!("the proof of `{}@{}` is refused: {reason}", locked.name, locked.version);
        Error::new(Kind::Verification, "inclusion_refused", message)
            .with_hint("`skillpkg verify` fetches another one")
    })
}
