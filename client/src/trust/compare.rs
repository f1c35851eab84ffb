//! Holds what two show of one log against each other: whether one continues the other, or the log
//! shows different people different histories.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::log::{
    Checkpoint, Hash, IdentityChain, MAX_CHECKPOINT_BYTES, Note, NoteKey, Tile, TileHashes,
    TilePath, VerifiedCheckpoint, consistency_ranges, proof_of, tiles_of, tree_range,
    verify_consistency,
};
use url::Url;

use super::error::{Refusal, Shown};
use super::evidence::Seen;
use super::store::{Bound, TrustStore};
use crate::bundle::Carried;
use crate::registry::{Place, Registry};
use crate::settings::registry_text;
use crate::{Error, Kind, Settings, regular_file};

/// Most bytes of a tile.
const MAX_TILE_BYTES: u64 = 256 * 32;

/// Who shows a log.
#[derive(Debug, Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "one is made for a command, and none is kept in a list"
)]
pub enum LogSource {
    /// A registry.
    Registry(Registry),
    /// A checkpoint in a file.
    File(PathBuf),
    /// What another home knows: the home, or its `trust` directory.
    Home(PathBuf),
    /// What a bundle holds.
    Bundle(Arc<Carried>),
}

/// What one of two shows of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Side {
    /// Who shows it.
    pub from: String,
    /// Leaves in its tree.
    pub size: u64,
    /// Its root.
    pub root: Hash,
    /// When the log signed it, in seconds since 1970, where it tells.
    pub time: Option<u64>,
}

/// What came of comparing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Both show one tree.
    Same,
    /// The larger tree contains the smaller one, as was proven.
    Continues,
    /// There are two histories.
    Fork,
    /// Nobody gives what would prove it.
    Unproven,
}

/// What came of comparing what two show of one log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The log's origin.
    pub origin: String,
    /// What came of it.
    pub verdict: Verdict,
    /// The first.
    pub first: Side,
    /// The second.
    pub second: Side,
    /// More about it, a sentence that is safe to print.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Where what was seen is kept, of a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<PathBuf>,
}

/// What was read of one log.
struct Read {
    from: String,
    origin: String,
    note: String,
    chain: Option<IdentityChain>,
    /// Where its tiles lie.
    tiles: Option<(Registry, String)>,
}

/// Compares what two show of the logs that both know.
pub async fn compare(
    settings: &Settings,
    first: &LogSource,
    second: &LogSource,
) -> Result<Vec<Comparison>, Error> {
    let store = TrustStore::new(&settings.home);
    let (firsts, seconds) = (read(first).await?, read(second).await?);
    let mut compared = Vec::new();
    for first in &firsts {
        for second in seconds.iter().filter(|second| second.origin == first.origin) {
            compared.push(of_log(settings, &store, first, second).await?);
        }
    }
    if compared.is_empty() {
        let names = |logs: &[Read]| {
            let names: Vec<String> =
                logs.iter().map(|log| format!("`{}`", escape(&log.origin))).collect();
            if names.is_empty() { "no log".to_owned() } else { names.join(", ") }
        };
        let message = format!(
            "they share no log: one shows {}, the other {}",
            names(&firsts),
            names(&seconds)
        );
        return Err(Error::new(Kind::Failed, "log_unknown", message));
    }
    Ok(compared)
}

async fn read(source: &LogSource) -> Result<Vec<Read>, Error> {
    match source {
        LogSource::Registry(registry) => of_registry(registry).await,
        LogSource::File(path) => of_file(path).map(|read| vec![read]),
        LogSource::Home(path) => of_home(path),
        LogSource::Bundle(carried) => of_bundle(carried).await,
    }
}

async fn of_bundle(carried: &Arc<Carried>) -> Result<Vec<Read>, Error> {
    let from = escape(&carried.path().to_string_lossy());
    let mut read = Vec::new();
    for (url, _) in carried.registries() {
        let of_url = of_registry(&Registry::carried(carried, url)?).await?;
        read.extend(of_url.into_iter().map(|one| Read { from: from.clone(), ..one }));
    }
    Ok(read)
}

