//! The verdict on each installed skill.

use std::collections::BTreeMap;
use std::path::PathBuf;

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{Manifest, QualifiedName};

use super::Host;
use super::moment::Moment;
use crate::eligibility::{Here, Refusal, Verdict, needs};
use crate::state::Active;
use crate::{Error, Kind};

impl Host {
    /// The verdict on each skill that the project's lockfile names, or that is active without it,
    /// sorted by name: whether a host should offer it, and if not, what is in the way.
    ///
    /// Every tree is re-hashed and nothing is repaired, asked for, executed or written.
    pub fn verdicts(&self) -> Result<Vec<(QualifiedName, Verdict)>, Error> {
        let moment = self.moment()?;
        let Moment { lock, active, .. } = &moment;
        let mut names: Vec<&QualifiedName> = lock.skills().map(|locked| &locked.name).collect();
        names.extend(active.iter().map(|one| &one.name));
        let active: BTreeMap<&QualifiedName, &Active> =
            active.iter().map(|one| (&one.name, one)).collect();
        names.sort();
        names.dedup();
        names
            .into_iter()
            .map(|name| {
                let snapshot = match active.get(name) {
                    Some(active) => self.snapshot_at(&moment, active),
                    None => Err(self.not_active(&name.to_string(), &moment)),
                };
                let verdict = match snapshot {
                    Ok(snapshot) => {
                        let verdict = Verdict { active: true, ..Verdict::default() };
                        self.judged_by(&snapshot.manifest, &snapshot.programs, verdict)?
                    }
                    // What it would need is told all the same, where its snapshot is here.
                    Err(error) => {
                        let address = lock.skill(name).map(|locked| locked.address);
                        let stored = address.map(|address| self.store.stored(&address));
                        let refusal = Some(Refusal::from(error));
                        let verdict = Verdict { refusal, ..Verdict::default() };
                        match stored {
                            Some(Ok(Some(stored))) => {
                                self.judged_by(&stored.manifest, &BTreeMap::new(), verdict)?
                            }
                            _ => verdict,
                        }
                    }
                };
                Ok((name.clone(), verdict.concluded()))
            })
            .collect()
    }

    /// What is missing for an active skill to be offered, the runners of scripts aside: those are
    /// looked at when a script is called. `recorded` says where its programs were found.
    pub(super) fn lacks(
        &self,
        manifest: &Manifest,
        recorded: &BTreeMap<String, PathBuf>,
    ) -> Result<Option<Error>, Error> {
        let tree = self.store.tree_path(&manifest.address());
        let here = Here { settings: &self.settings, runners: None, recorded: Some(recorded) };
        let needs = needs(manifest, &tree, here)?;
        Ok(needs.refusing().next().map(|missing| {
            let told = missing.told.clone();
            Error { hint: told.hint, ..Error::new(Kind::Requirement, told.code, told.message) }
        }))
    }

    fn judged_by(
        &self,
        manifest: &Manifest,
        recorded: &BTreeMap<String, PathBuf>,
        verdict: Verdict,
    ) -> Result<Verdict, Error> {
        let address = manifest.address();
        let tree = self.store.tree_path(&address);
        let mut verdict = match self.store.verify_tree_at(&address, manifest) {
            Ok(problems) => {
                let mut changed: Vec<String> =
                    problems.iter().map(|problem| escape(&problem.path)).collect();
                changed.dedup();
                Verdict { verified: true, changed, ..verdict }
            }
            // Something else stands in the tree's place.
            Err(_) => Verdict { changed: vec![".".to_owned()], ..verdict },
        };
        let runners = Some(&self.runners);
        let here = Here { settings: &self.settings, runners, recorded: Some(recorded) };
        match needs(manifest, &tree, here) {
            Ok(needs) => {
                verdict.missing = needs.missing;
                verdict.waived = needs.waived;
                verdict.left_to_host = needs.left_to_host;
                verdict.always = needs.always;
                verdict.primary_env = needs.primary_env;
            }
            Err(error) if error.kind == Kind::Verification => {
                verdict.active = false;
                verdict.refusal.get_or_insert(Refusal::from(error));
            }
            Err(error) => return Err(error),
        }
        Ok(verdict)
    }
}
