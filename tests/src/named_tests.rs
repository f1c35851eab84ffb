//! Tests that a document names: `FILE.rs::TEST`, the file from the project's root.

use std::fs;
use std::path::Path;

/// Whether there is a test of that name in that file.
pub fn is_there(named: &str) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    named.split_once("::").is_some_and(|(file, name)| {
        fs::read_to_string(root.join(file)).is_ok_and(|text| has_test(&text, name))
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_is_no_test_does_not_count() {
        let text = "fn helper() {}\n#[test]\n#[cfg(unix)]\n// Why.\nfn a() {}\n\
                    #[tokio::test(flavor = \"x\")]\n    async fn b() {}\nfn a_b() {}\n";
        for (name, is_test) in [("a", true), ("b", true), ("helper", false), ("a_b", false)] {
            assert_eq!(has_test(text, name), is_test, "{name}");
        }
    }

    #[test]
    fn a_test_is_found_in_its_own_file_alone() {
        let this = "a_test_is_found_in_its_own_file_alone";
        assert!(is_there(&format!("tests/src/named_tests.rs::{this}")));
        assert!(!is_there(&format!("tests/src/lib.rs::{this}")));
        assert!(!is_there(&format!("tests/src/absent.rs::{this}")));
        assert!(!is_there(this));
    }
}