async fn of_registry(registry: &Registry) -> Result<Vec<Read>, Error> {
    let from = registry_text(registry.url()).to_owned();
    let infos = registry.logs().await?.map(|logs| logs.logs).unwrap_or_default();
    let mut read = Vec::new();
    for info in infos {
        let chain = IdentityChain::verify(info.identities)
            .map_err(|reason| Refusal::Identity { place: Place::other(from.clone()), reason })?;
        read.push(Read {
            from: from.clone(),
            origin: info.origin,
            note: info.checkpoint,
            chain: Some(chain),
            tiles: Some((registry.clone(), info.prefix)),
        });
    }
    Ok(read)
}

fn of_file(path: &Path) -> Result<Read, Error> {
    let shown = escape(&path.to_string_lossy());
    let failed = |error: &std::io::Error| crate::project::io_error(path, error);
    let file = regular_file::open(path).map_err(|error| failed(&error))?;
    let bytes = regular_file::read(file, MAX_CHECKPOINT_BYTES as u64);
    let bytes = bytes.map_err(|error| failed(&error))?.unwrap_or_default();
    let note = Note::from_bytes(&bytes).map_err(|error| {
        let message = format!("`{shown}` is no checkpoint: {error}");
        Error::new(Kind::Verification, "checkpoint_unsigned", message)
    })?;
    let origin = note.text().split('\n').next().unwrap_or_default().to_owned();
    Ok(Read { from: shown, origin, note: note.to_string(), chain: None, tiles: None })
}

fn of_home(path: &Path) -> Result<Vec<Read>, Error> {
    let home = if path.join("trust").is_dir() { path } else { path.parent().unwrap_or(path) };
    let from = escape(&path.to_string_lossy());
    let logs = TrustStore::new(home).logs()?;
    Ok(logs
        .into_iter()
        .map(|log| Read {
            from: from.clone(),
            origin: log.origin().to_owned(),
            note: log.record.checkpoint.clone(),
            chain: Some(log.chain),
            tiles: None,
        })
        .collect())
}

async fn of_log(
    settings: &Settings,
    store: &TrustStore,
    first: &Read,
    second: &Read,
) -> Result<Comparison, Error> {
    let origin = &first.origin;
    let known = store.log(origin)?;
    let chains =
        [first.chain.as_ref(), second.chain.as_ref(), known.as_ref().map(|log| &log.chain)];
    let keys: Vec<NoteKey> =
        chains.iter().flatten().flat_map(|chain| chain.keys_of_all()).collect();
    let side = |read: &Read| {
        let own = read.chain.as_ref().map(IdentityChain::keys_of_all);
        let keys = own.as_deref().unwrap_or(&keys);
        Checkpoint::verify(read.note.as_bytes(), origin, keys, &[]).map_err(|reason| {
            let (place, origin) = (Place::other(read.from.clone()), origin.clone());
            Error::from(Refusal::Unsigned { place, origin, reason })
        })
    };
    let (one, other) = (side(first)?, side(second)?);
    let (from, to) = if one.checkpoint.size <= other.checkpoint.size {
        ((&one, first), (&other, second))
    } else {
        ((&other, second), (&one, first))
    };
    let mut detail = None;
    let verdict = if let [Some(chain), Some(other), ..] = chains
        && chain.continued(other.envelopes().to_vec()).is_err()
    {
        detail = Some("they show different identities of the log".to_owned());
        Verdict::Fork
    } else if from.0.checkpoint == to.0.checkpoint {
        Verdict::Same
    } else if from.0.checkpoint.size == to.0.checkpoint.size {
        Verdict::Fork
    } else {
        let places =
            places(settings, &[to.1, from.1], known.as_ref().map(|log| &*log.record.registries));
        let (verdict, why) = continues(&from.0.checkpoint, &to.0.checkpoint, &places).await;
        detail = why;
        verdict
    };
    let shown = |verified: &VerifiedCheckpoint| Shown::of(&verified.checkpoint, verified.time);
    let evidence = (verdict == Verdict::Fork).then(|| {
        let refusal = Refusal::Fork {
            place: Place::other(to.1.from.clone()),
            origin: origin.clone(),
            from: shown(from.0),
            to: shown(to.0),
        };
        let (known, received) = (Some(from.1.note.clone()), Some(to.1.note.clone()));
        let seen = Seen { known, received, ..Seen::default() };
        seen.keep_for(store, origin, &refusal)
    });
    let told = |read: &Read, verified: &VerifiedCheckpoint| Side {
        from: read.from.clone(),
        size: verified.checkpoint.size,
        root: verified.checkpoint.root,
        time: verified.time,
    };
    Ok(Comparison {
        origin: origin.clone(),
        verdict,
        first: told(first, &one),
        second: told(second, &other),
        detail,
        evidence: evidence.flatten(),
    })
}

