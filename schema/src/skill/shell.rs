//! Words of a run line that only a shell would read as more than text.

use super::report::{Place, Report};
use crate::diagnostic::{Diagnostic, escape};

/// Words that are operators of a shell.
const OPERATORS: [&str; 14] =
    ["|", "||", "&", "&&", ";", "\\;", ">", ">>", "<", "<<", "<<<", "2>", "2>&1", "&>"];
/// Options whose value is a pattern that the program itself reads.
const PATTERN_OPTIONS: [&str; 12] = [
    "-g",
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-regex",
    "-iregex",
    "-wholename",
    "--glob",
    "--include",
    "--exclude",
    "--exclude-dir",
];
/// Options of `find` whose command ends with a `;` of its own.
const COMMAND_OPTIONS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// Warns, once, of a one-line `run` that seems to be written for a shell.
pub(super) fn warn(words: &[(String, Place)], whose: &str, report: &mut Report<'_>) {
    let texts: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
    let found = texts.iter().enumerate().find_map(|(position, word)| {
        let why = reason(&texts, position, word)?;
        words.get(position).map(|(word, place)| (word, *place, why))
    });
    let Some((word, place, why)) = found else { return };
    report.at(
        place,
        Diagnostic::warning(
            "run_shell_syntax",
            format!(
                "{whose}: `{}` reaches the program as it is written: {why}, and none runs here",
                escape(word)
            ),
        )
        .with_hint(
            "each word is one argument; write `run` as a list for a word with spaces, or start a \
             script of the skill (`run: sh script.sh $param`) for what needs a shell",
        ),
    );
}

/// What a shell would make of the word; [`None`] where nothing.
fn reason(words: &[&str], position: usize, word: &str) -> Option<&'static str> {
    let before = words.get(..position).unwrap_or_default();
    if OPERATORS.contains(&word) {
        let ends_command = word == ";" && before.iter().any(|word| COMMAND_OPTIONS.contains(word));
        return (!ends_command).then_some("only a shell pipes, redirects and chains");
    }
    if word.starts_with("2>") || word.strip_prefix('>').is_some_and(|to| to.contains(['/', '.'])) {
        return Some("only a shell redirects");
    }
    if position == 0 && is_assignment(word) {
        return Some("only a shell sets variables before a program");
    }
    if word.contains("$(") || word.starts_with('`') {
        return Some("only a shell puts the output of a command in");
    }
    let quote = word.chars().next().filter(|first| matches!(first, '"' | '\''));
    if let Some(quote) = quote {
        let closes = |word: &&str| word.ends_with(quote);
        let later = words.get(position + 1..).unwrap_or_default();
        if (word.len() > 1 && closes(&word)) || later.iter().any(closes) {
            return Some("only a shell takes quotes away");
        }
    }
    if word == "~" || word.starts_with("~/") {
        return Some("only a shell knows `~`");
    }
    let is_pattern_of_program = word.starts_with('-')
        || word.contains("://")
        || before.last().is_some_and(|before| PATTERN_OPTIONS.contains(before));
    let is_glob = word.contains('*') || (word.contains('?') && !word.contains('='));
    (is_glob && !is_pattern_of_program).then_some("only a shell looks for files by a pattern")
}

/// `NAME=…`, as a shell has it before a program.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warned(line: &str) -> Option<String> {
        let words: Vec<(String, Place)> = line
            .split(' ')
            .enumerate()
            .map(|(column, word)| (word.to_owned(), Place { line: 1, column }))
            .collect();
        let mut report = Report::new("SKILL.md");
        warn(&words, "tool `t`", &mut report);
        let ((), warnings) = report.check(()).unwrap();
        assert!(warnings.len() <= 1, "{warnings:?}");
        warnings.first().map(|one| {
            let position = usize::try_from(one.column.unwrap()).unwrap();
            words[position].0.clone()
        })
    }

    #[test]
    fn what_only_a_shell_reads_is_told_once_by_its_word() {
        for (line, word) in [
            ("sort a.txt | uniq | wc", "|"),
            ("sh a.sh > out.txt", ">"),
            ("sh a.sh >> out.txt", ">>"),
            ("sh a.sh 2>&1", "2>&1"),
            ("sh a.sh 2>/dev/null", "2>/dev/null"),
            ("cd data && ls", "&&"),
            ("ls ; pwd", ";"),
            ("find . -exec rm {} \\;", "\\;"),
            ("echo \"hello there\"", "\"hello"),
            ("echo 'a' b", "'a'"),
            ("jq '.[] | .name' $file", "'.[]"),
            ("python3 m.py \"$text\"", "\"$text\""),
            ("ls *.md", "*.md"),
            ("ls a?.md", "a?.md"),
            ("cat ~/notes.md", "~/notes.md"),
            ("MODE=fast sh a.sh", "MODE=fast"),
            ("echo $(date)", "$(date)"),
        ] {
            assert_eq!(warned(line).as_deref(), Some(word), "{line}");
        }
    }

    #[test]
    fn what_a_program_reads_itself_is_not_told() {
        for line in [
            "sh handle.sh --accept $user",
            "find . -name *.py",
            "find . -exec rm {} ;",
            "curl https://x.y/?q=$q",
            "rg --glob=*.rs $what",
            "psql -c select",
            "awk -F; $program",
            "echo it's fine",
            "env MODE=fast sh a.sh",
            "echo $$HOME $a-$b {} [x] #1",
        ] {
            assert_eq!(warned(line), None, "{line}");
        }
    }
}
