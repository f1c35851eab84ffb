//! From nothing to a published skill, and Ctrl-C on the way.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use skillpkg_tests::TestContext;

#[test]
fn a_skill_is_published_with_three_commands() {
    let context = TestContext::new();
    let author = context.machine("ada");
    let token = context.registry.add_user("ada");
    let made = author.run(&["init", "my-skill"]).succeeded();
    // What comes next is told, each command as it is typed.
    for next in ["skillpkg check my-skill", "skillpkg login", "skillpkg publish my-skill"] {
        assert!(made.stderr.contains(next), "{}", made.stderr);
    }
    author.run_with_input(&["login"], &token).succeeded();
    author.run(&["publish", "my-skill", "-y"]).succeeded();
    let shown = context.machine("reader").json(&["show", "my-skill"]);
    assert!(shown.to_string().contains("\"my-skill\""), "{shown}");
    // Whoever is logged in is not told to.
    let again = author.run(&["init", "other", "--hard"]).succeeded();
    assert!(!again.stderr.contains("login"), "{}", again.stderr);
}

#[test]
fn a_call_that_is_interrupted_ends_with_what_it_runs() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "sleeper", "1.0.0", "Notes.", Some("sleep 60"));
    let machine = context.machine("reader");
    machine.run(&["install", "sleeper", "-y"]).succeeded();
    for json in [false, true] {
        let mut arguments = vec!["call", "sleeper", "go"];
        arguments.extend(json.then_some("--json"));
        let mut command = machine.interruptible(&arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        let told = Instant::now();
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let ran = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(130), "{stderr}");
        assert!(stderr.ends_with("interrupted\n"), "{stderr}");
        assert!(told.elapsed() < Duration::from_secs(30), "{:?}", told.elapsed());
    }
}

#[test]
fn an_install_that_is_interrupted_leaves_the_old_or_the_new() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "one", "1.0.0", "notes", None);
    let machine = context.machine("reader");
    let arguments = ["install", "one", "-y"];
    for wait in [0, 20, 40, 80, 160, 320, 640] {
        let child = machine
            .interruptible(&arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        let _ = kill_process(Pid::from_child(&child), Signal::INT);
        let ran = child.wait_with_output().unwrap();
        let placed = machine.project.join(".agents/skills/one").exists();
        match ran.status.code() {
            Some(0) => assert!(placed, "{wait}"),
            // Before anything listens, the signal itself ends it.
            Some(130) | None => assert!(!placed, "{wait}"),
            code => panic!("{wait}: {code:?}: {}", String::from_utf8_lossy(&ran.stderr)),
        }
        machine.run(&["sync", "--check"]);
        if placed {
            machine.run(&["remove", "one"]).succeeded();
        }
        let temporary = machine.home.join("tmp");
        let left: Vec<_> = std::fs::read_dir(temporary).into_iter().flatten().flatten().collect();
        assert!(ran.status.code().is_none() || left.is_empty(), "{wait}: {left:?}");
    }
}
