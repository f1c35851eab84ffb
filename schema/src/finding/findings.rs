//! The findings of one skill, within a bound.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::kind::FindingKind;
use super::one::{Finding, FindingCount};
use super::severity::Severity;
use super::text::Text;
use crate::diagnostic::Diagnostic;

/// Most of one kind that are told one by one: a crowd of one kind hides none of another.
const MOST_OF_KIND: usize = 50;
/// Most of one kind in one file that are told one by one.
const MOST_OF_FILE: u32 = 20;

/// The findings of one skill: each with its place, up to a bound, and how many there are of each
/// kind in all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// By file and place.
    #[serde(rename = "found")]
    told: Vec<Finding>,
    /// Of every kind that there is one of, those that are not told among them.
    counts: BTreeMap<FindingKind, u32>,
    /// Text files that were too long to be looked into whole.
    #[serde(default)]
    unread: u32,
}

impl Findings {
    /// Those that are told one by one: up to 50 of a kind, and 20 of it in one file; by file and
    /// place.
    pub fn told(&self) -> &[Finding] {
        &self.told
    }

    /// How many there are of each kind, in the order of [`FindingKind::ALL`].
    pub fn counts(&self) -> Vec<FindingCount> {
        let count = |(kind, count): (&FindingKind, &u32)| FindingCount {
            kind: kind.as_str().to_owned(),
            count: *count,
        };
        self.counts.iter().map(count).collect()
    }

    /// How many there are in all.
    pub fn total(&self) -> u32 {
        self.counts.values().fold(0, |total, count| total.saturating_add(*count))
    }

    /// How many are not told one by one.
    pub fn more(&self) -> u32 {
        self.total().saturating_sub(u32::try_from(self.told.len()).unwrap_or(u32::MAX))
    }

    /// How many text files were too long to be looked into whole.
    pub fn unread(&self) -> u32 {
        self.unread
    }

    /// Whether nothing was found, and everything looked into.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty() && self.unread == 0
    }

    /// The kinds of which there is one, in the order of [`FindingKind::ALL`].
    pub fn kinds(&self) -> impl Iterator<Item = FindingKind> + '_ {
        self.counts.keys().copied()
    }

    /// The kinds that are found and of which `severity` says this.
    pub fn kinds_that(
        &self,
        wanted: Severity,
        severity: impl Fn(FindingKind) -> Severity,
    ) -> Vec<FindingKind> {
        self.kinds().filter(|kind| severity(*kind) == wanted).collect()
    }

    /// Adds to what an author is told the warnings that `told` does not hold: of one code, a line is
    /// told of once.
    pub fn add_warnings(&self, told: &mut Vec<Diagnostic>) {
        for warning in self.told.iter().filter_map(Finding::warning) {
            let is_told = |one: &Diagnostic| {
                one.code == warning.code && one.file == warning.file && one.line == warning.line
            };
            if !told.iter().any(is_told) {
                told.push(warning);
            }
        }
    }

    pub(super) fn add_unread(&mut self) {
        self.unread = self.unread.saturating_add(1);
    }

    /// Puts those of one file in order and bounds them.
    pub(super) fn sort(&mut self) {
        self.told.sort();
    }
}

/// Takes the findings of one file.
pub(super) struct Sink<'s> {
    findings: &'s mut Findings,
    path: &'s str,
    of_kind: BTreeMap<FindingKind, u32>,
}

impl<'s> Sink<'s> {
    pub(super) fn new(findings: &'s mut Findings, path: &'s str) -> Self {
        Self { findings, path, of_kind: BTreeMap::new() }
    }

    /// Adds one at a byte of the text, with what stands there.
    pub(super) fn at(&mut self, text: &Text<'_>, kind: FindingKind, offset: usize, message: &str) {
        if self.counted(kind) {
            let place = text.place(offset);
            self.push(kind, Some(place), message, Some(text.excerpt(offset)));
        }
    }

    /// Adds one that may be of several lines, with what stands there up to `end`.
    pub(super) fn until(
        &mut self,
        text: &Text<'_>,
        kind: FindingKind,
        offset: usize,
        end: &str,
        message: &str,
    ) {
        if self.counted(kind) {
            let place = text.place(offset);
            self.push(kind, Some(place), message, Some(text.excerpt_until(offset, end)));
        }
    }

    /// Adds one without showing what stands there.
    pub(super) fn unshown(&mut self, kind: FindingKind, line: Option<usize>, message: &str) {
        if self.counted(kind) {
            self.push(kind, line.map(|line| (line, 0)), message, None);
        }
    }

    /// Counts one; answers whether it is told.
    fn counted(&mut self, kind: FindingKind) -> bool {
        let all = self.findings.counts.entry(kind).or_default();
        *all = all.saturating_add(1);
        let of_file = self.of_kind.entry(kind).or_default();
        *of_file = of_file.saturating_add(1);
        if *of_file > MOST_OF_FILE {
            return false;
        }
        let told = self.findings.told.iter().filter(|one| one.kind == kind).count();
        told < MOST_OF_KIND
    }

    fn push(
        &mut self,
        kind: FindingKind,
        place: Option<(usize, usize)>,
        message: &str,
        excerpt: Option<String>,
    ) {
        let number = |number: usize| Some(u32::try_from(number).unwrap_or(u32::MAX));
        self.findings.told.push(Finding {
            file: self.path.to_owned(),
            line: place.and_then(|(line, _)| number(line)),
            column: place.filter(|(_, column)| *column > 0).and_then(|(_, column)| number(column)),
            kind,
            message: message.to_owned(),
            excerpt,
        });
    }
}
