//! What a directory holds, file by file: enough to tell whether anything in it was changed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use skillpkg_schema::address::{Digests, Hasher};
use skillpkg_schema::manifest::Mode;
use skillpkg_schema::{Blake3Digest, Manifest};

use crate::regular_file;

/// How deep directories are looked into; a skill's own are not that deep.
const DEEPEST: usize = 64;
/// Most entries that are looked at.
const MOST_ENTRIES: usize = 100_000;

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Thing {
    /// A file that can be read.
    File(Mode, Blake3Digest),
    /// A directory with nothing in it.
    EmptyDirectory,
    /// A link, and what it says.
    Link(PathBuf),
    /// A file that cannot be read, a pipe, a device, or a directory that is too deep.
    Other,
}

/// What a directory holds, by relative path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Picture(BTreeMap<PathBuf, Thing>);

impl Picture {
    /// What a directory holds now. No link is followed; more than 100,000 entries are an error.
    pub(crate) fn of(directory: &Dir) -> io::Result<Self> {
        let mut all = BTreeMap::new();
        look(directory, Path::new(""), DEEPEST, &mut all)?;
        Ok(Self(all))
    }

    /// What a copy of a snapshot holds.
    pub(crate) fn of_snapshot(manifest: &Manifest) -> Self {
        let thing = |mode, digest| Thing::File(mode, digest);
        let files = manifest.files.iter();
        Self(files.map(|one| (one.path.as_str().into(), thing(one.mode, one.blake3))).collect())
    }

    /// A digest of all of it.
    pub(crate) fn digest(&self) -> Blake3Digest {
        let mut hasher = Hasher::new();
        let mut add = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_be_bytes());
            hasher.update(bytes);
        };
        for (path, thing) in &self.0 {
            add(path.as_os_str().as_encoded_bytes());
            match thing {
                Thing::File(mode, digest) => {
                    add(format!("file {:o} {digest}", mode.bits()).as_bytes());
                }
                Thing::EmptyDirectory => add(b"directory"),
                Thing::Link(target) => {
                    add(b"link");
                    add(target.as_os_str().as_encoded_bytes());
                }
                Thing::Other => add(b"other"),
            }
        }
        hasher.finish().blake3
    }

    /// What stands here at a path.
    pub(super) fn at(&self, path: &Path) -> Option<&Thing> {
        self.0.get(path)
    }

    /// The paths at which something else stands in `other`, sorted.
    pub(crate) fn differing<'p>(&'p self, other: &'p Self) -> Vec<&'p Path> {
        let mut paths: Vec<&Path> =
            self.0.keys().chain(other.0.keys()).map(AsRef::as_ref).collect();
        paths.sort_unstable();
        paths.dedup();
        paths.retain(|path| self.at(path) != other.at(path));
        paths
    }
}

fn look(
    directory: &Dir,
    path: &Path,
    deeper: usize,
    all: &mut BTreeMap<PathBuf, Thing>,
) -> io::Result<()> {
    let mut is_empty = true;
    for entry in directory.entries()? {
        let name = entry?.file_name();
        is_empty = false;
        if all.len() >= MOST_ENTRIES {
            return Err(io::Error::other(format!("it has more than {MOST_ENTRIES} entries")));
        }
        let at = path.join(&name);
        let metadata = match directory.symlink_metadata(&name) {
            Ok(metadata) => metadata,
            // Taken out while it was looked at.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let thing = if metadata.is_dir() {
            match (deeper.checked_sub(1), directory.open_dir_nofollow(&name)) {
                (Some(deeper), Ok(inner)) => {
                    look(&inner, &at, deeper, all)?;
                    continue;
                }
                _ => Thing::Other,
            }
        } else if metadata.is_symlink() {
            directory.read_link_contents(&name).map_or(Thing::Other, Thing::Link)
        } else {
            file(directory, Path::new(&name)).unwrap_or(Thing::Other)
        };
        all.insert(at, thing);
    }
    if is_empty && !path.as_os_str().is_empty() {
        all.insert(path.to_owned(), Thing::EmptyDirectory);
    }
    Ok(())
}

fn file(directory: &Dir, name: &Path) -> io::Result<Thing> {
    let file = regular_file::open_in(directory, name)?;
    let (mode, size) = (mode_of(&file)?, file.metadata()?.len());
    // What is appended meanwhile would have no end.
    Ok(Thing::File(mode, Digests::of_reader(file.take(size))?.blake3))
}

/// Whether a file is executable by its owner.
#[cfg(unix)]
pub(super) fn mode_of(file: &File) -> io::Result<Mode> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(Mode::of(file.metadata()?.permissions().mode() & 0o100 != 0))
}

/// Nothing is marked executable there.
#[cfg(not(unix))]
pub(super) fn mode_of(_: &File) -> io::Result<Mode> {
    Ok(Mode::Regular)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use cap_std::ambient_authority;

    use super::*;

    fn of(path: &Path) -> Picture {
        Picture::of(&Dir::open_ambient_dir(path, ambient_authority()).unwrap()).unwrap()
    }

    #[test]
    fn every_kind_of_change_gives_another_picture() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir(at("docs")).unwrap();
        fs::write(at("docs/a"), "a").unwrap();
        let start = of(root.path());
        assert_eq!(of(root.path()), start);
        let changes: [(&str, &dyn Fn()); 7] = [
            ("docs/a", &|| fs::write(at("docs/a"), "b").unwrap()),
            ("docs/a", &|| {
                fs::set_permissions(at("docs/a"), fs::Permissions::from_mode(0o755)).unwrap();
            }),
            ("docs/b", &|| fs::write(at("docs/b"), "").unwrap()),
            ("empty", &|| fs::create_dir(at("empty")).unwrap()),
            ("link", &|| symlink("docs/a", at("link")).unwrap()),
            ("link", &|| {
                fs::remove_file(at("link")).unwrap();
                symlink("/dev/zero", at("link")).unwrap();
            }),
            ("pipe", &|| {
                let made = std::process::Command::new("mkfifo").arg(at("pipe")).status();
                assert!(made.unwrap().success());
            }),
        ];
        let mut last = start;
        for (path, change) in changes {
            change();
            let now = of(root.path());
            assert_eq!(last.differing(&now), [Path::new(path)]);
            assert_ne!(last.digest(), now.digest(), "{path}");
            last = now;
        }
    }
}
