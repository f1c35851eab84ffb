//! What is ours in `_meta`: where something comes from, by the names under which users know it.

use rmcp::model::MetaObject;
use serde_json::{Value, json};
use skillpkg_schema::Sha256Digest;

use crate::host::ActiveSkill;

/// The prefix of our keys, of the shape that the protocol asks for.
const PREFIX: &str = "dev.skillpkg/";

/// `_meta` with these keys, each under our prefix.
pub(super) fn of<'a>(members: impl IntoIterator<Item = (&'a str, Value)>) -> MetaObject {
    let mut meta = MetaObject::new();
    for (key, value) in members {
        meta.insert(format!("{PREFIX}{key}"), value);
    }
    meta
}

/// The skill, its version and its snapshot.
pub(super) fn provenance(skill: &ActiveSkill) -> Vec<(&'static str, Value)> {
    vec![
        ("skill", json!(skill.name.to_string())),
        ("version", json!(skill.version.to_string())),
        ("address", json!(skill.address.to_string())),
    ]
}

/// A digest as the protocol writes it.
pub(super) fn digest(sha256: &Sha256Digest) -> String {
    sha256.address().to_string()
}
