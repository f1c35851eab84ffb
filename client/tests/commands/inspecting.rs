use serde_json::{Value, json};

use crate::support::{Machine, example};

#[test]
fn what_a_skill_carries_is_told_to_scripts_and_to_people() {
    let machine = Machine::new();
    let ran = machine.ok(&["inspect", &example("waitlist"), "--json"]);
    insta::assert_snapshot!("inspect_waitlist", serde_json::to_string_pretty(&ran.json()).unwrap());
    let ran = machine.ok(&["inspect", &example("data-analysis"), "--json"]);
    let read = ran.json();
    insta::assert_snapshot!("inspect_analysis", serde_json::to_string_pretty(&read).unwrap());
    insta::assert_snapshot!(machine.ok(&["inspect", &example("waitlist")]).shown());
}

#[test]
fn a_description_cannot_pass_for_a_line_of_ours() {
    let machine = Machine::new();
    let source = "---\nname: forged\ndescription: |\n  Harmless.\n\n  Signed by\n    ada with key 541f\n---\nUse.\n";
    machine.write("forged/SKILL.md", source);
    let shown = machine.ok(&["inspect", "forged"]).shown();
    for line in ["| Harmless.\n", "\n|\n", "\n| Signed by\n", "\n|   ada with key 541f\n"] {
        assert!(shown.contains(line), "{line:?} in {shown}");
    }
}

#[test]
fn an_archive_is_inspected_as_its_directory_is() {
    let machine = Machine::with_key();
    for name in ["waitlist", "data-analysis", "release-notes"] {
        machine.ok(&["pack", &example(name), "-o", "a.skill.tar.zst", "--force", "-q"]);
        let of = |what: &str| {
            let mut read = machine.ok(&["inspect", what, "--json"]).json();
            let keys = read.as_object_mut().unwrap().remove("key_ids");
            (read, keys)
        };
        let ((packed, keys), (directory, none)) = (of("a.skill.tar.zst"), of(&example(name)));
        assert_eq!(packed, directory);
        assert_eq!((keys.unwrap().as_array().unwrap().len(), none), (1, None));
    }
}

#[test]
fn a_skill_without_a_version_has_none() {
    let machine = Machine::new();
    machine.write("a/SKILL.md", "---\nskill: a\ndescription: d\n---\nBody.\n");
    let read = machine.ok(&["inspect", "a", "--json"]).json();
    assert_eq!((&read["version"], &read["name"]), (&Value::Null, &json!("a")));
    assert_eq!(read.get("address"), None);
    machine.write("a/SKILL.md", "---\nskill: a\ndescription: d\nversion: 1.2\n---\nBody.\n");
    assert_eq!(machine.ok(&["inspect", "a", "--json"]).json()["version"], "1.2.0");
}

