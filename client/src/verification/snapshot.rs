//! Verification of one snapshot in the store.

use skillpkg_schema::ContentAddress;
use skillpkg_schema::manifest::verify_derived;
use skillpkg_schema::signature::{Envelope, PublicKey, ReleaseError, verify_release};
use skillpkg_store::content::{Store, StoreError, Stored};

use super::keys::{KeyRing, add_those_of, registry_of};
use super::{Problem, ProblemKind, Report, Subject, Verifier};
use crate::Error;
use crate::install::{Candidate, check_file_signer};
use crate::keys::UNKNOWN_KEY_HINT;
use crate::meter::Unit;
use crate::parallel;
use crate::registry::Registry;
use crate::revocation::of_known_registries;
use crate::state::Signers;

impl Verifier<'_> {
    /// Verifies snapshots, and repairs each where that is wanted. What asks nobody is done on every
    /// processor.
    pub(super) async fn snapshots(&self, subjects: &[Subject]) -> Result<Report, Error> {
        let ring = self.keys()?;
        self.meter.start(Unit::Skills, subjects.len() as u64);
        let looked = parallel::map(subjects, |subject| {
            let looked = self.look(&ring, subject);
            self.meter.add(1);
            looked
        })?;
        let mut report = Report::default();
        for (subject, look) in subjects.iter().zip(looked) {
            report.add(self.conclude(&ring, subject, look?).await?);
        }
        Ok(report)
    }

    /// Verifies what was looked at, as far as a registry has to be asked, and repairs it where that
    /// is wanted.
    async fn conclude(
        &self,
        ring: &KeyRing<'_>,
        subject: &Subject,
        look: Look,
    ) -> Result<Report, Error> {
        let (mut problems, mut notices) = self.judged(ring, subject, look).await?;
        let mut repaired = Vec::new();
        if self.repair && !problems.is_empty() {
            let not_fetched = self.mend(subject, &problems).await?;
            let mut left;
            (left, notices) = self.judged(ring, subject, self.look(ring, subject)?).await?;
            // A blob that was damaged is set aside when that is found, and missing from then on.
            let is_left = |path: &str| left.iter().any(|one| one.path == path);
            repaired = problems.into_iter().filter(|problem| !is_left(&problem.path)).collect();
            if let Some(error) = not_fetched {
                let is_altered = error.code == "digest_mismatch" && subject.source.is_some();
                for problem in &mut left {
                    let detail = problem.detail.take().map(|detail| format!("{detail}; "));
                    problem.detail =
                        Some(format!("{}{}", detail.unwrap_or_default(), error.message));
                    problem.code = problem.code.or(is_altered.then_some("lock_altered"));
                }
            }
            problems = left;
        }
        Ok(Report { checked: 1, problems, repaired, notices })
    }

    /// A snapshot that no lockfile of this project names; else what is wrong with its record.
    pub(super) fn unlocked(
        &self,
        address: ContentAddress,
    ) -> Result<Result<Subject, Problem>, Error> {
        Ok(match stored(&self.store, &address)? {
            Ok(Stored { manifest, .. }) => Ok(Subject {
                name: manifest.name,
                version: manifest.version,
                address,
                key: None,
                source: None,
                seen: false,
                from_file: false,
            }),
            Err(kind) => Err(Problem::new(&address, kind, "").with_detail("its manifest")),
        })
    }

    /// What is wrong with a snapshot, as far as that is found without asking anybody.
    fn look(&self, ring: &KeyRing<'_>, subject: &Subject) -> Result<Look, Error> {
        let problem = |kind, path: &str| Problem::new(&subject.name, kind, path);
        let Stored { manifest, envelope } = match stored(&self.store, &subject.address)? {
            Ok(stored) => stored,
            Err(kind) => {
                let problems = vec![problem(kind, "").with_detail("its manifest")];
                return Ok(Look { problems, envelope: None, vouched: None });
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
            match self.store.verify_tree_at(&subject.address, &manifest) {
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
        let candidates = ring.of(subject, &envelope);
        let vouched = (!self.has_to_ask(subject, &candidates))
            .then(|| judge(subject, &envelope, &candidates, &ring.signers));
        Ok(Look { problems, envelope: Some(envelope), vouched })
    }

    /// What is wrong with a snapshot, and what is worth telling or could not be found out.
    async fn judged(
        &self,
        ring: &KeyRing<'_>,
        subject: &Subject,
        look: Look,
    ) -> Result<(Vec<Problem>, Vec<String>), Error> {
        let Look { mut problems, envelope, vouched } = look;
        let vouched = match (vouched, envelope) {
            (Some(vouched), _) => vouched,
            (None, Some(envelope)) => self.vouched(ring, subject, &envelope).await?,
            (None, None) => Vouched::default(),
        };
        problems.extend(vouched.problem);
        problems.sort();
        Ok((problems, vouched.notices))
    }

    fn has_to_ask(&self, subject: &Subject, candidates: &[Candidate]) -> bool {
        (candidates.is_empty() || subject.from_file) && !self.settings.offline
    }

    /// Whether a known key vouches for the snapshot, and the one that the lockfile names does; else
    /// why not.
    ///
    /// Of what came as a file the registry is asked too whether the key was revoked since: no
    /// registry took it in before that. It is held to what an install of it is held to.
    pub(super) async fn vouched(
        &self,
        ring: &KeyRing<'_>,
        subject: &Subject,
        envelope: &Envelope,
    ) -> Result<Vouched, Error> {
        let mut candidates = ring.of(subject, envelope);
        let mut unanswered = Vec::new();
        if self.has_to_ask(subject, &candidates) {
            // Where no registry can be asked, it stays unknown, and that is told.
            let of = subject.source.as_ref();
            let registry = registry_of(self.settings, &subject.name, of).ok();
            if let Some(registry) = &registry {
                let asked = self.trust.document(registry, &subject.name).await;
                match asked.map(|(found, _)| found.map(|found| found.document)) {
                    Ok(None) => {}
                    Ok(Some(document)) => {
                        add_those_of(&document, &mut candidates);
                        let learnt = [(registry.url(), &document)];
                        self.state.learn_revocations(&ring.signers, learnt)?;
                    }
                    Err(error) if candidates.is_empty() => return Err(error),
                    Err(error) => unanswered.push(error),
                }
            }
            if subject.from_file {
                let (known, name) = ((&self.state, &ring.signers), &subject.name);
                let asked = registry.as_ref().map(Registry::url);
                let told = of_known_registries(&self.trust, known, name, asked).await?;
                for candidate in &mut candidates {
                    candidate.hear(&told.revoked);
                }
                unanswered.extend(told.unanswered);
            }
        }
        let mut vouched = judge(subject, envelope, &candidates, &ring.signers);
        // Where there is something to tell, it is that it was revoked.
        if vouched.problem.is_none() && vouched.notices.is_empty() {
            vouched.notices.extend(unanswered.into_iter().map(|error| {
                let (name, why) = (&subject.name, error.message);
                format!("whether the key that signed `{name}` was revoked is not known: {why}")
            }));
        }
        Ok(vouched)
    }
}

/// Whether a signature holds, and that its key was revoked later, where it was.
fn judge(
    subject: &Subject,
    envelope: &Envelope,
    candidates: &[Candidate],
    signers: &Signers,
) -> Vouched {
    let problem = |code, detail| {
        let problem = Problem::new(&subject.name, ProblemKind::Signature, "").with_detail(detail);
        Vouched { problem: Some(Problem { code, ..problem }), notices: Vec::new() }
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
    Vouched { problem: None, notices: told.into_iter().collect() }
}

/// What was found of a snapshot without asking anybody.
struct Look {
    /// What is wrong with its bytes.
    problems: Vec<Problem>,
    /// Its signatures, where its record is there.
    envelope: Option<Envelope>,
    /// Whether one of them holds, where no registry has to be asked.
    vouched: Option<Vouched>,
}

/// Whether a signature holds.
#[derive(Default)]
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
