//! The runners that ship, as a user's configuration has them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ProcessRunner, RemoteRunner, RunnerSet};
use crate::{Error, Settings};

/// The commands of process runners where the configuration names none, by runtime.
const BUILT_IN: [(&str, &[&str]); 4] = [
    ("javascript", &["node"]),
    ("python", &["python3"]),
    ("shell", &["sh"]),
    ("wasm", &["wasmtime", "run"]),
];

impl RunnerSet {
    /// One process runner a runtime, and the remote ones.
    ///
    /// A configured command or URL takes the place of the built-in command of its runtime; where
    /// both a command and a URL are configured for one runtime there are two runners, and no script
    /// of it is activated before one goes.
    pub fn configured(settings: &Settings) -> Result<Self, Error> {
        let mut set = Self::default();
        for (runtime, command) in commands(settings) {
            set.add(Arc::new(ProcessRunner::new(runtime, command, &settings.path)));
        }
        for (runtime, url) in &settings.remote_runners {
            set.add(Arc::new(RemoteRunner::new(runtime, url.clone())?));
        }
        Ok(set)
    }
}

/// The commands of the process runners that are configured, by runtime.
pub(crate) fn commands(settings: &Settings) -> BTreeMap<String, Vec<String>> {
    let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let mut commands: BTreeMap<String, Vec<String>> = BUILT_IN
        .iter()
        .filter(|(runtime, _)| !settings.remote_runners.contains_key(*runtime))
        .map(|(runtime, words)| ((*runtime).to_owned(), owned(words)))
        .collect();
    for (runtime, command) in &settings.runners {
        commands.insert(runtime.clone(), command.clone());
    }
    commands
}

#[cfg(test)]
mod tests {
    use skillpkg_schema::capability::BUILT_IN_RUNTIMES;

    use super::BUILT_IN;

    #[test]
    fn the_runtimes_that_authors_are_told_of_are_those_with_a_runner() {
        let mut told = BUILT_IN_RUNTIMES;
        told.sort_unstable();
        assert_eq!(told, BUILT_IN.map(|(runtime, _)| runtime));
    }
}
