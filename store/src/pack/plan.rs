//! A skill's files chosen, hashed and checked, ready to be written.

use std::io::{self, Read, Write};
use std::path::Path;

use skillpkg_schema::address::{Digests, Hasher};
use skillpkg_schema::diagnostic::{self, escape};
use skillpkg_schema::finding::secret::{self, SCANNED_BYTES, Secret};
use skillpkg_schema::finding::{self, Findings};
use skillpkg_schema::limits::{MAX_SKILL_FILE_BYTES, MAX_UNPACKED_BYTES};
use skillpkg_schema::manifest::{Derived, FileEntry, derive};
use skillpkg_schema::signature::{Envelope, SigningKey, sign_release};
use skillpkg_schema::skill::{self, Dialect, Rules, Skill};
use skillpkg_schema::tree::{DirectoryTree, Entry, Tree};
use skillpkg_schema::{
    Diagnostic, Faults, Manifest, QualifiedName, Sha256Digest, SkillPath, Version,
};

use super::choose::{cannot_read, choose};
use super::chosen_tree::ChosenTree;
use super::identity::identity;
use super::secrets;
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
    findings: Findings,
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
            Diagnostic::error("file_unreadable", format!("`{shown}` cannot be read: {error}"))
                .with_hint("name the directory in which the skill's `SKILL.md` lies")
        })?;
        let (derived, findings) = plan(&tree, options)?;
        Ok(Self { derived, findings, tree })
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

    /// What is worth an eye in the files: what whoever installs the skill is shown. The warnings
    /// tell of it too.
    pub fn findings(&self) -> &Findings {
        &self.findings
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

fn plan(tree: &dyn Tree, options: &PackOptions) -> Result<(Derived, Findings), Faults> {
    let file = skill::parse_unnamed(&skill_file(tree)?, SkillPath::skill_file().as_str())?;
    let is_whole_directory = file.includes.is_none() && file.dialect == Dialect::Agent;
    // Where the files are named one by one, the skill tells best what is wrong with them.
    let told = if is_whole_directory {
        Vec::new()
    } else {
        Skill::read_unnamed(tree, Rules::Strict)?.warnings
    };
    let (chosen, mut diagnostics) = choose(tree, &file)?;
    let identity = identity(&file, options)?;

    let mut files = Vec::with_capacity(chosen.len());
    let mut room = MAX_UNPACKED_BYTES;
    for (path, mode) in chosen {
        let (digests, found) = examine(tree, &path, &mut room)?;
        let allowed = options.allow_secrets;
        diagnostics.extend(found.iter().map(|one| secrets::diagnostic(one, &path, allowed)));
        files.push(FileEntry::new(path, mode, digests));
    }
    let hidden = skill::hidden_text(tree, files.iter().map(|file| &file.path));
    diagnostics.extend(hidden.map_err(|error| cannot_read("SKILL.md", &error))?);
    let (files, diagnostics) = Faults::check(files, diagnostics)?;

    let mut derived =
        derive(&ChosenTree::new(tree, &files), files.clone(), &identity, Rules::Strict)?;
    let is_packed = |path: &SkillPath| files.binary_search_by(|file| file.path.cmp(path)).is_ok();
    let unfound = skill::run_files(&derived.skill.file, tree, &is_packed);
    for warning in told.into_iter().chain(diagnostics).chain(unfound) {
        if !derived.warnings.contains(&warning) {
            derived.warnings.push(warning);
        }
    }
    let findings = finding::find(tree, files.iter().map(|file| &file.path))
        .map_err(|error| cannot_read("SKILL.md", &error))?;
    findings.add_warnings(&mut derived.warnings);
    diagnostic::sort(&mut derived.warnings);
    readable(&derived.manifest)?;
    Ok((derived, findings))
}

/// Refuses a manifest that would not be read again: one over a bound.
fn readable(manifest: &Manifest) -> Result<(), Faults> {
    Manifest::from_bytes(&manifest.to_bytes()).map_err(|error| {
        let one = Diagnostic::error("manifest_refused", error.to_string());
        one.with_hint("pack fewer files, or shorten what the skill declares")
    })?;
    Ok(())
}

/// The bytes of `SKILL.md`.
fn skill_file(tree: &dyn Tree) -> Result<Vec<u8>, Faults> {
    let path = SkillPath::skill_file();
    let path = path.as_str();
    let refuse = |code: &str, message: String| Diagnostic::error(code, message).in_file(path);
    match tree.entry(path).map_err(|error| cannot_read(path, &error))? {
        Some(Entry::File { .. }) => {}
        Some(Entry::Link) => {
            let message = format!("`{path}` is a symbolic link; put the file itself there");
            return Err(refuse("file_is_link", message).into());
        }
        Some(Entry::Directory | Entry::Special) => {
            return Err(refuse("skill_file_missing", format!("`{path}` is not a file")).into());
        }
        None => return Err(skill::missing_skill_file(tree).into()),
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
) -> Result<(Digests, Vec<Secret>), Faults> {
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
    Ok((hasher.finish(), secret::find(path, &start)))
}

fn too_large() -> Faults {
    let message = format!("the files are more than {MAX_UNPACKED_BYTES} bytes together");
    Diagnostic::error("too_large", message)
        .with_hint("leave some out with `.skillignore`, or split the skill")
        .into()
}
