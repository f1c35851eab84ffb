//! The files of an archive, unpacked under numbers and read under their paths.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use skillpkg_schema::manifest::{FileEntry, Mode};
use skillpkg_schema::tree::{Entry, Tree};
use skillpkg_store::archive::Sink;

/// Files of one archive, in a directory of their own.
///
/// No path of the archive ever becomes a path on this machine: the files lie there as `0`, `1`, ….
#[derive(Debug)]
pub(crate) struct Staged {
    directory: PathBuf,
    files: BTreeMap<String, (Entry, PathBuf)>,
}

impl Staged {
    /// None yet, in a new directory.
    pub(crate) fn create(directory: PathBuf) -> io::Result<Self> {
        fs::create_dir(&directory)?;
        Ok(Self { directory, files: BTreeMap::new() })
    }

    /// Where the file with this path lies.
    pub(crate) fn location(&self, path: &str) -> Option<&Path> {
        self.files.get(path).map(|(_, location)| location.as_path())
    }
}

impl Staged {
    /// A new file for the content of `entry`, which is whoever asks to write.
    pub(crate) fn place(&mut self, entry: &FileEntry) -> io::Result<File> {
        let location = self.directory.join(self.files.len().to_string());
        let file = File::create_new(&location)?;
        let executable = entry.mode == Mode::Executable;
        let what = Entry::File { executable, size: entry.size };
        self.files.insert(entry.path.as_str().to_owned(), (what, location));
        Ok(file)
    }
}

impl Sink for Staged {
    fn file(&mut self, entry: &FileEntry, content: &mut dyn Read) -> io::Result<()> {
        io::copy(content, &mut self.place(entry)?).map(|_| ())
    }
}

fn beneath(directory: &str) -> String {
    if directory.is_empty() { String::new() } else { format!("{directory}/") }
}

impl Tree for Staged {
    fn entry(&self, path: &str) -> io::Result<Option<Entry>> {
        let path = path.trim_end_matches('/');
        if let Some((entry, _)) = self.files.get(path) {
            return Ok(Some(*entry));
        }
        let beneath = beneath(path);
        // The first key from there on is beneath it where any is.
        let first = self.files.range(beneath.clone()..).next();
        let is_directory = first.is_some_and(|(file, _)| file.starts_with(&beneath));
        Ok((is_directory || path.is_empty()).then_some(Entry::Directory))
    }

    fn list(&self, directory: &str) -> io::Result<Vec<(String, Entry)>> {
        let beneath = beneath(directory.trim_end_matches('/'));
        let mut names: BTreeMap<String, Entry> = BTreeMap::new();
        for (path, (entry, _)) in self.files.range(beneath.clone()..) {
            let Some(rest) = path.strip_prefix(&beneath) else { break };
            let (name, entry) = match rest.split_once('/') {
                Some((name, _)) => (name, Entry::Directory),
                None => (rest, *entry),
            };
            names.insert(name.to_owned(), entry);
        }
        Ok(names.into_iter().collect())
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn Read + Send + '_>> {
        match self.location(path) {
            Some(location) => Ok(Box::new(File::open(location)?)),
            None => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }
}

#[cfg(test)]
mod tests {
    use skillpkg_schema::address::Digests;

    use super::*;

    #[test]
    fn files_are_read_under_their_paths() {
        let directory = tempfile::tempdir().unwrap();
        let mut staged = Staged::create(directory.path().join("files")).unwrap();
        for (path, mode) in
            [("SKILL.md", Mode::Regular), ("a/b/run", Mode::Executable), ("a.x", Mode::Regular)]
        {
            let entry = FileEntry::new(path.parse().unwrap(), mode, Digests::of(path.as_bytes()));
            staged.file(&entry, &mut path.as_bytes()).unwrap();
        }
        assert_eq!(staged.read("a/b/run", 100).unwrap(), b"a/b/run");
        assert!(staged.open("a/b").is_err());
        assert_eq!(staged.entry("a/b").unwrap(), Some(Entry::Directory));
        assert_eq!(staged.entry("a/c").unwrap(), None);
        let run = Entry::File { executable: true, size: 7 };
        assert_eq!(staged.entry("a/b/run").unwrap(), Some(run));
        let names = |directory: &str| -> Vec<String> {
            staged.list(directory).unwrap().into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names(""), ["SKILL.md", "a", "a.x"]);
        assert_eq!(names("a/b"), ["run"]);
    }
}
