//! What is fetched from elsewhere and run, or unpacked from a text and run.
//!
//! Looked for in lines of prose, scripts and sources alike, for a model may run any of them. Each
//! rule needs both halves, the fetching and the running: either alone is what skills are made of.

use std::borrow::Cow;

use super::words::{bare, is_address, places};

mod piped;
mod remembered;
mod remote;

pub(super) use piped::is_interpreter;
use remembered::Remembered;

/// Most lines that are read as one.
const MOST_JOINED: usize = 12;
/// Most bytes of lines that are read as one.
const MOST_JOINED_BYTES: usize = 8 * 1024;

/// What is said of it.
const FETCHED: &str = "runs what it fetches from elsewhere, which no review has seen";
const UNPACKED: &str = "runs what it unpacks from a text that nobody can read";

/// Programs and commands that fetch, in lower case.
const FETCHERS: [&str; 11] = [
    "curl",
    "wget",
    "wget2",
    "aria2c",
    "iwr",
    "irm",
    "invoke-webrequest",
    "invoke-restmethod",
    "start-bitstransfer",
    "lynx",
    "w3m",
];
/// Calls that fetch, in lower case and without spaces before the parenthesis.
const FETCHING_CALLS: [&str; 12] = [
    "urlopen(",
    "urlretrieve(",
    "requests.get(",
    "requests.post(",
    "httpx.get(",
    "urllib.request",
    "fetch(",
    "axios.get(",
    "downloadstring(",
    "downloadfile(",
    "http.get(",
    "open-uri",
];
/// Calls that turn a text nobody can read into another, in lower case.
const DECODING_CALLS: [&str; 16] = [
    "b64decode(",
    "b32decode(",
    "b85decode(",
    "a85decode(",
    "unhexlify(",
    "fromhex(",
    "codecs.decode(",
    "zlib.decompress(",
    "marshal.loads(",
    "atob(",
    "decode_base64(",
    "base64_decode(",
    "frombase64string(",
    "gzinflate(",
    "base64.decode64(",
    "'base64')",
];
/// What a text must hold, in lower case, for any rule to find something in it.
const TRIGGERS: [&str; 20] = [
    "curl",
    "wget",
    "aria2c",
    "iwr",
    "irm",
    "invoke-",
    "bitstransfer",
    "lynx",
    "w3m",
    "base64",
    "base32",
    "xxd",
    "openssl",
    "npx",
    "bunx",
    "dlx",
    "uvx",
    "mshta",
    "powershell",
    "pwsh",
];
/// The same, of words that stand with others.
const RUNNING: [&str; 9] = [
    "eval",
    "exec",
    "iex",
    "function(",
    "scriptblock",
    "pnpx",
    "pipx",
    " run ",
    "runinthiscontext",
];

/// Programs that run what stands behind them, or a text that they are given.
const EVALUATORS: [&str; 3] = ["eval", "iex", "invoke-expression"];

/// A place where a text runs what it fetches or unpacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FetchedAndRun {
    /// Where it is run, in bytes.
    pub(crate) offset: usize,
    /// Where it was fetched or unpacked, where that is another line.
    pub(crate) fetched: Option<usize>,
    what: &'static str,
}

impl FetchedAndRun {
    /// What is said of it; `line` tells the line of a byte, from 1.
    pub(crate) fn message(&self, line: impl Fn(usize) -> usize) -> String {
        let what = self.what;
        match self.fetched.map(line) {
            None => what.to_owned(),
            Some(line) if what == FETCHED => {
                format!("runs what line {line} fetches from elsewhere, which no review has seen")
            }
            Some(line) => {
                format!("runs what line {line} unpacks from a text that nobody can read")
            }
        }
    }
}

/// Where a text fetches and runs; in order, one a line at most.
pub(crate) fn fetched_and_run(text: &str, is_prose: bool) -> Vec<FetchedAndRun> {
    let mut found = Vec::new();
    let whole = text.to_ascii_lowercase();
    if !TRIGGERS.iter().chain(&RUNNING).any(|word| whole.contains(word)) {
        return found;
    }
    drop(whole);
    let mut remembered = Remembered::default();
    let mut lines = Joined { rest: text, offset: 0, is_prose };
    while let Some((offset, line)) = lines.next_line() {
        let lower = line.to_ascii_lowercase();
        for (at, part) in parts(&lower, is_prose) {
            let part = part.as_ref();
            let hit = in_line(part).map(|(column, what)| (column, what, offset));
            let hit = hit.or_else(|| remembered.runs(part));
            let behind = remembered.take(part, offset);
            // Fetched and run in one line.
            let hit = hit.or_else(|| {
                let (column, what, fetched) = remembered.runs(part.get(behind?..)?)?;
                Some((behind? + column, what, fetched))
            });
            if let Some((column, what, fetched)) = hit {
                found.push(FetchedAndRun {
                    offset: offset + (at + column).min(line.len()),
                    fetched: (fetched != offset).then_some(fetched),
                    what,
                });
                break;
            }
        }
    }
    // An offset may have been moved into a character by what was unescaped before it.
    for FetchedAndRun { offset, .. } in &mut found {
        while !text.is_char_boundary(*offset) {
            *offset -= 1;
        }
    }
    found
}

