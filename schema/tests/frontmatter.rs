//! Frontmatter as published skills write it.

#![expect(clippy::panic, reason = "a failed helper fails its test")]

use serde_json::{Value, json};
use skillpkg_schema::skill::{Dialect, SkillFile, parse};

fn read(frontmatter: &str) -> SkillFile {
    let source = format!("---\n{frontmatter}\n---\nbody\n");
    parse(source.as_bytes(), "SKILL.md").unwrap_or_else(|faults| panic!("{frontmatter}: {faults}"))
}

fn codes(file: &SkillFile) -> Vec<&str> {
    file.warnings.iter().map(|one| one.code.as_str()).collect()
}

/// The description that a line `description: VALUE` gives, with the codes of the warnings.
fn described(value: &str) -> (String, Vec<String>) {
    let file = read(&format!("name: a\ndescription: {value}\nlicense: MIT"));
    assert_eq!(file.license.as_deref(), Some("MIT"), "{value}");
    let codes = codes(&file).into_iter().map(str::to_owned).collect();
    (file.description, codes)
}

#[test]
fn scalars_are_what_is_written() {
    for text in ["1.10", "yes", "no", "null", "~x", "0x10", "1e400", "2026-11-29", "1_000", "0o7"] {
        let file = read(&format!("name: a\ndescription: d\nversion: {text}\nx: [{text}]"));
        assert_eq!(file.version.as_deref(), Some(text));
        assert_eq!(file.metadata["x"], json!([text]));
    }
}

#[test]
fn prose_that_is_no_yaml_is_taken_verbatim_with_a_warning() {
    for value in [
        "Use when: the user asks",
        "Ends with a colon:",
        "`code` first",
        "@mention first",
        "%s first",
        "**bold** first",
        "*slanted* first",
        "& so on",
        "| piped",
        "> quoted",
        "- dashed",
        "? asked",
        ", then",
        "] closed",
        "[a] [b]",
        "[unfinished",
        "{unfinished: x",
        "{{x}} to fill in",
        "\"Foo\" and \"bar\"",
        "'it's broken'",
        "日本語: の説明 🎉",
        "says \"do: it\" and 'x # y': a, b",
        "http://x.y: see",
    ] {
        let expected = (value.to_owned(), vec!["frontmatter_verbatim".to_owned()]);
        assert_eq!(described(value), expected, "{value}");
    }
}

#[test]
fn the_warning_shows_the_quoted_form_and_its_place() {
    let file = read("name: a\ndescription: Use \"it\" when: asked");
    let shown = file.warnings[0].to_string();
    let expected = "SKILL.md:3:14: the value of `description` is not YAML as it stands; it was \
                    taken verbatim\n  hint: put it in quotes: \"Use \\\"it\\\" when: asked\"";
    assert_eq!(shown, expected);
}

#[test]
fn a_number_sign_does_not_end_prose_and_ends_a_single_word() {
    let (description, codes) = described("Works in C # and F# too");
    assert_eq!(description, "Works in C # and F# too");
    assert_eq!(codes, ["frontmatter_comment"]);
    assert_eq!(described("One # word").0, "One # word");
    assert_eq!(described("Quoted# and (#3) are no comments"), {
        ("Quoted# and (#3) are no comments".to_owned(), Vec::new())
    });
    let file = read("name: a # the name\ndescription: \"d\" # quoted\nversion: 1.10 # not 1.1");
    assert_eq!((file.name.as_str(), file.version.as_deref()), ("a", Some("1.10")));
    assert!(file.warnings.is_empty());
    let file = read("# a remark\nname: a\ndescription: d\ncompatibility: needs C # and git");
    assert_eq!(file.metadata["compatibility"], "needs C # and git");
}

#[test]
fn prose_of_several_lines_is_read() {
    for (value, expected) in [
        ("one\n  two\n  three", "one two three"),
        ("one\n  two: three\n\n  four", "one two: three four"),
        (">\n  one: # two\n  three\n\n  four", "one: # two three\nfour"),
        (">-\n  one", "one"),
        ("|\n  one\n    two", "one\n  two"),
        ("|-\n    - one: two\n    - three", "- one: two\n- three"),
        ("\"one\n  two\"", "one two"),
        ("'one''s'", "one's"),
        ("\n  one\n  two", "one two"),
        ("  padded   ", "padded"),
    ] {
        assert_eq!(described(value).0, expected, "{value}");
    }
}

