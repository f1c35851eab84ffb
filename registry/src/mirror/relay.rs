//! The log that is relayed: who it is, how far it was followed, and the moments that documents are
//! of.
//!
//! A mirror believes a checkpoint only where every leaf up to it continues the tree that it holds:
//! it fetches the hashes of all leaves and hashes them itself. What was rewritten, or differs from
//! what it was shown before, leads to another root, and is refused for good.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::http::HeaderValue;
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use skillpkg_schema::log::{
    Checkpoint, CheckpointError, Edge, Hash, IdentityChain, Sealed, Subject, TILE_WIDTH, Tile,
    TilePath, tree_range, verify_inclusion,
};
use skillpkg_schema::signature::Envelope;
use skillpkg_schema::wire::{LogInfo, Logs, Proven, View};
use tokio::sync::Mutex;

use super::tree::{self, MAX_LEAVES, Made};
use super::trouble::Trouble;
use crate::clock;
use crate::database::{Database, Truth};
use crate::documents::stored;
use crate::problem::Refusal;
use crate::upstream::{Ask, Bound, Fetched, Upstream, UpstreamError};

/// Tiles fetched at once.
const AT_ONCE: usize = 8;
/// How long it is waited for a tile where upstream was asked too often.
const BUSY_FOR: Duration = Duration::from_mins(5);
/// Most characters of the place of a log beneath its registry's URL.
const MAX_PREFIX: usize = 64;

/// One state of all documents, and the checkpoint that proves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moment {
    /// Root of the heads tree.
    pub(super) heads: Hash,
    /// The signed note.
    pub(super) checkpoint: String,
    /// Leaves in the log.
    pub(super) size: u64,
    /// The last leaf.
    pub(super) sealed: Sealed,
    /// When upstream last said so, RFC 3339 in UTC.
    pub(super) at: String,
}

/// The log as far as it was followed.
#[derive(Debug, Clone)]
pub(super) struct Followed {
    pub(super) chain: IdentityChain,
    pub(super) prefix: String,
    /// Whether upstream relays it as well: of upstream's own names it says nothing then.
    pub(super) is_relayed: bool,
    edge: Edge,
    root: Hash,
    /// Nothing before the first view.
    pub(super) newest: Option<Arc<Moment>>,
}

/// What a request is asked through.
pub(super) type Through<'a> = &'a HeaderValue;

/// The one log that is relayed.
#[derive(Debug)]
pub(super) struct Relay {
    database: Database,
    upstream: Upstream,
    /// Fingerprint of the log that the operator means.
    pinned: Option<Hash>,
    /// Held while the log is followed further; nothing yet before the first contact.
    followed: Mutex<Option<Followed>>,
    /// The same for those who only look.
    seen: std::sync::RwLock<Option<Arc<Followed>>>,
    /// Why nothing of upstream's is believed, where it is another log than the operator means.
    other: std::sync::RwLock<Option<String>>,
    /// The origin of this registry's own log, which is never the one that is mirrored.
    pub(super) own: OnceLock<String>,
}

type LogRow = (String, String, Truth, String, i64, String, String);
type MomentRow = (String, i64, String, String);

impl Relay {
    /// Opens what was followed before.
    ///
    /// Refused where that is not the log with this fingerprint.
    pub(super) async fn open(
        database: Database,
        upstream: Upstream,
        pinned: Option<Hash>,
    ) -> Result<Self, Trouble> {
        let followed = load(&database).await?;
        if let Some(followed) = &followed {
            check_pinned(&followed.chain, pinned.as_ref())?;
        }
        let seen = std::sync::RwLock::new(followed.clone().map(Arc::new));
        let followed = Mutex::new(followed);
        let other = std::sync::RwLock::default();
        Ok(Self { database, upstream, pinned, followed, seen, other, own: OnceLock::new() })
    }