/// Where tiles of the log may lie: what is compared, then the registries that it speaks for here.
fn places(
    settings: &Settings,
    sides: &[&Read],
    bound: Option<&[Bound]>,
) -> Vec<(Registry, Option<String>)> {
    let of_sides = sides.iter().filter_map(|read| read.tiles.clone());
    let mut places: Vec<(Registry, Option<String>)> =
        of_sides.map(|(registry, prefix)| (registry, Some(prefix))).collect();
    if settings.offline {
        return places;
    }
    for bound in bound.into_iter().flatten() {
        let registry = Url::parse(&bound.url)
            .ok()
            .and_then(|url| Registry::chosen(settings, &settings.registry_at(&url)).ok());
        places.extend(registry.map(|registry| (registry, None)));
    }
    places
}

/// Whether one tree continues another, as far as one of the places gives what proves it.
async fn continues(
    from: &Checkpoint,
    to: &Checkpoint,
    places: &[(Registry, Option<String>)],
) -> (Verdict, Option<String>) {
    let mut why = "nobody is known who could give the tiles that would prove it".to_owned();
    for (registry, prefix) in places {
        let prefix = match prefix {
            Some(prefix) => prefix.clone(),
            None => match prefix_of(registry, &from.origin).await {
                Some(prefix) => prefix,
                None => continue,
            },
        };
        match at(registry, &prefix, from, to).await {
            Ok(verdict) => return (verdict, None),
            Err(reason) => {
                why = format!("`{}`: {reason}", registry_text(registry.url()));
            }
        }
    }
    (Verdict::Unproven, Some(why))
}

pub(super) async fn prefix_of(registry: &Registry, origin: &str) -> Option<String> {
    let logs = registry.logs().await.ok()??.logs;
    logs.into_iter().find(|info| info.origin == origin).map(|info| info.prefix)
}

/// The bytes of a tile of a log, unverified; why there are none is a phrase.
pub(super) async fn tile_at(
    registry: &Registry,
    prefix: &str,
    tile: Tile,
) -> Result<Bytes, String> {
    let path = TilePath::Hashes(tile).to_string();
    let fetched = registry.log_file(prefix, &path, MAX_TILE_BYTES).await;
    if let Some(bytes) = fetched.map_err(|error| error.message)? {
        return Ok(bytes);
    }
    // A partial tile may go once there is the full one.
    let full = TilePath::Hashes(Tile { width: 256, ..tile }).to_string();
    let bytes = registry.log_file(prefix, &full, MAX_TILE_BYTES).await;
    let bytes = bytes.map_err(|error| error.message)?;
    let bytes = bytes.ok_or_else(|| format!("it has no `{path}`"))?;
    Ok(bytes.slice(..bytes.len().min(usize::from(tile.width) * 32)))
}

async fn at(
    registry: &Registry,
    prefix: &str,
    from: &Checkpoint,
    to: &Checkpoint,
) -> Result<Verdict, String> {
    let ranges = consistency_ranges(from.size, to.size).ok_or("the log shrank")?;
    let earlier = tree_range(from.size);
    let all: Vec<_> = ranges.iter().copied().chain(earlier).collect();
    let mut tiles = TileHashes::default();
    for tile in tiles_of(&all, to.size) {
        let bytes = tile_at(registry, prefix, tile).await?;
        tiles.insert(tile, &bytes).map_err(|error| error.to_string())?;
    }
    let proof = proof_of(&ranges, &tiles).map_err(|error| error.to_string())?;
    if verify_consistency(from.size, &from.root, to.size, &to.root, &proof).is_ok() {
        return Ok(Verdict::Continues);
    }
    // That the larger tree contains another one of the smaller size is what proves a fork: tiles
    // that lead nowhere prove nothing.
    let Some(range) = earlier else { return Err("its tiles lead to another root".to_owned()) };
    let other = tiles.hash(range).map_err(|error| error.to_string())?;
    verify_consistency(from.size, &other, to.size, &to.root, &proof)
        .map(|()| Verdict::Fork)
        .map_err(|_| "its tiles lead to another root".to_owned())
}
