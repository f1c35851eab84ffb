//! Archives, manifests and files of upstream's: from what is held, or fetched, verified and kept.

use std::fs::File;
use std::io::BufReader;
use std::time::{Duration, Instant};

use skillpkg_schema::limits::{MAX_ARCHIVE_BYTES, MAX_UNPACKED_BYTES};
use skillpkg_schema::{Algorithm, ContentAddress, Manifest, QualifiedName, Sha256Digest};
use skillpkg_store::archive::{Bounds, Reader};

use super::documents::MISSING_FOR;
use super::relay::Through;
use super::trouble::Trouble;
use super::{Mirror, Whose};
use crate::blobs::Kind;
use crate::contents::Located;
use crate::documents::stored;
use crate::problem::{Answer, Refusal};
use crate::state::Registry;
use crate::upstream::{Ask, Bound, Fetched, UpstreamError};

/// How long a request waits for content that is being fetched; the fetching goes on without it.
const PATIENCE: Duration = Duration::from_secs(20);

/// A version that some document names.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) row: i64,
    pub(super) name: QualifiedName,
    pub(super) version: String,
}

type KnownRow = (i64, String, String, String);

impl Mirror {
    /// The content at an address that is not this registry's own, where upstream has it and anybody
    /// may read it: as it is held, or once it is fetched and verified.
    pub async fn content(
        &self,
        registry: &Registry,
        kind: Kind,
        address: &ContentAddress,
        through: Through<'_>,
    ) -> Answer<Option<Located>> {
        // Asked of our own rows, private ones among them: upstream never hears of an address that
        // is theirs, and the answer is that of what is not there.
        if self.is_own(kind, address).await? {
            return Ok(None);
        }
        if let Some(located) = self.located(kind, address).await? {
            return Ok(Some(located));
        }
        let absent = self.0.absent.get(&(kind, *address));
        if absent.is_some_and(|until| until > Instant::now()) {
            return Ok(None);
        }
        // To its end, whether or not this request waits for it: the next one finds it.
        let (mirror, registry, address) = (self.clone(), registry.clone(), *address);
        let through = through.clone();
        let pulling = tokio::spawn(async move {
            mirror.pull(&registry, kind, &address, &through).await.map_err(Refusal::from)
        });
        match tokio::time::timeout(PATIENCE, pulling).await {
            Ok(pulled) => pulled.map_err(|error| Refusal::internal(&error))?,
            Err(_) => Err(Refusal::unavailable("it is being fetched from upstream; ask again", 2)),
        }
    }

    async fn pull(
        &self,
        registry: &Registry,
        kind: Kind,
        address: &ContentAddress,
        through: Through<'_>,
    ) -> Result<Option<Located>, Trouble> {
        let _turn = self.0.content_in_flight.enter((kind, *address)).await;
        if let Some(located) = self.located(kind, address).await? {
            return Ok(Some(located));
        }
        let pulled = match (self.known(kind, address).await?, kind) {
            (Some(known), _) => self.ingest_listed(registry, &known, through).await,
            (None, Kind::File) => self.pull_file(address, through).await,
            (None, Kind::Manifest) => self.pull_unknown(registry, address, through).await,
            (None, Kind::Archive) => self.pull_archive(registry, address, through).await,
            (None, Kind::Rendering) => Ok(()),
        };
        match pulled {
            Ok(()) | Err(Trouble::Upstream(UpstreamError::NotFound { .. })) => {}
            Err(trouble) => {
                if let Trouble::Lie { subject, detail } = &trouble {
                    self.alarm(subject, detail).await?;
                }
                return Err(trouble);
            }
        }
        let located = self.located(kind, address).await?;
        if located.is_none() {
            self.0.absent.insert((kind, *address), Instant::now() + MISSING_FOR);
        }
        Ok(located)
    }

    /// Fetches the archive of a version that is listed. Where upstream says that there is none, its
    /// document must say so as well: the log proves that one, and nothing the other.
    async fn ingest_listed(
        &self,
        registry: &Registry,
        known: &Known,
        through: Through<'_>,
    ) -> Result<(), Trouble> {
        let ingested = self.ingest(registry, known, through).await;
        if !matches!(ingested, Err(Trouble::Upstream(UpstreamError::NotFound { .. }))) {
            return ingested;
        }
        self.ask(std::slice::from_ref(&known.name), through).await?;
        self.let_go_of_deleted().await?;
        let listed: Option<i64> =
            sqlx::query_scalar("SELECT id FROM mirrored_versions WHERE id = $1 AND listed = TRUE")
                .bind(known.row)
                .fetch_optional(self.0.data.database.readers())
                .await?;
        match listed {
            Some(_) => {
                Err(Trouble::lie(known.subject(), "upstream withholds its archive, and lists it"))
            }
            None => Ok(()),
        }
    }

