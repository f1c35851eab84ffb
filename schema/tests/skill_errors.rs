//! What authors are told: every message says what is wrong, where, and what to do.

use std::fmt::Write as _;

use skillpkg_schema::skill::parse;

const FRONT: &str = "---\nskill: demo\ndescription: A demo.\n---\n\n";

fn fence(body: &str) -> String {
    format!("{FRONT}```tool\n{body}```\n")
}

fn frontmatter(lines: &str) -> String {
    format!("---\n{lines}---\n\nProse.\n")
}

fn wrong_files() -> Vec<(&'static str, String)> {
    vec![
        ("no frontmatter", "# Demo\n".to_owned()),
        ("frontmatter that never ends", "---\nskill: demo\n\nProse.\n".to_owned()),
        ("no name", frontmatter("description: A demo.\n")),
        ("a key misspelt", frontmatter("skill: demo\ndescripton: A demo.\n")),
        ("names that differ", frontmatter("skill: demo\nname: other\ndescription: d\n")),
        ("a list for a text", frontmatter("skill: demo\ndescription: [a, b]\n")),
        ("a key twice", frontmatter("skill: demo\ndescription: a\ndescription: b\n")),
        ("an anchor", frontmatter("skill: demo\ndescription: &a text\n")),
        ("an alias", frontmatter("skill: demo\ndescription: *a\n")),
        ("a merge key", frontmatter("skill: demo\ndescription: d\n<<: x\n")),
        ("a tag", frontmatter("skill: demo\ndescription: d\nx: !!python/object y\n")),
        ("a tab for indentation", frontmatter("skill: demo\ndescription: d\nmetadata:\n\ta: b\n")),
        ("an open quote", frontmatter("skill: demo\ndescription: \"Use it\n")),
        ("a bad escape", frontmatter("skill: demo\ndescription: \"a \\d b\"\n")),
        ("no space behind a colon", frontmatter("skill:demo\ndescription: d\n")),
        (
            "an absolute include",
            frontmatter("skill: demo\ndescription: d\nincludes: /etc/passwd\n"),
        ),
        ("includes that climb", frontmatter("skill: d\ndescription: d\nincludes: a, ../b, ~/c\n")),
        ("nothing to read", "---\nskill: demo\ndescription: d\n---\n\n".to_owned()),
        ("a fence that never closes", format!("{FRONT}```tool\nid: t\n")),
        (
            "every fault of two fences",
            format!(
                "{FRONT}```tool\nid: t\ndescription: d\nparams:\n  a:\n    type: int\n    enum: a,,b\nrun: x $a\n```\n\n```tool\nid: t\ndescription: d\n```\n"
            ),
        ),
        ("an empty fence", fence("")),
        ("an unknown key", fence("id: t\ndescription: d\nrunn: echo\n")),
        ("a key of a fence twice", fence("id: t\nid: u\ndescription: d\nrun: echo\n")),
        ("an id with a space", fence("id: a tool\ndescription: d\nrun: echo\n")),
        ("a line that is no key", fence("id: t\ndescription: d\nmore of it\nrun: echo\n")),
        ("a fence's line without a space", fence("id:t\ndescription: d\nrun: echo\n")),
        ("a description of two lines", fence("id: t\ndescription: d\n  and more\nrun: echo\n")),
        ("a tab in a fence", fence("id: t\ndescription: d\nparams:\n\ts:\nrun: echo $s\n")),
        (
            "an undeclared name",
            fence("id: t\ndescription: d\nparams:\n  user:\nrun: echo $user $usr\n"),
        ),
        ("awk's fields", fence("id: t\ndescription: d\nrun: awk {print$0} f\n")),
        (
            "an unused param",
            fence("id: t\ndescription: d\nparams:\n  path:\n  content:\nrun: tee $path\n"),
        ),
        (
            "a type of JSON Schema",
            fence("id: t\ndescription: d\nparams:\n  n:\n    type: int\nrun: x $n\n"),
        ),
        (
            "an unsupported type",
            fence("id: t\ndescription: d\nparams:\n  n:\n    type: array\nrun: x $n\n"),
        ),
        ("a param on one line", fence("id: t\ndescription: d\nparams:\n  n: integer\nrun: x $n\n")),
        (
            "an unknown key of a param",
            fence("id: t\ndescription: d\nparams:\n  n:\n    defualt: 1\nrun: x $n\n"),
        ),
        (
            "a default of another type",
            fence(
                "id: t\ndescription: d\nparams:\n  n:\n    type: integer\n    default: ten\nrun: x $n\n",
            ),
        ),
        (
            "a default outside the enum",
            fence(
                "id: t\ndescription: d\nparams:\n  n:\n    enum: a, b\n    default: c\nrun: x $n\n",
            ),
        ),
        (
            "an empty choice",
            fence("id: t\ndescription: d\nparams:\n  n:\n    enum: a,, b\nrun: x $n\n"),
        ),
        (
            "a param that run cannot name",
            fence("id: t\ndescription: d\nparams:\n  my-file:\nrun: x $my-file\n"),
        ),
        ("an empty run", fence("id: t\ndescription: d\nrun:\n")),
        ("an item that continues", fence("id: t\ndescription: d\nrun:\n  - echo\n    more\n")),
        (
            "two tools of one id",
            format!(
                "{}\n```tool\nid: t\ndescription: d\nrun: y\n```\n",
                fence("id: t\ndescription: d\nrun: x\n")
            ),
        ),
        ("terminal escapes", fence("id: t\ndescription: d\n\u{1b}[31mred: x\nrun: y\n")),
    ]
}

