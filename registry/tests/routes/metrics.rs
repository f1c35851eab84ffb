//! `GET /metrics`.

use skillpkg_registry::{routes, server};

use crate::support::{TestRegistry, problem};

/// The value of a line that starts so.
fn value(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

#[tokio::test]
async fn what_is_asked_answered_and_published_is_counted() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let packed = registry.published(&ana, "waitlist", "1.0.0").await;
    for _ in 0..3 {
        registry.get("/v1/skills/_/waitlist", None).await;
    }
    registry.get("/v1/skills/_/nothing", None).await;
    registry.get("/no/such/path", None).await;
    let archive = format!("/v1/archives/{}", packed.digests.sha256);
    let length = registry.get(&archive, None).await.bytes().await.unwrap().len() as u64;

    let answer = registry.get("/metrics", Some(&ana.token)).await;
    let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(kind.starts_with("text/plain; version=0.0.4"), "{kind}");
    let text = answer.text().await.unwrap();
    let document = "{method=\"GET\",route=\"/v1/skills/{scope}/{name}\",status=";
    for (name, expected) in [
        (format!("skillpkg_requests_total{document}\"200\"}}"), 3),
        (format!("skillpkg_requests_total{document}\"404\"}}"), 1),
        ("skillpkg_requests_total{method=\"\",route=\"\",status=\"404\"}".to_owned(), 1),
        ("skillpkg_published_versions_total".to_owned(), 1),
        ("skillpkg_cache_hits_total{cache=\"documents\"}".to_owned(), 3),
        // A document is ready once it is published; only the other name was asked of the database.
        ("skillpkg_cache_misses_total{cache=\"documents\"}".to_owned(), 1),
    ] {
        assert_eq!(value(&text, &name), Some(expected), "{name}: {text}");
    }
    assert!(value(&text, "skillpkg_sent_bytes_total").unwrap() > length);
    assert!(value(&text, "skillpkg_open_connections").unwrap() >= 1);
    // Every line is a comment or a sample, and each metric says what it is before its samples.
    let mut described = "";
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("# TYPE ") {
            described = name.split(' ').next().unwrap();
        } else if !line.starts_with('#') {
            let (name, number) = line.rsplit_once(' ').unwrap();
            assert_eq!(name.split('{').next().unwrap(), described, "{line}");
            assert!(number.parse::<f64>().is_ok(), "{line}");
        }
    }
    assert!(!text.contains("waitlist") && !text.contains("ana\""), "{text}");
}

#[tokio::test]
async fn who_may_not_see_the_counts_does_not() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    problem(registry.get("/metrics", None).await, 401, "unauthorized").await;
    let read = registry.token(&ana, &["read"]).await;
    problem(registry.get("/metrics", Some(&read)).await, 403, "token_lacks_grant").await;
}

#[tokio::test]
async fn an_address_of_its_own_has_the_counts_and_nothing_else() {
    let registry = TestRegistry::start().await;
    let listener = server::listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = routes::metrics(&registry.registry);
    let limits = server::Limits::default();
    let serving = tokio::spawn(server::serve(listener, router, std::future::pending(), limits));
    let ask = async |path: &str| registry.client.get(format!("{url}{path}")).send().await.unwrap();
    assert!(ask("/metrics").await.text().await.unwrap().contains("skillpkg_build_info"));
    for path in ["/", "/v1/search?q=", "/healthz"] {
        problem(ask(path).await, 404, "not_found").await;
    }
    serving.abort();
}
