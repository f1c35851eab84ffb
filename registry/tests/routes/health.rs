//! `GET /healthz` and `GET /readyz`.

use crate::support::TestRegistry;

#[tokio::test]
async fn a_registry_that_serves_lives_and_is_ready() {
    let registry = TestRegistry::start().await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(registry.get(path, None).await.status(), 204);
    }
}

#[tokio::test]
async fn a_registry_without_its_database_lives_and_is_not_ready() {
    let registry = TestRegistry::start().await;
    registry.data().database.close().await;
    assert_eq!(registry.get("/healthz", None).await.status(), 204);
    assert!(registry.get("/readyz", None).await.status().is_server_error());
}