    /// The log as it was last seen; [`None`] before the first contact with upstream.
    pub(super) fn seen(&self) -> Option<Arc<Followed>> {
        self.seen.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Why nothing of upstream's is believed, where its log is another than the operator means.
    pub(super) fn is_other(&self) -> Option<String> {
        self.other.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Notes whether upstream's log is the one that is meant, and tells the operator where it is not.
    fn note_other(&self, trouble: Option<&Trouble>) {
        let detail = trouble.map(ToString::to_string);
        let mut other = self.other.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(detail) = detail.as_ref().filter(|_| other.is_none()) {
            tracing::error!(
                detail,
                upstream = self.upstream.shown(),
                "nothing is mirrored: every answer about what is upstream's is 502, until \
                 `--mirror-log-key` and upstream's log agree"
            );
        }
        *other = detail;
    }

    /// The log's origin, after a first contact where there was none.
    pub(super) async fn origin(&self, through: Through<'_>) -> Result<String, Trouble> {
        if let Some(seen) = self.seen() {
            return Ok(seen.chain.origin().to_owned());
        }
        let mut followed = self.followed.lock().await;
        let known = self.met(&mut followed, through).await?;
        Ok(known.chain.origin().to_owned())
    }

    /// Whether upstream relays the log as well.
    pub(super) async fn is_relayed(&self) -> bool {
        self.followed.lock().await.as_ref().is_some_and(|followed| followed.is_relayed)
    }

    /// What was followed; nothing of the log but who it is, where this is the first contact.
    async fn met<'a>(
        &self,
        followed: &'a mut Option<Followed>,
        through: Through<'_>,
    ) -> Result<&'a mut Followed, Trouble> {
        if followed.is_none() {
            let info = self.ask_who(through, None).await?;
            let (chain, prefix) = read_info(&info)?;
            let checked = check_pinned(&chain, self.pinned.as_ref());
            self.note_other(checked.as_ref().err());
            checked?;
            verified(info.checkpoint.as_bytes(), &chain)?;
            tracing::info!(
                origin = chain.origin(),
                fingerprint = %chain.fingerprint(),
                is_pinned = self.pinned.is_some(),
                "the log that is mirrored is known from now on"
            );
            let edge = Edge::default();
            let root = edge.root();
            let is_relayed = info.relayed;
            *followed = Some(Followed { chain, prefix, is_relayed, edge, root, newest: None });
        }
        followed.as_mut().ok_or_else(|| Trouble::Ours(Refusal::internal(&"the log is not known")))
    }

    /// Asks upstream who its log is; with `origin`, who that log is.
    async fn ask_who(
        &self,
        through: Through<'_>,
        origin: Option<&str>,
    ) -> Result<LogInfo, Trouble> {
        let ask = Ask::get(self.upstream.route(&["v1", "log"]), through.clone());
        let answer: Result<Logs, _> = self.upstream.json(&ask, Bound::DOCUMENT).await;
        let answer = answer.map_err(|error| Trouble::unanswered("log", error))?;
        let mut logs = answer.logs;
        let wanted = if let Some(origin) = origin {
            logs.iter().position(|log| log.origin == origin)
        } else {
            // A mirror's own log speaks for what is its alone: what it relays is mirrored. What it
            // relays of this registry's own is no more upstream's than this one's.
            let is_own = |log: &LogInfo| self.own.get() == Some(&log.origin);
            let relayed = logs.iter().position(|log| log.relayed && !is_own(log));
            relayed.or_else(|| logs.iter().position(|log| !is_own(log)))
        };
        let found = wanted.map(|at| logs.swap_remove(at));
        found.ok_or_else(|| {
            let which = origin.map_or_else(
                || "no log".to_owned(),
                |origin| format!("no log `{}`", skillpkg_schema::diagnostic::escape(origin)),
            );
            Trouble::log(format!(
                "upstream has {which}; it was another registry before, or is none"
            ))
        })
    }

    /// Follows the log to the checkpoint of a view, and holds the view's last leaf against it.
    ///
    /// Returned, what was followed has survived a crash. An older checkpoint than the newest is
    /// refused, as from a server behind others it may come, without any other consequence.
    pub(super) async fn adopt(
        &self,
        view: &View,
        through: Through<'_>,
    ) -> Result<Arc<Followed>, Trouble> {
        let mut guard = self.followed.lock().await;
        let followed = self.met(&mut guard, through).await?;
        let checkpoint = self.verify(view, followed, through).await?;
        let mut made = Made::new();
        let edge = self.continued(followed, &checkpoint, through, &mut made).await?;
        let moment = moment(view, &checkpoint)?;
        let (chain, prefix) = (followed.chain.clone(), followed.prefix.clone());
        let newest = Some(Arc::new(moment.clone()));
        let is_relayed = followed.is_relayed;
        let next = Followed { chain, prefix, is_relayed, edge, root: checkpoint.root, newest };
        self.store(&next, &moment, &made).await?;
        *followed = next.clone();
        let seen = Arc::new(next);
        *self.seen.write().unwrap_or_else(std::sync::PoisonError::into_inner) =
            Some(Arc::clone(&seen));
        Ok(seen)
    }

