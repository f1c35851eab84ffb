//! An index of a registry of many skills, which its client fetches whole.

use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::Value;
use skillpkg_registry::state::Options;

use crate::support::{TestRegistry, json};

/// The client gives up after ten seconds, of four indexes together.
const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn an_index_of_many_skills_has_a_hundred_says_so_and_comes_in_time() {
    let options = Options { new_names_per_hour: 1_000, ..Options::default() };
    let registry = TestRegistry::start_with(options).await;
    let ana = registry.author("ana").await;
    registry.scope("acme", &ana, false).await;
    registry.scope("beta", &ana, false).await;
    for number in 0..110 {
        registry.published(&ana, &format!("acme/s{number:03}"), "1.0.0").await;
    }
    // One name in two scopes stands in the index of each, and in that of neither together.
    registry.published(&ana, "beta/s000", "1.0.0").await;
    let index = async |at: &str| -> Value {
        let began = Instant::now();
        let path = format!("{at}/.well-known/agent-skills/index.json");
        let index = json(registry.get(&path, None).await, StatusCode::OK).await;
        assert!(began.elapsed() < PATIENCE / 4, "{path}: {:?}", began.elapsed());
        index
    };
    let names = |index: &Value| -> Vec<String> {
        let skills = index["skills"].as_array().unwrap().iter();
        skills.map(|skill| skill["name"].as_str().unwrap().to_owned()).collect()
    };
    let scope = index("/s/acme").await;
    let listed = names(&scope);
    assert_eq!((listed.len(), &scope["more"]), (100, &Value::Bool(true)));
    assert!(listed.is_sorted() && listed[0] == "s000");
    assert_eq!(names(&index("/s/beta").await), ["s000"]);
    let whole = index("").await;
    assert_eq!(whole["more"], true);
    assert!(names(&whole).len() >= 98 && !names(&whole).contains(&"s000".to_owned()));
    // One beyond the hundred is had by its own index.
    assert_eq!(names(&index("/s/acme/s109").await), ["s109"]);
    // What the client asks for besides is not there, and says so at once.
    for path in ["/.well-known/skills/index.json", "/s/acme/.well-known/skills/index.json"] {
        assert_eq!(registry.get(path, None).await.status(), 404);
    }
}
