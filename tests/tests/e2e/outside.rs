//! Another implementation, on Python's `cryptography` alone, checks a running registry: its
//! identity, its checkpoint, every leaf, the heads tree, the record of a version and its signature.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::thread;

use skillpkg_tests::{TestContext, skipped};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/outside/check_registry.py");

fn python() -> String {
    std::env::var("SKILLPKG_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

fn check(url: &str, name: &str, version: &str) -> Output {
    Command::new(python()).args(["-I", SCRIPT, url, name, version]).output().unwrap()
}

/// The URL of something that hands everything on as the registry says it, but for one byte near the
/// end of the answers to requests with `changed` in their first line.
fn relay(registry: &str, changed: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let registry = registry.trim_start_matches("http://").to_owned();
    // It ends with the test's process.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut peer, mut there) = (stream.unwrap(), TcpStream::connect(&registry).unwrap());
            let mut request = vec![0; 64 * 1024];
            let head = peer.read(&mut request).unwrap();
            there.write_all(&request[..head]).unwrap();
            // The head of a request comes by itself, before its body.
            if request.starts_with(b"POST") && request[..head].ends_with(b"\r\n\r\n") {
                let body = peer.read(&mut request[head..]).unwrap();
                there.write_all(&request[head..head + body]).unwrap();
            }
            let mut answer = Vec::new();
            there.read_to_end(&mut answer).unwrap();
            let line = String::from_utf8_lossy(&request[..200]).into_owned();
            if line.lines().next().unwrap().contains(changed) {
                let at = answer.len() - 24;
                answer[at] ^= 1;
            }
            let _ = peer.write_all(&answer);
        }
    });
    format!("http://{address}")
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
        let relay = relay(&context.registry.url(), answer);
        let output = check(&relay, "waitlist", "1.2.0");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && told.starts_with("refused: "), "{answer}: {told}");
    }
}
