//! Words that other tools have for what is done here: a person who types one is told ours.
//!
//! They are hints and no aliases: a script has one way to say a thing.

use std::ffi::OsString;

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use skillpkg_schema::diagnostic::nearest;

/// A word that is no command, and what says it here: each starts with a command or a subcommand, and
/// the first that there is where the word was typed is told.
const WORDS: &[(&str, &[&str])] = &[
    ("add", &["install", "invite", "trust"]),
    ("apply", &["sync"]),
    ("auth", &["login"]),
    ("autoclean", &["gc"]),
    ("autocomplete", &["completions"]),
    ("build", &["pack"]),
    ("cache", &["gc"]),
    ("ci", &["sync --frozen"]),
    ("clean", &["gc"]),
    ("collaborator", &["owner"]),
    ("completion", &["completions"]),
    ("create", &["init", "add"]),
    ("delete", &["remove", "yank", "revoke", "distrust", "withdraw"]),
    ("deprecate", &["yank"]),
    ("describe", &["show"]),
    ("disable", &["deactivate"]),
    ("download", &["install"]),
    ("enable", &["activate"]),
    ("exec", &["call"]),
    ("export", &["bundle"]),
    ("fetch", &["install"]),
    ("find", &["search"]),
    ("fix", &["verify --repair"]),
    ("freeze", &["sync --frozen"]),
    ("generate", &["init"]),
    ("get", &["install"]),
    ("i", &["install"]),
    ("import", &["adopt", "add"]),
    ("info", &["show"]),
    ("lint", &["check"]),
    ("lock", &["sync"]),
    ("logs", &["log"]),
    ("ls", &["list"]),
    ("members", &["scope"]),
    ("migrate", &["adopt"]),
    ("new", &["init", "add"]),
    ("org", &["scope"]),
    ("owners", &["owner"]),
    ("package", &["pack"]),
    ("prune", &["gc"]),
    ("ps", &["list"]),
    ("push", &["publish"]),
    ("read", &["cat"]),
    ("release", &["publish"]),
    ("repair", &["verify --repair"]),
    ("restore", &["sync"]),
    ("rm", &["remove", "revoke", "distrust", "withdraw"]),
    ("run", &["call"]),
    ("s", &["search"]),
    ("serve", &["mcp"]),
    ("signin", &["login"]),
    ("signout", &["logout"]),
    ("status", &["sync --check"]),
    ("team", &["scope"]),
    ("test", &["check"]),
    ("un", &["remove"]),
    ("undo-yank", &["unyank"]),
    ("uninstall", &["remove"]),
    ("unpublish", &["yank"]),
    ("up", &["update"]),
    ("upgrade", &["update"]),
    ("validate", &["check"]),
    ("view", &["show"]),
    ("who", &["whoami"]),
];

/// What says `word` among the subcommands of `parent`.
fn said_here(word: &str, parent: &Command) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    let (_, said) = WORDS.iter().find(|(known, _)| *known == word)?;
    said.iter().copied().find(|said| {
        let first = said.split(' ').next().unwrap_or_default();
        parent.find_subcommand(first).is_some()
    })
}

/// The failure to read a command line, with what says here what was typed, where that is known.
pub(crate) fn explained(
    mut error: clap::Error,
    mut command: Command,
    arguments: impl IntoIterator<Item = OsString>,
) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let word = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => word.clone(),
        _ => return error,
    };
    command.build();
    let (mut parent, mut called) = (&command, command.get_name().to_owned());
    for argument in arguments.into_iter().skip(1) {
        let argument = argument.to_string_lossy();
        if argument == word {
            break;
        }
        if let Some(next) = parent.find_subcommand(&*argument) {
            called = format!("{called} {}", next.get_name());
            parent = next;
        }
    }
    let Some(said) = said_here(&word, parent) else {
        nearest_first(&mut error, &word);
        return error;
    };
    let told = StyledStr::from(format!("here that is `{called} {said}`"));
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![told]));
    error
}

/// Puts the subcommand first among those that are offered that is nearest to what was typed.
fn nearest_first(error: &mut clap::Error, word: &str) {
    let Some(ContextValue::Strings(offered)) = error.get(ContextKind::SuggestedSubcommand) else {
        return;
    };
    let mut offered = offered.clone();
    let Some(near) = nearest(word, offered.iter().map(String::as_str)).map(str::to_owned) else {
        return;
    };
    offered.sort_by_key(|one| *one != near);
    error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(offered));
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::commands::CommandLine;

    /// Every command that has others beneath it.
    fn parents(command: &Command) -> Vec<&Command> {
        let beneath = command.get_subcommands().flat_map(parents);
        std::iter::once(command).filter(|one| one.has_subcommands()).chain(beneath).collect()
    }

    #[test]
    fn each_word_is_said_by_a_command_that_there_is_and_is_none_itself() {
        let mut line = CommandLine::command();
        line.build();
        let parents = parents(&line);
        let mut before = "";
        for (word, said) in WORDS {
            assert!(before < *word, "`{word}` is not in its place");
            before = word;
            assert!(line.find_subcommand(word).is_none(), "`{word}` is a command");
            for one in *said {
                let mut words = one.split(' ');
                let first = words.next().unwrap();
                let found = parents.iter().find_map(|parent| parent.find_subcommand(first));
                let found = found.unwrap_or_else(|| panic!("there is no command `{first}`"));
                for option in words {
                    let name = option.trim_start_matches("--");
                    let known = |argument: &clap::Arg| argument.get_long() == Some(name);
                    assert!(found.get_arguments().any(known), "`{first}` takes no `{option}`");
                }
            }
        }
    }

    #[test]
    fn the_nearest_command_is_offered_first() {
        for (typed, first) in [("instal", "install"), ("inti", "init"), ("lst", "list")] {
            let typed = || ["skillpkg", typed].into_iter().map(OsString::from);
            let error = CommandLine::command().try_get_matches_from(typed()).unwrap_err();
            let error = explained(error, CommandLine::command(), typed()).render().to_string();
            let offered = error.split_once("exist").unwrap().1;
            assert_eq!(offered.split('\'').nth(1), Some(first), "{error}");
        }
    }

    #[test]
    fn a_word_is_said_by_what_there_is_where_it_was_typed() {
        for (typed, told) in [
            (&["add", "waitlist"][..], Some("skillpkg install")),
            (&["--registry", "x", "RM", "waitlist"], Some("skillpkg remove")),
            (&["ci"], Some("skillpkg sync --frozen")),
            (&["owner", "rm", "waitlist", "bob"], Some("skillpkg owner remove")),
            (&["keys", "rm", "00"], Some("skillpkg keys revoke")),
            (&["scope", "ls", "acme"], Some("skillpkg scope list")),
            (&["owner", "ci"], None),
            (&["nonsense"], None),
        ] {
            let typed = || std::iter::once(&"skillpkg").chain(typed).map(OsString::from);
            let error = CommandLine::command().try_get_matches_from(typed()).unwrap_err();
            let error = explained(error, CommandLine::command(), typed()).render().to_string();
            match told {
                Some(told) => assert!(error.contains(&format!("here that is `{told}`")), "{error}"),
                None => assert!(!error.contains("here that is"), "{error}"),
            }
        }
    }
}
