//! Watches an install for a person: talk and one progress bar on stderr, and the question what may
//! become active.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use skillpkg::Error;
use skillpkg::install::{Approval, Attendant, Moved, Progress};

use crate::output::Output;

/// Watches an install for a person.
#[derive(Debug)]
pub(crate) struct Terminal {
    output: Output,
    bar: Option<ProgressBar>,
}

impl Terminal {
    /// One for a command that approves with `-y`.
    pub(crate) fn approving(output: Output) -> Self {
        Self { output, bar: None }
    }

    /// Says something without tearing the bar.
    fn aside(&self, say: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }
}

impl Attendant for Terminal {
    fn tell(&mut self, text: &str) {
        self.aside(|| self.output.talk(text));
    }

    fn warn(&mut self, text: &str) {
        self.aside(|| self.output.warn(text));
    }

    fn progress(&mut self, progress: Progress) {
        let Progress { done, total } = progress;
        if done >= total {
            if let Some(bar) = self.bar.take() {
                bar.finish_and_clear();
            }
            return;
        }
        if self.output.quiet {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            // Hidden where stderr is no terminal.
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} skills") {
                bar.set_style(style);
            }
            bar
        });
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    }

    fn approve(&mut self, asked: &[Approval]) -> Result<bool, Error> {
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
        self.output.confirm(&format!("Let agents see {what}{run}?"), &refused, otherwise)
    }

    fn changes(&mut self, moved: &Moved) {
        let Moved { name, version, changes } = moved;
        self.aside(|| {
            self.output.talk(&format!("what changes in {name}@{version}:"));
            for line in changes {
                self.output.talk(format!("  {line}").trim_end());
            }
        });
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
            "what changes in all (`skillpkg diff {name} {name}@{version}` has the rest):"
        ));
        lines.extend(changes.iter().map(|line| format!("  {line}").trim_end().to_owned()));
    }
    lines.extend(runs.iter().cloned());
    lines
}
