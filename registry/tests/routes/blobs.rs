//! `GET /v1/blobs/{address}`.

use reqwest::Method;
use skillpkg_schema::Sha256Digest;

use crate::support::{Skill, TestRegistry, problem};

#[tokio::test]
async fn a_file_is_answered_as_bytes_that_no_browser_runs() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let page = "<script>alert(1)</script>";
    let packed = Skill::new("waitlist", "1.0.0").with_file("page.html", page).pack(&ana);
    assert_eq!(registry.publish(&ana, &packed).await.status(), 201);
    let path = format!("/v1/blobs/sha256:{}", Sha256Digest::of(page.as_bytes()));
    let response = registry.get(&path, None).await;
    let headers = response.headers();
    assert_eq!(headers["content-type"], "application/octet-stream");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert!(headers["content-security-policy"].to_str().unwrap().contains("sandbox"));
    assert_eq!(headers["cache-control"], "public, max-age=31536000, immutable");
    assert_eq!(response.text().await.unwrap(), page);
    let asked = registry.request(Method::GET, &path, None).header("range", "bytes=1-6");
    assert_eq!(asked.send().await.unwrap().text().await.unwrap(), "script");
}

#[tokio::test]
async fn an_empty_file_is_content_too() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let packed = Skill::new("waitlist", "1.0.0").with_file("empty", "").pack(&ana);
    assert_eq!(registry.publish(&ana, &packed).await.status(), 201);
    let path = format!("/v1/blobs/sha256:{}", Sha256Digest::of(b""));
    let response = registry.get(&path, None).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["content-length"]),
        (200, &"0".parse().unwrap())
    );
    let asked = registry.request(Method::GET, &path, None).header("range", "bytes=0-");
    problem(asked.send().await.unwrap(), 416, "range_not_satisfiable").await;
}

#[tokio::test]
async fn what_is_no_address_is_refused() {
    let registry = TestRegistry::start().await;
    for wrong in
        ["x", "md5:00", "sha256:", "..%2f..%2fx", "%252e%252e", "..%5cx", "sha256:%E2%80%AE"]
    {
        let response = registry.get(&format!("/v1/blobs/{wrong}"), None).await;
        let problem = problem(response, 400, "invalid_address").await;
        assert!(!problem.detail.contains('\u{202e}'), "{}", problem.detail);
    }
}
