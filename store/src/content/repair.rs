//! Trees made whole again: what does not belong is set aside, never deleted and never run.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use cap_std::fs::Dir;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::manifest::FileEntry;
use skillpkg_schema::{Manifest, SkillPath};

use super::TreeProblemKind;
use super::directory::{
    WRITABLE_DIRECTORY, make_directory, move_to_free, open_directory, place_new, remove_all,
    set_directory_mode,
};
use super::error::{AtPath as _, StoreError};
use super::layout::{Layout, tree_name};
use super::temporary::{TemporaryTree, with_free_name};
use super::tree::{Access, READ_ONLY_DIRECTORY, close, fill, list, open, write_file};
use super::verify::{Wanted, divide, verify};

/// Something that stood in a tree and was moved away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// Where it stood, relative to the tree; what is unprintable in it is shown escaped.
    pub path: String,
    /// Where it lies now.
    pub now: PathBuf,
}

/// Makes a tree whole again. See [`super::Store::repair_tree`].
pub(super) fn repair(layout: &Layout, manifest: &Manifest) -> Result<Vec<SkillPath>, StoreError> {
    let address = manifest.address();
    let name = tree_name(&address);
    let path = || layout.snapshot_path(&name);
    match list(layout, &address) {
        Ok(Some(listed)) => {
            let problems = verify(listed, &path(), manifest)?;
            if problems.is_empty() {
                return Ok(Vec::new());
            }
            if problems.iter().all(|problem| problem.kind == TreeProblemKind::Extra) {
                quarantine_extras(layout, manifest)?;
                return Ok(Vec::new());
            }
        }
        Ok(None) | Err(StoreError::Misplaced { .. }) => {}
        Err(error) => return Err(error),
    }
    let (tree, directory) =
        TemporaryTree::create(layout.temporary(), "tree").at(|| layout.temporary_path("tree"))?;
    let mut lost = Vec::new();
    let place = layout.temporary_path(tree.name());
    fill(&directory, &place, manifest, Access::ReadOnly, &mut |entry, file| match write_file(
        layout, manifest, entry, file, &place,
    ) {
        Err(StoreError::Absent(_) | StoreError::Damaged { .. }) => {
            lost.push(entry.path.clone());
            Ok(())
        }
        answer => answer,
    })?;
    drop(directory);
    if lost.is_empty() {
        swap(layout, tree, &name)?;
    }
    Ok(lost)
}

/// Puts a new tree in place, and what stands there into `aside/`.
///
/// One step where the file system can exchange two names. Elsewhere whoever is killed in between
/// leaves no tree there, and the next call makes it.
fn swap(layout: &Layout, tree: TemporaryTree<'_>, name: &str) -> Result<(), StoreError> {
    let at = || layout.snapshot_path(name);
    // A directory that goes to another parent is written to, since its `..` changes.
    if let Ok(old) = open_directory(layout.snapshots(), name) {
        set_directory_mode(&old, WRITABLE_DIRECTORY).at(at)?;
    }
    // From `aside/` it is exchanged, so that at no point the old one stands where things are
    // deleted.
    let (aside, ()) = with_free_name(name, |free| {
        move_to_free(layout.temporary(), tree.name(), layout.aside(), free)
    })
    .at(at)?;
    if !exchange(layout.aside(), &aside, layout.snapshots(), name).at(at)? {
        with_free_name(name, |free| {
            match move_to_free(layout.snapshots(), name, layout.aside(), free) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                answer => answer,
            }
        })
        .at(at)?;
        if !place_new(layout.aside(), &aside, layout.snapshots(), name).at(at)? {
            // Another process has made the tree in the meantime, as we did.
            remove_all(layout.aside(), &aside).at(|| layout.aside_path(&aside))?;
            return Ok(());
        }
    }
    tree.placed();
    close(layout, name).at(at)?;
    layout.written().remember(at);
    Ok(())
}

/// Exchanges what stands at two names in one step; answers with false where that cannot be done.
fn exchange(left: &Dir, from: &str, right: &Dir, to: &str) -> io::Result<bool> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(left, from, right, to, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP | Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    {
        let _ = (left, from, right, to);
        Ok(false)
    }
}

/// Sets aside what a snapshot's tree holds and its manifest does not. See
/// [`super::Store::quarantine_extras`].
pub(super) fn quarantine_extras(
    layout: &Layout,
    manifest: &Manifest,
) -> Result<Vec<SetAside>, StoreError> {
    let address = manifest.address();
    let Some(directory) = open(layout, &address)? else { return Ok(Vec::new()) };
    let tree = tree_name(&address);
    let mut quarantine = Quarantine { layout, tree: &tree, aside: None, moved: Vec::new() };
    quarantine.directory(&directory, "", &manifest.files)?;
    Ok(quarantine.moved)
}

struct Quarantine<'work> {
    layout: &'work Layout,
    tree: &'work str,
    /// The directory of this quarantine in `aside/`, made with the first thing that goes there.
    aside: Option<(String, Dir)>,
    moved: Vec<SetAside>,
}

impl Quarantine<'_> {
    /// Goes through one directory, whose path is empty or ends in `/`. Calls itself for directories
    /// that the manifest knows alone.
    fn directory(
        &mut self,
        directory: &Dir,
        path: &str,
        files: &[FileEntry],
    ) -> Result<(), StoreError> {
        let wanted = divide(path, files);
        let at = || self.layout.snapshot_path(self.tree).join(path);
        let mut extras = Vec::new();
        for entry in directory.entries().at(at)? {
            let name = entry.at(at)?.file_name();
            if !name.to_str().is_some_and(|name| wanted.contains_key(name)) {
                extras.push(name);
            }
        }
        if !extras.is_empty() {
            set_directory_mode(directory, WRITABLE_DIRECTORY).at(at)?;
            let moved = extras.iter().try_for_each(|name| self.set_aside(directory, path, name));
            let at = || self.layout.snapshot_path(self.tree).join(path);
            set_directory_mode(directory, READ_ONLY_DIRECTORY).at(at)?;
            moved?;
        }
        for (name, wanted) in wanted {
            // What is no directory, or not there, holds nothing that is too much.
            if let Wanted::Directory(files) = wanted
                && let Ok(beneath) = open_directory(directory, name)
            {
                self.directory(&beneath, &format!("{path}{name}/"), files)?;
            }
        }
        Ok(())
    }

    fn set_aside(&mut self, directory: &Dir, path: &str, name: &OsStr) -> Result<(), StoreError> {
        let at = || self.layout.snapshot_path(self.tree).join(path).join(name);
        if let Ok(extra) = open_directory(directory, name) {
            // A directory that goes to another parent is written to, since its `..` changes.
            set_directory_mode(&extra, WRITABLE_DIRECTORY).at(at)?;
        }
        if self.aside.is_none() {
            let create = |name: &str| self.layout.aside().create_dir(name);
            let (name, ()) = with_free_name(self.tree, create).at(at)?;
            let directory = open_directory(self.layout.aside(), &name).at(at)?;
            self.aside = Some((name, directory));
        }
        let Some((aside_name, aside)) = &self.aside else { return Ok(()) };
        // As deep as a path of a skill can be, no deeper.
        let mut target = aside.try_clone().at(at)?;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            target = make_directory(&target, part).at(at)?;
        }
        directory.rename(name, &target, name).at(at)?;
        self.moved.push(SetAside {
            path: format!("{path}{}", escape(&name.to_string_lossy())),
            now: self.layout.aside_path(aside_name).join(path).join(name),
        });
        Ok(())
    }
}
