//! What `inspect`, `compile` and `resolve` are about: a directory, an archive or an installed skill.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skillpkg::host::check_locked;
use skillpkg::policy::{Policy, check_content};
use skillpkg::project::{ProjectDirectory, io_hint};
use skillpkg::state::{Active, State};
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::{escape, nearest};
use skillpkg_schema::limits::MAX_SKILL_FILE_BYTES;
use skillpkg_schema::skill::{Rules, Skill, SkillFile, parse_unnamed};
use skillpkg_schema::tree::DirectoryTree;
use skillpkg_schema::{ContentAddress, Manifest, QualifiedName};
use skillpkg_store::content::{Store, StoreError};

use crate::context::Context;

/// The name of a skill's file.
const SKILL_FILE: &str = "SKILL.md";

/// What a command is about.
#[derive(Debug)]
pub(crate) enum Subject {
    /// A skill's directory.
    Directory(PathBuf),
    /// A packed archive.
    Archive(PathBuf),
    /// A snapshot in the store.
    Installed(Box<Snapshot>),
}

/// A snapshot of the store, its manifest re-hashed just now.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// The manifest.
    pub(crate) manifest: Manifest,
    /// The bytes of its `SKILL.md`, re-hashed just now.
    pub(crate) skill_file: Vec<u8>,
}

impl Subject {
    /// What `what` means: an installed skill where it is the name of one, else a directory or a file
    /// that is there; the working directory where it is absent.
    pub(crate) fn find(context: &Context, what: Option<&str>) -> Result<Self, Error> {
        let Some(what) = what else { return Ok(Self::Directory(PathBuf::from("."))) };
        let path = Path::new(what);
        let installed = installed(context);
        if let Some(address) = installed.as_ref().ok().and_then(|all| all.get(what)) {
            hold_to_lock(context, what)?;
            tell_of_directory(context, what);
            return snapshot(context, address).map(Box::new).map(Self::Installed);
        }
        if path.join(SKILL_FILE).exists() {
            return Ok(Self::Directory(path.to_path_buf()));
        }
        if directory_of(path) != path {
            return Ok(Self::Directory(directory_of(path).to_path_buf()));
        }
        if path.is_file() {
            return Ok(Self::Archive(path.to_path_buf()));
        }
        let installed = installed?;
        if path.is_dir() {
            return Ok(Self::Directory(path.to_path_buf()));
        }
        let message = format!("`{}` is neither a directory nor an installed skill", escape(what));
        let names = installed.keys().map(String::as_str);
        let hint = match nearest(what, names) {
            Some(name) => format!("did you mean `{name}`?"),
            None => "`skillpkg list` tells the installed skills".to_owned(),
        };
        Err(Error::new(Kind::Failed, "not_found", message).with_hint(hint))
    }

    /// The parsed `SKILL.md`, and of a directory the checked whole, with the names of its scripts.
    ///
    /// An archive is refused: only what lies in a directory or was verified into the store is
    /// compiled; and so is an installed skill that a policy forbids, since this is read to a model.
    pub(crate) fn skill_file(self, context: &Context) -> Result<(SkillFile, Vec<String>), Error> {
        match self {
            Self::Directory(directory) => {
                let skill = read_directory(&directory)?;
                let scripts = skill.capabilities.scripts.into_iter();
                Ok((skill.file, scripts.map(|script| script.name).collect()))
            }
            Self::Installed(snapshot) => {
                if let Some(file) = snapshot.manifest.file(SKILL_FILE) {
                    let settings = &context.settings;
                    let policy = Policy::of_project(settings, &settings.project)?;
                    let (store, address) = (Store::open(&settings.home)?, file.sha256.address());
                    check_content(&policy, settings, &settings.project, &store, &address)?;
                }
                let scripts = snapshot.manifest.scripts.iter();
                let scripts = scripts.map(|script| script.name.clone()).collect();
                Ok((parse_unnamed(&snapshot.skill_file, SKILL_FILE)?, scripts))
            }
            Self::Archive(path) => {
                let shown = escape(&path.to_string_lossy());
                let message = format!("`{shown}` is a file; expected a directory or a name");
                Err(Error::new(Kind::Usage, "not_a_skill", message).with_hint(
                    "`skillpkg inspect` reads archives, `skillpkg install` unpacks them",
                ))
            }
        }
    }
}

