//! Directories of skills that other tools placed, looked for and read.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use skillpkg_schema::diagnostic::escape;

use super::entry::{Entry, Place, Tool};
use super::files::ToolFile;
use super::tree::FoundTree;
use crate::agents::{Agents, Reach};
use crate::real_path;
use crate::state::Foreign;

/// Most directories that are looked at.
const MOST_SPOTS: usize = 1_000;
/// Most entries of one directory of skills that are looked at.
const MOST_IN_ONE: usize = 10_000;

/// What stands at a place.
#[derive(Debug, Clone)]
pub(super) enum Standing {
    /// A directory, read.
    Tree(Box<FoundTree>),
    /// A link, what it says, and where it leads.
    Link(PathBuf, Option<PathBuf>),
    /// A directory that is not read, and why; safe to print.
    Unread(String),
}

/// A skill as another tool placed it.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    /// Where, absolute.
    pub(super) path: PathBuf,
    /// Where, relative to the project or the user's home.
    pub(super) shown: String,
    pub(super) standing: Standing,
    /// The entries that are about it: a file and one of its entries.
    pub(super) entries: Vec<(usize, usize)>,
}

impl Spot {
    /// What its directory is called.
    pub(super) fn name(&self) -> &str {
        self.path.file_name().and_then(OsStr::to_str).unwrap_or_default()
    }

    /// What goes, and only while it is exactly that; [`None`] of what is not read.
    pub(super) fn foreign(&self) -> Option<Foreign> {
        match &self.standing {
            Standing::Tree(tree) => Some(Foreign::Tree(tree.fingerprint())),
            Standing::Link(said, _) => Some(Foreign::Link(said.clone())),
            Standing::Unread(_) => None,
        }
    }
}

/// What was looked for, and is worth telling.
#[derive(Debug, Default)]
pub(super) struct Spots {
    pub(super) found: Vec<Spot>,
    /// Entries of which what lies there is ours already.
    pub(super) ours: BTreeSet<(usize, usize)>,
    /// What the directories are called that are ours already.
    pub(super) our_names: BTreeSet<String>,
    /// Safe to print.
    pub(super) notices: Vec<String>,
}

/// Looks through the directories of agents beneath `base`, and where entries say that skills lie.
///
/// A directory such as `skills`, which may be where somebody writes skills, is looked at only where
/// an entry of `clawhub` names what lies in it. `is_ours` says of what we placed.
pub(super) fn look(
    agents: &Agents,
    (reach, base): (Reach, &Path),
    files: &[ToolFile],
    is_ours: &dyn Fn(&Path) -> bool,
) -> Spots {
    let mut all = Spots::default();
    let mut places: BTreeMap<PathBuf, Vec<(usize, usize)>> = BTreeMap::new();
    let mut seen = HashSet::new();
    for directory in directories(agents, reach) {
        let path = real_path::native(base.join(&directory));
        let Ok(real) = real_path::of(&path) else { continue };
        if reach == Reach::Project && !real.starts_with(base) {
            all.notices.push(format!(
                "`{}` is a link that leads out of the project and is left alone",
                escape(&directory.to_string_lossy())
            ));
            continue;
        }
        if !seen.insert(real) {
            continue;
        }
        let Ok(entries) = path.read_dir() else { continue };
        for entry in entries.take(MOST_IN_ONE).flatten() {
            if !is_hidden(&entry.file_name()) {
                places.insert(entry.path(), Vec::new());
            }
        }
    }
    for (file, tool_file) in files.iter().enumerate() {
        for (position, entry) in tool_file.entries.iter().enumerate() {
            for path in said(entry, tool_file.tool, base, &places) {
                places.entry(path).or_default().push((file, position));
            }
        }
    }
    for (path, entries) in places {
        if is_ours(&path) {
            all.ours.extend(entries);
            all.our_names.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
            continue;
        }
        if all.found.len() >= MOST_SPOTS {
            all.notices
                .push(format!("more than {MOST_SPOTS} directories: the rest is not looked at"));
            break;
        }
        if let Some(standing) = stands(&path) {
            let shown = path.strip_prefix(base).unwrap_or(&path).to_string_lossy().into_owned();
            all.found.push(Spot { path, shown, standing, entries });
        }
    }
    all
}

/// The directories of agents that tools write skills to, sorted.
pub(super) fn directories(agents: &Agents, reach: Reach) -> Vec<PathBuf> {
    let all = agents.all().filter_map(|agent| agent.directory(reach));
    let mut directories: Vec<PathBuf> = all.filter(|one| is_of_tools(one)).collect();
    directories.sort();
    directories.dedup();
    directories
}

/// Where an entry says that its skill lies.
fn said(
    entry: &Entry,
    tool: Tool,
    base: &Path,
    places: &BTreeMap<PathBuf, Vec<(usize, usize)>>,
) -> Vec<PathBuf> {
    match &entry.place {
        Place::Named(name) => places
            .keys()
            .filter(|path| path.file_name() == Some(OsStr::new(name.as_str())))
            .cloned()
            .collect(),
        Place::At(paths) => paths
            .iter()
            .filter(|path| tool == Tool::ClawHub || path.as_str().starts_with('.'))
            .map(|path| real_path::native(base.join(path.as_str())))
            // No way to it leads out of the project.
            .filter(|path| {
                path.parent()
                    .and_then(|above| real_path::of(above).ok())
                    .is_some_and(|above| above.starts_with(base))
            })
            .collect(),
    }
}

/// Whether a directory of skills is one that tools write: beneath one whose name starts with a dot,
/// or of a user.
fn is_of_tools(directory: &Path) -> bool {
    directory.is_absolute()
        || matches!(directory.components().next(), Some(Component::Normal(first)) if is_hidden(first))
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// What stands at a path; [`None`] where that is no skill.
fn stands(path: &Path) -> Option<Standing> {
    let metadata = path.symlink_metadata().ok()?;
    if metadata.is_symlink() {
        let said = path.read_link().ok()?;
        return Some(Standing::Link(said, real_path::of(path).ok()));
    }
    if !metadata.is_dir() || path.join("SKILL.md").symlink_metadata().is_err() {
        return None;
    }
    Some(match FoundTree::read(path) {
        Ok(tree) => Standing::Tree(Box::new(tree)),
        Err(error) => Standing::Unread(escape(&error.to_string())),
    })
}
