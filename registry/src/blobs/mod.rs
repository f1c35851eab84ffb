//! Archives, manifests and files by their digests, in an object store.
//!
//! An object's key names its content, so an object is written once and never changed: whoever
//! writes it again would write the same bytes.

mod address;
mod bucket;
mod content;
mod error;
mod kind;
mod probe;
mod upload;

use std::io;
use std::path::Path as FilePath;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    GetOptions, GetRange, GetResult, GetResultPayload, ObjectMeta, ObjectStore,
    ObjectStoreExt as _, PutMode, PutOptions, PutPayload, WriteMultipart,
};
use skillpkg_schema::Sha256Digest;
use tokio::io::AsyncReadExt as _;
use url::Url;

pub use address::{BucketAddress, BucketAddressError};
use bucket::Bucket;
pub use content::Content;
use content::SEND_BYTES;
pub use error::{BlobsError, BucketTrouble};
pub use kind::Kind;

/// Content up to this many bytes is put in one piece into a file; more is put in parts of this size.
const PART_BYTES: usize = 1024 * 1024;
/// What the keys start with of what is no object yet.
pub const STAGING: &str = "staging";

/// The registry's object store.
#[derive(Debug, Clone)]
pub struct Blobs {
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    Files(Arc<LocalFileSystem>),
    Bucket(Bucket),
}

impl Blobs {
    /// Objects as files beneath `directory`; a put that returns has survived a crash.
    pub fn local(directory: &FilePath) -> Result<Self, BlobsError> {
        let store = LocalFileSystem::new_with_prefix(directory)?.with_fsync(true);
        Ok(Self { place: Place::Files(Arc::new(store)) })
    }

