//! `list --eligible`: the verdict that a host can gate on.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use skillpkg_tests::{Machine, TestContext};

/// An author's skills, by what stands in their frontmatter.
const SKILLS: [(&str, &str); 6] = [
    ("ready", ""),
    (
        "lacking",
        "metadata:\n  openclaw:\n    requires: {bins: [nowhere-tool], env: [NOWHERE_KEY], anyBins: \
         [nowhere-one, nowhere-two]}\n    primaryEnv: NOWHERE_KEY\n",
    ),
    ("configured", "metadata:\n  clawdbot: {requires: {config: [channels.slack], gpu: big}}\n"),
    ("garbled", "metadata:\n  openclaw: {requires: {bins: {gh: 2}}}\n"),
    ("elsewhere", "metadata:\n  clawdis: {os: [darwin, win32]}\n"),
    ("insistent", "metadata:\n  openclaw: {always: true, requires: {bins: [nowhere-other]}}\n"),
];

fn publish(context: &TestContext) -> Machine {
    let author = context.author("ada");
    for (name, frontmatter) in SKILLS {
        let source = context.path(name);
        fs::create_dir_all(source.join("scripts")).unwrap();
        let text = format!(
            "---\nskill: {name}\nversion: 1.0.0\ndescription: Does it.\nincludes: scripts\n\
             {frontmatter}---\n\nDo it.\n\n```tool\nid: go\ndescription: goes\nrun: \
             ./scripts/go.sh\n```\n"
        );
        fs::write(source.join("SKILL.md"), text).unwrap();
        executable(&source.join("scripts/go.sh"), "#!/usr/bin/env nowhere-shell\n");
        author.run(&["publish", source.to_str().unwrap()]).succeeded();
    }
    author
}

fn executable(file: &Path, text: &str) {
    fs::write(file, text).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs with exactly these programs on PATH.
fn with_path(machine: &Machine, bin: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = machine.command(arguments);
    command.env("PATH", bin).env("NOWHERE_KEY", "never-printed").output().unwrap()
}

fn verdict<'v>(listed: &'v Value, name: &str) -> &'v Value {
    let skills = listed["skills"].as_array().unwrap();
    &skills.iter().find(|skill| skill["name"] == name).unwrap()["verdict"]
}

