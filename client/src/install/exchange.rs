//! Names that change places beneath opened directories, without anything being replaced unseen.

use std::io;

use cap_std::fs::Dir;

/// Renames without ever replacing what somebody put there in the meantime.
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(super) fn rename_new(from: &Dir, name: &str, to: &Dir, new_name: &str) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    match renameat_with(from, name, to, new_name, RenameFlags::NOREPLACE) {
        Err(error) if is_unknown(error) => rename_checked(from, name, to, new_name),
        answer => Ok(answer?),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(super) fn rename_new(from: &Dir, name: &str, to: &Dir, new_name: &str) -> io::Result<()> {
    rename_checked(from, name, to, new_name)
}

fn rename_checked(from: &Dir, name: &str, to: &Dir, new_name: &str) -> io::Result<()> {
    if to.symlink_metadata(new_name).is_ok() {
        return Err(io::Error::from(io::ErrorKind::AlreadyExists));
    }
    from.rename(name, to, new_name)
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(super) fn swap(directory: &Dir, staging: &Dir, name: &str) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    match renameat_with(staging, name, directory, name, RenameFlags::EXCHANGE) {
        Err(error) if is_unknown(error) => swap_in_steps(directory, staging, name),
        answer => Ok(answer?),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(super) fn swap(directory: &Dir, staging: &Dir, name: &str) -> io::Result<()> {
    swap_in_steps(directory, staging, name)
}

/// Whether the file system does not know the flag of a rename.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn is_unknown(error: rustix::io::Errno) -> bool {
    use rustix::io::Errno;
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::NOTSUP)
}

/// What is called for a moment what is taken out, where names cannot be exchanged.
pub(super) fn aside_of(name: &str) -> String {
    format!("{name}.aside")
}

/// Where names cannot be exchanged, what stands there is out of sight for a moment.
fn swap_in_steps(directory: &Dir, staging: &Dir, name: &str) -> io::Result<()> {
    let aside = aside_of(name);
    directory.rename(name, staging, &aside)?;
    match staging.rename(name, directory, name) {
        Ok(()) => staging.rename(&aside, staging, name),
        Err(error) => {
            staging.rename(&aside, directory, name)?;
            Err(error)
        }
    }
}