    /// How a bucket is told and noted: what it is called, and of which service where that is said.
    pub fn told(
        url: &Url,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<String, BlobsError> {
        let address = BucketAddress::read(url, variable)?;
        let at = address.endpoint.as_ref().map(|endpoint| endpoint.origin().ascii_serialization());
        Ok(match at {
            Some(at) => format!("`{address}` at `{at}`"),
            None => format!("`{address}`"),
        })
    }

    /// Objects in a bucket, such as `s3://BUCKET/PREFIX`; a put that returns is as safe as the
    /// service makes it. Asks nothing of the service: [`Blobs::probe`] does.
    ///
    /// `variable` answers with what the environment says of the service and its credentials.
    pub fn bucket(
        url: &Url,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, BlobsError> {
        let address = BucketAddress::read(url, &variable)?;
        Ok(Self { place: Place::Bucket(Bucket::open(address, variable)?) })
    }

    /// Whether the objects are files of the data directory.
    pub fn are_files(&self) -> bool {
        matches!(self.place, Place::Files(_))
    }

    fn store(&self) -> &dyn ObjectStore {
        match &self.place {
            Place::Files(store) => store,
            Place::Bucket(bucket) => &bucket.store,
        }
    }

    /// The key as the store has it.
    fn full(&self, key: &Path) -> Path {
        match &self.place {
            Place::Files(_) => key.clone(),
            Place::Bucket(bucket) => bucket.full(key),
        }
    }

    fn failed(&self, error: object_store::Error) -> BlobsError {
        match &self.place {
            Place::Files(_) => error.into(),
            Place::Bucket(bucket) => bucket.failed(&error),
        }
    }

    /// What was asked for, or [`None`] where it is not there; a bucket that is not there is an error.
    fn found<T>(&self, result: object_store::Result<T>) -> Result<Option<T>, BlobsError> {
        match result {
            Ok(found) => Ok(Some(found)),
            Err(error @ object_store::Error::NotFound { .. }) => match self.failed(error) {
                failed @ BlobsError::Bucket { trouble: BucketTrouble::NoBucket, .. } => Err(failed),
                _ => Ok(None),
            },
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Whether the object is there.
    pub async fn holds(&self, kind: Kind, digest: &Sha256Digest) -> Result<bool, BlobsError> {
        self.meta(&kind.key(digest)).await.map(|meta| meta.is_some())
    }

    /// What is known of the object under `key`.
    pub async fn meta(&self, key: &Path) -> Result<Option<ObjectMeta>, BlobsError> {
        let meta = self.found(self.store().head(&self.full(key)).await)?;
        Ok(meta.map(|meta| ObjectMeta { location: key.clone(), ..meta }))
    }

    /// Whether the store answers: it is asked for what cannot be there.
    pub async fn answers(&self) -> Result<(), BlobsError> {
        self.read_key(&Path::from("readyz"), 0).await.map(|_| ())
    }

    /// Puts the content of `file`, whose digest the caller has made; create-only.
    ///
    /// Returned, the object survives a crash; cut short, it is absent.
    pub async fn put_file(
        &self,
        kind: Kind,
        digest: &Sha256Digest,
        file: &FilePath,
    ) -> Result<(), BlobsError> {
        let mut file = tokio::fs::File::open(file).await.map_err(BlobsError::Received)?;
        let length = file.metadata().await.map_err(BlobsError::Received)?.len();
        let store = match &self.place {
            Place::Files(store) => store,
            Place::Bucket(_) => return self.upload(&kind.key(digest), file, length).await,
        };
        if length <= PART_BYTES as u64 {
            let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(PART_BYTES));
            let read = file.take(PART_BYTES as u64).read_to_end(&mut bytes).await;
            read.map_err(BlobsError::Received)?;
            return self.put(kind, digest, bytes.into()).await;
        }
        if self.holds(kind, digest).await? {
            return Ok(());
        }
        // Parts are gathered under a key of their own, since only a whole object can be put
        // create-only; a crash leaves them there, where they are no object of any digest.
        let staging = Path::from_iter([STAGING, &crate::random::hex::<16>()?]);
        let upload = store.put_multipart(&staging).await?;
        let mut upload = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
        let mut piece = vec![0; SEND_BYTES];
        loop {
            let read = match file.read(&mut piece).await {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) => {
                    upload.abort().await?;
                    return Err(BlobsError::Received(error));
                }
            };
            upload.wait_for_capacity(1).await?;
            upload.write(piece.get(..read).unwrap_or_default());
        }
        upload.finish().await?;
        match store.rename_if_not_exists(&staging, &kind.key(digest)).await {
            Err(object_store::Error::AlreadyExists { .. }) => Ok(store.delete(&staging).await?),
            other => Ok(other?),
        }
    }

    /// Puts `bytes`, whose digest the caller has made; create-only.
    pub async fn put(
        &self,
        kind: Kind,
        digest: &Sha256Digest,
        bytes: Bytes,
    ) -> Result<(), BlobsError> {
        self.create(&kind.key(digest), bytes).await.map(|_| ())
    }

    /// Puts `bytes` under a key where nothing is there; whether that was so. What returns has
    /// survived a crash.
    pub async fn create(&self, key: &Path, bytes: Bytes) -> Result<bool, BlobsError> {
        match &self.place {
            Place::Files(store) => {
                let options = PutOptions::from(PutMode::Create);
                match store.put_opts(key, PutPayload::from_bytes(bytes), options).await {
                    Ok(_) => Ok(true),
                    Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
                    Err(error) => Err(error.into()),
                }
            }
            Place::Bucket(bucket) => bucket.create(key, bytes).await,
        }
    }

    /// Reads the object, or `range` of it, whose end is not included; [`None`] where it is absent.
    ///
    /// What comes over a network is held against its length, and where it is whole against its
    /// digest: the last piece of other bytes is never given.
    pub async fn read(
        &self,
        kind: Kind,
        digest: &Sha256Digest,
        range: Option<std::ops::Range<u64>>,
    ) -> Result<Option<Content>, BlobsError> {
        let named = range.is_none().then_some(*digest);
        self.open(&kind.key(digest), range, named).await
    }

    /// Reads the object whole, as [`Blobs::read`], whatever its bytes are: for who looks for damage.
    pub async fn read_unjudged(
        &self,
        kind: Kind,
        digest: &Sha256Digest,
    ) -> Result<Option<Content>, BlobsError> {
        self.open(&kind.key(digest), None, None).await
    }

    async fn open(
        &self,
        key: &Path,
        range: Option<std::ops::Range<u64>>,
        digest: Option<Sha256Digest>,
    ) -> Result<Option<Content>, BlobsError> {
        let options = GetOptions { range: range.map(GetRange::Bounded), ..GetOptions::default() };
        let got = self.store().get_opts(&self.full(key), options).await;
        let Some(result) = self.found(got)? else { return Ok(None) };
        Ok(Some(self.content(result, digest)))
    }

    fn content(&self, result: GetResult, digest: Option<Sha256Digest>) -> Content {
        let range = result.range.clone();
        match result.payload {
            GetResultPayload::File(file, _) => content::of_file(file, range),
            GetResultPayload::Stream(stream) => {
                let blobs = self.clone();
                let pieces = stream.map_err(move |error| io::Error::other(blobs.failed(error)));
                content::checked(pieces.boxed(), range.end - range.start, digest)
            }
        }
    }

    /// Reads an object of at most `limit` bytes whole; [`None`] where it is absent or longer. Its
    /// bytes are those that its digest names.
    pub async fn read_whole(
        &self,
        kind: Kind,
        digest: &Sha256Digest,
        limit: u64,
    ) -> Result<Option<Bytes>, BlobsError> {
        let key = kind.key(digest);
        let bytes = self.read_key(&key, limit).await?;
        if bytes.as_ref().is_some_and(|bytes| Sha256Digest::of(bytes) != *digest) {
            let what = "is there with other bytes than its digest names";
            return Err(BlobsError::Damaged { key: key.to_string(), what });
        }
        Ok(bytes)
    }

    /// Reads what is under a key, as [`Blobs::read_whole`], whatever its bytes are.
    pub async fn read_key(&self, key: &Path, limit: u64) -> Result<Option<Bytes>, BlobsError> {
        let got = self.store().get(&self.full(key)).await;
        let Some(result) = self.found(got)?.filter(|result| result.meta.size <= limit) else {
            return Ok(None);
        };
        let mut content = self.content(result, None);
        let mut bytes = BytesMut::new();
        while let Some(piece) = content.try_next().await.map_err(|error| self.unread(key, error))? {
            bytes.extend_from_slice(&piece);
        }
        Ok(Some(bytes.freeze()))
    }

    /// Why content could not be read to its end.
    fn unread(&self, key: &Path, error: io::Error) -> BlobsError {
        match (&self.place, error.downcast::<BlobsError>()) {
            (_, Ok(inner)) => inner,
            (Place::Bucket(bucket), Err(_)) => bucket.troubled(BucketTrouble::CutShort),
            (Place::Files(_), Err(_)) => {
                BlobsError::Damaged { key: key.to_string(), what: "is not read to its end" }
            }
        }
    }

    /// Every object whose key starts with the parts of `prefix`.
    pub fn list(&self, prefix: &Path) -> BoxStream<'static, Result<ObjectMeta, BlobsError>> {
        let listed = self.store().list(Some(&self.full(prefix)));
        let blobs = self.clone();
        let within = self.full(&Path::default());
        Box::pin(listed.map(move |object| match object {
            Ok(object) => {
                let location = object.location.prefix_match(&within).map(Path::from_iter);
                Ok(ObjectMeta { location: location.unwrap_or_default(), ..object })
            }
            Err(error) => Err(blobs.failed(error)),
        }))
    }

    /// Deletes one object; one that is absent counts as deleted.
    pub async fn delete(&self, key: &Path) -> Result<(), BlobsError> {
        self.found(self.store().delete(&self.full(key)).await).map(|_| ())
    }
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
        let staged: Vec<_> = blobs.list(&Path::from(STAGING)).try_collect().await.unwrap();
        assert_eq!(staged.len(), 0, "{staged:?}");
    }
}
