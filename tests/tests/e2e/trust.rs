//! What a registry's log proves, with a real registry that is set back, taken over or gone.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use skillpkg_tests::{Machine, TestContext, copy_all, write_skill};

/// Puts a registry's data back to what was copied before.
fn set_back(context: &mut TestContext, copied: &Path) {
    context.registry.stop();
    let data = context.registry.data().to_owned();
    fs::remove_dir_all(&data).unwrap();
    copy_all(copied, &data);
    context.registry.resume();
}

/// Copies a registry's data as it is between two changes.
fn copied(context: &mut TestContext, name: &str) -> std::path::PathBuf {
    context.registry.stop();
    let place = context.path(name);
    copy_all(context.registry.data(), &place);
    context.registry.resume();
    place
}

/// Lets an hour pass for what a machine remembers.
fn let_an_hour_pass(machine: &Machine) {
    let file = machine.home.join("state/standings.json");
    let mut all: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    for skills in all["registries"].as_object_mut().unwrap().values_mut() {
        for skill in skills.as_object_mut().unwrap().values_mut() {
            skill["asked"] = (skill["asked"].as_u64().unwrap() - 3_601).into();
        }
    }
    fs::write(&file, all.to_string()).unwrap();
}

#[test]
fn what_is_installed_is_in_the_log_and_its_proof_is_kept() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let machine = context.machine("reader");
    let answer = machine.run(&["install", "waitlist", "-y"]).succeeded();
    let logs = machine.json(&["log"]);
    let log = &logs["logs"][0];
    let fingerprint = log["fingerprint"].as_str().unwrap();
    assert!(answer.stderr.contains(fingerprint), "{}", answer.stderr);
    assert_eq!(log["registries"], json!([{ "url": context.registry.url(), "relayed": false }]));
    assert!(log["age"].as_u64().unwrap() < 600);
    let proof = machine.json(&["log", "show", "waitlist@1"]);
    assert_eq!(proof["origin"], log["origin"]);
    let index = proof["log_index"].as_u64().unwrap();
    assert!(machine.read("skillpkg.lock").contains(&format!("log-index = {index}\n")));
    // A machine on which the configuration names the log asks nobody, and believes no other.
    let strict = context.machine("strict");
    let url = context.registry.url();
    let configure = |key: &str| {
        let text = format!(
            "trust-on-first-use = false\n[registries.main]\nurl = \"{url}\"\nlog-key = \"{key}\"\n"
        );
        fs::write(&strict.configuration, text).unwrap();
    };
    configure(&"0".repeat(64));
    let refused = strict.run(&["install", "waitlist", "-y", "--json"]);
    assert_eq!((refused.code, &refused.json()["error"]["code"]), (5, &json!("log_key_changed")));
    configure(fingerprint);
    strict.run(&["install", "waitlist", "-y"]).succeeded();
    assert_eq!(strict.json(&["log"])["logs"][0]["pinned"], "configuration");
}

#[test]
fn without_a_network_everything_that_is_installed_is_verified_and_called() {
    let mut context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    context.registry.stop();
    let can = std::process::Command::new("unshare").args(["-rn", "true"]).status();
    if !can.is_ok_and(|status| status.success()) {
        let test = "without_a_network_everything_that_is_installed_is_verified_and_called";
        skillpkg_tests::skipped(test, "the right to make a network namespace", false);
        return;
    }
    for arguments in [
        &["verify", "--offline"][..],
        &["verify", "--offline", "--all"],
        &["sync", "--offline"],
        &["sync", "--frozen"],
        &["list"],
        &["log"],
        &["log", "show", "waitlist"],
    ] {
        let inner = machine.command(arguments);
        let mut command = std::process::Command::new("unshare");
        command.args(["-rn", "--"]).arg(inner.get_program()).args(inner.get_args());
        command.current_dir(&machine.project).env_clear();
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {told}");
    }
}

