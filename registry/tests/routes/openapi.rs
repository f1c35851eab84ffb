//! `GET /openapi.json`.

use crate::support::TestRegistry;

#[tokio::test]
async fn the_document_is_the_one_that_was_reviewed() {
    let registry = TestRegistry::start().await;
    let response = registry.get("/openapi.json", None).await;
    assert_eq!(response.headers()["content-type"], "application/json");
    let served: serde_json::Value =
        serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
    insta::assert_json_snapshot!("openapi", served);
}
