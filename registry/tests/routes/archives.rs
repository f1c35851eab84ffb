//! `GET /v1/archives/{digest}`.

use reqwest::Method;

use crate::support::{Skill, TestRegistry, problem};

#[tokio::test]
async fn an_archive_is_answered_whole_in_part_or_not_at_all() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    // Long enough to come from its file, in more than one piece.
    let noise: Vec<u8> = (0..300_000_u32)
        .flat_map(|at| at.wrapping_mul(2_654_435_761).rotate_left(at % 31).to_le_bytes())
        .collect();
    let packed = Skill::new("waitlist", "1.0.0").with_file("noise.bin", noise).pack(&ana);
    assert!(packed.archive.len() > 600_000, "{}", packed.archive.len());
    assert_eq!(registry.publish(&ana, &packed).await.status(), 201);
    let path = format!("/v1/archives/{}", packed.digests.sha256.address());
    for _ in 0..2 {
        let response = registry.get(&path, None).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/vnd.skillpkg.archive+zstd");
        assert_eq!(response.headers()["content-length"], packed.archive.len().to_string());
        assert_eq!(response.bytes().await.unwrap(), packed.archive);
    }
    let head = registry.request(Method::HEAD, &path, None).send().await.unwrap();
    assert_eq!(head.headers()["content-length"], packed.archive.len().to_string());
    let tag = head.headers()["etag"].clone();

    let asked = registry.request(Method::GET, &path, None).header("if-none-match", &tag);
    let response = asked.send().await.unwrap();
    assert_eq!((response.status().as_u16(), &response.headers()["etag"]), (304, &tag));

    let length = packed.archive.len();
    for (range, from, to) in [
        ("bytes=0-0", 0, 1),
        ("bytes=1000-299999", 1_000, 300_000),
        ("bytes=-7", length - 7, length),
        ("bytes=500000-", 500_000, length),
    ] {
        let asked = registry.request(Method::GET, &path, None).header("range", range);
        let response = asked.header("if-range", &tag).send().await.unwrap();
        assert_eq!(response.status(), 206, "{range}");
        let told = format!("bytes {from}-{}/{length}", to - 1);
        assert_eq!(response.headers()["content-range"], told);
        assert_eq!(response.bytes().await.unwrap(), packed.archive[from..to], "{range}");
    }
    let asked = registry.request(Method::GET, &path, None).header("range", "bytes=0-4");
    let other = asked.header("if-range", "\"other\"").send().await.unwrap();
    assert_eq!(other.status(), 200);
    let beyond = registry.request(Method::GET, &path, None).header("range", "bytes=9999999-");
    let beyond = beyond.send().await.unwrap();
    assert_eq!(beyond.headers()["content-range"], format!("bytes */{length}"));
    problem(beyond, 416, "range_not_satisfiable").await;
}

#[tokio::test]
async fn an_archive_is_named_by_its_sha256_alone() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let packed = registry.published(&ana, "waitlist", "1.0.0").await;
    let digits = packed.digests.sha256.to_string();
    for path in [format!("/v1/archives/{digits}"), format!("/v1/archives/sha256:{digits}")] {
        assert_eq!(registry.get(&path, None).await.status(), 200);
    }
    for wrong in [
        format!("blake3:{digits}"),
        digits.to_uppercase(),
        digits[1..].to_owned(),
        "..%2f..%2fregistry.db".to_owned(),
        "%00".to_owned(),
        "a".repeat(5_000),
    ] {
        let response = registry.get(&format!("/v1/archives/{wrong}"), None).await;
        problem(response, 400, "invalid_address").await;
    }
}
