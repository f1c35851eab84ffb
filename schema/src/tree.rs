//! The files of one skill, wherever they lie: a directory, a snapshot, memory.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::Path;

use cap_fs_ext::{
    DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsMaybeDirExt as _,
};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, FileType, Metadata, OpenOptions};

use crate::diagnostic::escape;

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// A regular file.
    File {
        /// Whether its owner may execute it.
        executable: bool,
        /// Its length in bytes when it was looked at.
        size: u64,
    },
    /// A directory.
    Directory,
    /// A symbolic link, never followed.
    Link,
    /// A device, a pipe, a socket.
    Special,
}

/// Reads a skill's files and never follows a link.
///
/// Paths are `/`-separated and relative to the skill's directory; the empty path is the directory
/// itself. A caller refuses absolute and climbing paths before it asks.
pub trait Tree {
    /// What stands at `path`; [`None`] where nothing does. A link on the way is [`Entry::Link`].
    fn entry(&self, path: &str) -> io::Result<Option<Entry>>;

    /// The names in a directory, each with what it is, sorted by their bytes.
    ///
    /// A name that is not UTF-8 is an error of kind [`io::ErrorKind::InvalidData`] around
    /// [`NameNotUtf8`].
    fn list(&self, directory: &str) -> io::Result<Vec<(String, Entry)>>;

    /// Opens a regular file for reading; a link at or on the way to it is an error.
    fn open(&self, path: &str) -> io::Result<Box<dyn Read + Send + '_>>;

