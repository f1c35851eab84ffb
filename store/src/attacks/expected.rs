//! What must become of each attack, as data.

use std::io;

use serde::Deserialize;

/// What must become of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The attack's name, or a pattern of names: see [`Expected::covers`].
    pub attack: String,
    /// The row of the list of attacks that it belongs to, such as `AX-01`.
    pub row: String,
    /// Who refuses it.
    pub refused_by: RefusedBy,
    /// The code of the reader's error.
    #[serde(default)]
    pub code: Option<String>,
    /// What the message holds.
    #[serde(default)]
    pub mentions: Option<String>,
}

/// The check that an archive does not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedBy {
    /// [`Reader`](crate::archive::Reader), on opening or unpacking.
    Reader,
    /// Whoever verifies the signature: it is not over this manifest, or not by the sample's key.
    Signature,
    /// Whoever derives the manifest again from the files: they do not say what it says.
    Derivation,
    /// Nobody: the archive is as good as the sample's own.
    Nobody,
}

impl Expected {
    /// Whether this is what is expected of the attack `name`: part by part, `*` being any part and,
    /// at the end, any parts.
    pub fn covers(&self, name: &str) -> bool {
        let mut parts = name.split('/');
        let mut wanted = self.attack.split('/').peekable();
        while let Some(part) = wanted.next() {
            match parts.next() {
                Some(_) if part == "*" && wanted.peek().is_none() => return true,
                Some(found) if part == "*" || part == found => {}
                _ => return false,
            }
        }
        parts.next().is_none()
    }
}

/// Every expectation. The first that covers an attack is the one that counts.
pub fn expectations() -> io::Result<Vec<Expected>> {
    Ok(serde_json::from_str(include_str!("../../tests/attacks/expected.json"))?)
}
