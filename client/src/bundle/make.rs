//! Makes a bundle: gathers, verifies, writes; the whole file or none.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use skillpkg_schema::bundle::{
    BundleIndex, BundledFile, BundledRegistry, BundledSkill, BundledVersion, archive_path,
    document_path,
};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::log::Hash;
use skillpkg_schema::wire::{MAX_INDEX_NAMES, Proven, VersionEntry};
use skillpkg_schema::{ContentAddress, QualifiedName, Reference, Requirement};
use skillpkg_store::bundle::{BundleError, BundleWriter};
use tempfile::NamedTempFile;
use url::Url;

use super::carried::Carried;
use super::contents::Contents;
use super::since;
use super::verify::{self, archive};
use crate::install::{Attendant, Progress, locked_entry, pick_passing};
use crate::parallel::ended_early;
use crate::policy::Policy;
use crate::project::{LOCK_FILE, LockFile, Locked, ProjectDirectory, Source};
use crate::registry::Registry;
use crate::settings::{RegistryChoice, registry_text};
use crate::trust::{Carriage, Claim, Places, Rules, Standing, Taken, Trust, check_keys};
use crate::{Error, Kind, Settings};

/// What a bundle is asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Skills, `[scope/]name[@requirement]`; all that the project's lockfile has where empty.
    pub references: Vec<String>,
    /// An earlier bundle, or a checkpoint, of the machines that it is for.
    pub since: Option<PathBuf>,
    /// Where it is written.
    pub target: PathBuf,
    /// Whether a file that is there is replaced.
    pub replace: bool,
}

/// A bundle that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// What it holds.
    pub contents: Contents,
    /// SHA-256 of its bytes.
    pub sha256: Hash,
    /// Its length in bytes.
    pub size: u64,
}

/// One skill that is asked for, and how its version is found.
#[derive(Debug, Clone)]
enum Wanted {
    Locked(Box<Locked>),
    Named(Reference),
}

impl Wanted {
    fn name(&self) -> &QualifiedName {
        match self {
            Self::Locked(locked) => &locked.name,
            Self::Named(reference) => &reference.name,
        }
    }
}

/// A version that goes into the bundle.
struct Chosen {
    entry: VersionEntry,
    origin: String,
    proof: Proven,
}

/// Everything of one registry but its archives.
struct Gathered {
    registry: Registry,
    carriage: Carriage,
    chosen: BTreeMap<QualifiedName, Vec<Chosen>>,
}

/// Writes a bundle of what is asked for: archives as their registries serve them, documents,
/// records with their proofs, and the newest checkpoint of each log.
///
/// Everything is verified before the file is at its place, and once more as its reader will. Readable
/// by its owner alone: of a private skill it tells all. Whoever is killed leaves no file, or the
/// whole one; it is synced before it is renamed into place.
pub async fn make(
    settings: &Settings,
    request: &Request,
    attendant: &mut dyn Attendant,
) -> Result<Made, Error> {
    check_target(request)?;
    let since = request.since.as_deref().map(since::sizes).transpose()?.unwrap_or_default();
    let wanted = wanted(settings, request, attendant)?;
    let policy = Policy::of_project(settings, &settings.project)?;
    let mut all = Vec::new();
    for (choice, wanted) in by_registry(settings, wanted)? {
        let registry = Registry::chosen(settings, &choice)?;
        all.push(gather(settings, &policy, &registry, &wanted, &since, attendant).await?);
    }
    let index = index_of(&all)?;
    let written = write(settings, &all, &index, &request.target, attendant).await?;
    let made = check_written(settings, &written).await?;
    persist(written, request)?;
    Ok(made)
}

/// Refuses a target that could not be written in the end, before anything is asked for.
fn check_target(request: &Request) -> Result<(), Error> {
    let target = &request.target;
    let refused = |message: &str, hint: String| {
        Error::new(Kind::Failed, "not_written", message)
            .in_file(target.to_string_lossy())
            .with_hint(hint)
    };
    if target.is_dir() {
        let file = target.join("skills.bundle");
        let hint = format!("`--output {}`", escape(&file.to_string_lossy()));
        return Err(refused("it is a directory, and a bundle is a file", hint));
    }
    if !request.replace && target.symlink_metadata().is_ok() {
        return Err(refused("it is there already", there_already()));
    }
    Ok(())
}

fn there_already() -> String {
    "`--force` replaces it, `--output FILE` writes another".to_owned()
}

