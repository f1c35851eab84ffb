//! What `publish` is asked to publish: skills and archives as they are named, and the skills beneath
//! a directory that is none itself.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use skillpkg::project::io_error;
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;

use crate::context::Context;

/// The file that makes a directory a skill.
const SKILL_FILE: &str = "SKILL.md";
/// How far beneath a named directory skills are looked for: `plugins/NAME/skills/NAME` is found.
const DEEPEST: usize = 4;
/// Most entries of directories that are looked at for one command.
const MOST_ENTRIES: usize = 20_000;
/// Most paths that a message names.
const MOST_NAMED: usize = 5;

/// What is to be published.
#[derive(Debug)]
pub(super) enum Sources {
    /// One skill or archive, as it was named.
    One(PathBuf),
    /// Several, or those found beneath a directory; each once.
    Many(Vec<PathBuf>),
}

/// What the named paths stand for. What was found beneath a directory is told.
pub(super) fn find(context: &Context, named: Vec<PathBuf>) -> Result<Sources, Error> {
    let named = if named.is_empty() { vec![PathBuf::from(".")] } else { named };
    let mut walk = Walk::default();
    let mut expanded = Vec::with_capacity(named.len());
    for path in named {
        expanded.push((beneath(context, &mut walk, &path)?, path));
    }
    if !walk.misspelled.is_empty() {
        context.output.warn(&format!(
            "{}, which only a file called `{SKILL_FILE}` makes a skill: left out",
            listed(&walk.misspelled)
        ));
    }
    for link in &walk.links {
        context.output.talk(&format!("`{}` is a link and is not followed.", shown(link)));
    }
    if let [(None, one)] = expanded.as_mut_slice() {
        return Ok(Sources::One(std::mem::take(one)));
    }
    let (mut sources, mut seen) = (Vec::new(), HashSet::new());
    for (found, path) in expanded {
        if let Some(found) = &found {
            tell(context, &path, found);
        }
        for source in found.unwrap_or_else(|| vec![path]) {
            let identity = source.canonicalize().unwrap_or_else(|_| source.clone());
            if seen.insert(identity) {
                sources.push(source);
            }
        }
    }
    Ok(Sources::Many(sources))
}

/// The skills beneath a directory that is none itself; [`None`] of what is a skill or an archive, and
/// of what holds none, so that whoever reads it says what is missing.
fn beneath(context: &Context, walk: &mut Walk, path: &Path) -> Result<Option<Vec<PathBuf>>, Error> {
    if !path.is_dir() || is_skill(path) {
        return Ok(None);
    }
    context.output.detail(&format!("looking for skills beneath `{}`", shown(path)));
    let mut found = Vec::new();
    walk.look(path, DEEPEST, &mut found)?;
    if !found.is_empty() {
        return Ok(Some(found));
    }
    // One that lies right in the directory is told by whoever reads it.
    let is_beneath = |file: &PathBuf| file.parent() != Some(path) && file.starts_with(path);
    let misspelled: Vec<PathBuf> =
        walk.misspelled.iter().filter(|one| is_beneath(one)).cloned().collect();
    if misspelled.is_empty() {
        walk.misspelled.clear();
        return Ok(None);
    }
    let message = format!(
        "`{}` holds no `{SKILL_FILE}`, and {}",
        shown(path),
        match misspelled.len() {
            1 => format!("a file spelled otherwise: {}", listed(&misspelled)),
            count => format!("{count} files spelled otherwise: {}", listed(&misspelled)),
        }
    );
    Err(Error::new(Kind::Failed, "skill_file_missing", message)
        .with_hint(format!("rename each to `{SKILL_FILE}`: agents look for that name alone")))
}

/// The first of some paths, and how many more there are.
fn listed(paths: &[PathBuf]) -> String {
    let named: Vec<String> =
        paths.iter().take(MOST_NAMED).map(|path| format!("`{}`", shown(path))).collect();
    match paths.len().saturating_sub(MOST_NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn tell(context: &Context, path: &Path, found: &[PathBuf]) {
    let what = if found.len() == 1 { "1 skill" } else { &format!("{} skills", found.len()) };
    let path = shown(path);
    context
        .output
        .talk(&format!("`{path}` is no skill itself; it holds {what}: {}.", listed(found)));
}

fn shown(path: &Path) -> String {
    escape(&path.to_string_lossy())
}

fn is_skill(directory: &Path) -> bool {
    directory.join(SKILL_FILE).symlink_metadata().is_ok()
}

/// A walk through directories that follows no link.
#[derive(Debug, Default)]
struct Walk {
    entries: usize,
    /// Links to directories, left aside.
    links: Vec<PathBuf>,
    /// Files called almost as the one that makes a skill.
    misspelled: Vec<PathBuf>,
}

impl Walk {
    /// Adds the skills beneath `directory`, which is none, sorted by their paths.
    ///
    /// Not looked into are directories whose names start with a dot, where agents keep what is
    /// installed and tools their own, and those in which builds put the works of others.
    fn look(
        &mut self,
        directory: &Path,
        deeper: usize,
        found: &mut Vec<PathBuf>,
    ) -> Result<(), Error> {
        let failed = |error: std::io::Error| io_error(directory, &error);
        let mut inside = Vec::new();
        for entry in directory.read_dir().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                let message = format!(
                    "there are more than {MOST_ENTRIES} files beneath what is named, which is too \
                     much to look through for skills"
                );
                return Err(Error::new(Kind::Usage, "too_many_files", message)
                    .with_hint("name the skills' directories, or the one right above them"));
            }
            let name = entry.file_name();
            let is_passed_over = match name.to_string_lossy().as_ref() {
                "node_modules" | "target" => true,
                name => name.starts_with('.'),
            };
            if is_passed_over {
                continue;
            }
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_file() && name.eq_ignore_ascii_case(SKILL_FILE) {
                self.misspelled.push(named(directory, &name));
            }
            if kind.is_symlink() && entry.path().is_dir() {
                self.links.push(named(directory, &name));
            } else if kind.is_dir() {
                inside.push(named(directory, &name));
            }
        }
        inside.sort();
        for path in inside {
            if is_skill(&path) {
                found.push(path);
            } else if let Some(deeper) = deeper.checked_sub(1).filter(|deeper| *deeper > 0) {
                self.look(&path, deeper, found)?;
            }
        }
        Ok(())
    }
}

/// The path as a person would write it.
fn named(directory: &Path, name: &OsStr) -> PathBuf {
    if directory == Path::new(".") { PathBuf::from(name) } else { directory.join(name) }
}
