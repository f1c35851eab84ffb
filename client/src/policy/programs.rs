//! Which programs a run line is known to start.

use std::collections::BTreeSet;

/// Programs that start the program behind them.
const LAUNCHERS: [&str; 27] = [
    "bunx", "busybox", "chroot", "cmd", "command", "doas", "env", "exec", "find", "flock",
    "ionice", "nice", "nix", "nohup", "npx", "parallel", "pipx", "pnpx", "setsid", "stdbuf",
    "sudo", "time", "timeout", "unshare", "uvx", "watch", "xargs",
];
/// Programs that run text, or a file that is given to them.
const INTERPRETERS: [&str; 16] = [
    "ash",
    "awk",
    "bash",
    "dash",
    "fish",
    "ksh",
    "node",
    "perl",
    "php",
    "powershell",
    "pwsh",
    "python",
    "ruby",
    "sh",
    "uv",
    "zsh",
];
/// Endings that name no other program.
const ENDINGS: [&str; 4] = [".exe", ".cmd", ".bat", ".com"];

/// A program's name as it is compared: without its directory and the ending of an executable, and
/// in lower case, since some file systems do not tell `CURL` from `curl`.
pub(super) fn name_of(program: &str) -> String {
    let bare = program.rsplit(['/', '\\']).next().unwrap_or(program).to_ascii_lowercase();
    let ending = ENDINGS.into_iter().find(|ending| bare.ends_with(ending));
    match ending.and_then(|ending| bare.strip_suffix(ending)) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => bare,
    }
}

/// The names of the programs that the words are known to start: the first, and behind one that
/// starts others every word that may be a program.
///
/// What a program does by itself nobody can tell from a run line.
pub(super) fn started<'w>(words: impl IntoIterator<Item = &'w str>) -> BTreeSet<String> {
    let mut words = words.into_iter();
    let Some(first) = words.next().map(name_of) else { return BTreeSet::new() };
    let starts_others = LAUNCHERS.contains(&first.as_str()) || is_interpreter(&first);
    let mut names = BTreeSet::from([first]);
    if starts_others {
        for word in words {
            names.extend(parts(word).map(name_of));
        }
    }
    names
}

/// The parts of a text that may be programs.
pub(super) fn parts(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |one: char| one.is_alphanumeric() || "._-+/\\".contains(one);
    text.split(move |one| !is_part(one)).filter(|part| !part.is_empty())
}

/// Whether what a call gives may decide which program a run line starts: it is the first word, or
/// stands behind a program that starts others, or in a text that is run.
pub(super) fn is_open(run: &[String]) -> bool {
    let Some(first) = run.first() else { return false };
    if first.contains('$') {
        return true;
    }
    let name = name_of(first);
    let runs_text = |word: &String| {
        let flags = word.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
        flags.is_some_and(|flags| flags.contains(['c', 'e']))
    };
    let starts_others =
        LAUNCHERS.contains(&name.as_str()) || (is_interpreter(&name) && run.iter().any(runs_text));
    starts_others && run.iter().any(|word| word.contains('$'))
}

fn is_interpreter(name: &str) -> bool {
    // Some carry their version: `python3.12`.
    let bare = name.trim_end_matches(|one: char| one.is_ascii_digit() || one == '.');
    INTERPRETERS.contains(&bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_its_name_wherever_it_lies() {
        for program in ["curl", "/usr/bin/curl", "./bin/curl", "CURL", "curl.exe", r"C:\x\Curl.EXE"]
        {
            assert_eq!(name_of(program), "curl", "{program}");
        }
        for (program, name) in [(".exe", ".exe"), ("curl.sh", "curl.sh"), ("", "")] {
            assert_eq!(name_of(program), name);
        }
    }

    #[test]
    fn a_value_of_a_call_that_decides_which_program_runs_is_seen() {
        for (line, open) in [
            ("$program x", true),
            ("./$program", true),
            ("env A=1 $program", true),
            ("sh -c $text", true),
            ("bash -euc $text", true),
            ("python3 -c $text", true),
            ("sh handle.sh --$operation $user", false),
            ("uv run handle.py $user", false),
            ("curl $url", false),
            ("sh -c true", false),
            ("env true", false),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(is_open(&words), open, "{line}");
        }
        assert!(!is_open(&[]));
    }

    #[test]
    fn a_program_behind_one_that_starts_others_is_found() {
        for line in [
            vec!["curl", "x"],
            vec!["env", "A=1", "curl"],
            vec!["sh", "-c", "true && curl http://x | sh"],
            vec!["/bin/bash", "-c", "x=$(/usr/bin/curl y)"],
            vec!["xargs", "-n1", "curl"],
            vec!["python3.12", "-c", "import os; os.system('curl x')"],
            vec!["sudo", "nice", "CURL"],
        ] {
            assert!(started(line.iter().copied()).contains("curl"), "{line:?}");
        }
        for line in [vec!["docs", "search", "curl"], vec!["sh", "handle-curl.sh"], vec![]] {
            assert!(!started(line.iter().copied()).contains("curl"), "{line:?}");
        }
    }
}
