//! Objects in a bucket, without a registry around them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use skillpkg_registry::blobs::{Blobs, BlobsError, BucketTrouble, Kind, STAGING};
use skillpkg_schema::Sha256Digest;

use super::faults::{Fault, Relay};
use super::{KEY, S3Server, SECRET};

const MIB: usize = 1024 * 1024;

fn at(address: &str, bucket: &str, parameters: &str) -> Blobs {
    let url = format!("s3://{bucket}/team/a?endpoint=http://{address}{parameters}");
    let variable = |name: &str| match name {
        "AWS_ACCESS_KEY_ID" => Some(KEY.to_owned()),
        "AWS_SECRET_ACCESS_KEY" => Some(SECRET.to_owned()),
        _ => None,
    };
    Blobs::bucket(&url.parse().unwrap(), variable).unwrap()
}

fn some_bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect()
}

/// A file of bytes that are some, and their digest.
fn received(directory: &Path, length: usize) -> (PathBuf, Vec<u8>, Sha256Digest) {
    let (bytes, file) = (some_bytes(length), directory.join(format!("of-{length}")));
    std::fs::write(&file, &bytes).unwrap();
    let digest = Sha256Digest::of(&bytes);
    (file, bytes, digest)
}

/// Parts of uploads that the server keeps.
fn parts(server: &S3Server) -> usize {
    let entries = std::fs::read_dir(server.directory.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".upload")).count()
}

async fn notes(blobs: &Blobs) -> Vec<object_store::path::Path> {
    let listed = blobs.list(&STAGING.into()).map_ok(|object| object.location);
    listed.try_collect().await.unwrap()
}

