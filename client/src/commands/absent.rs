//! What to say of a skill or a version that a registry does not have.

use skillpkg::registry::Registry;
use skillpkg::settings::registry_text;
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::wire::Document;
use skillpkg_schema::{QualifiedName, Version};

/// Most versions that a hint names.
const MOST_VERSIONS: usize = 5;

/// Says that there is no such skill, and offers the nearest name there is.
pub(crate) async fn skill(registry: &Registry, name: &QualifiedName) -> Error {
    let url = registry_text(registry.url());
    let message = format!("there is no skill `{name}` at {url} that you may read");
    let error = Error::new(Kind::Failed, "skill_not_found", message);
    if let Some(near) = registry.nearest(name).await {
        return error.with_hint(format!("did you mean `{near}`?"));
    }
    let hint = "`skillpkg search` finds skills by words";
    let withheld = registry.withheld().filter(|_| !registry.has_token());
    error.with_hint(withheld.map_or_else(|| hint.to_owned(), |reason| format!("{hint}; {reason}")))
}

/// Of a request about `name`, and a `version` of it, that failed: where the registry says no more
/// than that it has no such thing, what it is that it does not have.
pub(crate) async fn explain(
    error: Error,
    registry: &Registry,
    name: &QualifiedName,
    version: Option<&Version>,
) -> Error {
    if error.code != "not_found" {
        return error;
    }
    match (registry.document(name).await, version) {
        (Ok(None), _) => skill(registry, name).await,
        (Ok(Some(document)), Some(version)) if document.version(version).is_none() => {
            no_version(registry, &document, version)
        }
        // Whatever else it is: the answer, and what it was about.
        _ => Error { message: format!("`{name}`: {}", error.message), ..error },
    }
}

fn no_version(registry: &Registry, document: &Document, version: &Version) -> Error {
    let (name, url) = (&document.name, registry_text(registry.url()));
    if let Some(deleted) = document.deleted_version(version) {
        let reason = escape(&deleted.reason);
        let message = format!("`{name}@{version}` was deleted from {url}, which says: {reason}");
        return Error::new(Kind::Failed, "version_deleted", message);
    }
    let message = format!("there is no version {version} of `{name}` at {url}");
    let newest: Vec<String> = document
        .versions
        .iter()
        .rev()
        .take(MOST_VERSIONS)
        .map(|entry| entry.version.to_string())
        .collect();
    let more = if document.versions.len() > MOST_VERSIONS { " and older ones" } else { "" };
    Error::new(Kind::Failed, "version_not_found", message)
        .with_hint(format!("there are {}{more}", newest.join(", ")))
}
