//! What a shell offers where a name is typed, read from the files of this machine: no network is
//! asked, nothing is made, and what cannot be read offers nothing.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use skillpkg::agents::Agents;
use skillpkg::project::{Locked, ProjectDirectory};
use skillpkg::settings::Sources;
use skillpkg::{Settings, keys};
use skillpkg_store::content::Store;

/// The variable that makes this program complete a command line in place of running it.
pub(crate) const VARIABLE: &str = "SKILLPKG_COMPLETE";

/// Most names that are offered.
const MOST: usize = 1_000;

/// Installed skills.
pub(crate) fn installed() -> ArgValueCompleter {
    offering(|| {
        let locked = locked().unwrap_or_default();
        locked.iter().map(|one| one.name.to_string()).collect()
    })
}

/// Installed skills, and beside them files and directories.
pub(crate) fn installed_or_path() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let mut offered = installed().complete(typed);
        offered.extend(PathCompleter::any().complete(typed));
        offered
    })
}

/// The tools and scripts of the skill that is named before, on the command line that is completed.
pub(crate) fn capabilities() -> ArgValueCompleter {
    offering(|| capabilities_of(&words()).unwrap_or_default())
}

/// Agents.
pub(crate) fn agents() -> ArgValueCompleter {
    offering(|| {
        let catalogue = settings().and_then(|settings| Agents::of(&settings).ok());
        let agents = catalogue.iter().flat_map(Agents::all);
        agents.map(|agent| agent.id.clone()).collect()
    })
}

/// The registries that the configuration names.
pub(crate) fn registries() -> ArgValueCompleter {
    offering(|| {
        let registries = settings().map(|settings| settings.registries).unwrap_or_default();
        registries.into_keys().collect()
    })
}

/// The ids of the keys on this machine.
pub(crate) fn key_ids() -> ArgValueCompleter {
    offering(|| {
        let found = settings().and_then(|settings| keys::list(&settings.home).ok());
        let found = found.unwrap_or_default().keys;
        found.iter().map(|key| key.public.id().to_string()).collect()
    })
}

fn offering(names: impl Fn() -> Vec<String> + Send + Sync + 'static) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let typed = typed.to_string_lossy();
        let fits = |name: &String| name.starts_with(&*typed) && is_plain(name);
        names()
            .into_iter()
            .filter(fits)
            .take(MOST)
            .map(CompletionCandidate::new)
            .collect::<Vec<_>>()
    })
}

/// Whether no shell reads anything but itself in a name.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte))
}

/// The words of the command line that is completed: those after `--`.
fn words() -> Vec<String> {
    let words = std::env::args_os().skip_while(|word| word != "--").skip(1);
    words.map(|word| word.to_string_lossy().into_owned()).collect()
}

fn settings() -> Option<Settings> {
    let sources = Sources {
        registry: None,
        environment: std::env::vars_os().collect(),
        working_directory: std::env::current_dir().ok()?,
        user_home: std::env::home_dir().filter(|home| home.is_absolute()),
    };
    sources.settings().ok().map(|(settings, _)| settings)
}

/// Where the lockfile lies that the command line is about.
fn root(settings: &Settings, words: &[String]) -> PathBuf {
    if words.iter().any(|word| word == "-g" || word == "--global") {
        settings.home.join("global")
    } else {
        settings.project.clone()
    }
}

fn locked() -> Option<Vec<Locked>> {
    let settings = settings()?;
    locked_at(&root(&settings, &words()))
}

fn locked_at(root: &Path) -> Option<Vec<Locked>> {
    let files = ProjectDirectory::open(root).ok()?.read().ok()?;
    Some(files.lock.skills().cloned().collect())
}

fn capabilities_of(words: &[String]) -> Option<Vec<String>> {
    let settings = settings()?;
    let mut after = words.iter().skip_while(|word| *word != "call").skip(1);
    let name = after.find(|word| !word.starts_with('-'))?;
    let locked = locked_at(&root(&settings, words))?;
    let locked = locked.iter().find(|one| one.name.to_string() == *name)?;
    // Opening a store makes it where there is none.
    if !settings.home.join("manifests").is_dir() {
        return None;
    }
    let manifest = Store::open(&settings.home).ok()?.stored(&locked.address).ok()??.manifest;
    let tools = manifest.tools.iter().map(|tool| tool.id.clone());
    Some(tools.chain(manifest.scripts.iter().map(|script| script.name.clone())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_shell_would_read_as_something_else_is_not_offered() {
        for (name, plain) in [
            ("acme/reports", true),
            ("claude-code", true),
            ("", false),
            ("$(id)", false),
            ("a b", false),
            ("*", false),
            ("a;b", false),
            ("é", false),
        ] {
            assert_eq!(is_plain(name), plain, "{name}");
        }
    }
}
