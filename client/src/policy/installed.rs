//! Holds what lies on this machine against the policies.

use jiff::Timestamp;
use skillpkg_schema::signature::{Envelope, KeyId, PublicKey, verify_release};
use skillpkg_schema::{ContentAddress, Manifest};
use skillpkg_store::content::Store;

use super::{Before, Policy, Skill, Violation, published};
use crate::activation::{found, prose_commands};
use crate::project::Source;
use crate::state::State;
use crate::trust::proven_time;
use crate::{Error, Settings, keys};

/// A snapshot of the store, and where it comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Installed<'a> {
    /// Its manifest, which was re-hashed.
    pub(crate) manifest: &'a Manifest,
    /// Its SHA-256 address.
    pub(crate) address: &'a ContentAddress,
    /// Its signatures.
    pub(crate) envelope: &'a Envelope,
    /// Where the lockfile has it from.
    pub(crate) source: &'a Source,
}

/// Everything that the policies forbid of a snapshot that is here. Asks no network: when it was
/// published is what this machine remembers, or the record in the log says of which a proof is kept.
pub(crate) fn violations_of(
    policy: &Policy,
    settings: &Settings,
    store: &Store,
    state: &State,
    installed: &Installed<'_>,
) -> Result<Vec<Violation>, Error> {
    if policy.is_empty() {
        return Ok(Vec::new());
    }
    let Installed { manifest, address, source, .. } = *installed;
    let keys =
        if policy.rules_signers() { verified(settings, state, installed)? } else { Vec::new() };
    let when = match source {
        Source::Registry(url) if policy.rules_release_age() => {
            match state.published(url, address)? {
                Some(when) => Some(when),
                None => proven_time(settings, url, manifest, address)?,
            }
        }
        _ => None,
    };
    let commands = if policy.reads_prose() { prose_commands(store, manifest) } else { None };
    let findings =
        if policy.rules_findings() { found::known(store, state, address)? } else { None };
    let findings = findings.unwrap_or_default();
    let skill = Skill {
        manifest,
        from: source.into(),
        keys: &keys,
        published: when.as_deref().and_then(published),
        prose_commands: commands.as_deref().unwrap_or_default(),
        findings: findings.told(),
        before: Before::Nothing,
    };
    Ok(policy.violations(&skill, Timestamp::now()))
}

/// The keys, among those that this machine knows, whose signatures over the snapshot hold.
fn verified(
    settings: &Settings,
    state: &State,
    installed: &Installed<'_>,
) -> Result<Vec<KeyId>, Error> {
    let Installed { manifest, address, envelope, .. } = *installed;
    let signers = state.signers()?;
    // A key file that cannot be read is for `skillpkg keys` to tell.
    let own = keys::list(&settings.home)?.keys;
    let (trusted, _) = keys::trusted(&settings.home)?;
    let local: Vec<PublicKey> = own.into_iter().chain(trusted).map(|key| key.public).collect();
    let known: Vec<PublicKey> = envelope
        .key_ids()
        .filter_map(|id| {
            signers.key(&id).or_else(|| local.iter().find(|key| key.id() == id).copied())
        })
        .collect();
    let verified = verify_release(envelope, &manifest.name, &manifest.version, address, &known);
    Ok(verified.unwrap_or_default())
}
