//! What the tests of archives share.

use std::sync::LazyLock;

use skillpkg_schema::SkillPath;
use skillpkg_store::attacks::{self, Attack, Sample};

/// Every attack, made once.
pub(crate) fn attacks() -> &'static [Attack] {
    static ATTACKS: LazyLock<Vec<Attack>> = LazyLock::new(|| attacks::all().unwrap());
    &ATTACKS
}

pub(crate) fn path(text: &str) -> SkillPath {
    text.parse().unwrap()
}

/// The sample that most tests start from.
pub(crate) fn small() -> Sample {
    Sample::small().unwrap()
}
