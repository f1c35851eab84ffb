//! The directories of PATH, in which the programs of skills are looked for.

use std::path::Path;

use skillpkg_schema::diagnostic::escape;

use super::{Area, Complaint};
use crate::Settings;

pub(super) fn examine(settings: &Settings, complaints: &mut Vec<Complaint>) {
    let mut complain = |what: String, advice: &str| {
        complaints.push(Complaint::new(Area::Path, what, advice));
    };
    if settings.path.is_empty() {
        complain(
            "PATH is empty: no program of a skill is found".to_owned(),
            "set PATH to the directories of your programs",
        );
    }
    for directory in &settings.path {
        let shown = format!("`{}`", escape(&directory.to_string_lossy()));
        if !directory.is_absolute() {
            complain(
                format!("PATH has {shown}, which is another directory wherever one stands"),
                "take it out: what a skill names could be run from a project's own files",
            );
        } else if is_open_to_all(directory) {
            complain(
                format!("PATH has {shown}, in which everybody may put programs"),
                "take it out, or close it: `chmod o-w` it",
            );
        }
    }
}

#[cfg(unix)]
fn is_open_to_all(directory: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    directory
        .metadata()
        .is_ok_and(|metadata| metadata.is_dir() && metadata.permissions().mode() & 0o002 != 0)
}

#[cfg(not(unix))]
fn is_open_to_all(_: &Path) -> bool {
    false
}
