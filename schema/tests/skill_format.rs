//! The guide for authors shows skills that parse, and says of them what is so.

use skillpkg_schema::skill::{Answer, SkillFile, parse, resolve};

const GUIDE: &str = include_str!("../../docs/skill-format.md");

/// The blocks that open with `opening`, up to a line of its backticks alone.
fn blocks(opening: &str) -> Vec<String> {
    let ticks: String = opening.chars().take_while(|c| *c == '`').collect();
    let mut blocks = Vec::new();
    let mut lines = GUIDE.lines();
    while lines.any(|line| line == opening) {
        let block = lines.by_ref().take_while(|line| *line != ticks);
        blocks.push(block.collect::<Vec<_>>().join("\n"));
    }
    blocks
}

fn examples() -> Vec<SkillFile> {
    let parsed = blocks("````markdown").into_iter().map(|text| parse(text.as_bytes(), "SKILL.md"));
    parsed.map(Result::unwrap).collect()
}

#[test]
fn every_example_parses_and_only_the_shown_ones_warn() {
    let examples = examples();
    let names: Vec<&str> = examples.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["waitlist", "release-notes", "review", "lines", "transcribe"]);
    for skill in &examples {
        let codes: Vec<&str> = skill.warnings.iter().map(|one| one.code.as_str()).collect();
        let expected: &[&str] = match skill.name.as_str() {
            "review" => &["frontmatter_verbatim", "frontmatter_key", "frontmatter_verbatim"],
            _ => &[],
        };
        assert_eq!(codes, expected, "{}", skill.name);
    }
    assert_eq!(examples[2].description, "Review a change: find bugs, not style");
    assert_eq!(examples[2].metadata["argument-hint"], "[file] [focus]");
}

#[test]
fn the_example_call_calls_the_example_tool() {
    let call = &blocks("```call")[0];
    let call = resolve(&examples()[0].tools, Answer::Text(call)).unwrap().unwrap();
    assert_eq!(call.argv, ["uv", "run", "handle.py", "--reject", "x@y.z"]);
}
