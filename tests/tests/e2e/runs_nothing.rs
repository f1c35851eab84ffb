//! Of what a skill carries nothing runs before it is called.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use skillpkg_tests::{Answer, TestContext};

#[test]
fn nothing_of_a_skill_runs_before_it_is_called() {
    let context = TestContext::new();
    let author = context.author("ada");
    let (programs, ran) = (context.path("programs"), context.path("ran"));
    fs::create_dir(&programs).unwrap();
    let program = programs.join("leaves-a-mark");
    fs::write(&program, format!("#!/bin/sh\necho \"$@\" >> '{}'\n", ran.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());

    let machine = context.machine("reader");
    let run = |arguments: &[&str]| {
        let output = machine.command(arguments).env("PATH", &path).output().unwrap();
        Answer::of(arguments, &output).succeeded();
    };
    context.publish(&author, "waitlist", "1.0.0", "old", Some("leaves-a-mark"));
    run(&["install", "waitlist@1", "-y"]);
    context.publish(&author, "waitlist", "1.1.0", "new", Some("leaves-a-mark again"));
    for arguments in [
        &["update", "--accept-permissions"][..],
        &["deactivate", "waitlist"],
        &["activate", "waitlist", "-y"],
        &["sync", "--frozen"],
        &["verify", "--all"],
        &["inspect", "waitlist"],
        &["list"],
        &["gc"],
    ] {
        run(arguments);
        assert!(!ran.exists(), "`skillpkg {}` ran a tool's program", arguments.join(" "));
    }
    run(&["call", "waitlist", "go", "-y"]);
    assert_eq!(fs::read_to_string(&ran).unwrap(), "again\n");
}
