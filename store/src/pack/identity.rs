//! The name and version that a skill is packed as.

use skillpkg_schema::manifest::Identity;
use skillpkg_schema::name::{NameError, nearest_legal};
use skillpkg_schema::skill::{Dialect, SkillFile};
use skillpkg_schema::{Diagnostic, Faults, QualifiedName, Severity, SkillName, Version};

use super::PackOptions;

/// The identity that `options` and the frontmatter give, options first.
pub(super) fn identity(file: &SkillFile, options: &PackOptions) -> Result<Identity, Faults> {
    let mut faults = Vec::new();
    let mut keep = |fault: Diagnostic| faults.push(fault.in_file("SKILL.md"));
    let name = match &options.name {
        Some(name) => Some(name.clone()),
        None => frontmatter_name(file).map_err(&mut keep).ok(),
    };
    let version = match &options.version {
        Some(version) => Some(version.clone()),
        None => frontmatter_version(file).map_err(&mut keep).ok(),
    };
    let ((name, version), _) = Faults::check((name, version), faults)?;
    match (name, version) {
        (Some(name), Some(version)) => Ok(Identity { name, version }),
        _ => Err(Diagnostic::error("no_identity", "the skill has no name and version").into()),
    }
}

/// The fault that was a warning where the file was read, as an error; [`None`] where it was none.
fn refused(file: &SkillFile, code: &str) -> Option<Diagnostic> {
    let warning = file.warnings.iter().find(|warning| warning.code == code)?;
    Some(Diagnostic { severity: Severity::Error, ..warning.clone() })
}

/// `fault` at the place of the warning of this code.
fn at_place_of(file: &SkillFile, code: &str, fault: Diagnostic) -> Diagnostic {
    match file.warnings.iter().find(|warning| warning.code == code) {
        Some(warning) => Diagnostic { line: warning.line, column: warning.column, ..fault },
        None => fault,
    }
}

fn frontmatter_name(file: &SkillFile) -> Result<QualifiedName, Diagnostic> {
    if let Some(missing) = refused(file, "name_missing") {
        return Err(missing);
    }
    let text = file.name.as_str();
    text.parse::<SkillName>().map(QualifiedName::from).map_err(|error| {
        let hint = match (&error, nearest_legal(text)) {
            (NameError::Grammar { .. }, Some(near)) => {
                format!("call it `{near}` in the frontmatter, or pack it with `--name {near}`")
            }
            _ => {
                "name it otherwise in the frontmatter, or with `skillpkg publish --name`".to_owned()
            }
        };
        let fault = Diagnostic::error("name_refused", error.to_string()).with_hint(hint);
        at_place_of(file, "name_not_published", fault)
    })
}

/// What is told of a skill whose frontmatter gives no version: an error where it is packed.
pub fn version_missing(dialect: Dialect) -> Diagnostic {
    Diagnostic::error("version_missing", "the frontmatter gives no version").with_hint(format!(
        "write {}, or give one: `skillpkg publish --version 1.0.0`",
        where_to_write(dialect)
    ))
}

fn where_to_write(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Hard => "`version: 1.0.0` in the frontmatter",
        Dialect::Agent => "`version: \"1.0.0\"` under `metadata` in the frontmatter",
    }
}

fn frontmatter_version(file: &SkillFile) -> Result<Version, Diagnostic> {
    let text = file.version.as_deref().ok_or_else(|| version_missing(file.dialect))?;
    Version::parse_lenient(text).map_err(|error| {
        let hint = format!(
            "write {}, or give one: `skillpkg pack --version 1.0.0`",
            where_to_write(file.dialect)
        );
        let fault = Diagnostic::error("version_refused", error.to_string()).with_hint(hint);
        at_place_of(file, "version_not_published", fault)
    })
}

#[cfg(test)]
mod tests {
    use skillpkg_schema::skill::parse_unnamed;

    use super::*;

    fn told(frontmatter: &str, name: Option<&str>) -> Result<String, Vec<String>> {
        let text = format!("---\n{frontmatter}\ndescription: d e.\n---\n\nText.\n");
        let file = parse_unnamed(text.as_bytes(), "SKILL.md").unwrap();
        let name = name.map(|name| name.parse().unwrap());
        let options = PackOptions { name, version: None, allow_secrets: false };
        let told = |one: &Diagnostic| {
            let place = (one.line.unwrap_or_default(), one.column.unwrap_or_default());
            format!("{}:{}:{}", one.code, place.0, place.1)
        };
        identity(&file, &options)
            .map(|identity| format!("{} {}", identity.name, identity.version))
            .map_err(|faults| faults.diagnostics().iter().map(told).collect())
    }

    #[test]
    fn a_name_that_is_given_stands_in_for_a_missing_and_for_a_refused_one() {
        for name in ["version: 1.0.0", "name: Agent Browser\nversion: 1.0.0"] {
            assert_eq!(told(name, Some("acme/x")), Ok("acme/x 1.0.0".to_owned()));
        }
        let refused = |codes: &[&str]| Err(codes.iter().map(|&code| code.to_owned()).collect());
        assert_eq!(told("version: 1.0.0", None), refused(&["name_missing:1:1"]));
    }

    #[test]
    fn a_refused_name_and_a_refused_version_are_told_with_their_places() {
        let codes = ["name_refused:2:7", "version_refused:3:10"].map(str::to_owned);
        assert_eq!(told("name: Agent Browser\nversion: newest", None), Err(codes.to_vec()));
    }
}
