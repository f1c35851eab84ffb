//! Commands whose answer nobody reads.

use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::commands::{Serving, command, done, registry_in};

/// A stdout that takes nothing: full, or one of which the reader is gone.
#[cfg(target_os = "linux")]
fn takes_nothing() -> [Stdio; 2] {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    [full.into(), writer.into()]
}

/// What a command tells on stderr that cannot write its answer; it ends with 1.
#[cfg(target_os = "linux")]
fn unheard(data: &Path, arguments: &[&str], stdout: Stdio) -> String {
    let output = command(data, arguments).stdout(stdout).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {errors}");
    assert!(!errors.contains("panicked"), "{arguments:?}: {errors}");
    errors
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_answer_that_cannot_be_written_is_a_failure_that_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    registry_in(&data).await;
    done(&data, &["user", "add", "ana"]);
    done(&data, &["scope", "add", "acme", "--owner", "ana"]);
    for arguments in [
        &["user", "list"][..],
        &["user", "list", "--json"],
        &["scope", "list"],
        &["scope", "list", "--json"],
        &["scope", "member", "add", "acme", "ana", "--role", "owner", "--json"],
        &["token", "list", "ana"],
        &["token", "list", "ana", "--json"],
        &["verify", "--json"],
        &["gc", "--json"],
    ] {
        let [full, gone] = takes_nothing();
        let told = unheard(&data, arguments, full);
        assert!(told.contains("error: cannot write to stdout: No space left"), "{told}");
        assert!(!unheard(&data, arguments, gone).contains("error:"), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_token_that_nobody_was_shown_is_told_with_the_way_out() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    registry_in(&data).await;
    for (name, stdout) in ["ana", "ben"].into_iter().zip(takes_nothing()) {
        let told = unheard(&data, &["user", "add", name], stdout);
        assert!(told.contains(&format!("the account `{name}` is made")), "{told}");
        assert!(told.contains(&format!("`skillpkg-registry token mint {name} --grant")), "{told}");
    }
    // Closed, or thrown away: it is written, and nobody has it.
    let closed = |arguments: &[&str]| {
        let inner = command(&data, arguments);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "exec \"$0\" \"$@\" >&-"]).arg(inner.get_program());
        shell.args(inner.get_args());
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let output = shell.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, told) = closed(&["user", "add", "eve"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("the account `eve` is made"), "{told}");
    assert!(told.contains("`skillpkg-registry token mint eve --grant"), "{told}");
    let null = || Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/null").unwrap());
    assert!(unheard(&data, &["user", "add", "fay"], null()).contains("token mint fay"));
    let (code, told) = closed(&["token", "mint", "ana", "--grant", "read"]);
    assert_eq!(code, Some(1), "{told}");
    done(&data, &["token", "revoke", told.split('`').nth(1).unwrap()]);
    // What is shown again at any time is lost to nobody.
    assert!(command(&data, &["user", "list"]).stdout(null()).status().unwrap().success());
    for stdout in takes_nothing() {
        let told = unheard(&data, &["token", "mint", "ana", "--grant", "read"], stdout);
        let id = told.split('`').nth(1).unwrap();
        done(&data, &["token", "revoke", id]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_that_nobody_listens_to_serves_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let listen = format!("127.0.0.1:{port}");
    let [_, stdout] = takes_nothing();
    let [_, stderr] = takes_nothing();
    let mut serve = command(&data, &["serve", "--listen", &listen]);
    let serve = serve.env("RUST_LOG", "debug").stdout(stdout).stderr(stderr);
    let serving = Serving { process: serve.spawn().unwrap(), url: format!("http://{listen}") };
    let ask = || {
        let mut stream = std::net::TcpStream::connect(&listen)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        std::io::Write::write_all(
            &mut stream,
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    };
    let started = (0..100).find_map(|_| {
        std::thread::sleep(Duration::from_millis(100));
        ask().ok()
    });
    for answer in [started.unwrap_or_default(), ask().unwrap_or_default()] {
        assert!(answer.starts_with("HTTP/1.1 204"), "{}: {answer}", serving.url);
    }
    serving.kill();
}