    /// The checkpoint of a view, signed by the log as it is, or as it has become since.
    async fn verify(
        &self,
        view: &View,
        followed: &mut Followed,
        through: Through<'_>,
    ) -> Result<Checkpoint, Trouble> {
        let bytes = view.checkpoint.as_bytes();
        match verified(bytes, &followed.chain) {
            Err(CheckpointFault::NotSigned) => {}
            Err(CheckpointFault::Other(trouble)) => return Err(trouble),
            Ok(checkpoint) => return Ok(checkpoint),
        }
        let info = self.ask_who(through, Some(followed.chain.origin())).await?;
        let chain = followed.chain.continued(info.identities);
        followed.chain = chain.map_err(|error| Trouble::log(error.to_string()))?;
        verified(bytes, &followed.chain).map_err(Trouble::from)
    }

    /// The edge of the tree that a checkpoint is of, which continues the one that is held.
    async fn continued(
        &self,
        followed: &Followed,
        checkpoint: &Checkpoint,
        through: Through<'_>,
        made: &mut Made,
    ) -> Result<Edge, Trouble> {
        let (held, size) = (followed.edge.size(), checkpoint.size);
        if size > MAX_LEAVES {
            return Err(Trouble::log(format!(
                "it has {size} leaves, or says so; a mirror follows {MAX_LEAVES}"
            )));
        }
        if size < held {
            let mut read = self.database.readers().acquire().await?;
            let ranges: Vec<_> = tree_range(size).into_iter().collect();
            let before = tree::hashes(&mut read, &ranges, size).await?;
            let is_before = before.first().is_none_or(|root| *root == checkpoint.root);
            return Err(if is_before {
                let url = self.upstream.shown();
                Trouble::Upstream(UpstreamError::Behind { url, size, seen: held })
            } else {
                forked(checkpoint)
            });
        }
        let mut edge = followed.edge.clone();
        let numbers = held / TILE_WIDTH..size.div_ceil(TILE_WIDTH);
        let tiles = numbers.filter_map(|number| Tile::in_tree(0, number, size));
        let tiles = tiles.filter(|tile| tile.index * TILE_WIDTH + u64::from(tile.width) > held);
        let mut tiles = futures_util::stream::iter(tiles)
            .map(|tile| async move { Ok((tile, self.tile(followed, tile, through).await?)) })
            .buffered(AT_ONCE);
        while let Some((tile, hashes)) = tiles.try_next().await.map_err(|error: Trouble| error)? {
            if !tree::append(&mut edge, tile, &hashes, made) {
                return Err(Trouble::log(format!(
                    "tile {} has not the width that it has",
                    tile.index
                )));
            }
        }
        if edge.size() != size || edge.root() != checkpoint.root {
            return Err(forked(checkpoint));
        }
        Ok(edge)
    }

    /// Fetches a tile of hashes, unverified.
    async fn tile(
        &self,
        followed: &Followed,
        tile: Tile,
        through: Through<'_>,
    ) -> Result<Vec<Hash>, Trouble> {
        let mut path = TilePath::Hashes(tile);
        let give_up = Instant::now() + BUSY_FOR;
        let fetched = loop {
            match self.piece(followed, path, Bound::TILE, through).await {
                // It was full by now, and the narrower one is gone.
                Err(UpstreamError::NotFound { .. }) if !path.tile().is_full() => {
                    path = TilePath::Hashes(Tile { width: 256, ..tile });
                }
                // A long log is more tiles than one may ask for in a minute.
                Err(UpstreamError::Busy { wait, .. }) if Instant::now() + wait < give_up => {
                    tokio::time::sleep(wait).await;
                }
                // A checkpoint covers it.
                other => break other.map_err(|error| Trouble::unanswered("log", error))?,
            }
        };
        let (hashes, _) = fetched.as_chunks::<{ skillpkg_schema::address::DIGEST_BYTES }>();
        hashes
            .get(..usize::from(tile.width))
            .map(|hashes| hashes.iter().map(|hash| Hash::from_bytes(*hash)).collect())
            .ok_or_else(|| Trouble::log(format!("tile {} is too short", tile.index)))
    }

