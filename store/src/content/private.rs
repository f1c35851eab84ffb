//! Private copies: what a call runs from, so that nobody changes it between the check and the run.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cap_std::fs::Dir;
use skillpkg_schema::Manifest;

use super::directory::{open_directory, remove_all, set_directory_mode};
use super::error::{AtPath as _, StoreError};
use super::layout::{Layout, open_own};
use super::lock::{Lock, is_unsupported};
use super::temporary::with_free_name;
use super::tree::{Access, READ_ONLY_DIRECTORY, fill, write_file};

/// The directory of private copies.
const RUNS: &str = "runs";
/// What the name of a private copy starts with.
const KIND: &str = "run";
/// The permission bits of what is its owner's alone.
const PRIVATE: u32 = 0o700;
/// How old a copy without a lock is before it counts as left: between its creation and its lock it
/// looks like one.
const SETTLED: Duration = Duration::from_mins(1);

/// A copy of a snapshot for one run, removed when dropped. See [`super::Store::private_copy`].
#[derive(Debug)]
pub struct PrivateCopy {
    runs: Dir,
    name: String,
    path: PathBuf,
    lock: Option<Lock>,
}

impl PrivateCopy {
    /// The tree, an absolute path; its last part is the skill's own name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn make(layout: &Layout, manifest: &Manifest) -> Result<Self, StoreError> {
        let place = layout.path().join(RUNS);
        let at = || place.clone();
        let runs = open_own(layout.root(), layout.path(), RUNS)?;
        set_directory_mode(&runs, PRIVATE).at(at)?;
        // What cannot be removed is not in the way of this copy.
        let _ = remove_left(&runs);
        let (name, ()) = with_free_name(KIND, |name| runs.create_dir(name)).at(at)?;
        let skill = manifest.name.name().as_str();
        let path = place.join(&name).join(skill);
        // From here on a failure removes it.
        let mut copy = Self { runs, name, path, lock: None };
        let at = || copy.path.clone();
        let outer = open_directory(&copy.runs, &copy.name).at(at)?;
        set_directory_mode(&outer, PRIVATE).at(at)?;
        let lock = match lock_copy(&outer) {
            Err(error) if !is_unsupported(&error) => return Err(StoreError::io(at(), error)),
            answer => answer.ok().flatten(),
        };
        outer.create_dir(skill).at(at)?;
        let tree = open_directory(&outer, skill).at(at)?;
        fill(&tree, &copy.path, manifest, Access::ReadOnly, &mut |entry, file| {
            write_file(layout, manifest, entry, file, &copy.path)
        })?;
        set_directory_mode(&tree, READ_ONLY_DIRECTORY).at(at)?;
        copy.lock = lock;
        Ok(copy)
    }
}

impl Drop for PrivateCopy {
    fn drop(&mut self) {
        // Windows removes no directory in which a file is open.
        self.lock = None;
        // What cannot be removed now, the next copy removes once it is old enough.
        let _ = remove_all(&self.runs, &self.name);
    }
}

/// Removes the copies whose processes were killed.
fn remove_left(runs: &Dir) -> io::Result<()> {
    for entry in runs.entries()? {
        let name = entry?.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(KIND)) else { continue };
        let Ok(left) = open_directory(runs, name) else { continue };
        let modified = left.dir_metadata()?.modified()?.into_std();
        if modified.elapsed().is_ok_and(|age| age > SETTLED) {
            let lock = lock_copy(&left)?;
            // Windows removes no directory that is open, or in which a file is.
            drop(left);
            if lock.is_some() {
                #[cfg(windows)]
                drop(lock);
                remove_all(runs, name)?;
            }
        }
    }
    Ok(())
}

/// Locks a private copy; [`None`] while another process has it locked.
#[cfg(unix)]
fn lock_copy(outer: &Dir) -> io::Result<Option<Lock>> {
    super::copy::lock_directory(outer)
}

/// Locks a private copy by a file beside its tree, since directories cannot be locked here; [`None`]
/// while another process has it locked.
#[cfg(not(unix))]
fn lock_copy(outer: &Dir) -> io::Result<Option<Lock>> {
    let mut options = cap_std::fs::OpenOptions::new();
    options.read(true).write(true).create(true);
    // No skill's name starts with a dot.
    let file = outer.open_with(".lock", &options)?.into_std();
    super::lock::Unlocked::from(file).exclusive(Duration::ZERO)
}

#[cfg(all(test, unix))]
mod tests {
    use std::collections::BTreeMap;
    use std::fs::File;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::SystemTime;

    use skillpkg_schema::manifest::Mode;

    use super::*;
    use crate::attacks::Sample;
    use crate::content::Store;

    #[test]
    fn a_private_copy_is_its_owners_alone_and_goes_with_its_value() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path()).unwrap();
        let mut files = BTreeMap::new();
        let text = b"---\nname: a\ndescription: A sample.\n---\nRead.\n".as_slice();
        for (path, bytes) in [("SKILL.md", text), ("bin/run", b"x")] {
            files.insert(path.parse().unwrap(), (Mode::of(path != "SKILL.md"), bytes.to_vec()));
        }
        let sample = Sample::new("a".parse().unwrap(), "1.0.0".parse().unwrap(), files).unwrap();
        let lease = store.lease().unwrap();
        store.ingest(&lease, sample.archive().unwrap().as_slice(), None).unwrap();

        let runs = home.path().join("runs");
        let left = |name: &str, age: u64| {
            std::fs::create_dir_all(runs.join(name).join("a/b")).unwrap();
            let time = SystemTime::now() - Duration::from_secs(age);
            File::open(runs.join(name)).unwrap().set_modified(time).unwrap();
        };
        left("run-1-1", 3600);
        left("run-1-2", 0);
        let copy = store.private_copy(&sample.manifest).unwrap();
        assert!(!runs.join("run-1-1").exists(), "what a killed call left goes");
        assert!(runs.join("run-1-2").exists(), "what has just begun stays");
        assert_eq!(std::fs::read(copy.path().join("bin/run")).unwrap(), b"x");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(copy.path().parent().unwrap()), 0o700);
        assert_eq!(mode(copy.path()), 0o555);
        let path = copy.path().to_owned();
        let other = store.private_copy(&sample.manifest).unwrap();
        assert!(path.exists() && other.path() != path);
        drop(copy);
        assert!(!path.parent().unwrap().exists());
    }
}
