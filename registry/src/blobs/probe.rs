//! Whether a bucket is one that a registry can keep its objects in.

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::path::Path;

use super::error::{BlobsError, BucketTrouble};
use super::{Blobs, Place, STAGING};

impl Blobs {
    /// Lists, writes, reads and deletes in a bucket as the registry will, and makes sure that what is
    /// there is not replaced. Files of the data directory need none of that.
    ///
    /// Cut short, it leaves a few bytes that `gc` removes.
    pub async fn probe(&self) -> Result<(), BlobsError> {
        let Place::Bucket(bucket) = &self.place else { return Ok(()) };
        self.answers().await?;
        self.list(&Path::from(STAGING)).try_next().await?;
        let key = Path::from_iter([STAGING, &crate::random::hex::<16>()?]);
        let written = Bytes::from_static(b"written by a registry that starts");
        self.create(&key, written.clone()).await?;
        let read = self.read_key(&key, 1024).await?;
        let again = self.create(&key, Bytes::from_static(b"written again")).await;
        self.delete(&key).await?;
        if read != Some(written) {
            return Err(bucket.troubled(BucketTrouble::Forgetful));
        }
        if again? {
            return Err(bucket.troubled(BucketTrouble::Unconditional));
        }
        Ok(())
    }
}
