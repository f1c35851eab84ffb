//! Publishing, yanking, finding: what an author does and what everybody then sees.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};
use skillpkg_tests::{Machine, TestContext, write_skill};

/// Writes a skill into the machine's project; answers with its directory's name.
fn skill(machine: &Machine, name: &str, notes: &str) -> String {
    let directory = format!("source-{name}");
    write_skill(&machine.project.join(&directory), name, notes, Some("sh NOTES.md"));
    directory
}

fn publish(machine: &Machine, directory: &str, version: &str) -> Value {
    machine.run(&["publish", directory, "--version", version, "--json"]).succeeded().json()
}

#[test]
fn the_first_publish_registers_its_key_and_the_same_again_changes_nothing() {
    let context = TestContext::new();
    let ada = context.author("ada");
    let source = skill(&ada, "waitlist", "one");
    let first = ada.run(&["publish", &source, "--version", "1.2.0", "--json"]).succeeded();
    assert!(first.stderr.contains("Registered key"), "{}", first.stderr);
    let published = first.json();
    let key = ada.json(&["keys"])["local"][0]["id"].clone();
    assert_eq!((&published["created"], &published["key_registered"]), (&json!(true), &key));
    assert_eq!(published["registry"], context.registry.url());
    assert_eq!(ada.json(&["keys"])["account"][0]["id"], key);

    let again = ada.run(&["publish", &source, "--version", "1.2.0", "--json"]).succeeded();
    assert!(again.stderr.contains("nothing changed"), "{}", again.stderr);
    let again = again.json();
    assert_eq!((&again["created"], again.get("key_registered")), (&json!(false), None));
    assert_eq!(again["address"], published["address"]);
    assert_eq!(again["archive"], published["archive"]);

    let packed = ada.json(&["pack", &source, "--version", "1.2.0", "-o", "a.skill.tar.zst"]);
    for field in ["name", "version", "address", "blake3", "archive", "size"] {
        assert_eq!(packed[field], published[field], "{field}");
    }
}

#[test]
fn a_version_never_changes() {
    let context = TestContext::new();
    let ada = context.author("ada");
    let source = skill(&ada, "waitlist", "one");
    let first = publish(&ada, &source, "1.2.0");
    fs::write(ada.project.join(&source).join("NOTES.md"), "two").unwrap();
    let refused = ada.run(&["publish", &source, "--version", "1.2.0", "--json"]).ended_with(1);
    assert_eq!(refused.error_code(), "version_exists");
    assert!(
        refused.stderr.contains("1.2.0") && refused.stderr.contains("new"),
        "{}",
        refused.stderr
    );
    assert_eq!(ada.json(&["show", "waitlist"])["address"], first["address"]);
    assert_eq!(publish(&ada, &source, "1.2.1")["created"], true);
}

#[test]
fn who_may_not_publish_is_told_why() {
    let context = TestContext::new();
    let (ada, eve) = (context.author("ada"), context.author("eve"));
    let source = skill(&ada, "waitlist", "one");
    publish(&ada, &source, "1.0.0");
    let theirs = skill(&eve, "waitlist", "one");
    let refused = |machine: &Machine, source: &str| {
        machine.run(&["publish", source, "--version", "2.0.0", "--json"]).ended_with(5).error_code()
    };
    assert_eq!(refused(&eve, &theirs), "not_an_owner");
    assert_eq!(refused(&Machine { token: None, ..ada.clone() }, &source), "unauthorized");
    let wrong = format!("skp_{}", "A".repeat(43));
    assert_eq!(refused(&Machine { token: Some(wrong), ..ada.clone() }, &source), "unauthorized");
    let alike = ada.run(&["publish", &source, "--name", "wait_list", "--version", "1.0.0"]);
    alike.succeeded();
    let taken =
        ada.run(&["publish", &source, "--name", "wait-list", "--version", "1.0.0", "--json"]);
    assert_eq!(taken.ended_with(1).error_code(), "name_taken");
}

