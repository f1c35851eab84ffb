//! Which files of a directory are the skill.

use std::collections::BTreeSet;
use std::io::{self, Read};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::Dialect;
use super::includes::Include;
use super::report::{Place, Report};
use crate::diagnostic::{Diagnostic, escape};
use crate::limits::{MAX_FILES, MAX_PATH_DEPTH};
use crate::path::SkillPath;
use crate::tree::{Entry, Tree};

/// The file that names, in gitignore's syntax, what an Agent Skill does not pack.
const IGNORE_FILE: &str = ".skillignore";
/// Most bytes of it.
const MAX_IGNORE_BYTES: u64 = 64 * 1024;
/// A repository's own directory: never part of a skill.
const GIT: &str = ".git";
/// What tools leave behind; an Agent Skill does not pack it.
const DROPPINGS: [&str; 3] = ["__pycache__", ".DS_Store", "node_modules"];

/// The files of a skill.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// What `includes` names, without `SKILL.md`.
    pub(super) included: BTreeSet<SkillPath>,
    /// Everything that is packed, `SKILL.md` among it.
    pub(super) packed: BTreeSet<SkillPath>,
}

/// Finds the files; whatever is no file is told.
pub(super) fn files(
    tree: &dyn Tree,
    dialect: Dialect,
    includes: Option<&[Include]>,
    report: &mut Report<'_>,
) -> Files {
    let mut files = Files::default();
    match (includes, dialect) {
        (Some(includes), _) => {
            for include in includes {
                expand(tree, include, &mut files.included, report);
            }
            files.included.remove(&SkillPath::skill_file());
            files.packed.clone_from(&files.included);
        }
        (None, Dialect::Hard) => {}
        (None, Dialect::Agent) => {
            let ignored = ignored(tree, report);
            let mut walk = Walk { tree, ignored: Some(&ignored), place: None, report };
            walk.directory("", 0, &mut files.packed);
        }
    }
    files.packed.insert(SkillPath::skill_file());
    files
}

/// The files that one entry of `includes` names.
fn expand(
    tree: &dyn Tree,
    include: &Include,
    files: &mut BTreeSet<SkillPath>,
    report: &mut Report<'_>,
) {
    let mut walk = Walk { tree, ignored: None, place: Some(include.place), report };
    let path = if include.path == "." { "" } else { &include.path };
    // Each step on the way is looked at: a link there leads elsewhere as well.
    let mut end = 0;
    for part in path.split('/').filter(|part| !part.is_empty()) {
        end += part.len() + usize::from(end > 0);
        let step = path.get(..end).unwrap_or(path);
        match tree.entry(step) {
            Ok(Some(Entry::Directory)) if end < path.len() => {}
            Ok(Some(Entry::File { .. })) if end < path.len() => {
                walk.refuse(
                    "include_missing",
                    path,
                    &format!("is not there: `{}` is a file", escape(step)),
                );
                return;
            }
            Ok(Some(entry)) => {
                walk.entry(step, entry, 0, files);
                return;
            }
            Ok(None) => {
                walk.refuse("include_missing", path, "is not there");
                return;
            }
            Err(error) => {
                walk.unreadable(step, &error);
                return;
            }
        }
    }
    walk.directory("", 0, files);
}

fn ignored(tree: &dyn Tree, report: &mut Report<'_>) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    let text = match tree.entry(IGNORE_FILE) {
        Ok(Some(Entry::File { .. })) => tree.read(IGNORE_FILE, MAX_IGNORE_BYTES),
        Ok(_) => return Gitignore::empty(),
        Err(error) => Err(error),
    };
    let refuse = |report: &mut Report<'_>, line: usize, reason: &str| {
        let message = format!("`{IGNORE_FILE}` line {line}: {}", escape(reason));
        report.add(Diagnostic::error("ignore_file", message));
    };
    match text.map(String::from_utf8) {
        Ok(Ok(text)) => {
            for (at, line) in text.lines().enumerate() {
                if let Err(error) = builder.add_line(None, line) {
                    refuse(report, at + 1, &error.to_string());
                }
            }
        }
        Ok(Err(_)) => refuse(report, 1, "it is not UTF-8"),
        Err(error) => refuse(report, 1, &error.to_string()),
    }
    builder.build().unwrap_or_else(|error| {
        refuse(report, 1, &error.to_string());
        Gitignore::empty()
    })
}

struct Walk<'w, 'r> {
    tree: &'w dyn Tree,
    ignored: Option<&'w Gitignore>,
    /// Where the include stands that leads here.
    place: Option<Place>,
    report: &'w mut Report<'r>,
}