async fn eventually(mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !holds().await {
        assert!(Instant::now() < deadline, "it never came to hold");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn content_of_any_length_is_read_as_it_was_put_whole_and_in_part() {
    let Some(server) = S3Server::start("content_of_any_length") else { return };
    let bucket = server.bucket("skills");
    let directory = tempfile::tempdir().unwrap();
    let blobs = at(&server.address, "skills", "");
    blobs.probe().await.unwrap();
    for length in [0, 1, 5 * MIB, 5 * MIB + 1, 12 * MIB] {
        let (file, bytes, digest) = received(directory.path(), length);
        for _ in 0..2 {
            blobs.put_file(Kind::File, &digest, &file).await.unwrap();
        }
        assert!(blobs.holds(Kind::File, &digest).await.unwrap());
        let read = async |range| {
            let content = blobs.read(Kind::File, &digest, range).await.unwrap().unwrap();
            content.try_collect::<Vec<Bytes>>().await.unwrap().concat()
        };
        assert!(read(None).await == bytes, "{length}");
        if length > 3 {
            let last = length as u64;
            assert_eq!(read(Some(last - 3..last)).await, bytes[length - 3..]);
            assert_eq!(read(Some(1..3)).await, bytes[1..3]);
        }
        // Beneath the prefix, and nothing else is left there or elsewhere.
        assert!(bucket.join("team/a").join(Kind::File.key(&digest).as_ref()).is_file());
    }
    assert_eq!((notes(&blobs).await.len(), parts(&server)), (0, 0));
    let listed: Vec<_> = blobs.list(&"blobs".into()).try_collect().await.unwrap();
    assert_eq!(listed.len(), 5);
    assert!(listed.iter().all(|object| Kind::of_key(&object.location).is_some()));
    for object in &listed {
        blobs.delete(&object.location).await.unwrap();
        blobs.delete(&object.location).await.unwrap();
    }
    let left: Vec<_> = blobs.list(&"blobs".into()).try_collect().await.unwrap();
    assert_eq!(left, []);
}

#[tokio::test]
async fn what_is_there_is_not_replaced_by_whoever_comes_second() {
    let Some(server) = S3Server::start("what_is_there_is_not_replaced") else { return };
    server.bucket("skills");
    for parameters in ["", "&conditional-put=off"] {
        let blobs = at(&server.address, "skills", parameters);
        let key = format!("log/tile/{}", parameters.len()).into();
        assert!(blobs.create(&key, Bytes::from_static(b"first")).await.unwrap());
        assert!(!blobs.create(&key, Bytes::from_static(b"second")).await.unwrap());
        assert_eq!(blobs.read_key(&key, 100).await.unwrap().unwrap(), "first");
    }
    let directory = tempfile::tempdir().unwrap();
    let (file, bytes, digest) = received(directory.path(), 6 * MIB);
    let blobs = at(&server.address, "skills", "");
    let putting = (0..4).map(|_| blobs.put_file(Kind::Archive, &digest, &file));
    futures_util::future::try_join_all(putting).await.unwrap();
    let read = blobs.read_whole(Kind::Archive, &digest, 10 * MIB as u64).await.unwrap();
    assert!(read.unwrap() == bytes);
    assert_eq!((notes(&blobs).await.len(), parts(&server)), (0, 0));
}

#[tokio::test]
async fn a_service_that_replaces_what_is_there_is_found_out_at_the_start() {
    let Some(server) = S3Server::start("a_service_that_replaces") else { return };
    server.bucket("skills");
    let relay = Relay::to(&server.address);
    relay.set(Fault::Unconditional);
    let error = at(&relay.address, "skills", "").probe().await.unwrap_err();
    assert!(error.to_string().contains("`conditional-put=off`"), "{error}");
    at(&relay.address, "skills", "&conditional-put=off").probe().await.unwrap();
    let changed = Relay::to(&server.address);
    changed.set(Fault::Changed);
    let error = at(&changed.address, "skills", "").probe().await.unwrap_err();
    assert!(error.to_string().contains("does not come back"), "{error}");
    let blobs = at(&server.address, "skills", "");
    assert_eq!(notes(&blobs).await, []);
}

#[tokio::test]
async fn an_upload_that_is_cut_short_is_absent_and_leaves_nothing() {
    let Some(server) = S3Server::start("an_upload_that_is_cut_short") else { return };
    server.bucket("skills");
    let relay = Relay::to(&server.address);
    let (through, beside) =
        (at(&relay.address, "skills", "&timeout=1"), at(&server.address, "skills", ""));
    let directory = tempfile::tempdir().unwrap();
    let (file, _, digest) = received(directory.path(), 11 * MIB);
    let putting = {
        let (through, file) = (through.clone(), file.clone());
        tokio::spawn(async move { through.put_file(Kind::Archive, &digest, &file).await })
    };
    // The question whether it is there, the upload, its note, its first part.
    eventually(async || relay.asked() >= 4).await;
    relay.set(Fault::Stalled);
    let error = putting.await.unwrap().unwrap_err();
    let BlobsError::Bucket { trouble: BucketTrouble::Slow, .. } = error else {
        panic!("{error}");
    };
    assert!(!beside.holds(Kind::Archive, &digest).await.unwrap());
    relay.set(Fault::None);
    // What could not be ended while nothing was answered waits for `gc`.
    eventually(async || {
        for note in notes(&beside).await {
            beside.abandon(&note).await.unwrap();
        }
        parts(&server) == 0
    })
    .await;
    // Whoever asked goes away: it ends by itself.
    let asked = relay.asked();
    let putting = {
        let (through, file) = (through.clone(), file.clone());
        tokio::spawn(async move { through.put_file(Kind::Archive, &digest, &file).await })
    };
    eventually(async || relay.asked() >= asked + 4).await;
    relay.set(Fault::Stalled);
    eventually(async || relay.asked() >= asked + 5).await;
    putting.abort();
    let _ = putting.await;
    relay.set(Fault::None);
    eventually(async || parts(&server) == 0 && notes(&beside).await.is_empty()).await;
    through.put_file(Kind::Archive, &digest, &file).await.unwrap();
    assert!(beside.holds(Kind::Archive, &digest).await.unwrap());
}

#[tokio::test]
async fn an_answer_that_is_cut_short_or_changed_is_never_taken_for_the_content() {
    let Some(server) = S3Server::start("an_answer_that_is_cut_short") else { return };
    server.bucket("skills");
    let relay = Relay::to(&server.address);
    let blobs = at(&relay.address, "skills", "&timeout=2");
    let bytes = Bytes::from(some_bytes(MIB));
    let digest = Sha256Digest::of(&bytes);
    blobs.put(Kind::File, &digest, bytes.clone()).await.unwrap();
    for fault in [Fault::Truncated, Fault::Changed] {
        relay.set(fault);
        let whole = blobs.read_whole(Kind::File, &digest, 2 * MIB as u64).await;
        assert!(whole.is_err(), "{fault:?}");
        if let Some(content) = blobs.read(Kind::File, &digest, None).await.unwrap() {
            let mut given = 0;
            let read = content.try_for_each(|piece| {
                given += piece.len();
                futures_util::future::ready(Ok(()))
            });
            assert!(read.await.is_err(), "{fault:?}");
            assert!(given < bytes.len(), "{fault:?}");
        }
    }
    relay.set(Fault::Truncated);
    let part = blobs.read(Kind::File, &digest, Some(10..500_000)).await.unwrap().unwrap();
    assert!(part.try_collect::<Vec<_>>().await.is_err());
    relay.set(Fault::None);
    let whole = blobs.read_whole(Kind::File, &digest, 2 * MIB as u64).await.unwrap();
    assert!(whole.unwrap() == bytes);
}
