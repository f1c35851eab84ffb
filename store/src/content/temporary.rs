//! Files and trees in the making, gone when they are let go before they are in place.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::Dir;

use super::directory::{create_file, open_directory, remove_all};
use super::error::{AtPath as _, StoreError};
use super::layout::Layout;

/// Calls `create` with names that are free in this process until it makes one that is free at all.
///
/// Two processes of one number, as in containers that share a store, meet on the same names.
pub(super) fn with_free_name<T>(
    kind: &str,
    mut create: impl FnMut(&str) -> io::Result<T>,
) -> io::Result<(String, T)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{kind}-{}-{number}", std::process::id());
        match create(&name) {
            Ok(made) => return Ok((name, made)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// A file in `tmp/`, removed when dropped. One that was moved into place is no longer there to be
/// removed.
#[derive(Debug)]
pub(super) struct TemporaryFile<'store> {
    layout: &'store Layout,
    name: String,
    file: File,
    kept: bool,
}

impl<'store> TemporaryFile<'store> {
    /// Creates an empty file with exactly these permission bits, open for writing.
    pub(super) fn create(
        layout: &'store Layout,
        kind: &str,
        mode: u32,
    ) -> Result<Self, StoreError> {
        let make = |name: &str| create_file(layout.temporary(), name, mode);
        let (name, file) = with_free_name(kind, make).at(|| layout.temporary_path(kind))?;
        Ok(Self { layout, name, file, kept: false })
    }

    /// Its name in `tmp/`.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The open file.
    pub(super) fn handle(&mut self) -> &mut File {
        &mut self.file
    }

    /// Says that it was moved into place.
    pub(super) fn placed(mut self) {
        self.kept = true;
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        if !self.kept {
            // What cannot be removed now, `collect` removes later.
            let _ = self.layout.temporary().remove_file(&self.name);
        }
    }
}

/// A directory in the making, removed with all beneath it when dropped before it is in place.
#[derive(Debug)]
pub(super) struct TemporaryTree<'parent> {
    parent: &'parent Dir,
    name: String,
    kept: bool,
}

impl<'parent> TemporaryTree<'parent> {
    /// Creates an empty directory beneath `parent`, and opens it.
    ///
    /// The handle is to be let go before the directory is moved or removed: Windows does neither
    /// with one that is open.
    pub(super) fn create(parent: &'parent Dir, kind: &str) -> io::Result<(Self, Dir)> {
        let (name, ()) = with_free_name(kind, |name| parent.create_dir(name))?;
        let tree = Self { parent, name, kept: false };
        let directory = open_directory(parent, &tree.name)?;
        Ok((tree, directory))
    }

    /// Its name beneath its parent.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Says that it was moved into place.
    pub(super) fn placed(mut self) {
        self.kept = true;
    }
}

impl Drop for TemporaryTree<'_> {
    fn drop(&mut self) {
        if !self.kept {
            // What cannot be removed now, `collect` removes later.
            let _ = remove_all(self.parent, &self.name);
        }
    }
}
