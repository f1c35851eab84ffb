//! The name and version that a skill is packed as.

use skillpkg_schema::manifest::Identity;
use skillpkg_schema::name::{NameError, nearest_legal};
use skillpkg_schema::skill::{Dialect, SkillFile};
use skillpkg_schema::{Diagnostic, Faults, QualifiedName, SkillName, Version};

use super::PackOptions;

/// The identity that `options` and the frontmatter give, options first.
pub(super) fn identity(file: &SkillFile, options: &PackOptions) -> Result<Identity, Faults> {
    let mut faults = Vec::new();
    let mut keep = |fault: Diagnostic| faults.push(fault.in_file("SKILL.md"));
    let name = match &options.name {
        Some(name) => Some(name.clone()),
        None => frontmatter_name(&file.name).map_err(&mut keep).ok(),
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

fn frontmatter_name(text: &str) -> Result<QualifiedName, Diagnostic> {
    text.parse::<SkillName>().map(QualifiedName::from).map_err(|error| {
        let hint = match (&error, nearest_legal(text)) {
            (NameError::Grammar { .. }, Some(near)) => {
                format!("call it `{near}` in the frontmatter, or pack it with `--name {near}`")
            }
            _ => {
                "name it otherwise in the frontmatter, or with `skillpkg publish --name`".to_owned()
            }
        };
        Diagnostic::error("name_refused", error.to_string()).with_hint(hint)
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
        Diagnostic::error("version_refused", error.to_string()).with_hint(hint)
    })
}