#[test]
fn nesting_is_kept_and_repaired_in_its_place() {
    let file = read(
        "name: a\ndescription: d\nmetadata:\n  author: @me\n  tags: [a, 1.0]\n  list:\n  - x: y: z\n    \
         w: 1\n  - `v`\n  deep:\n    deeper: k: v\nallowed-tools:\n- Read\n- Bash(git: *)",
    );
    let expected: Value = json!({
        "metadata": {
            "author": "@me", "tags": ["a", "1.0"], "list": [{"x": "y: z", "w": "1"}, "`v`"],
            "deep": {"deeper": "k: v"},
        },
        "allowed-tools": ["Read", "Bash(git: *)"],
    });
    assert_eq!(Value::Object(file.metadata.clone()), expected);
    let lines: Vec<u32> = file.warnings.iter().filter_map(|one| one.line).collect();
    assert_eq!(lines, [5, 8, 10, 12, 15]);
}

#[test]
fn flow_collections_over_several_lines_are_read() {
    let file = read(
        "name: a\ndescription: d\nallowed-tools: [\n  Read, # reads\n  Grep\n]\nmetadata:\n  {\n    \
         \"openclaw\": { \"requires\": { \"bins\": [\"uv\"] }, },\n  }",
    );
    assert_eq!(file.metadata["allowed-tools"], json!(["Read", "Grep"]));
    assert_eq!(file.metadata["metadata"], json!({"openclaw": {"requires": {"bins": ["uv"]}}}));
}

#[test]
fn values_that_go_on_at_the_margin_are_read_with_a_warning() {
    for (lines, line, key, expected) in [
        ("metadata: {\n  \"x\": {\"a\": [\"b\"]}\n}", 6, "metadata", json!({"x": {"a": ["b"]}})),
        (
            "metadata: {\n\"x\": {\n\"a\": \"b: }\"\n}\n}",
            5,
            "metadata",
            json!({"x": {"a": "b: }"}}),
        ),
        ("allowed-tools: [\nRead,\nBash\n]", 5, "allowed-tools", json!(["Read", "Bash"])),
        ("x:\n  - a: \"b\n  c\"", 6, "x", json!([{"a": "b c"}])),
        ("compatibility: \"needs git\nand jq\"", 5, "compatibility", json!("needs git and jq")),
    ] {
        let file = read(&format!("name: a\ndescription: d\n{lines}\nlicense: MIT"));
        assert_eq!(file.metadata[key], expected, "{lines}");
        assert_eq!(file.license.as_deref(), Some("MIT"), "{lines}");
        let told: Vec<_> =
            codes(&file).into_iter().filter(|code| *code != "frontmatter_key").collect();
        assert_eq!(told, ["frontmatter_indentation"], "{lines}");
        let first = file.warnings.iter().find(|one| one.code == "frontmatter_indentation");
        assert_eq!(first.and_then(|one| one.line), Some(line), "{lines}");
    }
    let both = read("name: a\ndescription: Use when: x\nmetadata: {\n\"a\": [\"b\"]\n}");
    assert_eq!(both.description, "Use when: x");
    assert_eq!(both.metadata["metadata"], json!({"a": ["b"]}));
    assert_eq!(codes(&both), ["frontmatter_verbatim", "frontmatter_indentation"]);
}

#[test]
fn a_fault_in_a_line_that_was_moved_is_told_at_its_place() {
    let source = "---\nname: a\ndescription: d\nm: {\nx: [1],\nx: 2\n}\n---\nbody\n";
    let faults = parse(source.as_bytes(), "SKILL.md").unwrap_err();
    let fault = faults.first();
    assert_eq!(fault.message, "the key `x` stands twice");
    assert_eq!((fault.line, fault.column), (Some(6), Some(1)));
}

#[test]
fn a_description_that_starts_with_a_number_sign_and_a_word_is_kept() {
    for value in ["#1 in tests", "#hashtag", "#été # later"] {
        let expected = (value.to_owned(), vec!["frontmatter_comment".to_owned()]);
        assert_eq!(described(value), expected, "{value}");
    }
    assert_eq!(described("# a remark\n  text").0, "text");
    for value in ["# a remark", "#", "## Heading", ""] {
        let source = format!("---\nname: a\ndescription: {value}\n---\nbody\n");
        let faults = parse(source.as_bytes(), "SKILL.md").unwrap_err();
        assert_eq!(faults.first().code, "description_missing", "{value}");
    }
}

