//! Raw lines on stdin and stdout.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use skillpkg_tests::{Machine, TestContext};

use crate::serving::{Lines, active, hello, initialized, is_gone, started};

#[test]
fn whatever_tools_write_stdout_holds_messages_alone() {
    let (_context, machine) = active();
    let mut lines = Lines::session(&machine, &[]);
    let result = lines.call("waitlist-go", &json!({"word": "noise"}));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("\"result\":{}}\nnot JSON\n\u{0}\u{fffd}"), "{text}");
    assert_eq!(result["isError"], false);
    let result = lines.call("waitlist-go", &json!({"word": "much"}));
    assert_eq!(
        (&result["isError"], &result["_meta"]["dev.skillpkg/code"]),
        (&json!(true), &json!("output_too_large"))
    );
    // Each line that was heard up to here was a message: `hear` looks.
    assert!(lines.ask("tools/list", &json!({}))["result"]["tools"].is_array());
    assert!(lines.close() < Duration::from_secs(3));
}

#[test]
fn a_hundred_bad_messages_and_a_huge_line_leave_the_session_as_it_was() {
    let (_context, machine) = active();
    let mut lines = Lines::session(&machine, &[]);
    let bad = [
        "not json".to_owned(),
        "{".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        "42".to_owned(),
        String::new(),
        "{}".to_owned(),
        r#"{"jsonrpc":"1.0","id":7000,"method":"tools/list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":{},"method":"tools/list"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":7001,"method":5}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":7002,"method":"tools/call","params":[]}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":7003,"method":"tools/call","params":{"name":5}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":7004,"method":"tools/call","params":{"name":"waitlist-go","arguments":[1]}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":7005,"method":"resources/read","params":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":7006,"method":"nothing/known"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":7007,"result":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/nothing"}"#.to_owned(),
        format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000)),
        r#"{"jsonrpc":"2.0","id":7008,"method":"tools/list","params":{"cursor":"zzz"}}"#.to_owned(),
    ];
    for _ in 0..5 {
        for line in &bad {
            lines.say(line);
        }
    }
    lines.say(&"x".repeat(20 * 1024 * 1024));
    lines.say(
        &json!({"jsonrpc": "2.0", "id": 7009, "method": "tools/list",
        "params": {"padding": "x".repeat(5 * 1024 * 1024)}})
        .to_string(),
    );
    let id = lines.send("tools/list", &json!({}));
    let mut codes: Vec<(u64, i64)> = Vec::new();
    loop {
        let message = lines.hear();
        if message["id"] == id {
            assert_eq!(message["result"]["tools"].as_array().unwrap().len(), 4);
            break;
        }
        if let (Some(id), Some(code)) = (message["id"].as_u64(), message["error"]["code"].as_i64())
        {
            codes.push((id, code));
        }
    }
    codes.sort_unstable();
    codes.dedup();
    assert!(codes.contains(&(7001, -32600)), "{codes:?}");
    let invalid = |id| (id, -32602);
    let expected: Vec<(u64, i64)> =
        (7003..=7005).map(invalid).chain([(7006, -32601), invalid(7008)]).collect();
    for one in &expected {
        assert!(codes.contains(one), "{one:?} is not in {codes:?}");
    }
    assert!(lines.close() < Duration::from_secs(3));
}

