//! Which fences are tools, and what stands in them.

#![expect(clippy::expect_used, clippy::panic, reason = "a failed helper fails its test")]

use skillpkg_schema::Diagnostic;
use skillpkg_schema::json::Json;
use skillpkg_schema::skill::{ParamKind, SkillFile, Tool, parse, programs};

const FRONT: &str = "---\nskill: demo\ndescription: d\n---\n";
const TOOL: &str = "id: t\ndescription: d\nrun: echo\n";

fn read(body: &str) -> SkillFile {
    parse(format!("{FRONT}{body}").as_bytes(), "SKILL.md")
        .unwrap_or_else(|faults| panic!("{body}: {faults}"))
}

fn refused(body: &str) -> Vec<String> {
    let faults = parse(format!("{FRONT}{body}").as_bytes(), "SKILL.md").expect_err(body);
    faults.into_diagnostics().into_iter().map(|one| one.code).collect()
}

fn one(lines: &str) -> Tool {
    read(&format!("```tool\n{lines}```\n")).tools.remove(0)
}

fn words(tool: &Tool) -> Vec<&str> {
    tool.run.words().collect()
}

#[test]
fn a_fence_is_one_by_commonmark() {
    let quoted = format!("> {}\n", TOOL.trim_end().replace('\n', "\n> "));
    let listed = format!("  {}\n", TOOL.trim_end().replace('\n', "\n  "));
    for (body, rendered) in [
        (format!("```tool\n{TOOL}```"), "[tool: t]"),
        (format!("~~~tool\n{TOOL}~~~"), "[tool: t]"),
        (format!("`````tool\n{TOOL}`````````"), "[tool: t]"),
        (format!("``` tool of mine\n{TOOL}```  \nmore"), "[tool: t]\nmore"),
        (
            format!("a\n\n   ```tool\n   {}```\n\nb", TOOL.replace('\n', "\n   ")),
            "a\n\n   [tool: t]\n\nb",
        ),
        (format!("> ```tool\n{quoted}> ```\n\nb"), "> [tool: t]\n\nb"),
        (format!("- ```tool\n{listed}  ```\n- b"), "- [tool: t]\n- b"),
        (format!("text\n```tool\n{TOOL}```\ntext"), "text\n[tool: t]\ntext"),
        (format!("<b>\n\n```tool\n{TOOL}```\n\n</b>"), "<b>\n\n[tool: t]\n\n</b>"),
    ] {
        let file = read(&body);
        assert_eq!(file.rendered, rendered);
        assert_eq!(words(&file.tools[0]), ["echo"], "{body}");
    }
}

#[test]
fn what_only_looks_like_a_tool_is_prose() {
    for body in [
        "````markdown\n```tool\nid: x\n```\n````",
        "~~~\n```tool\nid: x\n```\n~~~",
        "```toolbox\nid: x\n```",
        "```Tool\nid: x\n```",
        "```bash tool\nid: x\n```",
        "    ```tool\n    id: x\n    ```",
        "<!--\n```tool\nid: x\n```\n-->",
        "`` ```tool ``",
        "x ```tool y",
    ] {
        let file = read(body);
        assert!(file.tools.is_empty(), "{body}");
        assert_eq!(file.rendered, body);
    }
}

#[test]
fn a_fence_that_does_not_close_itself_is_refused() {
    for body in [
        format!("```tool\n{TOOL}"),
        format!("```tool\n{TOOL}\n\n"),
        format!("````tool\n{TOOL}```\n"),
        format!("```tool\n{TOOL}~~~\n"),
        format!("```tool\n{TOOL}``` x\n"),
        "```tool".to_owned(),
        "> ```tool\n> id: t\n\n> ```\n".to_owned(),
        "- ```tool\n  id: t\n- b\n".to_owned(),
    ] {
        assert_eq!(refused(&body)[0], "fence_unclosed", "{body}");
    }
    assert!(refused("```tool\n```\n").iter().all(|code| code == "fence_missing"));
}

#[test]
fn places_are_those_of_the_file_wherever_the_fence_stands() {
    for (body, line, column) in [
        ("```tool\nid: t\nrunn: x\n```", 7, 1),
        ("\n\n> - ```tool\n>   id: t\n>   runn: x\n>   ```", 9, 5),
        ("1. a\n\n   ```tool\n   id: t\n\n   runn: x\n   ```", 10, 4),
    ] {
        let faults = parse(format!("{FRONT}{body}").as_bytes(), "f").unwrap_err();
        let is_there = |one: &Diagnostic| (one.line, one.column) == (Some(line), Some(column));
        assert!(faults.diagnostics().iter().any(is_there), "{faults}");
    }
    assert_eq!(read(&format!("a\n\n```tool\n{TOOL}```\n")).tools[0].line, 7);
}

