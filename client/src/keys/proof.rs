//! Showing a registry that its account holds a key.

use skillpkg_schema::diagnostic::{escape, is_unprintable};
use skillpkg_schema::signature::key_proof::prove_key;
use skillpkg_schema::signature::{Envelope, KeyId, SigningKey};

use crate::registry::Registry;
use crate::settings::registry_text;
use crate::trust::{self, Notice};
use crate::{Error, Kind, Settings};

/// Most characters of a registry's identity.
const MAX_IDENTITY: usize = 255;

/// What shows that an account holds a key, for one registry.
#[derive(Debug, Clone)]
pub struct Proof {
    /// The envelope.
    pub envelope: Envelope,
    /// The account that it was made for.
    pub account: String,
    /// The identity of the registry that it was made for.
    pub registry: String,
}

/// Whether a publish must show that the account holds this key: it has no key yet, or has this one
/// and never showed that.
pub async fn is_needed(registry: &Registry, key: &KeyId) -> Result<bool, Error> {
    let keys = registry.keys().await?.keys;
    let own = keys.iter().find(|known| known.id == *key);
    // One that the registry holds is none that the account has brought.
    let has_none = keys.iter().all(|known| known.held);
    Ok(has_none || own.is_some_and(|own| !own.proven && own.revoked.is_none()))
}

/// Signs with `key` that the account of the token holds it, at the registry whose log this is.
///
/// A registry that calls itself by the name of another's log is refused
/// (`registry_identity_refused`): what is signed would count there. One that is asked for the first
/// time has its log pinned, which is among what there is to tell.
pub async fn make(
    settings: &Settings,
    registry: &Registry,
    key: &SigningKey,
) -> Result<(Proof, Vec<Notice>), Error> {
    let identity = registry.information().await?.identity;
    let length = identity.chars().count();
    if !(1..=MAX_IDENTITY).contains(&length) || identity.chars().any(is_unprintable) {
        let message = format!(
            "the registry at `{}` says that it is `{}`, which is no registry's identity",
            registry_text(registry.url()),
            escape(&identity.chars().take(MAX_IDENTITY).collect::<String>())
        );
        return Err(Error::new(Kind::Failed, "answer_invalid", message));
    }
    let (origins, notices) = trust::origins(settings, registry).await?;
    if !origins.contains(&identity) {
        let message = format!(
            "the registry at `{}` says that it is `{}`; its log is `{}`",
            registry_text(registry.url()),
            escape(&identity),
            origins.iter().map(|origin| escape(origin)).collect::<Vec<_>>().join("`, `")
        );
        return Err(Error::new(Kind::Refused, "registry_identity_refused", message).with_hint(
            "nothing was signed: what is signed for another registry would count there; tell the \
             registry's operator",
        ));
    }
    let account = registry.who_am_i().await?.account;
    let envelope = prove_key(&account, &identity, key);
    Ok((Proof { envelope, account, registry: identity }, notices))
}