    /// Fetches a file of the log, unverified.
    pub(super) async fn piece(
        &self,
        followed: &Followed,
        path: TilePath,
        bound: Bound,
        through: Through<'_>,
    ) -> Result<Bytes, UpstreamError> {
        let path = path.to_string();
        let segments: Vec<&str> = followed.prefix.split('/').chain(path.split('/')).collect();
        let ask = Ask::get(self.upstream.route(&segments), through.clone());
        match self.upstream.fetch(&ask, bound).await? {
            Fetched::Body { bytes, .. } => Ok(bytes),
            Fetched::Unchanged => Ok(Bytes::new()),
        }
    }

    async fn store(&self, next: &Followed, moment: &Moment, made: &Made) -> Result<(), Trouble> {
        let identities = serde_json::to_string(next.chain.envelopes());
        let identities = identities.map_err(|error| Refusal::internal(&error))?;
        let mut write = self.database.write().await?;
        tree::store(&mut write, made).await?;
        sqlx::query(
            "INSERT INTO relayed_log (origin, prefix, relayed, identities, size, root, checkpoint,
             heads, refreshed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             ON CONFLICT (origin) DO UPDATE SET identities = excluded.identities,
             prefix = excluded.prefix, size = excluded.size, root = excluded.root,
             checkpoint = excluded.checkpoint, heads = excluded.heads,
             refreshed = excluded.refreshed",
        )
        .bind(next.chain.origin())
        .bind(&next.prefix)
        .bind(next.is_relayed)
        .bind(identities)
        .bind(next.edge.size().cast_signed())
        .bind(next.root.to_string())
        .bind(&moment.checkpoint)
        .bind(moment.heads.to_string())
        .bind(&moment.at)
        .execute(&mut *write)
        .await?;
        let sealed = serde_json::to_string(&moment.sealed);
        sqlx::query(
            "INSERT INTO relayed_moments (heads, checkpoint, size, sealed, at)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (heads) DO UPDATE SET checkpoint = excluded.checkpoint,
             size = excluded.size, sealed = excluded.sealed, at = excluded.at",
        )
        .bind(moment.heads.to_string())
        .bind(&moment.checkpoint)
        .bind(moment.size.cast_signed())
        .bind(sealed.map_err(|error| Refusal::internal(&error))?)
        .bind(&moment.at)
        .execute(&mut *write)
        .await?;
        write.commit().await?;
        Ok(())
    }

    /// A moment that documents are still of.
    pub(super) async fn moment(&self, heads: &Hash) -> Result<Option<Arc<Moment>>, Trouble> {
        let newest = self.seen().and_then(|seen| seen.newest.clone());
        if let Some(newest) = newest.filter(|newest| newest.heads == *heads) {
            return Ok(Some(newest));
        }
        Ok(load_moment(&self.database, heads).await?.map(Arc::new))
    }
}

async fn load(database: &Database) -> Result<Option<Followed>, Trouble> {
    let row: Option<LogRow> = sqlx::query_as(
        "SELECT origin, prefix, relayed = TRUE, identities, size, root, heads FROM relayed_log",
    )
    .fetch_optional(database.readers())
    .await?;
    let Some((origin, prefix, Truth(is_relayed), identities, size, root, heads)) = row else {
        return Ok(None);
    };
    let internal = |error: &dyn std::fmt::Display| Trouble::Ours(Refusal::internal(error));
    let envelopes: Vec<Envelope> =
        serde_json::from_str(&identities).map_err(|error| internal(&error))?;
    let chain = IdentityChain::verify(envelopes).map_err(|error| internal(&error))?;
    let mut read = database.readers().acquire().await?;
    let edge = tree::edge(&mut read, size.cast_unsigned()).await?;
    drop(read);
    let root: Hash = stored(&root)?;
    if edge.root() != root || chain.origin() != origin {
        return Err(internal(&"the tiles of the relayed log are not those of its root"));
    }
    let newest = load_moment(database, &stored(&heads)?).await?;
    let newest =
        newest.ok_or_else(|| internal(&"the newest moment of the relayed log is missing"))?;
    Ok(Some(Followed { chain, prefix, is_relayed, edge, root, newest: Some(Arc::new(newest)) }))
}