/// Reads the skill in a directory.
pub(crate) fn read_directory(directory: &Path) -> Result<Skill, Error> {
    Ok(Skill::read(&open_directory(directory)?, Rules::Strict)?)
}

/// The skill's directory, where its `SKILL.md` itself is named.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match (path.file_name(), path.parent()) {
        (Some(name), Some(parent)) if name == SKILL_FILE && path.is_file() => {
            if parent.as_os_str().is_empty() { Path::new(".") } else { parent }
        }
        _ => path,
    }
}

/// Opens a skill's directory.
pub(crate) fn open_directory(directory: &Path) -> Result<DirectoryTree, Error> {
    DirectoryTree::open(directory).map_err(|error| {
        let message = format!("the directory cannot be read: {error}");
        let failed = Error::new(Kind::Failed, "file_unreadable", message);
        Error { hint: io_hint(&error), ..failed }.in_file(directory.to_string_lossy())
    })
}

/// The snapshots of installed skills, by every name that they go by: those of the project, and of
/// the user where the project has none of that name.
pub(crate) fn installed(context: &Context) -> Result<BTreeMap<String, ContentAddress>, Error> {
    let home = &context.settings.home;
    let mut installed = BTreeMap::new();
    for root in [context.settings.project.clone(), home.join("global")] {
        if !root.is_dir() {
            continue;
        }
        let directory = ProjectDirectory::open(&root)?;
        for locked in directory.read()?.lock.skills() {
            installed.entry(locked.name.to_string()).or_insert(locked.address);
        }
        for active in State::new(home).project(directory.root())?.active {
            installed.entry(active.name.to_string()).or_insert(active.address);
            installed.entry(active.placed_as.to_string()).or_insert(active.address);
        }
    }
    Ok(installed)
}

/// Refuses an active skill of which the lockfile says something else than was verified.
fn hold_to_lock(context: &Context, what: &str) -> Result<(), Error> {
    let home = &context.settings.home;
    for root in [context.settings.project.clone(), home.join("global")] {
        if !root.is_dir() {
            continue;
        }
        let directory = ProjectDirectory::open(&root)?;
        let lock = directory.read()?.lock;
        let state = State::new(home).project(directory.root())?;
        let named = |one: &&Active| one.name.to_string() == what || one.placed_as.as_str() == what;
        if let Some(active) = state.active.iter().find(named) {
            return match lock.skill(&active.name) {
                Some(locked) if locked.address == active.address => {
                    check_locked(active, &lock).map(|_| ())
                }
                _ => Ok(()),
            };
        }
    }
    Ok(())
}

/// Tells that what was taken is the installed skill, where a directory is called the same.
pub(crate) fn tell_of_directory(context: &Context, what: &str) {
    if Path::new(what).join(SKILL_FILE).exists() {
        let what = escape(what);
        context.output.talk(&format!(
            "`{what}` is the skill that is installed; the directory is `./{what}`."
        ));
    }
}

/// The whole name of the skill that is installed in one of `roots` under `text`: its name, else the
/// directory name that agents see; the first root's before the others'.
pub(crate) fn whole_name(roots: &[&Path], text: &str) -> Result<Option<QualifiedName>, Error> {
    for root in roots.iter().filter(|root| root.is_dir()) {
        let files = ProjectDirectory::open(root)?.read()?;
        let mut locked = files.lock.skills().map(|locked| &locked.name);
        if let Some(name) = locked.find(|name| name.to_string() == text) {
            return Ok(Some(name.clone()));
        }
        let mut skills = files.project.skills.iter();
        if let Some(wanted) = skills.find(|wanted| wanted.directory_name().as_str() == text) {
            return Ok(Some(wanted.name.clone()));
        }
    }
    Ok(None)
}

fn snapshot(context: &Context, address: &ContentAddress) -> Result<Snapshot, Error> {
    let store = Store::open(&context.settings.home)?;
    let manifest = store.stored(address)?.ok_or(StoreError::Absent(*address))?.manifest;
    let entry = manifest.file(SKILL_FILE).ok_or(StoreError::Absent(*address))?;
    let skill_file = store.read_blob(&entry.sha256.address(), MAX_SKILL_FILE_BYTES)?;
    Ok(Snapshot { manifest, skill_file })
}