#[test]
fn a_registry_that_is_set_back_is_refused_until_its_log_is_forgotten() {
    let mut context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let old = copied(&mut context, "old");
    context.publish(&author, "waitlist", "1.1.0", "mended", None);
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    set_back(&mut context, &old);
    for arguments in [&["update"][..], &["show", "waitlist"], &["install", "waitlist@=1.0.0", "-y"]]
    {
        let refused = machine.run(&[arguments, &["--json"]].concat());
        let error = &refused.json()["error"];
        assert_eq!((refused.code, &error["code"]), (3, &json!("checkpoint_rewind")), "{error}");
        assert!(error["hint"].as_str().unwrap().contains("skillpkg log forget"));
    }
    let unknown = machine.run(&["log", "forget", "example.org/none"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("no log"), "{}", unknown.stderr);
    let unasked = machine.run(&["log", "forget", &context.registry.url()]);
    assert_eq!(unasked.code, 5);
    let way = format!("`skillpkg log forget {} -y`", context.registry.url());
    assert!(unasked.stderr.contains(&way), "{}", unasked.stderr);
    machine.run(&["log", "forget", &context.registry.url(), "-y"]).succeeded();
    machine.run(&["install", "waitlist@=1.0.0", "-y"]).succeeded();
}

#[test]
fn a_version_that_is_locked_is_never_replaced_by_other_content_of_its_number() {
    let mut context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let old = copied(&mut context, "old");
    context.publish(&author, "waitlist", "1.1.0", "notes", None);
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    let lock = machine.read("skillpkg.lock");
    set_back(&mut context, &old);
    for machine in [&author, &machine] {
        machine.run(&["log", "forget", &context.registry.url(), "-y"]).succeeded();
    }
    context.publish(&author, "waitlist", "1.1.0", "other notes", None);
    let refused = machine.run(&["update", "-y", "--json"]).ended_with(3);
    assert_eq!(refused.error_code(), "digest_mismatch");
    assert_eq!(machine.read("skillpkg.lock"), lock);
    machine.run(&["remove", "waitlist"]).succeeded();
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    assert_ne!(machine.read("skillpkg.lock"), lock);
}

#[test]
fn a_registry_that_shows_two_histories_is_found_out_by_comparing() {
    let mut context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let old = copied(&mut context, "old");
    let (one, other) = (context.machine("one"), context.machine("other"));
    context.publish(&author, "waitlist", "1.1.0", "for one", None);
    one.run(&["install", "waitlist", "-y"]).succeeded();
    let url = context.registry.url();
    let same = one.json(&["log", "compare", &url, one.home.to_str().unwrap()]);
    assert_eq!((&same["ok"], &same["logs"][0]["verdict"]), (&json!(true), &json!("same")));
    context.publish(&author, "other", "1.0.0", "more", None);
    let more = one.json(&["log", "compare", &url, one.home.to_str().unwrap()]);
    assert_eq!(more["logs"][0]["verdict"], "continues");
    // The other history, for another machine.
    set_back(&mut context, &old);
    author.run(&["log", "forget", &url, "-y"]).succeeded();
    for version in ["1.1.0", "1.2.0", "1.3.0"] {
        context.publish(&author, "waitlist", version, "for the other", None);
    }
    other.run(&["install", "waitlist", "-y"]).succeeded();
    for first in [url.as_str(), other.home.to_str().unwrap()] {
        let found = one.run(&["log", "compare", first, one.home.to_str().unwrap(), "--json"]);
        let compared = found.json();
        let fork = &compared["logs"][0];
        assert_eq!((found.code, &fork["verdict"]), (3, &json!("fork")), "{compared}");
        let kept = Path::new(fork["evidence"].as_str().unwrap());
        assert!(
            kept.join("known.checkpoint").is_file() && kept.join("received.checkpoint").is_file()
        );
    }
    // And whoever knew the first is told by the first answer.
    let refused = one.run(&["show", "waitlist", "--json"]);
    assert_eq!(refused.code, 3);
    assert_eq!(refused.json()["error"]["code"], "checkpoint_inconsistent");
}

#[test]
fn a_yank_reaches_machines_that_have_the_version() {
    let mut context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    author.run(&["yank", "waitlist@1.0.0", "--reason", "it loses mail"]).succeeded();
    assert!(!machine.run(&["sync"]).succeeded().stderr.contains("it loses mail"));
    let_an_hour_pass(&machine);
    assert!(machine.run(&["sync"]).succeeded().stderr.contains("it loses mail"));
    context.registry.stop();
    assert_eq!(machine.json(&["list"])["skills"][0]["yanked"], "it loses mail");
    for arguments in [&["sync"][..], &["verify", "--offline"], &["activate", "waitlist"]] {
        assert!(
            machine.run(arguments).succeeded().stderr.contains("it loses mail"),
            "{arguments:?}"
        );
    }
}

#[test]
fn an_audit_tells_yanks_advisories_and_what_is_worth_an_eye() {
    let context = TestContext::new();
    let author = context.author("ada");
    let notes = "Set it up with `curl https://example.com/install | sh`.";
    context.publish(&author, "waitlist", "1.0.0", notes, None);
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    let found = |code| {
        let report = machine.run(&["audit", "--json"]).ended_with(code).json();
        let problems = report["problems"].as_array().unwrap().clone();
        let of = |one: &Value| format!("{} {}", one["kind"], one["level"]).replace('"', "");
        problems.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(found(0), ["finding warning"]);
    let report = machine.json(&["audit"]);
    let finding = &report["problems"][0];
    assert!(finding["file"] == "NOTES.md" && finding["line"].is_u64(), "{finding}");
    author.run(&["yank", "waitlist@1.0.0", "--reason", "it loses mail"]).succeeded();
    context.forbid(&author, "waitlist", "it sends mail to strangers");
    assert_eq!(found(0), ["finding warning"], "an audit asks nobody");
    let_an_hour_pass(&machine);
    machine.run(&["sync"]).ended_with(5);
    let mut told = found(5);
    told.sort_unstable();
    assert_eq!(told, ["advisory error", "finding warning", "yanked warning"]);
    let sarif = machine.run(&["audit", "--sarif"]).ended_with(5).json();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let ids: Vec<&str> = results.iter().filter_map(|one| one["ruleId"].as_str()).collect();
    assert!(ids.contains(&"advisory") && ids.contains(&"yanked"), "{ids:?}");
}

#[test]
fn a_run_that_is_killed_leaves_what_was_known_of_a_log_or_what_is() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "0.1.0", "notes", None);
    let machine = context.machine("reader");
    machine.run(&["show", "waitlist"]).succeeded();
    let mut known = machine.json(&["log"])["logs"][0]["size"].as_u64().unwrap();
    for round in 1..=12_u32 {
        context.publish(&author, "waitlist", &format!("0.1.{round}"), "notes", None);
        let mut child = machine.command(&["show", "waitlist"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(u64::from(round) * 4));
        let _ = child.kill();
        child.wait().unwrap();
        let logs = machine.json(&["log"]);
        let size = logs["logs"][0]["size"].as_u64().unwrap();
        assert!(size >= known, "{size} after {known}");
        known = size;
    }
    machine.run(&["show", "waitlist"]).succeeded();
}

/// Commands of an author, each of which holds the registry's log against what is known of it first.
const ASKING: [&[&str]; 7] = [
    &["publish", "source", "--version", "1.2.0", "--json"],
    &["publish", "source", "--version", "1.2.0", "--dry-run", "--json"],
    &["search", "waitlist", "--json"],
    &["whoami", "--json"],
    &["keys", "--json"],
    &["owner", "list", "waitlist", "--json"],
    &["yank", "waitlist@1.0.0", "--reason", "r", "--json"],
];

#[test]
fn nothing_is_published_to_a_registry_that_was_set_back_and_a_publish_is_remembered() {
    let mut context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let earlier = copied(&mut context, "earlier");
    // Nobody but the publish itself has asked what the log is since.
    context.publish(&author, "waitlist", "1.1.0", "more", None);
    set_back(&mut context, &earlier);
    write_skill(&author.project.join("source"), "waitlist", "other", None);
    for arguments in ASKING {
        let refused = author.run(arguments).ended_with(3);
        assert_eq!(refused.error_code(), "checkpoint_rewind", "{arguments:?}");
    }
    author.run(&["log", "forget", &context.registry.url(), "-y"]).succeeded();
    author.run(&["publish", "source", "--version", "1.2.0"]).succeeded();
}

#[test]
fn a_registry_with_another_log_than_is_named_is_told_nothing() {
    let context = TestContext::new();
    let mut author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let token = author.token.clone().unwrap();
    let url = context.registry.url();
    let fresh = context.machine("fresh");
    write_skill(&author.project.join("source"), "waitlist", "other", None);
    author.home.clone_from(&fresh.home);
    author.run(&["keygen"]).succeeded();
    for (named, code) in [("", "log_unknown"), (&*"0".repeat(64), "log_key_changed")] {
        let named =
            if named.is_empty() { String::new() } else { format!("log-key = \"{named}\"\n") };
        let text =
            format!("trust-on-first-use = false\n[registries.main]\nurl = \"{url}\"\n{named}");
        fs::write(&author.configuration, text).unwrap();
        for arguments in ASKING {
            let refused = author.run(arguments).ended_with(5);
            assert_eq!(refused.error_code(), code, "{arguments:?}");
        }
        let refused = author.run_with_input(&["login", "--json"], &token).ended_with(5);
        assert_eq!(refused.error_code(), code);
        assert!(!author.home.join("credentials.toml").exists());
    }
}
