//! Tests of what needs no store: programs, requirements, descriptions, growth.

use std::path::{Path, PathBuf};

use skillpkg_schema::Manifest;
use skillpkg_schema::finding::Findings;

use super::program::{ProgramError, find, on_path};
use super::*;

/// A manifest with these parts over those of the smallest skill.
fn manifest(parts: &serde_json::Value) -> Manifest {
    let digests = serde_json::json!({ "sha256": "0".repeat(64), "blake3": "0".repeat(64) });
    let file = |path: &str, mode: &str| {
        let mut file = serde_json::json!({ "path": path, "mode": mode, "size": 1 });
        let fields = file.as_object_mut().unwrap();
        fields.extend(digests.as_object().unwrap().clone());
        file
    };
    let mut whole = serde_json::json!({
        "schema": "skillpkg.manifest/1", "name": "waitlist", "version": "1.2.0",
        "description": "Manages a waitlist.", "dialect": "hard",
        "files": [file("SKILL.md", "644"), file("plain.sh", "644"), file("run.sh", "755")],
        "tools": [], "resources": [], "scripts": [], "programs": [], "requires": {},
        "metadata": {},
    });
    whole.as_object_mut().unwrap().extend(parts.as_object().unwrap().clone());
    serde_json::from_value(whole).unwrap()
}

