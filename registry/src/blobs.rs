//! Archives, manifests and files by their digests, in an object store.
//!
//! An object's key names its content, so an object is written once and never changed: whoever
//! writes it again would write the same bytes.

use std::io;
use std::path::Path as FilePath;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use futures_util::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    GetOptions, GetRange, GetResultPayload, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode,
    PutOptions, PutPayload, WriteMultipart,
};
use skillpkg_schema::Sha256Digest;
use tokio::io::AsyncReadExt as _;

/// Content up to this many bytes is put in one piece; more is put in parts of this size.
const PART_BYTES: usize = 1024 * 1024;
/// How much of a file is read at a time while it is sent.
const SEND_BYTES: usize = 128 * 1024;

/// What kind of object a digest is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An archive as it was uploaded.
    Archive,
    /// A manifest's canonical bytes.
    Manifest,
    /// One file of a snapshot.
    File,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Archive, Self::Manifest, Self::File];

    /// The first part of the keys of its objects.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Archive => "archives",
            Self::Manifest => "manifests",
            Self::File => "blobs",
        }
    }

    /// The key of the object with this digest, such as `blobs/sha256/ab/abcd…`.
    pub fn key(self, digest: &Sha256Digest) -> Path {
        let digits = digest.to_string();
        let (first, _) = digits.split_at(2);
        Path::from_iter([self.prefix(), "sha256", first, &digits])
    }

    /// The kind and the digest that a key is of.
    pub fn of_key(key: &Path) -> Option<(Self, Sha256Digest)> {
        let digest = key.filename()?.parse().ok()?;
        Self::ALL.into_iter().find(|kind| kind.key(&digest) == *key).map(|kind| (kind, digest))
    }
}

/// The bytes of an object, or of a range of it, as they are read.
pub type Content = BoxStream<'static, io::Result<Bytes>>;

/// The registry's object store.
#[derive(Debug, Clone)]
pub struct Blobs {
    store: Arc<dyn ObjectStore>,
}

impl Blobs {
    /// Objects as files beneath `directory`; a put that returns has survived a crash.
    pub fn local(directory: &FilePath) -> object_store::Result<Self> {
        let store = LocalFileSystem::new_with_prefix(directory)?.with_fsync(true);
        Ok(Self { store: Arc::new(store) })
    }

    /// Whether the object is there.
    pub async fn holds(&self, kind: Kind, digest: &Sha256Digest) -> object_store::Result<bool> {
        self.meta(&kind.key(digest)).await.map(|meta| meta.is_some())
    }

