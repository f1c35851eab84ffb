//! The keys that may vouch for an archive that comes as a file.

use skillpkg_schema::QualifiedName;
use skillpkg_schema::signature::PublicKey;

use super::{list, public_key, trusted};
use crate::Settings;
use crate::state::Signers;

/// The keys that may vouch for a file of this name: those of the machine's user, those that the
/// user trusts, and those that are pinned to the name. A key that was seen of another skill may be
/// anybody's.
///
/// A key's file that cannot be read is for `skillpkg keys` to tell.
pub(crate) fn vouching_for_files(
    settings: &Settings,
    signers: &Signers,
    name: &QualifiedName,
) -> Vec<PublicKey> {
    let own = list(&settings.home).map(|files| files.keys).unwrap_or_default();
    let trusted = trusted(&settings.home).map(|(keys, _)| keys).unwrap_or_default();
    let given = settings.key.as_deref().and_then(|path| public_key(path).ok());
    let pinned = signers.pins_of(name).flat_map(|pinned| &pinned.keys);
    let pinned = pinned.filter_map(|id| signers.key(id));
    let mut keys: Vec<PublicKey> = Vec::new();
    for key in own.into_iter().chain(trusted).map(|key| key.public).chain(given).chain(pinned) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}