/// What is asked for: by name what is locked where no requirement says otherwise.
fn wanted(
    settings: &Settings,
    request: &Request,
    attendant: &mut dyn Attendant,
) -> Result<Vec<Wanted>, Error> {
    let lock = if settings.project.is_dir() {
        ProjectDirectory::open(&settings.project)?.read()?.lock
    } else {
        LockFile::default()
    };
    if !request.references.is_empty() {
        return request.references.iter().map(|text| named(&lock, text)).collect();
    }
    let mut wanted = Vec::new();
    for locked in lock.skills() {
        match &locked.source {
            Source::Registry(_) => wanted.push(Wanted::Locked(Box::new(locked.clone()))),
            Source::File(file) => attendant.warn(&format!(
                "`{}` comes from `{}` and from no registry: it is left out, and travels with the \
                 project",
                locked.name,
                escape(file)
            )),
        }
    }
    if wanted.is_empty() {
        let message = "nothing is locked here, and no skill is named";
        return Err(Error::new(Kind::Usage, "nothing_to_bundle", message)
            .in_file(LOCK_FILE)
            .with_hint("`skillpkg bundle NAME@VERSION` takes what is named"));
    }
    Ok(wanted)
}

fn named(lock: &LockFile, text: &str) -> Result<Wanted, Error> {
    let reference: Reference =
        text.parse().map_err(|error: skillpkg_schema::reference::ReferenceError| {
            Error::new(Kind::Usage, "reference_invalid", error.to_string())
        })?;
    let locked = lock.skill(&reference.name).filter(|_| reference.requirement.is_none());
    let locked = locked.filter(|locked| locked.source.registry().is_some());
    Ok(locked.map_or(Wanted::Named(reference), |locked| Wanted::Locked(Box::new(locked.clone()))))
}

/// What is asked of each registry, in the order of their URLs.
fn by_registry(
    settings: &Settings,
    wanted: Vec<Wanted>,
) -> Result<Vec<(RegistryChoice, Vec<Wanted>)>, Error> {
    let mut sorted: BTreeMap<String, (RegistryChoice, Vec<Wanted>)> = BTreeMap::new();
    for one in wanted {
        let choice = match (settings.registry_for(one.name()), &one) {
            (Err(error), Wanted::Locked(locked)) if error.code == "no_registry" => {
                let url = locked.source.registry().ok_or(error)?;
                settings.registry_at(url)
            }
            (Ok(choice), Wanted::Locked(locked)) => {
                let url = locked.source.registry();
                if let Some(url) =
                    url.filter(|url| registry_text(url) != registry_text(&choice.url))
                {
                    let message = format!(
                        "the lockfile has `{}` from `{}`; here it comes from `{}`",
                        locked.name,
                        registry_text(url),
                        registry_text(&choice.url)
                    );
                    return Err(Error::new(Kind::Refused, "registry_changed", message).with_hint(
                        format!("`--registry {}` uses the one of the lockfile", registry_text(url)),
                    ));
                }
                choice
            }
            (choice, Wanted::Named(_)) => choice?,
            (Err(error), _) => return Err(error),
        };
        let key = registry_text(&choice.url).to_owned();
        sorted.entry(key).or_insert_with(|| (choice, Vec::new())).1.push(one);
    }
    Ok(sorted.into_values().collect())
}

/// Asks one registry for everything but the archives.
async fn gather(
    settings: &Settings,
    policy: &Policy,
    registry: &Registry,
    wanted: &[Wanted],
    since: &BTreeMap<String, BTreeSet<u64>>,
    attendant: &mut dyn Attendant,
) -> Result<Gathered, Error> {
    let names: BTreeSet<String> = wanted.iter().map(|one| one.name().to_string()).collect();
    if names.len() > MAX_INDEX_NAMES {
        let message = format!(
            "{} skills of `{}` are asked for; a bundle holds at most {MAX_INDEX_NAMES} of one \
             registry",
            names.len(),
            registry_text(registry.url())
        );
        return Err(Error::new(Kind::Failed, "bundle_too_large", message)
            .with_hint("make several, naming the skills of each"));
    }
    let mut names: Vec<QualifiedName> = wanted.iter().map(|one| one.name().clone()).collect();
    names.sort_by_cached_key(ToString::to_string);
    names.dedup();
    let trust = Trust::new(settings, Rules::of(policy));
    let carriage = trust.carriage(registry, &names, since).await?;
    for notice in &carriage.notices {
        notice.to(attendant);
    }
    let mut picked: BTreeMap<QualifiedName, Vec<VersionEntry>> = BTreeMap::new();
    let mut claims = Vec::new();
    for one in wanted {
        let taken =
            carriage.documents.iter().find(|taken| taken.found.document.name == *one.name());
        let taken = taken.ok_or_else(ended_early)?;
        let entry = pick(taken, one, attendant)?;
        let versions = picked.entry(one.name().clone()).or_default();
        if !versions.iter().any(|known| known.version == entry.version) {
            let view = taken.found.view.clone().ok_or_else(ended_early)?;
            claims.push((view, Claim::of(&taken.found.document, &entry)));
            versions.push(entry);
        }
    }
    let proofs = trust.proofs(&carriage.place, &claims).await?;
    let mut chosen: BTreeMap<QualifiedName, Vec<Chosen>> = BTreeMap::new();
    for ((view, claim), proof) in claims.into_iter().zip(proofs) {
        let entry = picked.get(&claim.name).into_iter().flatten();
        let entry = entry.clone().find(|entry| entry.version == claim.version);
        let entry = entry.ok_or_else(ended_early)?.clone();
        let origin = view.origin().to_owned();
        chosen.entry(claim.name).or_default().push(Chosen { entry, origin, proof });
    }
    for versions in chosen.values_mut() {
        versions.sort_by(|one, other| one.entry.version.semver().cmp(other.entry.version.semver()));
    }
    Ok(Gathered { registry: registry.clone(), carriage, chosen })
}