    /// What is known of the object under `key`.
    pub async fn meta(&self, key: &Path) -> object_store::Result<Option<ObjectMeta>> {
        match self.store.head(key).await {
            Ok(meta) => Ok(Some(meta)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Puts the content of `file`, whose digest the caller has made; create-only.
    ///
    /// Returned, the object survives a crash; cut short, it is absent.
    pub async fn put_file(
        &self,
        kind: Kind,
        digest: &Sha256Digest,
        file: &FilePath,
    ) -> object_store::Result<()> {
        let failed = |source: io::Error| object_store::Error::Generic {
            store: "received file",
            source: Box::new(source),
        };
        let mut file = tokio::fs::File::open(file).await.map_err(failed)?;
        let length = file.metadata().await.map_err(failed)?.len();
        if length <= PART_BYTES as u64 {
            let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(PART_BYTES));
            file.take(PART_BYTES as u64).read_to_end(&mut bytes).await.map_err(failed)?;
            return self.put(kind, digest, bytes.into()).await;
        }
        if self.holds(kind, digest).await? {
            return Ok(());
        }
        // Parts are gathered under a key of their own, since only a whole object can be put
        // create-only; a crash leaves them there, where they are no object of any digest.
        let staging = Path::from_iter(["staging", &crate::random::hex::<16>()?]);
        let upload = self.store.put_multipart(&staging).await?;
        let mut upload = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
        let mut piece = vec![0; SEND_BYTES];
        loop {
            let read = match file.read(&mut piece).await {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) => {
                    upload.abort().await?;
                    return Err(failed(error));
                }
            };
            upload.wait_for_capacity(1).await?;
            upload.write(piece.get(..read).unwrap_or_default());
        }
        upload.finish().await?;
        match self.store.rename_if_not_exists(&staging, &kind.key(digest)).await {
            Err(object_store::Error::AlreadyExists { .. }) => self.store.delete(&staging).await,
            other => other,
        }
    }

    /// Puts `bytes`, whose digest the caller has made; create-only.
    pub async fn put(
        &self,
        kind: Kind,
        digest: &Sha256Digest,
        bytes: Bytes,
    ) -> object_store::Result<()> {
        self.create(&kind.key(digest), bytes).await.map(|_| ())
    }

    /// Puts `bytes` under a key where nothing is there; whether that was so. What returns has
    /// survived a crash.
    pub async fn create(&self, key: &Path, bytes: Bytes) -> object_store::Result<bool> {
        let options = PutOptions::from(PutMode::Create);
        match self.store.put_opts(key, PutPayload::from_bytes(bytes), options).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads the object, or `range` of it, whose end is not included; [`None`] where it is absent.
    pub async fn read(
        &self,
        kind: Kind,
        digest: &Sha256Digest,
        range: Option<std::ops::Range<u64>>,
    ) -> object_store::Result<Option<Content>> {
        let options = GetOptions { range: range.map(GetRange::Bounded), ..GetOptions::default() };
        let result = match self.store.get_opts(&kind.key(digest), options).await {
            Ok(result) => result,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let range = result.range.clone();
        Ok(Some(match result.payload {
            GetResultPayload::File(file, _) => file_content(file, range),
            GetResultPayload::Stream(stream) => {
                Box::pin(stream.map_err(io::Error::other)) as Content
            }
        }))
    }

    /// Reads an object of at most `limit` bytes whole; [`None`] where it is absent or longer.
    pub async fn read_whole(
        &self,
        kind: Kind,
        digest: &Sha256Digest,
        limit: u64,
    ) -> object_store::Result<Option<Bytes>> {
        self.read_key(&kind.key(digest), limit).await
    }

    /// Reads what is under a key, as [`Blobs::read_whole`].
    pub async fn read_key(&self, key: &Path, limit: u64) -> object_store::Result<Option<Bytes>> {
        match self.store.get(key).await {
            Ok(result) if result.meta.size <= limit => result.bytes().await.map(Some),
            Ok(_) | Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Every object whose key starts with the part `prefix`.
    pub fn list(
        &self,
        prefix: &'static str,
    ) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.store.list(Some(&Path::from(prefix)))
    }

    /// Deletes one object; one that is absent counts as deleted.
    pub async fn delete(&self, key: &Path) -> object_store::Result<()> {
        match self.store.delete(key).await {
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            other => other,
        }
    }
}

/// Reads `range` of a file in pieces, each on a thread where it may wait for the disk.
fn file_content(file: std::fs::File, range: std::ops::Range<u64>) -> Content {
    let state = (Arc::new(file), range.start);
    let end = range.end;
    Box::pin(futures_util::stream::try_unfold(state, move |(file, at)| async move {
        let length = usize::try_from(end.saturating_sub(at)).unwrap_or(SEND_BYTES).min(SEND_BYTES);
        if length == 0 {
            return Ok(None);
        }
        let reader = Arc::clone(&file);
        let read = tokio::task::spawn_blocking(move || read_at(&reader, at, length));
        let piece = read.await.map_err(io::Error::other)??;
        let next = at + piece.len() as u64;
        Ok(Some((piece, (file, next))))
    }))
}

#[cfg(unix)]
fn read_at(file: &std::fs::File, at: u64, length: usize) -> io::Result<Bytes> {
    use std::os::unix::fs::FileExt as _;
    let mut piece = vec![0; length];
    file.read_exact_at(&mut piece, at)?;
    Ok(piece.into())
}

#[cfg(not(unix))]
fn read_at(mut file: &std::fs::File, at: u64, length: usize) -> io::Result<Bytes> {
    use std::io::{Read as _, Seek as _};
    let mut piece = vec![0; length];
    file.seek(io::SeekFrom::Start(at))?;
    file.read_exact(&mut piece)?;
    Ok(piece.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(
        blobs: &Blobs,
        digest: &Sha256Digest,
        range: Option<std::ops::Range<u64>>,
    ) -> Vec<u8> {
        let content = blobs.read(Kind::File, digest, range).await.unwrap().unwrap();
        content.try_collect::<Vec<Bytes>>().await.unwrap().concat()
    }

    #[tokio::test]
    async fn content_of_any_length_is_read_as_it_was_put() {
        let directory = tempfile::tempdir().unwrap();
        let objects = directory.path().join("objects");
        std::fs::create_dir(&objects).unwrap();
        let blobs = Blobs::local(&objects).unwrap();
        for length in [0, 1, SEND_BYTES, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES + 7] {
            let bytes: Vec<u8> = (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect();
            let digest = Sha256Digest::of(&bytes);
            let file = directory.path().join("received");
            std::fs::write(&file, &bytes).unwrap();
            for _ in 0..2 {
                blobs.put_file(Kind::File, &digest, &file).await.unwrap();
            }
            assert_eq!(read(&blobs, &digest, None).await, bytes);
            if length > 10 {
                let last = length as u64;
                assert_eq!(read(&blobs, &digest, Some(last - 3..last)).await, bytes[length - 3..]);
            }
        }
        let staged: Vec<_> = blobs.list("staging").try_collect().await.unwrap();
        assert_eq!(staged.len(), 0, "{staged:?}");
    }

    #[test]
    fn a_key_is_read_as_it_is_written_and_no_other_is() {
        let digest = Sha256Digest::of(b"x");
        for kind in Kind::ALL {
            assert_eq!(Kind::of_key(&kind.key(&digest)), Some((kind, digest)));
        }
        assert_eq!(Kind::of_key(&Path::from(format!("blobs/{digest}"))), None);
        assert_eq!(Kind::of_key(&Path::from("staging/ab")), None);
    }
}