    /// Whether a row of this registry's own has the address.
    async fn is_own(&self, kind: Kind, address: &ContentAddress) -> Result<bool, sqlx::Error> {
        let query = match (kind, address.algorithm()) {
            (Kind::File, Algorithm::Sha256) => "SELECT 1 FROM blobs WHERE sha256 = $1",
            (Kind::File, Algorithm::Blake3) => "SELECT 1 FROM blobs WHERE blake3 = $1",
            (Kind::Manifest, Algorithm::Sha256) => "SELECT 1 FROM versions WHERE address = $1",
            (Kind::Manifest, Algorithm::Blake3) => "SELECT 1 FROM versions WHERE blake3 = $1",
            (Kind::Archive, _) => "SELECT 1 FROM versions WHERE archive = $1",
            (Kind::Rendering, _) => "SELECT 1 FROM renderings WHERE digest = $1",
        };
        let own: Option<i64> = sqlx::query_scalar(query)
            .bind(address.hex())
            .fetch_optional(self.0.data.database.readers())
            .await?;
        Ok(own.is_some())
    }

    /// Content that is held; its object is there.
    async fn located(
        &self,
        kind: Kind,
        address: &ContentAddress,
    ) -> Result<Option<Located>, Trouble> {
        let query = match (kind, address.algorithm()) {
            (Kind::File, Algorithm::Sha256) => FILE_BY_SHA256,
            (Kind::File, Algorithm::Blake3) => FILE_BY_BLAKE3,
            (Kind::Manifest, Algorithm::Sha256) => MANIFEST_BY_SHA256,
            (Kind::Manifest, Algorithm::Blake3) => MANIFEST_BY_BLAKE3,
            (Kind::Archive, _) => ARCHIVE,
            // Upstream's are its own: this registry makes those that it serves.
            (Kind::Rendering, _) => return Ok(None),
        };
        let row: Option<(Option<i64>, String, i64)> = sqlx::query_as(query)
            .bind(address.hex())
            .fetch_optional(self.0.data.database.readers())
            .await?;
        let Some((version, digest, size)) = row else { return Ok(None) };
        let digest: Sha256Digest = stored(&digest)?;
        // An object that somebody has removed is fetched again, not told to be there.
        if !self.0.data.blobs.holds(kind, &digest).await? {
            return Ok(None);
        }
        match version {
            Some(version) => self.note_use(version),
            None => self.note_loose_use(digest),
        }
        Ok(Some(Located { kind, digest, size: size.unsigned_abs(), public: true }))
    }

    /// The version that an address is of, where a document names it.
    async fn known(&self, kind: Kind, address: &ContentAddress) -> Result<Option<Known>, Trouble> {
        let column = match (kind, address.algorithm()) {
            (Kind::File | Kind::Rendering, _) => return Ok(None),
            (Kind::Manifest, Algorithm::Sha256) => KNOWN_BY_ADDRESS,
            (Kind::Manifest, Algorithm::Blake3) => KNOWN_BY_BLAKE3,
            (Kind::Archive, _) => KNOWN_BY_ARCHIVE,
        };
        let row: Option<KnownRow> = sqlx::query_as(column)
            .bind(address.hex())
            .fetch_optional(self.0.data.database.readers())
            .await?;
        let Some((row, scope, name, version)) = row else { return Ok(None) };
        let name =
            QualifiedName::from_wire(&scope, &name).map_err(|error| Refusal::internal(&error))?;
        Ok(Some(Known { row, name, version }))
    }

    /// Fetches a single file, which no version that is held has.
    async fn pull_file(
        &self,
        address: &ContentAddress,
        through: Through<'_>,
    ) -> Result<(), Trouble> {
        if !self.0.only.is_empty() {
            // Of which skill it is cannot be told, so not whether it may be mirrored.
            return Ok(());
        }
        let route = ["v1", "blobs", &address.to_string()];
        let ask = Ask::get(self.0.upstream.route(&route), through.clone());
        let directory = self.temporary()?;
        let path = directory.path().join("blob");
        let mut file = tokio::fs::File::create_new(&path).await?;
        self.0.upstream.download(&ask, Bound::content(MAX_UNPACKED_BYTES), &mut file).await?;
        drop(file);
        self.keep_file(address, &path).await
    }

