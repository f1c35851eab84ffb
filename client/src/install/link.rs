//! Links to directories, as far as a system and a file system have them.

use std::io;
use std::path::Path;

use cap_std::fs::Dir;

/// Whether a link was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Linked {
    /// It was.
    Yes,
    /// No link can be made there.
    No,
}

/// Makes a link to the directory `target`, called `name`, in a directory that is open and lies at
/// `place`.
///
/// Where the system or the file system has none, nothing is made, and a copy has to do.
pub(super) fn make(directory: &Dir, place: &Path, target: &Path, name: &str) -> io::Result<Linked> {
    match link(directory, place, target, name) {
        Ok(()) => Ok(Linked::Yes),
        Err(error) if is_refused(&error) => Ok(Linked::No),
        Err(error) => Err(error),
    }
}

#[cfg(not(windows))]
fn link(directory: &Dir, _: &Path, target: &Path, name: &str) -> io::Result<()> {
    #[cfg(test)]
    if refusals::are_links_refused() {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    directory.symlink_contents(target, name)
}

/// A symbolic link, which is a privilege there, else a junction, which is none and wants a drive of
/// this machine.
#[cfg(windows)]
fn link(directory: &Dir, place: &Path, target: &Path, name: &str) -> io::Result<()> {
    if directory.symlink_dir(target, name).is_ok() {
        return Ok(());
    }
    junction::create(target, place.join(name)).inspect_err(|_| {
        // What is left of one that could not be finished would be in the copy's way.
        let _ = directory.remove_dir(name);
    })
}

/// Whether the file system, or whoever set it up, has no links: that the directory can be written
/// was seen when it was made.
#[cfg(not(windows))]
fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported)
}

/// Whatever keeps a junction from being made: a copy needs none of it.
#[cfg(windows)]
fn is_refused(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::StorageFull
}

/// Has the links of a thread refused.
#[cfg(all(test, not(windows)))]
pub(super) mod refusals {
    use std::cell::Cell;

    thread_local! {
        static REFUSED: Cell<bool> = const { Cell::new(false) };
    }

    /// Refuses every link that this thread makes from here on, or none.
    pub(in crate::install) fn refuse_links(refuse: bool) {
        REFUSED.set(refuse);
    }

    pub(super) fn are_links_refused() -> bool {
        REFUSED.get()
    }
}
