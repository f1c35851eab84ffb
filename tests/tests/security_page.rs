//! Each promise of SECURITY.md names tests, and each of them is there.

#![expect(clippy::unwrap_used, reason = "a helper that cannot do its part ends the test")]

use std::fs;
use std::path::Path;

/// What comes before a promise, and before the test that holds it.
const PROMISE: &str = "- **";
const TEST: &str = "  - `";

/// The promises, each by its first line, with what is named under it.
fn promises(page: &str) -> Vec<(&str, Vec<&str>)> {
    let mut promises: Vec<(&str, Vec<&str>)> = Vec::new();
    // From there on it says what is not promised.
    for line in page.lines().take_while(|line| *line != "## What does not exist yet") {
        if line.starts_with(PROMISE) {
            promises.push((line, Vec::new()));
        } else if let Some(test) = line.strip_prefix(TEST) {
            let (_, tests) = promises.last_mut().unwrap();
            tests.push(test.strip_suffix('`').unwrap_or(test));
        }
    }
    promises
}

/// Whether the text of a file has a test of this name: a function below an attribute that makes it
/// one, or within `proptest!`.
fn has_test(text: &str, name: &str) -> bool {
    let function = format!("fn {name}(");
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if line.strip_prefix("async ").unwrap_or(line).starts_with(&function) {
            return is_test;
        } else if !line.starts_with("#[") && !line.starts_with("//") {
            is_test = false;
        }
    }
    false
}

#[test]
fn every_promise_is_held_by_tests_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let promises = promises(&page);
    assert!(promises.len() > 30, "the page is not read as it is written");
    let mut faults = Vec::new();
    for (promise, tests) in promises {
        if tests.is_empty() {
            faults.push(format!("no test holds: {promise}"));
        }
        for test in tests {
            let is_there = test.split_once("::").is_some_and(|(file, name)| {
                fs::read_to_string(root.join(file)).is_ok_and(|text| has_test(&text, name))
            });
            if !is_there {
                faults.push(format!("`{test}` is not there"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_function_that_is_no_test_does_not_count() {
    let text = "fn helper() {}\n#[test]\n#[cfg(unix)]\n// Why.\nfn a() {}\n\
                    #[tokio::test(flavor = \"x\")]\n    async fn b() {}\nfn a_b() {}\n";
    for (name, is_there) in [("a", true), ("b", true), ("helper", false), ("a_b", false)] {
        assert_eq!(has_test(text, name), is_there, "{name}");
    }
}