/// The version that goes into the bundle. What is said against it is told: the other side is told it
/// too, by the document, and refuses there what an advisory forbids.
fn pick(
    taken: &Taken,
    wanted: &Wanted,
    attendant: &mut dyn Attendant,
) -> Result<VersionEntry, Error> {
    let document = &taken.found.document;
    let entry = match wanted {
        Wanted::Locked(locked) => locked_entry(document, locked)?,
        Wanted::Named(reference) => {
            let requirement = reference.requirement.clone().unwrap_or(Requirement::Latest);
            pick_passing(document, &requirement, |_| false)?.entry
        }
    };
    check_keys(document, entry)?;
    for told in Standing::in_document(document, &entry.version).told(&document.name, &entry.version)
    {
        attendant.warn(&told);
    }
    Ok(entry.clone())
}

/// The index of what was gathered.
fn index_of(all: &[Gathered]) -> Result<BundleIndex, Error> {
    let mut files: BTreeMap<String, (Hash, u64)> = BTreeMap::new();
    let mut registries = Vec::with_capacity(all.len());
    for Gathered { registry, carriage, chosen } in all {
        let mut skills = Vec::with_capacity(chosen.len());
        for taken in &carriage.documents {
            let name = &taken.found.document.name;
            let path = document_path(&taken.digest);
            files.insert(path, (taken.digest, taken.bytes.len() as u64));
            let mut versions = Vec::new();
            for Chosen { entry, origin, proof } in chosen.get(name).into_iter().flatten() {
                let (path, sha256) = archive_file(&entry.archive)?;
                files.insert(path, (sha256, entry.size));
                versions.push(BundledVersion {
                    version: entry.version.clone(),
                    archive: entry.archive,
                    origin: origin.clone(),
                    proof: proof.clone(),
                });
            }
            skills.push(BundledSkill { name: name.clone(), document: taken.digest, versions });
        }
        skills.sort_by_cached_key(|skill| skill.name.to_string());
        for (path, bytes) in &carriage.tiles {
            let file = (Hash::of(bytes), bytes.len() as u64);
            if files.insert(path.clone(), file).is_some_and(|other| other != file) {
                let message = "two registries show two histories of one log";
                return Err(Error::new(Kind::Verification, "checkpoint_fork", message)
                    .with_hint("`skillpkg log compare` tells which"));
            }
        }
        let url = registry_text(registry.url()).to_owned();
        registries.push(BundledRegistry { url, logs: carriage.logs.clone(), skills });
    }
    let files = files.into_iter().map(|(path, (sha256, size))| BundledFile { path, sha256, size });
    Ok(BundleIndex::new(registries, files.collect()))
}

fn archive_file(archive: &ContentAddress) -> Result<(String, Hash), Error> {
    let sha256 = archive.hex().parse().ok();
    archive_path(archive).zip(sha256).ok_or_else(|| {
        let message = format!("the archive {archive} is not named by its SHA-256");
        Error::new(Kind::Verification, "digest_mismatch", message)
    })
}