#[test]
fn messages_teach() {
    let mut told = String::new();
    for (what, source) in wrong_files() {
        let faults = parse(source.as_bytes(), "SKILL.md").expect_err(what);
        writeln!(told, "── {what}").unwrap();
        for one in faults.diagnostics() {
            assert!(one.file.is_some() && one.line.is_some(), "{what}: {one}");
            writeln!(told, "[{}] {one}", one.code).unwrap();
        }
    }
    insta::assert_snapshot!(told);
}

#[test]
fn every_fault_is_told_and_not_only_the_first() {
    let source = fence("id: t\nrunn: echo $a\nparams:\n  b:\n    type: int\n    frmat: x\n");
    let faults = parse(source.as_bytes(), "SKILL.md").unwrap_err();
    let codes: Vec<&str> = faults.diagnostics().iter().map(|one| one.code.as_str()).collect();
    for code in ["fence_key", "fence_missing", "param_type"] {
        assert!(codes.contains(&code), "{codes:?}");
    }
    assert_eq!(codes.iter().filter(|code| **code == "fence_missing").count(), 2);
}

#[test]
fn hostile_files_are_refused_or_read_within_bounds() {
    let many = 30_000;
    let body = |body: String| format!("{FRONT}{body}\n");
    for (source, is_read) in [
        (body(">".repeat(many)), false),
        (body("- ".repeat(many)), false),
        (body("[".repeat(many)), true),
        (body("x\u{e0041}".to_owned() + &"\u{e0041}".repeat(many)), true),
        (body("```tool\nbad\n```\n\n".repeat(2_000)), false),
        (frontmatter(&format!("skill: a\ndescription: d\nx: {}\n", "[".repeat(many))), true),
        (frontmatter(&format!("skill: a\ndescription: d\nx: [{}]\n", "[],".repeat(many))), false),
        (frontmatter(&format!("skill: a\ndescription: d\n{}x\n", "- ".repeat(many))), false),
        (frontmatter(&"k: a: b\n".repeat(40_000)), false),
        (format!("---\n{}", "x".repeat(1024 * 1024)), false),
        (body("a\0b".to_owned()), false),
    ] {
        let parsed = parse(source.as_bytes(), "SKILL.md");
        let start: String = source.chars().take(120).collect();
        assert_eq!(parsed.is_ok(), is_read, "{start}");
        if let Err(faults) = parsed {
            assert!(faults.diagnostics().len() <= 300, "{start}");
        }
    }
}

