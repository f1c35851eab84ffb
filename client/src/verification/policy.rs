//! What the policies forbid of what is installed.

use super::snapshot::stored;
use super::{BrokenRule, Problem, ProblemKind, Verifier};
use crate::Error;
use crate::policy::{Installed, Policy, Violation, violations_of};
use crate::project::Locked;

impl Verifier<'_> {
    /// What the policies of the machine, the user and the project forbid of these skills.
    pub(super) fn forbidden<'l>(
        &self,
        skills: impl Iterator<Item = &'l Locked>,
    ) -> Result<Vec<Problem>, Error> {
        let policy = Policy::of_project(self.settings, &self.root)?;
        let mut problems = Vec::new();
        if policy.is_empty() {
            return Ok(problems);
        }
        for locked in skills {
            // That a manifest is gone is a problem of the snapshot.
            let Ok(stored) = stored(&self.store, &locked.address)? else { continue };
            let installed = Installed {
                manifest: &stored.manifest,
                address: &locked.address,
                envelope: &stored.envelope,
                source: &locked.source,
            };
            let found =
                violations_of(&policy, self.settings, &self.store, &self.state, &installed)?;
            problems.extend(found.into_iter().map(|violation| problem(locked, violation)));
        }
        Ok(problems)
    }
}

fn problem(locked: &Locked, violation: Violation) -> Problem {
    let Violation { rule, message, place, .. } = violation;
    let problem = Problem::new(&locked.name, ProblemKind::Policy, "");
    let detail = format!("{place}: {message}");
    Problem {
        code: Some(rule.code()),
        rule: Some(BrokenRule { rule, place }),
        ..problem.with_detail(detail)
    }
}