#[test]
fn a_license_or_version_of_an_agent_skill_that_is_no_text_is_kept_as_metadata() {
    for (line, key, expected) in [
        ("license: [MIT, Apache-2.0]", "license", json!(["MIT", "Apache-2.0"])),
        ("license:\n  name: MIT", "license", json!({"name": "MIT"})),
        ("version: {major: 1}", "version", json!({"major": "1"})),
    ] {
        let file = read(&format!("name: a\ndescription: d\n{line}"));
        assert_eq!((&file.license, &file.version), (&None, &None), "{line}");
        assert_eq!(file.metadata[key], expected, "{line}");
        assert_eq!(codes(&file), ["frontmatter_not_text"], "{line}");
        let source = format!("---\nskill: a\ndescription: d\n{line}\n---\nbody\n");
        let faults = parse(source.as_bytes(), "SKILL.md").unwrap_err();
        assert_eq!(faults.first().code, "frontmatter_not_text", "{line}");
    }
}

#[test]
fn a_long_description_is_told_and_one_that_no_registry_takes_with_a_hint() {
    for (length, told) in
        [(1024, None), (1025, Some(false)), (4096, Some(false)), (4097, Some(true))]
    {
        let file = read(&format!("name: a\ndescription: {}", "é".repeat(length)));
        let warning = file.warnings.iter().find(|one| one.code == "description_long");
        assert_eq!(warning.map(|one| one.hint.is_some()), told, "{length}");
    }
}

#[test]
fn frontmatter_that_is_not_at_the_top_is_told_by_its_line() {
    for (before, line) in [("\n\n", 3), ("<!-- by: me -->\n", 2), (" ", 1), ("```yaml\n", 2)] {
        let source = format!("{before}---\nname: a\ndescription: d\n---\nbody\n");
        let hint = parse(source.as_bytes(), "f").unwrap_err().first().hint.clone().unwrap();
        assert!(hint.contains(&format!("the `---` of line {line}")), "{hint}");
    }
    let hint = parse(b"# a\n\n---\n\nb\n", "f").unwrap_err().first().hint.clone().unwrap();
    assert!(hint.starts_with("start the file with"), "{hint}");
}

#[test]
fn what_has_two_readings_is_refused() {
    for frontmatter in [
        "name: a\ndescription: d\nname: b",
        "name: a\ndescription: d\nmetadata: {x: 1, x: 2}",
        "name: a\ndescription: d\nx: &a 1\ny: *a",
        "name: a\ndescription: d\ny: *a",
        "name: a\ndescription: d\nx: !!str 1",
        "name: a\ndescription: d\nx: !local 1",
        "name: a\ndescription: d\n<<: {x: 1}",
        "name: a\ndescription: d\n? [x]\n: y",
        "name: a\ndescription: d\n...\nx: y",
        "name: a\ndescription: d\nx: \"open",
        "name: a\ndescription: d\nx:\n\ty: z",
        "name: a\ndescription: wraps\nto the margin",
        "- name: a",
        "name a",
        "",
        "name: a",
        "description: d",
        "name: a\ndescription:",
        "name: ''\ndescription: d",
        "name: [a]\ndescription: d",
        "skill: a\nname: b\ndescription: d",
    ] {
        let source = format!("---\n{frontmatter}\n---\nbody\n");
        let faults = parse(source.as_bytes(), "SKILL.md").expect_err(frontmatter);
        assert!(faults.first().line.is_some() && faults.first().column.is_some(), "{faults}");
    }
}

#[test]
fn the_dialect_follows_from_the_name() {
    assert_eq!(read("skill: a\ndescription: d").dialect, Dialect::Hard);
    assert_eq!(read("skill: a\nname: a\ndescription: d").dialect, Dialect::Hard);
    assert_eq!(read("name: a\ndescription: d").dialect, Dialect::Agent);
}

#[test]
fn the_version_stands_at_the_top_or_in_metadata() {
    for (frontmatter, version) in [
        ("name: a\nmetadata: {version: 1.10}", Some("1.10")),
        ("name: a\nversion: 2", Some("2")),
        ("skill: a\nversion: 1\nmetadata: {version: 1}", Some("1")),
        ("skill: a\nversion: 1\nmetadata: {version: 2}", Some("1")),
        ("name: a\nversion: 1\nmetadata: {version: 2}", Some("2")),
        ("name: a\nversion:", None),
        ("name: a", None),
    ] {
        let file = read(&format!("{frontmatter}\ndescription: d"));
        assert_eq!(file.version.as_deref(), version, "{frontmatter}");
        let differs = frontmatter.contains("version: 1\nmetadata: {version: 2}");
        assert_eq!(codes(&file) == ["version_conflict"], differs, "{frontmatter}");
    }
}