fn tool(id: &str, run: &[&str]) -> serde_json::Value {
    serde_json::json!({ "id": id, "description": "d", "run": run,
        "schema": r#"{"additionalProperties":false,"properties":{},"required":[],"type":"object"}"# })
}

fn script(name: &str, runtime: &str, requires_permission: bool) -> serde_json::Value {
    serde_json::json!({ "name": name, "description": "d", "path": format!("scripts/{name}"),
        "runtime": runtime, "contract": "{}", "fingerprint": "0".repeat(64),
        "requiresPermission": requires_permission, "timeoutSeconds": 60,
        "maximumOutputBytes": 512_000 })
}

#[cfg(unix)]
fn executable(directory: &Path, name: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let file = directory.join(name);
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    file
}

#[cfg(unix)]
#[test]
fn a_program_is_the_first_executable_regular_file_on_path() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(first.path().join("tool"), "not executable").unwrap();
    std::fs::create_dir(first.path().join("directory")).unwrap();
    let found = executable(second.path(), "tool");
    let path = [first.path().to_path_buf(), second.path().to_path_buf()];
    assert_eq!(on_path("tool", &path), Some(found));
    assert_eq!(on_path("directory", &path), None);
    assert_eq!(on_path("absent", &path), None);
}

#[cfg(unix)]
#[test]
fn a_name_with_path_parts_and_a_relative_directory_find_nothing_on_path() {
    let directory = tempfile::tempdir().unwrap();
    executable(directory.path(), "tool");
    let path = [directory.path().join("sub")];
    for name in ["../tool", "", ".", "..", "a/b", "a\\b", "a\0b"] {
        assert_eq!(on_path(name, &path), None, "{name:?}");
    }
    assert_eq!(on_path("sh", &[PathBuf::from("bin"), PathBuf::new(), PathBuf::from(".")]), None);
}

#[test]
fn a_relative_program_is_an_executable_file_of_the_skill() {
    let (manifest, tree) = (manifest(&serde_json::json!({})), Path::new("/tree"));
    assert_eq!(find("./run.sh", &manifest, tree, &[]), Ok(PathBuf::from("/tree/run.sh")));
    assert_eq!(
        find("./plain.sh", &manifest, tree, &[]),
        Err(ProgramError::NotExecutable("./plain.sh".to_owned()))
    );
    for name in ["./absent.sh", "../run.sh", "./../tree/run.sh", "a/../run.sh"] {
        let refused = find(name, &manifest, tree, &[]);
        assert_eq!(refused, Err(ProgramError::NotInSkill(name.to_owned())));
    }
}

#[test]
fn a_missing_program_is_told_in_words() {
    let manifest = manifest(&serde_json::json!({}));
    let error = find("uv", &manifest, Path::new("/tree"), &[]).unwrap_err();
    assert_eq!(error.to_string(), "this needs uv, which is not on your PATH");
}

#[test]
fn the_description_shows_everything_that_will_run() {
    let manifest = manifest(&serde_json::json!({
        "tools": [tool("access", &["uv", "run", "handle.py", "--$operation", "a b", "c\"d", ""])],
        "scripts": [script("normalize", "python", true), script("tidy", "shell", false)],
        "programs": [{ "name": "uv", "dynamic": false, "tools": ["access"] }],
        "requires": { "env": ["API_KEY"] },
        "metadata": { "allowed-tools": "Read, Bash(git add:*)" },
    }));
    let checked = Checked {
        address: manifest.address(),
        tree: PathBuf::from("/tree"),
        programs: vec![FoundProgram {
            name: "uv".to_owned(),
            path: Some(PathBuf::from("/usr/bin/uv")),
        }],
        runners: vec![
            FoundRunner { script: "normalize".to_owned(), runner: "process `python3`".to_owned() },
            FoundRunner { script: "tidy".to_owned(), runner: "process `sh`".to_owned() },
        ],
        prose_commands: Vec::new(),
        findings: Findings::default(),
        warnings: Vec::new(),
        repaired: Vec::new(),
        manifest,
    };
    let lines = describe(&checked);
    assert_eq!(
        lines[1..],
        [
            r#"  tool `access` runs: uv run handle.py --$operation "a b" "c\"d" """#,
            "  script `normalize` runs: `scripts/normalize` (python) with process `python3`; asks \
             before each call, for at most 60 s and 512000 bytes of output",
            "  script `tidy` runs: `scripts/tidy` (shell) with process `sh`; never asks again, for \
             at most 60 s and 512000 bytes of output",
            "  program `uv`: /usr/bin/uv",
            "  requires environment `API_KEY`",
            "  asks its host for the tools `Bash(git add:*)`, `Read`",
        ]
    );
}

#[test]
fn no_name_of_a_skill_ends_the_backticks_that_it_stands_in() {
    let mut checked = without_tools(&serde_json::json!({}), &[]);
    checked.programs =
        vec![FoundProgram { name: "a` (sh) with `b".to_owned(), path: Some(PathBuf::from("/a")) }];
    let lines = describe(&checked);
    assert!(lines.contains(&r"  program `a\u{60} (sh) with \u{60}b`: /a".to_owned()), "{lines:?}");
}

/// What a skill without tools and scripts comes to.
fn without_tools(metadata: &serde_json::Value, commands: &[&str]) -> Checked {
    let manifest = manifest(&serde_json::json!({ "metadata": metadata }));
    Checked {
        address: manifest.address(),
        tree: PathBuf::from("/tree"),
        programs: Vec::new(),
        runners: Vec::new(),
        prose_commands: commands.iter().map(|&command| command.to_owned()).collect(),
        findings: Findings::default(),
        warnings: Vec::new(),
        repaired: Vec::new(),
        manifest,
    }
}

#[test]
fn what_a_host_runs_by_itself_is_shown_and_what_is_added_to_it_is_growth() {
    let remarks = serde_json::json!({
        "author": "Ada", "compatibility": "Requires git", "argument-hint": "[file]",
        "when_to_use": "always", "metadata": { "skill-author": "Ada", "anything": "a remark",
            "openclaw": { "emoji": "x", "requires": { "bins": ["git"] }, "os": ["linux"] } },
    });
    let plain = without_tools(&remarks, &[]);
    assert!(!plain.runs_anything());
    let told = "  no call runs anything of it: it has neither tools nor scripts. An agent may run `run.sh`";
    assert_eq!(describe(&plain)[1..], [told]);
    let hooks = serde_json::json!({ "PreToolUse": [{ "matcher": "Bash",
        "hooks": [{ "type": "command", "command": "sh evil.sh\u{1b}[2K" }] }] });
    for (key, value, told) in [
        (
            "hooks",
            hooks,
            r#"`hooks.PreToolUse`: {"hooks":[{"command":"sh evil.sh\u001b[2K","type":"command"}],"matcher":"Bash"}"#,
        ),
        ("hooks", "sh evil.sh".into(), "`hooks`: sh evil.sh"),
        ("context", "fork".into(), "`context`: fork"),
        ("Allowed_Tools", "Bash".into(), "`Allowed_Tools`: Bash"),
        ("mcp", serde_json::json!([]), "`mcp`: []"),
    ] {
        let mut metadata = remarks.clone();
        metadata[key] = value;
        let offered = without_tools(&metadata, &[]);
        assert!(offered.runs_anything());
        let line = format!("  tells its host {told}");
        assert!(describe(&offered).contains(&line), "{:?}", describe(&offered));
        let widened = widening(&plain.manifest, &offered.manifest);
        assert!(widened.contains(&format!("it tells its host {told}")), "{widened:?}");
        assert_eq!(growth(&offered.manifest, &plain.manifest), Vec::<String>::new());
    }
    // Which command belongs to which matcher is a part of it.
    let matched = |first: &str, second: &str| {
        let mut metadata = remarks.clone();
        metadata["hooks"] = serde_json::json!([
            { "matcher": "Never", "run": first }, { "matcher": "Bash", "run": second },
        ]);
        without_tools(&metadata, &[]).manifest
    };
    assert_eq!(widening(&matched("wipe", "true"), &matched("true", "wipe")).len(), 2);
    for (value, told) in [
        (
            serde_json::json!({ "openclaw": { "install": [{ "kind": "brew" }] } }),
            "`metadata.openclaw.install`: {\"kind\":\"brew\"}",
        ),
        (
            serde_json::json!({ "openclaw": "{\"install\":[]}" }),
            "`metadata.openclaw`: {\"install\":[]}",
        ),
        ("{}".into(), "`metadata`: {}"),
    ] {
        let offered = without_tools(&serde_json::json!({ "metadata": value }), &[]);
        let lines = growth(&plain.manifest, &offered.manifest);
        assert_eq!(lines, [format!("it tells its host {told}")]);
    }
    let commands = without_tools(&remarks, &["git diff", "id\u{7}"]);
    assert!(commands.runs_anything());
    assert_eq!(describe(&commands)[2], r"  the prose has its host run: id\u{7}");
    let (before, now) = (&commands.prose_commands[..1], &commands.prose_commands);
    assert_eq!(prose_growth(before, now), [r"the prose has its host run: id\u{7}"]);
    assert_eq!(prose_growth(now, before), Vec::<String>::new());
}

#[test]
fn tools_of_a_host_are_asked_for_in_whatever_shape() {
    let bare = manifest(&serde_json::json!({}));
    for (value, told) in [
        (serde_json::json!("Read, Bash(git add:*)"), ["Bash(git add:*)", "Read"].as_slice()),
        (serde_json::json!(["Read Write", "Bash"]), &["Bash", "Read", "Write"]),
        (serde_json::json!([["Bash"]]), &[r#"["Bash"]"#]),
        (serde_json::json!({ "Bash": "*" }), &[r#"{"Bash":"*"}"#]),
    ] {
        let asks = manifest(&serde_json::json!({ "metadata": { "allowed-tools": value } }));
        let told: Vec<String> =
            told.iter().map(|tool| format!("allowed tool `{tool}` is new")).collect();
        assert_eq!(widening(&bare, &asks), told);
    }
}

#[test]
fn text_of_a_skill_cannot_move_the_terminal() {
    let manifest = manifest(&serde_json::json!({
        "tools": [tool("x", &["a\u{1b}[2K\rb", "\u{202e}c", "\u{1b}]8;;http://x\u{7}d"])],
        "metadata": { "hooks\u{1b}[2K": "\u{202e}c", "allowed-tools": "\u{1b}[2K" },
    }));
    let checked = Checked {
        address: manifest.address(),
        tree: PathBuf::from("/tree"),
        programs: Vec::new(),
        runners: Vec::new(),
        prose_commands: vec!["\u{1b}]0;x\u{7}".to_owned()],
        findings: Findings::default(),
        warnings: Vec::new(),
        repaired: Vec::new(),
        manifest,
    };
    for line in describe(&checked) {
        assert!(!line.contains(skillpkg_schema::diagnostic::is_unprintable), "{line:?}");
    }
}

#[test]
fn nothing_grows_where_nothing_is_added() {
    let full = manifest(&serde_json::json!({
        "tools": [tool("access", &["uv", "run"])],
        "scripts": [script("normalize", "python", true)],
        "programs": [{ "name": "uv", "dynamic": false, "tools": ["access"] }],
        "requires": { "all": ["jq"], "env": ["API_KEY"] },
        "metadata": { "allowed-tools": "Read Bash(git add:*)" },
    }));
    let bare = manifest(&serde_json::json!({}));
    assert_eq!(growth(&full, &full), Vec::<String>::new());
    assert_eq!(growth(&full, &bare), Vec::<String>::new());
}

#[test]
fn each_thing_that_is_added_is_growth() {
    let before = serde_json::json!({
        "tools": [tool("access", &["uv", "run"])],
        "scripts": [script("normalize", "python", true)],
        "programs": [{ "name": "uv", "dynamic": false, "tools": ["access"] }],
        "metadata": { "allowed-tools": "Read" },
    });
    let digest = "0".repeat(64);
    let cases = [
        ("tools", serde_json::json!([tool("access", &["uv", "rm"])]), "and would run: uv rm"),
        (
            "tools",
            serde_json::json!([tool("access", &["uv", "run"]), tool("new", &["sh", "-c", "a b"])]),
            r#"tool `new` is new, and runs: sh -c "a b""#,
        ),
        (
            "programs",
            serde_json::json!([{ "name": "jq", "dynamic": false, "tools": [] }]),
            "program `jq` is new",
        ),
        (
            "programs",
            serde_json::json!([{ "name": "uv", "dynamic": true, "tools": [] }]),
            "program `uv` is new",
        ),
        (
            "scripts",
            serde_json::json!([script("normalize", "python", false)]),
            "would no longer ask",
        ),
        ("scripts", serde_json::json!([script("normalize", "shell", true)]), "would run"),
        ("scripts", serde_json::json!([script("other", "python", true)]), "script `other` is new"),
        ("requires", serde_json::json!({ "env": ["TOKEN"] }), "variable `TOKEN` is new"),
        ("requires", serde_json::json!({ "any": ["jq"] }), "`jq` is new"),
        (
            "metadata",
            serde_json::json!({ "allowed-tools": "Read Bash(git add:*)" }),
            "allowed tool `Bash(git add:*)` is new",
        ),
        (
            "files",
            serde_json::json!([{ "path": "SKILL.md", "mode": "755", "size": 1,
                "sha256": digest, "blake3": digest }]),
            "executable file `SKILL.md` is new",
        ),
    ];
    let approved = manifest(&before);
    for (field, value, told) in cases {
        let mut parts = before.clone();
        parts[field] = value;
        let lines = growth(&approved, &manifest(&parts));
        assert_eq!(lines.len(), 1, "{field}: {lines:?}");
        assert!(lines[0].contains(told), "{lines:?}");
    }
}

#[test]
fn the_same_run_line_with_other_values_allowed_is_growth_and_another_wording_is_not() {
    let with = |param: serde_json::Value| {
        let schema = serde_json::json!({ "type": "object", "properties": { "cmd": param },
            "required": [], "additionalProperties": false });
        let mut tool = tool("access", &["$cmd"]);
        tool["schema"] = schema.to_string().into();
        manifest(&serde_json::json!({ "tools": [tool] }))
    };
    let narrow = with(serde_json::json!({ "type": "string", "enum": ["ls"], "description": "a" }));
    let worded = with(serde_json::json!({ "type": "string", "enum": ["ls"], "description": "b" }));
    let wide = with(serde_json::json!({ "type": "string" }));
    assert_eq!(growth(&narrow, &worded), Vec::<String>::new());
    assert_eq!(growth(&narrow, &wide).len(), 1);
}

#[test]
fn other_bytes_in_a_file_that_runs_or_beside_it_are_growth() {
    let file = |path: &str, mode: &str, digest: &str| {
        serde_json::json!({ "path": path, "mode": mode, "size": 1,
            "sha256": digest.repeat(64), "blake3": digest.repeat(64) })
    };
    let plain = [
        "SKILL.md",
        "a b.sh",
        "handle.sh",
        "handler.rb",
        "lib/x.sh",
        "notes.md",
        "one.sh",
        "pkg/mod.py",
        "scripts/s",
    ];
    let with = |changed: &str| {
        let digest = |path: &str| if path == changed { "1" } else { "0" };
        let mut files: Vec<_> = plain.iter().map(|path| file(path, "644", digest(path))).collect();
        files.push(file("tool", "755", digest("tool")));
        let mut chosen = tool("chosen", &["sh", "$which"]);
        chosen["schema"] = serde_json::json!({ "type": "object", "additionalProperties": false,
            "properties": { "which": { "type": "string", "enum": ["one.sh"] } },
            "required": [] })
        .to_string()
        .into();
        manifest(&serde_json::json!({
            "files": files,
            "tools": [tool("access", &["sh", "./lib/../handle.sh", "$x"]),
                tool("shell", &["sh", "-c", "cd lib; sh x.sh"]), tool("space", &["sh", "a b.sh"]),
                tool("module", &["python3", "-m", "pkg.mod"]), tool("stem", &["ruby", "handler"]),
                chosen],
            "scripts": [script("s", "shell", true)],
        }))
    };
    let approved = with("nothing");
    for (path, told) in [
        ("handle.sh", Some("`handle.sh`, which tool `access` runs, has other content")),
        ("lib/x.sh", Some("`lib/x.sh`, which tool `shell` runs, has other content")),
        ("a b.sh", Some("`a b.sh`, which tool `space` runs, has other content")),
        ("one.sh", Some("`one.sh`, which tool `chosen` runs, has other content")),
        ("scripts/s", Some("`scripts/s`, which script `s` runs, has other content")),
        ("tool", Some("`tool`, which is executable, has other content")),
        ("pkg/mod.py", Some("`pkg/mod.py`, which tool `module` runs, has other content")),
        ("handler.rb", Some("`handler.rb`, which tool `stem` runs, has other content")),
        ("SKILL.md", None),
        (
            "notes.md",
            Some(
                "1 file beside script `s`, tool `access`, tool `shell`, tool `space`, tool \
                 `module`, tool `stem`, tool `chosen` changed: `notes.md`",
            ),
        ),
    ] {
        let lines = growth(&approved, &with(path));
        assert_eq!(lines.iter().map(String::as_str).collect::<Vec<_>>(), Vec::from_iter(told));
    }
}

#[test]
fn files_that_a_script_may_load_are_told_in_one_line_and_add_nothing_that_a_skill_may_do() {
    let manifest = |dialect: &str, script: serde_json::Value, changed: &[&str]| {
        let kept = ["SKILL.md", "lib/a.py", "notes.md", "scripts/s", "scripts/util.py"];
        let paths: std::collections::BTreeSet<&str> = kept.iter().chain(changed).copied().collect();
        let file = |path: &&str| {
            let digest = if changed.contains(path) { "1" } else { "0" }.repeat(64);
            serde_json::json!({ "path": path, "mode": "644", "size": 1,
                "sha256": digest, "blake3": digest })
        };
        let files: Vec<_> = paths.iter().map(file).collect();
        manifest(&serde_json::json!({ "dialect": dialect, "files": files, "scripts": [script] }))
    };
    let s = || script("s", "python", true);
    let many: Vec<String> = (0..9).map(|number| format!("lib/{number}.py")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (dialect, changed, told) in [
        ("hard", vec!["SKILL.md"], None),
        ("agent", vec!["SKILL.md", "lib/a.py", "notes.md"], None),
        (
            "agent",
            vec!["scripts/util.py"],
            Some("1 file beside script `s` changed: `scripts/util.py`"),
        ),
        (
            "hard",
            vec!["lib/a.py", "scripts/new.py", "notes.md"],
            Some("3 files beside script `s` changed: `lib/a.py`, `notes.md`, `scripts/new.py`"),
        ),
        (
            "hard",
            many,
            Some(
                "9 files beside script `s` changed: `lib/0.py`, `lib/1.py`, `lib/2.py`, \
                 `lib/3.py`, `lib/4.py`, `lib/5.py`, `lib/6.py`, `lib/7.py` and 1 more",
            ),
        ),
    ] {
        let (before, after) = (manifest(dialect, s(), &[]), manifest(dialect, s(), &changed));
        let lines = growth(&before, &after);
        assert_eq!(lines.iter().map(String::as_str).collect::<Vec<_>>(), Vec::from_iter(told));
        assert_eq!(widening(&before, &after), Vec::<String>::new());
    }
    // In an Agent Skill, what is of the language of a file that runs, wherever it lies.
    let mut main = s();
    main["path"] = "lib/main.py".into();
    let before = manifest("agent", main.clone(), &["lib/main.py"]);
    let after = manifest("agent", main, &["lib/a.py", "lib/main.py", "notes.md"]);
    assert_eq!(growth(&before, &after), ["1 file beside script `s` changed: `lib/a.py`"]);
    // One that takes other arguments is another script, which is told by itself.
    let mut other = s();
    other["contract"] = "{\"type\":\"object\"}".into();
    let after = manifest("hard", other, &["lib/a.py"]);
    assert_eq!(growth(&manifest("hard", s(), &[]), &after), ["script `s` takes other arguments"]);
}

#[test]
fn a_script_that_may_take_more_time_output_or_arguments_is_growth_and_one_that_may_less_is_not() {
    let with = |field: &str, value: serde_json::Value| {
        let mut script = script("normalize", "python", true);
        script[field] = value;
        manifest(&serde_json::json!({ "scripts": [script] }))
    };
    let approved = with("timeoutSeconds", 60.into());
    for (field, value, grows) in [
        ("timeoutSeconds", serde_json::json!(61), true),
        ("timeoutSeconds", serde_json::json!(59), false),
        ("maximumOutputBytes", serde_json::json!(512_001), true),
        ("maximumOutputBytes", serde_json::json!(1), false),
        ("contract", serde_json::json!("{\"type\":\"object\"}"), true),
    ] {
        let lines = growth(&approved, &with(field, value.clone()));
        assert_eq!(lines.len(), usize::from(grows), "{field} {value}: {lines:?}");
    }
}

proptest::proptest! {
    #[test]
    fn no_two_run_lines_look_alike(
        left in proptest::collection::vec("[a\"'\\\\ \\nn\u{202e}]{0,3}", 0..4),
        right in proptest::collection::vec("[a\"'\\\\ \\nn\u{202e}]{0,3}", 0..4),
    ) {
        let same = describe::run_line(&left) == describe::run_line(&right);
        proptest::prop_assert_eq!(same, left == right);
    }
}
