//! Killed at any moment, it leaves the old project or the new.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use skillpkg_tests::{Machine, TestContext};

const KILLS: u32 = 7;

/// What agents and version control see: nothing that is ours alone while we work.
fn seen(machine: &Machine) -> BTreeMap<String, String> {
    let mut picture = machine.picture();
    picture.retain(|path, what| {
        !path.contains(".skillpkg-staging") && !path.contains(".new") && what != "directory"
    });
    picture
}

/// Kills `arguments` at moments spread over the time that it takes, each time from the same start.
fn killed(machine: &Machine, start: &dyn Fn(&Machine), arguments: &[&str]) {
    start(machine);
    let before = seen(machine);
    let began = Instant::now();
    machine.run(arguments).succeeded();
    let took = began.elapsed();
    let after = seen(machine);
    assert_ne!(before, after);
    for number in 0..KILLS {
        start(machine);
        let mut child = machine.command(arguments).spawn().unwrap();
        // The later part is where things are placed.
        std::thread::sleep(took.mul_f64(0.3 + 0.8 * f64::from(number) / f64::from(KILLS)));
        let _ = child.kill();
        let ended = child.wait().unwrap();
        // Any command that opens the project finishes what was begun.
        machine.run(&["list"]).succeeded();
        let now = seen(machine);
        assert!(now == before || now == after, "{number}: {now:#?}");
        if ended.success() {
            assert_eq!(now, after);
        }
        if now == before {
            machine.run(arguments).succeeded();
        }
        assert_eq!(seen(machine), after, "{number}");
        machine.run(&["sync", "--check"]).succeeded();
        let left: Vec<String> =
            machine.picture().into_keys().filter(|path| path.contains(".skillpkg-")).collect();
        assert!(left.is_empty(), "{number}: {left:?}");
    }
    assert!(took < Duration::from_secs(20));
}

#[test]
fn installs_updates_and_removals_that_are_killed_leave_the_old_or_the_new() {
    let context = TestContext::new();
    let author = context.author("ada");
    let names = ["one", "two", "three"];
    for name in names {
        context.publish(&author, name, "1.0.0", "old", None);
        context.publish(&author, name, "1.1.0", "new", None);
    }
    let machine = context.machine("reader");
    machine.write("notes.txt", "theirs");
    let install_old = ["install", "one@=1.0.0", "two@=1.0.0", "three@=1.0.0", "-y", "--copy"];
    let nothing = |machine: &Machine| {
        let _ = machine.run(&["remove", "one", "two", "three"]);
        let _ = std::fs::remove_dir_all(machine.home.join("blobs"));
        let _ = std::fs::remove_dir_all(machine.home.join("manifests"));
        for file in ["skillpkg.toml", "skillpkg.lock"] {
            machine.write(file, if file == "skillpkg.toml" { "" } else { "version = 1\n" });
        }
    };
    let old = |machine: &Machine| {
        machine.run(&install_old).succeeded();
        let toml = machine.read("skillpkg.toml").replace("=1.0.0", "1");
        machine.write("skillpkg.toml", &toml);
    };
    killed(&machine, &nothing, &install_old);
    killed(&machine, &old, &["update", "-y"]);
    killed(&machine, &old, &["remove", "one", "two", "three"]);
}
