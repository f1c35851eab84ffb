//! What messages advise to run is a command that there is, with options that it has.

use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use clap::error::ErrorKind;

use super::CommandLine;

/// How a command line in a message starts.
const START: &str = "`skillpkg ";

/// Every source file of this package.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs")
            // What is advised here is wrong on purpose.
            && !path.ends_with("commands/advice.rs")
        {
            found.push(path);
        }
    }
}

/// The command lines in the texts of a source file, as they are written there.
fn advised(source: &str) -> Vec<String> {
    let mut text = String::new();
    for line in source.lines().filter(|line| !line.trim_start().starts_with("//")) {
        // A text goes on where its line ends in a backslash.
        match text.strip_suffix('\\') {
            Some(before) => text = format!("{before}{}", line.trim_start()),
            None => text.extend(["\n", line]),
        }
    }
    let starts = text.match_indices(START).map(|(at, _)| at + 1);
    starts.filter_map(|at| text[at..].split('`').next().map(str::to_owned)).collect()
}

/// The words of a command line, with something in the place of each value.
fn words(line: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut depth = 0_u32;
    for character in line.chars() {
        match character {
            '{' => {
                // What stands behind a word without a space may be nothing.
                if depth == 0 && plain.ends_with(' ') {
                    plain.push('x');
                }
                depth += 1;
            }
            '}' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            _ => plain.push(character),
        }
    }
    let words = plain.split_whitespace().take_while(|word| *word != ">");
    words.filter(|word| *word != "…").map(str::to_owned).collect()
}

/// What is wrong with a command line that a message advises.
fn fault(line: &str) -> Option<String> {
    match CommandLine::command().try_get_matches_from(words(line)) {
        Ok(_) => None,
        Err(error) => match error.kind() {
            // A command alone is how it is called, not how it is typed in full.
            ErrorKind::MissingRequiredArgument
            | ErrorKind::MissingSubcommand
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => None,
            _ => Some(format!("`{line}`: {}", error.render())),
        },
    }
}

#[test]
fn every_command_that_a_message_advises_is_one_that_can_be_run() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let mut faults = Vec::new();
    let mut count = 0;
    for file in files {
        for line in advised(&std::fs::read_to_string(&file).unwrap()) {
            count += 1;
            faults.extend(fault(&line).map(|fault| format!("{}: {fault}", file.display())));
        }
    }
    assert!(count > 150, "{count} found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_command_that_cannot_be_run_is_found() {
    let source = "let hint = \"run `skillpkg verify --trust-\\\n         on-first-use {file}` or \\\n    `skillpkg sync{global} --frozen`\";\n// `skillpkg nonsense`\n";
    let lines = advised(source);
    assert_eq!(
        lines,
        ["skillpkg verify --trust-on-first-use {file}", "skillpkg sync{global} --frozen"]
    );
    assert!(fault(&lines[0]).is_some());
    assert_eq!(fault(&lines[1]), None);
    assert!(fault("skillpkg nonsense").is_some());
    assert_eq!(fault("skillpkg show"), None);
}
