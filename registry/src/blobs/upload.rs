//! Putting objects into a bucket.

use bytes::Bytes;
use object_store::multipart::MultipartStore as _;
use object_store::path::Path;
use object_store::{ObjectStore as _, ObjectStoreExt as _, PutMode, PutOptions, PutPayload};
use serde::{Deserialize, Serialize};
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;
use tokio::sync::SemaphorePermit;

use super::bucket::Bucket;
use super::error::{BlobsError, BucketTrouble};
use super::{Blobs, Kind, Place, STAGING};

/// Content up to this many bytes is put by one request; more in parts of this size, the least that
/// services take.
const PIECE_BYTES: usize = 5 * 1024 * 1024;
/// Of content longer than this it is asked first whether it is there.
const ASKED_BYTES: u64 = 256 * 1024;
/// How often a put is made that meets another one of the same key.
const MEETINGS: u32 = 3;
/// The longest note of an upload.
const MAX_NOTE_BYTES: u64 = 4 * 1024;

/// A note, under a key of its own, of an upload that is under way: whoever finds an old one ends it.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// The key that it is an upload of.
    key: String,
    /// What the service calls it.
    upload: String,
}

impl Bucket {
    /// Puts `bytes` where nothing is there; whether that was so.
    pub(super) async fn create(&self, key: &Path, bytes: Bytes) -> Result<bool, BlobsError> {
        let full = self.full(key);
        if !self.address.conditional_put {
            if self.is_there(&full).await? {
                return Ok(false);
            }
            let put = self.store.put(&full, PutPayload::from_bytes(bytes)).await;
            return put.map(|_| true).map_err(|error| self.failed(&error));
        }
        for _ in 0..MEETINGS {
            let options = PutOptions::from(PutMode::Create);
            match self.store.put_opts(&full, PutPayload::from_bytes(bytes.clone()), options).await {
                Ok(_) => return Ok(true),
                // Also the answer to whoever meets another put, which may yet come to nothing.
                Err(object_store::Error::AlreadyExists { .. }) => {
                    if self.is_there(&full).await? {
                        return Ok(false);
                    }
                }
                Err(error) => match self.failed(&error) {
                    // Who is refused while the bytes are on their way may not hear of it.
                    BlobsError::Bucket { trouble: BucketTrouble::Unreachable(_), .. }
                        if self.is_there(&full).await? =>
                    {
                        return Ok(false);
                    }
                    failed => return Err(failed),
                },
            }
        }
        Err(self.troubled(BucketTrouble::Failing("ConditionalRequestConflict".to_owned())))
    }

    async fn is_there(&self, full: &Path) -> Result<bool, BlobsError> {
        match self.store.head(full).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Room in memory for one piece.
    async fn room(&self) -> Result<SemaphorePermit<'_>, BlobsError> {
        match tokio::time::timeout(self.address.patience, self.pieces.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(self.troubled(BucketTrouble::Crowded)),
        }
    }

    /// Ends an upload; one that has come to its end, or was ended before, is no error.
    async fn end(&self, key: &Path, upload: &str) -> Result<(), BlobsError> {
        match self.store.abort_multipart(&self.full(key), &upload.to_owned()).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed(&error)),
        }
    }
}

impl Blobs {
    /// Puts a file of `length` bytes into the bucket, in parts where it is large.
    ///
    /// The service shows an object once its last part is there: cut short, it is absent, and the
    /// parts are removed, at once or by [`Blobs::abandon`].
    pub(super) async fn upload(
        &self,
        key: &Path,
        mut file: File,
        length: u64,
    ) -> Result<(), BlobsError> {
        let Place::Bucket(bucket) = &self.place else { return Ok(()) };
        // What is there is not sent again; for what is small, asking takes as long as sending.
        if length > ASKED_BYTES && self.meta(key).await?.is_some() {
            return Ok(());
        }
        if length <= PIECE_BYTES as u64 {
            let _room = bucket.room().await?;
            let bytes = piece_of(&mut file).await?;
            return bucket.create(key, bytes).await.map(|_| ());
        }
        let full = bucket.full(key);
        let failed = |error| bucket.failed(&error);
        let upload = bucket.store.create_multipart(&full).await.map_err(failed)?;
        let mut unfinished = Unfinished {
            blobs: self.clone(),
            note: Path::from_iter([STAGING, &crate::random::hex::<16>()?]),
            key: key.clone(),
            upload: Some(upload.clone()),
        };
        unfinished.write_note().await?;
        let mut parts = Vec::new();
        loop {
            let _room = bucket.room().await?;
            let bytes = piece_of(&mut file).await?;
            if bytes.is_empty() {
                break;
            }
            let payload = PutPayload::from_bytes(bytes);
            let put = bucket.store.put_part(&full, &upload, parts.len(), payload).await;
            parts.push(put.map_err(failed)?);
        }
        bucket.store.complete_multipart(&full, &upload, parts).await.map_err(failed)?;
        unfinished.upload = None;
        self.delete(&unfinished.note).await
    }

    /// Removes what is under a key of [`STAGING`], and in a bucket the parts of the upload that it
    /// is a note of.
    pub async fn abandon(&self, key: &Path) -> Result<(), BlobsError> {
        if let Place::Bucket(bucket) = &self.place {
            let bytes = self.read_key(key, MAX_NOTE_BYTES).await?;
            let note = bytes.and_then(|bytes| serde_json::from_slice::<Note>(&bytes).ok());
            if let Some(note) = note {
                let key = Path::from(note.key);
                if Kind::of_key(&key).is_some()
                    && let Err(error) = bucket.end(&key, &note.upload).await
                {
                    // Some services say of an upload that has ended that it may not be ended.
                    if self.meta(&key).await?.is_none() {
                        return Err(error);
                    }
                    tracing::warn!(%error, %key, "whether parts of an upload are left is not known");
                }
            }
        }
        self.delete(key).await
    }
}

/// An upload that ends with this, unless it has come to its end.
struct Unfinished {
    blobs: Blobs,
    note: Path,
    key: Path,
    upload: Option<String>,
}

impl Unfinished {
    async fn write_note(&self) -> Result<(), BlobsError> {
        let Some(upload) = self.upload.clone() else { return Ok(()) };
        let note = Note { key: self.key.to_string(), upload };
        let bytes =
            serde_json::to_vec(&note).map_err(|error| BlobsError::Client(error.to_string()))?;
        self.blobs.create(&self.note, bytes.into()).await.map(|_| ())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let Some(upload) = self.upload.take() else { return };
        let (blobs, note, key) = (self.blobs.clone(), self.note.clone(), self.key.clone());
        // Without a runtime the program ends, and leaves the note for the next `gc`.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            let Place::Bucket(bucket) = &blobs.place else { return };
            let ended = async {
                bucket.end(&key, &upload).await?;
                blobs.delete(&note).await
            };
            if let Err(error) = ended.await {
                tracing::warn!(%error, "the parts of an upload stay until `gc` removes them");
            }
        });
    }
}

/// The next piece of a file; empty at its end.
async fn piece_of(file: &mut File) -> Result<Bytes, BlobsError> {
    let mut bytes = Vec::new();
    let read = file.take(PIECE_BYTES as u64).read_to_end(&mut bytes).await;
    read.map_err(BlobsError::Received)?;
    Ok(bytes.into())
}
