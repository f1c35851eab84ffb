//! Calls found in answers, and what a model is told of wrong ones.

#![expect(clippy::unwrap_used, reason = "a failed helper fails its test")]

use std::fmt::Write as _;

use skillpkg_schema::json::{self, Bounds, Json};
use skillpkg_schema::skill::{Answer, Call, ResolveError, Tool, compile, parse, resolve};

const BOUNDS: Bounds = Bounds { bytes: 1_000_000, depth: 64, nodes: 100_000 };

const SKILL: &str = "---
skill: waitlist
description: Manages signups.
---

Manage the waitlist.

```tool
id: access
description: accept or reject a user
params:
  operation:
    enum: accept, reject
    default: accept
  user:
    format: email
    description: email of the user
run: uv run handle.py --$operation $user
```

Then look.

```tool
id: show
description: show a page
params:
  page:
    type: integer
    default: 1
  ratio:
    type: number
    enum: 0.5, 2
    default: 2
  all:
    type: boolean
    default: false
run: uv run show.py $page $ratio $all
```
";

fn tools() -> Vec<Tool> {
    parse(SKILL.as_bytes(), "SKILL.md").unwrap().tools
}

fn structured(call: &str) -> Result<Option<Call>, ResolveError> {
    resolve(&tools(), Answer::Structured(&json::parse(call, &BOUNDS).unwrap()))
}

fn text(answer: &str) -> Result<Option<Call>, ResolveError> {
    resolve(&tools(), Answer::Text(answer))
}

fn code(resolved: Result<Option<Call>, ResolveError>) -> &'static str {
    resolved.map_or_else(|error| error.code, |call| call.map_or("none", |_| "call"))
}

#[test]
fn every_vendors_shape_is_read() {
    for call in [
        r#"{"tool": "access", "args": {"user": "x@y.z"}}"#,
        r#"{"name": "access", "arguments": {"user": "x@y.z"}}"#,
        r#"{"id": "access", "input": {"user": "x@y.z"}}"#,
        r#"{"tool": "access", "params": "{\"user\": \"x@y.z\"}"}"#,
        r#"{"type": "tool_use", "id": "toolu_01", "name": "access", "input": {"user": "x@y.z"}}"#,
        r#"{"id": "call_1", "type": "function", "function": {"name": "access", "arguments": "{\"user\":\"x@y.z\"}"}}"#,
        r#"{"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "access", "arguments": "{\"user\":\"x@y.z\"}"}"#,
        r#"{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "access", "arguments": {"user": "x@y.z"}}}"#,
        r#"{"role": "assistant", "content": [{"type": "text", "text": "So."}, {"type": "tool_use", "id": "t", "name": "access", "input": {"user": "x@y.z"}}]}"#,
        r#"{"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "access", "arguments": "{\"user\":\"x@y.z\"}"}}]}"#,
        r#"[{"type": "tool_use", "id": "t", "name": "access", "input": {"user": "x@y.z"}}]"#,
    ] {
        for resolved in [structured(call), text(call), text(&format!("```json\n{call}\n```"))] {
            let call = resolved.unwrap().expect(call);
            assert_eq!(call.argv, ["uv", "run", "handle.py", "--accept", "x@y.z"]);
            assert_eq!(call.args.len(), 2);
        }
    }
    for call in [
        r#"{"tool": "show"}"#,
        r#"{"tool": "show", "args": null}"#,
        r#"{"name": "show", "arguments": ""}"#,
        r#"{"name": "show", "arguments": "{}"}"#,
        r#"{"tool": "show", "args": {"page": null, "all": null}}"#,
    ] {
        assert_eq!(structured(call).unwrap().unwrap().argv[3..], ["1", "2", "false"], "{call}");
    }
}

#[test]
fn a_call_is_found_in_text_where_it_is_one() {
    let call = r#"{"tool": "show", "args": {"page": 3}}"#;
    for (answer, code_wanted) in [
        (format!("Right.\n\n```call\n{call}\n```\n\nDone."), "call"),
        (format!("> ```call\n> {call}\n> ```"), "call"),
        (format!("~~~json\n{call}\n~~~"), "call"),
        (format!("```call\n{call}"), "call"),
        (format!("I call {call}."), "call"),
        (format!("Not {{this}} nor {{\"that\": 1}} but {call}"), "call"),
        (format!("```\n{call}\n```"), "call"),
        (format!("  {call}\n"), "call"),
        (format!("{{ \"unclosed\": {call}"), "call"),
        ("Nothing to call.".to_owned(), "none"),
        (String::new(), "none"),
        ("{\"answer\": 42}".to_owned(), "none"),
        ("[1, 2]".to_owned(), "none"),
        ("```json\n{\"rows\": [1, 2]}\n```".to_owned(), "none"),
        ("```json\n{broken\n```".to_owned(), "none"),
        ("Say {\"tool\": \"other\"} in prose.".to_owned(), "none"),
        ("```json\n{\"name\": \"Ada\", \"id\": \"show-case\"}\n```".to_owned(), "none"),
        ("```call\n{broken\n```".to_owned(), "call_not_json"),
        ("```call\n{\"answer\": 42}\n```".to_owned(), "call_form"),
        ("```call\n{\"tool\": \"other\"}\n```".to_owned(), "unknown_tool"),
        ("{\"tool\": \"other\", \"args\": {}}".to_owned(), "unknown_tool"),
        (format!("```call\n{call}\n```\n```call\n{call}\n```"), "several_calls"),
        (format!("```call\n{call}\n```\nand {call}"), "several_calls"),
        (format!("{call} {call}"), "several_calls"),
        (format!("[{call}, {call}]"), "several_calls"),
        ("```call\n{\"tool\": \"show\", \"tool\": \"access\"}\n```".to_owned(), "call_not_json"),
    ] {
        assert_eq!(code(text(&answer)), code_wanted, "{answer}");
    }
}

