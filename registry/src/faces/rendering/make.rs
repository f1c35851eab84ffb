//! Makes a container of a snapshot's files.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write as _};
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use skillpkg_schema::address::Digests;
use skillpkg_schema::limits::MAX_SKILL_FILE_BYTES;
use skillpkg_schema::manifest::Mode;
use skillpkg_schema::tree::Tree;
use skillpkg_schema::{Manifest, SkillPath};
use skillpkg_store::archive::PlainTar;

use super::super::zip::{LEVEL, ZipWriter};
use super::super::{Face, fingerprint, frontmatter};

/// Most files that a client of Agent Skills discovery unpacks.
const MOST_FILES: usize = 1_000;
/// Most bytes of files that it unpacks.
const MOST_BYTES: u64 = 50 * 1024 * 1024;

/// What was made of a snapshot for one face.
#[derive(Debug)]
pub(crate) struct Made {
    /// The face.
    pub(crate) face: Face,
    /// What came of it.
    pub(crate) outcome: Outcome,
}

/// A container, or why there is none.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// A container.
    Container {
        /// Where its bytes lie.
        file: PathBuf,
        /// Their digests.
        digests: Digests,
        /// What the face's client knows the files by.
        fingerprint: Option<String>,
    },
    /// The face leaves the snapshot out, for this reason.
    LeftOut(String),
}

/// Makes what `face` serves of the snapshot whose files are in `tree`, in a new file in `directory`.
///
/// The same snapshot gives the same bytes, whenever and wherever. Holds pieces of files, and
/// `SKILL.md`, in memory.
pub(crate) fn make(
    tree: &dyn Tree,
    manifest: &Manifest,
    face: Face,
    directory: &Path,
) -> io::Result<Made> {
    let path = directory.join(format!("{face}.container"));
    let left_out = match face {
        Face::AgentSkills => agent_skills(tree, manifest, &path)?,
        Face::Apm => apm(tree, manifest, &path).map(|()| None)?,
        Face::ClawHub => clawhub(tree, manifest, &path).map(|()| None)?,
    };
    let outcome = match left_out {
        Some(reason) => Outcome::LeftOut(reason),
        None => Outcome::Container {
            digests: Digests::of_reader(File::open(&path)?)?,
            file: path,
            fingerprint: match face {
                Face::ClawHub => fingerprint::of(manifest).map(|digest| digest.to_string()),
                Face::AgentSkills | Face::Apm => None,
            },
        },
    };
    Ok(Made { face, outcome })
}

/// A gzipped tar with `SKILL.md` at its root; or why a client would not take it.
fn agent_skills(tree: &dyn Tree, manifest: &Manifest, path: &Path) -> io::Result<Option<String>> {
    let (files, bytes) = (manifest.files.len(), manifest.unpacked_size());
    if files > MOST_FILES || bytes > MOST_BYTES {
        return Ok(Some(format!(
            "it has {files} files of {bytes} bytes together, and clients unpack at most \
             {MOST_FILES} of {MOST_BYTES}"
        )));
    }
    let skill_file = SkillPath::skill_file();
    let source = tree.read(skill_file.as_str(), MAX_SKILL_FILE_BYTES)?;
    let served = match frontmatter::readable(&source, manifest.name.name().as_str()) {
        Ok(served) => served,
        Err(unread) => return Ok(Some(unread.to_string())),
    };
    let gzip = GzBuilder::new().write(create(path)?, Compression::new(LEVEL));
    let mut tar = PlainTar::new(gzip);
    for file in &manifest.files {
        if file.path == skill_file {
            tar.file(&file.path, file.mode, served.len() as u64, &mut &*served)?;
        } else {
            tar.file(&file.path, file.mode, file.size, &mut tree.open(file.path.as_str())?)?;
        }
    }
    tar.finish()?.finish()?.flush()?;
    Ok(None)
}

/// A package with the one skill beneath `.apm/skills`: at the root its client would take the skill's
/// own files for parts of a package, and run commands that they name.
fn apm(tree: &dyn Tree, manifest: &Manifest, path: &Path) -> io::Result<()> {
    let mut zip = ZipWriter::new(create(path)?);
    zip.file("apm.yml", Mode::Regular.bits(), &mut package_file(manifest).as_bytes())?;
    let name = manifest.name.name();
    for file in &manifest.files {
        let path = format!(".apm/skills/{name}/{}", file.path);
        zip.file(&path, file.mode.bits(), &mut whole(tree, &file.path, file.size)?)?;
    }
    zip.finish().map(|_| ())
}

/// The files as they are, at the root.
fn clawhub(tree: &dyn Tree, manifest: &Manifest, path: &Path) -> io::Result<()> {
    let mut zip = ZipWriter::new(create(path)?);
    for file in &manifest.files {
        let mut content = whole(tree, &file.path, file.size)?;
        zip.file(file.path.as_str(), file.mode.bits(), &mut content)?;
    }
    zip.finish().map(|_| ())
}

fn create(path: &Path) -> io::Result<BufWriter<File>> {
    Ok(BufWriter::with_capacity(64 * 1024, File::create_new(path)?))
}

fn whole<'t>(
    tree: &'t dyn Tree,
    path: &SkillPath,
    size: u64,
) -> io::Result<io::Take<Box<dyn Read + Send + 't>>> {
    Ok(tree.open(path.as_str())?.take(size))
}

