//! Verification of what lies on this machine: snapshots, copies in agents' directories, archives.
//!
//! Everything is re-hashed by content, and signatures are checked against keys that this machine
//! has seen, or that the registry gives; those of an archive that came as a file against the keys
//! with which it could be installed.

mod archive;
mod bundle;
mod copies;
mod keys;
mod policy;
mod proof;
mod repair;
mod snapshot;

use std::path::{Path, PathBuf};

use serde::Serialize;
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::{ContentAddress, QualifiedName, Version};
use skillpkg_store::content::{Store, TreeProblemKind};

use crate::install::is_altered;
use crate::meter::Meter;
use crate::policy::{Place, Policy, Rule};
use crate::project::{Locked, ProjectDirectory, Source};
use crate::state::State;
use crate::trust::{Rules, Trust};
use crate::{Error, Kind, Settings};
use keys::KeyRing;

/// The codes of what nobody vouches for in a bundle, and an install from it is refused for too.
const REFUSALS: [&str; 8] = [
    "log_unknown",
    "log_key_changed",
    "log_missing",
    "checkpoint_stale",
    "checkpoint_future",
    "bundle_apart",
    "key_revoked_before",
    "witness_quorum",
];

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProblemKind {
    /// Its bytes are not those that were signed.
    Modified,
    /// It is not there.
    Missing,
    /// It is no part of the skill.
    Extra,
    /// It is executable and should not be, or the reverse; or it is no regular file.
    Mode,
    /// A manifest, a blob or an archive is not what its digest says, or not what the lockfile says.
    Digest,
    /// No key that is known vouches for it.
    Signature,
    /// That it is in its registry's log is not proven.
    Proof,
    /// A policy of the machine, the user or the project forbids it, or an advisory does.
    Policy,
}

impl ProblemKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Modified,
        Self::Missing,
        Self::Extra,
        Self::Mode,
        Self::Digest,
        Self::Signature,
        Self::Proof,
        Self::Policy,
    ];

    /// The stable text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Modified => "modified",
            Self::Missing => "missing",
            Self::Extra => "extra",
            Self::Mode => "mode",
            Self::Digest => "digest",
            Self::Signature => "signature",
            Self::Proof => "proof",
            Self::Policy => "policy",
        }
    }
}

impl From<TreeProblemKind> for ProblemKind {
    fn from(kind: TreeProblemKind) -> Self {
        match kind {
            TreeProblemKind::Modified => Self::Modified,
            TreeProblemKind::Missing => Self::Missing,
            TreeProblemKind::Extra => Self::Extra,
            TreeProblemKind::Mode => Self::Mode,
        }
    }
}

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// The skill's whole name, or the archive as it was named.
    pub name: String,
    /// What is wrong.
    pub kind: ProblemKind,
    /// The file, relative to the skill; empty where it is about the whole.
    pub path: String,
    /// The skill in an agent's directory, where it is about that; [`None`] for the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Which problem of its kind it is, stable and in `snake_case`, where that matters:
    /// `signer_revoked`, `signer_unknown`, `signer_changed`, `lock_altered`, that of a refusal by a
    /// policy, or of a log that nobody vouches for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// The rule of a policy that forbids it, and where that stands.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub rule: Option<BrokenRule>,
}

/// The rule of a policy that a skill does not keep.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct BrokenRule {
    /// The rule.
    pub rule: Rule,
    /// Where it stands.
    #[serde(flatten)]
    pub place: Place,
}

impl Problem {
    fn new(name: &impl ToString, kind: ProblemKind, path: impl Into<String>) -> Self {
        let (name, path) = (name.to_string(), path.into());
        Self { name, kind, path, directory: None, detail: None, code: None, rule: None }
    }

    /// That a lockfile names another snapshot of a version than was published.
    fn altered(name: &QualifiedName, locked: &ContentAddress, right: &ContentAddress) -> Self {
        let detail = format!("the lockfile says that it is {locked}; it is {right}");
        let code = Some("lock_altered");
        Self { code, ..Self::new(name, ProblemKind::Digest, "").with_detail(detail) }
    }

    fn with_detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    fn within(self, directory: &Path) -> Self {
        Self { directory: Some(directory.to_path_buf()), ..self }
    }
}

/// What a verification found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// How many snapshots and archives were checked.
    pub checked: usize,
    /// What is wrong, sorted.
    pub problems: Vec<Problem>,
    /// What was wrong and is no more.
    pub repaired: Vec<Problem>,
    /// What is worth telling, or could not be found out: sentences that are safe to print.
    pub notices: Vec<String>,
}

impl Report {
    /// The sort of failure that the problems are: of verification where the store or an archive has
    /// one, else a refusal where a policy forbids a skill or nobody vouches for a bundle's log, else
    /// drift of copies in agents' directories.
    pub fn kind(&self) -> Option<Kind> {
        let is_forbidden = |problem: &Problem| {
            let is_refused = problem.code.is_some_and(|code| REFUSALS.contains(&code));
            problem.kind == ProblemKind::Policy || is_refused
        };
        if self.problems.iter().any(|one| one.directory.is_none() && !is_forbidden(one)) {
            return Some(Kind::Verification);
        }
        if self.problems.iter().any(is_forbidden) {
            return Some(Kind::Refused);
        }
        (!self.problems.is_empty()).then_some(Kind::Drift)
    }

    /// Takes over what another verification found.
    pub fn add(&mut self, other: Self) {
        self.checked += other.checked;
        self.problems.extend(other.problems);
        self.repaired.extend(other.repaired);
        self.notices.extend(other.notices);
        self.problems.sort();
    }
}

