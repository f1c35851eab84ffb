//! Copies that their user edited, moved out of the way of what takes their place: whole, to a name
//! of their own.

use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use super::exchange::rename_new;
use crate::merge::Picture;
use crate::regular_file;

/// How many names are tried.
const MOST_NAMES: u32 = 10_000;
/// How deep directories are copied where a rename does not lead.
const DEEPEST: usize = 64;

/// A copy that was moved out of the way.
#[derive(Debug)]
pub(super) struct KeptCopy {
    /// Where it stood.
    pub(super) path: PathBuf,
    /// Where it lies.
    pub(super) kept: PathBuf,
    /// What it holds, where that could be read.
    pub(super) picture: Option<Picture>,
}

/// Moves the directory `name` to a free name beneath `edits`, `label` or one like it; answers where
/// it lies then.
///
/// One rename, after which whoever has a file of it open still writes into it. On another file
/// system it is copied, compared, and only then removed: a crash leaves the one, or both.
pub(super) fn keep(from: &Dir, name: &str, edits: &Path, label: &str) -> io::Result<PathBuf> {
    make_directory(edits)?;
    let to = Dir::open_ambient_dir(edits, ambient_authority())?;
    let free = match move_to_free(from, name, &to, label) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            copy_to_free(from, name, &to, label)?
        }
        answer => answer?,
    };
    Ok(edits.join(free))
}

/// Moves the directory `name` to a free name, `label` or one like it; answers with that.
pub(super) fn move_to_free(from: &Dir, name: &str, to: &Dir, label: &str) -> io::Result<String> {
    for number in 1..=MOST_NAMES {
        let free = if number == 1 { label.to_owned() } else { format!("{label}-{number}") };
        match rename_new(from, name, to, &free) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(free),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

fn copy_to_free(from: &Dir, name: &str, to: &Dir, label: &str) -> io::Result<String> {
    let source = from.open_dir_nofollow(name)?;
    // As what is made beside its place: what a kill leaves is found by its name.
    let unfinished = format!(".skillpkg-{label}-{}", std::process::id());
    to.create_dir(&unfinished)?;
    let copied = to.open_dir_nofollow(&unfinished).and_then(|target| {
        copy(&source, &target, DEEPEST)?;
        if Picture::of(&source)? == Picture::of(&target)? {
            return Ok(());
        }
        Err(io::Error::other("it changed while it was copied"))
    });
    let moved = copied.and_then(|()| move_to_free(to, &unfinished, to, label));
    match moved {
        Ok(free) => {
            from.remove_dir_all(name)?;
            Ok(free)
        }
        Err(error) => {
            let _ = to.remove_dir_all(&unfinished);
            Err(error)
        }
    }
}

/// Copies files, directories and links; anything else is an error.
fn copy(from: &Dir, to: &Dir, deeper: usize) -> io::Result<()> {
    for entry in from.entries()? {
        let name = entry?.file_name();
        let metadata = from.symlink_metadata(&name)?;
        if metadata.is_dir() {
            let deeper = deeper.checked_sub(1).ok_or_else(|| io::Error::other("it is too deep"))?;
            to.create_dir(&name)?;
            copy(&from.open_dir_nofollow(&name)?, &to.open_dir_nofollow(&name)?, deeper)?;
        } else if metadata.is_symlink() {
            link(to, &from.read_link_contents(&name)?, Path::new(&name))?;
        } else {
            let mut file = regular_file::open_in(from, Path::new(&name))?;
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            let mut copied = to.open_with(&name, &options)?.into_std();
            io::copy(&mut file, &mut copied)?;
            copied.set_permissions(file.metadata()?.permissions())?;
            copied.sync_all()?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn link(directory: &Dir, target: &Path, name: &Path) -> io::Result<()> {
    directory.symlink_contents(target, name)
}

#[cfg(not(unix))]
fn link(directory: &Dir, target: &Path, name: &Path) -> io::Result<()> {
    directory.symlink_file(target, name)
}

fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn opened(path: &Path) -> Dir {
        Dir::open_ambient_dir(path, ambient_authority()).unwrap()
    }

    #[test]
    fn what_is_kept_has_a_name_of_its_own_each_time() {
        let root = tempfile::tempdir().unwrap();
        let edits = root.path().join("home/edits");
        let from = opened(root.path());
        for (text, label) in [("one", "notes-1.0.0"), ("two", "notes-1.0.0-2")] {
            fs::create_dir(root.path().join("copy")).unwrap();
            fs::write(root.path().join("copy/a"), text).unwrap();
            let kept = keep(&from, "copy", &edits, "notes-1.0.0").unwrap();
            assert_eq!(kept, edits.join(label));
            assert_eq!(fs::read_to_string(kept.join("a")).unwrap(), text);
            assert!(!root.path().join("copy").exists());
        }
    }

    #[test]
    fn a_copy_to_another_file_system_is_whole_or_not_made() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("copy/docs/empty")).unwrap();
        fs::create_dir(at("to")).unwrap();
        fs::write(at("copy/docs/a"), "a").unwrap();
        symlink("/nowhere", at("copy/link")).unwrap();
        let (from, to) = (opened(root.path()), opened(&at("to")));
        let before = Picture::of(&opened(&at("copy"))).unwrap();
        assert_eq!(copy_to_free(&from, "copy", &to, "kept").unwrap(), "kept");
        assert_eq!(Picture::of(&opened(&at("to/kept"))).unwrap(), before);
        assert!(!at("copy").exists());

        fs::create_dir(at("copy")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(at("copy/pipe")).status();
        assert!(made.unwrap().success());
        assert!(copy_to_free(&from, "copy", &to, "kept").is_err());
        assert!(at("copy/pipe").symlink_metadata().is_ok());
        assert_eq!(fs::read_dir(at("to")).unwrap().count(), 1);
    }
}
