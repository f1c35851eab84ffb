//! A directory of the project that changes into a link while skills are placed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use skillpkg_tests::TestContext;

/// Exchanges a directory with a link that leads out of the project, again and again.
fn swap(project: &Path, outside: &Path, stop: &AtomicBool) {
    let (place, aside, link) =
        (project.join(".claude"), project.join("aside"), project.join("link"));
    while !stop.load(Ordering::Relaxed) {
        let _ = symlink(outside, &link);
        let _ = fs::rename(&place, &aside);
        let _ = fs::rename(&link, &place);
        std::thread::yield_now();
        let _ = fs::remove_file(&place);
        let _ = fs::rename(&aside, &place);
    }
}

#[test]
fn nothing_is_written_where_a_link_leads_that_takes_a_directorys_place() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let machine = context.machine("reader");
    let outside = context.path("outside");
    for directory in [outside.join("skills"), machine.project.join(".claude/skills")] {
        fs::create_dir_all(directory).unwrap();
    }
    machine.run(&["install", "waitlist", "--agent", "universal", "-y"]).succeeded();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| swap(&machine.project, &outside, &stop));
        for copy in [false, true].into_iter().cycle().take(20) {
            let mut arguments = vec!["install", "waitlist", "--agent", "claude-code", "-y"];
            arguments.extend(copy.then_some("--copy"));
            // It may be refused, for what it meets there; it may not be led astray.
            let answer = machine.run(&arguments);
            assert_ne!(answer.code, -1, "{}", answer.stderr);
            machine.run(&["remove", "waitlist"]);
        }
        stop.store(true, Ordering::Relaxed);
    });
    let written: Vec<_> = fs::read_dir(outside.join("skills")).unwrap().collect();
    assert!(written.is_empty(), "{written:?}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}