/// What is said elsewhere of the snapshot that is verified.
#[derive(Debug, Clone)]
struct Subject {
    name: QualifiedName,
    version: Version,
    address: ContentAddress,
    /// The key that the lockfile names.
    key: Option<KeyId>,
    /// Where it comes from, where the lockfile says.
    source: Option<Source>,
    /// Whether agents see it, so that its tree must be there.
    seen: bool,
    /// Whether it is an archive that came as a file: no registry said that it was published.
    from_file: bool,
}

impl Subject {
    fn of_locked(locked: &Locked, seen: bool) -> Self {
        Self {
            name: locked.name.clone(),
            version: locked.version.clone(),
            address: locked.address,
            key: Some(locked.key),
            source: Some(locked.source.clone()),
            seen,
            from_file: matches!(locked.source, Source::File(_)),
        }
    }
}

/// Verifies what lies on this machine.
#[derive(Debug)]
pub struct Verifier<'a> {
    settings: &'a Settings,
    /// The project whose lockfile is meant.
    root: PathBuf,
    store: Store,
    state: State,
    trust: Trust<'a>,
    policy: Policy,
    repair: bool,
    meter: Meter,
}

impl<'a> Verifier<'a> {
    /// A verifier for the project at `root`, which repairs the store where it is told to. Asks no
    /// registry where the settings are offline.
    pub fn new(settings: &'a Settings, root: PathBuf, repair: bool) -> Result<Self, Error> {
        let (store, state) = (settings.store()?, State::new(&settings.home));
        let policy = Policy::of_project(settings, &root)?;
        let trust = Trust::new(settings, Rules::of(&policy));
        let meter = Meter::default();
        Ok(Self { settings, root, store, state, trust, policy, repair, meter })
    }

    /// The same, which counts the snapshots that it has hashed.
    #[must_use]
    pub fn metered(self, meter: &Meter) -> Self {
        Self { meter: meter.clone(), ..self }
    }

    /// Verifies the project's skills: those with one of `names`, or all where there are none.
    ///
    /// A name that the project does not have is an error.
    pub async fn project(&self, names: &[QualifiedName]) -> Result<Report, Error> {
        let state = self.state.project(&self.root)?;
        let locked = self.locked()?;
        for name in names {
            if !locked.iter().any(|one| one.name == *name) {
                return Err(not_installed(name, &locked));
            }
        }
        let wanted = |name: &QualifiedName| names.is_empty() || names.contains(name);
        let subject = |locked: &Locked| {
            let seen = state.active(&locked.name).is_some()
                || state.placed_of(&locked.name).next().is_some();
            Subject::of_locked(locked, seen)
        };
        let chosen = || locked.iter().filter(|locked| wanted(&locked.name));
        // What a lockfile names that was changed is nowhere to be had.
        let (altered, others): (Vec<&Locked>, Vec<&Locked>) = chosen().partition(|locked| {
            state.active(&locked.name).is_some_and(|active| is_altered(active, locked))
        });
        let subjects: Vec<Subject> = others.into_iter().map(subject).collect();
        let mut report = self.snapshots(&subjects).await?;
        let problems = altered.iter().filter_map(|locked| {
            let verified = state.active(&locked.name)?.address;
            Some(Problem::altered(&locked.name, &locked.address, &verified))
        });
        let (problems, checked) = (problems.collect(), altered.len());
        report.add(Report { checked, problems, ..Report::default() });
        let kept: Vec<&Locked> = chosen().filter(|locked| !altered.contains(locked)).collect();
        report.add(self.proofs(&kept).await?);
        let problems = self.forbidden(chosen())?;
        report.add(Report { problems, ..Report::default() });
        for placed in state.placed.iter().filter(|placed| wanted(&placed.name)) {
            let problems = self.copy(placed)?;
            report.add(Report { problems, ..Report::default() });
        }
        Ok(report)
    }

    /// Verifies every snapshot in the store; policies are asked of the project's alone, and that is
    /// told.
    pub async fn everything(&self) -> Result<Report, Error> {
        let mut report = self.project(&[]).await?;
        let locked = self.locked()?;
        let mut subjects = Vec::new();
        for address in self.store.snapshots()? {
            if locked.iter().any(|one| one.address == address) {
                continue;
            }
            match self.unlocked(address)? {
                Ok(subject) => subjects.push(subject),
                Err(problem) => {
                    let problems = vec![problem];
                    report.add(Report { checked: 1, problems, ..Report::default() });
                }
            }
        }
        report.add(self.snapshots(&subjects).await?);
        if !subjects.is_empty() && !self.policy.is_empty() {
            let told = "snapshots that are not of this project were held against no policy: \
                        `skillpkg audit` in each project holds its own";
            report.notices.push(told.to_owned());
        }
        Ok(report)
    }

    fn locked(&self) -> Result<Vec<Locked>, Error> {
        if !self.root.is_dir() {
            return Ok(Vec::new());
        }
        let files = ProjectDirectory::open(&self.root)?.read()?;
        Ok(files.lock.skills().cloned().collect())
    }

    /// The keys that may vouch for a snapshot.
    fn keys(&self) -> Result<KeyRing<'_>, Error> {
        KeyRing::read(self.settings, &self.state)
    }
}

fn not_installed(name: &QualifiedName, locked: &[Locked]) -> Error {
    let message = format!("`{name}` is not installed in this project");
    let error = Error::new(Kind::Failed, "skill_not_found", message);
    let names: Vec<String> = locked.iter().map(|one| one.name.to_string()).collect();
    match skillpkg_schema::diagnostic::nearest(&name.to_string(), names.iter().map(String::as_str))
    {
        Some(near) => error.with_hint(format!("did you mean `{near}`?")),
        None => error.with_hint("`skillpkg list` tells the installed skills"),
    }
}
