//! Bundles: skills go from one machine to another that no network reaches.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use skillpkg_tests::{Answer, Machine, TestContext, copy_all};

/// The fingerprint of the one log that a machine knows.
fn fingerprint(machine: &Machine) -> String {
    machine.json(&["log"])["logs"][0]["fingerprint"].as_str().unwrap().to_owned()
}

/// A machine whose configuration names the log of its registry, and that knows nothing else.
fn told_of(context: &TestContext, name: &str, fingerprint: &str) -> Machine {
    let machine = context.machine(name);
    let url = context.registry.url();
    let text = format!("[registries.main]\nurl = \"{url}\"\nlog-key = \"{fingerprint}\"\n");
    fs::write(&machine.configuration, text).unwrap();
    machine
}

/// Makes a bundle of what a machine names, beside the other files of the test.
fn bundle(context: &TestContext, machine: &Machine, name: &str, arguments: &[&str]) -> String {
    let path = context.path(name).to_str().unwrap().to_owned();
    machine.run(&[&["bundle", "-o", &path, "--force"], arguments].concat()).succeeded();
    path
}

/// Runs a command without any network, where that may be; else as it is.
fn isolated(machine: &Machine, arguments: &[&str]) -> Answer {
    let inner = machine.command(arguments);
    let can = Command::new("unshare").args(["-rn", "true"]).stderr(Stdio::null()).status();
    if !can.is_ok_and(|status| status.success()) {
        skillpkg_tests::skipped("bundle", "the right to make a network namespace", false);
        return machine.run(arguments);
    }
    let mut command = Command::new("unshare");
    command.args(["-rn", "--"]).arg(inner.get_program()).args(inner.get_args());
    command.current_dir(&machine.project).env_clear();
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Answer::of(arguments, &command.output().unwrap())
}

#[test]
fn what_is_bundled_is_installed_verified_and_called_without_a_network() {
    let mut context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", Some("printf yes"));
    context.publish(&author, "other", "2.0.0", "more", None);
    let here = context.machine("here");
    here.run(&["install", "waitlist", "other", "-y"]).succeeded();
    let file = bundle(&context, &here, "a.bundle", &[]);
    let again = bundle(&context, &here, "b.bundle", &[]);
    assert!(fs::read(&file).unwrap() == fs::read(&again).unwrap(), "the same gives the same bytes");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let refused = here.run(&["bundle", "-o", &file, "--json"]).ended_with(1);
    assert_eq!(refused.error_code(), "not_written");
    let there = told_of(&context, "there", &fingerprint(&here));
    context.registry.stop();
    isolated(&there, &["verify", &file]).succeeded();
    isolated(&there, &["install", "--bundle", &file, "-y"]).succeeded();
    assert_eq!(there.read("skillpkg.lock"), here.read("skillpkg.lock"));
    for arguments in [
        &["verify", "--offline"][..],
        &["verify", "--offline", "--all"],
        &["sync", "--offline"],
        &["sync", "--frozen", "--bundle", &file],
        &["log", "show", "waitlist"],
    ] {
        isolated(&there, arguments).succeeded();
    }
    let called = isolated(&there, &["call", "waitlist", "go"]).succeeded();
    assert_eq!(called.stdout, "yes");
    // Once the registry is reached again, everything goes on from there.
    context.registry.resume();
    context.publish(&author, "waitlist", "1.1.0", "mended", Some("printf yes"));
    there.run(&["update", "-y"]).succeeded();
    assert!(there.read("skillpkg.lock").contains("1.1.0"));
}

