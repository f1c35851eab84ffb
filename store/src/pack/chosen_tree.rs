//! A tree narrowed to the files that are packed, each with the bytes that were hashed.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read};

use skillpkg_schema::address::Digests;
use skillpkg_schema::manifest::{FileEntry, Mode};
use skillpkg_schema::tree::{Entry, Tree};

/// What whoever unpacks the archive will see: the chosen files and nothing else.
///
/// A manifest derived from this tree is the one that is derived again from the snapshot: a file
/// that is not packed is not there, and one that changes after it was hashed is an error.
pub(super) struct ChosenTree<'a> {
    tree: &'a dyn Tree,
    files: BTreeMap<&'a str, &'a FileEntry>,
}

impl<'a> ChosenTree<'a> {
    pub(super) fn new(tree: &'a dyn Tree, files: &'a [FileEntry]) -> Self {
        Self { tree, files: files.iter().map(|file| (file.path.as_str(), file)).collect() }
    }

    fn file(&self, path: &str) -> io::Result<&'a FileEntry> {
        self.files.get(path).copied().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }
}

fn entry_of(file: &FileEntry) -> Entry {
    Entry::File { executable: file.mode == Mode::Executable, size: file.size }
}

impl Tree for ChosenTree<'_> {
    fn entry(&self, path: &str) -> io::Result<Option<Entry>> {
        let path = path.trim_end_matches('/');
        if let Some(file) = self.files.get(path) {
            return Ok(Some(entry_of(file)));
        }
        let beneath = format!("{path}/");
        let is_directory = path.is_empty() || self.files.keys().any(|at| at.starts_with(&beneath));
        Ok(is_directory.then_some(Entry::Directory))
    }

    fn list(&self, directory: &str) -> io::Result<Vec<(String, Entry)>> {
        let beneath = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let mut names = BTreeMap::new();
        for (path, file) in &self.files {
            let Some(rest) = path.strip_prefix(&beneath) else { continue };
            match rest.split_once('/') {
                Some((name, _)) => names.insert(name.to_owned(), Entry::Directory),
                None => names.insert(rest.to_owned(), entry_of(file)),
            };
        }
        Ok(names.into_iter().collect())
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn Read + Send + '_>> {
        let size = self.file(path)?.size;
        Ok(Box::new(Cursor::new(self.read(path, size)?)))
    }

    fn read(&self, path: &str, limit: u64) -> io::Result<Vec<u8>> {
        let file = self.file(path)?;
        if file.size > limit {
            let message = format!("longer than {limit} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        let bytes = self.tree.read(path, file.size)?;
        let Digests { size, sha256, blake3 } = Digests::of(&bytes);
        if (size, sha256, blake3) != (file.size, file.sha256, file.blake3) {
            let message = "it changed while it was packed; pack again";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(bytes)
    }
}
