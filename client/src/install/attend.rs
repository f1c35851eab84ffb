//! Who watches an install: is told what goes on, and is asked what only a person may answer.

use skillpkg_schema::{QualifiedName, Version};

use crate::Error;
use crate::meter::Meter;

/// How far an install has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Skills that are fetched and verified.
    pub done: usize,
    /// Skills in all.
    pub total: usize,
}

/// What has to be approved before agents see a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The skill.
    pub name: QualifiedName,
    /// The version.
    pub version: Version,
    /// What it runs, in full; safe to print.
    pub runs: Vec<String>,
    /// Whether anything of it may run: by a call, or by the host that reads it.
    pub runs_anything: bool,
    /// What it adds to the version that was approved before; [`None`] where none was. Safe to
    /// print.
    pub adds: Option<Vec<String>>,
    /// What changes from that version, what matters first; empty where there is none. Safe to print.
    pub changes: Vec<String>,
    /// Whether it is an update that may do what the version before might not, which
    /// [`accept_permissions`](super::Options::accept_permissions) approves in advance and nothing
    /// less.
    pub widens: bool,
}

/// What an update changes of a skill of which nothing has to be approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The skill.
    pub name: QualifiedName,
    /// The version.
    pub version: Version,
    /// What changes, what matters first; safe to print.
    pub changes: Vec<String>,
}

/// Who watches an install.
pub trait Attendant {
    /// Takes notice of something that happened.
    fn tell(&mut self, text: &str);

    /// Takes notice of something that somebody should look at.
    fn warn(&mut self, text: &str);

    /// Takes notice of how far it has come; at first with nothing done.
    fn progress(&mut self, progress: Progress);

    /// What counts the bytes that are fetched, of all skills together; asked for before they are.
    fn meter(&mut self) -> Meter {
        Meter::default()
    }

    /// Answers whether all of it may become active. An error stops the install too: one that says
    /// that nobody can be asked, and what to do instead.
    fn approve(&mut self, asked: &[Approval]) -> Result<bool, Error>;

    /// Takes notice of what an update changes that nobody is asked about.
    fn changes(&mut self, moved: &Moved) {
        let _ = moved;
    }

    /// Takes notice of what was approved in advance.
    fn approved(&mut self, asked: &[Approval]) {
        let _ = asked;
    }
}
