//! Verification of one snapshot in the store.

use skillpkg_schema::ContentAddress;
use skillpkg_schema::manifest::verify_derived;
use skillpkg_schema::signature::{Envelope, KeyId, ReleaseError, verify_release};
use skillpkg_store::content::{Store, StoreError, Stored};

use super::keys::{of_registry, registry_of};
use super::{Problem, ProblemKind, Report, Subject, Verifier};
use crate::Error;
use crate::keys::UNKNOWN_KEY_HINT;
use crate::revocation::Revocation;

impl Verifier<'_> {
    /// Verifies a snapshot, and repairs it where that is wanted.
    pub(super) async fn snapshot(&self, subject: &Subject) -> Result<Report, Error> {
        let (mut problems, mut notices) = self.check(subject).await?;
        let mut repaired = Vec::new();
        if self.repair && !problems.is_empty() {
            let not_fetched = self.mend(subject, &problems).await?;
            let mut left;
            (left, notices) = self.check(subject).await?;
            // A blob that was damaged is set aside when that is found, and missing from then on.
            let is_left = |path: &str| left.iter().any(|one| one.path == path);
            repaired = problems.into_iter().filter(|problem| !is_left(&problem.path)).collect();
            if let Some(reason) = not_fetched {
                for problem in &mut left {
                    let detail = problem.detail.take().map(|detail| format!("{detail}; "));
                    problem.detail = Some(format!("{}{reason}", detail.unwrap_or_default()));
                }
            }
            problems = left;
        }
        Ok(Report { checked: 1, problems, repaired, notices })
    }

    /// Verifies a snapshot that no lockfile of this project names.
    pub(super) async fn unlocked(&self, address: ContentAddress) -> Result<Report, Error> {
        let manifest = match stored(&self.store, &address)? {
            Ok(stored) => stored.manifest,
            Err(kind) => {
                let problem = Problem::new(&address, kind, "").with_detail("its manifest");
                return Ok(Report { checked: 1, problems: vec![problem], ..Report::default() });
            }
        };
        let subject = Subject {
            name: manifest.name,
            version: manifest.version,
            address,
            key: None,
            source: None,
            seen: false,
            from_file: false,
        };
        self.snapshot(&subject).await
    }

    /// What is wrong with a snapshot, and what could not be found out.
    async fn check(&self, subject: &Subject) -> Result<(Vec<Problem>, Vec<String>), Error> {
        let problem = |kind, path: &str| Problem::new(&subject.name, kind, path);
        let Stored { manifest, envelope } = match stored(&self.store, &subject.address)? {
            Ok(stored) => stored,
            Err(kind) => {
                return Ok((vec![problem(kind, "").with_detail("its manifest")], Vec::new()));
            }
        };
        let mut problems = Vec::new();
        if manifest.name != subject.name || manifest.version != subject.version {
            let detail = format!(
                "the lockfile says that it is `{}@{}`; it is `{}@{}`",
                subject.name, subject.version, manifest.name, manifest.version
            );
            problems.push(problem(ProblemKind::Digest, "").with_detail(detail));
        }
        let made = self.store.tree_path(&subject.address).symlink_metadata().is_ok();
        if made || subject.seen {
            match self.store.verify_tree(&manifest) {
                Ok(found) => {
                    let found = found.iter().map(|one| problem(one.kind.into(), &one.path));
                    problems.extend(found);
                }
                Err(StoreError::Misplaced { .. }) => {
                    problems.push(problem(ProblemKind::Mode, "").with_detail("it is no directory"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        for file in &manifest.files {
            let (address, path) = (file.sha256.address(), file.path.as_str());
            match self.store.read_blob(&address, file.size) {
                Ok(_) => {}
                Err(StoreError::Absent(_)) => {
                    problems.push(problem(ProblemKind::Missing, path).with_detail("its blob"));
                }
                Err(StoreError::Damaged { .. } | StoreError::TooLong { .. }) => {
                    problems.push(problem(ProblemKind::Digest, path).with_detail("its blob"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        if made && problems.is_empty() {
            let files = self.store.open_tree(&manifest)?;
            if let Err(faults) = verify_derived(&files, &manifest) {
                let detail = faults.first().message.clone();
                problems.push(problem(ProblemKind::Digest, "").with_detail(detail));
            }
        }
        let vouched = self.vouched(subject, &envelope).await?;
        problems.extend(vouched.problem);
        problems.sort();
        Ok((problems, vouched.notice.into_iter().collect()))
    }

    /// Whether a known key vouches for the snapshot, and the one that the lockfile names does; else
    /// why not.
    ///
    /// Of what came as a file the registry is asked too whether the key was revoked since: no
    /// registry took it in before that.
    pub(super) async fn vouched(
        &self,
        subject: &Subject,
        envelope: &Envelope,
    ) -> Result<Vouched, Error> {
        let mut known = self.keys()?.of(envelope);
        let mut revoked: Vec<(KeyId, Revocation)> = Vec::new();
        let mut notice = None;
        if (known.is_empty() || subject.from_file) && !self.settings.offline {
            // Where no registry can be asked, it stays unknown, and that is told.
            let of = subject.source.as_ref();
            if let Ok(registry) = registry_of(self.settings, &subject.name, of) {
                match of_registry(&registry, &subject.name).await {
                    Ok(keys) => {
                        for (key, revocation) in keys {
                            revoked.extend(revocation.map(|revocation| (key.id(), revocation)));
                            if !known.contains(&key) {
                                known.push(key);
                            }
                        }
                    }
                    Err(error) if known.is_empty() => return Err(error),
                    Err(error) => {
                        notice = Some(format!(
                            "whether the key that signed `{}` was revoked is not known: {}",
                            subject.name, error.message
                        ));
                    }
                }
            }
        }
        let problem =
            |detail| Problem::new(&subject.name, ProblemKind::Signature, "").with_detail(detail);
        let Subject { name, version, address, key, .. } = subject;
        let problem = match verify_release(envelope, name, version, address, &known) {
            Err(error @ ReleaseError::UnknownKey(_)) => Some(Problem {
                code: Some("signer_unknown"),
                ..problem(format!("{error}; {UNKNOWN_KEY_HINT}"))
            }),
            Err(error) => Some(problem(error.to_string())),
            Ok(verified) => {
                let reason = |id: &KeyId| {
                    let (_, revocation) = revoked.iter().find(|(key, _)| key == id)?;
                    (!revocation.allows(address)).then(|| revocation.reason())
                };
                let vouching: Vec<&KeyId> =
                    verified.iter().filter(|id| reason(id).is_none()).collect();
                match (vouching.first(), verified.iter().find_map(reason)) {
                    (None, Some(reason)) => {
                        Some(Problem { code: Some("signer_revoked"), ..problem(reason) })
                    }
                    _ => key.filter(|key| !vouching.contains(&key)).map(|key| {
                        problem(format!("the lockfile says that it is signed with {key}"))
                    }),
                }
            }
        };
        Ok(Vouched { problem, notice })
    }
}

/// Whether a signature holds.
pub(super) struct Vouched {
    /// Why it does not.
    pub(super) problem: Option<Problem>,
    /// What could not be found out about it.
    pub(super) notice: Option<String>,
}

/// A snapshot's record; else whether it is missing or was damaged.
pub(super) fn stored(
    store: &Store,
    address: &ContentAddress,
) -> Result<Result<Stored, ProblemKind>, Error> {
    match store.stored(address) {
        Ok(Some(stored)) => Ok(Ok(stored)),
        Ok(None) => Ok(Err(ProblemKind::Missing)),
        Err(StoreError::Damaged { .. }) => Ok(Err(ProblemKind::Digest)),
        Err(error) => Err(error.into()),
    }
}
