//! Calls, contents and verification: what runs is what was signed, within its bounds.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use skillpkg_tests::{Machine, TestContext, skipped};

/// A skill whose tool `go` runs `sh handle.sh WORD` and whose script `normalize` runs this text.
struct Skill {
    handle: &'static str,
    script: &'static str,
    bounds: &'static str,
}

impl Skill {
    const SMALL: Self = Self { handle: "echo \"$1\"", script: "cat", bounds: "" };

    fn publish(&self, author: &Machine, source: &Path) {
        let write = |path: &str, text: &str| {
            let path = source.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "SKILL.md",
            "---\nskill: waitlist\nversion: 1.2.0\ndescription: Manages signups.\n\
             includes: handle.sh, scripts, skill.json, guide.md\n---\n\nManage it.\n\n```tool\n\
             id: go\ndescription: goes\nparams:\n  word:\n    type: string\n\
             run: sh handle.sh $word\n```\n",
        );
        write("handle.sh", self.handle);
        write("guide.md", "Every row has an id.\n");
        write("scripts/normalize.sh", self.script);
        let capabilities = format!(
            r#"{{"resources": {{"guide.md": "The guide."}}, "scripts": {{"scripts/normalize.sh":
            {{"description": "Normalizes.", "runtime": "shell", "parameters": {{"type": "object",
            "properties": {{"file": {{"type": "string"}}, "rows": {{"type": "integer",
            "maximum": 9, "default": 5}}}}, "required": ["file"],
            "additionalProperties": false}}{}}}}}}}"#,
            self.bounds
        );
        write("skill.json", &capabilities);
        author.run(&["publish", source.to_str().unwrap()]).succeeded();
    }

    /// A machine on which it is active.
    fn active(&self, context: &TestContext) -> Machine {
        self.publish(&context.author("ada"), &context.path("skill"));
        let machine = context.machine("reader");
        machine.run(&["install", "waitlist", "-y"]).succeeded();
        machine
    }
}

fn tree(machine: &Machine) -> PathBuf {
    fs::read_link(machine.project.join(".agents/skills/waitlist")).unwrap()
}

fn overwrite(file: &Path, text: &str) {
    let metadata = file.metadata().unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(file, text).unwrap();
    let opened = fs::File::options().write(true).open(file).unwrap();
    opened.set_modified(metadata.modified().unwrap()).unwrap();
    fs::set_permissions(file, metadata.permissions()).unwrap();
}

#[test]
fn a_tool_runs_as_argv_and_its_streams_and_exit_code_pass_through() {
    let handle = "echo \"$#:$1\"; echo talk >&2; exit 7";
    let context = TestContext::new();
    let machine = Skill { handle, ..Skill::SMALL }.active(&context);
    let word = "a b; touch x $(id) \"";
    let answer = machine.run(&["call", "waitlist", "go", &format!("word={word}")]).ended_with(7);
    assert_eq!(answer.stdout, format!("1:{word}\n"));
    assert_eq!(answer.stderr, "talk\n");
    let argument = format!("word={word}");
    let answer = machine.run(&["call", "waitlist", "go", &argument, "--json"]).ended_with(7);
    let json = answer.json();
    assert_eq!((&json["exit"], &json["stderr"]), (&7.into(), &"talk\n".into()));
    assert_eq!(json["argv"], serde_json::json!(["sh", "handle.sh", word]));
    assert!(json["duration_ms"].is_u64());
}

#[test]
fn what_was_put_right_is_told_before_the_program_says_anything() {
    let context = TestContext::new();
    let handle = "echo talk >&2; exit 7";
    let machine = Skill { handle, ..Skill::SMALL }.active(&context);
    for more in [&[][..], &["--json"]] {
        overwrite(&tree(&machine).join("handle.sh"), "echo planted >&2");
        let arguments = [&["call", "waitlist", "go", "word=x"], more].concat();
        let answer = machine.run(&arguments).ended_with(7);
        let mut lines = answer.stderr.lines();
        let told = lines.next().unwrap_or_default();
        assert!(told.contains("`handle.sh` was changed"), "{}", answer.stderr);
        assert_eq!(lines.next(), more.is_empty().then_some("talk"));
        assert_eq!(lines.next(), None);
    }
}