#[test]
fn a_lockfile_is_synced_from_a_bundle_and_what_it_lacks_is_named() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    context.publish(&author, "other", "2.0.0", "more", None);
    let here = context.machine("here");
    here.run(&["install", "waitlist", "other", "-y"]).succeeded();
    let all = bundle(&context, &here, "all.bundle", &[]);
    let one = bundle(&context, &here, "one.bundle", &["waitlist"]);
    let there = told_of(&context, "there", &fingerprint(&here));
    for name in ["skillpkg.toml", "skillpkg.lock"] {
        there.write(name, &here.read(name));
    }
    let lacks = isolated(&there, &["sync", "--bundle", &one, "-y", "--json"]).ended_with(1);
    assert_eq!(lacks.error_code(), "bundle_lacks");
    assert!(!there.project.join(".agents").exists());
    isolated(&there, &["sync", "--frozen", "--bundle", &all, "-y"]).succeeded();
    assert_eq!(there.read("skillpkg.lock"), here.read("skillpkg.lock"));
    let other = told_of(&context, "another", &fingerprint(&here));
    let lacks = isolated(&other, &["install", "--bundle", &one, "other", "-y", "--json"]);
    assert_eq!(lacks.ended_with(1).error_code(), "bundle_lacks");
    let shown = other.json(&["inspect", &all]);
    assert_eq!(shown["registries"][0]["skills"][0]["name"], "other");
    assert_eq!(shown["registries"][0]["skills"][1]["versions"][0]["version"], "1.0.0");
    assert_eq!(other.json(&["bundle", "--list", &all])["registries"], shown["registries"]);
}

#[test]
fn a_log_that_nothing_names_is_not_believed_for_standing_in_a_bundle() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let here = context.machine("here");
    let file = bundle(&context, &here, "a.bundle", &["waitlist@1.0.0"]);
    let there = context.machine("there");
    let refused = isolated(&there, &["install", "--bundle", &file, "-y", "--json"]).ended_with(5);
    assert_eq!(refused.error_code(), "log_unknown");
    let print = fingerprint(&here);
    assert!(refused.json().to_string().contains(&print));
    assert!(there.picture().is_empty());
    let verified = isolated(&there, &["verify", &file, "--json"]).ended_with(5);
    assert_eq!(verified.json()["problems"][0]["code"], "log_unknown");
    assert!(!verified.stderr.contains("`skillpkg sync`"), "{}", verified.stderr);
    let wrong = told_of(&context, "wrong", &"0".repeat(64));
    let refused = isolated(&wrong, &["install", "--bundle", &file, "-y", "--json"]).ended_with(5);
    assert_eq!(refused.error_code(), "log_key_changed");
    let trusting = ["install", "--bundle", &file, "--trust-on-first-use", "-y"];
    let told = isolated(&there, &trusting).succeeded();
    assert!(told.stderr.contains(&print), "{}", told.stderr);
    // Whoever has no registry configured at all takes that of the bundle, by name.
    let mut bare = context.machine("bare");
    bare.registry = None;
    isolated(&bare, &trusting).succeeded();
    assert!(bare.read("skillpkg.lock").contains(&context.registry.url()));
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_replaced_by_a_bundle() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let pipe = context.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for target in [pipe.to_str().unwrap(), context.path("").to_str().unwrap()] {
        let refused = author.run(&["bundle", "waitlist", "-o", target, "--force"]).ended_with(1);
        assert!(refused.stderr.contains("--output"), "{}", refused.stderr);
    }
    assert!(!pipe.symlink_metadata().unwrap().is_file());
}

#[test]
fn a_changed_bundle_installs_nothing() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    context.publish(&author, "other", "1.0.0", "more", None);
    let here = context.machine("here");
    let file = bundle(&context, &here, "a.bundle", &["waitlist", "other"]);
    let bytes = fs::read(&file).unwrap();
    let there = told_of(&context, "there", &fingerprint(&here));
    let changed = context.path("changed.bundle");
    let size = bytes.len();
    let mut cases: Vec<(String, Vec<u8>)> = Vec::new();
    for at in [600, 5_000, size / 2, size - 2_000, size - 1] {
        let mut other = bytes.clone();
        other[at] ^= 1;
        cases.push((format!("byte {at}"), other));
    }
    cases.push(("cut".to_owned(), bytes[..size - 1_024].to_vec()));
    cases.push(("cut in the middle".to_owned(), bytes[..size / 3].to_vec()));
    cases.push(("more".to_owned(), [&bytes[..], &[0]].concat()));
    cases.push(("twice".to_owned(), [&bytes[..], &bytes[..]].concat()));
    for (what, bytes) in cases {
        fs::write(&changed, bytes).unwrap();
        let arguments = ["install", "--bundle", changed.to_str().unwrap(), "-y", "--json"];
        let refused = there.run(&arguments);
        assert!(matches!(refused.code, 2 | 3), "{what}: {} {}", refused.code, refused.stdout);
        assert!(there.picture().is_empty(), "{what}");
    }
}

