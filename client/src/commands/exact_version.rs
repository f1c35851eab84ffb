//! One version, named in full.

use skillpkg::registry::Registry;
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{QualifiedName, Requirement, Version};

/// Reads `[scope/]name@version`: a whole version, since a requirement could mean several.
pub(crate) fn read(reference: &str) -> Result<(QualifiedName, Version), Error> {
    let refused = |code: &str, message: String| Error::new(Kind::Usage, code, message);
    let Some((name, version)) = reference.split_once('@') else {
        let message = format!("`{}` does not say which version", escape(reference));
        return Err(refused("invalid_reference", message)
            .with_hint(format!("name it in full: `{}@1.2.0`", escape(reference))));
    };
    let name: QualifiedName = name.parse().map_err(|error: skillpkg_schema::name::NameError| {
        refused("invalid_name", error.to_string())
    })?;
    let version = version.parse().map_err(|error: skillpkg_schema::version::VersionError| {
        let message = if version.parse::<Requirement>().is_ok() {
            format!("`{}` may mean several versions, and one is to be named", escape(version))
        } else {
            error.to_string()
        };
        refused("invalid_version", message).with_hint(format!(
            "a whole version is `MAJOR.MINOR.PATCH`, such as `1.2.0`; `skillpkg show {name}` tells \
             which there are"
        ))
    })?;
    Ok((name, version))
}

/// Why a version is yanked, where its registry's document can be had and has it.
pub(crate) async fn yank_of(
    registry: &Registry,
    name: &QualifiedName,
    version: &Version,
) -> Option<Option<String>> {
    let document = registry.document(name).await.ok()??;
    let entry = document.version(version)?;
    Some(entry.yanked.as_ref().map(|yank| yank.reason.clone()))
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
        for text in ["greet@0.2", "greet@latest", "greet@^1.2.0"] {
            let error = read(text).unwrap_err();
            assert!(error.message.contains("may mean several versions"), "{error}");
            assert!(error.hint.unwrap().contains("`skillpkg show greet`"));
        }
    }
}