/// Writes everything to a file beside its place, one archive after the other.
async fn write(
    settings: &Settings,
    all: &[Gathered],
    index: &BundleIndex,
    target: &Path,
    attendant: &mut dyn Attendant,
) -> Result<NamedTempFile, Error> {
    let mut small: BTreeMap<String, &Bytes> = BTreeMap::new();
    let mut archives: BTreeMap<String, (&Gathered, &Taken, &VersionEntry)> = BTreeMap::new();
    for gathered in all {
        small.extend(gathered.carriage.tiles.iter().map(|(path, bytes)| (path.clone(), bytes)));
        for taken in &gathered.carriage.documents {
            small.insert(document_path(&taken.digest), &taken.bytes);
            let name = &taken.found.document.name;
            for Chosen { entry, .. } in gathered.chosen.get(name).into_iter().flatten() {
                let (path, _) = archive_file(&entry.archive)?;
                archives.insert(path, (gathered, taken, entry));
            }
        }
    }
    let refused = |error: BundleError| not_written(target, &error);
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    // Of its owner alone: 0600 from the start.
    let file = tempfile::Builder::new().prefix(".skillpkg-").tempfile_in(directory);
    let mut file = file.map_err(|error| unwritable(target, &error))?;
    let buffered = io::BufWriter::with_capacity(256 * 1024, file.as_file_mut());
    let mut writer = BundleWriter::new(buffered, index).map_err(refused)?;
    let total = archives.len();
    attendant.progress(Progress { done: 0, total });
    let mut done = 0;
    for entry in &index.files {
        let path = entry.path.as_str();
        if let Some((gathered, taken, version)) = archives.get(path) {
            let bytes = archive_of(settings, gathered, taken, version, attendant).await?;
            writer.add(path, &bytes).map_err(refused)?;
            done += 1;
            attendant.progress(Progress { done, total });
        } else {
            let bytes = small.get(path).ok_or_else(ended_early)?;
            writer.add(path, bytes).map_err(refused)?;
        }
    }
    writer.finish().map_err(refused)?.flush().map_err(|error| unwritable(target, &error))?;
    Ok(file)
}

/// An archive as its registry serves it, read to its end, with a signature that holds.
async fn archive_of(
    settings: &Settings,
    gathered: &Gathered,
    taken: &Taken,
    entry: &VersionEntry,
    attendant: &mut dyn Attendant,
) -> Result<Bytes, Error> {
    let mut notices = Vec::new();
    let places = Places::of(settings, &gathered.registry)?;
    let bytes = places.archive(&entry.archive, entry.size, &mut notices).await?;
    for notice in notices {
        notice.to(attendant);
    }
    let (document, url): (_, Url) = (taken.found.document.clone(), gathered.registry.url().clone());
    let (entry, read) = (entry.clone(), bytes.clone());
    tokio::task::spawn_blocking(move || archive(&read, &url, &document, &entry))
        .await
        .map_err(|_| ended_early())??;
    Ok(bytes)
}

/// Reads what was written as whoever gets it will, with the logs as they are known here.
async fn check_written(settings: &Settings, written: &NamedTempFile) -> Result<Made, Error> {
    let carried: Arc<Carried> = Carried::open(written.path())?;
    let verified = verify::verify_trusting(settings, &carried, false).await?;
    if let Some(fault) = verified.faults.into_iter().next() {
        return Err(fault.error);
    }
    let contents = Contents::of(&carried)?;
    let (sha256, size) = digest(written).map_err(|error| unwritable(written.path(), &error))?;
    Ok(Made { contents, sha256, size })
}

fn digest(written: &NamedTempFile) -> io::Result<(Hash, u64)> {
    let mut hasher = skillpkg_schema::address::Hasher::new();
    let mut file = written.reopen()?;
    let mut piece = vec![0; 64 * 1024];
    loop {
        match io::Read::read(&mut file, &mut piece) {
            Ok(0) => break,
            Ok(read) => hasher.update(piece.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let digests = hasher.finish();
    Ok((Hash::from_bytes(*digests.sha256.as_bytes()), digests.size))
}

fn persist(written: NamedTempFile, request: &Request) -> Result<(), Error> {
    let target = &request.target;
    written.as_file().sync_all().map_err(|error| unwritable(target, &error))?;
    let persisted =
        if request.replace { written.persist(target) } else { written.persist_noclobber(target) };
    persisted.map(|_| ()).map_err(|error| {
        let error = unwritable(target, &error.error);
        if request.replace { error } else { error.with_hint(there_already()) }
    })
}

fn unwritable(target: &Path, error: &io::Error) -> Error {
    let message = match error.kind() {
        io::ErrorKind::NotFound => "there is no such directory".to_owned(),
        io::ErrorKind::AlreadyExists => "it is there already".to_owned(),
        // The error comes with the temporary name, which means nothing to anybody.
        kind => format!("it cannot be written: {kind}"),
    };
    Error::new(Kind::Failed, "not_written", message).in_file(target.to_string_lossy())
}

fn not_written(target: &Path, error: &BundleError) -> Error {
    match error {
        BundleError::Io(error) => unwritable(target, error),
        error => Error::new(Kind::Failed, error.code(), format!("no bundle is made: {error}"))
            .in_file(target.to_string_lossy())
            .with_hint("where it gets too large, make several, naming the skills of each"),
    }
}
