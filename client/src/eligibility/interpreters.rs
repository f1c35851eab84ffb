//! The programs that the first lines of a skill's executable files name.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::manifest::{FileEntry, Mode};
use skillpkg_schema::skill::{INTERPRETER_LINE_BYTES, Interpreter, interpreter};
use skillpkg_schema::{Diagnostic, Manifest};

use super::missing::needed_by;
use super::{Missing, MissingKind};
use crate::activation::program;
use crate::{Settings, regular_file};

/// The interpreters that are not here, each once, with the files that name it.
///
/// A file that a tool starts keeps the skill from being activated. Any other one is for the prose to
/// have run, and the rest of the skill may do without. What has a runner is run by that.
pub(super) fn missing(manifest: &Manifest, tree: &Path, settings: &Settings) -> Vec<Missing> {
    // Windows starts no file by its first line.
    if cfg!(windows) {
        return Vec::new();
    }
    let has_runner = |file: &FileEntry| manifest.scripts.iter().any(|one| one.path == file.path);
    let executable = manifest.files.iter().filter(|file| file.mode == Mode::Executable);
    let mut absent: BTreeMap<String, Vec<&FileEntry>> = BTreeMap::new();
    for file in executable.filter(|file| !has_runner(file)) {
        let Some(named) = first_line(&tree.join(file.path.as_str())) else { continue };
        if !is_here(&named, manifest, settings) {
            absent.entry(named.as_str().to_owned()).or_default().push(file);
        }
    }
    absent.into_iter().map(|(name, files)| missing_one(manifest, name, &files)).collect()
}

fn missing_one(manifest: &Manifest, name: String, files: &[&FileEntry]) -> Missing {
    let is_started = files.iter().any(|file| {
        let programs = manifest.programs.iter().filter(|program| !program.dynamic);
        let mut paths = programs.map(|program| program.name.trim_start_matches("./"));
        paths.any(|path| path == file.path.as_str())
    });
    let files: Vec<String> = files.iter().map(|file| file.path.to_string()).collect();
    let shown = escape(&name);
    let place = if name.contains('/') { "not on this machine" } else { "not on your PATH" };
    let message =
        format!("this is run by `{shown}`, which is {place}{}", needed_by(manifest, &files));
    let told = if is_started {
        Diagnostic::error("program_missing", message)
    } else {
        Diagnostic::warning("program_missing", message)
    };
    Missing {
        kind: MissingKind::Interpreter,
        names: vec![name],
        needed_by: files,
        told: told.with_hint("install it, then run this again"),
    }
}

fn first_line(file: &Path) -> Option<Interpreter> {
    let file = regular_file::open(file).ok()?;
    let mut beginning = Vec::with_capacity(INTERPRETER_LINE_BYTES);
    file.take(INTERPRETER_LINE_BYTES as u64).read_to_end(&mut beginning).ok()?;
    interpreter(&beginning)
}

fn is_here(named: &Interpreter, manifest: &Manifest, settings: &Settings) -> bool {
    match named {
        Interpreter::Named(name) => program::on_path(name, &settings.path).is_some(),
        Interpreter::At(path) if path.starts_with('/') => {
            program::executable(Path::new(path)).is_some()
        }
        // It is looked for from the working directory, which is the skill's tree.
        Interpreter::At(path) => {
            let file = manifest.file(path.trim_start_matches("./"));
            file.is_some_and(|file| file.mode == Mode::Executable)
        }
    }
}
