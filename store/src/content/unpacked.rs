//! The files of an archive that is not yet checked to its end, nothing of them in place.

use std::io::{self, Read, Write as _};

use skillpkg_schema::Manifest;
use skillpkg_schema::manifest::{FileEntry, Mode};
use skillpkg_schema::tree::{Entry, Tree};

use super::blob::{Content, PIECE, SMALL, place, read_only};
use super::directory::open_file;
use super::error::StoreError;
use super::layout::Layout;
use super::temporary::TemporaryFile;
use crate::archive::{ArchiveError, Sink};

/// Most bytes of small files that one archive keeps in memory until all of it is checked.
const MOST_IN_MEMORY: u64 = 8 * 1024 * 1024;

/// The contents of the files of `manifest`, in its order, as far as they have come.
pub(super) struct Unpacked<'store, 'manifest> {
    layout: &'store Layout,
    manifest: &'manifest Manifest,
    contents: Vec<Content<'store>>,
    in_memory: u64,
    /// Why a file could not be written, with its path, which an archive's error does not carry.
    failed: Option<StoreError>,
}

impl<'store, 'manifest> Unpacked<'store, 'manifest> {
    /// Nothing yet.
    pub(super) fn new(layout: &'store Layout, manifest: &'manifest Manifest) -> Self {
        Self { layout, manifest, contents: Vec::new(), in_memory: 0, failed: None }
    }

    /// The error that says most of why unpacking ended.
    pub(super) fn failure(&mut self, error: ArchiveError) -> StoreError {
        match (error, self.failed.take()) {
            // A fault of the archive's own is told as such, whatever else went wrong.
            (ArchiveError::Io(_), Some(failed)) => failed,
            (error, _) => StoreError::Archive(error),
        }
    }

    /// Puts every blob in place.
    pub(super) fn place(self) -> Result<(), StoreError> {
        for (entry, content) in self.manifest.files.iter().zip(self.contents) {
            place(self.layout, entry, content)?;
        }
        Ok(())
    }

    /// Takes a file into memory while there is room, else into `tmp/`.
    ///
    /// A failure to read is the archive's, and told as it is; one to write is kept with its path.
    fn take(&mut self, entry: &FileEntry, content: &mut dyn Read) -> io::Result<()> {
        let room = MOST_IN_MEMORY.saturating_sub(self.in_memory);
        if entry.size <= SMALL.min(room) {
            let mut bytes = Vec::with_capacity(usize::try_from(entry.size).unwrap_or(0));
            content.read_to_end(&mut bytes)?;
            self.in_memory += entry.size;
            self.contents.push(Content::Memory(bytes));
            return Ok(());
        }
        let file = TemporaryFile::create(self.layout, "blob", read_only(entry.mode));
        let mut file = file.map_err(|error| self.fail(error))?;
        let mut piece = vec![0; PIECE];
        loop {
            let read = match content.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let written = file.handle().write_all(piece.get(..read).unwrap_or_default());
            written.map_err(|source| {
                let path = self.layout.temporary_path(file.name());
                self.fail(StoreError::Io { path, source })
            })?;
        }
        self.contents.push(Content::Written(file));
        Ok(())
    }

    fn fail(&mut self, error: StoreError) -> io::Error {
        let message = error.to_string();
        self.failed = Some(error);
        io::Error::other(message)
    }

    /// The entry and the content of a file that has come.
    fn find(&self, path: &str) -> Option<(&FileEntry, &Content<'store>)> {
        let files = &self.manifest.files;
        let found = files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        Some((files.get(found)?, self.contents.get(found)?))
    }
}

impl Sink for Unpacked<'_, '_> {
    fn file(&mut self, entry: &FileEntry, content: &mut dyn Read) -> io::Result<()> {
        self.take(entry, content)
    }
}

/// What stands at the path of an entry of a manifest.
fn entry_of(file: &FileEntry) -> Entry {
    Entry::File { executable: file.mode == Mode::Executable, size: file.size }
}