#[test]
fn what_would_not_be_published_is_told_here() {
    for (frontmatter, code) in [
        ("name: My Skill", Some("name_not_published")),
        ("skill: con", Some("name_not_published")),
        ("name: a\nversion: latest", Some("version_not_published")),
        ("name: a\nmetadata: {version: v1.2}", Some("version_not_published")),
        ("name: a-b_c\nversion: 1.2", None),
    ] {
        let file = read(&format!("{frontmatter}\ndescription: d"));
        assert_eq!(codes(&file), Vec::from_iter(code), "{frontmatter}");
    }
    let file = read("name: My Skill\ndescription: d");
    assert!(file.warnings[0].message.contains("my-skill"), "{}", file.warnings[0]);
}

#[test]
fn keys_of_few_words_and_quoted_ones_end_the_prose_above() {
    let file = read("name: a\ndescription: d: e\n\"model\": opus\nuser invocable: true");
    assert_eq!(file.description, "d: e");
    assert_eq!(
        (&file.metadata["model"], &file.metadata["user invocable"]),
        (&json!("opus"), &json!("true"))
    );
}

#[test]
fn unknown_keys_are_kept_and_told_and_known_ones_are_not() {
    let file = read(
        "name: a\ndescription: d\nlicense: MIT\ncompatibility: c\nallowed-tools: Read\nversion: 1\n\
         includes: a\nmetadata: {}\nmodel: opus\nlicence: MIT",
    );
    assert_eq!(codes(&file), ["frontmatter_key", "frontmatter_key"]);
    assert_eq!(file.warnings[1].hint.as_deref(), Some("did you mean `license`?"));
    let keys: Vec<&String> = file.metadata.keys().collect();
    assert_eq!(keys, ["allowed-tools", "compatibility", "licence", "metadata", "model"]);
}

#[test]
fn includes_are_a_text_or_a_list() {
    for (value, paths) in [
        ("handle.py, ./queries/ ,Makefile", vec!["handle.py", "queries", "Makefile"]),
        (".", vec!["."]),
        ("./", vec!["."]),
        ("\n  - a, b\n  - ./c/./d//", vec!["a, b", "c/d"]),
        ("[a, b]", vec!["a", "b"]),
        ("", vec![]),
        ("a..b, ...", vec!["a..b", "..."]),
    ] {
        let file = read(&format!("skill: a\ndescription: d\nincludes: {value}"));
        assert_eq!(file.includes.unwrap(), paths, "{value}");
    }
    for value in
        ["/a", "~", "~/a", "..", "a/../b", "a/..", "..\\a", "C:\\a", "a,,b", "{a: b}", "[[a]]"]
    {
        let source = format!("---\nskill: a\ndescription: d\nincludes: {value}\n---\nbody\n");
        assert!(parse(source.as_bytes(), "SKILL.md").is_err(), "{value}");
    }
    assert_eq!(read("skill: a\ndescription: d").includes, None);
}

#[test]
fn the_frame_is_three_dashes_alone() {
    for source in [
        "\u{feff}---\r\nname: a\r\ndescription: d\r\n---\r\nbody\r\n",
        "---  \nname: a\ndescription: d\n---\t\nbody",
        "---\rname: a\rdescription: d\r---\rbody\r",
        "---\nname: a\ndescription: d\n---\n\n---\nbody\n---\n",
    ] {
        let file = parse(source.as_bytes(), "SKILL.md").unwrap();
        assert_eq!((file.name.as_str(), file.description.as_str()), ("a", "d"));
    }
    for source in [
        "",
        "\n---\nname: a\ndescription: d\n---\nbody",
        " ---\nname: a\ndescription: d\n---\nbody",
        "----\nname: a\ndescription: d\n---\nbody",
        "---\nname: a\ndescription: d\nbody",
        "---\nname: a\ndescription: d\n---",
        "---\nname: a\ndescription: d\n---\n \n\t\n",
    ] {
        assert!(parse(source.as_bytes(), "SKILL.md").is_err(), "{source:?}");
    }
    let bad = parse(b"---\nname: a\ndescription: \xff\n---\nbody", "SKILL.md").unwrap_err();
    assert_eq!((bad.first().line, bad.first().column), (Some(3), Some(14)));
}
