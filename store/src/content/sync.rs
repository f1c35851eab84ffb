//! Durability, paid once an install and not once a file.

use super::error::StoreError;
use super::layout::Layout;

/// Makes what was written before survive a loss of power.
///
/// One `syncfs` of the file system that the store lies on, which also answers for what the kernel
/// had begun to write already (Linux 5.8 and later).
#[cfg(target_os = "linux")]
pub(super) fn sync(layout: &Layout) -> Result<(), StoreError> {
    use super::error::AtPath as _;
    // The root's own handle is one for paths alone, which cannot be synced.
    let at = || layout.path().to_owned();
    let root = layout.root().open(".").at(at)?;
    rustix::fs::syncfs(&root).map_err(std::io::Error::from).at(at)
}

/// Makes what was written before survive a loss of power.
///
/// Where one file system cannot be synced alone, each file that this store has written since the
/// last time is, with the directories that its name is found through; on Windows the file system's
/// own journal keeps those.
#[cfg(not(target_os = "linux"))]
pub(super) fn sync(layout: &Layout) -> Result<(), StoreError> {
    layout.written().sync()?;
    flush_disk(layout)
}

/// Tells the disk to write out what it was given: on macOS a sync does not, and telling it once for
/// all files is enough.
#[cfg(target_vendor = "apple")]
fn flush_disk(layout: &Layout) -> Result<(), StoreError> {
    use rustix::io::Errno;

    use super::error::AtPath as _;
    let at = || layout.path().to_owned();
    let root = layout.root().open(".").at(at)?;
    match rustix::fs::fcntl_fullfsync(&root) {
        // A volume that cannot be told so, as on a network, has done what it does.
        Ok(()) | Err(Errno::INVAL | Errno::NOTSUP | Errno::NOTTY) => Ok(()),
        Err(error) => Err(std::io::Error::from(error)).at(at),
    }
}

/// A sync has done so already.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
#[expect(clippy::unnecessary_wraps, reason = "the same call everywhere")]
fn flush_disk(_: &Layout) -> Result<(), StoreError> {
    Ok(())
}

#[cfg(all(unix, not(target_os = "linux")))]
fn sync_file(path: &std::path::Path) -> std::io::Result<()> {
    Ok(rustix::fs::fsync(std::fs::File::open(path)?)?)
}

/// Windows syncs nothing that is open for reading alone.
#[cfg(windows)]
fn sync_file(path: &std::path::Path) -> std::io::Result<()> {
    std::fs::File::options().write(true).open(path)?.sync_all()
}

#[cfg(all(unix, not(target_os = "linux")))]
fn sync_directory(path: &std::path::Path) -> std::io::Result<()> {
    sync_file(path)
}

#[cfg(windows)]
#[expect(clippy::unnecessary_wraps, reason = "the same call everywhere")]
fn sync_directory(_: &std::path::Path) -> std::io::Result<()> {
    Ok(())
}

/// The files and trees written since the last sync; nothing where a file system is synced whole.
#[derive(Debug, Default)]
pub(super) struct Written {
    #[cfg(not(target_os = "linux"))]
    paths: std::sync::Mutex<Vec<std::path::PathBuf>>,
}

#[cfg(target_os = "linux")]
impl Written {
    /// Remembers what was put in place.
    #[expect(clippy::unused_self, reason = "the same call everywhere")]
    pub(super) fn remember(&self, _: impl FnOnce() -> std::path::PathBuf) {}
}

#[cfg(not(target_os = "linux"))]
impl Written {
    /// Remembers what was put in place.
    pub(super) fn remember(&self, path: impl FnOnce() -> std::path::PathBuf) {
        self.lock().push(path());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<std::path::PathBuf>> {
        // A list is whole after any panic.
        self.paths.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn sync(&self) -> Result<(), StoreError> {
        let mut paths = std::mem::take(&mut *self.lock());
        let parents: std::collections::BTreeSet<_> =
            paths.iter().filter_map(|path| path.parent()).map(std::path::Path::to_owned).collect();
        while let Some(path) = paths.pop() {
            let error = |source| StoreError::io(&path, source);
            match std::fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => {
                    for entry in std::fs::read_dir(&path).map_err(error)? {
                        paths.push(entry.map_err(error)?.path());
                    }
                    sync_directory(&path).map_err(error)?;
                }
                Ok(found) if found.is_file() => {
                    sync_file(&path).map_err(error)?;
                }
                // Collected since, or nothing of ours.
                _ => {}
            }
        }
        for parent in parents {
            sync_directory(&parent).map_err(|source| StoreError::io(&parent, source))?;
        }
        Ok(())
    }
}
