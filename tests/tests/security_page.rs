//! Each promise of SECURITY.md names tests, and each of them is there.

#![expect(clippy::unwrap_used, reason = "a helper that cannot do its part ends the test")]

use std::fs;
use std::path::Path;

use skillpkg_tests::named_tests;

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
            if !named_tests::is_there(test) {
                faults.push(format!("`{test}` is not there"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