    /// The bytes of a file of at most `limit` bytes; a longer one is an error of kind
    /// [`io::ErrorKind::FileTooLarge`].
    fn read(&self, path: &str, limit: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            let message = format!("longer than {limit} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        Ok(bytes)
    }
}

/// A name in a directory that is not UTF-8, and that no path of a skill can hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the name `{shown}` is not UTF-8")]
pub struct NameNotUtf8 {
    /// The name, safe to print: each byte that is none of a character as `\\xff`.
    pub shown: String,
}

impl NameNotUtf8 {
    /// The name over which a directory could not be listed, if it was one.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// The path of what is called so in `directory`, as it is shown.
    pub fn within(&self, directory: &str) -> String {
        if directory.is_empty() {
            self.shown.clone()
        } else {
            format!("{}/{}", escape(directory), self.shown)
        }
    }
}

/// A name as it is shown, whatever bytes it holds.
fn shown(name: &[u8]) -> String {
    let mut shown = String::new();
    for chunk in name.utf8_chunks() {
        shown.push_str(&escape(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// A skill's directory on disk, read beneath its handle.
#[derive(Debug)]
pub struct DirectoryTree {
    root: Dir,
}

impl DirectoryTree {
    /// Opens a directory. The path to it may hold links; nothing beneath it may.
    pub fn open(path: &Path) -> io::Result<Self> {
        Dir::open_ambient_dir(path, ambient_authority()).map(Self::from)
    }

    /// The handle of the directory.
    pub fn handle(&self) -> &Dir {
        &self.root
    }

    /// Opens the directory at `path`, each step without following a link.
    fn directory(&self, path: &str) -> io::Result<Dir> {
        let mut directory = self.root.try_clone()?;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            directory = directory.open_dir_nofollow(part)?;
        }
        Ok(directory)
    }
}

impl From<Dir> for DirectoryTree {
    fn from(root: Dir) -> Self {
        Self { root }
    }
}

fn entry_of(metadata: &Metadata) -> Entry {
    let kind: FileType = metadata.file_type();
    if kind.is_symlink() {
        Entry::Link
    } else if kind.is_dir() {
        Entry::Directory
    } else if kind.is_file() {
        Entry::File { executable: is_executable(metadata), size: metadata.len() }
    } else {
        Entry::Special
    }
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use cap_std::fs::MetadataExt as _;
    metadata.mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &Metadata) -> bool {
    false
}

fn divide(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

impl Tree for DirectoryTree {
    fn entry(&self, path: &str) -> io::Result<Option<Entry>> {
        let path = path.trim_end_matches('/');
        if path.is_empty() {
            return Ok(Some(Entry::Directory));
        }
        let mut directory = self.root.try_clone()?;
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            let metadata = match directory.symlink_metadata(part) {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            };
            let entry = entry_of(&metadata);
            match (parts.peek(), entry) {
                (None, _) | (Some(_), Entry::Link) => return Ok(Some(entry)),
                (Some(_), Entry::Directory) => directory = directory.open_dir_nofollow(part)?,
                (Some(_), _) => return Ok(None),
            }
        }
        Ok(None)
    }

    fn list(&self, directory: &str) -> io::Result<Vec<(String, Entry)>> {
        let mut names = Vec::new();
        for found in self.directory(directory)?.entries()? {
            let found = found?;
            let name = found.file_name().into_string().map_err(|name| {
                let name = NameNotUtf8 { shown: shown(name.as_encoded_bytes()) };
                io::Error::new(io::ErrorKind::InvalidData, name)
            })?;
            names.push((name, entry_of(&found.metadata()?)));
        }
        names.sort_by(|(left, _), (right, _)| left.as_bytes().cmp(right.as_bytes()));
        Ok(names)
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn Read + Send + '_>> {
        let (directory, name) = divide(path);
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No).maybe_dir(false);
        #[cfg(unix)]
        {
            use cap_std::fs::OpenOptionsExt as _;
            // A pipe put in the file's place must not hold us up.
            options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        }
        let file = self.directory(directory)?.open_with(name, &options)?;
        if !file.metadata()?.is_file() {
            let message = "it is not a regular file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Ok(Box::new(file))
    }
}

/// A skill's files in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryTree {
    files: BTreeMap<String, (bool, Vec<u8>)>,
}

impl MemoryTree {
    /// Puts a file at `path`.
    pub fn insert(&mut self, path: impl Into<String>, executable: bool, bytes: impl Into<Vec<u8>>) {
        self.files.insert(path.into(), (executable, bytes.into()));
    }
}

impl Tree for MemoryTree {
    fn entry(&self, path: &str) -> io::Result<Option<Entry>> {
        if let Some((executable, bytes)) = self.files.get(path) {
            return Ok(Some(Entry::File { executable: *executable, size: bytes.len() as u64 }));
        }
        let beneath = if path.is_empty() { String::new() } else { format!("{path}/") };
        let is_directory = self.files.keys().any(|file| file.starts_with(&beneath));
        Ok((is_directory || path.is_empty()).then_some(Entry::Directory))
    }

    fn list(&self, directory: &str) -> io::Result<Vec<(String, Entry)>> {
        let beneath = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let mut names: BTreeMap<String, Entry> = BTreeMap::new();
        for (path, (executable, bytes)) in &self.files {
            let Some(rest) = path.strip_prefix(&beneath) else { continue };
            let (name, entry) = match rest.split_once('/') {
                Some((name, _)) => (name, Entry::Directory),
                None => (rest, Entry::File { executable: *executable, size: bytes.len() as u64 }),
            };
            names.insert(name.to_owned(), entry);
        }
        // A directory in memory is there because of what it holds.
        if names.is_empty() && !directory.is_empty() {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        Ok(names.into_iter().collect())
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn Read + Send + '_>> {
        match self.files.get(path) {
            Some((_, bytes)) => Ok(Box::new(bytes.as_slice())),
            None => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_that_is_not_utf_8_is_shown_byte_for_byte() {
        use std::os::unix::ffi::OsStrExt as _;
        let directory = tempfile::tempdir().unwrap();
        let name = std::ffi::OsStr::from_bytes(b"f\xff\x1b\xc3.txt");
        std::fs::create_dir(directory.path().join("d")).unwrap();
        std::fs::write(directory.path().join("d").join(name), "x").unwrap();
        let error = DirectoryTree::open(directory.path()).unwrap().list("d").unwrap_err();
        let name = NameNotUtf8::of(&error).unwrap();
        assert_eq!(name.within("d"), "d/f\\xff\\u{1b}\\xc3.txt");
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_is_read_and_no_link_followed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir(root.join("q")).unwrap();
        std::fs::write(root.join("q/a"), "x").unwrap();
        std::os::unix::fs::symlink("q", root.join("l")).unwrap();
        std::os::unix::fs::symlink("a", root.join("q/b")).unwrap();
        let tree = DirectoryTree::open(root).unwrap();
        assert_eq!(tree.entry("l").unwrap(), Some(Entry::Link));
        assert_eq!(tree.entry("l/a").unwrap(), Some(Entry::Link));
        assert_eq!(tree.entry("q/a").unwrap(), Some(Entry::File { executable: false, size: 1 }));
        assert_eq!(tree.entry("q/a/z").unwrap(), None);
        assert!(tree.open("l/a").is_err() && tree.open("q/b").is_err() && tree.open("q").is_err());
        assert_eq!(tree.read("q/a", 1).unwrap(), b"x");
        assert!(tree.read("q/a", 0).is_err());
        let names: Vec<String> = tree.list("").unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["l", "q"]);
    }
}
