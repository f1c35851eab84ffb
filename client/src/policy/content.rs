//! Bytes that are asked for by their address alone: whose are they?

use std::path::Path;

use skillpkg_schema::{ContentAddress, Manifest};
use skillpkg_store::content::Store;

use super::{Installed, Policy, refuse, violations_of};
use crate::project::ProjectDirectory;
use crate::state::State;
use crate::{Error, Kind, Settings};

/// Refuses bytes that the policies forbid: those that are in installed skills, of the project at
/// `root` or of all the user's projects, none of which is allowed; and those of which nobody can
/// tell whose they are.
///
/// # Errors
///
/// As where a skill is asked for, and `policy_undecided` where no installed skill has the bytes.
pub fn check_content(
    policy: &Policy,
    settings: &Settings,
    root: &Path,
    store: &Store,
    address: &ContentAddress,
) -> Result<(), Error> {
    if !policy.rules_skills() {
        return Ok(());
    }
    let state = State::new(&settings.home);
    let mut forbidden = None;
    for root in [root, &settings.home.join("global")] {
        if !root.is_dir() {
            continue;
        }
        for locked in ProjectDirectory::open(root)?.read()?.lock.skills() {
            let Ok(Some(stored)) = store.stored(&locked.address) else { continue };
            if !holds(&stored.manifest, address) {
                continue;
            }
            let installed = Installed {
                manifest: &stored.manifest,
                address: &locked.address,
                envelope: &stored.envelope,
                source: &locked.source,
            };
            let violations = violations_of(policy, settings, store, &state, &installed)?;
            if violations.is_empty() {
                return Ok(());
            }
            forbidden.get_or_insert(violations);
        }
    }
    if let Some(violations) = forbidden {
        return refuse(&violations);
    }
    let message =
        format!("no skill that is installed here has {address}: a policy cannot judge it");
    Err(Error::new(Kind::Refused, "policy_undecided", message).with_hint(
        "name the skill and the file, or install the skill that has it: `skillpkg install NAME \
         --no-activate`",
    ))
}

fn holds(manifest: &Manifest, address: &ContentAddress) -> bool {
    let is_file = |file: &skillpkg_schema::manifest::FileEntry| {
        file.sha256.address() == *address || file.blake3.address() == *address
    };
    manifest.files.iter().any(is_file) || address.matches(&manifest.to_bytes())
}
