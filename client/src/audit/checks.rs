//! What an audit checks.

use futures_util::future::BoxFuture;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::finding::Findings;
use skillpkg_schema::wire::Effect;

use super::Audited;
use super::problem::{Level, Problem};
use crate::install::found_in;
use crate::project::{LOCK_FILE, Locked};
use crate::state::State;
use crate::trust::Standings;
use crate::verification::{Problem as Unverified, ProblemKind, Verifier};
use crate::{Error, Kind, Settings};

/// Looks at what is installed and answers with what is wrong.
pub(super) type Check = for<'a> fn(&'a Audited<'a>) -> BoxFuture<'a, Result<Vec<Problem>, Error>>;

/// Everything that is checked. What an audit is to tell more is one more function here.
pub(super) const CHECKS: &[Check] =
    &[verified_and_allowed, revoked_keys, yanks_and_advisories, findings];

/// That everything is what was signed, and that no policy forbids it. Asks no network.
fn verified_and_allowed<'a>(
    audited: &'a Audited<'a>,
) -> BoxFuture<'a, Result<Vec<Problem>, Error>> {
    Box::pin(async move {
        let settings = Settings { offline: true, ..audited.settings.clone() };
        let report =
            Verifier::new(&settings, audited.root.to_path_buf(), false)?.project(&[]).await?;
        // What an advisory forbids has no rule, and is told by the check of advisories.
        let is_advisory = |one: &Unverified| one.kind == ProblemKind::Policy && one.rule.is_none();
        let problems = report.problems.into_iter().filter(|one| !is_advisory(one));
        let found = problems.filter_map(|problem| {
            let locked = audited.locked.iter().find(|one| one.name.to_string() == problem.name)?;
            Some(unverified(audited, locked, problem))
        });
        Ok(found.collect())
    })
}

fn unverified(audited: &Audited<'_>, locked: &Locked, problem: Unverified) -> Problem {
    let is_copy = problem.directory.is_some();
    let detail = problem.detail.unwrap_or_default();
    let (rule, kind) = match problem.kind {
        ProblemKind::Policy => (problem.rule.as_ref().map(|rule| rule.rule.key()), None),
        other => (None, Some(other.as_str())),
    };
    // The place stands in fields of its own.
    let place = problem.rule.as_ref().map(|rule| format!("{}: ", rule.place));
    let bare = place.and_then(|place| detail.strip_prefix(&*place)).unwrap_or(&detail);
    let message = match bare {
        "" => format!("`{}` is {}", escape(&problem.path), kind.unwrap_or_default()),
        bare => bare.to_owned(),
    };
    let file = match problem.rule.as_ref() {
        Some(rule) => Some(rule.place.file.to_string()),
        None => (!problem.path.is_empty()).then_some(problem.path),
    };
    Problem {
        rule,
        kind,
        message,
        file,
        line: problem.rule.as_ref().map(|rule| rule.place.line),
        sort: match problem.kind {
            ProblemKind::Policy => Kind::Refused,
            _ if is_copy => Kind::Drift,
            _ => Kind::Verification,
        },
        ..of(audited, locked)
    }
}

/// That the key which signed a skill was revoked later, as far as this machine has learnt so. What
/// the key did not sign before is no longer verified, and told by that.
fn revoked_keys<'a>(audited: &'a Audited<'a>) -> BoxFuture<'a, Result<Vec<Problem>, Error>> {
    Box::pin(async move {
        let signers = State::new(&audited.settings.home).signers()?;
        let revoked = audited.locked.iter().filter_map(|locked| {
            let registry = locked.source.registry();
            let revocation = signers.revocation(registry, &locked.name, &locked.key)?;
            revocation.allows(&locked.address).then(|| Problem {
                kind: Some("revoked"),
                message: format!("{}; it was signed before that", revocation.reason()),
                level: Level::Warning,
                ..of(audited, locked)
            })
        });
        Ok(revoked.collect())
    })
}

/// That a version was yanked, or that an advisory is about it, as its registry last said to this
/// machine.
fn yanks_and_advisories<'a>(
    audited: &'a Audited<'a>,
) -> BoxFuture<'a, Result<Vec<Problem>, Error>> {
    Box::pin(async move {
        let standings = Standings::read(&audited.settings.home)?;
        let mut problems = Vec::new();
        for locked in &audited.locked {
            let Some(registry) = locked.source.registry() else { continue };
            let standing = standings.of(registry, &locked.name, &locked.version);
            let mut say = |kind, message, level| {
                let sort = Kind::Refused;
                problems.push(Problem {
                    kind: Some(kind),
                    message,
                    level,
                    sort,
                    ..of(audited, locked)
                });
            };
            if let Some(message) = standing.told_yank(&locked.name, &locked.version) {
                say("yanked", message, Level::Warning);
            }
            let told = standing.told_advisories(&locked.name, &locked.version);
            for (advisory, message) in standing.advisories.iter().zip(told) {
                say(
                    "advisory",
                    message,
                    match advisory.effect {
                        Effect::Forbid => Level::Error,
                        Effect::Warn => Level::Warning,
                    },
                );
            }
        }
        Ok(problems)
    })
}

/// What is worth an eye in the files of a skill that was approved.
fn findings<'a>(audited: &'a Audited<'a>) -> BoxFuture<'a, Result<Vec<Problem>, Error>> {
    Box::pin(async move {
        let mut problems = Vec::new();
        for locked in &audited.locked {
            let found = found_in(audited.settings, &locked.address)?;
            for finding in found.iter().flat_map(Findings::told) {
                problems.push(Problem {
                    kind: Some("finding"),
                    message: finding.phrase(),
                    file: Some(finding.file.clone()),
                    line: finding.line,
                    level: Level::Warning,
                    ..of(audited, locked)
                });
            }
        }
        Ok(problems)
    })
}

/// A problem of a skill, of which the rest is to be said: an error of verification.
pub(super) fn of(audited: &Audited<'_>, locked: &Locked) -> Problem {
    Problem {
        name: locked.name.clone(),
        version: locked.version.clone(),
        rule: None,
        kind: None,
        message: String::new(),
        file: None,
        line: None,
        level: Level::Error,
        lockfile: audited.root.join(LOCK_FILE),
        sort: Kind::Verification,
    }
}
