//! What a long log costs, and how fast it grows: measured where that is asked for, with
//! `CARGO_PROFILE_DEV_OPT_LEVEL=2`, since the bounds are those of optimised code.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use skillpkg_registry::data::Data;
use skillpkg_registry::log::{Leaf, append};
use skillpkg_registry::state::{Options, Registry};
use skillpkg_schema::log::{Bucket, Hash, Subject, bucket_of};

use crate::commands::Serving;
use crate::support::{Packed, Skill, TestRegistry, published};

/// A log of so many leaves, and a heads tree with something in every bucket, made by the log's own
/// code but for the rows of the heads.
async fn large(data: &Data, leaves: u64) {
    let mut write = data.database.write().await.unwrap();
    for index in 0..leaves {
        let name = format!("skill-{}", index / 2).parse().unwrap();
        let subject = Subject::OwnerAdded { name, account: format!("account-{index}"), by: None };
        append(&mut write, Leaf::now(subject)).await.unwrap();
    }
    let mut hashes: Vec<u8> = Vec::new();
    for number in 0..=u16::MAX {
        let mut key = [0; 32];
        key[..2].copy_from_slice(&number.to_be_bytes());
        let key = Hash::from_bytes(key);
        let mut bucket = Bucket::default();
        bucket.set(key, Some(key));
        sqlx::query("INSERT INTO log_heads (bucket, key, digest) VALUES ($1, $2, $2)")
            .bind(i64::from(bucket_of(&key)))
            .bind(key.as_bytes().as_slice())
            .execute(&mut *write)
            .await
            .unwrap();
        hashes.extend_from_slice(bucket.leaf_hash().as_bytes());
        if number % 256 == 255 {
            sqlx::query("INSERT INTO log_buckets (block, hashes) VALUES ($1, $2)")
                .bind(i64::from(number / 256))
                .bind(std::mem::take(&mut hashes))
                .execute(&mut *write)
                .await
                .unwrap();
        }
    }
    write.commit().await.unwrap();
}

fn resident_mebibytes(process: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1_024
}

/// `SKILLPKG_TEST_LEAVES` leaves, a million where it is not set.
#[cfg(target_os = "linux")]
#[tokio::test]
#[ignore = "makes a log of a million leaves, which takes minutes"]
async fn a_start_does_not_grow_with_the_log() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let leaves = std::env::var("SKILLPKG_TEST_LEAVES").ok().and_then(|text| text.parse().ok());
    let leaves = leaves.unwrap_or(1_000_000);
    let data = Data::open_or_create(crate::bucket::places(directory.path())).await.unwrap();
    let start = Instant::now();
    large(&data, leaves).await;
    eprintln!("appended in {:?}", start.elapsed());
    let start = Instant::now();
    let registry = Registry::open(data, Options::default()).await.unwrap();
    eprintln!("sealed, put and signed in {:?}", start.elapsed());
    assert!(registry.log.moment().await.size() > leaves);
    registry.close().await;
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        let serving = Serving::start(directory.path());
        let took = start.elapsed();
        let process = serving.process.id();
        let (now, peak) =
            (resident_mebibytes(process, "VmRSS"), resident_mebibytes(process, "VmHWM"));
        eprintln!("listening after {took:?}, {now} MiB resident, {peak} MiB at most");
        assert!(peak < 96, "{peak} MiB");
        fastest = fastest.min(took);
        serving.kill();
    }
    assert!(fastest < Duration::from_millis(300), "{fastest:?}");
}

/// How many versions a second are durable and proven.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "measures the disk"]
async fn durable_publishes_with_proof() {
    const CLIENTS: usize = 48;
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let options =
        Options { uploads_per_account: CLIENTS, new_names_per_hour: 100_000, ..Options::default() };
    let registry = Arc::new(TestRegistry::start_in(directory.path(), options).await);
    let ana = Arc::new(registry.author("ana").await);
    registry.published(&ana, "first", "1.0.0").await;
    let before = registry.registry.log.moment().await.size();
    let prepared: Vec<Vec<Packed>> = (0..CLIENTS)
        .map(|client| {
            let pack =
                |patch| Skill::new(&format!("skill-{client}"), &format!("1.0.{patch}")).pack(&ana);
            (0..24).map(pack).collect()
        })
        .collect();
    let count = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    let clients: Vec<_> = prepared
        .into_iter()
        .map(|prepared| {
            let (registry, ana, count) =
                (Arc::clone(&registry), Arc::clone(&ana), Arc::clone(&count));
            tokio::spawn(async move {
                for packed in prepared {
                    let answer = registry.publish(&ana, &packed).await;
                    assert!(published(answer, StatusCode::CREATED).await.log_proof.is_some());
                    count.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    let (elapsed, count) = (start.elapsed(), count.load(Ordering::Relaxed));
    let leaves = registry.registry.log.moment().await.size() - before;
    let checkpoints = leaves - count - CLIENTS as u64;
    let rate = u128::from(count) * 1_000 / elapsed.as_millis().max(1);
    eprintln!("{count} versions in {elapsed:?}: {rate} a second, {checkpoints} checkpoints");
}
