//! What the command says: data on stdout, talk on stderr, questions only to a person.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};

use clap::error::ErrorKind;
use serde::Serialize;
use skillpkg::trust::Notice;
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape_prose;
use skillpkg_schema::{Diagnostic, Severity};

use crate::interruption::INTERRUPTED;
use crate::keyboard::{self, Keyboard};
use crate::working::{aside, erase};

/// Most bytes of an answer to a question.
const MAX_ANSWER_BYTES: usize = 4096;

/// When colour is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The two streams, and how much goes to each.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that stands alone")]
pub(crate) struct Output {
    /// Whether data is JSON.
    pub(crate) json: bool,
    /// Whether talk other than warnings and errors is left out.
    pub(crate) quiet: bool,
    /// Whether more is told.
    pub(crate) verbose: bool,
    /// Whether questions may be asked.
    pub(crate) input: bool,
}

impl Output {
    /// Prints text for a person, or nothing where `--json` was given.
    pub(crate) fn text(self, text: &str) -> Result<(), Error> {
        if self.json {
            return Ok(());
        }
        aside(|| {
            let mut stdout = anstream::stdout().lock();
            writeln!(stdout, "{text}").and_then(|()| stdout.flush())
        })
        .map_err(|error| closed(&error))
    }

    /// Prints data as JSON where `--json` was given, else nothing.
    pub(crate) fn json(self, data: &impl Serialize) -> Result<(), Error> {
        if !self.json {
            return Ok(());
        }
        print_json(data)
    }

    /// Tells what is going on.
    pub(crate) fn talk(self, text: &str) {
        if !self.quiet {
            self.show(text);
        }
    }

    /// Tells what a question is about, also where other talk is left out.
    #[expect(clippy::unused_self, reason = "whoever talks has been told how")]
    pub(crate) fn show(self, text: &str) {
        aside(|| {
            let _ = writeln!(anstream::stderr(), "{text}");
        });
    }

    /// Tells what only somebody who looks closely wants to know.
    pub(crate) fn detail(self, text: &str) {
        if self.verbose {
            self.talk(text);
        }
    }

    /// Warns.
    pub(crate) fn warn(self, text: &str) {
        self.show(&format!("{}: {text}", style("warning", Style::Warning)));
    }

    /// Warns of each diagnostic.
    pub(crate) fn warn_all(self, warnings: &[Diagnostic]) {
        for one in warnings {
            self.warn(&one.to_string());
        }
    }

    /// Tells a diagnostic, as an error or a warning.
    pub(crate) fn tell(self, one: &Diagnostic) {
        match one.severity {
            Severity::Warning => self.warn(&one.to_string()),
            Severity::Error => self.show(&format!("{}: {one}", style("error", Style::Error))),
        }
    }

    /// Tells what came of asking a registry.
    pub(crate) fn tell_all(self, notices: &[Notice]) {
        for notice in notices {
            match notice {
                Notice::Tell(text) => self.talk(text),
                Notice::Warn(text) => self.warn(text),
            }
        }
    }

