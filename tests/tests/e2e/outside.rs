//! Another implementation, on Python's `cryptography` alone, checks a running registry: its
//! identity, its checkpoint, every leaf, the heads tree, the record of a version and its signature.

use std::process::{Command, Output};

use skillpkg_tests::{TestContext, relay, skipped};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/outside/check_registry.py");

fn python() -> String {
    std::env::var("SKILLPKG_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

fn check(url: &str, name: &str, version: &str) -> Output {
    Command::new(python()).args(["-I", SCRIPT, url, name, version]).output().unwrap()
}

#[test]
fn another_implementation_verifies_a_running_registry_and_sees_what_was_changed() {
    let available = Command::new(python()).args(["-I", "-c", "import cryptography"]).output();
    if !available.is_ok_and(|output| output.status.success()) {
        let test = "another_implementation_verifies_a_running_registry_and_sees_what_was_changed";
        return skipped(test, "python3 with cryptography", true);
    }
    let context = TestContext::new();
    let author = context.author("ada");
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        context.publish(&author, "waitlist", version, version, None);
    }
    context.publish(&author, "reports", "0.1.0", "notes", Some("true"));
    author.run(&["yank", "waitlist@1.1.0", "--reason", "it was wrong"]).succeeded();
    for (name, version) in [("waitlist", "1.2.0"), ("waitlist", "1.1.0"), ("reports", "0.1.0")] {
        let output = check(&context.registry.url(), name, version);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
        assert!(told.contains(&format!("{name}@{version} is signed by 1 key of ada")), "{told}");
    }
    assert!(!check(&context.registry.url(), "waitlist", "9.9.9").status.success());
    assert!(!check(&context.registry.url(), "nothing", "1.0.0").status.success());

    // One byte of one answer.
    for answer in ["/tile/entries/", "/tile/0/", "/log/checkpoint", "/log/proofs", "/signatures"] {
        let relay = relay(&context.registry.url(), move |request, bytes| {
            if request.contains(answer) {
                let at = bytes.len() - 24;
                bytes[at] ^= 1;
            }
        });
        let output = check(&relay, "waitlist", "1.2.0");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && told.starts_with("refused: "), "{answer}: {told}");
    }
}