/// The `apm.yml` of a package that is one skill.
fn package_file(manifest: &Manifest) -> String {
    let mut lines = vec![
        format!("name: {}", quoted(manifest.name.name().as_str())),
        format!("version: {}", quoted(&manifest.version.to_string())),
        format!("description: {}", quoted(&manifest.description)),
    ];
    lines.extend(manifest.license.as_ref().map(|license| format!("license: {}", quoted(license))));
    lines.push(String::new());
    lines.join("\n")
}

/// A text in double quotes, in ASCII: every version of YAML reads it as the same text.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            ' '..='~' => quoted.push(character),
            other if u32::from(other) <= 0xffff => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(other));
            }
            other => {
                let _ = write!(quoted, "\\U{:08X}", u32::from(other));
            }
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use skillpkg_schema::manifest::{FileEntry, Identity, derive};
    use skillpkg_schema::skill::Rules;
    use skillpkg_schema::tree::MemoryTree;

    use super::*;

    fn snapshot(skill_file: &str, others: &[(&str, bool, &[u8])]) -> (MemoryTree, Manifest) {
        let mut tree = MemoryTree::default();
        let mut files = Vec::new();
        let skill_file: (&str, bool, &[u8]) = ("SKILL.md", false, skill_file.as_bytes());
        for (path, executable, bytes) in others.iter().chain([&skill_file]) {
            tree.insert(*path, *executable, *bytes);
            let mode = Mode::of(*executable);
            files.push(FileEntry::new(path.parse().unwrap(), mode, Digests::of(bytes)));
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let identity =
            Identity { name: "acme/pdf".parse().unwrap(), version: "1.2.0".parse().unwrap() };
        let derived = derive(&tree, files, &identity, Rules::Strict).unwrap();
        (tree, derived.manifest)
    }

    fn digest(tree: &MemoryTree, manifest: &Manifest, face: Face) -> String {
        let directory = tempfile::tempdir().unwrap();
        match make(tree, manifest, face, directory.path()).unwrap().outcome {
            Outcome::Container { file, digests, .. } => {
                assert_eq!(Digests::of(&std::fs::read(file).unwrap()), digests);
                digests.sha256.to_string()
            }
            Outcome::LeftOut(reason) => reason,
        }
    }

    const PLAIN: &str = "---\nname: pdf\ndescription: Reads \"PDF\" – è.\nlicense: MIT\n---\n# x\n";
    const HARD: &str = "---\nskill: pdf\ndescription: Reads.\nincludes: run.sh\n---\n# x\n";

    #[test]
    fn the_same_snapshot_gives_just_these_bytes() {
        let others: [(&str, bool, &[u8]); 3] = [
            ("bin/tool", true, b"#!/bin/sh\necho hi\n"),
            ("hooks/hooks.json", false, b"{}\n"),
            ("references/guide.md", false, &[b'g'; 3_000]),
        ];
        let (tree, manifest) = snapshot(PLAIN, &others);
        let (hard_tree, hard) = snapshot(HARD, &[("run.sh", true, b"true\n")]);
        let mut found = Vec::new();
        for face in Face::ALL {
            for (tree, manifest) in [(&tree, &manifest), (&hard_tree, &hard)] {
                let first = digest(tree, manifest, face);
                assert_eq!(first, digest(tree, manifest, face));
                found.push(first);
            }
        }
        // A change here makes every digest that clients have locked another one.
        let golden = [
            "ed9fa68b9b7416ca6b48a5edb106619c58c24efd62e051b605d804ce38f74a83",
            "7219d8454e79df687ad1d6227f14a6c0eccf819bb905f03f825aaa292ab887b1",
            "221cae934a3031be187b4fd9bc527f61d00a9af1425496da2ce7778f7425b5ba",
            "682653598103289043e6be80695d1a6b397112d45d32fe9502bd1ec63e2f7154",
            "fbc5ec5840eeff818045db5ed818f1f1e34790aaf913ec433f7b184a1bc958e4",
            "e410a3206fb9ac6a20242a8c626ebdfc6418c235cb6da1881ea070f2d551af4e",
        ];
        assert_eq!(found, golden);
    }

    #[test]
    fn a_package_file_says_the_same_to_every_reader_of_yaml() {
        let (_, manifest) = snapshot(PLAIN, &[]);
        assert_eq!(
            package_file(&manifest),
            "name: \"pdf\"\nversion: \"1.2.0\"\ndescription: \"Reads \\\"PDF\\\" \\u2013 \\u00E8.\"\n\
             license: \"MIT\"\n"
        );
        assert_eq!(quoted("a\n\u{1f600}\\"), "\"a\\u000A\\U0001F600\\\\\"");
    }

    #[test]
    fn what_clients_of_discovery_would_not_take_is_left_out_of_it_alone() {
        let odd = "---\nname: pdf\ndescription: Use when: asked\n---\n# x\n";
        let many: Vec<(String, bool, Vec<u8>)> =
            (0..1_000).map(|at| (format!("f/{at}"), false, vec![b'x'])).collect();
        let many: Vec<(&str, bool, &[u8])> = many
            .iter()
            .map(|(path, mode, bytes)| (path.as_str(), *mode, bytes.as_slice()))
            .collect();
        let zeros = vec![0; 51 * 1024 * 1024];
        for (skill_file, others, reason) in [
            (odd, Vec::new(), "not YAML"),
            (PLAIN, many, "1001 files"),
            (PLAIN, vec![("large", false, zeros.as_slice())], "2 files of 534"),
        ] {
            let (tree, manifest) = snapshot(skill_file, &others);
            let told = digest(&tree, &manifest, Face::AgentSkills);
            assert!(told.contains(reason), "{told}");
            assert_eq!(digest(&tree, &manifest, Face::Apm).len(), 64);
        }
    }
}