/// The lines of a text, those that a shell reads as one in one.
struct Joined<'t> {
    rest: &'t str,
    offset: usize,
    is_prose: bool,
}

impl<'t> Joined<'t> {
    fn next_line(&mut self) -> Option<(usize, Cow<'t, str>)> {
        let (start, first) = self.take()?;
        let mut line = Cow::Borrowed(first);
        for _ in 1..MOST_JOINED {
            let is_row = self.is_prose && line.trim_start().starts_with('|');
            let trimmed = line.trim_end();
            let continued = trimmed.strip_suffix('\\').or_else(|| {
                let goes_on = trimmed.ends_with('|') || trimmed.ends_with("&&");
                (goes_on && !is_row).then_some(trimmed)
            });
            let Some(continued) = continued else { break };
            if line.len() > MOST_JOINED_BYTES {
                break;
            }
            // As many bytes as stood there, so that an offset in one is an offset in the other.
            let filled = " ".repeat(line.len() - continued.len() + 1);
            let mut joined = format!("{continued}{filled}");
            let Some((_, next)) = self.take() else { break };
            joined.push_str(next);
            line = Cow::Owned(joined);
        }
        Some((start, line))
    }

    fn take(&mut self) -> Option<(usize, &'t str)> {
        if self.rest.is_empty() {
            return None;
        }
        let start = self.offset;
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.offset += (line.len() + 1).min(self.rest.len());
        self.rest = rest;
        Some((start, line))
    }
}

/// What of a line is read on its own: the cells of a table's row, else all of it.
fn parts(line: &str, is_prose: bool) -> Vec<(usize, Cow<'_, str>)> {
    let row = line.trim();
    let is_row = is_prose && row.len() > 1 && row.starts_with('|') && row.ends_with('|');
    if !is_row {
        return vec![(0, Cow::Borrowed(line))];
    }
    let mut cells = Vec::new();
    let mut start = 0;
    let ends = line.match_indices('|').map(|(at, _)| at);
    let is_escaped = |at: usize| line.get(..at).is_some_and(|before| before.ends_with('\\'));
    for end in ends.filter(|at| !is_escaped(*at)).chain([line.len()]) {
        let cell = line.get(start..end).unwrap_or_default();
        cells.push((start, Cow::Owned(cell.replace("\\|", " |"))));
        start = end + 1;
    }
    cells
}

/// Where one line, in lower case, fetches and runs.
fn in_line(line: &str) -> Option<(usize, &'static str)> {
    piped::find(line)
        .or_else(|| substituted(line))
        .or_else(|| evaluated(line))
        .or_else(|| remote::find(line))
}

/// Where a command line gets its input from, where that is elsewhere or unreadable.
fn origin(part: &str) -> Option<(usize, &'static str)> {
    let fetched = fetches(part).map(|at| (at, FETCHED));
    fetched.or_else(|| decodes(part).map(|at| (at, UNPACKED)))
}

/// Where a program that fetches is given an address.
fn fetches(part: &str) -> Option<usize> {
    let has_address = |behind: &str| behind.split_whitespace().any(is_address);
    FETCHERS.iter().find_map(|fetcher| {
        let at = places(part, fetcher).next()?;
        let is_word_of_list = part.get(..at).is_some_and(|before| before.ends_with(['"', '\'']))
            && part.get(at + fetcher.len()..).is_some_and(|behind| behind.starts_with(['"', '\'']));
        let behind = part.get(at + fetcher.len()..).unwrap_or_default();
        (has_address(behind) || (is_word_of_list && behind.contains("://"))).then_some(at)
    })
}

