//! Diagnostics of one file, collected within a bound.

use crate::diagnostic::{Diagnostic, Faults, Severity};

/// Most errors told of one file: a reader of more than these starts over anyway.
const MOST_ERRORS: usize = 100;
/// Most warnings told of one file.
const MOST_WARNINGS: usize = 200;
/// Most names compared when a near one is looked for.
const MOST_CANDIDATES: usize = 64;

/// Where something stands in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// From 1.
    pub(super) line: usize,
    /// In characters, from 1.
    pub(super) column: usize,
}

/// What was found while reading one file.
#[derive(Debug)]
pub(super) struct Report<'a> {
    file: &'a str,
    diagnostics: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

impl<'a> Report<'a> {
    pub(super) fn new(file: &'a str) -> Self {
        Self { file, diagnostics: Vec::new(), errors: 0, warnings: 0 }
    }

    /// Adds a diagnostic, of this file where it names none, unless there are enough of its kind.
    pub(super) fn add(&mut self, diagnostic: Diagnostic) {
        let (count, most) = match diagnostic.severity {
            Severity::Error => (&mut self.errors, MOST_ERRORS),
            Severity::Warning => (&mut self.warnings, MOST_WARNINGS),
        };
        if *count < most {
            *count += 1;
            let is_placed = diagnostic.file.is_some();
            self.diagnostics.push(if is_placed {
                diagnostic
            } else {
                diagnostic.in_file(self.file)
            });
        }
    }

    /// Adds a diagnostic at `place`.
    pub(super) fn at(&mut self, place: Place, diagnostic: Diagnostic) {
        self.add(diagnostic.at_line(place.line).at_column(place.column));
    }

    /// Adds what was found elsewhere.
    pub(super) fn extend(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        diagnostics.into_iter().for_each(|diagnostic| self.add(diagnostic));
    }

    /// Whether an error was added.
    pub(super) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// How many errors were added.
    pub(super) fn errors(&self) -> usize {
        self.errors
    }

    /// Whether further errors would not be told: a reader may stop.
    pub(super) fn is_full(&self) -> bool {
        self.errors >= MOST_ERRORS
    }

    /// `value` and the warnings, or every diagnostic where one is an error.
    pub(super) fn check<T>(self, value: T) -> Result<(T, Vec<Diagnostic>), Faults> {
        Faults::check(value, self.diagnostics)
    }

    /// Every diagnostic: an error was added.
    pub(super) fn into_faults(mut self) -> Faults {
        if !self.has_errors() {
            self.add(Diagnostic::error("not_read", "the file is not read"));
        }
        match self.check(()) {
            Err(faults) => faults,
            Ok(_) => Diagnostic::error("not_read", "the file is not read").into(),
        }
    }
}

/// `did you mean …?` where a candidate is near `wanted`.
pub(super) fn did_you_mean<'a>(
    wanted: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    crate::diagnostic::nearest(wanted, candidates.into_iter().take(MOST_CANDIDATES))
        .map(|near| format!("did you mean `{}`?", crate::diagnostic::escape(near)))
}