#[test]
fn a_host_is_told_which_skills_to_offer_and_what_is_in_the_way_of_the_others() {
    let context = TestContext::new();
    publish(&context);
    let machine = context.machine("reader");
    let bin = context.path("bin");
    fs::create_dir(&bin).unwrap();
    for program in ["nowhere-shell", "nowhere-tool", "nowhere-two"] {
        executable(&bin.join(program), "");
    }
    let refused = with_path(&machine, &bin, &["install", "elsewhere", "-y"]);
    assert_eq!(refused.status.code(), Some(4), "{}", String::from_utf8_lossy(&refused.stderr));
    let install = ["install", "ready", "lacking", "configured", "garbled", "insistent", "-y"];
    let installed = with_path(&machine, &bin, &install);
    let told = String::from_utf8_lossy(&installed.stderr);
    assert!(installed.status.success(), "{told}");

    let list = |machine: &Machine| -> Value {
        let output = with_path(machine, &bin, &["list", "--eligible", "--json"]);
        assert_eq!(output.status.code(), Some(0));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.contains("never-printed"));
        serde_json::from_str(&text).unwrap()
    };
    let listed = list(&machine);
    assert_eq!(listed["eligible"], json!(["configured", "insistent", "lacking", "ready"]));
    assert_eq!(listed["system"], std::env::consts::OS);
    assert_eq!(verdict(&listed, "ready")["missing"], json!([]));
    assert_eq!(
        verdict(&listed, "configured")["left_to_host"],
        json!([
            {"kind": "config", "name": "channels.slack"},
            {"kind": "unknown", "name": "metadata.clawdbot.requires.gpu"}
        ])
    );
    assert_eq!(verdict(&listed, "lacking")["primary_env"], "NOWHERE_KEY");
    let insistent = verdict(&listed, "insistent");
    assert_eq!((&insistent["always"], &insistent["eligible"]), (&json!(true), &json!(true)));
    assert_eq!(insistent["waived"][0]["names"], json!(["nowhere-other"]));
    let garbled = verdict(&listed, "garbled");
    assert_eq!(garbled["eligible"], false);
    assert_eq!(garbled["missing"][0]["kind"], "unreadable");
    assert_eq!(garbled["missing"][0]["names"], json!(["metadata.openclaw.requires.bins"]));

    // What was here goes.
    for program in ["nowhere-shell", "nowhere-tool", "nowhere-two"] {
        fs::remove_file(bin.join(program)).unwrap();
    }
    let output =
        machine.command(&["list", "--eligible", "--json"]).env("PATH", &bin).output().unwrap();
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(listed["eligible"], json!([]));
    let missing = verdict(&listed, "lacking")["missing"].as_array().unwrap();
    let missing: Vec<(&str, &Value)> =
        missing.iter().map(|one| (one["kind"].as_str().unwrap(), &one["names"])).collect();
    assert_eq!(
        missing,
        [
            ("program", &json!(["nowhere-tool"])),
            ("any_program", &json!(["nowhere-one", "nowhere-two"])),
            ("environment", &json!(["NOWHERE_KEY"])),
            ("interpreter", &json!(["nowhere-shell"])),
        ]
    );
    let text =
        String::from_utf8(with_path(&machine, &bin, &["list", "--eligible"]).stdout).unwrap();
    assert!(text.starts_with("not eligible:\n  configured@1.0.0\n"), "{text}");
    assert!(text.contains("this is run by `nowhere-shell`, which is not on your PATH"), "{text}");
}

#[test]
fn a_skill_that_is_not_active_or_not_what_was_signed_is_not_eligible() {
    let context = TestContext::new();
    let author = context.author("ada");
    for name in ["hidden", "copied", "linked", "whole"] {
        context.publish(&author, name, "1.0.0", name, None);
    }
    let machine = context.machine("reader");
    machine.run(&["install", "hidden", "linked", "whole", "-y"]).succeeded();
    machine.run(&["install", "copied", "--copy", "-y"]).succeeded();
    let eligible = || machine.json(&["list", "--eligible"])["eligible"].clone();
    assert_eq!(eligible(), json!(["copied", "hidden", "linked", "whole"]));
    machine.run(&["deactivate", "hidden"]).succeeded();
    machine.write(".agents/skills/copied/NOTES.md", "edited");
    let tree = fs::read_link(machine.project.join(".agents/skills/linked")).unwrap();
    let notes = tree.join("NOTES.md");
    fs::set_permissions(&notes, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&notes, "swapped").unwrap();
    let listed = machine.json(&["list", "--eligible"]);
    assert_eq!(listed["eligible"], json!(["whole"]));
    assert_eq!(verdict(&listed, "hidden")["refusal"]["code"], "skill_not_active");
    assert_eq!(verdict(&listed, "hidden")["active"], false);
    for name in ["copied", "linked"] {
        let verdict = verdict(&listed, name);
        assert_eq!((&verdict["active"], &verdict["verified"]), (&json!(true), &json!(false)));
        assert_eq!(verdict["changed"], json!(["NOTES.md"]), "{name}");
    }
    assert_eq!(fs::read_to_string(&notes).unwrap(), "swapped", "a question repairs nothing");
    let text = machine.run(&["list", "--eligible"]).succeeded().stdout;
    assert!(text.starts_with("whole@1.0.0\nnot eligible:\n"), "{text}");
    assert!(text.contains("not as it was signed: `NOTES.md`"), "{text}");
    machine.run(&["remove", "hidden", "linked", "whole"]).succeeded();
}
