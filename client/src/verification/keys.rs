//! The public keys that may vouch: those that this machine knows, and, where a network may be
//! asked, those that the registry gives.

use skillpkg_schema::QualifiedName;
use skillpkg_schema::signature::{Envelope, KeyId, PublicKey};
use skillpkg_schema::wire::Document;

use super::Subject;
use crate::install::Candidate;
use crate::project::Source;
use crate::registry::Registry;
use crate::revocation::Revocation;
use crate::settings::{Chosen, RegistryChoice};
use crate::state::{Signers, State};
use crate::{Error, Settings, keys};

/// The public keys that may vouch.
#[derive(Debug)]
pub(super) struct KeyRing<'a> {
    settings: &'a Settings,
    pub(super) signers: Signers,
    own: Vec<PublicKey>,
}

impl<'a> KeyRing<'a> {
    /// The keys that this machine has seen or made, and those that its user trusts.
    pub(super) fn read(settings: &'a Settings, state: &State) -> Result<Self, Error> {
        // A key file that cannot be read is for `skillpkg keys` to tell.
        let own = keys::list(&settings.home)?.keys;
        let (trusted, _) = keys::trusted(&settings.home)?;
        let own = own.into_iter().chain(trusted).map(|key| key.public).collect();
        Ok(Self { settings, signers: state.signers()?, own })
    }

    /// The keys among these that have signed the envelope, by the ids in it, and that may vouch for
    /// the snapshot: for one that came as a file, those with which it would be installed.
    pub(super) fn of(&self, subject: &Subject, envelope: &Envelope) -> Vec<Candidate> {
        let of_file = subject
            .from_file
            .then(|| keys::vouching_for_files(self.settings, &self.signers, &subject.name));
        let named = |id: KeyId| {
            if let Some(keys) = &of_file {
                return keys.iter().find(|key| key.id() == id).copied();
            }
            let own = self.own.iter().find(|key| key.id() == id).copied();
            self.signers.key(&id).or(own)
        };
        let keys = envelope.key_ids().filter_map(named);
        let registry = subject.source.as_ref().and_then(Source::registry);
        keys.map(|key| Candidate::known(key, &self.signers, registry, &subject.name)).collect()
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

/// Adds the keys that a registry gives for a skill, and what it says of those that are known.
pub(super) fn add_those_of(document: &Document, candidates: &mut Vec<Candidate>) {
    for signer in &document.keys {
        let key = PublicKey::from_pem(&signer.pem).ok().filter(|key| key.id() == signer.id);
        let Some(key) = key else { continue };
        let (account, revoked) = (Some(signer.account.clone()), Revocation::of(document, signer));
        match candidates.iter_mut().find(|one| one.key == key) {
            Some(known) => {
                known.account = account;
                known.hear(revoked.as_slice());
            }
            None => candidates.push(Candidate { key, account, revoked }),
        }
    }
}