#[test]
fn what_comes_before_a_session_or_is_no_message_is_answered_and_ends_nothing() {
    let (_context, machine) = active();
    let mut lines = Lines::start(&machine, &[]);
    let mut answered = |line: &str| {
        lines.say(line);
        lines.hear()
    };
    let answer = answered("not JSON");
    assert!(answer.as_object().unwrap().contains_key("id") && answer["id"].is_null(), "{answer}");
    assert_eq!(answer["error"]["code"], -32700, "{answer}");
    let answer = answered(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#);
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32602)));
    let told = answer["error"]["message"].as_str().unwrap();
    assert!(told.contains("`protocolVersion`") && told.contains("clientInfo"), "{told}");
    let answer = answered(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}"#);
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(2), &json!(-32602)));
    let answer = answered(r#"{"jsonrpc":"2.0","id":3,"method":"nothing/known"}"#);
    assert_eq!(answer["error"]["code"], -32601);
    assert_eq!(answer["error"]["message"], "there is no method nothing/known here");
    // Neither asks for an answer, and neither ends the server.
    lines.say(&initialized().to_string());
    lines.say(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#);
    let answer = lines.ask("ping", &json!({}));
    assert!(answer["result"].is_object(), "{answer}");
    let answer = lines.ask("initialize", &hello()["params"]);
    assert_eq!(answer["result"]["serverInfo"]["name"], "skillpkg");
    lines.say(&initialized().to_string());
    lines.say("{");
    assert_eq!(lines.hear()["error"]["code"], -32700);
    let answer = lines.ask("nothing/known", &json!({}));
    assert_eq!(answer["error"]["message"], "there is no method nothing/known here");
    assert_eq!(lines.ask("initialize", &json!({}))["error"]["code"], -32602);
    assert_eq!(lines.ask("tools/list", &json!({}))["result"]["tools"].as_array().unwrap().len(), 4);
    assert!(lines.close() < Duration::from_secs(3));
}

#[test]
fn the_end_of_stdin_ends_what_runs_and_the_server_at_once() {
    let (_context, machine) = active();
    let mut lines = Lines::session(&machine, &[]);
    lines.send("tools/call", &json!({"name": "waitlist-go", "arguments": {"word": "slow"}}));
    let process = started(&machine);
    assert!(lines.close() < Duration::from_secs(2));
    assert!(is_gone(&process));
}

#[test]
fn a_signal_ends_what_runs_and_the_server_though_stdin_stays_open() {
    let (_context, machine) = active();
    for signal in ["TERM", "INT", "HUP"] {
        let _ = fs::remove_file(machine.project.join("pid"));
        let mut lines = Lines::session(&machine, &[]);
        lines.send("tools/call", &json!({"name": "waitlist-go", "arguments": {"word": "slow"}}));
        let process = started(&machine);
        let at = Instant::now();
        let number = lines.process.id().to_string();
        let sent =
            std::process::Command::new("kill").args([&format!("-{signal}"), &number]).status();
        assert!(sent.unwrap().success());
        assert!(lines.process.wait().unwrap().success(), "{signal}");
        assert!(at.elapsed() < Duration::from_secs(3), "{signal}");
        assert!(is_gone(&process), "{signal}");
    }
}

#[test]
fn a_host_that_neither_reads_nor_closes_does_not_keep_the_server_from_ending() {
    let (_context, machine) = active();
    let mut server = machine.command(&["mcp"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut told = server.stderr.take().unwrap();
    std::thread::spawn(move || std::io::copy(&mut told, &mut std::io::sink()));
    writeln!(input, "{}\n{}", hello(), initialized()).unwrap();
    // Many times what a pipe holds; whether all of it is taken in is not the question.
    let flood = std::thread::spawn(move || {
        for id in 0..2_000 {
            let list = json!({"jsonrpc": "2.0", "id": id, "method": "resources/list"});
            if writeln!(input, "{list}").is_err() {
                break;
            }
        }
        std::thread::sleep(Duration::from_secs(20));
        drop(input);
    });
    std::thread::sleep(Duration::from_secs(1));
    let at = Instant::now();
    let number = server.id().to_string();
    assert!(std::process::Command::new("kill").arg(&number).status().unwrap().success());
    assert!(server.wait().unwrap().success());
    assert!(at.elapsed() < Duration::from_secs(8), "{:?}", at.elapsed());
    drop(flood);
}

#[test]
fn what_a_policy_comes_to_forbid_vanishes_and_comes_back() {
    let (_context, machine) = active();
    let mut lines = Lines::session(&machine, &[]);
    let policy = machine.configuration.with_file_name("policy.toml");
    let names = |lines: &mut Lines| -> Vec<String> {
        let answer = lines.ask("tools/list", &json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    fs::write(&policy, "forbid-programs = [\"echo\"]\n").unwrap();
    assert_eq!(lines.hear()["method"], "notifications/tools/list_changed");
    let left = names(&mut lines);
    assert!(left.len() == 3 && !left.contains(&"reports-go".to_owned()), "{left:?}");
    let answer = lines.ask("resources/read", &json!({"uri": "skill://acme/reports/SKILL.md"}));
    assert_eq!(answer["error"]["data"]["code"], "policy_program", "{answer}");
    // One that is not understood forbids all that it would decide.
    fs::write(&policy, "forbid-programmes = [\"echo\"]\n").unwrap();
    let answer = lines.ask("tools/list", &json!({}));
    assert_eq!(answer["error"]["data"]["code"], "policy_invalid", "{answer}");
    fs::remove_file(&policy).unwrap();
    assert_eq!(names(&mut lines).len(), 4);
}

#[test]
fn what_is_asked_before_the_end_of_stdin_is_answered() {
    let (_context, machine) = active();
    let (hello, told) = (hello(), initialized());
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let answer =
        machine.run_with_input(&["mcp"], &format!("{hello}\n{told}\n{list}\n")).succeeded();
    let answers: Vec<Value> =
        answer.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 2, "{}", answer.stdout);
    assert_eq!(answers[1]["result"]["tools"].as_array().unwrap().len(), 4);
    assert!(answer.stderr.contains("`wait_list` is not in `skills/list`"), "{}", answer.stderr);
}

#[test]
fn calls_beyond_what_runs_and_waits_are_refused_and_the_others_end() {
    let (_context, machine) = active();
    let mut lines = Lines::session(&machine, &["--timeout", "2"]);
    let slow = json!({"name": "waitlist-go", "arguments": {"word": "slow"}});
    let calls: Vec<u64> = (0..70).map(|_| lines.send("tools/call", &slow)).collect();
    // Lists are answered in the meantime.
    let at = Instant::now();
    let mut refused = 0;
    let list = lines.send("tools/list", &json!({}));
    loop {
        let message = lines.hear();
        if message["id"] == list {
            break;
        }
        refused += usize::from(message["result"]["_meta"]["dev.skillpkg/code"] == "too_many_calls");
    }
    assert!(at.elapsed() < Duration::from_secs(10));
    let mut timed_out = 0;
    while refused + timed_out < 14 {
        let message = lines.hear();
        assert!(calls.iter().any(|id| message["id"] == *id), "{message}");
        match message["result"]["_meta"]["dev.skillpkg/code"].as_str() {
            Some("too_many_calls") => refused += 1,
            Some("timed_out") => timed_out += 1,
            _ => panic!("{message}"),
        }
    }
    assert_eq!(refused, 6);
    assert!(lines.close() < Duration::from_secs(3));
}

fn tree(machine: &Machine, skill: &str) -> std::path::PathBuf {
    fs::read_link(machine.project.join(".agents/skills").join(skill)).unwrap()
}

fn overwrite(file: &Path, text: &str) {
    let metadata = file.metadata().unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(file, text).unwrap();
    fs::set_permissions(file, metadata.permissions()).unwrap();
}

/// Overwrites every copy of the file that the store has, so that none is intact.
fn damage(machine: &Machine, wanted: &str) {
    let mut directories = vec![machine.home.join("blobs")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if fs::read(&path).is_ok_and(|bytes| bytes == wanted.as_bytes()) {
                overwrite(&path, "planted");
            }
        }
    }
}

#[test]
fn a_changed_file_is_neither_shown_nor_run() {
    let (_context, machine) = active();
    let mut lines = Lines::session(&machine, &[]);
    let notes = json!({"uri": "skill://_/waitlist/references/notes.md"});
    // Changed in the tree alone: what was signed is shown, and the tree made whole for the call.
    overwrite(&tree(&machine, "waitlist").join("references/notes.md"), "planted");
    overwrite(&tree(&machine, "waitlist").join("handle.sh"), "echo planted");
    let answer = lines.ask("resources/read", &notes);
    assert_eq!(answer["result"]["contents"][0]["text"], "Every row has an id.\n");
    let result = lines.call("waitlist-go", &json!({"word": "x"}));
    assert_eq!(result["content"][0]["text"], "got x\n");
    let told = result["_meta"]["dev.skillpkg/notices"].to_string();
    assert!(told.contains("`handle.sh` was changed"), "{told}");
    // Changed everywhere: refused.
    damage(&machine, "Every row has an id.\n");
    overwrite(&tree(&machine, "waitlist").join("references/notes.md"), "planted");
    let answer = lines.ask("resources/read", &notes);
    assert_eq!(answer["error"]["data"]["code"], "verification_failed", "{answer}");
    for tool in ["waitlist-go", "waitlist-read_notes"] {
        let arguments = if tool == "waitlist-go" { json!({"word": "x"}) } else { json!({}) };
        let result = lines.call(tool, &arguments);
        assert_eq!(result["isError"], true);
        assert_eq!(result["_meta"]["dev.skillpkg/code"], "verification_failed", "{result}");
        assert!(!result.to_string().contains("planted"));
    }
    // The others are served as before.
    assert_eq!(lines.call("reports-go", &json!({}))["content"][0]["text"], "report\n");
}

#[test]
fn a_skill_that_may_not_be_seen_hides_none_of_the_others() {
    let (_context, machine) = active();
    let mut lines = Lines::session(&machine, &[]);
    let lock = machine.read("skillpkg.lock");
    let without: String = lock
        .split("[[skill]]")
        .filter(|part| !part.contains("\"waitlist\""))
        .collect::<Vec<_>>()
        .join("[[skill]]");
    machine.write("skillpkg.lock", &without);
    let names = |answer: &Value| -> Vec<String> {
        let tools = answer["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&lines.ask("tools/list", &json!({}))), ["reports-go"]);
    let answer = lines.ask("resources/read", &json!({"uri": "skill://_/waitlist/SKILL.md"}));
    assert!(answer["error"].is_object(), "{answer}");
    machine.write("skillpkg.lock", &lock);
    assert_eq!(names(&lines.ask("tools/list", &json!({}))).len(), 4);
}

#[test]
fn a_script_runs_unasked_where_the_user_allows_it_and_never_because_the_project_does() {
    let (_context, machine) = active();
    let call = |arguments: &[&str]| {
        let mut lines = Lines::session(&machine, arguments);
        lines.call("waitlist-normalize", &json!({"file": "x"}))["isError"].clone()
    };
    assert_eq!(call(&[]), true);
    assert_eq!(call(&["--allow", "acme/waitlist"]), true);
    assert_eq!(call(&["--allow", "waitlist:other"]), true);
    for allowed in ["waitlist", "waitlist:normalize", "*"] {
        assert_eq!(call(&["--allow", allowed]), false, "{allowed}");
    }
    let manifest = machine.read("skillpkg.toml");
    machine.write("skillpkg.toml", &format!("{manifest}\n[mcp]\nallow = [\"*\"]\n"));
    assert_eq!(call(&[]), true);
    machine.write("skillpkg.toml", &manifest);
    fs::write(&machine.configuration, "[mcp]\nallow = [\"waitlist\"]\n").unwrap();
    assert_eq!(call(&[]), false);
    fs::write(&machine.configuration, "[mcp]\nallow = [\"Wait List\"]\n").unwrap();
    let refused = machine.run(&["mcp"]);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("`mcp.allow`"), "{}", refused.stderr);
}

#[test]
fn the_skills_of_all_projects_are_served_on_their_own() {
    let (_context, machine) = active();
    let mut lines = Lines::session(&machine, &["--global"]);
    assert_eq!(lines.ask("tools/list", &json!({}))["result"]["tools"], json!([]));
    machine.run(&["install", "acme/reports", "-y", "--global"]).succeeded();
    let notice = lines.hear();
    assert_eq!(notice["method"], "notifications/tools/list_changed");
    assert_eq!(lines.call("reports-go", &json!({}))["content"][0]["text"], "report\n");
}

#[test]
fn nothing_is_served_where_nothing_is_installed_and_that_is_no_failure() {
    let context = TestContext::new();
    let machine = context.machine("reader");
    let mut lines = Lines::session(&machine, &[]);
    for (method, field) in [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("prompts/list", "prompts"),
        ("skills/list", "skills"),
    ] {
        assert_eq!(lines.ask(method, &json!({}))["result"][field], json!([]));
    }
    assert!(lines.close() < Duration::from_secs(3));
}

#[test]
fn a_skill_that_lacks_what_it_needs_is_not_offered_and_told() {
    let context = TestContext::new();
    let author = context.author("ada");
    for (name, needs) in [("lacking", "env: [NOWHERE_KEY]"), ("ready", "config: [a.b]")] {
        let source = context.path(name);
        fs::create_dir_all(&source).unwrap();
        let text = format!(
            "---\nskill: {name}\nversion: 1.0.0\ndescription: Does it.\nmetadata:\n  openclaw: \
             {{requires: {{{needs}}}}}\n---\n\nDo it.\n\n```tool\nid: go\ndescription: goes\n\
             run: echo it\n```\n"
        );
        fs::write(source.join("SKILL.md"), text).unwrap();
        author.run(&["publish", source.to_str().unwrap()]).succeeded();
    }
    let machine = context.machine("reader");
    let mut install = machine.command(&["install", "lacking", "ready", "-y"]);
    assert!(install.env("NOWHERE_KEY", "1").status().unwrap().success());
    let mut lines = Lines::session(&machine, &[]);
    let listed = lines.ask("tools/list", &json!({}));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["ready-go"]);
    assert!(lines.ask("prompts/list", &json!({}))["result"].to_string().contains("ready"));
    assert!(!lines.ask("resources/list", &json!({})).to_string().contains("lacking"));
    let told = machine.run(&["mcp"]).stderr;
    assert!(
        told.contains("`lacking` is not served: this needs the environment variable"),
        "{told}"
    );
}
