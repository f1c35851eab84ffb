//! Commands that are told to end: by Ctrl-C at a question, by a signal while they work.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{BINARY, Canned, Machine, Ran, SILENT, example};
use crate::terminal::Session;

const JSON: &str = "application/json";
const WHO: &str = r#"{"account":"ada","grants":["read","publish:*"],"scopes":[]}"#;

fn start(machine: &Machine, arguments: &[&str]) -> Child {
    machine.command(BINARY).args(arguments).stdin(Stdio::null()).spawn().unwrap()
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn ended(machine: &Machine, child: Child) -> Ran {
    machine.ran(&child.wait_with_output().unwrap())
}

fn wait_until(what: &str, is: impl Fn() -> bool) {
    let started = Instant::now();
    while !is() {
        assert!(started.elapsed() < Duration::from_mins(1), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Everything beneath the working directory and the home whose name says that it is half made.
fn half_made(machine: &Machine) -> Vec<PathBuf> {
    let mut left = vec![machine.work(), machine.home()];
    let mut found = Vec::new();
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() && !path.is_symlink() {
                left.push(path.clone());
            }
            if name.starts_with(".skillpkg-") {
                found.push(path);
            }
        }
    }
    found
}

/// A skill with a file that takes a while to hash and to pack.
fn long_skill(machine: &Machine) {
    machine.write(
        "long/SKILL.md",
        "---\nname: long\ndescription: A skill of a test.\nmetadata:\n  version: \"1.0.0\"\n---\n\nRead.\n",
    );
    let file = machine.write("long/data.bin", b"");
    std::fs::File::options().write(true).open(file).unwrap().set_len(120 << 20).unwrap();
}

#[test]
fn ctrl_c_at_a_question_leaves_the_terminal_as_it_was_and_nothing_made() {
    let machine = Machine::new();
    let source = example("release-notes");
    let mut asked = Session::start(&machine, &["publish", &source, "--dry-run"]);
    asked.sees("Make a signing key? [y/N] ");
    kill_process(asked.id(), Signal::INT).unwrap();
    let code = asked.ended();
    assert!(asked.shows_typing());
    let (_, seen) = asked.end();
    assert_eq!(code, 130, "{seen}");
    assert!(seen.ends_with("[y/N] \r\ninterrupted\r\n"), "{seen:?}");
    assert!(!machine.home().join("keys").exists());
}

#[test]
fn ctrl_c_at_a_secret_shows_what_is_typed_again() {
    let machine = Machine::new();
    for by_key in [true, false] {
        let mut asked = Session::start(&machine, &["keygen", "--passphrase"]);
        asked.sees("New passphrase:");
        wait_until("what is typed is hidden", || !asked.shows_typing());
        if by_key {
            asked.types("secret\u{3}");
        } else {
            kill_process(asked.id(), Signal::INT).unwrap();
        }
        let code = asked.ended();
        assert!(asked.shows_typing());
        let (_, seen) = asked.end();
        assert_eq!(code, 130, "{seen}");
        assert!(seen.ends_with("interrupted\r\n") && !seen.contains("secret"), "{seen:?}");
        assert!(!machine.home().join("keys").exists());
    }
}

#[test]
fn a_registry_that_says_nothing_is_waited_for_no_longer() {
    let mut machine = Machine::new();
    // Each has a registry of its own: what one before sent may be counted late.
    let mut asking = |arguments: &[&str]| {
        let registry = Canned::start(&[("/", SILENT, JSON, "")]);
        machine.set("SKILLPKG_REGISTRY", &registry.url);
        let child = start(&machine, arguments);
        wait_until("it has asked", || !registry.asked().is_empty());
        (child, registry)
    };
    let mut seen = Vec::new();
    for (told, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        for arguments in [&["search", "x"][..], &["install", "x", "-y"], &["show", "x"]] {
            let (child, registry) = asking(arguments);
            signal(&child, told);
            seen.push((child, registry, arguments, code));
        }
    }
    let (last, _registry) = asking(&["install", "x", "-y", "--json"]);
    signal(&last, Signal::INT);
    for (child, _registry, arguments, code) in seen {
        let ran = ended(&machine, child);
        assert_eq!((ran.code, ran.stderr.as_str()), (code, "interrupted\n"), "{arguments:?}");
    }
    let ran = ended(&machine, last);
    assert_eq!((ran.code, ran.error_code().as_str()), (130, "interrupted"));
    assert_eq!(half_made(&machine), Vec::<PathBuf>::new());
    assert!(!machine.work().join("skillpkg.toml").exists());
}

#[test]
fn a_publish_that_is_interrupted_says_how_to_find_out_and_leaves_no_archive() {
    let mut machine = Machine::new();
    let made = machine.command(BINARY).args(["keygen", "--json"]).output().unwrap();
    let made: serde_json::Value = serde_json::from_slice(&made.stdout).unwrap();
    let keys = serde_json::json!({ "keys": [{
        "id": made["id"],
        "pem": made["public_key"],
        "added": "2026-01-01T00:00:00Z",
        "proven": true,
    }] });
    let registry = Canned::start(&[
        ("/v1/tokens/self", "200 OK", JSON, WHO),
        ("/v1/keys", "200 OK", JSON, &keys.to_string()),
        ("/v1/skills/_/release-notes/", SILENT, JSON, ""),
    ]);
    machine.set("SKILLPKG_REGISTRY", &registry.url);
    machine.set("SKILLPKG_TOKEN", "skp_1");
    let temporary = machine.work().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    machine.set("TMPDIR", temporary.to_str().unwrap());
    let child = start(&machine, &["publish", &example("release-notes"), "-q"]);
    let sends = |head: &String| head.starts_with("PUT ");
    wait_until("it sends", || registry.asked().iter().any(sends));
    signal(&child, Signal::INT);
    let ran = ended(&machine, child);
    assert_eq!(ran.code, 130, "{}", ran.shown());
    assert!(ran.stderr.ends_with(
        "interrupted: `skillpkg show release-notes` tells whether it arrived; publishing it again does no harm\n"
    ), "{}", ran.stderr);
    assert_eq!(half_made(&machine), Vec::<PathBuf>::new());
}

#[test]
fn packing_that_is_interrupted_leaves_no_archive() {
    let machine = Machine::with_key();
    long_skill(&machine);
    std::fs::create_dir(machine.work().join("out")).unwrap();
    let child = start(&machine, &["pack", "long", "-o", "out/a.skill.tar.zst"]);
    wait_until("it packs", || !half_made(&machine).is_empty());
    signal(&child, Signal::INT);
    let ran = ended(&machine, child);
    assert_eq!((ran.code, ran.stderr.as_str()), (130, "interrupted\n"), "{}", ran.stdout);
    assert_eq!(std::fs::read_dir(machine.work().join("out")).unwrap().count(), 0);
}

#[test]
fn what_only_reads_ends_where_it_is_and_a_second_signal_ends_anything() {
    let machine = Machine::with_key();
    long_skill(&machine);
    let child = start(&machine, &["check", "long"]);
    // Long enough to listen, and not to be done.
    std::thread::sleep(Duration::from_millis(150));
    signal(&child, Signal::INT);
    let ran = ended(&machine, child);
    assert!(ran.code == 130 || ran.code == 0, "{}", ran.shown());

    let child = start(&machine, &["pack", "long", "-o", "a.skill.tar.zst"]);
    wait_until("it packs", || !half_made(&machine).is_empty());
    let told = Instant::now();
    signal(&child, Signal::INT);
    std::thread::sleep(Duration::from_millis(30));
    signal(&child, Signal::INT);
    let ran = ended(&machine, child);
    assert_eq!((ran.code, ran.stderr.as_str()), (130, "interrupted\n"));
    assert!(told.elapsed() < Duration::from_secs(2), "{:?}", told.elapsed());
    assert!(!machine.work().join("a.skill.tar.zst").exists());
}

#[test]
fn a_signal_that_whoever_started_it_ignores_is_ignored() {
    let registry = Canned::start(&[("/", SILENT, JSON, "")]);
    let machine = Machine::new();
    let mut shell = machine.command("sh");
    let script = format!("trap '' INT; exec {BINARY} search x --registry {}", registry.url);
    let mut child = shell.args(["-c", &script]).spawn().unwrap();
    wait_until("it has asked", || !registry.asked().is_empty());
    signal(&child, Signal::INT);
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none());
    signal(&child, Signal::TERM);
    assert_eq!(ended(&machine, child).code, 143);
}
