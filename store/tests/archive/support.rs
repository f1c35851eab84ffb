//! What the tests of archives share.

use skillpkg_schema::SkillPath;
use skillpkg_store::attacks::Sample;

pub(crate) fn path(text: &str) -> SkillPath {
    text.parse().unwrap()
}

/// The sample that most tests start from.
pub(crate) fn small() -> Sample {
    Sample::small().unwrap()
}
