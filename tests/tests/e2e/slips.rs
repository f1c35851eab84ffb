//! Slips that people make: what is told, and what they may have meant.

use std::fs;
use std::process::Command;

use skillpkg_tests::{Answer, TestContext, binary, hints};

#[track_caller]
fn says(answer: &Answer, text: &str) {
    assert!(answer.stderr.contains(text), "{text:?} is not in: {}", answer.stderr);
}

#[test]
fn a_name_without_its_scope_or_with_a_slip_in_it_is_answered_with_the_whole_one() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.registry.command(&["scope", "add", "acme", "--owner", "ada"]);
    context.publish(&author, "acme/reports", "1.0.0", "notes", None);
    let machine = context.machine("reader");
    for asked in ["reports", "acem/reports", "acme/report"] {
        let answer = machine.run(&["install", asked, "-y"]).ended_with(1);
        says(&answer, "did you mean `acme/reports`?");
    }
    says(&author.run(&["scope", "list", "acem"]).ended_with(1), "did you mean `acme`?");
    let answer = machine.run(&["install", "@acme/reports", "-y"]).ended_with(2);
    says(&answer, "a scope is written without `@`; `acme/reports` would be");
    says(&machine.run(&["show", "acme/"]).ended_with(2), "no name stands behind its `/`");
    let answer = machine.run(&["install", "https://github.com/acme/x"]).ended_with(2);
    says(&answer, "nothing is installed from a repository: `skillpkg search WORDS`");
}

#[test]
fn what_changes_nothing_or_goes_back_is_told_as_that() {
    let context = TestContext::new();
    let author = context.author("ada");
    for version in ["1.0.0", "1.1.0"] {
        context.publish(&author, "waitlist", version, "notes", None);
    }
    says(&author.run(&["unyank", "waitlist@1.1.0"]).succeeded(), "was not yanked: nothing changed");
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    author.run(&["yank", "waitlist@1.1.0", "--reason", "it loses mail"]).succeeded();
    machine.write("skillpkg.toml", "[skills]\nwaitlist = \"1\"\n");
    let updated = machine.run(&["update", "-y"]).succeeded();
    assert!(
        updated.stdout.contains("updated waitlist from 1.1.0 back to 1.0.0, which is older"),
        "{updated:?}"
    );
    says(&author.run(&["unyank", "waitlist@1.1.0"]).succeeded(), "is no longer yanked");
    author.run(&["yank", "waitlist@1.1.0", "--reason", "it loses mail"]).succeeded();
    let answer = machine.run(&["install", "waitlist@1.1", "-y"]).ended_with(1);
    says(&answer, "`skillpkg install waitlist@1.0.0` takes the newest that was not yanked");
}

#[test]
fn a_log_that_was_forgotten_is_not_said_to_be_seen_for_the_first_time() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let machine = context.machine("reader");
    says(&machine.run(&["show", "waitlist"]).succeeded(), "seen here for the first time");
    machine.run(&["log", "forget", &context.registry.url(), "-y"]).succeeded();
    let again = machine.run(&["show", "waitlist"]).succeeded();
    says(&again, "which was forgotten here; it is pinned anew");
    assert!(!again.stderr.contains("for the first time"), "{}", again.stderr);
}

#[test]
fn skills_that_come_from_files_alone_are_verified_and_not_bundled_with_the_reason() {
    let context = TestContext::new();
    let author = context.author("ada");
    skillpkg_tests::write_skill(&author.project.join("source"), "waitlist", "notes", None);
    let pack = ["pack", "source", "--version", "1.0.0", "-o", "w.skill.tar.zst"];
    author.run(&pack).succeeded();
    author.run(&["install", "./w.skill.tar.zst", "-y"]).succeeded();
    assert!(author.run(&["verify"]).succeeded().stdout.contains("1 checked, all as signed"));
    let answer = author.run(&["bundle"]).ended_with(2);
    says(&answer, "every skill that is locked here comes from a file");
    says(&author.run(&["bundle", "waitlist"]).ended_with(2), "`waitlist` comes from `w.skill");
}

