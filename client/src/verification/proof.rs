//! Whether installed skills are in the logs of their registries, and what those last said against
//! them.

use std::collections::BTreeMap;
use std::sync::Arc;

use skillpkg_schema::QualifiedName;

use super::keys::registry_of;
use super::{Problem, ProblemKind, Report, Verifier};
use crate::project::{LOCK_FILE, Locked};
use crate::registry::Registry;
use crate::settings::registry_text;
use crate::trust::{Claim, KeptProofs, Notice, Standings, is_falsified};
use crate::{Error, parallel};

/// Whether a refusal is about the record of one version, and not about the log.
fn is_of_one(error: &Error) -> bool {
    ["inclusion_missing", "inclusion_refused", "record_mismatch"].contains(&error.code.as_str())
}

impl Verifier<'_> {
    /// What is wrong with the proofs that locked skills keep, and what their registries last said
    /// against them. A proof that is missing or does not hold is asked for, where a network is.
    pub(super) async fn proofs(&self, locked: &[&Locked]) -> Result<Report, Error> {
        let mut report = Report::default();
        let standings = Standings::read(&self.settings.home)?;
        for locked in locked {
            let Some(url) = locked.source.registry() else { continue };
            let (name, version) = (&locked.name, &locked.version);
            let standing = standings.of(url, name, version);
            if let Err(error) = standing.check(name, version) {
                let problem = Problem::new(name, ProblemKind::Policy, "");
                let problem = problem.with_detail(error.message);
                report.problems.push(Problem { code: Some("advisory_forbids"), ..problem });
            } else {
                report.notices.extend(standing.told(name, version));
            }
        }
        let kept = KeptProofs::new(&self.trust);
        let found = parallel::map(locked, |locked| self.proven(&kept, locked))?;
        let mut unproven = Vec::new();
        for (locked, found) in locked.iter().zip(found) {
            match found? {
                Ok(true) => {}
                Ok(false) => unproven.push((*locked, None)),
                Err(reason) => unproven.push((*locked, Some(reason))),
            }
        }
        let mut failure: Option<String> = None;
        let mut absent: Vec<QualifiedName> = Vec::new();
        let mut refused: BTreeMap<&QualifiedName, String> = BTreeMap::new();
        if !self.settings.offline && !unproven.is_empty() {
            let wanted: Vec<&Locked> = unproven.iter().map(|(locked, _)| *locked).collect();
            let mut notices = Vec::new();
            match self.fetch_proofs(&wanted, &mut notices).await {
                Ok(unlisted) => absent = unlisted,
                // What is wrong is what the lockfile says of one of them: each is asked for alone.
                Err(error) if is_of_one(&error) => {
                    for one in &wanted {
                        match self.fetch_proofs(&[*one], &mut notices).await {
                            Ok(unlisted) => absent.extend(unlisted),
                            Err(error) if is_of_one(&error) => {
                                refused.insert(&one.name, error.message);
                            }
                            Err(error) if is_falsified(&error) => return Err(error),
                            Err(error) => failure = Some(error.message),
                        }
                    }
                }
                Err(error) if is_falsified(&error) => return Err(error),
                Err(error) => failure = Some(error.message),
            }
            report.notices.extend(notices.into_iter().map(Notice::into_text));
        }
        let kept = KeptProofs::new(&self.trust);
        for (locked, reason) in unproven {
            let is_missing = match self.proven(&kept, locked)? {
                Ok(true) => continue,
                found => found.is_ok(),
            };
            let (code, mut detail) = if is_missing {
                let detail = "no proof that it is in its registry's log is kept".to_owned();
                ("inclusion_missing", detail)
            } else {
                let reason = reason.unwrap_or_default();
                ("inclusion_refused", format!("the proof that is kept is refused: {reason}"))
            };
            if let Some(reason) = refused.get(&locked.name) {
                detail = format!(
                    "{reason}; `{LOCK_FILE}` may have been edited: compare it with its history"
                );
            } else if absent.contains(&locked.name) {
                detail = format!("{detail}, and the registry does not have this version");
            } else if let Some(failure) = &failure {
                detail = format!("{detail}; another cannot be had: {failure}");
            }
            let problem = Problem::new(&locked.name, ProblemKind::Proof, "").with_detail(detail);
            report.problems.push(Problem { code: Some(code), ..problem });
        }
        Ok(report)
    }

    /// Whether a locked skill is proven, as far as it comes from a registry and says that it is in a
    /// log; what is wrong with the proof is a phrase.
    fn proven(
        &self,
        kept: &KeptProofs<'_>,
        locked: &Locked,
    ) -> Result<Result<bool, String>, Error> {
        let Some(url) = locked.source.registry() else { return Ok(Ok(true)) };
        if locked.log_index.is_none() && !self.trust.requires_log() {
            return Ok(Ok(true));
        }
        let kept = kept.of(url, &Claim::locked(locked))?;
        Ok(kept.map(|kept| kept.is_some()))
    }

    /// Asks for proofs of locked skills: of each registry once. Answers with those of which it does
    /// not have the version.
    async fn fetch_proofs(
        &self,
        locked: &[&Locked],
        notices: &mut Vec<Notice>,
    ) -> Result<Vec<QualifiedName>, Error> {
        let mut unlisted = Vec::new();
        let mut by_registry: BTreeMap<String, (Registry, Vec<&Locked>)> = BTreeMap::new();
        for one in locked {
            let registry = registry_of(self.settings, &one.name, Some(&one.source))?;
            let key = registry_text(registry.url()).to_owned();
            by_registry.entry(key).or_insert((registry, Vec::new())).1.push(one);
        }
        for (registry, locked) in by_registry.into_values() {
            let names: Vec<QualifiedName> = locked.iter().map(|one| one.name.clone()).collect();
            let asked = self.trust.documents(&registry, &names).await?;
            notices.extend(asked.notices);
            let is_listed = |one: &&Locked| {
                let mut documents = asked.documents.iter().map(|found| &found.document);
                documents.any(|document| {
                    document.name == one.name && document.version(&one.version).is_some()
                })
            };
            let absent = locked.iter().copied().filter(|one| !is_listed(one));
            unlisted.extend(absent.map(|one| one.name.clone()));
            let claims = asked.documents.iter().filter_map(|found| {
                let one = locked.iter().find(|one| one.name == found.document.name)?;
                let entry = found.document.version(&one.version)?;
                let index = one.log_index.or(entry.log_index);
                let claim = Claim { index, ..Claim::locked(one) };
                Some((Arc::clone(found.view.as_ref()?), claim))
            });
            self.trust.prove(&registry, claims.collect(), notices).await?;
        }
        Ok(unlisted)
    }
}