/// What a test makes of an index, and of the files of a bundle by their paths.
type Change<'c> = &'c dyn Fn(&mut Value, &mut Vec<(String, Vec<u8>)>);

/// A bundle whose index a test changes, written anew with every digest right: the work of somebody
/// who knows the format.
fn forged(file: &str, target: &Path, change: Change<'_>) {
    use skillpkg_schema::bundle::{BundleIndex, BundledFile};
    use skillpkg_schema::log::Hash;
    use skillpkg_store::bundle::{BundleReader, BundleWriter};

    let mut reader = BundleReader::open(fs::File::open(file).unwrap()).unwrap();
    let index = reader.index().clone();
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for entry in &index.files {
        files.push((entry.path.clone(), reader.read(&entry.path).unwrap()));
    }
    let mut value = serde_json::to_value(&index).unwrap();
    change(&mut value, &mut files);
    let mut index: BundleIndex = serde_json::from_value(value).unwrap();
    let entry = |(path, bytes): &(String, Vec<u8>)| BundledFile {
        path: path.clone(),
        sha256: Hash::of(bytes),
        size: bytes.len() as u64,
    };
    files.sort();
    index.files = files.iter().map(entry).collect();
    let mut writer = BundleWriter::new(fs::File::create(target).unwrap(), &index).unwrap();
    for (path, bytes) in &files {
        writer.add(path, bytes).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn a_bundle_forged_with_care_is_refused_by_what_the_log_proves() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    context.publish(&author, "other", "1.0.0", "more", None);
    author.run(&["yank", "waitlist@1.0.0", "--reason", "it loses mail"]).succeeded();
    let here = context.machine("here");
    let file = bundle(&context, &here, "a.bundle", &["waitlist@=1.0.0", "other"]);
    let there = told_of(&context, "there", &fingerprint(&here));
    let target = context.path("forged.bundle");
    let code = |change: Change<'_>| {
        forged(&file, &target, change);
        let path = target.to_str().unwrap();
        let wanted = ["install", "--bundle", path, "waitlist@=1.0.0", "other", "-y", "--json"];
        let refused = isolated(&there, &wanted);
        assert!(there.picture().is_empty(), "{}", refused.stdout);
        assert!(matches!(refused.code, 3 | 5), "{}", refused.stdout);
        refused.error_code()
    };
    let skill = |value: &mut Value, name: &str| -> usize {
        let skills = value["registries"][0]["skills"].as_array().unwrap();
        skills.iter().position(|skill| skill["name"] == name).unwrap()
    };
    // A document from which the yank was taken.
    let unyanked = code(&|value, files| {
        let at = skill(value, "waitlist");
        let digest = value["registries"][0]["skills"][at]["document"].as_str().unwrap().to_owned();
        let path = format!("documents/{digest}.json");
        let position = files.iter().position(|(name, _)| *name == path).unwrap();
        let mut document: Value = serde_json::from_slice(&files[position].1).unwrap();
        document["versions"][0].as_object_mut().unwrap().remove("yanked");
        let bytes = serde_json::to_vec(&document).unwrap();
        let digest = skillpkg_schema::log::Hash::of(&bytes).to_string();
        files[position] = (format!("documents/{digest}.json"), bytes);
        value["registries"][0]["skills"][at]["document"] = json!(digest);
    });
    assert_eq!(unyanked, "document_changed");
    // The proof of one for the other.
    let swapped = code(&|value, _| {
        let (one, other) = (skill(value, "waitlist"), skill(value, "other"));
        let skills = &mut value["registries"][0]["skills"];
        let proof = skills[one]["versions"][0]["proof"].clone();
        skills[other]["versions"][0]["proof"] = proof;
    });
    assert_eq!(swapped, "inclusion_missing");
    // A proof that leads elsewhere.
    let elsewhere = code(&|value, _| {
        let at = skill(value, "waitlist");
        value["registries"][0]["skills"][at]["versions"][0]["proof"]["proof"] = json!("");
    });
    assert_eq!(elsewhere, "inclusion_refused");
    // A checkpoint that nobody signed.
    let unsigned = code(&|value, _| {
        let view = &mut value["registries"][0]["logs"][0]["view"];
        let text = view["checkpoint"].as_str().unwrap().to_owned();
        let at = text.rfind("\u{2014}").unwrap();
        let mut changed = text[..at].replacen("\n1", "\n2", 1);
        changed.push_str(&text[at..]);
        view["checkpoint"] = json!(changed.replace('A', "B"));
    });
    assert_eq!(unsigned, "checkpoint_unsigned");
    // Tiles of another tree.
    let tiles = code(&|_, files| {
        let tile = files.iter_mut().find(|(path, _)| path.starts_with("logs/")).unwrap();
        tile.1[0] ^= 1;
    });
    assert_eq!(tiles, "bundle_tiles");
    // One that says of another registry that this log is its own.
    let claimed = code(&|value, _| {
        value["registries"][0]["url"] = json!("https://skills.example.org");
    });
    assert_eq!(claimed, "bundle_registry");
}

