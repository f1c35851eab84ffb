//! What a policy forbids of one skill, and how it is told.

use skillpkg_schema::Diagnostic;

use super::place::Place;
use super::rule::Rule;
use crate::{Error, Kind};

/// One thing that a policy forbids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule that forbids it.
    pub rule: Rule,
    /// What was met: names the skill, the value and the rule; safe to print.
    pub message: String,
    /// Where the rule stands.
    pub place: Place,
    /// What to do.
    pub hint: Option<String>,
}

impl Violation {
    pub(super) fn new(rule: Rule, place: &Place, message: impl Into<String>) -> Self {
        Self { rule, message: message.into(), place: place.clone(), hint: None }
    }

    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    fn diagnostic(&self) -> Diagnostic {
        let mut fault = Diagnostic::error(self.rule.code(), self.message.clone())
            .in_file(&*self.place.file)
            .at_line(self.place.line as usize);
        fault.hint.clone_from(&self.hint);
        fault
    }
}

/// The refusal of everything that is forbidden; nothing where that is nothing.
///
/// The first stands for all; [`Error::faults`] holds every one where there are several.
pub(crate) fn refuse(violations: &[Violation]) -> Result<(), Error> {
    let Some(first) = violations.first() else { return Ok(()) };
    let mut error = Error::new(Kind::Refused, first.rule.code(), first.message.clone())
        .in_file(&*first.place.file);
    error.line = Some(first.place.line);
    error.hint.clone_from(&first.hint);
    if violations.len() > 1 {
        error.faults = violations.iter().map(Violation::diagnostic).collect();
    }
    Err(error)
}

/// Whether a failure is a refusal of a skill by a policy; of a log it is none.
pub(crate) fn is_refusal(error: &Error) -> bool {
    let of_a_skill = |rule: &Rule| rule.code() == error.code && rule.code().starts_with("policy_");
    error.kind == Kind::Refused && Rule::ALL.iter().any(of_a_skill)
}

/// Two refusals as one, each thing told once.
pub(crate) fn both(mut first: Error, second: Error) -> Error {
    if first.faults.is_empty() {
        first.faults.push(alone(&first));
    }
    if second.faults.is_empty() {
        first.faults.push(alone(&second));
    } else {
        first.faults.extend(second.faults);
    }
    first
}

fn alone(error: &Error) -> Diagnostic {
    let mut fault = Diagnostic::error(&error.code, error.message.clone());
    fault.file.clone_from(&error.file);
    fault.line = error.line;
    fault.hint.clone_from(&error.hint);
    fault
}