#[test]
fn a_long_upload_that_is_refused_says_why_and_not_that_the_connection_broke() {
    let context = TestContext::new();
    let ada = context.author("ada");
    let source = skill(&ada, "large", "");
    // Bytes that do not compress: a linear congruential generator.
    let mut state = 7_u32;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
    .take(12 << 20)
    .collect();
    fs::write(ada.project.join(&source).join("NOTES.md"), bytes).unwrap();
    let wrong = format!("skp_{}", "A".repeat(43));
    let machine = Machine { token: Some(wrong), ..ada.clone() };
    let refused = machine.run(&["publish", &source, "--version", "1.0.0", "--json"]);
    assert_eq!(refused.ended_with(5).error_code(), "unauthorized");
    assert_eq!(publish(&ada, &source, "1.0.0")["created"], true);
}

#[test]
fn a_dry_run_sends_nothing() {
    let context = TestContext::new();
    let ada = context.author("ada");
    let source = skill(&ada, "waitlist", "one");
    let ran = ada.run(&["publish", &source, "--version", "1.0.0", "--dry-run", "--json"]);
    assert_eq!(ran.succeeded().json()["created"], false);
    assert_eq!(
        ada.run(&["show", "waitlist", "--json"]).ended_with(1).error_code(),
        "skill_not_found"
    );
    assert_eq!(ada.json(&["keys"])["account"], json!([]));
}

#[test]
fn an_archive_is_published_on_a_machine_without_its_key() {
    let context = TestContext::new();
    let ada = context.author("ada");
    let source = skill(&ada, "waitlist", "one");
    publish(&ada, &source, "1.0.0");
    ada.run(&["pack", &source, "--version", "1.1.0", "-o", "a.skill.tar.zst"]).succeeded();
    let mut build = context.machine("build");
    build.token = ada.token.clone();
    let archive = ada.project.join("a.skill.tar.zst");
    let published = build.json(&["publish", archive.to_str().unwrap()]);
    assert_eq!((&published["created"], &published["version"]), (&json!(true), &json!("1.1.0")));
}