#[test]
fn a_script_gets_exactly_the_effective_json_from_words_and_from_stdin() {
    let context = TestContext::new();
    let machine = Skill::SMALL.active(&context);
    let effective = r#"{"file":"5","rows":5}"#;
    let words = ["call", "waitlist", "normalize", "file=5", "-y"];
    assert_eq!(machine.run(&words).succeeded().stdout, effective);
    let given = ["call", "waitlist", "normalize", "-", "-y"];
    let answer = machine.run_with_input(&given, r#" { "file" : "5" } "#).succeeded();
    assert_eq!(answer.stdout, effective);
    let wrong =
        machine.run(&["call", "waitlist", "normalize", "file=a", "rows=10", "-y", "--json"]);
    let json = wrong.ended_with(1).json();
    assert_eq!(json["error"]["code"], "number_out_of_range");
    assert_eq!(json["error"]["path"], "/rows");
}

#[test]
fn a_script_is_not_run_where_nobody_permits_it() {
    let context = TestContext::new();
    let script = "touch \"$SKILLPKG_PROJECT/ran\"";
    let machine = Skill { script, ..Skill::SMALL }.active(&context);
    let answer = machine.run(&["call", "waitlist", "normalize", "file=a", "--json"]).ended_with(5);
    assert_eq!(answer.error_code(), "permission_denied");
    assert!(answer.stderr.contains("`-y`"), "{}", answer.stderr);
    assert!(!machine.project.join("ran").exists());
    machine.run(&["call", "waitlist", "normalize", "file=a", "-y"]).succeeded();
    assert!(machine.project.join("ran").exists());
}

#[test]
fn a_script_that_fails_tells_what_it_wrote_and_its_exit_code() {
    let context = TestContext::new();
    let script = "echo out; echo err >&2; exit 9";
    let machine = Skill { script, ..Skill::SMALL }.active(&context);
    let words = ["call", "waitlist", "normalize", "file=a", "-y"];
    let answer = machine.run(&words).ended_with(9);
    assert_eq!((answer.stdout.as_str(), answer.stderr.as_str()), ("out\n", "err\n"));
    let json = machine.json(&words);
    assert_eq!((&json["exit"], &json["stdout"]), (&9.into(), &"out\n".into()));
    assert_eq!(json["error"]["code"], "execution_failed");
}

#[test]
fn a_script_is_killed_at_its_bounds_with_all_that_it_started() {
    let context = TestContext::new();
    let script = "sleep 300 & echo $! > \"$SKILLPKG_PROJECT/child\"; wait";
    let bounds = r#", "timeoutSeconds": 1, "requiresPermission": false"#;
    let machine = Skill { script, bounds, ..Skill::SMALL }.active(&context);
    let answer = machine.run(&["call", "waitlist", "normalize", "file=a", "--json"]).ended_with(1);
    assert_eq!(answer.error_code(), "timed_out");
    assert!(ends(machine.read("child").trim()));

    let context = TestContext::new();
    let bounds = r#", "maximumOutputBytes": 1000, "requiresPermission": false"#;
    let machine = Skill { script: "yes", bounds, ..Skill::SMALL }.active(&context);
    let answer = machine.run(&["call", "waitlist", "normalize", "file=a", "--json"]).ended_with(1);
    assert_eq!(answer.error_code(), "output_too_large");
}

/// Whether a process ends, or has, within a few seconds.
fn ends(process: &str) -> bool {
    let runs = || {
        fs::read_to_string(format!("/proc/{process}/stat"))
            .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
    };
    let started = Instant::now();
    while runs() && started.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(20));
    }
    !runs()
}

#[test]
fn who_ends_a_call_ends_what_it_runs() {
    let context = TestContext::new();
    let handle = "sleep 300 & echo $! > \"$SKILLPKG_PROJECT/child\"; wait";
    let machine = Skill { handle, ..Skill::SMALL }.active(&context);
    let mut call = machine
        .command(&["call", "waitlist", "go", "word=a"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let child = machine.project.join("child");
    let started = Instant::now();
    while !child.exists() && started.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(100));
    let end = std::process::Command::new("kill").arg(call.id().to_string()).status().unwrap();
    assert!(end.success());
    assert!(!call.wait().unwrap().success());
    assert!(ends(machine.read("child").trim()));
}

#[test]
fn what_is_run_gets_neither_the_token_nor_the_key_nor_its_passphrase() {
    let context = TestContext::new();
    let mut machine = Skill { handle: "env", ..Skill::SMALL }.active(&context);
    machine.token = Some(format!("skp_{}", "7".repeat(64)));
    let mut command = machine.command(&["call", "waitlist", "go", "word=a"]);
    let secrets = [
        ("SKILLPKG_KEY", "/secret.pem"),
        ("SKILLPKG_KEY_PASSPHRASE", "secret horse"),
        ("SKILLPKG_KEY_PASSPHRASE_FILE", "/secret.txt"),
    ];
    let output = command.envs(secrets).env("KEPT", "kept").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("skp_") && !text.contains("secret"), "{text}");
    let project = format!("SKILLPKG_PROJECT={}", machine.project.display());
    for line in ["KEPT=kept", &project] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
}