#[test]
fn a_bundle_whose_log_nobody_knows_is_told_with_a_command_that_can_be_run() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let machine = context.machine("reader");
    machine.run(&["bundle", "waitlist", "-o", "w.bundle"]).succeeded();
    let other = context.machine("isolated");
    fs::copy(machine.project.join("w.bundle"), other.project.join("w.bundle")).unwrap();
    let refused = other.run(&["verify", "w.bundle"]).ended_with(5);
    let told = format!("{}{}", refused.stdout, refused.stderr);
    let way = "skillpkg install --bundle FILE --trust-on-first-use";
    assert!(told.contains(way) || !told.contains("--trust-on-first-use"), "{told}");
    assert!(told.contains("log-key = "), "{told}");
}

#[cfg(unix)]
#[test]
fn an_archive_of_another_tar_is_told_with_what_differs() {
    if !Command::new("zstd").arg("--version").output().is_ok_and(|ran| ran.status.success()) {
        let test = "an_archive_of_another_tar_is_told_with_what_differs";
        return skillpkg_tests::skipped(test, "zstd", true);
    }
    let context = TestContext::new();
    let machine = context.machine("reader");
    skillpkg_tests::write_skill(&machine.project.join("source"), "waitlist", "notes", None);
    let script = "tar -cf a.tar -C source SKILL.md && zstd -q --check --content-size a.tar -o \
                  a.skill.tar.zst";
    let made = Command::new("sh").args(["-c", script]).current_dir(&machine.project).status();
    assert!(made.unwrap().success());
    let answer = machine.run(&["install", "./a.skill.tar.zst", "-y"]).ended_with(3);
    says(
        &answer,
        "it starts with the entry `SKILL.md`, where `.skillpkg/manifest.json` stands first",
    );
    says(&answer, "an archive has one form, which `skillpkg pack` writes");
}

#[cfg(target_os = "linux")]
#[test]
fn a_home_that_cannot_be_made_is_told_with_the_variable_that_says_where() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let mut machine = context.machine("reader");
    machine.home = "/proc/skillpkg".into();
    for arguments in [&["install", "waitlist", "-y"][..], &["keygen"], &["gc"]] {
        let answer = machine.run(arguments);
        assert_ne!(answer.code, 0, "{arguments:?}");
        says(&answer, "set `SKILLPKG_HOME` to a directory");
    }
}

#[test]
fn an_operators_slips_are_told_with_what_is_wrong() {
    let context = TestContext::new();
    context.registry.add_user("ada");
    context.registry.command(&["user", "close", "ada"]);
    let data = context.registry.data().to_str().unwrap().to_owned();
    let told = |arguments: &[&str]| {
        let mut command = Command::new(binary("skillpkg-registry"));
        let ran = command.args(arguments).args(["--data", &data]).output().unwrap();
        assert!(!ran.status.success(), "{arguments:?}");
        String::from_utf8_lossy(&ran.stderr).into_owned()
    };
    let closed = told(&["user", "add", "ada"]);
    assert!(closed.contains("was an account that is closed"), "{closed}");
    context.registry.add_user("ben");
    let mint = ["token", "mint", "ben", "--grant", "read", "--days", "99999999"];
    let far = told(&mint);
    assert!(far.contains("1..=36500"), "{far}");
}

#[test]
fn an_option_that_a_hint_names_and_the_command_has_not_is_found() {
    let foreign = |arguments: &[&str], told| hints::foreign(&binary("skillpkg"), arguments, told);
    let told = "error: no\n  hint: compare it; `--trust-on-first-use` takes it\n";
    assert_eq!(foreign(&["verify", "x.bundle"], told), ["--trust-on-first-use"]);
    assert!(foreign(&["install", "--bundle", "x.bundle"], told).is_empty());
    let whole = "  hint: `skillpkg install --bundle x --trust-on-first-use` takes it\n";
    assert!(foreign(&["verify", "x.bundle"], whole).is_empty());
    assert!(foreign(&["sync"], "`--nonsense` stands in no hint\n").is_empty());
}
