//! What a person sees while something lasts.

use rustix::process::{Signal, kill_process};

use crate::support::{Canned, Machine, SILENT};
use crate::terminal::Session;

/// What is left on the line that a bar was drawn on once it is erased.
fn is_erased(seen: &str) -> bool {
    let last = seen.rfind("Working").map_or(seen, |at| &seen[at..]);
    last.contains("\u{1b}[2K")
}

#[test]
fn what_lasts_is_shown_at_a_terminal_and_erased_at_the_end() {
    let registry = Canned::start(&[("/", SILENT, "", "")]);
    let mut machine = Machine::new();
    machine.set("SKILLPKG_REGISTRY", &registry.url);
    machine.set("TERM", "xterm");
    let mut session = Session::start(&machine, &["install", "x", "-y"]);
    session.sees("Working (0s)");
    session.sees("Working (1s)");
    kill_process(session.id(), Signal::INT).unwrap();
    assert_eq!(session.ended(), 130);
    let (_, seen) = session.end();
    assert!(is_erased(&seen), "{seen:?}");
    assert!(seen.ends_with("interrupted\r\n"), "{seen:?}");
}

#[test]
fn nothing_moves_where_nobody_watches_or_nobody_wants_it() {
    let registry = Canned::start(&[("/", SILENT, "", "")]);
    let mut machine = Machine::new();
    machine.set("SKILLPKG_REGISTRY", &registry.url);
    machine.set("TERM", "xterm");
    for option in ["--json", "--quiet"] {
        let mut session = Session::start(&machine, &["install", "x", "-y", option]);
        std::thread::sleep(std::time::Duration::from_millis(1200));
        kill_process(session.id(), Signal::INT).unwrap();
        assert_eq!(session.ended(), 130);
        let (_, seen) = session.end();
        assert!(!seen.contains("Working") && !seen.contains('\u{1b}'), "{option}: {seen:?}");
    }
}

#[test]
fn hashing_and_packing_are_shown_while_they_last() {
    let machine = {
        let mut machine = Machine::with_key();
        machine.set("TERM", "xterm");
        machine
    };
    machine.write(
        "long/SKILL.md",
        "---\nname: long\ndescription: A skill of a test.\nmetadata:\n  version: \"1.0.0\"\n---\n\nRead.\n",
    );
    let file = machine.write("long/data.bin", b"");
    std::fs::File::options().write(true).open(file).unwrap().set_len(200 << 20).unwrap();
    let start = std::time::Instant::now();
    let (code, seen) = Session::start(&machine, &["pack", "long", "-o", "a.skill.tar.zst"]).end();
    assert_eq!(code, 0, "{seen}");
    // A fast machine is through before anything has to be shown.
    let is_shown = seen.contains("Hashing (") || seen.contains("Packing (");
    assert!(is_shown || start.elapsed().as_secs() < 3, "{seen:?}");
    assert!(seen.ends_with("a.skill.tar.zst\r\n"), "{seen:?}");
}
