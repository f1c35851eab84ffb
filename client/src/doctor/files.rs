//! Secrets that others may read, and what was left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use skillpkg_schema::diagnostic::escape;

use super::{Area, Complaint};
use crate::Settings;
use crate::credentials::Credentials;

/// How the names of files begin that are made beside their place and renamed into it.
const UNFINISHED: &str = ".skillpkg-";
/// After how long such a file is nobody's any more.
const OLD: Duration = Duration::from_secs(60 * 60);
/// Most entries of one directory that are looked at.
const MOST_ENTRIES: usize = 10_000;

pub(super) fn examine(settings: &Settings, complaints: &mut Vec<Complaint>) {
    secrets(settings, complaints);
    let places = [
        settings.project.clone(),
        settings.project.join(".agents/skills"),
        settings.project.join(".claude/skills"),
        settings.home.clone(),
        settings.home.join("tmp"),
        settings.home.join("state"),
    ];
    for directory in places {
        let left: Vec<PathBuf> =
            entries(&directory).filter(|path| is_unfinished(path) && is_old(path)).collect();
        if let Some(first) = left.first() {
            let what = match left.len() {
                1 => format!("{} was left by a command that was ended", shown(first)),
                many => format!(
                    "{many} files in {} were left by commands that were ended, such as {}",
                    shown(&directory),
                    shown(first)
                ),
            };
            complaints.push(Complaint::new(
                Area::Litter,
                what,
                "remove what is left: nothing reads it",
            ));
        }
    }
}

#[cfg(unix)]
fn secrets(settings: &Settings, complaints: &mut Vec<Complaint>) {
    use std::os::unix::fs::PermissionsExt as _;

    let keys = crate::keys::list(&settings.home).map(|files| files.keys).unwrap_or_default();
    let given = settings.key.clone();
    let own = keys.into_iter().map(|key| key.path).chain(given);
    let secret = own.filter(|path| crate::keys::private_key(path).is_ok());
    let credentials = Credentials::new(&settings.home).path().to_path_buf();
    for path in secret.chain([credentials]) {
        let Ok(metadata) = path.metadata() else { continue };
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            let what = format!("{} has the mode {mode:o}: others may read it", shown(&path));
            let advice = format!("`chmod 600 {}`", escape(&path.to_string_lossy()));
            complaints.push(Complaint::new(Area::Credentials, what, advice));
        }
    }
}

#[cfg(not(unix))]
fn secrets(_: &Settings, _: &mut Vec<Complaint>) {}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.take(MOST_ENTRIES).filter_map(Result::ok).map(|entry| entry.path())
}

fn is_unfinished(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(UNFINISHED)
}

fn is_old(path: &Path) -> bool {
    let changed = path.symlink_metadata().and_then(|metadata| metadata.modified());
    changed
        .is_ok_and(|changed| SystemTime::now().duration_since(changed).is_ok_and(|age| age > OLD))
}

fn shown(path: &Path) -> String {
    format!("`{}`", escape(&path.to_string_lossy()))
}
