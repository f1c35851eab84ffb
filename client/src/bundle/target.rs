//! Where a bundle is written: the whole file or none.

use std::io;
use std::path::Path;

use skillpkg_schema::diagnostic::escape;
use skillpkg_store::bundle::BundleError;
use tempfile::NamedTempFile;

use super::make::Request;
use crate::{Error, Kind};

/// Refuses a target that could not be written in the end, before anything is asked for.
pub(super) fn check_target(request: &Request) -> Result<(), Error> {
    let target = &request.target;
    let refused = |message: &str, hint: String| {
        Error::new(Kind::Failed, "not_written", message)
            .in_file(target.to_string_lossy())
            .with_hint(hint)
    };
    if target.is_dir() {
        let file = target.join("skills.bundle");
        let hint = format!("`--output {}`", escape(&file.to_string_lossy()));
        return Err(refused("it is a directory, and a bundle is a file", hint));
    }
    match target.symlink_metadata() {
        Ok(_) if !request.replace => Err(refused("it is there already", there_already())),
        // A device or a pipe is nobody's earlier bundle.
        Ok(there) if !there.is_file() && !there.is_symlink() => Err(refused(
            "it is no regular file, and is not replaced by one",
            "`--output FILE` writes another".to_owned(),
        )),
        _ => Ok(()),
    }
}

fn there_already() -> String {
    "`--force` replaces it, `--output FILE` writes another".to_owned()
}

pub(super) fn persist(written: NamedTempFile, request: &Request) -> Result<(), Error> {
    let target = &request.target;
    written.as_file().sync_all().map_err(|error| unwritable(target, &error))?;
    let persisted =
        if request.replace { written.persist(target) } else { written.persist_noclobber(target) };
    persisted.map(|_| ()).map_err(|error| {
        let error = unwritable(target, &error.error);
        if request.replace { error } else { error.with_hint(there_already()) }
    })
}

pub(super) fn unwritable(target: &Path, error: &io::Error) -> Error {
    let message = match error.kind() {
        io::ErrorKind::NotFound => "there is no such directory".to_owned(),
        io::ErrorKind::AlreadyExists => "it is there already".to_owned(),
        // The error comes with the temporary name, which means nothing to anybody.
        kind => format!("it cannot be written: {kind}"),
    };
    Error::new(Kind::Failed, "not_written", message).in_file(target.to_string_lossy())
}

pub(super) fn not_written(target: &Path, error: &BundleError) -> Error {
    match error {
        BundleError::Io(error) => unwritable(target, error),
        error => Error::new(Kind::Failed, error.code(), format!("no bundle is made: {error}"))
            .in_file(target.to_string_lossy())
            .with_hint("where it gets too large, make several, naming the skills of each"),
    }
}
