//! What a resource and a script are called.

use std::collections::HashMap;

use super::Capabilities;
use crate::path::SkillPath;

/// The name of the script in this file: its stem in `[a-z0-9_]`.
pub(super) fn of_script(path: &SkillPath) -> String {
    let file = path.file_name();
    let stem = match file.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => file,
    };
    stem.chars()
        .map(|character| match character.to_ascii_lowercase() {
            plain @ ('a'..='z' | '0'..='9') => plain,
            _ => '_',
        })
        .collect()
}

/// The name of the resource in this file.
pub(super) fn of_resource(path: &SkillPath) -> String {
    format!("read_{}", of_script(path))
}

/// Two capabilities of one name.
pub(super) struct Collision<'a> {
    pub(super) name: &'a str,
    pub(super) first: &'a SkillPath,
    pub(super) second: &'a SkillPath,
}

/// Every capability whose name an earlier one has; resources come before scripts.
pub(super) fn collisions(capabilities: &Capabilities) -> Vec<Collision<'_>> {
    let resources = capabilities.resources.iter().map(|one| (one.name.as_str(), &one.path));
    let scripts = capabilities.scripts.iter().map(|one| (one.name.as_str(), &one.path));
    let mut owners: HashMap<&str, &SkillPath> = HashMap::new();
    let mut collisions = Vec::new();
    for (name, path) in resources.chain(scripts) {
        match owners.get(name) {
            Some(first) => collisions.push(Collision { name, first, second: path }),
            None => {
                owners.insert(name, path);
            }
        }
    }
    collisions
}
