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
/// last time is.
#[cfg(not(target_os = "linux"))]
pub(super) fn sync(layout: &Layout) -> Result<(), StoreError> {
    layout.written().sync()
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
        while let Some(path) = paths.pop() {
            let error = |source| StoreError::io(&path, source);
            match std::fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => {
                    for entry in std::fs::read_dir(&path).map_err(error)? {
                        paths.push(entry.map_err(error)?.path());
                    }
                }
                Ok(found) if found.is_file() => {
                    std::fs::File::open(&path).and_then(|file| file.sync_all()).map_err(error)?;
                }
                // Collected since, or nothing of ours.
                _ => {}
            }
        }
        Ok(())
    }
}