#[test]
fn the_words_of_a_run_line_are_told_apart() {
    let machine = Machine::new();
    machine.write(
        "a/SKILL.md",
        "---\nskill: a\ndescription: d\n---\nBody.\n\n```tool\nid: t\ndescription: d\nrun:\n  - awk\n  - BEGIN { print \"x y\" }\n```\n",
    );
    let shown = machine.ok(&["inspect", "a"]).stdout;
    assert!(shown.contains(r#"runs awk "BEGIN { print \"x y\" }""#), "{shown}");
}

#[test]
fn the_system_text_is_printed_exactly() {
    let machine = Machine::new();
    let text = machine.ok(&["compile", &example("waitlist")]).stdout;
    insta::assert_snapshot!(text);
    let as_json = machine.ok(&["compile", &example("waitlist"), "--json"]).json();
    assert_eq!(as_json["system"], text);
    assert!(text.starts_with(as_json["rendered"].as_str().unwrap()));
}

#[test]
fn a_call_is_found_in_an_answer() {
    let machine = Machine::new();
    let waitlist = example("waitlist");
    let resolve = |answer: &str| machine.run_with(&["resolve", &waitlist, "--json"], answer);
    let called = json!({"call": {
        "tool": "access",
        "args": {"operation": "accept", "user": "x@y.z"},
        "argv": ["sh", "handle.sh", "--accept", "x@y.z"],
    }});
    for answer in [
        r#"{"tool":"access","args":{"user":"x@y.z"}}"#,
        "Sure.\n```call\n{\"tool\": \"access\", \"args\": {\"user\": \"x@y.z\"}}\n```\n",
        r#"{"type":"tool_use","id":"1","name":"access","input":{"user":"x@y.z"}}"#,
    ] {
        let ran = resolve(answer);
        assert_eq!((ran.code, ran.json()), (0, called.clone()), "{answer}");
    }
    let ran = resolve("There is nothing to do.");
    assert_eq!((ran.code, ran.json()), (0, json!({"call": null})));
    let ran = resolve(r#"{"tool":"access","args":{"operation":"ban","user":"x"}}"#);
    assert_eq!(ran.code, 1);
    assert!(ran.json()["error"]["message"].as_str().unwrap().contains("operation"));
    let shown =
        machine.run_with(&["resolve", &waitlist], r#"{"tool":"access","args":{"user":"a b"}}"#);
    assert_eq!(shown.stdout, "access\n  sh\n  handle.sh\n  --accept\n  a b\n");
    let shown = machine.run_with(&["resolve", &waitlist], "nothing");
    assert_eq!((shown.stdout.as_str(), shown.stderr.as_str()), ("", "There is no call in it.\n"));
}

#[test]
fn an_answer_without_an_end_is_refused() {
    let machine = Machine::new();
    let answer = "x".repeat(5 * 1024 * 1024);
    let ran = machine.run_with(&["resolve", &example("waitlist"), "--json"], &answer);
    assert_eq!((ran.code, ran.error_code().as_str()), (1, "input_refused"));
}

const CONTRACT: &str = r#"{"type":"object","properties":{"maximumRows":{"type":"integer","minimum":1,"maximum":10,"default":5},"ratio":{"type":"number"}},"additionalProperties":false}"#;

#[test]
fn a_contract_is_compiled_and_arguments_are_bound() {
    let machine = Machine::new();
    machine.write("c.json", CONTRACT);
    machine.write("a.json", r#"{"ratio":1.50}"#);
    let read = machine.ok(&["contract", "c.json", "--json"]).json();
    assert_eq!(read["fingerprint"], "[DIGEST]");
    assert_eq!(read["schema"]["properties"]["maximumRows"]["default"], 5);
    assert_eq!(read.get("effective"), None);
    let ran = machine.ok(&["contract", "c.json", "--args", "a.json", "--json"]);
    assert!(ran.stdout.contains(r#""effective":{"maximumRows":5,"ratio":1.50}"#), "{}", ran.stdout);
    let ran = machine.run_with(&["contract", "c.json", "--args", "-", "--json"], "{}");
    assert_eq!(ran.json()["effective"], json!({"maximumRows": 5}));
}

#[test]
fn a_refused_contract_and_arguments_that_do_not_bind_say_where() {
    let machine = Machine::new();
    machine.write("c.json", CONTRACT);
    let bind =
        |args: &str| machine.run_with(&["contract", "c.json", "--args", "-", "--json"], args);
    let error = bind(r#"{"maximumRows":11}"#);
    assert_eq!(error.code, 1);
    assert_eq!(error.json()["error"]["code"], "number_out_of_range");
    assert_eq!(error.json()["error"]["path"], "/maximumRows");
    assert_eq!(bind(r#"{"rows":1}"#).error_code(), "unknown_property");
    assert_eq!(bind("[").error_code(), "invalid_json_kind");
    machine.write("bad.json", "{\"type\":\"object\",\n\"additionalProperties\":true}");
    let ran = machine.run(&["contract", "bad.json", "--json"]);
    assert_eq!((ran.code, ran.error_code().as_str()), (1, "contract_refused"));
    assert_eq!(ran.json()["error"]["file"], "bad.json");
    assert!(ran.json()["error"]["line"].is_u64());
}

#[test]
fn scripts_are_told_where_a_text_or_a_call_of_tools_is_wanted() {
    let machine = Machine::new();
    let analysis = example("data-analysis");
    let compiled = machine.ok(&["compile", &analysis, "--json"]);
    let script = compiled.json()["scripts"][0].as_str().unwrap().to_owned();
    assert!(compiled.stderr.contains(&format!("`{script}`")), "{}", compiled.stderr);
    let answer = format!(r#"{{"tool": "{script}", "args": {{}}}}"#);
    let ran = machine.run_with(&["resolve", &analysis, "--json"], &answer);
    assert_eq!(ran.json()["error"]["code"], "script_called");
    assert!(ran.stdout.contains("skillpkg call"), "{}", ran.stdout);
}

#[test]
fn what_a_host_is_asked_for_is_told_before_anything_is_approved() {
    let machine = Machine::new();
    machine.write(
        "a/SKILL.md",
        "---\nname: a\ndescription: d\nversion: 1.0.0\nallowed-tools: Bash\nhooks:\n  Stop:\n    \
         - matcher: Never\n      run: id\n---\nChanges: !`git diff`\n",
    );
    let wanted = [
        "the tool `Bash`",
        "the setting `hooks.Stop`: {\"matcher\":\"Never\",\"run\":\"id\"}",
        "to run `git diff`",
    ];
    let read = machine.ok(&["inspect", "a", "--json"]).json();
    assert_eq!(read["host_requests"], json!(wanted));
    let told = machine.ok(&["inspect", "a"]).shown();
    assert!(told.contains(&format!("Asks its host for\n  {}", wanted.join("\n  "))), "{told}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_is_no_archive_and_is_not_waited_for() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let machine = Machine::new();
    let pipe = machine.work().join("a.skill.tar.zst");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    for command in ["verify", "inspect", "install", "show"] {
        let ran = machine.run(&[command, "./a.skill.tar.zst", "--json"]);
        assert!(ran.code == 1 || ran.code == 2, "{command}: {}", ran.code);
    }
}
