//! Commands that a host runs when it reads a skill, or at events of its own.

use serde_json::Value;

use super::findings::Sink;
use super::kind::FindingKind;
use super::text::Text;
use crate::skill;

/// The frontmatter key under which hosts look for commands that they run at events.
const HOOKS: &str = "hooks";
/// Deepest nesting of hooks that is looked into; frontmatter is nested no deeper.
const DEEPEST: usize = 32;

/// Adds the commands of a `SKILL.md`.
pub(super) fn find(text: &Text<'_>, sink: &mut Sink<'_>) {
    for (offset, _) in commands(text.whole()) {
        let message = "a command that a host runs when it reads the skill";
        sink.at(text, FindingKind::HostCommand, offset, message);
    }
    for offset in hooks(text) {
        let message = "a command that a host runs at an event of its own";
        sink.at(text, FindingKind::HostCommand, offset, message);
    }
}

/// Where the commands stand that the frontmatter hooks to events.
fn hooks(text: &Text<'_>) -> Vec<usize> {
    let whole = text.whole();
    let key = text.lines().skip(1).find(|(_, line)| {
        let key = line.trim_start_matches(['"', '\'']);
        key.strip_prefix(HOOKS)
            .is_some_and(|rest| rest.trim_start_matches(['"', '\'']).trim_start().starts_with(':'))
    });
    let Some((start, _)) = key else { return Vec::new() };
    let Ok(file) = skill::parse_unnamed(whole.as_bytes(), "SKILL.md") else { return Vec::new() };
    let mut commands = Vec::new();
    if let Some(hooks) = file.metadata.get(HOOKS) {
        texts_of(hooks, &mut commands, DEEPEST);
    }
    // Each from where the one before stood, so that two alike are two.
    let mut from = start;
    let place = |command: &str| {
        let head = command.split(['\n', '"', '\\']).next().unwrap_or(command).trim();
        let behind = whole.get(from..).unwrap_or_default();
        let at = behind.find(head).filter(|_| !head.is_empty()).map(|at| from + at);
        if let Some(at) = at {
            from = at + head.len();
        }
        at.unwrap_or(start)
    };
    commands.into_iter().map(place).collect()
}

/// The texts under each key `command` of what hooks say, or the hooks themselves where they are
/// texts.
fn texts_of<'v>(value: &'v Value, commands: &mut Vec<&'v str>, deepest: usize) {
    match value {
        Value::String(text) => commands.push(text),
        Value::Array(values) if deepest > 0 => {
            for value in values {
                texts_of(value, commands, deepest - 1);
            }
        }
        Value::Object(members) if deepest > 0 => {
            for (key, value) in members {
                // A matcher and the like are texts too, and no commands.
                if !value.is_string() || is_command(key) {
                    texts_of(value, commands, deepest - 1);
                }
            }
        }
        _ => {}
    }
}

/// Whether a text under the key is one that is run: `command`, or an event.
fn is_command(key: &str) -> bool {
    matches!(key, "command" | "run" | "script")
        || key.starts_with(|first: char| first.is_ascii_uppercase())
}

