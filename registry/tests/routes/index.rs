//! `POST /v1/index`.

use reqwest::{Method, StatusCode};
use serde_json::json;
use skillpkg_schema::wire::IndexAnswer;

use crate::support::{TestRegistry, json as read, problem};

#[tokio::test]
async fn many_documents_come_in_the_order_asked() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.scope("acme", &ana, false).await;
    for name in ["b", "a", "acme/c"] {
        registry.published(&ana, name, "1.0.0").await;
    }
    let asked = json!({"names": ["acme/c", "nothing", "a", "b", "acme/a"]});
    let answer = registry.send(Method::POST, "/v1/index", None, &asked).await;
    let answer: IndexAnswer = read(answer, StatusCode::OK).await;
    let names: Vec<String> = answer.documents.iter().map(|one| one.name.to_string()).collect();
    assert_eq!(names, ["acme/c", "a", "b"]);
    let missing: Vec<String> = answer.missing.iter().map(ToString::to_string).collect();
    assert_eq!(missing, ["nothing", "acme/a"]);
    let answer = registry.send(Method::POST, "/v1/index", None, &json!({"names": []})).await;
    let answer: IndexAnswer = read(answer, StatusCode::OK).await;
    assert_eq!((answer.documents.len(), answer.missing.len()), (0, 0));
}

#[tokio::test]
async fn an_index_request_is_bounded_and_read_strictly() {
    let registry = TestRegistry::start().await;
    let ask = async |body: String| {
        registry.request(Method::POST, "/v1/index", None).body(body).send().await.unwrap()
    };
    let names: Vec<String> = (0..1_001).map(|at| format!("name-{at}")).collect();
    problem(ask(json!({"names": names}).to_string()).await, 400, "invalid_request").await;
    let most = json!({"names": names[..1_000]}).to_string();
    assert_eq!(ask(most).await.status(), 200);
    for wrong in ["", "{", "[]", "{\"names\":[\"../x\"]}", "{\"names\":[1]}", "\0"] {
        problem(ask(wrong.to_owned()).await, 400, "invalid_request").await;
    }
    problem(ask("[".repeat(10_000)).await, 400, "invalid_request").await;
    problem(ask("x".repeat(600_000)).await, 413, "too_large").await;
}
