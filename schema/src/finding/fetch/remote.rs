//! Packages and scripts that a runner fetches from an address and runs at once.

use super::super::words::{bare, places};
use super::FETCHED;

/// What runs a package by its name, and an address where it is given one: the words that start it,
/// the options whose value names what is fetched, and whether `owner/name` is an address to it.
struct Runner {
    words: &'static str,
    options: &'static [&'static str],
    takes_repository: bool,
}

const fn runner(
    words: &'static str,
    options: &'static [&'static str],
    takes_repository: bool,
) -> Runner {
    Runner { words, options, takes_repository }
}

const RUNNERS: [Runner; 14] = [
    runner("npx", &["-p", "--package"], true),
    runner("bunx", &["-p", "--package"], true),
    runner("pnpm dlx", &["--package"], true),
    runner("pnpx", &["--package"], true),
    runner("yarn dlx", &["-p", "--package"], true),
    runner("npm exec", &["-p", "--package"], true),
    runner("uvx", &["--from", "--with", "-w"], false),
    runner("uv tool run", &["--from", "--with", "-w"], false),
    runner("uv run", &["--with", "--from"], false),
    runner("pipx run", &["--spec"], false),
    runner("deno run", &[], false),
    runner("go run", &[], false),
    runner("nix run", &[], false),
    runner("mshta", &[], false),
];
/// Most words that are looked at behind a runner.
const MOST_WORDS: usize = 12;

/// Where a line has a runner fetch from an address.
pub(super) fn find(line: &str) -> Option<(usize, &'static str)> {
    RUNNERS.iter().find_map(|runner| {
        let at = places(line, runner.words).find(|at| {
            runs_address(runner, line.get(at + runner.words.len()..).unwrap_or_default())
        })?;
        Some((at, FETCHED))
    })
}

fn runs_address(runner: &Runner, behind: &str) -> bool {
    let mut words = behind.split_whitespace().take(MOST_WORDS);
    while let Some(word) = words.next() {
        // A quote or a bracket behind a word ends the command in which it stands.
        let ends = word.ends_with(['`', ')', ';', '|']);
        let name = bare(word);
        if let Some((option, value)) = name.split_once('=').filter(|_| name.starts_with('-')) {
            if runner.options.contains(&option) && is_elsewhere(runner, value) {
                return true;
            }
        } else if runner.options.contains(&name) {
            if words.next().is_some_and(|value| is_elsewhere(runner, bare(value))) {
                return true;
            }
        } else if name.is_empty() || !name.starts_with('-') {
            // The one that is run; what stands behind it is for it.
            return !name.is_empty() && is_elsewhere(runner, name);
        }
        if ends {
            return false;
        }
    }
    false
}

/// Whether a word names something that is no package of a registry and no file here.
fn is_elsewhere(runner: &Runner, word: &str) -> bool {
    const STARTS: [&str; 11] = [
        "http://",
        "https://",
        "git+",
        "git://",
        "git@",
        "ssh://",
        "github:",
        "gitlab:",
        "bitbucket:",
        "gist:",
        "hg+",
    ];
    if STARTS.iter().any(|start| word.starts_with(start)) || word.contains("@git+") {
        return true;
    }
    if runner.words == "go run" {
        // A module by the name of its host; a package here starts with a dot.
        let host = word.split('/').next().unwrap_or_default();
        return word.contains('/') && host.contains('.') && !host.starts_with('.');
    }
    let mut parts = word.split('/');
    let is_pair = parts.next().is_some_and(|owner| !owner.is_empty())
        && parts.next().is_some_and(|name| !name.is_empty())
        && parts.next().is_none();
    let is_name =
        |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_' | '.' | '/' | '#');
    runner.takes_repository
        && is_pair
        && !word.starts_with(['@', '.', '$', '<', '{', '~'])
        && word.chars().all(is_name)
}
