//! The registry that a project's file names.

use skillpkg_schema::diagnostic::escape;
use toml::de::DeTable;
use url::Url;

use super::choice::registry_url;
use super::configuration::place;
use crate::{Error, Kind};

/// The `registry` of a `skillpkg.toml`, which messages call `file`.
///
/// Lenient: a text that is no TOML names none here; whoever reads the whole project tells what is
/// wrong with it. Strict about the one value: it is a URL, in which no variable is expanded, since
/// whoever wrote the file is not whoever runs the command (CVE-2025-69262).
pub fn registry_of_project(text: &str, file: &str) -> Result<Option<Url>, Error> {
    let Ok(root) = DeTable::parse(text) else { return Ok(None) };
    let Some(value) = root.get_ref().get("registry") else { return Ok(None) };
    let refused = |message: String| {
        let (line, _) = place(text, value.span().start);
        let line = u32::try_from(line).ok();
        let error = Error::new(Kind::Failed, "project_invalid", message).in_file(file);
        Error { line, ..error }.with_hint("a project's `registry` is a URL, written in full")
    };
    let Some(url) = value.get_ref().as_str() else {
        let found = escape(value.get_ref().type_str());
        return Err(refused(format!("`registry` is of type {found}; expected a text in quotes")));
    };
    registry_url(url).map(Some).map_err(|error| refused(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_read_out_of_whatever_else_is_there() {
        let text = "registry = \"https://x.test/\"\n[skills]\nwaitlist = 7\n";
        let url = registry_of_project(text, "skillpkg.toml").unwrap().unwrap();
        assert_eq!(url.as_str(), "https://x.test/");
        for text in ["", "[skills]\n", "<<<<<<< ours\n"] {
            assert_eq!(registry_of_project(text, "skillpkg.toml"), Ok(None));
        }
    }

    #[test]
    fn a_projects_registry_is_never_expanded() {
        for text in ["registry = \"https://${GITHUB_TOKEN}.evil.test\"", "registry = \"$R\""] {
            let error = registry_of_project(text, "skillpkg.toml").unwrap_err();
            assert!(error.to_string().starts_with("skillpkg.toml:1: "), "{error}");
            assert!(error.message.contains("not expanded"), "{error}");
        }
        assert!(registry_of_project("registry = 1", "skillpkg.toml").is_err());
        assert!(registry_of_project("registry = \"corp\"", "skillpkg.toml").is_err());
    }
}
