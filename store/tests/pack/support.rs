//! What the tests of packing share.

use std::fs;
use std::path::Path;

use skillpkg_schema::signature::SigningKey;
use skillpkg_schema::{Diagnostic, Faults};
use skillpkg_store::attacks::SIGNING_KEY;
use skillpkg_store::pack::{PackOptions, Packing};
use tempfile::TempDir;

/// The least `SKILL.md` that packs.
pub(crate) const SKILL: &str =
    "---\nname: sample\ndescription: A sample.\nversion: 1.2\n---\nRead `a.md`.\n";

/// A directory of these files, each its path, its content and whether it is executable.
pub(crate) fn directory(files: &[(&str, &str, bool)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, content, is_executable) in files {
        write(directory.path(), path, content, *is_executable);
    }
    directory
}

pub(crate) fn write(root: &Path, path: &str, content: &str, is_executable: bool) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = if is_executable { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    #[cfg(not(unix))]
    let _ = is_executable;
}

/// The directory of a skill with `SKILL` and these files.
pub(crate) fn skill(files: &[(&str, &str)]) -> TempDir {
    let directory = directory(&[("SKILL.md", SKILL, false)]);
    for (path, content) in files {
        write(directory.path(), path, content, false);
    }
    directory
}

pub(crate) fn plan(directory: &Path) -> Result<Packing, Vec<Diagnostic>> {
    Packing::plan(directory, &PackOptions::default()).map_err(Faults::into_diagnostics)
}

/// What packing `directory` is refused for: the code and the file of each fault.
pub(crate) fn refusals(directory: &Path) -> Vec<(String, Option<String>)> {
    let faults = plan(directory).unwrap_err();
    faults.into_iter().map(|fault| (fault.code, fault.file)).collect()
}

/// The paths that packing `directory` takes.
pub(crate) fn packed(directory: &Path) -> Vec<String> {
    let packing = plan(directory).unwrap();
    packing.manifest().files.iter().map(|file| file.path.to_string()).collect()
}

pub(crate) fn archive(packing: &Packing) -> Vec<u8> {
    let key = SigningKey::from_pem(SIGNING_KEY).unwrap();
    let mut bytes = Vec::new();
    packing.write(&packing.sign(&[key]), &mut bytes).unwrap();
    bytes
}
