//! What is piped into a program that runs its input.

use super::super::words::bare;
use super::origin;

/// Programs that run what they read, in lower case and without the number of a version.
const INTERPRETERS: [&str; 21] = [
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "csh",
    "tcsh",
    "python",
    "pypy",
    "node",
    "deno",
    "bun",
    "perl",
    "ruby",
    "php",
    "lua",
    "osascript",
    "pwsh",
    "powershell",
    "iex",
];
/// Shells, which read a word behind them as a script where it can be one, and else as their
/// arguments.
const SHELLS: [&str; 8] = ["sh", "bash", "zsh", "dash", "ksh", "fish", "csh", "tcsh"];
/// Words that may stand before a program and run it.
const CARRIERS: [&str; 13] = [
    "sudo", "doas", "env", "command", "exec", "nohup", "time", "nice", "stdbuf", "timeout",
    "busybox", "wsl", "xargs",
];

/// Where a line pipes what it fetches or unpacks into a program that runs it.
pub(super) fn find(line: &str) -> Option<(usize, &'static str)> {
    if !line.contains('|') {
        return None;
    }
    let mut from: Option<(usize, &'static str)> = None;
    let mut start = 0;
    for part in line.split('|') {
        if let Some((at, what)) = from
            && runs_input(part)
        {
            return Some((at, what));
        }
        from = from.or_else(|| origin(part).map(|(at, what)| (start + at, what)));
        start += part.len() + 1;
    }
    None
}

/// Whether a name, or the path of one, is that of a program that runs what it reads.
pub(in super::super) fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.contains(&plain(name)) || name == "invoke-expression"
}

/// The name of a program without its directory and the number of its version.
fn plain(name: &str) -> &str {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    name.trim_end_matches(|one: char| one.is_ascii_digit() || one == '.')
}

/// Whether a command runs what it reads from its input.
fn runs_input(command: &str) -> bool {
    let is_quote = |one: char| matches!(one, '"' | '\'' | '`');
    let mut words = command.split_whitespace().peekable();
    // What stands before the program: `sudo -E`, `FOO=bar`, `timeout 30`.
    let mut carried = false;
    let program = loop {
        let Some(word) = words.next() else { return false };
        let name = word.rsplit('/').next().unwrap_or(word);
        let is_assignment = word.contains('=') && !word.starts_with(is_quote);
        let is_option = carried && (word.starts_with('-') || word.parse::<f64>().is_ok());
        if CARRIERS.contains(&name) {
            carried = true;
        } else if !is_assignment && !is_option {
            break word;
        }
    };
    // `sudo -u name bash`: the name is an option's.
    let program = match words.peek() {
        Some(next) if carried && !is_interpreter(bare(program)) => {
            let next = *next;
            words.next();
            next
        }
        _ => program,
    };
    if matches!(program, "source" | ".") {
        return words.next().is_some_and(|word| bare(word) == "/dev/stdin");
    }
    let end = program.find(|one: char| is_quote(one) || matches!(one, ')' | ';' | '&' | ','));
    let name = program.get(..end.unwrap_or(program.len())).unwrap_or(program);
    let name = name.trim_end_matches('.');
    if !is_interpreter(name) {
        return false;
    }
    // A quote or a bracket behind the name ends the command.
    end.is_some() || reads_script(plain(name), words)
}

/// Whether an interpreter with these words behind it takes its script from its input.
fn reads_script<'w>(name: &str, mut words: impl Iterator<Item = &'w str>) -> bool {
    let is_shell = SHELLS.contains(&name);
    if matches!(name, "iex" | "invoke-expression") {
        return true;
    }
    while let Some(word) = words.next() {
        let whole = bare(word);
        if word == "-" || whole == "-" || whole == "/dev/stdin" || word.starts_with(['#', ';', '&'])
        {
            return true;
        }
        if let Some(options) = word.strip_prefix('-') {
            if is_shell && options.starts_with('s') {
                return true;
            }
            let is_short = !options.starts_with('-');
            let gives_code = if is_shell { ['c', 'c'] } else { ['c', 'e'] };
            let other = ["m", "n", "p", "ne", "pe", "r"];
            if is_short
                && (options.contains(gives_code) || (!is_shell && other.contains(&bare(options))))
            {
                // Code of its own, unless that reads the input and runs it.
                let code: Vec<&str> = words.collect();
                let code = code.join(" ");
                return (code.contains("exec(") || code.contains("eval("))
                    && code.contains("stdin");
            }
            if word.ends_with(['"', '\'', '`', ')']) {
                return true;
            }
            continue;
        }
        if word.starts_with(['>', '<']) || word.starts_with("2>") {
            continue;
        }
        // A file of its own; in prose, words follow.
        return !whole.contains(['.', '/']);
    }
    true
}
