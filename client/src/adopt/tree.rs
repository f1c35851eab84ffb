//! A directory as another tool left it: every file's digest, and one for all of it.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::Path;

use skillpkg_schema::Sha256Digest;
use skillpkg_schema::address::Digests;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::limits::{
    MAX_FILES, MAX_PATH_DEPTH, MAX_SKILL_FILE_BYTES, MAX_UNPACKED_BYTES,
};
use skillpkg_schema::skill;
use skillpkg_schema::tree::{DirectoryTree, Entry, Tree as _};

const SKILL_FILE: &str = "SKILL.md";
/// The byte order mark of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// One file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundFile {
    pub(crate) size: u64,
    pub(crate) sha256: Sha256Digest,
    pub(crate) executable: bool,
}

/// A directory as another tool left it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FoundTree {
    /// Its regular files by path.
    pub(crate) files: BTreeMap<String, FoundFile>,
    /// What is no regular file, and no version of a skill has.
    pub(crate) odd: Vec<String>,
    /// The name that its `SKILL.md` gives.
    pub(crate) name: Option<String>,
    /// What its `SKILL.md` may have been before a registry or a tool changed it on the way.
    pub(crate) sources: Vec<SourceText>,
}

/// What a `SKILL.md` may have been before it was changed on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourceText {
    pub(crate) size: u64,
    pub(crate) sha256: Sha256Digest,
    /// Whether it is less the line `name: …` right behind the first `---`, which a registry adds.
    pub(crate) is_unnamed: bool,
    /// Whether it starts with a byte order mark, which `skills` drops.
    pub(crate) is_marked: bool,
}

impl SourceText {
    /// All that the text of a file may have been, itself left out.
    fn all_of(bytes: &[u8]) -> Vec<Self> {
        let of = |bytes: &[u8], is_unnamed, is_marked| Self {
            size: bytes.len() as u64,
            sha256: Sha256Digest::of(bytes),
            is_unnamed,
            is_marked,
        };
        let unnamed = without_name(bytes);
        let mut all: Vec<Self> = unnamed.iter().map(|bytes| of(bytes, true, false)).collect();
        if !bytes.starts_with(MARK) {
            all.push(of(&[MARK, bytes].concat(), false, true));
            all.extend(unnamed.iter().map(|bytes| of(&[MARK, bytes].concat(), true, true)));
        }
        all
    }
}

impl FoundTree {
    /// Reads every file of the directory at `path`, and follows no link beneath it.
    ///
    /// More files, bytes or depth than a skill may have is an error of kind
    /// [`io::ErrorKind::FileTooLarge`].
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let tree = DirectoryTree::open(path)?;
        let mut found = Self::default();
        let mut room = MAX_UNPACKED_BYTES;
        found.walk(&tree, "", 0, &mut room)?;
        if found.files.contains_key(SKILL_FILE) {
            let bytes = tree.read(SKILL_FILE, MAX_SKILL_FILE_BYTES)?;
            found.name = skill::parse(&bytes, SKILL_FILE).ok().map(|file| file.name);
            found.sources = SourceText::all_of(&bytes);
        }
        Ok(found)
    }

    fn walk(
        &mut self,
        tree: &DirectoryTree,
        directory: &str,
        depth: usize,
        room: &mut u64,
    ) -> io::Result<()> {
        if depth > MAX_PATH_DEPTH {
            return Err(too_large("it is nested deeper than a skill may be"));
        }
        for (name, entry) in tree.list(directory)? {
            let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            match entry {
                Entry::Directory => self.walk(tree, &path, depth + 1, room)?,
                Entry::File { executable, .. } => {
                    if self.files.len() >= MAX_FILES {
                        return Err(too_large("it has more files than a skill may have"));
                    }
                    let file = digest(tree, &path, executable, room)?;
                    self.files.insert(path, file);
                }
                Entry::Link | Entry::Special => self.odd.push(path),
            }
            if self.odd.len() > MAX_FILES {
                return Err(too_large("it has more links than a skill may have files"));
            }
        }
        Ok(())
    }

    /// One digest of all that it holds: paths, contents, which files are executable, and what is no
    /// file.
    pub(crate) fn fingerprint(&self) -> Sha256Digest {
        let of_file = |(path, file): (&String, &FoundFile)| {
            let mode = if file.executable { "755" } else { "644" };
            format!("{mode} {} {}", file.sha256, escape(path))
        };
        let odd = self.odd.iter().map(|path| format!("odd {}", escape(path)));
        let lines: Vec<String> = self.files.iter().map(of_file).chain(odd).collect();
        Sha256Digest::of(lines.join("\n").as_bytes())
    }
}

fn digest(
    tree: &DirectoryTree,
    path: &str,
    executable: bool,
    room: &mut u64,
) -> io::Result<FoundFile> {
    let digests = Digests::of_reader(tree.open(path)?.take(room.saturating_add(1)))?;
    *room = room
        .checked_sub(digests.size)
        .ok_or_else(|| too_large("it is larger than a skill may be"))?;
    Ok(FoundFile { size: digests.size, sha256: digests.sha256, executable })
}

fn too_large(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}

/// A file less the line `name: …` right behind its first `---`: what a registry inserts of a hard
/// skill, whose file says `skill:`, for readers of Agent Skills alone.
fn without_name(bytes: &[u8]) -> Option<Vec<u8>> {
    let rest = bytes.strip_prefix(MARK).unwrap_or(bytes);
    let fence: &[u8] =
        [&b"---\n"[..], b"---\r\n"].into_iter().find(|fence| rest.starts_with(fence))?;
    let start = bytes.len() - rest.len() + fence.len();
    let behind = bytes.get(start..)?;
    if !behind.starts_with(b"name: ") {
        return None;
    }
    let end = behind.iter().position(|byte| *byte == b'\n')? + 1;
    Some([bytes.get(..start)?, behind.get(end..)?].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn one_digest_stands_for_all_that_a_directory_holds() {
        let root = tempfile::tempdir().unwrap();
        let read = || FoundTree::read(root.path()).unwrap().fingerprint();
        fs::write(root.path().join(SKILL_FILE), "---\nname: a\n---\n").unwrap();
        let first = read();
        assert_eq!(read(), first);
        fs::create_dir(root.path().join("x")).unwrap();
        // A directory alone is nothing that could be lost.
        assert_eq!(read(), first);
        fs::write(root.path().join("x/y"), "1").unwrap();
        let second = read();
        fs::write(root.path().join("x/y"), "2").unwrap();
        let third = read();
        assert!(first != second && second != third && first != third);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let path = root.path().join("x/y");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            assert_ne!(read(), third);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", root.path().join("link")).unwrap();
            let tree = FoundTree::read(root.path()).unwrap();
            assert_eq!(tree.odd, ["link"]);
            assert_ne!(tree.fingerprint(), third);
        }
    }

    #[test]
    fn the_line_that_a_registry_inserts_is_taken_out_and_no_other() {
        for (text, without) in [
            ("---\nname: w\nskill: w\n---\n", Some("---\nskill: w\n---\n")),
            ("\u{feff}---\r\nname: w\r\nskill: w\r\n", Some("\u{feff}---\r\nskill: w\r\n")),
            ("---\nskill: w\nname: w\n---\n", None),
            ("name: w\n", None),
            ("---\nname: w", None),
            ("", None),
        ] {
            let found = without_name(text.as_bytes());
            assert_eq!(found.as_deref(), without.map(str::as_bytes), "{text:?}");
        }
    }
}
