//! What `pack` and `publish` share: options read, and a plan signed and written.

use std::io;
use std::path::Path;

use serde::Serialize;
use skillpkg::{Error, Kind};
use skillpkg_schema::address::Digests;
use skillpkg_schema::signature::SigningKey;
use skillpkg_schema::{Blake3Digest, ContentAddress, Manifest, QualifiedName, Version};
use skillpkg_schema::{Diagnostic, Faults};
use skillpkg_store::archive::ArchiveError;
use skillpkg_store::pack::{PackOptions, Packing};

use crate::commands::PackingArguments;
use crate::context::Context;
use crate::interruption;
use crate::working::Working;

/// What `--json` answers of an archive.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ShownArchive {
    /// The whole name.
    pub(crate) name: QualifiedName,
    /// The version.
    pub(crate) version: Version,
    /// The snapshot by SHA-256.
    pub(crate) address: ContentAddress,
    /// The snapshot by BLAKE3.
    pub(crate) blake3: ContentAddress,
    /// The SHA-256 of the archive's bytes.
    pub(crate) archive: ContentAddress,
    /// How long the archive is, in bytes.
    pub(crate) size: u64,
    /// The file or the directory.
    pub(crate) path: String,
}

impl ShownArchive {
    /// Of the archive with this manifest and these digests.
    pub(crate) fn new(manifest: &Manifest, archive: &Digests, path: &Path) -> Self {
        Self {
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            address: manifest.address(),
            blake3: Blake3Digest::of(&manifest.to_bytes()).address(),
            archive: archive.sha256.address(),
            size: archive.size,
            path: path.to_string_lossy().into_owned(),
        }
    }
}

/// Reads `--name` and `--version`.
pub(crate) fn options(arguments: &PackingArguments) -> Result<PackOptions, Error> {
    let usage =
        |error: &dyn std::fmt::Display, code| Error::new(Kind::Usage, code, error.to_string());
    let name = arguments.name.as_deref().map(str::parse).transpose();
    let version = arguments.version.as_deref().map(Version::parse_lenient).transpose();
    Ok(PackOptions {
        name: name
            .map_err(|error: skillpkg_schema::name::NameError| usage(&error, "invalid_name"))?,
        version: version.map_err(|error| usage(&error, "invalid_version"))?,
        allow_secrets: arguments.allow_secrets,
    })
}

/// Checks a skill and chooses its files, telling what is worth telling, each with the skill's
/// directory.
pub(crate) fn plan(
    context: &Context,
    directory: &Path,
    options: &PackOptions,
) -> Result<Packing, Error> {
    let packing = {
        let _working = Working::on(context.output, "Hashing");
        Packing::plan(directory, options).map_err(|faults| within(directory, faults))?
    };
    for warning in packing.warnings().iter().filter(|one| !is_answered(one, options)) {
        context.output.warn(&placed(directory, warning.clone()).to_string());
    }
    for file in &packing.manifest().files {
        context.output.detail(&format!("  {} ({})", file.path, counted(file.size, "byte")));
    }
    Ok(packing)
}

/// Whether it asks for a name or a version that was given.
pub(crate) fn is_answered(warning: &Diagnostic, options: &PackOptions) -> bool {
    match warning.code.as_str() {
        "name_missing" | "name_not_published" => options.name.is_some(),
        "version_not_published" => options.version.is_some(),
        _ => false,
    }
}

/// A diagnostic of a skill's file, with the skill's directory before it.
pub(crate) fn placed(directory: &Path, one: Diagnostic) -> Diagnostic {
    let directory = directory.to_string_lossy();
    let directory = directory.trim_end_matches('/');
    if directory == "." {
        return one;
    }
    let file = match one.file.as_deref() {
        Some(file) => format!("{directory}/{file}"),
        None => directory.to_owned(),
    };
    Diagnostic { file: Some(file), ..one }
}

/// The faults of a skill's files, each file with the skill's directory.
fn within(directory: &Path, faults: Faults) -> Faults {
    let in_file = |one: Diagnostic| if one.file.is_some() { placed(directory, one) } else { one };
    match Faults::check((), faults.into_diagnostics().into_iter().map(in_file).collect()) {
        Err(faults) => faults,
        Ok(_) => Diagnostic::error("skill_refused", "the skill cannot be packed").into(),
    }
}

/// How much a manifest holds, for a person to see what should not be in it.
pub(crate) fn tell(manifest: &Manifest) -> String {
    let bytes: u64 = manifest.files.iter().map(|file| file.size).sum();
    format!(
        "Packed {} {}: {} of {}.",
        manifest.name,
        manifest.version,
        counted(manifest.files.len() as u64, "file"),
        counted(bytes, "byte")
    )
}

/// `1 file`, `2 files`.
fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Signs a plan and writes its archive to a file.
pub(crate) fn write(
    context: &Context,
    packing: &Packing,
    keys: &[SigningKey],
    file: &mut tempfile::NamedTempFile,
) -> Result<Digests, Error> {
    let envelope = packing.sign(keys);
    let _working = Working::on(context.output, "Packing");
    let digests = packing.write(&envelope, file.as_file_mut()).map_err(not_packed)?;
    // Whoever interrupted it wants no archive.
    if interruption::is_told() { Err(interruption::failure()) } else { Ok(digests) }
}

/// The failure to make an archive: nothing was verified that could have failed to be.
fn not_packed(error: ArchiveError) -> Error {
    let is_too_long = matches!(error, ArchiveError::TooLong(_));
    let error = Error { kind: Kind::Failed, ..Error::from(error) };
    if is_too_long {
        error.with_hint("leave files out with `.skillignore`, or divide the skill")
    } else {
        error
    }
}

/// The failure to make a file in `directory`, without the temporary name that the error comes with.
pub(crate) fn not_written(directory: &Path, error: &io::Error) -> Error {
    let message = match error.kind() {
        io::ErrorKind::NotFound => "there is no such directory".to_owned(),
        kind => format!("nothing can be written here: {kind}"),
    };
    Error::new(Kind::Failed, "not_written", message).in_file(directory.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_that_gets_too_long_is_no_failed_verification() {
        let error = not_packed(ArchiveError::TooLong(1));
        assert_eq!((error.kind, error.code.as_str()), (Kind::Failed, "archive_too_long"));
        assert!(error.hint.is_some());
        let error = not_packed(ArchiveError::Io(io::Error::other("disk full")));
        assert_eq!((error.kind, error.hint), (Kind::Failed, None));
    }
}