#[test]
fn a_bundle_that_a_mirror_gave_is_as_good_as_one_of_the_registry() {
    let mut context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let upstream = context.registry.url();
    let mirror = skillpkg_tests::Registry::start_with(
        &context.path("mirror"),
        &["--mirror", &upstream, "--allow-upstream", "127.0.0.1", "--mirror-every", "1s"],
    );
    let asked = context.machine("asked");
    asked.run(&["show", "waitlist"]).succeeded();
    let print = fingerprint(&asked);
    let here = context.machine("here");
    let text = format!(
        "[registries.main]\nurl = \"{upstream}\"\nlog-key = \"{print}\"\nmirrors = [\"{}\"]\n\
         fallback = false\n",
        mirror.url()
    );
    fs::write(&here.configuration, text).unwrap();
    let made = (0..100).any(|_| {
        let path = context.path("a.bundle");
        let made = here.run(&["bundle", "waitlist", "-o", path.to_str().unwrap()]);
        made.code == 0 || {
            std::thread::sleep(Duration::from_millis(100));
            false
        }
    });
    assert!(made);
    context.registry.stop();
    let there = told_of(&context, "there", &print);
    let file = context.path("a.bundle");
    isolated(&there, &["install", "--bundle", file.to_str().unwrap(), "-y"]).succeeded();
    assert!(there.read("skillpkg.lock").contains(&upstream));
    isolated(&there, &["verify", "--offline"]).succeeded();
    // Where the mirror is the registry that is configured, the log is that which it relays.
    let of_mirror = |name| Machine { registry: Some(mirror.url()), ..context.machine(name) };
    let file = bundle(&context, &of_mirror("by-mirror"), "b.bundle", &["waitlist"]);
    let reader = of_mirror("of-mirror");
    let logs = reader.json(&["inspect", &file])["registries"][0]["logs"].clone();
    assert_eq!((&logs[0]["relayed"], &logs[0]["fingerprint"]), (&json!(true), &json!(print)));
    let trusting = ["install", "--bundle", &file, "--trust-on-first-use", "-y"];
    assert!(isolated(&reader, &trusting).succeeded().stderr.contains(&print));
    assert!(reader.read("skillpkg.lock").contains(&mirror.url()));
    isolated(&reader, &["verify", "--offline"]).succeeded();
}