#[test]
fn a_changed_file_never_runs_and_is_put_right_or_refused() {
    let context = TestContext::new();
    let machine = Skill::SMALL.active(&context);
    let planted = "touch \"$SKILLPKG_PROJECT/ran\"";
    let call = ["call", "waitlist", "go", "word=a"];
    overwrite(&tree(&machine).join("handle.sh"), planted);
    let json = machine.run(&["verify", "--json"]).ended_with(3).json();
    assert_eq!(json["ok"], false);
    assert_eq!(json["problems"][0]["kind"], "modified");
    assert_eq!(json["problems"][0]["path"], "handle.sh");
    let answer = machine.run(&call).succeeded();
    assert_eq!(answer.stdout, "a\n");
    assert!(answer.stderr.contains("`handle.sh` was changed"), "{}", answer.stderr);
    machine.run(&["verify"]).succeeded();

    // Neither the tree nor the store has it any more, and nobody may be asked.
    let lose = || {
        overwrite(&tree(&machine).join("handle.sh"), planted);
        for blob in files(&machine.home.join("blobs")) {
            if fs::read(&blob).unwrap() == Skill::SMALL.handle.as_bytes() {
                overwrite(&blob, "damaged");
            }
        }
    };
    lose();
    let answer = machine.run(&["call", "waitlist", "go", "word=a", "--json"]).ended_with(3);
    assert_eq!(answer.error_code(), "verification_failed");
    machine.run(&["verify", "--repair", "--offline"]).ended_with(3);
    machine.run(&["verify", "--repair"]).succeeded();
    assert_eq!(machine.run(&call).succeeded().stdout, "a\n");
    assert!(!machine.project.join("ran").exists());
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn an_edited_copy_is_drift() {
    let context = TestContext::new();
    Skill::SMALL.publish(&context.author("ada"), &context.path("skill"));
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y", "--copy"]).succeeded();
    machine.run(&["verify"]).succeeded();
    machine.write(".agents/skills/waitlist/handle.sh", "echo mine");
    let json = machine.run(&["verify", "--json"]).ended_with(6).json();
    assert_eq!(json["problems"][0]["path"], "handle.sh");
    assert_eq!(machine.read(".agents/skills/waitlist/handle.sh"), "echo mine");
    // What runs is the snapshot, not the copy.
    assert_eq!(machine.run(&["call", "waitlist", "go", "word=a"]).succeeded().stdout, "a\n");
}

#[test]
fn exact_bytes_come_from_the_store_and_from_the_registry() {
    let context = TestContext::new();
    let machine = Skill::SMALL.active(&context);
    let guide = "Every row has an id.\n";
    let files = machine.json(&["inspect", "waitlist"]);
    let entry = |files: &serde_json::Value, algorithm: &str| {
        let all = files["files"].as_array().unwrap();
        let one = all.iter().find(|one| one["path"] == "guide.md").unwrap();
        let digest = one[algorithm].as_str().unwrap();
        if digest.contains(':') { digest.to_owned() } else { format!("{algorithm}:{digest}") }
    };
    let elsewhere = context.machine("elsewhere");
    for machine in [&machine, &elsewhere] {
        for algorithm in ["sha256", "blake3"] {
            let address = entry(&files, algorithm);
            assert_eq!(machine.run(&["cat", &address]).succeeded().stdout, guide);
        }
        assert_eq!(machine.run(&["cat", "waitlist", "guide.md"]).succeeded().stdout, guide);
        assert_eq!(machine.run(&["cat", "waitlist@1", "guide.md"]).succeeded().stdout, guide);
        let answer = machine.run(&["cat", "waitlist", "guid.md"]).ended_with(1);
        assert!(answer.stderr.contains("did you mean `guide.md`?"), "{}", answer.stderr);
    }
    let absent = format!("sha256:{}", "0".repeat(64));
    machine.run(&["cat", &absent]).ended_with(1);
    machine.run(&["cat", "waitlist"]).ended_with(2);
}

#[test]
fn what_is_not_active_or_not_there_says_what_to_do() {
    let context = TestContext::new();
    let machine = Skill::SMALL.active(&context);
    let says = |arguments: &[&str], exit: i32, text: &str| {
        let answer = machine.run(arguments).ended_with(exit);
        assert!(answer.stderr.contains(text), "{text:?} is not in: {}", answer.stderr);
    };
    says(&["call", "waitlits", "go"], 1, "did you mean `waitlist`?");
    says(&["call", "other", "go"], 1, "skillpkg install other");
    says(&["call", "waitlist", "og"], 1, "did you mean `go`?");
    says(&["call", "waitlist", "go", "wrod=a"], 1, "did you mean `word`?");
    says(&["call", "waitlist", "go", "word"], 2, "name=value");
    says(&["call", "waitlist", "read_guide"], 2, "is a resource");
    machine.run(&["deactivate", "waitlist"]).succeeded();
    says(&["call", "waitlist", "go", "word=a"], 1, "skillpkg activate waitlist");
    machine.run(&["activate", "waitlist"]).succeeded();
    machine.run(&["call", "waitlist", "go", "word=a"]).succeeded();
}

#[test]
fn a_missing_program_or_runner_is_told_before_anything_is_placed() {
    let context = TestContext::new();
    Skill::SMALL.publish(&context.author("ada"), &context.path("skill"));
    let machine = context.machine("reader");
    let install = |machine: &Machine, path: &Path| {
        let mut command = machine.command(&["install", "waitlist", "-y", "--json"]);
        command.env("PATH", path).output().unwrap()
    };
    let empty = context.path("empty");
    fs::create_dir(&empty).unwrap();
    let output = install(&machine, &empty);
    assert_eq!(output.status.code(), Some(4));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("this needs sh, which is not on your PATH"), "{stderr}");
    assert!(!machine.project.join(".agents").exists() && machine.picture().is_empty());

    fs::write(&machine.configuration, "[runners.shell]\ncommand = [\"no-such-shell\"]\n").unwrap();
    let answer = machine.run(&["install", "waitlist", "-y", "--json"]).ended_with(4);
    assert_eq!(answer.error_code(), "runner_unavailable");
    for word in ["`normalize`", "`no-such-shell` is not on your PATH"] {
        assert!(answer.stderr.contains(word), "{}", answer.stderr);
    }
    assert!(machine.picture().is_empty());
    let both = "[runners.shell]\ncommand = [\"sh\"]\nurl = \"http://127.0.0.1:1/\"\n";
    fs::write(&machine.configuration, both).unwrap();
    let answer = machine.run(&["install", "waitlist", "-y", "--json"]);
    assert_ne!(answer.code, 0, "{}", answer.stdout);
    assert!(machine.picture().is_empty());
}