#[test]
fn a_value_is_the_rest_of_its_line() {
    let tool = one(
        "id:   t  \ndescription: note: use # carefully: \"always\" {x} \\n\nparams:\n  s:\n    description: \
         'a': b # c\n    format: e-mail, or: so\n    default: \"x\" # y\nrun: echo $s # z \"q\n",
    );
    assert_eq!(tool.id, "t");
    assert_eq!(tool.description, "note: use # carefully: \"always\" {x} \\n");
    let param = &tool.params[0];
    assert_eq!(param.description.as_deref(), Some("'a': b # c"));
    assert_eq!(param.format.as_deref(), Some("e-mail, or: so"));
    assert_eq!(param.default, Some(Json::String("\"x\" # y".to_owned())));
    assert_eq!(words(&tool), ["echo", "$s", "#", "z", "\"q"]);
}

#[test]
fn order_depth_and_blank_lines_are_free() {
    let one_way = one(
        "id: t\ndescription: d\nparams:\n  a:\n    type: integer\n  b:\nrun:\n  - x\n  - $a\n  - $b\n",
    );
    for other in [
        "run:\n- x\n- $a\n- $b\nparams:\n a:\n        type: integer\n b:\ndescription: d\nid: t\n",
        "\nid: t\n\nparams:\n\n  a:\n\n    type: integer\n\n  b:\n    type: string\n\nrun:\n\n  - x\n\n  - $a\n  - $b\n\ndescription: d\n",
        "  id: t\n  description: d\n  params:\n    a:\n      type: integer\n    b:\n  run: x $a $b\n",
    ] {
        assert_eq!(one(other), one_way, "{other}");
    }
}

#[test]
fn items_are_words_to_the_end_of_the_line() {
    let tool = one(
        "id: t\ndescription: d\nrun:\n  - print n\": \"l\n  - {a: 1}\n  - \"quoted\"\n  - # not a comment\n  - - x\n  -   two before, one behind \n  -\n  - \n  - $$x\n",
    );
    let expected = [
        "print n\": \"l",
        "{a: 1}",
        "\"quoted\"",
        "# not a comment",
        "- x",
        "  two before, one behind ",
        "",
        "",
        "$$x",
    ];
    assert_eq!(words(&tool), expected);
}

#[test]
fn unicode_white_space_ends_a_word() {
    assert_eq!(
        words(&one("id: t\ndescription: d\nrun: a\u{a0}b\u{3000}c \u{2003} d\n")),
        ["a", "b", "c", "d"]
    );
}

#[test]
fn params_have_the_type_they_say() {
    let tool = one(
        "id: t\ndescription: d\nparams:\n  s:\n  0:\n    type: integer\n    enum: 1, -2,3\n    default: 3\n  n_N:\n    type: number\n    enum: 1.5, 2\n  b:\n    type: boolean\n    default: true\n  e:\n    default:\nrun: x $s$0 $n_N $b $e\n",
    );
    let names: Vec<(&str, ParamKind)> =
        tool.params.iter().map(|param| (param.name.as_str(), param.kind)).collect();
    let expected = [
        ("s", ParamKind::String),
        ("0", ParamKind::Integer),
        ("n_N", ParamKind::Number),
        ("b", ParamKind::Boolean),
        ("e", ParamKind::String),
    ];
    assert_eq!(names, expected);
    assert_eq!(tool.params[4].default, Some(Json::String(String::new())));
    assert_eq!(
        tool.schema().canonical(),
        "{\"additionalProperties\":false,\"properties\":{\"0\":{\"default\":3,\"enum\":[1,-2,3],\
         \"type\":\"integer\"},\"b\":{\"default\":true,\"type\":\"boolean\"},\"e\":{\"default\":\"\",\
         \"type\":\"string\"},\"n_N\":{\"enum\":[1.5,2],\"type\":\"number\"},\"s\":{\"type\":\"string\"}},\
         \"required\":[\"s\",\"n_N\"],\"type\":\"object\"}"
    );
}