#[test]
fn bundles_newer_and_older_than_what_was_seen_are_told_apart_from_another_history() {
    let mut context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let here = context.machine("here");
    let first = bundle(&context, &here, "first.bundle", &["waitlist"]);
    let print = fingerprint(&here);
    context.registry.stop();
    let old = context.path("old");
    copy_all(context.registry.data(), &old);
    context.registry.resume();
    context.publish(&author, "waitlist", "1.1.0", "mended", None);
    let second = bundle(&context, &here, "second.bundle", &["waitlist@1.1.0"]);
    let there = told_of(&context, "there", &print);
    let install = |machine: &Machine, file: &str, wanted: &str| {
        isolated(machine, &["install", "--bundle", file, wanted, "-y", "--json"])
    };
    install(&there, &first, "waitlist").succeeded();
    // What the bundle brings is taken where nothing is named.
    isolated(&there, &["install", "--bundle", &second, "-y"]).succeeded();
    assert!(there.read("skillpkg.lock").contains("1.1.0"));
    let known = there.json(&["log"])["logs"][0]["size"].clone();
    // The earlier one: what is kept of the later tree proves it, and nothing goes back.
    isolated(&there, &["install", "--bundle", &first, "-y"]);
    assert!(there.read("skillpkg.lock").contains("1.1.0"), "nothing goes back by itself");
    install(&there, &first, "waitlist@=1.0.0").succeeded();
    assert!(there.read("skillpkg.lock").contains("1.0.0"));
    assert_eq!(there.json(&["log"])["logs"][0]["size"], known);
    isolated(&there, &["verify", "--offline"]).succeeded();
    // A machine that saw the log elsewhere keeps no tree: nothing is proven, and that is told.
    let online = told_of(&context, "online", &print);
    online.run(&["show", "waitlist"]).succeeded();
    let earlier = install(&online, &first, "waitlist").ended_with(5);
    assert_eq!(earlier.error_code(), "bundle_earlier");
    assert!(earlier.stdout.contains("evidence"), "{}", earlier.stdout);
    // Another history, of the same log and its keys.
    context.registry.stop();
    fs::remove_dir_all(context.registry.data()).unwrap();
    copy_all(&old, context.registry.data());
    context.registry.resume();
    author.run(&["log", "forget", &context.registry.url(), "-y"]).succeeded();
    for version in ["1.1.0", "1.2.0", "1.3.0"] {
        context.publish(&author, "waitlist", version, "another", None);
    }
    let deceived = context.machine("deceived");
    let fork = bundle(&context, &deceived, "fork.bundle", &["waitlist"]);
    for machine in [&there, &online] {
        let before = machine.picture();
        let refused = install(machine, &fork, "waitlist@1.3.0").ended_with(3);
        assert_eq!(refused.error_code(), "checkpoint_fork");
        assert!(refused.stdout.contains("evidence"), "{}", refused.stdout);
        assert_eq!(machine.picture(), before);
    }
}

#[test]
fn a_bundle_tells_yanks_and_advisories_and_what_was_said_later_holds() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    context.publish(&author, "other", "1.0.0", "more", None);
    let here = context.machine("here");
    here.run(&["install", "waitlist", "other", "-y"]).succeeded();
    let before = bundle(&context, &here, "before.bundle", &[]);
    let there = told_of(&context, "there", &fingerprint(&here));
    isolated(&there, &["install", "--bundle", &before, "-y"]).succeeded();
    author.run(&["yank", "other@1.0.0", "--reason", "it loses mail"]).succeeded();
    context.forbid(&author, "waitlist", "it sends mail to strangers");
    let path = context.path("after.bundle");
    let after = path.to_str().unwrap();
    let made = here.run(&["bundle", "-o", after]).succeeded();
    assert!(made.stderr.contains("it loses mail") && made.stderr.contains("to strangers"));
    let synced = isolated(&there, &["sync", "--bundle", after, "--json"]).ended_with(5);
    assert_eq!(synced.error_code(), "advisory_forbids");
    // It is remembered, also where the earlier bundle says nothing of it.
    let refused = isolated(&there, &["sync", "--bundle", &before, "--json"]).ended_with(5);
    assert_eq!(refused.error_code(), "advisory_forbids");
    let fresh = told_of(&context, "fresh", &fingerprint(&here));
    let wanted = ["install", "--bundle", after, "other@=1.0.0", "-y"];
    assert!(isolated(&fresh, &wanted).succeeded().stderr.contains("it loses mail"));
    let wanted = ["install", "--bundle", after, "waitlist", "-y", "--json"];
    assert_eq!(isolated(&fresh, &wanted).ended_with(5).error_code(), "advisory_forbids");
}