#[test]
fn nothing_of_a_skill_runs_when_it_is_installed_activated_or_verified() {
    let context = TestContext::new();
    let mark = "touch \"$SKILLPKG_PROJECT/ran\"";
    let machine = Skill { handle: mark, script: mark, bounds: "" }.active(&context);
    machine.run(&["verify", "--all"]).succeeded();
    machine.run(&["deactivate", "waitlist"]).succeeded();
    machine.run(&["activate", "waitlist", "-y"]).succeeded();
    assert!(!machine.project.join("ran").exists());

    // Of all that these start, nothing but the command itself.
    let trace = context.path("trace");
    let test = "nothing_of_a_skill_runs_when_it_is_installed_activated_or_verified";
    match std::process::Command::new("strace").args(["-qq", "-o"]).arg(&trace).arg("true").output()
    {
        Err(_) => return skipped(test, "`strace`", true),
        Ok(output) if !output.status.success() => {
            return skipped(test, "the privilege to trace", false);
        }
        Ok(_) => {}
    }
    for arguments in [&["remove", "waitlist"][..], &["install", "waitlist", "-y"], &["verify"]] {
        let command = machine.command(arguments);
        let mut traced = std::process::Command::new("strace");
        traced.args(["-f", "-qq", "-e", "trace=execve", "-o"]).arg(&trace);
        traced.arg(command.get_program()).args(arguments).current_dir(&machine.project);
        traced
            .env_clear()
            .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = traced.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let told = fs::read_to_string(&trace).unwrap();
        assert_eq!(told.matches("execve(").count(), 1, "{told}");
    }
}

#[test]
fn an_archive_is_verified_as_a_file() {
    let context = TestContext::new();
    let author = context.author("ada");
    Skill::SMALL.publish(&author, &context.path("skill"));
    let source = context.path("skill");
    let archive = author.project.join("waitlist.skill.tar.zst");
    let file = archive.to_str().unwrap();
    author.run(&["pack", source.to_str().unwrap(), "-o", file]).succeeded();
    author.run(&["verify", file]).succeeded();
    // Another machine has the registry's word for the key.
    let machine = context.machine("reader");
    machine.run(&["verify", file]).succeeded();
    let json = machine.run(&["verify", file, "--offline", "--json"]).ended_with(3).json();
    assert_eq!(json["problems"][0]["kind"], "signature");
    let mut bytes = fs::read(&archive).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&archive, bytes).unwrap();
    let json = machine.run(&["verify", file, "--json"]).ended_with(3).json();
    assert_eq!(json["problems"][0]["kind"], "digest");
}
