//! The URIs of what skills hold: `skill://SCOPE/NAME/PATH`.
//!
//! A name without a scope stands under `_`, as on the wire: `acme/waitlist` and the file
//! `waitlist/SKILL.md` of a skill `acme` would else have one URI.

use std::fmt::Write as _;

use skillpkg_schema::{QualifiedName, SkillPath};

const SCHEME: &str = "skill://";

/// Where in a skill a URI leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The skill.
    pub(super) skill: QualifiedName,
    /// The file or directory; [`None`] for the skill's own directory.
    pub(super) path: Option<SkillPath>,
}

/// The URI of a skill's directory, without a `/` at its end.
pub(super) fn of_skill(skill: &QualifiedName) -> String {
    format!("{SCHEME}{}/{}", skill.wire_scope(), skill.name())
}

/// The URI of a file or directory of a skill.
pub(super) fn of_path(skill: &QualifiedName, path: &str) -> String {
    let mut uri = of_skill(skill);
    uri.push('/');
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/') {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// Where a URI leads; [`None`] for every text that this server would not have written: a second
/// spelling of one place is none.
pub(super) fn parse(uri: &str) -> Option<Place> {
    let rest = uri.strip_prefix(SCHEME)?;
    let (scope, rest) = rest.split_once('/')?;
    let (name, path) = match rest.split_once('/') {
        Some((name, path)) => (name, Some(path)),
        None => (rest, None),
    };
    let skill = QualifiedName::from_wire(scope, name).ok()?;
    let Some(path) = path else { return Some(Place { skill, path: None }) };
    let path: SkillPath = decoded(path)?.parse().ok()?;
    (of_path(&skill, path.as_str()) == uri).then_some(Place { skill, path: Some(path) })
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        bytes.push(u8::from_str_radix(after.get(..2)?, 16).ok()?);
        rest = after.get(2..)?;
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place(skill: &str, path: Option<&str>) -> Place {
        Place { skill: skill.parse().unwrap(), path: path.map(|path| path.parse().unwrap()) }
    }

    #[test]
    fn uris_have_one_spelling_each() {
        for (skill, path, uri) in [
            ("acme/waitlist", "SKILL.md", "skill://acme/waitlist/SKILL.md"),
            ("waitlist", "references/a b.md", "skill://_/waitlist/references/a%20b.md"),
            ("waitlist", "ä#?%.md", "skill://_/waitlist/%C3%A4%23%3F%25.md"),
            ("a_b/c-d", "x_~-1", "skill://a_b/c-d/x_~-1"),
        ] {
            assert_eq!(of_path(&skill.parse().unwrap(), path), uri);
            assert_eq!(parse(uri), Some(place(skill, Some(path))));
        }
        assert_eq!(parse("skill://acme/waitlist"), Some(place("acme/waitlist", None)));
        assert_eq!(of_skill(&"waitlist".parse().unwrap()), "skill://_/waitlist");
    }

    #[test]
    fn what_this_server_would_not_write_leads_nowhere() {
        for uri in [
            "",
            "skill://",
            "skill://acme",
            "skill://acme/",
            "skill://acme/waitlist/",
            "skill://Acme/waitlist/SKILL.md",
            "SKILL://acme/waitlist/SKILL.md",
            "file:///etc/passwd",
            "skill://acme/waitlist/../other/SKILL.md",
            "skill://acme/waitlist/%2e%2e/SKILL.md",
            "skill://acme/waitlist//SKILL.md",
            "skill://acme/waitlist/./SKILL.md",
            "skill://acme/waitlist/a b.md",
            "skill://acme/waitlist/a%2fb.md",
            "skill://acme/waitlist/%53KILL.md",
            "skill://acme/waitlist/%c3%a4.md",
            "skill://acme/waitlist/%C3.md",
            "skill://acme/waitlist/%",
            "skill://acme/waitlist/%+1",
            "skill://acme/waitlist/SKILL.md?x",
            "skill://acme/waitlist/SKILL.md#x",
            "skill://acme/waitlist/%00",
        ] {
            assert_eq!(parse(uri), None, "{uri}");
        }
    }

    proptest! {
        #[test]
        fn every_place_is_found_again_and_nothing_panics(path in "\\PC{1,30}", any in "\\PC{0,40}") {
            let skill: QualifiedName = "acme/waitlist".parse().unwrap();
            if let Ok(parsed) = path.parse::<SkillPath>() {
                let uri = of_path(&skill, &path);
                prop_assert!(uri.is_ascii());
                prop_assert_eq!(parse(&uri), Some(Place { skill, path: Some(parsed) }));
            }
            let _ = parse(&format!("skill://{any}"));
        }
    }
}
