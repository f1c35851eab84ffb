//! What an account sends to show that it holds a key.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use skillpkg_schema::signature::key_proof::verify_key_proof;
use skillpkg_schema::signature::{Envelope, PublicKey};

use super::keys::ProvenKey;
use crate::problem::{Answer, Code, Refusal};

/// Reads the base64 of an envelope; `from` is where it stood.
pub fn read(text: &str, from: &str) -> Answer<Envelope> {
    let refused = |reason: &str| {
        let detail = format!("`{from}` holds the base64 of a proof that the key is held: {reason}");
        Refusal::new(Code::KeyUnproven, detail)
    };
    let bytes = STANDARD.decode(text).map_err(|error| refused(&error.to_string()))?;
    Envelope::from_bytes(&bytes).map_err(|error| refused(&error.to_string()))
}

/// The key as one that the account holds, where `proof` shows that; else a refusal that says what
/// would.
pub fn check(
    key: PublicKey,
    proof: Option<Envelope>,
    account: &str,
    identity: &str,
) -> Answer<ProvenKey> {
    let Some(proof) = proof else {
        let detail = format!(
            "nothing shows that `{account}` holds the key {}: a registration carries a proof signed with it, for this account at the registry `{identity}`; `skillpkg keys add` and `skillpkg publish` make one",
            key.id()
        );
        return Err(Refusal::new(Code::KeyUnproven, detail));
    };
    verify_key_proof(&proof, account, identity, &key)
        .map_err(|error| Refusal::new(Code::KeyUnproven, error.to_string()))?;
    Ok(ProvenKey { key, proof })
}
