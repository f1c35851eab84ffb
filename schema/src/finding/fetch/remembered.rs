//! What was fetched some lines before, into a file or a variable, and is run now.

use std::collections::VecDeque;

use super::super::words::{bare, has_identifier, is_address, places};
use super::{
    DECODING_CALLS, EVALUATORS, FETCHED, FETCHERS, FETCHING_CALLS, UNPACKED, decodes,
    evaluating_call, fetches, piped,
};

/// Most lines between the fetching and the running.
const MOST_LINES: usize = 40;
/// Most things that are remembered.
const MOST_REMEMBERED: usize = 16;
/// Shortest name of a file that is remembered: a shorter one stands everywhere.
const SHORTEST_FILE: usize = 2;

/// What was fetched lately.
#[derive(Default)]
pub(super) struct Remembered {
    line: usize,
    offset: usize,
    kept: VecDeque<Kept>,
}

struct Kept {
    line: usize,
    /// Where the line starts that fetched it.
    offset: usize,
    name: Name,
    what: &'static str,
}

#[derive(PartialEq, Eq)]
enum Name {
    File(String),
    Variable(String),
}

impl Remembered {
    /// Whether the line, in lower case, runs something that was fetched before: where, what is said
    /// of it, and the offset of the line that fetched it.
    pub(super) fn runs(&self, line: &str) -> Option<(usize, &'static str, usize)> {
        let lately = |kept: &&Kept| self.line - kept.line <= MOST_LINES;
        self.kept.iter().filter(lately).find_map(|kept| {
            let at = match &kept.name {
                Name::File(file) => runs_file(line, file)?,
                Name::Variable(name) => runs_variable(line, name)?,
            };
            Some((at, kept.what, kept.offset))
        })
    }

    /// Takes in what the line at `offset`, in lower case, fetches into a file or a variable; answers
    /// with where the next command of the line starts, if it has one.
    pub(super) fn take(&mut self, line: &str, offset: usize) -> Option<usize> {
        self.line += 1;
        self.offset = offset;
        let mut fetched = None;
        if let Some((at, file)) = fetched_file(line) {
            self.keep(Name::File(file), FETCHED);
            fetched = Some(at);
        }
        if let Some((name, value)) = assignment(line)
            && let Some(what) = self.what_of(value)
        {
            self.keep(Name::Variable(name.to_owned()), what);
            fetched = fetched.or(Some(line.len() - value.len()));
        }
        let rest = line.get(fetched?..)?;
        ["&&", "; "]
            .iter()
            .filter_map(|end| rest.find(end))
            .min()
            .map(|end| line.len() - rest.len() + end)
    }

    /// What is said of a value that was fetched, or made of what was.
    fn what_of(&self, value: &str) -> Option<&'static str> {
        if fetches(value).is_some() || FETCHING_CALLS.iter().any(|call| value.contains(call)) {
            return Some(FETCHED);
        }
        if decodes(value).is_some() || DECODING_CALLS.iter().any(|call| value.contains(call)) {
            return Some(UNPACKED);
        }
        // `code = answer.text`.
        let of = self.kept.iter().find(|kept| match &kept.name {
            Name::Variable(known) => has_identifier(value, known),
            Name::File(_) => false,
        });
        of.map(|kept| kept.what)
    }

    fn keep(&mut self, name: Name, what: &'static str) {
        self.kept.retain(|kept| kept.name != name);
        self.kept.push_back(Kept { line: self.line, offset: self.offset, name, what });
        if self.kept.len() > MOST_REMEMBERED {
            self.kept.pop_front();
        }
    }
}

/// `name = value`, with what languages put before a name.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (before, value) = line.split_once('=')?;
    let name = before.split_whitespace().next_back()?.trim_start_matches('$');
    let name = name.trim_end_matches(':');
    let is_name = !name.is_empty()
        && name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_')
        && !name.starts_with(|one: char| one.is_ascii_digit());
    (is_name && before.split_whitespace().count() <= 3).then_some((name, value))
}