#[test]
fn whatever_else_stands_in_a_fence_is_refused() {
    let long = format!("id: {}\ndescription: d\nrun: x\n", "a".repeat(65));
    for (lines, code) in [
        ("id: t\ndescription: d\nrun: x\nrun: y\n", "fence_key_twice"),
        ("id: t\ndescription: d\nrun: x\n# a comment\n", "fence_line"),
        ("id: t\ndescription:\nrun: x\n", "fence_empty"),
        ("id:\ndescription: d\nrun: x\n", "fence_empty"),
        ("id: é\ndescription: d\nrun: x\n", "fence_id"),
        (long.as_str(), "fence_id"),
        ("id: t\ndescription: d\nrun: x\n  - y\n", "fence_nested"),
        ("id: t\ndescription: d\nrun:\n  - x\n    - y\n", "run_item"),
        ("id: t\ndescription: d\nrun:\n  - x\n  y\n", "run_item"),
        ("id: t\ndescription: d\nrun:\n  -x\n", "run_item"),
        ("id: t\ndescription: d\nrun:\n  -\n  - x\n", "run_empty"),
        ("id: t\ndescription: d\nrun: x\nparams: {}\n", "params_form"),
        ("id: t\ndescription: d\nrun: x $a\nparams:\n  a: string\n", "param_form"),
        ("id: t\ndescription: d\nrun: x $a\nparams:\n  a:\n  a:\n", "param_twice"),
        (
            "id: t\ndescription: d\nrun: x $a\nparams:\n  a:\n    type: string\n    type: string\n",
            "fence_key_twice",
        ),
        ("id: t\ndescription: d\nrun: x $a\nparams:\n  a:\n    type:\n", "param_type"),
        (
            "id: t\ndescription: d\nrun: x $a\nparams:\n  a:\n    type: [string, null]\n",
            "param_type",
        ),
        ("id: t\ndescription: d\nrun: x $a\nparams:\n  a:\n    enum:\n", "param_enum"),
        ("id: t\ndescription: d\nrun: x $a\nparams:\n  a:\n    enum: a, a\n", "param_enum"),
        ("id: t\ndescription: d\nrun: x $a\nparams:\n  a:\n    enum:\n      - a\n", "fence_nested"),
        (
            "id: t\ndescription: d\nrun: x $a\nparams:\n  a:\n    type: integer\n    enum: 1, 2.5\n",
            "param_enum",
        ),
        (
            "id: t\ndescription: d\nrun: x $a\nparams:\n  a:\n    type: integer\n    default:\n",
            "param_default",
        ),
        (
            "id: t\ndescription: d\nrun: x $a\nparams:\n  a:\n    type: integer\n    default: 9223372036854775808\n",
            "param_default",
        ),
        (
            "id: t\ndescription: d\nrun: x $a\nparams:\n  a:\n    type: boolean\n    default: yes\n",
            "param_default",
        ),
        (
            "id: t\ndescription: d\nrun: x $a\nparams:\n  a:\n     type: string\n    format: x\n",
            "fence_indentation",
        ),
        ("id: t\ndescription: d\nrun: x ${a}\nparams:\n  a:\n", "param_unused"),
        ("id: t\ndescription: d\nrun: x $$a\nparams:\n  a:\n", "param_unused"),
        ("id: t\ndescription: d\nrun: x $ab\nparams:\n  a:\n", "param_undeclared"),
        ("id: t\ndescription: d\nrun: x $$$b\n", "param_undeclared"),
        ("id: t\ndescription: d\nrun:\n  - x\n  - {print $1}\n", "param_undeclared"),
    ] {
        let codes = refused(&format!("```tool\n{lines}```\n"));
        assert!(codes.iter().any(|one| one == code), "{lines}: {codes:?}");
    }
}

#[test]
fn tools_are_read_in_both_dialects() {
    let source = format!("---\nname: demo\ndescription: d\n---\n```tool\n{TOOL}```\n");
    assert_eq!(parse(source.as_bytes(), "f").unwrap().tools.len(), 1);
}

#[test]
fn programs_are_the_first_words() {
    let tool = |id: &str, run: &str, params: &str| {
        format!("```tool\nid: {id}\ndescription: d\n{params}run: {run}\n```\n\n")
    };
    let body = [
        tool("a", "uv run x", ""),
        tool("b", "$$tool x", ""),
        tool("c", "$p-$$x y", "params:\n  p:\n"),
        tool("d", "./bin/go", ""),
        tool("e", "uv sync", ""),
        tool("f", "${x} y", ""),
    ]
    .concat();
    let programs: Vec<(String, bool, Vec<String>)> = programs(&read(&body).tools)
        .into_iter()
        .map(|one| (one.name, one.dynamic, one.tools))
        .collect();
    let expected = [
        ("uv", false, vec!["a", "e"]),
        ("$tool", false, vec!["b"]),
        ("$p-$$x", true, vec!["c"]),
        ("./bin/go", false, vec!["d"]),
        ("${x}", false, vec!["f"]),
    ]
    .map(|(name, dynamic, tools)| {
        (name.to_owned(), dynamic, tools.into_iter().map(str::to_owned).collect())
    });
    assert_eq!(programs, expected);
}
