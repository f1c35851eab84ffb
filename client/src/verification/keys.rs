//! The public keys that may vouch: those that this machine has seen or made, and, where a network
//! may be asked, those that the registry gives.

use skillpkg_schema::QualifiedName;
use skillpkg_schema::signature::{Envelope, PublicKey};

use crate::project::Source;
use crate::registry::Registry;
use crate::revocation::Revocation;
use crate::settings::{Chosen, RegistryChoice};
use crate::state::{Signers, State};
use crate::{Error, Settings, keys};

/// The public keys that may vouch.
#[derive(Debug)]
pub(super) struct KeyRing {
    signers: Signers,
    own: Vec<PublicKey>,
}

impl KeyRing {
    /// The keys that this machine has seen or made, and those that its user trusts.
    pub(super) fn read(settings: &Settings, state: &State) -> Result<Self, Error> {
        // A key file that cannot be read is for `skillpkg keys` to tell.
        let (own, _) = keys::list(&settings.home)?;
        let (trusted, _) = keys::trusted(&settings.home)?;
        let own = own.into_iter().chain(trusted).map(|key| key.public).collect();
        Ok(Self { signers: state.signers()?, own })
    }

    /// The keys among these that have signed the envelope, by the ids in it.
    pub(super) fn of(&self, envelope: &Envelope) -> Vec<PublicKey> {
        envelope
            .key_ids()
            .filter_map(|id| {
                let own = self.own.iter().find(|key| key.id() == id).copied();
                self.signers.key(&id).or(own)
            })
            .collect()
    }
}

/// The registry that a skill comes from: the one that the lockfile names, else the one that its
/// name is asked for at.
pub(super) fn registry_of(
    settings: &Settings,
    name: &QualifiedName,
    source: Option<&Source>,
) -> Result<Registry, Error> {
    let Some(Source::Registry(url)) = source else { return Registry::for_settings(settings, name) };
    let choice = settings
        .registry_for(name)
        .ok()
        .filter(|choice| choice.url == *url)
        // A lockfile comes with the project: a token of the environment is not for it.
        .unwrap_or_else(|| RegistryChoice { url: url.clone(), chosen: Chosen::ByProject });
    Registry::chosen(settings, &choice)
}

/// The keys that a registry gives for a skill, and which of them were revoked; none where it has no
/// such skill.
pub(super) async fn of_registry(
    registry: &Registry,
    name: &QualifiedName,
) -> Result<Vec<(PublicKey, Option<Revocation>)>, Error> {
    let Some(document) = registry.document(name).await? else { return Ok(Vec::new()) };
    let keys = document.keys.iter().filter_map(|signer| {
        let key = PublicKey::from_pem(&signer.pem).ok().filter(|key| key.id() == signer.id)?;
        Some((key, Revocation::of(&document, signer)))
    });
    Ok(keys.collect())
}
