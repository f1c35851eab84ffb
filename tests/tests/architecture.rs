//! Which crate may see which: the table of ARCHITECTURE.md, held against the dependency graph.

#![expect(clippy::unwrap_used, reason = "a helper that cannot do its part ends the test")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// A crate of ours, and those of ours that it may depend on.
const MAY_SEE: [(&str, &[&str]); 5] = [
    ("skillpkg-schema", &[]),
    ("skillpkg-store", &["skillpkg-schema"]),
    ("skillpkg-registry", &["skillpkg-schema", "skillpkg-store"]),
    ("skillpkg", &["skillpkg-schema", "skillpkg-store"]),
    ("skillpkg-tests", &["skillpkg-schema", "skillpkg-store"]),
];

/// What a crate must never depend on, not even through another.
const MUST_NOT_KNOW: [(&str, &[&str]); 3] = [
    ("skillpkg-schema", &["tokio", "hyper", "reqwest", "axum", "sqlx", "clap", "indicatif"]),
    ("skillpkg-store", &["hyper", "reqwest", "axum", "sqlx", "clap", "indicatif"]),
    ("skillpkg", &["sqlx", "axum", "object_store"]),
];

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn crates_see_only_what_the_architecture_allows() {
    let metadata = cargo(&["metadata", "--format-version=1", "--no-deps", "--offline"]);
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
    let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let ours = package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|dependency| dependency["kind"] != "dev")
            .filter_map(|dependency| dependency["name"].as_str())
            .filter(|name| name.starts_with("skillpkg"));
        let mut ours: Vec<String> = ours.map(str::to_owned).collect();
        ours.sort();
        ours.dedup();
        seen.insert(package["name"].as_str().unwrap().to_owned(), ours);
    }
    for (name, allowed) in MAY_SEE {
        let beyond: Vec<&String> =
            seen[name].iter().filter(|other| !allowed.contains(&other.as_str())).collect();
        assert!(beyond.is_empty(), "{name} depends on {beyond:?}");
    }
    assert_eq!(seen.len(), MAY_SEE.len(), "a crate has no row: {:?}", seen.keys());
}

#[test]
fn crates_stay_ignorant_of_what_is_not_theirs() {
    for (name, forbidden) in MUST_NOT_KNOW {
        let tree = cargo(&[
            "tree",
            "--offline",
            "-p",
            name,
            "-e",
            "normal",
            "--prefix",
            "none",
            "-f",
            "{p}",
        ]);
        let known: Vec<&str> = tree
            .lines()
            .filter_map(|line| line.split(' ').next())
            .filter(|dependency| forbidden.contains(dependency))
            .collect();
        assert!(known.is_empty(), "{name} knows {known:?}");
    }
}