#[test]
fn values_are_coerced_by_the_listed_rules_alone() {
    for (page, word) in [
        ("3", Some("3")),
        ("\"3\"", Some("3")),
        ("3.0", Some("3")),
        ("-0", Some("0")),
        ("3e2", Some("300")),
        ("9223372036854775807", Some("9223372036854775807")),
        ("\"-9223372036854775808\"", Some("-9223372036854775808")),
        ("9223372036854775808", None),
        ("3.5", None),
        ("\"3.0\"", None),
        ("\" 3\"", None),
        ("\"03\"", None),
        ("\"+3\"", None),
        ("\"\"", None),
        ("true", None),
        ("[3]", None),
        ("{}", None),
        ("1e400", None),
    ] {
        let resolved = structured(&format!(r#"{{"tool": "show", "args": {{"page": {page}}}}}"#));
        assert_eq!(
            resolved.ok().flatten().map(|call| call.argv[3].clone()).as_deref(),
            word,
            "{page}"
        );
    }
    for (all, word) in
        [("true", Some("true")), ("\"false\"", Some("false")), ("\"True\"", None), ("0", None)]
    {
        let resolved = structured(&format!(r#"{{"tool": "show", "args": {{"all": {all}}}}}"#));
        assert_eq!(
            resolved.ok().flatten().map(|call| call.argv[5].clone()).as_deref(),
            word,
            "{all}"
        );
    }
    for (ratio, is_one) in [
        ("0.5", true),
        ("\"0.50\"", true),
        ("2.0", true),
        ("2", true),
        ("1", false),
        ("true", false),
    ] {
        let resolved = structured(&format!(r#"{{"tool": "show", "args": {{"ratio": {ratio}}}}}"#));
        assert_eq!(resolved.is_ok(), is_one, "{ratio}");
    }
    for (user, word) in [
        ("5", "5"),
        ("1.50", "1.50"),
        ("true", "true"),
        ("\"\"", ""),
        ("\"a b\\n$user\"", "a b\n$user"),
    ] {
        let call = structured(&format!(r#"{{"tool": "access", "args": {{"user": {user}}}}}"#))
            .unwrap()
            .unwrap();
        assert_eq!(call.argv[4], word);
    }
}

#[test]
fn messages_are_worded_for_the_model() {
    let mut told = String::new();
    for call in [
        r#"{"tool": "acess", "args": {}}"#,
        r#"{"tool": "delete", "args": {}}"#,
        r#"{"args": {}}"#,
        r#"{"tool": "access"}"#,
        r#"{"tool": "access", "args": {"usr": "x"}}"#,
        r#"{"tool": "access", "args": {"operation": "acept", "user": ["x"], "force": true}}"#,
        r#"{"tool": "show", "args": {"page": "three", "ratio": 1, "all": "yes"}}"#,
        r#"{"tool": "show", "args": [1]}"#,
        r#"{"tool": "show", "args": "{page: 1}"}"#,
        r#"{"tool": "show", "args": {}, "input": {}}"#,
        r#"{"tool": "access", "args": {"user": "a\u0000b"}}"#,
    ] {
        let error = structured(call).unwrap_err();
        writeln!(told, "{call}\n  [{}] {error}", error.code).unwrap();
    }
    insta::assert_snapshot!(told);
}

#[test]
fn a_call_has_a_most_number_of_bytes() {
    let many = "$user ".repeat(300);
    let skill = SKILL.replace("--$operation $user", &format!("$operation {many}"));
    let tools = parse(skill.as_bytes(), "SKILL.md").unwrap().tools;
    let args = Json::Object(vec![("user".to_owned(), Json::String("x".repeat(10_000)))]);
    let call = Json::Object(vec![
        ("tool".to_owned(), Json::String("access".to_owned())),
        ("args".to_owned(), args),
    ]);
    assert_eq!(code(resolve(&tools, Answer::Structured(&call))), "call_too_long");
}

#[test]
fn hostile_answers_cost_little() {
    let many = 20_000;
    for answer in [
        "{".repeat(many),
        "{\"".repeat(many),
        "{\"a\":".repeat(many),
        "{\"t\":\"{\",".repeat(many),
        "[".repeat(many),
        "```json\n{}\n```\n".repeat(many / 10),
        format!("{{\"{}", " {".repeat(many)),
    ] {
        assert!(!matches!(text(&answer), Ok(Some(_))));
    }
    assert_eq!(code(text(&"x".repeat(5 * 1024 * 1024))), "answer_too_long");
}

#[test]
fn the_system_text_is_golden() {
    insta::assert_snapshot!(compile(&parse(SKILL.as_bytes(), "SKILL.md").unwrap()));
}

#[test]
fn a_skill_without_tools_is_its_prose() {
    let skill = parse(b"---\nname: a\ndescription: d\n---\n\n\nProse.\n\n", "SKILL.md").unwrap();
    assert_eq!(compile(&skill), "Prose.");
}