#[test]
fn skills_of_several_registries_and_private_ones_travel_in_one_bundle() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let (second, other) = context.elsewhere("eve");
    second.command(&["scope", "add", "acme", "--owner", "eve", "--private"]);
    context.publish(&other, "acme/secret", "1.0.0", "hidden", None);
    let mut here = context.machine("here");
    let token = other.token.clone().unwrap();
    let configure = |machine: &Machine, keys: &str| {
        let text =
            format!("[registries.second]\nurl = \"{}\"\nscopes = [\"acme\"]\n{keys}", second.url());
        fs::write(&machine.configuration, text).unwrap();
    };
    configure(&here, "");
    here.token = None;
    here.run_with_input(&["login", "--registry", &second.url()], &format!("{token}\n")).succeeded();
    here.run(&["install", "waitlist", "acme/secret", "-y"]).succeeded();
    let file = bundle(&context, &here, "a.bundle", &[]);
    let there = context.machine("there");
    configure(&there, "");
    let wanted = ["install", "--bundle", &file, "--trust-on-first-use", "-y"];
    isolated(&there, &wanted).succeeded();
    assert_eq!(there.read("skillpkg.lock"), here.read("skillpkg.lock"));
    isolated(&there, &["verify", "--offline"]).succeeded();
    assert!(there.json(&["log", "show", "acme/secret"])["private"].as_bool().unwrap_or(true));
    let shown = there.json(&["inspect", &file]);
    assert_eq!(shown["registries"].as_array().unwrap().len(), 2);
    assert!(shown.to_string().contains("\"private\":true"));
}

#[test]
fn whoever_is_killed_leaves_no_bundle_or_a_whole_one_and_an_install_the_old_or_the_new() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    context.publish(&author, "other", "1.0.0", "more", None);
    let here = context.machine("here");
    let whole = bundle(&context, &here, "whole.bundle", &["waitlist", "other"]);
    let print = fingerprint(&here);
    for round in 0..12_u64 {
        let path = context.path(format!("killed-{round}.bundle"));
        let name = path.to_str().unwrap();
        let mut child = here.command(&["bundle", "waitlist", "other", "-o", name]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(round * 25));
        let _ = child.kill();
        child.wait().unwrap();
        if path.exists() {
            here.run(&["verify", name]).succeeded();
        }
        let there = told_of(&context, &format!("there-{round}"), &print);
        let mut child = there.command(&["install", "--bundle", &whole, "-y"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(round * 20));
        let _ = child.kill();
        child.wait().unwrap();
        there.run(&["install", "--bundle", &whole, "-y"]).succeeded();
        there.run(&["verify", "--offline"]).succeeded();
    }
    // What those left that were killed in the middle goes with the next that is made there.
    bundle(&context, &here, "last.bundle", &["waitlist"]);
    let names = fs::read_dir(context.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    let left = names.filter(|name| name.to_string_lossy().starts_with(".skillpkg-"));
    assert_eq!(left.collect::<Vec<_>>(), Vec::<std::ffi::OsString>::new());
}

#[test]
fn a_bundle_that_says_a_log_to_be_another_registrys_keeps_nobody_from_publishing() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let here = context.machine("here");
    let file = bundle(&context, &here, "a.bundle", &["waitlist"]);
    let target = context.path("forged.bundle");
    forged(&file, &target, &|value, _| {
        value["registries"][0]["logs"][0]["relayed"] = json!(true);
    });
    let other = context.author("ben");
    let text = format!(
        "[registries.main]\nurl = \"{}\"\nlog-key = \"{}\"\n",
        context.registry.url(),
        fingerprint(&here)
    );
    fs::write(&other.configuration, text).unwrap();
    other.run(&["install", "--bundle", target.to_str().unwrap(), "waitlist", "-y"]).succeeded();
    // The first publish of an account signs that it holds its key, for a log of the registry's own.
    context.publish(&other, "greet", "1.0.0", "notes", None);
}

#[test]
fn two_installs_of_one_bundle_at_once_both_succeed() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let here = context.machine("here");
    let file = bundle(&context, &here, "a.bundle", &["waitlist"]);
    let there = told_of(&context, "there", &fingerprint(&here));
    let projects: Vec<Machine> = (0..4)
        .map(|at: u32| {
            there.in_project(&context.path(PathBuf::from(format!("project-{}", at / 2))))
        })
        .collect();
    let arguments = ["install", "--bundle", &file, "-y"];
    let children: Vec<_> =
        projects.iter().map(|machine| machine.command(&arguments).spawn().unwrap()).collect();
    for child in children {
        Answer::of(&arguments, &child.wait_with_output().unwrap()).succeeded();
    }
    for machine in projects {
        machine.run(&["verify", "--offline"]).succeeded();
    }
}