impl Walk<'_, '_> {
    fn add(&mut self, diagnostic: Diagnostic) {
        match self.place {
            Some(place) => self.report.at(place, diagnostic),
            None => self.report.add(diagnostic),
        }
    }

    fn refuse(&mut self, code: &str, path: &str, reason: &str) {
        let what = if self.place.is_some() { "the include " } else { "" };
        let message = format!("{what}`{}` {reason}", escape(path));
        let hint = match code {
            "file_is_link" => {
                Some("put the file itself there: what a link points at is not part of the skill")
            }
            "include_missing" => Some("includes are relative to the skill's directory"),
            _ => None,
        };
        let diagnostic = Diagnostic::error(code, message);
        self.add(match hint {
            Some(hint) => diagnostic.with_hint(hint),
            None => diagnostic,
        });
    }

    fn unreadable(&mut self, path: &str, error: &io::Error) {
        self.refuse(
            "file_unreadable",
            path,
            &format!("cannot be read: {}", escape(&error.to_string())),
        );
    }

    fn is_skipped(&self, path: &str, name: &str, is_directory: bool) -> bool {
        let Some(ignored) = self.ignored else { return name == GIT };
        name == GIT
            || DROPPINGS.contains(&name)
            || matches!(ignored.matched(path, is_directory), Match::Ignore(_))
    }

    fn directory(&mut self, path: &str, depth: usize, files: &mut BTreeSet<SkillPath>) {
        if depth >= MAX_PATH_DEPTH {
            let reason = format!("holds more than {MAX_PATH_DEPTH} directories inside each other");
            self.refuse("tree_too_deep", path, &reason);
            return;
        }
        let names = match self.tree.list(path) {
            Ok(names) => names,
            Err(error) => {
                let shown = if path.is_empty() { "." } else { path };
                self.unreadable(shown, &error);
                return;
            }
        };
        for (name, entry) in names {
            let beneath = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            if self.report.is_full() || files.len() > MAX_FILES {
                return;
            }
            if !self.is_skipped(&beneath, &name, entry == Entry::Directory) {
                self.entry(&beneath, entry, depth, files);
            }
        }
    }

    fn entry(&mut self, path: &str, entry: Entry, depth: usize, files: &mut BTreeSet<SkillPath>) {
        match entry {
            Entry::Directory => self.directory(path, depth + 1, files),
            Entry::Link => self.refuse("file_is_link", path, "is a symbolic link"),
            Entry::Special => {
                self.refuse("file_is_special", path, "is neither a file nor a directory");
            }
            Entry::File { .. } => match path.parse::<SkillPath>() {
                Ok(path) => {
                    files.insert(path);
                    if files.len() == MAX_FILES + 1 {
                        let message = format!("the skill has more than {MAX_FILES} files");
                        self.add(Diagnostic::error("too_many_files", message));
                    }
                }
                Err(error) => self.add(Diagnostic::error("file_name", error.to_string())),
            },
        }
    }
}

/// A tree that holds the packed files of another and nothing else.
///
/// Whatever is read through it reads the same from the archive.
pub(super) struct PackedTree<'t> {
    pub(super) tree: &'t dyn Tree,
    pub(super) files: &'t BTreeSet<SkillPath>,
}

impl PackedTree<'_> {
    fn holds(&self, path: &str) -> bool {
        self.files.iter().any(|file| file.as_str() == path)
    }

    fn holds_directory(&self, path: &str) -> bool {
        path.is_empty() || self.files.iter().any(|file| file.parents().any(|parent| parent == path))
    }
}

impl Tree for PackedTree<'_> {
    fn entry(&self, path: &str) -> io::Result<Option<Entry>> {
        let path = path.trim_end_matches('/');
        if self.holds(path) {
            self.tree.entry(path)
        } else {
            Ok(self.holds_directory(path).then_some(Entry::Directory))
        }
    }

    fn list(&self, directory: &str) -> io::Result<Vec<(String, Entry)>> {
        let directory = directory.trim_end_matches('/');
        let mut names = self.tree.list(directory)?;
        names.retain(|(name, entry)| {
            let path =
                if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
            match entry {
                Entry::Directory => self.holds_directory(&path),
                _ => self.holds(&path),
            }
        });
        Ok(names)
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn Read + Send + '_>> {
        if self.holds(path) { self.tree.open(path) } else { Err(io::ErrorKind::NotFound.into()) }
    }
}
