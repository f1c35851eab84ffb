//! `.clawhub/lock.json`, version 1, as `clawhub` writes it.

use skillpkg_schema::SkillPath;
use skillpkg_schema::json::Json;

use super::entry::{
    Entry, Listing, Place, Unread, json_of, listed, name_of, one_part, scope_of, shown_source,
    text, version_of,
};

/// The directory of skills beneath the one that `clawhub` works in.
const DIRECTORY: &str = "skills";

/// Reads it. There is no digest in it.
pub(super) fn parse(source: &str) -> Result<Listing, Unread> {
    let value = json_of(source)?;
    let found = version_of(&value, "version");
    if found != "1" {
        return Err(Unread::Version { found, known: "1" });
    }
    listed(&value, "skills", entry)
}

/// A key is `slug`, `@owner/slug` or `skills-sh:owner/repo/slug`; what came with an owner lies in a
/// directory of that owner.
fn entry(key: &str, value: &Json) -> Result<Entry, String> {
    if !matches!(value, Json::Object(_)) {
        return Err("it is no object".to_owned());
    }
    let elsewhere = key.strip_prefix("skills-sh:");
    let (owner, slug) = match (elsewhere, key.strip_prefix('@')) {
        (Some(path), _) => (None, path.rsplit('/').next().unwrap_or(path)),
        (None, Some(rest)) => match rest.split_once('/') {
            Some((owner, slug)) => (Some(owner), slug),
            None => return Err("it names an owner and no skill".to_owned()),
        },
        (None, None) => (None, key),
    };
    let slug = one_part(slug)?;
    let path = match owner {
        Some(owner) => format!("{DIRECTORY}/@{}/{slug}", one_part(owner)?),
        None => format!("{DIRECTORY}/{slug}"),
    };
    let path: SkillPath = path.parse().map_err(|error: skillpkg_schema::path::PathError| {
        format!("no directory of a skill is called so: {}", error.reason)
    })?;
    let scope = owner.or_else(|| text(value, "ownerHandle")).filter(|_| elsewhere.is_none());
    let source = ["sourceUrl", "sourceRepository", "canonicalRef"];
    let source = source.iter().find_map(|field| text(value, field)).map(shown_source);
    Ok(Entry {
        key: key.to_owned(),
        name: name_of(slug.as_str()),
        place: Place::At(vec![path]),
        scope: scope.and_then(scope_of),
        version: text(value, "version").and_then(|version| version.parse().ok()),
        requirement: None,
        source,
        hash: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_a_key_is_read_and_what_reaches_elsewhere_is_told() {
        let text = r#"{"version":1,"skills":{
            "@acme/pdf-tools":{"version":"2.0.0","installedAt":1796012866998,"ownerHandle":"acme"},
            "solo":{"version":null,"ownerHandle":"Beta"},
            "skills-sh:o/r/web":{"version":"1.0.0","sourceUrl":"https://x:y@example.org/o/r"},
            "@../evil":{"version":"1.0.0"},"@acme/../evil":{"version":"1.0.0"},"..":{},"@acme":{},
            "odd":"x"}}"#;
        let listing = parse(text).unwrap();
        let at = |entry: &Entry| match &entry.place {
            Place::At(paths) => paths[0].to_string(),
            Place::Named(_) => String::new(),
        };
        let [first, second, third] = listing.entries.as_slice() else { panic!("{listing:?}") };
        assert_eq!(at(first), "skills/@acme/pdf-tools");
        assert_eq!(first.version.as_ref().unwrap().to_string(), "2.0.0");
        assert_eq!((at(second).as_str(), &second.version), ("skills/solo", &None));
        assert_eq!(second.scope.as_ref().unwrap().as_str(), "beta");
        assert_eq!(at(third), "skills/web");
        assert_eq!(third.source.as_deref(), Some("https://example.org/o/r"));
        assert_eq!(third.scope, None);
        assert_eq!(listing.refused.len(), 5, "{:?}", listing.refused);
    }

    #[test]
    fn another_version_is_refused() {
        let error = parse(r#"{"version":2,"skills":{}}"#).unwrap_err();
        assert_eq!(error, Unread::Version { found: "2".to_owned(), known: "1" });
    }
}
