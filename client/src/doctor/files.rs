//! Secrets that others may read, and what was left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use skillpkg_schema::diagnostic::escape;

use super::{Area, Complaint};
use crate::Settings;
use crate::agents::{Agents, Reach};
#[cfg(unix)]
use crate::credentials::Credentials;
use crate::state::{State, Stored};

/// How the names of files begin that are made beside their place and renamed into it.
const UNFINISHED: &str = ".skillpkg-";
/// After how long such a file is nobody's any more.
const OLD: Duration = Duration::from_hours(1);
/// Most entries of one directory that are looked at.
const MOST_ENTRIES: usize = 10_000;

pub(super) fn examine(settings: &Settings, complaints: &mut Vec<Complaint>) {
    secrets(settings, complaints);
    rights(settings, complaints);
    state(settings, complaints);
    let (home, project) = (&settings.home, &settings.project);
    let is_unfinished = |name: &str| name.starts_with(UNFINISHED);
    // A directory of copies may hold edits that a change took out and did not move yet.
    let mut places: Vec<PathBuf> = Vec::new();
    if let Ok(agents) = Agents::of(settings) {
        for (reach, base) in [(Reach::Project, project), (Reach::Global, &settings.user_home)] {
            let all: Vec<String> = agents.all().map(|agent| agent.id.clone()).collect();
            let directories = agents.directories(&all, reach).unwrap_or_default().into_iter();
            places.extend(directories.map(|one| base.join(one.path)));
        }
    }
    places.sort_unstable();
    places.dedup();
    for directory in places {
        let advice = "`skillpkg sync` (`--global` for the user's) finishes what was begun and \
                      takes it out";
        litter(&directory, is_unfinished, advice, complaints);
    }
    let others = ["state", "state/projects", "state/approvals", "trust", "keys", "edits"];
    for directory in
        others.iter().map(|name| home.join(name)).chain([home.clone(), project.clone()])
    {
        litter(&directory, is_unfinished, "remove what is left: nothing reads it", complaints);
    }
    ended(&home.join("tmp"), complaints);
}

/// Tells of what lies in the store's directory for what is in the making: what is old, and what a
/// process made that is there no longer.
fn ended(directory: &Path, complaints: &mut Vec<Complaint>) {
    let is_left = |path: &PathBuf| is_old(path) || is_of_an_ended_process(path);
    tell_left(
        directory,
        entries(directory).filter(is_left),
        "`skillpkg gc` removes it",
        complaints,
    );
}

/// Whether the name of a file says which process made it, as `KIND-PROCESS-NUMBER`, and that ended.
#[cfg(unix)]
fn is_of_an_ended_process(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let process = name.rsplit('-').nth(1).and_then(|process| process.parse().ok());
    let process = process.and_then(rustix::process::Pid::from_raw);
    process.is_some_and(|process| {
        rustix::process::test_kill_process(process) == Err(rustix::io::Errno::SRCH)
    })
}

#[cfg(not(unix))]
fn is_of_an_ended_process(_: &Path) -> bool {
    false
}

/// Tells of directories of the home that this user may not write to, without which nothing is
/// installed, updated or removed.
#[cfg(unix)]
fn rights(settings: &Settings, complaints: &mut Vec<Complaint>) {
    use rustix::fs::{Access, access};
    const WRITTEN: [&str; 9] = [
        "tmp",
        "blobs",
        "manifests",
        "snapshots",
        "state",
        "state/projects",
        "state/approvals",
        "trust",
        "proofs",
    ];
    let home = &settings.home;
    let all = WRITTEN.iter().map(|name| home.join(name));
    let closed: Vec<PathBuf> = std::iter::once(home.clone())
        .chain(all)
        .filter(|path| {
            access(path, Access::WRITE_OK | Access::EXEC_OK) == Err(rustix::io::Errno::ACCESS)
        })
        .collect();
    let Some(first) = closed.first() else { return };
    let others = match closed.len() - 1 {
        0 => String::new(),
        others => format!(", nor to {others} more beside it"),
    };
    complaints.push(Complaint::new(
        Area::State,
        format!(
            "this user may not write to {}{others}: nothing can be installed, updated or removed",
            shown(first)
        ),
        "give the user who runs skillpkg the right to it, or choose another place: `SKILLPKG_HOME`",
    ));
}

#[cfg(not(unix))]
fn rights(_: &Settings, _: &mut Vec<Complaint>) {}

/// Tells of what is old in a directory and has such a name.
fn litter(
    directory: &Path,
    is_left: impl Fn(&str) -> bool,
    advice: &str,
    complaints: &mut Vec<Complaint>,
) {
    let name =
        |path: &PathBuf| path.file_name().is_some_and(|name| is_left(&name.to_string_lossy()));
    let left = entries(directory).filter(name).filter(|path| is_old(path));
    tell_left(directory, left, advice, complaints);
}

fn tell_left(
    directory: &Path,
    left: impl Iterator<Item = PathBuf>,
    advice: &str,
    complaints: &mut Vec<Complaint>,
) {
    let left: Vec<PathBuf> = left.collect();
    let Some(first) = left.first() else { return };
    let what = match left.len() {
        1 => format!("{} was left by a command that was ended", shown(first)),
        many => format!(
            "{many} files in {} were left by commands that were ended, such as {}",
            shown(directory),
            shown(first)
        ),
    };
    complaints.push(Complaint::new(Area::Litter, what, advice));
}

/// Tells of files of the state that cannot be read.
fn state(settings: &Settings, complaints: &mut Vec<Complaint>) {
    const RESTORE: &str = "restore it; or move it away: what it remembered is then found or asked \
                           for again";
    let state = State::new(&settings.home).directory().to_path_buf();
    let inner = ["projects", "approvals", "approvals/names", "releases"];
    for directory in inner.iter().map(|name| state.join(name)).chain([state.clone()]) {
        if directory.symlink_metadata().is_ok() && !directory.is_dir() {
            let what = format!("{} is no directory", shown(&directory));
            let advice = "move it away: the directory is made anew";
            complaints.push(Complaint::new(Area::State, what, advice));
        }
        let files = entries(&directory).filter(|path| {
            path.extension().is_some_and(|extension| extension == "json" || extension == "journal")
        });
        for path in files {
            if let Err(error) = Stored::new(path).read::<serde_json::Value>() {
                complaints.push(Complaint::of(Area::State, &error.into(), RESTORE));
            }
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

fn is_old(path: &Path) -> bool {
    let changed = path.symlink_metadata().and_then(|metadata| metadata.modified());
    changed
        .is_ok_and(|changed| SystemTime::now().duration_since(changed).is_ok_and(|age| age > OLD))
}

fn shown(path: &Path) -> String {
    format!("`{}`", escape(&path.to_string_lossy()))
}
