//! The environment that tools and scripts get.

use std::collections::BTreeMap;

use crate::Settings;
use crate::settings::{WITHHELD, is_same_variable};

/// The user's environment without our secrets, with the project's directory, and with Python kept
/// from leaving `__pycache__` in a snapshot.
pub(super) fn environment(settings: &Settings) -> BTreeMap<String, String> {
    let mut environment = settings.environment.clone();
    environment.retain(|name, _| !WITHHELD.iter().any(|ours| is_same_variable(name, ours)));
    let project = settings.project.to_string_lossy().into_owned();
    environment.insert("SKILLPKG_PROJECT".to_owned(), project);
    environment.insert("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned());
    environment
}
