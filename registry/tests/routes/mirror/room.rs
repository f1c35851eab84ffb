//! A mirror within a bounded disk.

use std::time::Duration;

use skillpkg_registry::mirror::Settings;
use skillpkg_registry::upkeep;

use super::upstream::FakeUpstream;
use super::{mirror, settings};
use crate::support::{Packed, Skill};

fn path(packed: &Packed) -> String {
    format!("/v1/archives/{}", packed.digests.sha256.address())
}

/// Bytes that no compression shortens, other ones for each seed.
fn noise(seed: u8) -> Vec<u8> {
    let mut state = u64::from(seed) + 1;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_be_bytes()[0]
    })
    .take(100_000)
    .collect()
}

#[tokio::test]
async fn what_was_not_asked_for_the_longest_makes_room_and_what_is_own_never_does() {
    let upstream = FakeUpstream::start().await;
    let shared = noise(99);
    let packed: Vec<Packed> = (0..6)
        .map(|at| {
            let skill = Skill::new(&format!("skill{at}"), "1.0.0");
            let skill =
                skill.with_file("noise.bin", noise(at)).with_file("shared.bin", shared.clone());
            let packed = skill.pack(&upstream.author);
            upstream.publish_packed(&packed);
            packed
        })
        .collect();
    // Each takes some 400 kB: its archive and its files.
    let max_bytes = 1_300_000;
    let mirror = mirror(Settings { max_bytes, ..settings(&upstream.url()) }).await;
    let ana = mirror.author("ana").await;
    mirror.scope("own", &ana, false).await;
    let own = Skill::new("own/plan", "1.0.0").with_file("shared.bin", shared.clone()).pack(&ana);
    assert_eq!(mirror.publish(&ana, &own).await.status(), 201);
    for (at, one) in packed.iter().enumerate() {
        mirror.document(&format!("skill{at}")).await;
        assert_eq!(mirror.get(&path(one), None).await.status(), 200);
        // Times are in whole seconds.
        tokio::time::sleep(Duration::from_millis(1_050)).await;
    }
    mirror.mirror().refresh().await.unwrap();
    upstream.forget_asked();
    assert_eq!(mirror.get(&path(&own), None).await.status(), 200);
    let blob = format!("/v1/blobs/{}", skillpkg_schema::Sha256Digest::of(&shared).address());
    assert_eq!(mirror.get(&blob, None).await.bytes().await.unwrap(), shared);
    assert_eq!(mirror.get(&path(&packed[5]), None).await.status(), 200);
    assert_eq!(upstream.asked(), [] as [String; 0]);
    // The second went, and is fetched again where it is asked for.
    assert_eq!(mirror.get(&path(&packed[1]), None).await.status(), 200);
    let asked = upstream.asked();
    assert_eq!(asked.iter().filter(|asked| asked.starts_with("/v1/archives")).count(), 1);
    // Nothing lies there that no row names, and nothing that a row names is missing.
    mirror.mirror().refresh().await.unwrap();
    let orphans = upkeep::remove_orphans(mirror.data(), Duration::ZERO, true).await.unwrap();
    assert_eq!(orphans.removed, 0);
    let report = upkeep::verify(mirror.data()).await.unwrap();
    assert_eq!(report.problems, []);
}

#[tokio::test]
async fn an_object_that_was_lost_is_fetched_again() {
    let upstream = FakeUpstream::start().await;
    let packed = upstream.publish("waitlist", "1.0.0");
    let mirror = mirror(settings(&upstream.url())).await;
    mirror.document("waitlist").await;
    assert_eq!(mirror.get(&path(&packed), None).await.status(), 200);
    std::fs::remove_dir_all(mirror.objects().join("archives")).unwrap();
    assert_eq!(mirror.get(&path(&packed), None).await.bytes().await.unwrap(), packed.archive);
}