async fn load_moment(database: &Database, heads: &Hash) -> Result<Option<Moment>, Trouble> {
    let row: Option<MomentRow> =
        sqlx::query_as("SELECT checkpoint, size, sealed, at FROM relayed_moments WHERE heads = $1")
            .bind(heads.to_string())
            .fetch_optional(database.readers())
            .await?;
    let Some((checkpoint, size, sealed, at)) = row else { return Ok(None) };
    let sealed = serde_json::from_str(&sealed).map_err(|error| Refusal::internal(&error))?;
    Ok(Some(Moment { heads: *heads, checkpoint, size: size.cast_unsigned(), sealed, at }))
}

/// Refuses a log that is not the one the operator named.
fn check_pinned(chain: &IdentityChain, pinned: Option<&Hash>) -> Result<(), Trouble> {
    let found = chain.fingerprint();
    match pinned {
        Some(pinned) if *pinned != found => Err(Trouble::log(format!(
            "its fingerprint is {found}, and not the {pinned} of `--mirror-log-key`: ask who runs the \
             mirrored registry which of the two is theirs"
        ))),
        _ => Ok(()),
    }
}

/// Reads who a log says it is.
fn read_info(info: &LogInfo) -> Result<(IdentityChain, String), Trouble> {
    let chain = IdentityChain::verify(info.identities.clone())
        .map_err(|error| Trouble::log(error.to_string()))?;
    if chain.origin() != info.origin {
        return Err(Trouble::log("its identities are of another log"));
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_".contains(&byte);
    if info.prefix.len() > MAX_PREFIX || !info.prefix.bytes().all(is_plain) {
        return Err(Trouble::log("the place of its tiles is no path"));
    }
    Ok((chain, info.prefix.clone()))
}

/// Why a checkpoint is not taken.
enum CheckpointFault {
    /// No key that is known has signed it.
    NotSigned,
    Other(Trouble),
}

impl From<CheckpointFault> for Trouble {
    fn from(fault: CheckpointFault) -> Self {
        match fault {
            CheckpointFault::NotSigned => Self::log("no key of the log has signed its checkpoint"),
            CheckpointFault::Other(trouble) => trouble,
        }
    }
}

fn verified(bytes: &[u8], chain: &IdentityChain) -> Result<Checkpoint, CheckpointFault> {
    match Checkpoint::verify(bytes, chain.origin(), chain.keys(), &[]) {
        Ok(verified) => Ok(verified.checkpoint),
        Err(CheckpointError::NotSigned(_)) => Err(CheckpointFault::NotSigned),
        Err(error) => Err(CheckpointFault::Other(Trouble::log(error.to_string()))),
    }
}

/// The moment that a view is of: its last leaf is that of the checkpoint, and holds the heads.
fn moment(view: &View, checkpoint: &Checkpoint) -> Result<Moment, Trouble> {
    let Proven { index, sealed, proof } = &view.heads;
    if index.checked_add(1) != Some(checkpoint.size) || sealed.salt.is_some() {
        return Err(Trouble::log("the heads of a view are not in its last leaf"));
    }
    let leaf = sealed.leaf_hash();
    verify_inclusion(&leaf, *index, checkpoint.size, &checkpoint.root, &proof.0).map_err(
        |error| Trouble::log(format!("the heads of a view are not in the log: {error}")),
    )?;
    let Subject::Heads { root } = sealed.record.subject else {
        return Err(Trouble::log("the last leaf does not hold the heads"));
    };
    Ok(Moment {
        heads: root,
        checkpoint: view.checkpoint.clone(),
        size: checkpoint.size,
        sealed: sealed.clone(),
        at: clock::now(),
    })
}

fn forked(checkpoint: &Checkpoint) -> Trouble {
    Trouble::log(format!(
        "the checkpoint of {} leaves does not continue what this mirror has followed: the log was \
         rewritten, or shows others something else",
        checkpoint.size
    ))
}
