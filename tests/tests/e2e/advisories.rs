//! Owners say what is wrong with versions, and whoever has one of them is told or refused.

use std::fs;

use serde_json::{Value, json};
use skillpkg_tests::{Machine, TestContext};

/// A skill with a tool in two versions, its author, and a machine that has the first of them.
fn installed(context: &TestContext) -> (Machine, Machine) {
    let author = context.author("ada");
    for version in ["1.0.0", "1.1.0"] {
        context.publish(&author, "waitlist", version, "notes", Some("echo hello"));
    }
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist@=1.0.0", "-y"]).succeeded();
    (author, machine)
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
fn an_owner_warns_and_forbids_and_takes_it_back_and_machines_are_told() {
    let context = TestContext::new();
    let (author, machine) = installed(&context);
    let add = |effect: &str, summary: &str| {
        let what = ["advisory", "add", "waitlist@<1.1.0", "--effect", effect, "--summary", summary];
        author.run(&what).succeeded()
    };
    let warned = add("warn", "It writes to the wrong list");
    let id = warned.stdout.trim_end().to_owned();
    assert!(warned.stderr.contains(&format!("{id}, which warns of waitlist 1.0.0")), "{warned:?}");
    let_an_hour_pass(&machine);
    let says = |arguments: &[&str], code: i32, text: &str| {
        let answer = machine.run(arguments).ended_with(code);
        let all = format!("{}{}", answer.stdout, answer.stderr);
        assert!(all.contains(text), "{arguments:?}: {all}");
    };
    let warning = "It writes to the wrong list";
    for arguments in [&["sync"][..], &["list"], &["verify"], &["call", "waitlist", "go", "-y"]] {
        says(arguments, 0, warning);
    }
    says(&["outdated"], 0, warning);
    says(&["show", "waitlist@=1.0.0"], 0, &id);

    let forbidden = add("forbid", "It sends keys away");
    let other = forbidden.stdout.trim_end().to_owned();
    let_an_hour_pass(&machine);
    says(&["sync"], 5, "It sends keys away");
    says(&["list"], 0, "It sends keys away");
    says(&["verify"], 5, "It sends keys away");
    says(&["call", "waitlist", "go", "-y"], 5, "It sends keys away");
    let fresh = context.machine("fresh");
    fresh.run(&["install", "waitlist@=1.0.0", "-y"]).ended_with(5);
    fresh.run(&["install", "waitlist", "-y"]).succeeded();

    let listed = fresh.json(&["advisory", "list", "waitlist"]);
    let all = listed["advisories"].as_array().unwrap();
    assert_eq!(all.len(), 2, "{listed}");
    assert_eq!((&all[1]["id"], &all[1]["covers"]), (&json!(other), &json!(["1.0.0"])));
    assert_eq!((&all[1]["effect"], &listed["name"]), (&json!("forbid"), &json!("waitlist")));

    for one in [&id, &other] {
        author.run(&["advisory", "withdraw", "waitlist", one]).succeeded();
    }
    let again = author.json(&["advisory", "withdraw", "waitlist", &other]);
    assert_eq!(again, json!({"name": "waitlist", "id": other, "withdrawn": true}));
    let_an_hour_pass(&machine);
    machine.run(&["sync"]).succeeded();
    let called = machine.run(&["call", "waitlist", "go", "-y"]).succeeded();
    assert!(!called.stderr.contains(warning), "{called:?}");
    let none = fresh.run(&["advisory", "list", "waitlist"]).succeeded();
    assert!(none.stderr.contains("No advisory is about waitlist."), "{none:?}");
}

#[test]
fn only_an_owner_says_so_and_what_cannot_be_said_is_explained() {
    let context = TestContext::new();
    let (author, _) = installed(&context);
    let other = context.author("eve");
    let add = |machine: &Machine, about: &str, summary: &str| {
        let what = ["advisory", "add", about, "--effect", "warn", "--summary", summary, "--json"];
        machine.run(&what)
    };
    let refused = add(&other, "waitlist", "It leaks");
    assert_eq!((refused.code, refused.error_code().as_str()), (5, "not_an_owner"), "{refused:?}");
    let absent = add(&author, "waitlst", "It leaks").ended_with(1);
    assert_eq!(absent.error_code(), "skill_not_found");
    assert_eq!(absent.json()["error"]["hint"], "did you mean `waitlist`?");
    for (about, summary, code) in [
        ("waitlist@latest", "It leaks", "invalid_requirement"),
        ("Wait List", "It leaks", "invalid_name"),
        ("waitlist", " ", "invalid_summary"),
        ("waitlist", "a\nb", "invalid_summary"),
    ] {
        assert_eq!(add(&author, about, summary).ended_with(2).error_code(), code);
    }
    // One that fits nothing there is published all the same, with a word.
    let early = ["advisory", "add", "waitlist@=9.0.0", "--effect", "warn", "--summary", "It leaks"];
    let early = author.run(&early).succeeded();
    assert!(early.stderr.contains("fits none of the versions of waitlist"), "{early:?}");
    let id = early.stdout.trim_end();
    let slip = format!("{}9", &id[..id.len() - 1]);
    let unknown = author.run(&["advisory", "withdraw", "waitlist", &slip, "--json"]).ended_with(1);
    assert_eq!(unknown.error_code(), "advisory_not_found");
    assert_eq!(unknown.json()["error"]["hint"], format!("did you mean `{id}`?"));
    other.run(&["advisory", "withdraw", "waitlist", id]).ended_with(5);
}
