//! `GET /openapi.json`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::TestRegistry;

const PAGE: &str = include_str!("../../../docs/wire/api.md");

async fn served() -> Value {
    let registry = TestRegistry::start().await;
    let response = registry.get("/openapi.json", None).await;
    assert_eq!(response.headers()["content-type"], "application/json");
    serde_json::from_slice(&response.bytes().await.unwrap()).unwrap()
}

/// The cells of each row of a table of the page, by its head.
fn rows(head: &str) -> Vec<Vec<&'static str>> {
    let (_, table) = PAGE.split_once(head).unwrap_or_else(|| panic!("no table `{head}`"));
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// What stands between backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[tokio::test]
async fn the_document_is_the_one_that_was_reviewed() {
    insta::assert_json_snapshot!("openapi", served().await);
}

#[tokio::test]
async fn the_page_has_every_route_and_no_other() {
    let served = served().await;
    let paths = served["paths"].as_object().unwrap();
    let routes = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().keys();
        methods.map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    let mut written = BTreeSet::new();
    for row in rows("| route | needs | answers |") {
        let mut methods = Vec::new();
        for text in quoted(row[0]).into_iter().filter(|text| !text.starts_with('{')) {
            let (method, path) = text.split_once(' ').unwrap_or((text, ""));
            methods.push(method);
            if let Some(path) = path.split('?').next().filter(|path| !path.is_empty()) {
                written.extend(methods.drain(..).map(|method| format!("{method} {path}")));
            }
        }
        assert!(methods.is_empty(), "{row:?}");
    }
    assert_eq!(written, routes.collect());
}

#[tokio::test]
async fn the_page_has_every_field_of_every_shape_and_no_other() {
    let served = served().await;
    let fields = |shape: &Value| -> Option<BTreeSet<String>> {
        let required = shape["required"].as_array().into_iter().flatten();
        let required: BTreeSet<&str> = required.filter_map(Value::as_str).collect();
        let mark = |name: &String| if required.contains(name.as_str()) { "" } else { "?" };
        let names = shape["properties"].as_object()?.keys();
        Some(names.map(|name| format!("{name}{}", mark(name))).collect())
    };
    let shapes = served["components"]["schemas"].as_object().unwrap();
    let shapes: BTreeMap<&str, BTreeSet<String>> =
        shapes.iter().filter_map(|(name, shape)| Some((name.as_str(), fields(shape)?))).collect();
    let written = rows("| shape | fields | |").into_iter().map(|row| {
        let fields = quoted(row[1]).into_iter().map(str::to_owned).collect();
        (quoted(row[0])[0], fields)
    });
    assert_eq!(written.collect::<BTreeMap<&str, BTreeSet<String>>>(), shapes);
}
