//! What the policies forbid of what is installed.

use skillpkg_schema::ContentAddress;
use skillpkg_store::content::{Store, Stored};

use super::snapshot::stored;
use super::{BrokenRule, Problem, ProblemKind, Verifier};
use crate::Error;
use crate::policy::{Installed, Violation, violations_of};
use crate::project::{Locked, Source};

impl Verifier<'_> {
    /// What the policies of the machine, the user and the project forbid of these skills.
    pub(super) fn forbidden<'l>(
        &self,
        skills: impl Iterator<Item = &'l Locked>,
    ) -> Result<Vec<Problem>, Error> {
        let mut problems = Vec::new();
        for Locked { name, address, source, .. } in skills {
            // That a manifest is gone is a problem of the snapshot.
            let Ok(stored) = stored(&self.store, address)? else { continue };
            problems.extend(self.forbidden_of(&self.store, name, &stored, address, source)?);
        }
        Ok(problems)
    }

    /// What they forbid of one snapshot, which lies in `store`; the problems are told of `name`.
    pub(super) fn forbidden_of(
        &self,
        store: &Store,
        name: &impl ToString,
        stored: &Stored,
        address: &ContentAddress,
        source: &Source,
    ) -> Result<Vec<Problem>, Error> {
        let Stored { manifest, envelope } = stored;
        let installed = Installed { manifest, address, envelope, source };
        let found = violations_of(&self.policy, self.settings, store, &self.state, &installed)?;
        Ok(found.into_iter().map(|violation| problem(name, violation)).collect())
    }
}

fn problem(name: &impl ToString, violation: Violation) -> Problem {
    let Violation { rule, message, place, .. } = violation;
    let problem = Problem::new(name, ProblemKind::Policy, "");
    let detail = format!("{place}: {message}");
    Problem {
        code: Some(rule.code()),
        rule: Some(BrokenRule { rule, place }),
        ..problem.with_detail(detail)
    }
}
