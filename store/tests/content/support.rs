//! What the tests of the store share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skillpkg_schema::manifest::Mode;
use skillpkg_schema::{ContentAddress, Manifest, Sha256Digest, SkillPath};
use skillpkg_store::attacks::Sample;
use skillpkg_store::content::{Store, TreeProblem, TreeProblemKind};

pub(crate) fn path(text: &str) -> SkillPath {
    text.parse().unwrap()
}

/// The `SKILL.md` of a skill of the `agent` dialect that says no more than it must.
fn skill_file(name: &str, text: &str) -> Vec<u8> {
    format!("---\nname: {name}\ndescription: A sample.\n---\n{text}\n").into_bytes()
}

/// A skill with these files beside its `SKILL.md`; those beneath `bin/` are executable.
pub(crate) fn skill(name: &str, files: &[(&str, &[u8])]) -> Sample {
    let mut all = BTreeMap::new();
    all.insert(path("SKILL.md"), (Mode::Regular, skill_file(name, "Read.")));
    for (file, bytes) in files {
        let mode = Mode::of(file.starts_with("bin/"));
        all.insert(path(file), (mode, bytes.to_vec()));
    }
    Sample::new(name.parse().unwrap(), "1.0.0".parse().unwrap(), all).unwrap()
}

/// A skill with an executable, an empty file, a file of over a megabyte, nested directories and a
/// path beyond ASCII.
pub(crate) fn varied() -> Sample {
    // Packs quickly, and no two of its mebibytes are the same.
    let large: Vec<u8> = (0u8..130).flat_map(|number| [number; 9001]).collect();
    skill(
        "varied",
        &[
            ("a-b/c.txt", b"sorts before a/".as_slice()),
            ("a.txt", b"and this after"),
            ("a/b/c/d.txt", b"deep"),
            ("a/e.txt", b"less deep"),
            ("bin/run.sh", b"#!/bin/sh\necho run\n"),
            ("empty", b""),
            ("large.bin", &large),
            ("\u{e9}t\u{e9}/\u{df}.md", b"beyond ASCII"),
        ],
    )
}

/// A store in a directory of its own, gone with it.
pub(crate) struct Home {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) store: Store,
}

impl Home {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("home")).unwrap();
        Self { directory, store }
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.store.root().join(relative)
    }

    /// Brings a skill in and makes its tree.
    pub(crate) fn install(&self, sample: &Sample) -> PathBuf {
        install(&self.store, sample)
    }

    /// Whether `tmp/` holds nothing.
    pub(crate) fn nothing_is_left(&self) -> bool {
        std::fs::read_dir(self.path("tmp")).unwrap().next().is_none()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // What is read-only keeps anybody but root from removing the directory.
        open_up(self.store.root());
    }
}

pub(crate) fn install(store: &Store, sample: &Sample) -> PathBuf {
    let lease = store.lease().unwrap();
    let archive = sample.archive().unwrap();
    let ingested = store.ingest(&lease, archive.as_slice(), None).unwrap();
    assert_eq!(ingested.manifest, sample.manifest);
    store.materialise(&lease, &ingested.manifest).unwrap()
}

/// Makes every directory beneath `path` writable.
pub(crate) fn open_up(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let Ok(metadata) = std::fs::symlink_metadata(path) else { return };
        if metadata.is_dir() {
            let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755));
            for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
                open_up(&entry.path());
            }
        }
    }
    #[cfg(not(unix))]
    let _ = path;
}

/// Where the blob of a file lies.
pub(crate) fn blob_path(store: &Store, manifest: &Manifest, file: &str) -> PathBuf {
    let entry = manifest.file(file).unwrap();
    let hex = entry.sha256.to_string();
    let suffix = if entry.mode == Mode::Executable { "-x" } else { "" };
    store.root().join("blobs/sha256").join(&hex[..2]).join(format!("{hex}{suffix}"))
}

/// Writes over a read-only file in place, keeping its permissions and its modification time.
pub(crate) fn overwrite(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let before = std::fs::metadata(path).unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    let mut permissions = before.permissions();
    #[expect(clippy::permissions_set_readonly_false, reason = "the owner of a test's file alone")]
    permissions.set_readonly(false);
    std::fs::set_permissions(path, permissions).unwrap();
    std::fs::write(path, bytes).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    std::fs::set_permissions(path, before.permissions()).unwrap();
    assert_eq!(std::fs::metadata(path).unwrap().modified().unwrap(), before.modified().unwrap());
}

pub(crate) fn problem(kind: TreeProblemKind, path: &str) -> TreeProblem {
    TreeProblem { kind, path: path.to_owned() }
}

pub(crate) fn address_of(bytes: &[u8]) -> ContentAddress {
    Sha256Digest::of(bytes).address()
}

/// A change to the bytes of a file.
pub(crate) type Change = fn(&mut Vec<u8>);

/// What can happen to a file that is not empty.
pub(crate) fn damages() -> [(&'static str, Change); 5] {
    [
        ("one bit", |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x10;
        }),
        ("cut short", |bytes| bytes.truncate(bytes.len() - 1)),
        ("zero length", Vec::clear),
        ("longer", |bytes| bytes.push(0)),
        ("replaced", |bytes| bytes.fill(b'?')),
    ]
}
