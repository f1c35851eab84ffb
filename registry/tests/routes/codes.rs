//! Every code that is documented is one that some request is answered with.

use std::path::Path;

use reqwest::{Method, StatusCode};
use serde_json::json;
use skillpkg_registry::problem::Code;

use crate::support::{Skill, TestRegistry, problem};

/// The sources of these tests, in one line.
fn sources(directory: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text.push_str(&sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(path).unwrap());
        }
        text.push('\n');
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// That the page and the code have the same codes is held beside them; here that none of them is a
/// promise alone: [`problem`] is asked for each, with its status, of an answer that came over a
/// socket.
#[test]
fn every_code_is_asked_for_by_a_test_that_provokes_it() {
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/routes"));
    for code in Code::ALL {
        let asked = format!(", {}, \"{}\"", code.status().as_u16(), code.text());
        assert!(sources.contains(&asked), "no test gets {asked}");
    }
}

#[tokio::test]
async fn a_method_that_a_path_does_not_take_is_told_with_those_that_it_takes() {
    let registry = TestRegistry::start().await;
    let answer = registry.request(Method::PATCH, "/v1/keys", None).send().await.unwrap();
    assert_eq!(answer.headers()["allow"], "GET, POST");
    problem(answer, 405, "method_not_allowed").await;
}

#[tokio::test]
async fn documents_that_are_too_long_together_are_to_be_asked_for_in_parts() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    for version in 0..20 {
        registry.published(&ana, "w", &format!("1.{version}.0")).await;
    }
    // The same again and again: each time it takes its length of the answer.
    let ask = async |count| {
        let names = json!({"names": vec!["w"; count]});
        registry.send(Method::POST, "/v1/index", None, &names).await
    };
    let refused = problem(ask(1_000).await, 413, "answer_too_large").await;
    assert!(refused.detail.contains("half"), "{}", refused.detail);
    assert_eq!(ask(500).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_fault_of_the_registrys_own_tells_nothing_of_it() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let mut write = registry.data().database.write().await.unwrap();
    sqlx::query("ALTER TABLE owner_invitations RENAME TO elsewhere")
        .execute(&mut *write)
        .await
        .unwrap();
    write.commit().await.unwrap();
    let answer = registry.get("/v1/invitations", Some(&ana.token)).await;
    assert!(answer.headers().contains_key("x-request-id"));
    let told = problem(answer, 500, "internal").await;
    assert!(!told.detail.contains("owner_invitations"), "{}", told.detail);
    // What does not need it goes on.
    let packed = Skill::new("w", "1.0.0").pack(&ana);
    assert_eq!(registry.publish(&ana, &packed).await.status(), StatusCode::CREATED);
}
