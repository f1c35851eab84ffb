//! Paths of pages.

use std::fmt::Write as _;

use skillpkg_schema::{QualifiedName, Version};

/// The page of a skill.
pub(super) fn skill(name: &QualifiedName) -> String {
    format!("/skills/{}/{}", name.wire_scope(), name.name())
}

/// The page of a version.
pub(super) fn version(name: &QualifiedName, version: &Version) -> String {
    format!("{}/{}", skill(name), segment(&version.to_string()))
}

/// The page of a file of a version.
pub(super) fn file(name: &QualifiedName, of: &Version, path: &str) -> String {
    let parts: Vec<String> = path.split('/').map(segment).collect();
    format!("{}/files/{}", version(name, of), parts.join("/"))
}

/// The difference between two versions.
pub(super) fn difference(name: &QualifiedName, from: &Version, to: &Version) -> String {
    let (from, to) = (segment(&from.to_string()), segment(&to.to_string()));
    format!("{}/diff/{from}/{to}", skill(name))
}

/// The page of a leaf of the log.
pub(super) fn leaf(index: u64) -> String {
    format!("/log/entries/{index}")
}

/// A text as one part of a path or a value of a query: all but what RFC 3986 leaves unreserved is
/// written in percent.
pub(super) fn segment(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            written.push(char::from(byte));
        } else {
            let _ = write!(written, "%{byte:02X}");
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_holds_nothing_that_a_browser_reads_otherwise() {
        let name: QualifiedName = "acme/pdf".parse().unwrap();
        let of: Version = "1.0.0+b.1".parse().unwrap();
        assert_eq!(
            file(&name, &of, "a b/\"<\u{202e}>?#.md"),
            "/skills/acme/pdf/1.0.0%2Bb.1/files/a%20b/%22%3C%E2%80%AE%3E%3F%23.md"
        );
        assert_eq!(skill(&"pdf".parse().unwrap()), "/skills/_/pdf");
    }
}
