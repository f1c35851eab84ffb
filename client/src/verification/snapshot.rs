//! Verification of one snapshot in the store.

use skillpkg_schema::ContentAddress;
use skillpkg_schema::manifest::verify_derived;
use skillpkg_schema::signature::{Envelope, PublicKey, ReleaseError, verify_release};
use skillpkg_store::content::{Store, StoreError, Stored};

use super::keys::{add_those_of, registry_of};
use super::{Problem, ProblemKind, Report, Subject, Verifier};
use crate::Error;
use crate::install::{Candidate, check_file_signer};
use crate::keys::UNKNOWN_KEY_HINT;
use crate::state::Signers;

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
        Ok((problems, vouched.notices))
    }

    /// Whether a known key vouches for the snapshot, and the one that the lockfile names does; else
    /// why not.
    ///
    /// Of what came as a file the registry is asked too whether the key was revoked since: no
    /// registry took it in before that. It is held to what an install of it is held to.
    pub(super) async fn vouched(
        &self,
        subject: &Subject,
        envelope: &Envelope,
    ) -> Result<Vouched, Error> {
        let ring = self.keys()?;
        let mut candidates = ring.of(subject, envelope);
        let mut unknown = None;
        if (candidates.is_empty() || subject.from_file) && !self.settings.offline {
            // Where no registry can be asked, it stays unknown, and that is told.
            let of = subject.source.as_ref();
            if let Ok(registry) = registry_of(self.settings, &subject.name, of) {
                match registry.document(&subject.name).await {
                    Ok(None) => {}
                    Ok(Some(document)) => {
                        add_those_of(&document, &mut candidates);
                        let learnt = [(registry.url(), &document)];
                        self.state.learn_revocations(&ring.signers, learnt)?;
                    }
                    Err(error) if candidates.is_empty() => return Err(error),
                    Err(error) => {
                        unknown = Some(format!(
                            "whether the key that signed `{}` was revoked is not known: {}",
                            subject.name, error.message
                        ));
                    }
                }
            }
        }
        let (problem, revoked) = judge(subject, envelope, &candidates, &ring.signers);
        // That it was revoked is known then.
        let unknown = unknown.filter(|_| problem.is_none() && revoked.is_none());
        Ok(Vouched { problem, notices: revoked.into_iter().chain(unknown).collect() })
    }
}

/// Why the signature does not hold; else that its key was revoked later, where it was.
fn judge(
    subject: &Subject,
    envelope: &Envelope,
    candidates: &[Candidate],
    signers: &Signers,
) -> (Option<Problem>, Option<String>) {
    let problem = |code, detail| {
        let problem = Problem::new(&subject.name, ProblemKind::Signature, "").with_detail(detail);
        (Some(Problem { code, ..problem }), None)
    };
    let Subject { name, version, address, key, .. } = subject;
    let known: Vec<PublicKey> = candidates.iter().map(|one| one.key).collect();
    let verified = match verify_release(envelope, name, version, address, &known) {
        Err(error @ ReleaseError::UnknownKey(_)) => {
            return problem(Some("signer_unknown"), format!("{error}; {UNKNOWN_KEY_HINT}"));
        }
        Err(error) => return problem(None, error.to_string()),
        Ok(verified) => verified,
    };
    let verified = candidates.iter().filter(|one| verified.contains(&one.key.id())).cloned();
    let is_refused = |one: &Candidate| one.revoked.as_ref().is_some_and(|one| !one.allows(address));
    let (refused, vouching): (Vec<Candidate>, Vec<Candidate>) = verified.partition(is_refused);
    if vouching.is_empty()
        && let Some(revoked) = refused.first().and_then(|one| one.revoked.as_ref())
    {
        return problem(Some("signer_revoked"), revoked.reason());
    }
    if let Some(key) = key.filter(|key| vouching.iter().all(|one| one.key.id() != *key)) {
        return problem(None, format!("the lockfile says that it is signed with {key}"));
    }
    if subject.from_file
        && let Err(error) = check_file_signer(signers, name, &vouching)
    {
        let hint = "`skillpkg install --accept-signer` takes it, once the author has told you so";
        return problem(Some("signer_changed"), format!("{}; {hint}", error.message));
    }
    // Where another key vouches too, that one of them was revoked takes nothing away.
    let all_revoked = vouching.iter().all(|one| one.revoked.is_some());
    let revoked = vouching.first().filter(|_| all_revoked).and_then(|one| one.revoked.as_ref());
    let told = revoked.map(|revoked| {
        format!(
            "`{name}@{version}`: {}; the registry lists it among what the key signed before",
            revoked.reason()
        )
    });
    (None, told)
}

/// Whether a signature holds.
pub(super) struct Vouched {
    /// Why it does not.
    pub(super) problem: Option<Problem>,
    /// What is worth telling about it, or could not be found out.
    pub(super) notices: Vec<String>,
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