/// The file that a line fetches something into, and where it does.
fn fetched_file(line: &str) -> Option<(usize, String)> {
    let (at, fetcher) = FETCHERS.iter().find_map(|one| Some((places(line, one).next()?, *one)))?;
    // Up to where another command starts.
    let command = line.get(at + fetcher.len()..).unwrap_or_default();
    let command = ["&&", "; ", "|"].iter().filter_map(|end| command.split_once(end));
    let rest = line.get(at + fetcher.len()..).unwrap_or_default();
    let command = command.map(|(before, _)| before).min_by_key(|one| one.len()).unwrap_or(rest);
    let words: Vec<&str> = command.split_whitespace().collect();
    let is_wget = fetcher.starts_with("wget");
    let mut of_address = None;
    for (position, word) in words.iter().enumerate() {
        let next = || words.get(position + 1).map(|next| bare(next).to_owned());
        let word = bare(word);
        let names_next = match word {
            "-o" | "--output" | "-outfile" | ">" | "--output-document" => true,
            _ => {
                let is_short = word.starts_with('-') && !word.starts_with("--");
                is_short && word.ends_with('o') && word.len() <= 6
            }
        };
        // `-O` of curl, written small here like `-o`, has an address behind it.
        if names_next && let Some(file) = next().filter(|next| !is_url(next)) {
            return Some((at, named(&file)?));
        }
        let glued = word.strip_prefix("--output-document=").or(word.strip_prefix("--output="));
        let glued = glued.or_else(|| word.strip_prefix('>').filter(|file| !file.is_empty()));
        if let Some(file) = glued {
            return Some((at, named(file)?));
        }
        if is_url(word) || (is_address(word) && word.contains('/')) {
            of_address = Some(word);
        }
    }
    let keeps_name = is_wget
        || words.iter().any(|word| {
            let word = bare(word);
            word == "--remote-name"
                || (word.starts_with('-') && !word.starts_with("--") && word.contains('o'))
        });
    let address = of_address.filter(|_| keeps_name)?;
    let path =
        address.split(['?', '#']).next()?.split_once("://").map_or(address, |(_, path)| path);
    Some((at, named(path.split_once('/')?.1.rsplit('/').next()?)?))
}

fn is_url(word: &str) -> bool {
    word.contains("://")
}

/// A name of a file that can be known again.
fn named(file: &str) -> Option<String> {
    let file = bare(file);
    let is_none =
        matches!(file, "" | "-" | "/dev/null" | "/dev/stdout") || file.len() < SHORTEST_FILE;
    (!is_none).then(|| file.to_owned())
}

/// Where a line runs a file: by an interpreter, by its path, or by making it a program.
fn runs_file(line: &str, file: &str) -> Option<usize> {
    let short = file.rsplit('/').next().unwrap_or(file);
    let is_it = |word: &str| {
        let word = bare(word);
        let word = word.strip_prefix("./").unwrap_or(word);
        word == file || (word == short && word.len() >= SHORTEST_FILE)
    };
    let mut offset = 0;
    let mut before: Vec<&str> = Vec::new();
    for word in line.split_inclusive(char::is_whitespace) {
        let at = offset;
        offset += word.len();
        let word = word.trim_end();
        if word.is_empty() {
            continue;
        }
        let ends = word.ends_with([';', '|', '&']) || matches!(word, "|" | "&&" | "||");
        if is_it(word) {
            let is_path = bare(word).starts_with("./") || (before.is_empty() && word.contains('/'));
            let program = before.iter().rev().find(|word| !word.starts_with('-')).copied();
            let carrier = program.map(bare).unwrap_or_default();
            let is_run = is_path
                || piped::is_interpreter(carrier)
                || matches!(
                    carrier,
                    "source" | "." | "start-process" | "&" | "sudo" | "exec" | "nohup"
                );
            let is_made_program = before.iter().any(|word| bare(word) == "chmod")
                && before.iter().any(|word| makes_program(bare(word)));
            if is_run || is_made_program {
                return Some(at);
            }
        }
        if ends {
            before.clear();
        } else {
            before.push(word);
        }
    }
    None
}

/// `+x`, `u+x`, `755`.
fn makes_program(mode: &str) -> bool {
    mode.contains("+x")
        || mode.contains("+rx")
        || (matches!(mode.len(), 3 | 4)
            && mode.bytes().all(|byte| matches!(byte, b'0'..=b'7'))
            && mode.contains(['7', '5', '1']))
}

/// Where a line runs the text in a variable.
fn runs_variable(line: &str, name: &str) -> Option<usize> {
    if !has_identifier(line, name) {
        return None;
    }
    if let Some(at) = evaluating_call(line) {
        let inside = line.get(at..).unwrap_or_default();
        return has_identifier(inside, name).then_some(at);
    }
    let evaluator = EVALUATORS.iter().find_map(|word| places(line, word).next());
    let behind = |at: usize| has_identifier(line.get(at..).unwrap_or_default(), name);
    if let Some(at) = evaluator {
        let is_given = line.contains(&format!("${name}")) || line.contains(&format!("${{{name}}}"));
        return (is_given || behind(at)).then_some(at);
    }
    // `bash -c "$name"`, `echo "$name" | sh`.
    let marked = [format!("${name}"), format!("${{{name}}}")];
    let at = marked.iter().find_map(|one| line.find(one.as_str()))?;
    let before = line.get(..at).unwrap_or_default().trim_end_matches(['"', '\'', ' ']);
    if let Some(column) = super::runs_argument(before, false) {
        return Some(column);
    }
    let mut pipe = line.get(at..).unwrap_or_default().splitn(2, '|');
    pipe.next();
    let is_piped = pipe.next().is_some_and(|command| {
        let program = command.split_whitespace().find(|word| *word != "sudo");
        program.is_some_and(|program| piped::is_interpreter(bare(program)))
    });
    is_piped.then_some(at)
}
