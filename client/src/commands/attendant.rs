//! Watches an install for a person: talk and how far it is on stderr, and the question what may
//! become active.

use skillpkg::Error;
use skillpkg::install::{Approval, Attendant, Moved, Progress};
use skillpkg::meter::{Meter, Unit};

use crate::output::Output;
use crate::working::Working;

/// What goes on where nothing more is known.
const WORKING: &str = "Working";

/// Watches an install for a person.
#[derive(Debug)]
pub(crate) struct Terminal {
    output: Output,
    working: Option<Working>,
    /// How many skills what is counted now is about.
    total: usize,
}

impl Terminal {
    /// One for a command that approves with `-y`.
    pub(crate) fn approving(output: Output) -> Self {
        Self { output, working: Some(Working::on(output, WORKING)), total: 0 }
    }
}

impl Attendant for Terminal {
    fn tell(&mut self, text: &str) {
        self.output.talk(text);
    }

    fn warn(&mut self, text: &str) {
        self.output.warn(text);
    }

    fn progress(&mut self, progress: Progress) {
        let Progress { done, total } = progress;
        let Some(working) = &self.working else { return };
        let (done_now, total_now) = (done as u64, total as u64);
        if self.total != total {
            working.meter().start(Unit::Skills, total_now);
            self.total = total;
        }
        // All of them stay what is shown until something else is counted.
        working.meter().set(done_now);
    }

    fn meter(&mut self) -> Meter {
        self.working.as_ref().map(|working| working.bytes().clone()).unwrap_or_default()
    }

    fn approve(&mut self, asked: &[Approval]) -> Result<bool, Error> {
        // Whoever reads and answers is not hurried by what moves.
        self.working = None;
        for line in asked.iter().flat_map(lines) {
            self.output.show(&line);
        }
        let run = if asked.iter().any(|one| one.runs_anything) { " and run this" } else { "" };
        let (what, subject) = match asked {
            [one] if one.runs_anything => {
                (format!("`{}`", one.name), format!("what `{}` runs was", one.name))
            }
            [one] => (format!("`{}`", one.name), format!("`{}` was", one.name)),
            several => (
                format!("these {} skills", several.len()),
                format!("{} skills were", several.len()),
            ),
        };
        let refused = format!("{subject} not approved, and nobody can be asked here");
        let otherwise = if asked.iter().any(|one| one.widens) {
            "read what it adds, then approve it with `--accept-permissions`"
        } else {
            "read what would run, then approve it with `-y`"
        };
        let question = format!("Let agents see {what}{run}?");
        let answer = self.output.confirm(&question, &refused, otherwise);
        self.working = Some(Working::on(self.output, WORKING));
        self.total = 0;
        answer
    }

    fn changes(&mut self, moved: &Moved) {
        let Moved { name, version, changes } = moved;
        self.output.talk(&format!("what changes in {name}@{version}:"));
        for line in changes {
            self.output.talk(format!("  {line}").trim_end());
        }
    }

    fn approved(&mut self, asked: &[Approval]) {
        for line in asked.iter().flat_map(lines) {
            self.output.talk(&line);
        }
    }
}

/// What there is to approve, in full.
fn lines(approval: &Approval) -> Vec<String> {
    let Approval { name, version, runs, adds, changes, .. } = approval;
    let mut lines = Vec::new();
    let added = adds.as_deref().unwrap_or_default();
    if !added.is_empty() {
        lines.push(format!("{name}@{version} adds to what was approved before:"));
        lines.extend(added.iter().map(|line| format!("  + {line}")));
    }
    if !changes.is_empty() {
        lines.push(format!(
            "what changes in all (`skillpkg update --dry-run {name}` has the rest):"
        ));
        lines.extend(changes.iter().map(|line| format!("  {line}").trim_end().to_owned()));
    }
    lines.extend(runs.iter().cloned());
    lines
}