    /// Whether a person is there to ask.
    pub(crate) fn can_ask(self) -> bool {
        self.input && !self.json && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Asks a person yes or no; no is the default. Refused where nobody can be asked.
    ///
    /// `refused` is what to say where nobody can be asked, and `otherwise` what to do instead.
    pub(crate) fn confirm(
        self,
        question: &str,
        refused: &str,
        otherwise: &str,
    ) -> Result<bool, Error> {
        if !self.can_ask() {
            return Err(
                Error::new(Kind::Refused, "approval_required", refused).with_hint(otherwise)
            );
        }
        // Nothing is drawn over a question.
        erase();
        let mut stderr = anstream::stderr();
        let _ = write!(stderr, "{question} [y/N] ");
        let _ = stderr.flush();
        let answer = keyboard::line(&mut Keyboard, MAX_ANSWER_BYTES).map_err(|error| {
            // What follows does not stand behind the question.
            let _ = writeln!(stderr);
            Error::new(Kind::Failed, "input_failed", error.to_string())
        })?;
        Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }

    /// Prints text that a program reads as it is: exactly to a file or a pipe, escaped to a
    /// terminal; nothing where `--json` was given.
    pub(crate) fn exact(self, text: &str) -> Result<(), Error> {
        if self.json {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        let shown =
            if stdout.is_terminal() { Cow::Owned(escape_prose(text)) } else { Cow::Borrowed(text) };
        let end = if shown.ends_with('\n') { "" } else { "\n" };
        write!(stdout, "{shown}{end}").and_then(|()| stdout.flush()).map_err(|error| closed(&error))
    }

    /// Writes what a program wrote to its streams to ours, byte for byte; nothing where `--json`
    /// was given.
    pub(crate) fn streams(self, stdout: &[u8], stderr: &[u8]) -> Result<(), Error> {
        if self.json {
            return Ok(());
        }
        let _ = io::stderr().lock().write_all(stderr);
        let mut out = io::stdout().lock();
        out.write_all(stdout).and_then(|()| out.flush()).map_err(|error| closed(&error))
    }

    /// Reads one line that is not shown while it is typed.
    #[expect(clippy::unused_self, reason = "whoever talks has been told how")]
    pub(crate) fn ask_hidden(self, question: &str) -> Result<String, Error> {
        erase();
        let mut stderr = anstream::stderr();
        let _ = write!(stderr, "{question} ");
        let _ = stderr.flush();
        let line = crate::hidden::read_line();
        let _ = writeln!(stderr);
        line.map_err(|error| Error::new(Kind::Failed, "input_failed", error.to_string()))
    }

    /// Tells a failure: to stderr, and as JSON on stdout where `--json` was given.
    pub(crate) fn fail(self, error: &Error) {
        if error.code == STDOUT_CLOSED {
            return;
        }
        if self.json {
            let _ = print_json(&error.to_json());
        }
        if error.code == INTERRUPTED {
            // Nothing went wrong: one line is enough.
            let hint = error.hint.as_ref().map_or_else(String::new, |hint| format!(": {hint}"));
            return self.show(&format!("{}{hint}", error.message));
        }
        let mut stderr = anstream::stderr();
        let errors = || error.faults.iter().filter(|fault| fault.severity == Severity::Error);
        // Where the first of the faults stands for all, telling all of them tells it too.
        if !errors().any(|fault| is_told_by(error, fault)) {
            let _ = writeln!(stderr, "{}: {error}", style("error", Style::Error));
        }
        for fault in errors() {
            let _ = writeln!(stderr, "{}: {fault}", style("error", Style::Error));
        }
    }
}

/// Whether the failure says no more than the fault, with or without its place.
fn is_told_by(error: &Error, fault: &Diagnostic) -> bool {
    let placed = Diagnostic { hint: None, ..fault.clone() }.to_string();
    error.message == fault.message || error.message == placed
}

/// The code of a failure to write to a stdout that nobody reads any more.
const STDOUT_CLOSED: &str = "stdout_closed";

/// Prints what is wrong with a command line as every failure is printed with `--json`.
pub(crate) fn fail_usage(error: &clap::Error) {
    let _ = print_json(&usage_error(error).to_json());
}

/// What is wrong with a command line: what clap says, its tip as the hint.
fn usage_error(error: &clap::Error) -> Error {
    const TIP: &str = "  tip: ";
    let told = error.render().to_string();
    let told = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "a subcommand is missing",
        _ => told.split("\n\nUsage:").next().unwrap_or(&told),
    };
    let told = told.split("\n\nFor more information").next().unwrap_or(told);
    let (message, tips) = told.split_once(&format!("\n\n{TIP}")).unwrap_or((told, ""));
    let failed = Error::new(Kind::Usage, "usage", message.trim().trim_start_matches("error: "));
    let hint = tips.replace(&format!("\n{TIP}"), "; ");
    failed.with_hint(match hint.trim() {
        "" => "`--help` tells what the command takes",
        hint => hint,
    })
}

/// Prints data as one line of JSON.
pub(crate) fn print_json(data: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string(data)
        .map_err(|error| Error::new(Kind::Failed, "output_failed", error.to_string()))?;
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}").and_then(|()| stdout.flush()).map_err(|error| closed(&error))
}

/// The failure to write to stdout.
pub(crate) fn closed(error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Error::new(Kind::Failed, STDOUT_CLOSED, "nobody reads stdout any more");
    }
    Error::new(Kind::Failed, "output_failed", format!("cannot write to stdout: {error}"))
}

#[derive(Clone, Copy)]
enum Style {
    Error,
    Warning,
}

/// Colours a word; the stream takes the colour out where it does not belong.
fn style(word: &str, style: Style) -> String {
    let code = match style {
        Style::Error => "1;31",
        Style::Warning => "1;33",
    };
    format!("\u{1b}[{code}m{word}\u{1b}[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clap_says_becomes_a_message_and_a_hint() {
        let command = || {
            let check = clap::Command::new("check").arg(clap::arg!(--compat));
            clap::Command::new("x").subcommand(check).subcommand_required(true)
        };
        for (typed, message, hint) in [
            (
                &["x", "check", "--compt"][..],
                "unexpected argument '--compt' found",
                "a similar argument exists: '--compat'",
            ),
            (
                &["x", "chek"],
                "unrecognized subcommand 'chek'",
                "a similar subcommand exists: 'check'",
            ),
            (
                &["x", "zzzzzz"],
                "unrecognized subcommand 'zzzzzz'",
                "`--help` tells what the command takes",
            ),
        ] {
            let error = usage_error(&command().try_get_matches_from(typed).unwrap_err());
            assert_eq!((error.message.as_str(), error.hint.as_deref()), (message, Some(hint)));
        }
    }

    #[test]
    fn a_failure_that_is_its_first_fault_with_its_place_is_told_once() {
        let fault = Diagnostic::error("c", "too long").in_file("SKILL.md").at_line(3);
        let fault = fault.with_hint("shorten it");
        for (message, told) in
            [("too long", true), ("SKILL.md:3: too long", true), ("2 faults", false)]
        {
            assert_eq!(
                is_told_by(&Error::new(Kind::Failed, "c", message), &fault),
                told,
                "{message}"
            );
        }
    }
}