    /// Fetches the snapshot of a manifest that no document which is held names.
    async fn pull_unknown(
        &self,
        registry: &Registry,
        address: &ContentAddress,
        through: Through<'_>,
    ) -> Result<(), Trouble> {
        if !self.0.only.is_empty() {
            return Ok(());
        }
        let route = ["v1", "manifests", &address.to_string()];
        let ask = Ask::get(self.0.upstream.route(&route), through.clone());
        let Fetched::Body { bytes, .. } = self.0.upstream.fetch(&ask, Bound::MANIFEST).await?
        else {
            return Ok(());
        };
        if !address.matches(&bytes) {
            return Err(Trouble::lie(address.to_string(), "its bytes hash to something else"));
        }
        let manifest = Manifest::from_bytes(&bytes)
            .map_err(|error| Trouble::lie(address.to_string(), error.to_string()))?;
        self.learn(&manifest.name, through).await?;
        match self.known(Kind::Manifest, address).await? {
            Some(known) => self.ingest(registry, &known, through).await,
            None => Ok(()),
        }
    }

    /// Fetches an archive that no document which is held names: what is in it says whose it is.
    async fn pull_archive(
        &self,
        registry: &Registry,
        address: &ContentAddress,
        through: Through<'_>,
    ) -> Result<(), Trouble> {
        if !self.0.only.is_empty() {
            return Ok(());
        }
        let received = self.download(address, Bound::content(MAX_ARCHIVE_BYTES), through).await?;
        let archive = received.archive.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let archive = BufReader::with_capacity(64 * 1024, File::open(archive)?);
            Reader::open(archive, Bounds::default()).map(|reader| reader.manifest().name.clone())
        });
        let name = reading.await.map_err(std::io::Error::other)?.map_err(|error| {
            Trouble::lie(address.to_string(), format!("what came is no archive: {error}"))
        })?;
        self.learn(&name, through).await?;
        match self.known(Kind::Archive, address).await? {
            Some(known) => self.take_in(registry, &known, received, through).await,
            None => Ok(()),
        }
    }

    /// Asks for the document of a name that was found in content, where it is upstream's to say.
    async fn learn(&self, name: &QualifiedName, through: Through<'_>) -> Result<(), Trouble> {
        if self.whose(name).await? == Whose::Upstream {
            self.document(name, through).await?;
        }
        Ok(())
    }
}

impl Known {
    /// What messages call it.
    pub(super) fn subject(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }
}

macro_rules! held {
    ($of:literal, $column:literal) => {
        concat!(
            "SELECT v.id, v.",
            $of,
            " FROM mirrored_versions v WHERE v.listed = TRUE AND v.takes IS NOT NULL AND v.",
            $column,
            " = $1"
        )
    };
}

macro_rules! file {
    ($column:literal) => {
        concat!(
            "SELECT h.version_id, b.sha256, b.size FROM mirrored_blobs b LEFT JOIN
             (SELECT h.version_id, h.sha256 FROM mirrored_version_blobs h
               JOIN mirrored_versions v ON v.id = h.version_id WHERE v.listed = TRUE) h
             ON h.sha256 = b.sha256
             WHERE (b.used IS NOT NULL OR h.version_id IS NOT NULL) AND b.",
            $column,
            " = $1 LIMIT 1"
        )
    };
}

macro_rules! known {
    ($column:literal) => {
        concat!(
            "SELECT v.id, k.scope, k.name, v.version FROM mirrored_versions v
             JOIN mirrored_skills k ON k.id = v.skill_id WHERE v.listed = TRUE AND v.",
            $column,
            " = $1"
        )
    };
}

const FILE_BY_SHA256: &str = file!("sha256");
const FILE_BY_BLAKE3: &str = file!("blake3");
const MANIFEST_BY_SHA256: &str = held!("address, v.manifest_size", "address");
const MANIFEST_BY_BLAKE3: &str = held!("address, v.manifest_size", "blake3");
const ARCHIVE: &str = held!("archive, v.size", "archive");
const KNOWN_BY_ADDRESS: &str = known!("address");
const KNOWN_BY_BLAKE3: &str = known!("blake3");
const KNOWN_BY_ARCHIVE: &str = known!("archive");