impl Tree for Unpacked<'_, '_> {
    fn entry(&self, path: &str) -> io::Result<Option<Entry>> {
        let path = path.trim_end_matches('/');
        if let Some((file, _)) = self.find(path) {
            return Ok(Some(entry_of(file)));
        }
        let holds_file = |file: &FileEntry| file.path.parents().any(|parent| parent == path);
        let is_directory = path.is_empty() || self.manifest.files.iter().any(holds_file);
        Ok(is_directory.then_some(Entry::Directory))
    }

    fn list(&self, directory: &str) -> io::Result<Vec<(String, Entry)>> {
        let directory = directory.trim_end_matches('/');
        let beneath = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let mut names: Vec<(String, Entry)> = Vec::new();
        for file in &self.manifest.files {
            let Some(rest) = file.path.as_str().strip_prefix(&beneath) else { continue };
            let (name, entry) = match rest.split_once('/') {
                Some((name, _)) => (name, Entry::Directory),
                None => (rest, entry_of(file)),
            };
            // What shares a directory stands together.
            if names.last().is_none_or(|(last, _)| last != name) {
                names.push((name.to_owned(), entry));
            }
        }
        // Files were sorted by whole paths: `a.txt` came before `a/b`.
        names.sort_by(|(left, _), (right, _)| left.as_bytes().cmp(right.as_bytes()));
        Ok(names)
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn Read + Send + '_>> {
        match self.find(path) {
            Some((_, Content::Memory(bytes))) => Ok(Box::new(bytes.as_slice())),
            Some((_, Content::Written(file))) => {
                Ok(Box::new(open_file(self.layout.temporary(), file.name())?))
            }
            None => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use crate::attacks::Sample;
    use skillpkg_schema::tree::MemoryTree;

    /// Files beside each other, beneath each other, and one too large for memory.
    fn sample() -> Sample {
        let mut files = BTreeMap::new();
        let large = vec![b'x'; usize::try_from(SMALL).unwrap() + 1];
        for (path, bytes) in [
            ("SKILL.md", b"---\nname: a\n---\n".as_slice()),
            ("a-b/c", b"1"),
            ("a.txt", b"2"),
            ("a/b/c", &large),
            ("a/d", b""),
            ("bin/run", b"3"),
        ] {
            let mode = Mode::of(path.starts_with("bin/"));
            files.insert(path.parse().unwrap(), (mode, bytes.to_vec()));
        }
        Sample::new("a".parse().unwrap(), "1.0.0".parse().unwrap(), files).unwrap()
    }

    #[test]
    fn what_has_come_is_read_like_any_tree() {
        let home = tempfile::tempdir().unwrap();
        let layout = Layout::open(home.path()).unwrap();
        let Sample { manifest, files, .. } = sample();
        let mut unpacked = Unpacked::new(&layout, &manifest);
        let mut memory = MemoryTree::default();
        for entry in &manifest.files {
            let bytes = &files[&entry.path];
            unpacked.file(entry, &mut bytes.as_slice()).unwrap();
            memory.insert(entry.path.as_str(), entry.mode == Mode::Executable, bytes.as_slice());
        }
        for path in ["", "a", "a/b", "a-b", "bin", "b", "a/d", "a/b/c", "a.txt", "nothing", "a/b/x"]
        {
            assert_eq!(unpacked.entry(path).unwrap(), memory.entry(path).unwrap(), "{path}");
            let read = |tree: &dyn Tree| tree.read(path, 1 << 20).ok();
            assert_eq!(read(&unpacked), read(&memory), "{path}");
        }
        for directory in ["", "a", "a/b", "a-b", "bin"] {
            let (left, right) = (unpacked.list(directory), memory.list(directory));
            assert_eq!(left.unwrap(), right.unwrap(), "{directory}");
        }
        assert!(std::fs::read_dir(home.path().join("tmp")).unwrap().next().is_some());
        drop(unpacked);
        assert!(std::fs::read_dir(home.path().join("tmp")).unwrap().next().is_none());
    }
}
