//! The environment that tools and scripts get.

use std::collections::BTreeMap;

use crate::Settings;

/// What never reaches a skill: the registry token and the signing key.
const WITHHELD: [&str; 2] = ["SKILLPKG_TOKEN", "SKILLPKG_KEY"];

/// The user's environment without our secrets, with the project's directory, and with Python kept
/// from leaving `__pycache__` in a snapshot.
pub(super) fn environment(settings: &Settings) -> BTreeMap<String, String> {
    let mut environment = settings.environment.clone();
    for name in WITHHELD {
        environment.remove(name);
    }
    let project = settings.project.to_string_lossy().into_owned();
    environment.insert("SKILLPKG_PROJECT".to_owned(), project);
    environment.insert("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned());
    environment
}
