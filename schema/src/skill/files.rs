//! The files that a skill names, and a tree that holds no others.

use std::collections::BTreeSet;
use std::io::{self, Read};

use super::Dialect;
use super::includes::Include;
use super::report::{Place, Report};
use crate::diagnostic::{Diagnostic, escape};
use crate::limits::{MAX_FILES, MAX_PATH_DEPTH};
use crate::path::SkillPath;
use crate::tree::{Entry, NameNotUtf8, Tree};

/// The files that `includes` names, without `SKILL.md`; whatever is no file is told.
pub(super) fn included(
    tree: &dyn Tree,
    includes: &[Include],
    report: &mut Report<'_>,
) -> BTreeSet<SkillPath> {
    let mut files = BTreeSet::new();
    for include in includes {
        let mut found = BTreeSet::new();
        let errors = report.errors();
        expand(tree, include, &mut found, report);
        if found.is_empty() && report.errors() == errors {
            // An archive carries files alone: where it arrives, the directory would be missing.
            let message = format!("the include `{}` holds no file", escape(&include.path));
            report.at(
                include.place,
                Diagnostic::error("include_empty", message)
                    .with_hint("put a file in it, or take it out of `includes`"),
            );
        }
        files.append(&mut found);
    }
    files.remove(&SkillPath::skill_file());
    files
}

/// Which files of a tree are packed.
#[derive(Debug)]
pub(super) enum Packed {
    /// `SKILL.md` and what `includes` names.
    Only(BTreeSet<SkillPath>),
    /// Every file of the tree: what an Agent Skill without `includes` leaves out, whoever packs it
    /// has left out of the tree.
    All,
}

impl Packed {
    /// The packed files, where `includes` names `files`.
    pub(super) fn new(
        dialect: Dialect,
        includes: Option<&[Include]>,
        files: &BTreeSet<SkillPath>,
    ) -> Self {
        if includes.is_none() && dialect == Dialect::Agent {
            return Self::All;
        }
        let mut files = files.clone();
        files.insert(SkillPath::skill_file());
        Self::Only(files)
    }
}

/// The files that one entry of `includes` names.
fn expand(
    tree: &dyn Tree,
    include: &Include,
    files: &mut BTreeSet<SkillPath>,
    report: &mut Report<'_>,
) {
    let mut walk = Walk { tree, place: include.place, report };
    let path = if include.path == "." { "" } else { &include.path };
    if !path.is_empty()
        && let Err(error) = path.parse::<SkillPath>()
    {
        walk.add(Diagnostic::error("file_name", error.to_string()));
        return;
    }
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

struct Walk<'w, 'r> {
    tree: &'w dyn Tree,
    /// Where the entry of `includes` stands that leads here.
    place: Place,
    report: &'w mut Report<'r>,
}

impl Walk<'_, '_> {
    fn add(&mut self, diagnostic: Diagnostic) {
        self.report.at(self.place, diagnostic);
    }

    fn refuse(&mut self, code: &str, path: &str, reason: &str) {
        let message = format!("the include `{}` {reason}", escape(path));
        let hint = match code {
            "file_is_link" => {
                Some("put the file itself there: what a link points at is not part of the skill")
            }
            "include_missing" if path.contains(char::is_whitespace) => {
                Some("several includes are separated by commas, not by spaces")
            }
            "include_missing" => Some("includes are relative to the skill's directory"),
            "tree_too_deep" => Some("move what it holds higher up"),
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

    fn directory(&mut self, path: &str, depth: usize, files: &mut BTreeSet<SkillPath>) {
        if depth >= MAX_PATH_DEPTH {
            let reason = format!("holds more than {MAX_PATH_DEPTH} directories inside each other");
            self.refuse("tree_too_deep", path, &reason);
            return;
        }
        let names = match self.tree.list(path) {
            Ok(names) => names,
            Err(error) => {
                match NameNotUtf8::of(&error) {
                    Some(name) => {
                        let fault = format!("`{}` has a name that is not UTF-8", name.within(path));
                        let fault = Diagnostic::error("file_name", fault);
                        self.add(fault.in_file(name.within(path)).with_hint("rename it"));
                    }
                    None => self.unreadable(if path.is_empty() { "." } else { path }, &error),
                }
                return;
            }
        };
        for (name, entry) in names {
            let beneath = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            if self.report.is_full() || files.len() > MAX_FILES {
                return;
            }
            self.entry(&beneath, entry, depth, files);
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
                Err(error) => {
                    self.add(
                        Diagnostic::error("file_name", error.to_string()).with_hint("rename it"),
                    );
                }
            },
        }
    }
}

/// A tree that holds the packed files of another and nothing else.
///
/// Whatever is read through it reads the same from the archive.
pub(super) struct PackedTree<'t> {
    pub(super) tree: &'t dyn Tree,
    pub(super) packed: &'t Packed,
}

impl PackedTree<'_> {
    fn holds(&self, path: &str) -> bool {
        match self.packed {
            Packed::All => true,
            Packed::Only(files) => {
                path.parse::<SkillPath>().is_ok_and(|path| files.contains(&path))
            }
        }
    }

    fn holds_directory(&self, path: &str) -> bool {
        match self.packed {
            Packed::All => true,
            Packed::Only(files) => {
                path.is_empty()
                    || files.iter().any(|file| file.parents().any(|parent| parent == path))
            }
        }
    }
}

impl Tree for PackedTree<'_> {
    fn entry(&self, path: &str) -> io::Result<Option<Entry>> {
        if self.holds(path) || self.holds_directory(path) {
            self.tree.entry(path)
        } else {
            Ok(None)
        }
    }

    fn list(&self, directory: &str) -> io::Result<Vec<(String, Entry)>> {
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
