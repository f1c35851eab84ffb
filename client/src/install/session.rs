//! One command's hold on a project: its lock, its files, what is remembered of it, and the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;
use skillpkg_store::content::{Lease, Store};

use url::Url;

use super::attend::Attendant;
use super::base::{Base, staging_name};
use super::options::Options;
use super::recover;
use crate::agents::Reach;
use crate::project::{
    LOCK_FILE, Locked, PROJECT_FILE, ProjectDirectory, ProjectFiles, Source, io_error,
};
use crate::state::{ProjectLock, ProjectState, State};
use crate::{Error, Kind, Settings};

/// One command's hold on a project, in which it alone changes anything.
#[derive(Debug)]
pub(super) struct Session<'a> {
    pub(super) settings: &'a Settings,
    pub(super) options: &'a Options,
    pub(super) state: State,
    pub(super) store: Store,
    /// Keeps the store from being collected under the command.
    pub(super) lease: Arc<Lease>,
    pub(super) directory: ProjectDirectory,
    /// As they were when the session was opened.
    pub(super) files: ProjectFiles,
    /// As it was when the session was opened.
    pub(super) remembered: ProjectState,
    /// Absent where nothing is changed.
    _lock: Option<ProjectLock>,
}

impl<'a> Session<'a> {
    /// Locks the project, finishes a change that was cut short, and reads what there is.
    pub(super) fn open(
        settings: &'a Settings,
        options: &'a Options,
        attendant: &mut dyn Attendant,
    ) -> Result<Self, Error> {
        Self::start(settings, options, true, attendant)
    }

    /// As [`Session::open`], without finishing anything; without the lock where the settings only
    /// look.
    pub(super) fn open_to_look(
        settings: &'a Settings,
        options: &'a Options,
        attendant: &mut dyn Attendant,
    ) -> Result<Self, Error> {
        Self::start(settings, options, false, attendant)
    }

    fn start(
        settings: &'a Settings,
        options: &'a Options,
        finish: bool,
        attendant: &mut dyn Attendant,
    ) -> Result<Self, Error> {
        let state = State::new(&settings.home);
        let directory = open_directory(settings, options.reach)?;
        let lock = if settings.looks_only {
            None
        } else if let Some(lock) = state.try_lock_project(directory.root())? {
            Some(lock)
        } else {
            attendant.tell("waiting for another process that works on this project");
            Some(state.lock_project(directory.root(), options.patience)?)
        };
        let store = settings.store()?;
        let lease = Arc::new(store.lease()?);
        let remembered = if finish {
            let base = base_of(settings, options.reach, &directory);
            recover::finish(&state, &store, &directory, &base, attendant)?
        } else {
            state.project(directory.root())?
        };
        let files = directory.read()?;
        for warning in &files.warnings {
            attendant.warn(&warning.to_string());
        }
        Ok(Self {
            settings,
            options,
            state,
            store,
            lease,
            directory,
            files,
            remembered,
            _lock: lock,
        })
    }

    /// Refuses a project whose `skillpkg.toml` is gone, or has no `[skills]` table, while its lockfile
    /// has skills: that nobody asks for them any more is not what a lost or emptied file says.
    pub(super) fn require_project_file(&self) -> Result<(), Error> {
        let files = &self.files;
        if files.project.has_skills || files.lock.skills().next().is_none() {
            return Ok(());
        }
        let (code, what, rest) = match files.project_text {
            Some(_) => (
                "project_skills_missing",
                "it has no `[skills]` table",
                "give it a `[skills]` table, be it an empty one",
            ),
            None => (
                "project_file_missing",
                "it is not there",
                "write one with an empty `[skills]` table",
            ),
        };
        let message = format!("{what}, and `{LOCK_FILE}` beside it has skills");
        Err(Error::new(Kind::Refused, code, message).in_file(PROJECT_FILE).with_hint(format!(
            "restore it (`git checkout -- {PROJECT_FILE}`); where no skill is wanted any more, {rest}"
        )))
    }

    /// The registry that the lockfile has a skill from.
    pub(super) fn locked_registry(&self, name: &QualifiedName) -> Option<&Url> {
        match &self.files.lock.skill(name)?.source {
            Source::Registry(url) => Some(url),
            Source::File(_) => None,
        }
    }

    /// Where agents' directories lie.
    pub(super) fn base(&self) -> Base<'_> {
        base_of(self.settings, self.options.reach, &self.directory)
    }

    /// Where the project lies.
    pub(super) fn root(&self) -> &Path {
        self.directory.root()
    }
}

/// Where the project of a reach lies: the user's own, or the one of the global skills.
pub(crate) fn root_of(settings: &Settings, reach: Reach) -> PathBuf {
    match reach {
        Reach::Project => settings.project.clone(),
        Reach::Global => settings.home.join("global"),
    }
}

/// Refuses a directory that is no project, as having neither of the two files: that nothing is wrong
/// there says nothing. The skills for all projects of a user are there, be they none.
pub fn require_project(settings: &Settings, reach: Reach) -> Result<(), Error> {
    let root = root_of(settings, reach);
    // A link that leads nowhere is told by whoever follows it.
    if reach == Reach::Global
        || [PROJECT_FILE, LOCK_FILE].iter().any(|name| root.join(name).symlink_metadata().is_ok())
    {
        return Ok(());
    }
    Err(no_project(&root))
}

/// That a directory has neither of a project's files.
pub(super) fn no_project(root: &Path) -> Error {
    let root = escape(&root.to_string_lossy());
    let message = format!("there is neither `{PROJECT_FILE}` nor `{LOCK_FILE}` in `{root}`");
    Error::new(Kind::Failed, "project_file_missing", message).with_hint(
        "run it in the project's directory; `--global` is about the skills of all your projects",
    )
}

/// Opens the project of a reach; the one of the global skills is made where it is absent.
pub(super) fn open_directory(settings: &Settings, reach: Reach) -> Result<ProjectDirectory, Error> {
    let root = root_of(settings, reach);
    if reach == Reach::Global {
        std::fs::create_dir_all(&root).map_err(|error| io_error(&root, &error))?;
        return ProjectDirectory::open_own(&root);
    }
    ProjectDirectory::open(&root)
}

/// Where agents' directories lie: beneath a project, which others may have filled, or beneath the
/// user's home.
pub(super) fn base_of<'d>(
    settings: &'d Settings,
    reach: Reach,
    directory: &'d ProjectDirectory,
) -> Base<'d> {
    let (staging, edits) = (staging_name(&settings.home), settings.home.join("edits"));
    match reach {
        Reach::Project => {
            Base { path: directory.root(), confined: Some(directory.handle()), staging, edits }
        }
        Reach::Global => Base { path: &settings.user_home, confined: None, staging, edits },
    }
}

/// What the project of a reach has locked; nothing where there is no project.
pub(crate) fn locked_skills(settings: &Settings, reach: Reach) -> Result<Vec<Locked>, Error> {
    if !root_of(settings, reach).is_dir() {
        return Ok(Vec::new());
    }
    let files = open_directory(settings, reach)?.read()?;
    Ok(files.lock.skills().cloned().collect())
}