/// Where a program turns a text nobody can read into another.
fn decodes(part: &str) -> Option<usize> {
    const PROGRAMS: [(&str, &[&str]); 6] = [
        ("base64", &["-d", "--decode", "-di", "-id"]),
        ("base32", &["-d", "--decode"]),
        ("openssl", &["-d"]),
        ("xxd", &["-r", "-rp"]),
        ("certutil", &["-decode"]),
        ("uudecode", &["-o"]),
    ];
    PROGRAMS.iter().find_map(|(program, options)| {
        places(part, program).find(|at| {
            let words = part.get(at + program.len()..).unwrap_or_default();
            words.split_whitespace().take(6).any(|word| options.contains(&bare(word)))
        })
    })
}

/// `sh -c "$(curl …)"`, `eval $(…)`, `bash <(curl …)`, `source <(…)`.
fn substituted(line: &str) -> Option<(usize, &'static str)> {
    for opening in ["$(", "<(", "`"] {
        for (at, _) in line.match_indices(opening).take(32) {
            let before =
                line.get(..at).unwrap_or_default().trim_end_matches(['"', '\'', ' ', '\\']);
            let inside = line.get(at + opening.len()..).unwrap_or_default();
            let end = if opening == "`" { inside.find('`') } else { None };
            let inside = inside.get(..end.unwrap_or(inside.len())).unwrap_or_default();
            let Some((_, what)) = origin(inside) else { continue };
            if let Some(column) = runs_argument(before, opening == "<(") {
                return Some((column, what));
            }
        }
    }
    None
}

/// Whether what comes next is run by what stands before it; answers with where that starts.
fn runs_argument(before: &str, is_file: bool) -> Option<usize> {
    let mut words =
        before.rsplit(|one: char| one.is_whitespace() || matches!(one, ';' | '&' | '|' | '('));
    let mut last = words.next().unwrap_or_default();
    let mut has_code = false;
    // `bash -x <(…)`, `sh -c "$(…)"`: options stand between.
    while last.starts_with('-') && last.len() > 1 {
        has_code |= last.trim_start_matches('-').contains(['c', 'e']);
        last = words.next().unwrap_or_default();
    }
    let name = bare(last);
    let runs = match name {
        "source" | "." | "eval" | "iex" | "exec" | "invoke-expression" => true,
        _ => piped::is_interpreter(name) && (is_file || has_code),
    };
    // `.` alone is a word of prose where no file comes next.
    let runs = runs && (is_file || !matches!(name, "." | "source"));
    runs.then(|| before.rfind(name).unwrap_or(0))
}

/// `exec(urlopen(…).read())`, `iex (iwr …)`, `eval(atob(…))`: calls, in one line.
fn evaluated(line: &str) -> Option<(usize, &'static str)> {
    let has_call = |calls: &[&str]| calls.iter().any(|call| line.contains(call));
    let what = || {
        if has_call(&FETCHING_CALLS) || fetches(line).is_some() {
            Some(FETCHED)
        } else if has_call(&DECODING_CALLS) || decodes(line).is_some() {
            Some(UNPACKED)
        } else {
            None
        }
    };
    if let Some(at) = evaluating_call(line) {
        return what().map(|what| (at, what));
    }
    let is_shell = ["iex", "invoke-expression"].iter().find_map(|word| places(line, word).next());
    if let Some(at) = is_shell {
        return what().map(|what| (at, what));
    }
    encoded_command(line)
}

/// Where a line calls what runs a text: `exec(`, `eval(` and their kin, and no method of that name.
fn evaluating_call(line: &str) -> Option<usize> {
    const CALLS: [&str; 5] =
        ["exec(", "eval(", "new function(", "[scriptblock]::create(", "runinthiscontext("];
    CALLS.iter().find_map(|call| {
        line.match_indices(call).map(|(at, _)| at).find(|at| {
            let before = line.get(..*at).and_then(|before| before.chars().next_back());
            let is_within = |one: char| one.is_alphanumeric() || matches!(one, '_' | '.' | '$');
            call.starts_with('[') || *call == "runinthiscontext(" || !before.is_some_and(is_within)
        })
    })
}

/// `powershell -EncodedCommand …`.
fn encoded_command(line: &str) -> Option<(usize, &'static str)> {
    ["powershell", "pwsh"].iter().find_map(|shell| {
        let at = places(line, shell).next()?;
        let mut words = line.get(at..).unwrap_or_default().split_whitespace();
        let is_option = |word: &str| {
            word.len() >= 3 && "-encodedcommand".starts_with(word) || matches!(word, "-ec" | "-e")
        };
        words.find(|word| is_option(bare(word)))?;
        let code = bare(words.next()?);
        let is_code = code.len() >= 16
            && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
        is_code.then_some((at, UNPACKED))
    })
}
