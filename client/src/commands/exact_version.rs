//! One version, named in full.

use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{QualifiedName, Version};

/// Reads `[scope/]name@version`: a whole version, since a requirement could mean several.
pub(crate) fn read(reference: &str) -> Result<(QualifiedName, Version), Error> {
    let refused = |code: &str, message: String| Error::new(Kind::Usage, code, message);
    let Some((name, version)) = reference.split_once('@') else {
        let message = format!("`{}` does not say which version", escape(reference));
        return Err(refused("invalid_reference", message)
            .with_hint(format!("name it in full: `{}@1.2.0`", escape(reference))));
    };
    let name = name.parse().map_err(|error: skillpkg_schema::name::NameError| {
        refused("invalid_name", error.to_string())
    })?;
    let version = version.parse().map_err(|error: skillpkg_schema::version::VersionError| {
        refused("invalid_version", error.to_string()).with_hint(
            "name one version in full, `MAJOR.MINOR.PATCH`; `skillpkg show` tells which there are",
        )
    })?;
    Ok((name, version))
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn one_version_is_named_in_full() {
        let (name, version) = read("acme/waitlist@1.2.0-rc.1").unwrap();
        assert_eq!(
            (name.to_string(), version.to_string()),
            ("acme/waitlist".into(), "1.2.0-rc.1".into())
        );
        for text in ["waitlist", "waitlist@1.2", "waitlist@latest", "Wait@1.2.0", "@1.2.0", "w@"] {
            assert_eq!(read(text).unwrap_err().kind.exit_code(), 2, "{text}");
        }
    }
}
