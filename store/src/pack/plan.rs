//! A skill's files chosen, hashed and checked, ready to be written.

use std::io::{self, Read, Write};
use std::path::Path;

use skillpkg_schema::address::{Digests, Hasher};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::limits::{MAX_SKILL_FILE_BYTES, MAX_UNPACKED_BYTES};
use skillpkg_schema::manifest::{Derived, FileEntry, derive};
use skillpkg_schema::signature::{Envelope, SigningKey, sign_release};
use skillpkg_schema::skill::{self, Rules, Skill};
use skillpkg_schema::tree::{DirectoryTree, Entry, Tree};
use skillpkg_schema::{
    Diagnostic, Faults, Manifest, QualifiedName, Sha256Digest, SkillPath, Version,
};

use super::choose::{cannot_read, choose};
use super::chosen_tree::ChosenTree;
use super::identity::identity;
use super::secrets::{self, Finding, SCANNED_BYTES};
use crate::archive::{self, ArchiveError};

const PIECE_BYTES: usize = 64 * 1024;

/// What packing is told beside the directory.
#[derive(Debug, Clone, Default)]
pub struct PackOptions {
    /// The whole name, in place of the frontmatter's.
    pub name: Option<QualifiedName>,
    /// The version, in place of the frontmatter's.
    pub version: Option<Version>,
    /// Packs what looks like a secret instead of refusing it.
    pub allow_secrets: bool,
}

/// A skill ready to be written as an archive: its files chosen, hashed and checked.
#[derive(Debug)]
pub struct Packing {
    derived: Derived,
    tree: DirectoryTree,
}

impl Packing {
    /// Chooses, hashes and checks the files of the skill in `directory`.
    ///
    /// Nothing outside the directory is read and nothing is written. The manifest is derived from
    /// the chosen files alone, so that whoever unpacks them derives the same.
    pub fn plan(directory: &Path, options: &PackOptions) -> Result<Self, Faults> {
        let tree = DirectoryTree::open(directory).map_err(|error| {
            let shown = escape(&directory.to_string_lossy());
            Diagnostic::error("unreadable", format!("`{shown}` cannot be read: {error}"))
        })?;
        let derived = plan(&tree, options)?;
        Ok(Self { derived, tree })
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.derived.manifest
    }

    /// The skill.
    pub fn skill(&self) -> &Skill {
        &self.derived.skill
    }

    /// What is worth telling, though nothing is refused for it.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.derived.warnings
    }

    /// The signature over the manifest by each of `keys`.
    pub fn sign(&self, keys: &[SigningKey]) -> Envelope {
        let manifest = self.manifest();
        let digest = Sha256Digest::of(&manifest.to_bytes());
        sign_release(&manifest.name, &manifest.version, digest, keys)
    }

    /// Writes the archive; answers with the digests of its bytes.
    ///
    /// Where a file changed since it was hashed, or anything else fails before the last byte is
    /// made, nothing is written to `out`. Holds the whole archive in memory, at most 50 MiB.
    pub fn write(&self, envelope: &Envelope, mut out: impl Write) -> Result<Digests, ArchiveError> {
        let mut bytes = Vec::new();
        let digests = archive::write(&mut bytes, self.manifest(), envelope, &mut |entry| {
            self.tree.open(entry.path.as_str())
        })?;
        out.write_all(&bytes)?;
        out.flush()?;
        Ok(digests)
    }
}

fn plan(tree: &dyn Tree, options: &PackOptions) -> Result<Derived, Faults> {
    let file = skill::parse(&skill_file(tree)?, SkillPath::skill_file().as_str())?;
    let (chosen, mut diagnostics) = choose(tree, &file)?;
    let identity = identity(&file, options)?;

    let mut files = Vec::with_capacity(chosen.len());
    let mut room = MAX_UNPACKED_BYTES;
    for (path, mode) in chosen {
        let (digests, findings) = examine(tree, &path, &mut room)?;
        diagnostics.extend(findings.iter().map(|one| one.diagnostic(&path, options.allow_secrets)));
        files.push(FileEntry::new(path, mode, digests));
    }
    let (files, mut told) = Faults::check(files, diagnostics)?;

    let capabilities = SkillPath::capability_file();
    let is_left_out = !files.iter().any(|file| file.path == capabilities);
    if is_left_out && matches!(tree.entry(capabilities.as_str()), Ok(Some(Entry::File { .. }))) {
        let message =
            format!("`{capabilities}` is not packed, so the skill has no resources and no scripts");
        told.push(
            Diagnostic::warning("capabilities_left_out", message)
                .in_file("SKILL.md")
                .with_hint(format!("name `{capabilities}` and its files in `includes`")),
        );
    }
    let mut derived =
        derive(&ChosenTree::new(tree, &files), files.clone(), &identity, Rules::Strict)?;
    derived.warnings.extend(told);
    Ok(derived)
}

/// The bytes of `SKILL.md`.
fn skill_file(tree: &dyn Tree) -> Result<Vec<u8>, Faults> {
    let path = SkillPath::skill_file();
    let path = path.as_str();
    match tree.entry(path) {
        Ok(Some(Entry::File { .. })) => {}
        Ok(None) => {
            let message = format!("there is no `{path}` in the directory");
            let hint = "`skillpkg init` makes one";
            return Err(Diagnostic::error("skill_file_missing", message).with_hint(hint).into());
        }
        Ok(Some(_)) => {
            let message = format!("`{path}` is not a regular file; nothing is read through it");
            return Err(Diagnostic::error("link_refused", message).in_file(path).into());
        }
        Err(error) => return Err(cannot_read(path, &error).into()),
    }
    Ok(tree.read(path, MAX_SKILL_FILE_BYTES).map_err(|error| cannot_read(path, &error))?)
}

/// Hashes a file of at most `room` bytes, and looks for secrets in its start.
///
/// Takes its length from `room`.
fn examine(
    tree: &dyn Tree,
    path: &SkillPath,
    room: &mut u64,
) -> Result<(Digests, Vec<Finding>), Faults> {
    let unreadable = |error: io::Error| Faults::from(cannot_read(path.as_str(), &error));
    let mut content = tree.open(path.as_str()).map_err(unreadable)?;
    let mut hasher = Hasher::new();
    let mut start = Vec::new();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let read = match content.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unreadable(error)),
        };
        *room = room.checked_sub(read as u64).ok_or_else(too_large)?;
        hasher.update(&piece[..read]);
        let wanted = SCANNED_BYTES.saturating_sub(start.len()).min(read);
        start.extend_from_slice(&piece[..wanted]);
    }
    Ok((hasher.finish(), secrets::find(path, &start)))
}

fn too_large() -> Faults {
    let message = format!("the files are more than {MAX_UNPACKED_BYTES} bytes together");
    Diagnostic::error("too_large", message)
        .with_hint("leave some out with `.skillignore`, or split the skill")
        .into()
}
