//! Whether a registry shows the log that it is known by, before it is told anything.

use super::ask::{Notice, Trust};
use super::rules::Rules;
use crate::policy::Policy;
use crate::registry::Registry;
use crate::{Error, Settings};

/// Holds the log that a registry shows against the one that it is known by or that the configuration
/// names, and remembers what it shows, as every question about a skill does. No token is sent.
///
/// A registry that stands in the configuration's place for another, or was set back, is refused
/// before it gets a token or takes a release.
pub async fn check_log(settings: &Settings, registry: &Registry) -> Result<Vec<Notice>, Error> {
    if registry.shelf().is_some() {
        return Ok(Vec::new());
    }
    let trust = Trust::new(settings, Rules::of(&Policy::of_user(settings)?));
    let mut notices = Vec::new();
    let nobody = registry.without_token();
    let asked = trust.part(registry.url(), &nobody, &[], &mut notices).await?;
    notices.extend(asked.into_iter().flat_map(|asked| asked.notices));
    Ok(notices)
}
