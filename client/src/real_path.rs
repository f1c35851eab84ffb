//! Paths as this system and its programs spell them.

use std::io;
use std::path::{Path, PathBuf};

/// The path with every link resolved.
///
/// On Windows it is without the `\\?\` that the system puts before it, which many programs do not
/// understand, wherever the rest means the same without.
pub(crate) fn of(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().map(plain)
}

/// The path with the separators of this system.
#[cfg(not(windows))]
pub(crate) fn native(path: PathBuf) -> PathBuf {
    path
}

/// The path with the separators of this system.
#[cfg(windows)]
pub(crate) fn native(path: PathBuf) -> PathBuf {
    path.components().collect()
}

#[cfg(not(windows))]
fn plain(path: PathBuf) -> PathBuf {
    path
}

#[cfg(windows)]
fn plain(path: PathBuf) -> PathBuf {
    use std::path::{Component, Prefix};

    use skillpkg_schema::path::is_windows_device;

    let mut parts = path.components();
    let Some(Component::Prefix(prefix)) = parts.next() else { return path };
    let Prefix::VerbatimDisk(drive) = prefix.kind() else { return path };
    let is_same = parts.clone().all(|part| match part {
        Component::RootDir => true,
        Component::Normal(name) => name
            .to_str()
            .is_some_and(|name| !is_windows_device(name) && !name.ends_with(['.', ' '])),
        _ => false,
    });
    if !is_same {
        return path;
    }
    let mut plain = PathBuf::from(format!("{}:", char::from(drive)));
    plain.extend(parts);
    plain
}

#[cfg(all(test, windows))]
mod tests {
    use super::*;

    #[test]
    fn separators_are_those_of_the_system() {
        assert_eq!(native(PathBuf::from(r"C:\a/.b/c")).to_str(), Some(r"C:\a\.b\c"));
    }

    #[test]
    fn a_path_is_spelled_as_programs_expect_unless_that_means_something_else() {
        for (verbatim, shown) in [
            (r"\\?\C:\a\b", r"C:\a\b"),
            (r"\\?\C:\", r"C:\"),
            (r"\\?\C:\a\nul.txt", r"\\?\C:\a\nul.txt"),
            (r"\\?\C:\a.\b", r"\\?\C:\a.\b"),
            (r"\\?\UNC\server\share\a", r"\\?\UNC\server\share\a"),
            (r"C:\a", r"C:\a"),
        ] {
            assert_eq!(plain(PathBuf::from(verbatim)), Path::new(shown));
        }
    }
}
