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
        let mut commands: BTreeMap<&str, Vec<String>> = BUILT_IN
            .iter()
            .filter(|(runtime, _)| !settings.remote_runners.contains_key(*runtime))
            .map(|(runtime, words)| (*runtime, words.iter().map(|&word| word.to_owned()).collect()))
            .collect();
        for (runtime, command) in &settings.runners {
            commands.insert(runtime, command.clone());
        }
        let mut set = Self::default();
        for (runtime, command) in commands {
            set.add(Arc::new(ProcessRunner::new(runtime, command, &settings.path)));
        }
        for (runtime, url) in &settings.remote_runners {
            set.add(Arc::new(RemoteRunner::new(runtime, url.clone())?));
        }
        Ok(set)
    }
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