#[test]
fn everything_about_a_version_is_shown() {
    let context = TestContext::new();
    let ada = context.author("ada");
    let source = skill(&ada, "waitlist", "one");
    publish(&ada, &source, "1.2.0");
    let published = publish(&ada, &source, "1.3.0");
    let reader = context.machine("reader");
    let shown = reader.json(&["show", "waitlist"]);
    for field in ["name", "version", "address", "blake3", "archive", "size", "registry"] {
        assert_eq!(shown[field], published[field], "{field}");
    }
    assert_eq!(shown["signers"][0]["account"], "ada");
    assert_eq!(shown["tools"][0]["run"], json!(["sh", "NOTES.md"]));
    assert_eq!(shown["files"][0]["path"], "NOTES.md");
    assert_eq!(shown["versions"].as_array().unwrap().len(), 2);
    assert_eq!(reader.json(&["show", "waitlist@=1.2.0"])["version"], "1.2.0");
    let by_address = format!("waitlist@{}", published["blake3"].as_str().unwrap());
    assert_eq!(reader.json(&["show", &by_address])["version"], "1.3.0");
    let text = reader.run(&["show", "waitlist"]).succeeded().stdout;
    for part in ["runs sh NOTES.md", "Signed by\n  ada with key", "  1.2.0  20", "  1.3.0  20"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let absent = reader.run(&["show", "waitlist@9", "--json"]).ended_with(1);
    assert_eq!(absent.error_code(), "version_not_found");
    let near = reader.run(&["show", "waitlsit"]).ended_with(1);
    assert!(near.stderr.contains("did you mean `waitlist`?"), "{}", near.stderr);
}

#[test]
fn a_yank_is_seen_by_all_and_can_be_taken_back() {
    let context = TestContext::new();
    let (ada, eve) = (context.author("ada"), context.author("eve"));
    let source = skill(&ada, "waitlist", "one");
    publish(&ada, &source, "1.2.0");
    publish(&ada, &source, "1.3.0");
    let refused = eve.run(&["yank", "waitlist@1.3.0", "--reason", "r", "--json"]).ended_with(5);
    assert_eq!(refused.error_code(), "not_an_owner");
    let yanked = ada.json(&["yank", "waitlist@1.3.0", "--reason", "asks twice"]);
    assert_eq!((&yanked["yanked"], &yanked["version"]), (&json!(true), &json!("1.3.0")));
    let again = ada.run(&["yank", "waitlist@1.3.0", "--reason", "asks twice"]).succeeded();
    assert!(again.stderr.contains("was yanked already"), "{}", again.stderr);
    let strange = ada.run(&["yank", "waitlist@1.3.0", "--reason", "a\u{1b}[31mb"]).ended_with(1);
    assert!(!strange.stderr.contains("[31mb"), "{}", strange.stderr);
    let reader = context.machine("reader");
    assert_eq!(reader.json(&["show", "waitlist"])["version"], "1.2.0");
    let shown = reader.run(&["show", "waitlist@=1.3.0"]).succeeded().stdout;
    assert!(shown.contains("YANKED: asks twice"), "{shown}");
    let hits = reader.json(&["search", "waitlist"]);
    assert_eq!(hits["skills"][0]["version"], "1.2.0");
    ada.run(&["unyank", "waitlist@1.3.0"]).succeeded();
    assert_eq!(reader.json(&["show", "waitlist"])["version"], "1.3.0");
    let absent = ada.run(&["yank", "waitlist@7.0.0", "--reason", "r", "--json"]).ended_with(1);
    assert_eq!(absent.error_code(), "version_not_found");
}

#[test]
fn skills_are_found_by_name_description_and_tools() {
    let context = TestContext::new();
    let ada = context.author("ada");
    let source = skill(&ada, "waitlist", "one");
    publish(&ada, &source, "1.2.0");
    let reader = context.machine("reader");
    for words in [&["waitlist"][..], &["skill", "test"], &["goes"]] {
        let found = reader.json(&[&["search"], words].concat());
        assert_eq!(found["skills"][0]["name"], "waitlist", "{words:?}");
        assert_eq!(found["total"], 1);
    }
    let none = reader.run(&["search", "nonesuch"]).succeeded();
    assert_eq!((none.stdout.as_str(), none.stderr.contains("Nothing found")), ("", true));
}

#[test]
fn a_private_scope_is_not_there_for_strangers() {
    let context = TestContext::new();
    let (ada, eve) = (context.author("ada"), context.author("eve"));
    context.registry.command(&["scope", "add", "acme", "--owner", "ada", "--private"]);
    context.publish(&ada, "acme/reports", "1.0.0", "secret", None);
    assert_eq!(ada.json(&["show", "acme/reports"])["private"], true);
    assert_eq!(ada.json(&["search", "reports"])["total"], 1);
    for stranger in [&eve, &context.machine("reader")] {
        let hidden = stranger.run(&["show", "acme/reports", "--json"]).ended_with(1);
        let absent = stranger.run(&["show", "acme/nothing", "--json"]).ended_with(1);
        assert_eq!(
            (hidden.error_code(), absent.error_code()),
            ("skill_not_found".into(), "skill_not_found".into())
        );
        assert_eq!(stranger.json(&["search", "reports"])["total"], 0);
    }
}

#[test]
fn an_installed_skill_is_inspected_and_compiled_by_its_name() {
    let context = TestContext::new();
    let ada = context.author("ada");
    let source = skill(&ada, "waitlist", "one");
    let published = publish(&ada, &source, "1.2.0");
    let reader = context.machine("reader");
    reader.run(&["install", "waitlist", "-y"]).succeeded();
    let inspected = reader.json(&["inspect", "waitlist"]);
    assert_eq!(inspected["address"], published["address"]);
    assert_eq!(inspected["included"], json!(["NOTES.md"]));
    assert!(
        reader.json(&["compile", "waitlist"])["system"].as_str().unwrap().contains("[tool: go]")
    );
    let called = reader.run_with_input(&["resolve", "waitlist", "--json"], r#"{"tool":"go"}"#);
    assert_eq!(called.json()["call"]["argv"], json!(["sh", "NOTES.md"]));
    let near = reader.run(&["inspect", "waitlst"]).ended_with(1);
    assert!(near.stderr.contains("did you mean `waitlist`?"), "{}", near.stderr);
}

#[test]
fn a_registry_that_is_down_is_named() {
    let mut context = TestContext::new();
    let ada = context.author("ada");
    let source = skill(&ada, "waitlist", "one");
    context.registry.stop();
    let down = ada.run(&["publish", &source, "--version", "1.0.0", "--json"]).ended_with(1);
    assert_eq!(down.error_code(), "registry_unreachable");
    assert!(down.stderr.contains(&context.registry.url()), "{}", down.stderr);
}

#[test]
fn a_dry_run_says_what_the_registry_would_say() {
    let context = TestContext::new();
    let (ada, eve) = (context.author("ada"), context.author("eve"));
    let source = skill(&ada, "waitlist", "one");
    let rehearse = |machine: &Machine, source: &str, more: &[&str]| {
        let mut arguments = vec!["publish", source, "--dry-run", "--json"];
        arguments.extend(more);
        machine.run(&arguments)
    };
    let first = rehearse(&ada, &source, &["--version", "1.0.0"]).succeeded();
    assert!(first.stderr.contains("would be registered"), "{}", first.stderr);
    assert!(first.stderr.contains("2 files"), "{}", first.stderr);
    assert_eq!(first.json()["asked"], true);
    publish(&ada, &source, "1.0.0");

    let again = rehearse(&ada, &source, &["--version", "1.0.0"]).succeeded();
    assert!(again.stderr.contains("already"), "{}", again.stderr);
    fs::write(ada.project.join(&source).join("NOTES.md"), "two").unwrap();
    let changed = rehearse(&ada, &source, &["--version", "1.0.0"]).ended_with(1);
    assert_eq!(changed.error_code(), "version_exists");
    rehearse(&ada, &source, &["--version", "1.0.1"]).succeeded();
    let alike = ["--name", "wait1ist", "--version", "1.0.0"];
    assert_eq!(rehearse(&ada, &source, &alike).ended_with(1).error_code(), "name_taken");
    let scoped = ["--name", "acme/waitlist", "--version", "1.0.0"];
    assert_eq!(rehearse(&ada, &source, &scoped).ended_with(5).error_code(), "scope_refused");

    let theirs = skill(&eve, "waitlist", "one");
    let foreign = rehearse(&eve, &theirs, &["--version", "2.0.0"]).ended_with(5);
    assert_eq!(foreign.error_code(), "not_an_owner");

    let key = ada.json(&["keys"])["local"][0]["id"].as_str().unwrap().to_owned();
    let revoked = ada.run(&["keys", "revoke", &key]).succeeded();
    assert!(revoked.stderr.contains("no usable key left"), "{}", revoked.stderr);
    assert!(revoked.stderr.contains("SKILLPKG_KEY=FILE"), "{}", revoked.stderr);
    let listed = ada.run(&["keys"]).succeeded().stdout;
    assert!(listed.contains("signs, and is revoked"), "{listed}");
    for more in [&["--dry-run"][..], &[]] {
        let arguments = [&["publish", &source, "--version", "1.0.1", "--json"], more].concat();
        let refused = ada.run(&arguments).ended_with(5);
        assert_eq!(refused.error_code(), "key_revoked");
        assert!(refused.stdout.contains("SKILLPKG_KEY=FILE"), "{}", refused.stdout);
    }

    let made = ada.run(&["keygen", "--output", "second.pem"]).succeeded();
    assert!(made.stderr.contains("SKILLPKG_KEY=second.pem"), "{}", made.stderr);
    let added = ada.run(&["keys", "add", "second.pem"]).succeeded();
    assert!(added.stderr.contains("Registered"), "{}", added.stderr);
    let known = ada.run(&["keys", "add", "second.pem"]).succeeded();
    assert!(known.stderr.contains("already"), "{}", known.stderr);

    let nobody = Machine { token: None, ..ada.clone() };
    let unasked = rehearse(&nobody, &source, &["--version", "1.0.1"]).succeeded();
    assert!(unasked.stderr.contains("was not asked: there is no token"), "{}", unasked.stderr);
    assert_eq!(unasked.json()["asked"], false);
    let silent =
        rehearse(&ada, &source, &["--version", "1.0.1", "--registry", "http://127.0.0.1:1"]);
    assert!(silent.succeeded().stderr.contains("was not asked: "));
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    let context = TestContext::new();
    let ada = context.author("ada");
    let source = skill(&ada, "waitlist", "one");
    publish(&ada, &source, "1.0.0");
    publish(&ada, &source, "1.1.0");
    let nothing = format!("sha256:{}", "0".repeat(64));
    for (arguments, code, told) in [
        (&["owner", "list", "waitlsit"][..], "skill_not_found", "did you mean `waitlist`?"),
        (&["owner", "add", "waitlsit", "ada"], "skill_not_found", "did you mean `waitlist`?"),
        (&["show", "waitlsit"], "skill_not_found", "did you mean `waitlist`?"),
        (&["cat", "waitlsit", "SKILL.md"], "skill_not_found", "did you mean `waitlist`?"),
        (&["yank", "waitlsit@1.0.0", "--reason", "r"], "skill_not_found", "did you mean"),
        (&["yank", "waitlist@9.9.9", "--reason", "r"], "version_not_found", "1.1.0, 1.0.0"),
        (&["unyank", "waitlist@9.9.9"], "version_not_found", "1.1.0, 1.0.0"),
        (&["cat", &nothing], "not_found", &nothing),
    ] {
        let arguments = [arguments, &["--json"]].concat();
        let refused = ada.run(&arguments).ended_with(1);
        assert_eq!(refused.error_code(), code, "{arguments:?}");
        assert!(refused.stdout.contains(told), "{arguments:?}: {}", refused.stdout);
    }
    for (arguments, code) in [
        (&["cat", "sha256:zz"][..], "invalid_address"),
        (&["cat", "BLAKE3:00"], "invalid_address"),
        (&["update", "waitlist@1.3"], "invalid_name"),
    ] {
        let arguments = [arguments, &["--json"]].concat();
        assert_eq!(ada.run(&arguments).ended_with(2).error_code(), code, "{arguments:?}");
    }
}

#[test]
fn many_are_published_each_whole_and_what_is_refused_holds_up_no_other() {
    let context = TestContext::new();
    let ada = context.author("ada");
    context.registry.command(&["scope", "add", "acme", "--owner", "ada"]);
    for name in ["a", "b", "c", "d", "e", "f"] {
        write_skill(&ada.project.join("skills").join(name), name, "one", None);
    }
    ada.write("skills/x/SKILL.md", "---\nskill: x\ndescription: [\n---\n");
    let all = ["publish", "skills", "--scope", "acme", "--version", "1.0.0"];
    let with = |more: &[&str]| ada.run(&[&all[..], more].concat());
    let told = |answer: &Value| -> Vec<String> {
        let skills = answer["skills"].as_array().unwrap().iter();
        skills.map(|one| one["status"].as_str().unwrap().to_owned()).collect()
    };

    let rehearsed = with(&["--dry-run", "--json"]).ended_with(1).json();
    assert_eq!(told(&rehearsed), ["new", "new", "new", "new", "new", "new", "refused"]);
    assert!(ada.json(&["search", "skill"])["skills"].as_array().unwrap().is_empty());
    let published = with(&["--json"]).ended_with(1).json();
    assert_eq!(told(&published), told(&rehearsed));
    let registered = published["skills"].as_array().unwrap().iter();
    assert_eq!(registered.filter(|one| !one["key_registered"].is_null()).count(), 1);
    for (position, name) in ["a", "b", "c", "d", "e", "f"].into_iter().enumerate() {
        let row = &published["skills"][position];
        assert_eq!(row["name"], format!("acme/{name}"));
        assert_eq!(ada.json(&["show", &format!("acme/{name}")])["address"], row["address"]);
    }

    // Again: the same, one with other content, and one of a new version.
    ada.write("skills/b/NOTES.md", "two");
    let again = with(&["--json"]).ended_with(1).json();
    let expected =
        ["unchanged", "refused", "unchanged", "unchanged", "unchanged", "unchanged", "refused"];
    assert_eq!(told(&again), expected);
    assert_eq!(again["skills"][1]["error"]["code"], "version_exists");
    assert_eq!(told(&with(&["--dry-run", "--json"]).json()), expected);
    let text = with(&[]).ended_with(1);
    for line in ["unchanged  acme/a 1.0.0  skills/a", "refused    acme/b 1.0.0  skills/b"] {
        assert!(text.stdout.contains(line), "{}", text.stdout);
    }
    assert!(text.stdout.contains("skills/x/SKILL.md:"), "{}", text.stdout);
    assert!(text.stderr.contains("5 unchanged, 2 refused."), "{}", text.stderr);

    // Without the right to publish there, each is refused, with the exit code of a refusal.
    let eve = context.author("eve");
    let directory = ada.project.join("skills");
    let theirs = [&all[..1], &[directory.to_str().unwrap()], &all[2..]].concat();
    eve.run(&theirs).ended_with(5);
}

#[cfg(unix)]
#[test]
fn several_commands_publish_many_at_once_and_none_takes_what_another_has_waiting() {
    let context = TestContext::new();
    let ada = context.author("ada");
    publish(&ada, &skill(&ada, "first", "one"), "1.0.0");
    let temporary = ada.project.join("temporary");
    fs::create_dir(&temporary).unwrap();
    let running: Vec<_> = ["a", "b", "c", "d"]
        .map(|group| {
            for at in 0..5 {
                let name = format!("{group}{at}");
                write_skill(&ada.project.join(group).join(&name), &name, "notes", None);
            }
            let mut command = ada.command(&["publish", group, "--version", "1.0.0"]);
            command.env("TMPDIR", &temporary).stderr(Stdio::piped()).stdout(Stdio::piped());
            command.spawn().unwrap()
        })
        .into();
    for one in running {
        let output = one.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{told}");
    }
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn told_to_end_between_two_what_was_published_is_listed() {
    use std::io::{BufRead as _, BufReader};

    let context = TestContext::new();
    let ada = context.author("ada");
    for number in 0..24 {
        let name = format!("s{number:02}");
        write_skill(&ada.project.join("skills").join(&name), &name, "one", None);
    }
    let arguments = ["publish", "skills", "--version", "1.0.0", "--json"];
    let mut child = ada.command(&arguments).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("Published ")));
    let pid = child.id().to_string();
    std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap();
    let rest = std::thread::spawn(move || lines.count());
    let output = child.wait_with_output().unwrap();
    rest.join().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let skills = answer["skills"].as_array().unwrap();
    assert_eq!(skills.len(), 24);
    let of = |status: &str| skills.iter().filter(|one| one["status"] == status).count();
    assert!(of("new") >= 1 && of("not_sent") >= 1, "{answer}");
    assert_eq!(of("new") + of("not_sent"), 24);
    for one in skills {
        let is_there = ada.run(&["show", one["name"].as_str().unwrap()]).code == 0;
        assert_eq!(is_there, one["status"] == "new", "{one}");
    }
    // Once more, and the rest follows.
    let answer = ada.run(&arguments).succeeded().json();
    let unchanged = answer["skills"].as_array().unwrap().iter();
    assert_eq!(unchanged.filter(|one| one["status"] == "unchanged").count(), of("new"));
}