/// A tool with these lines beneath `params`, and this behind `run: `.
fn tool(id: usize, params: &str, run: &str) -> String {
    format!("```tool\nid: t{id}\ndescription: d\n{params}run: {run}\n```\n\n")
}

fn params(count: usize) -> (String, String) {
    let mut params = "params:\n".to_owned();
    let mut run = "echo".to_owned();
    for one in 0..count {
        let _ = writeln!(params, "  p{one}:");
        let _ = write!(run, " $p{one}");
    }
    (params, run)
}

fn choices(count: usize) -> String {
    let choices: Vec<String> = (0..count).map(|one| one.to_string()).collect();
    format!("params:\n  a:\n    enum: {}\n", choices.join(","))
}

#[test]
fn what_is_more_than_a_bound_is_refused_by_its_line_and_what_is_just_within_is_read() {
    let words = |count: usize| format!("echo{}", " x".repeat(count - 1));
    let items = |count: usize| format!("\n{}", "  - x\n".repeat(count));
    let tools = |count: usize| (0..count).map(|id| tool(id, "", "echo")).collect::<String>();
    let large = |count: usize| (0..count).map(|id| tool(id, "", &words(1_024))).collect::<String>();
    let wide = |count: usize| {
        let (params, run) = params(count);
        tool(0, &params, &run)
    };
    let long = |count: usize| tool(0, &"\n".repeat(count - 3), "echo");
    let nested = |count: usize| format!("a\n\n{}x\n", "> - ".repeat(count / 2));
    let marks = |count: usize| format!("a\n\n{}\n", "[".repeat(count - 4));
    let first = 6;
    for (code, line, within, over) in [
        ("run_too_long", first + 3, tool(0, "", &words(1_024)), tool(0, "", &words(1_025))),
        ("run_too_long", first + 3 + 1_025, tool(0, "", &items(1_024)), tool(0, "", &items(1_025))),
        ("params_too_many", first + 4 + 256, wide(256), wide(257)),
        (
            "param_enum",
            first + 5,
            tool(0, &choices(1_024), "echo $a"),
            tool(0, &choices(1_025), "echo $a"),
        ),
        ("fence_too_long", first, long(4_096), long(4_097)),
        ("tools_too_many", first + 6 * 1_024, tools(1_024), tools(1_025)),
        ("tools_too_large", first + 6 * 32, large(32), large(33)),
        ("nested_too_deep", first + 2, nested(64), nested(66)),
        ("markup_too_long", first + 2, marks(131_072), marks(131_073)),
    ] {
        let read = parse(format!("{FRONT}{within}").as_bytes(), "SKILL.md");
        assert!(read.is_ok(), "{code}: {}", read.unwrap_err());
        let faults = parse(format!("{FRONT}{over}").as_bytes(), "SKILL.md").unwrap_err();
        let [one] = faults.diagnostics() else { panic!("{code}: {faults}") };
        let place = (one.code.as_str(), one.line.unwrap(), one.file.as_deref());
        assert_eq!(place, (code, u32::try_from(line).unwrap(), Some("SKILL.md")), "{one}");
        assert!(one.hint.is_some(), "{one}");
    }
}

#[test]
fn a_file_of_marks_alone_is_refused_before_anything_is_built_of_it() {
    for mark in ["[", ">", "> ", "- ", "*a", "<!---->", "![", "`a`", "\n", "1. ", "\\a", "&amp;"] {
        let source = format!("{FRONT}a{}b\n", mark.repeat(1_000_000 / mark.len()));
        let start = std::time::Instant::now();
        let _ = parse(source.as_bytes(), "SKILL.md");
        let source = format!("{FRONT}{}b\n", mark.repeat(1_000_000 / mark.len()));
        let _ = parse(source.as_bytes(), "SKILL.md");
        assert!(start.elapsed().as_secs() < 10, "{mark}: {:?}", start.elapsed());
    }
}