/// Each command in a text that a host runs when it reads it, with the offset at which it stands: each
/// `` !`command` `` at the start of a word, and the content of each fence whose info string starts
/// with `!`.
///
/// `` `$!` `` and the like are the ends of words. In `` `if !` or `x` `` a word starts, though the
/// backquote closes a span of code: a host that reads no Markdown runs what stands up to the next one.
pub fn commands(text: &str) -> Vec<(usize, String)> {
    let mut commands = Vec::new();
    let mut add = |offset: usize, command: &str| {
        let command = command.trim();
        if !command.is_empty() {
            commands.push((offset, command.to_owned()));
        }
    };
    for (position, opening) in text.match_indices("!`") {
        let before = text.get(..position).and_then(|before| before.chars().next_back());
        if !before.is_none_or(starts_word) {
            continue;
        }
        let behind = text.get(position + opening.len()..).unwrap_or_default();
        add(position, behind.split_once('`').map_or("", |(command, _)| command));
    }
    for (position, opening) in text.match_indices("```!") {
        let line = text.get(position + opening.len()..).and_then(|rest| rest.lines().next());
        add(
            position,
            line.and_then(|line| line.split_once("```")).map_or("", |(command, _)| command),
        );
    }
    let mut start = 0;
    let mut lines = text.split_inclusive('\n').map(|line| {
        let offset = start;
        start += line.len();
        (offset, line.trim_end_matches('\n').trim_end_matches('\r'))
    });
    while let Some((offset, line)) = lines.next() {
        let unmarked = unmarked(line);
        let tick = if unmarked.starts_with('~') { '~' } else { '`' };
        let info = unmarked.trim_start_matches(tick);
        let fence = unmarked.len() - info.len();
        if fence < 3 || !info.trim_start().starts_with('!') {
            continue;
        }
        let ends = |line: &str| {
            let line = line.trim_matches([' ', '\t', '>']);
            line.len() >= fence && line.chars().all(|character| character == tick)
        };
        let content: Vec<&str> =
            lines.by_ref().map(|(_, line)| line).take_while(|line| !ends(line)).collect();
        add(offset + line.len() - unmarked.len(), &content.join("\n"));
    }
    commands
}

/// Whether a word may start behind the character.
fn starts_word(before: char) -> bool {
    before.is_whitespace()
        || matches!(before, '(' | '[' | '{' | '<' | '>' | '"' | '\'' | '|' | '*' | '-' | '+' | ':')
        || matches!(before, ',' | ';' | '=' | '–' | '—' | '“' | '‘' | '«' | '（' | '「' | '：')
}

/// A line without the marks of quotations and of items of lists before it.
fn unmarked(line: &str) -> &str {
    let mut rest = line;
    loop {
        let trimmed = rest.trim_start_matches([' ', '\t', '>']);
        let digits = trimmed.trim_start_matches(|character: char| character.is_ascii_digit());
        let marks: &[&str] =
            if digits.len() < trimmed.len() { &[". ", ") "] } else { &["- ", "* ", "+ "] };
        match marks.iter().find_map(|mark| digits.strip_prefix(mark)) {
            Some(after) => rest = after,
            None => return trimmed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_runs_when_it_reads_the_prose_is_found() {
        for (text, commands) in [
            ("Changes: !`git diff`\n", vec!["git diff"]),
            ("!`a` and (!`b`)\n- !`c\nd`", vec!["a", "b", "c\nd"]),
            ("```!\nid\nls -l\n```\nprose", vec!["id\nls -l"]),
            ("  > ````  ! sh\n> id\n```\n````\nprose", vec!["> id\n```"]),
            ("```!\nid", vec!["id"]),
            ("- ```!\n  id\n  ```\nprose", vec!["id"]),
            ("1. > * ```!\nid\n```", vec!["id"]),
            ("~~~!\nid\n```\n~~~\nprose", vec!["id\n```"]),
            ("Text ```!inline``` x.", vec!["inline"]),
            ("Use `println!` and `vec!` here, done!`", vec![]),
            ("Wow!`code` and !` ` and !``x``", vec![]),
            ("Save it with `PID=$!` and poll with `kill -0`.", vec![]),
            ("A `#!` line names the `sh`, `\\!` is `!`.", vec![]),
            ("Wrapped with `if !` to fail; the `x`.", vec!["to fail; the"]),
            ("*!`a`* |!`b`| \"!`c`\" 「!`d`」", vec!["a", "b", "c", "d"]),
            ("```sh\n! id\n```", vec![]),
        ] {
            let found: Vec<String> =
                super::commands(text).into_iter().map(|(_, one)| one).collect();
            assert_eq!(found, commands, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_odd(text in "[!`\\n> a\u{e9}]{0,60}") {
            for (offset, command) in commands(&text) {
                proptest::prop_assert!(!command.trim().is_empty());
                proptest::prop_assert!(text.is_char_boundary(offset) && offset < text.len());
            }
        }
    }
}
