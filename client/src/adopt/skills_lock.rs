//! `skills-lock.json` of a project, version 1, and `.skill-lock.json` of a user, version 3, as
//! `npx skills` writes them.

use skillpkg_schema::json::Json;

use super::entry::{
    Entry, Listing, Place, Unread, json_of, listed, name_of, one_part, scope_of, shown_source,
    text, told_by, version_of,
};

/// Reads either, of the version that it is to have.
///
/// An entry is under the name of its directory in each agent's directory. There is no number of a
/// version in it: where it came from an index of one version, the URL tells.
pub(super) fn parse(source: &str, version: u32) -> Result<Listing, Unread> {
    let value = json_of(source)?;
    let found = version_of(&value, "version");
    if found != version.to_string() {
        let known = if version == 1 { "1" } else { "3" };
        return Err(Unread::Version { found, known });
    }
    listed(&value, "skills", entry)
}

fn entry(key: &str, value: &Json) -> Result<Entry, String> {
    let place = Place::Named(one_part(key)?);
    if !matches!(value, Json::Object(_)) {
        return Err("it is no object".to_owned());
    }
    // The global file has the index in a field of its own, and the artifact in `sourceUrl`.
    let url = text(value, "sourceBaseUrl").or_else(|| text(value, "sourceUrl"));
    let is_index = text(value, "sourceType") == Some("well-known");
    let (scope, name, version) = url.filter(|_| is_index).map(told_by).unwrap_or_default();
    let repository = text(value, "source").filter(|_| !is_index);
    let owner = repository.and_then(|source| source.split_once('/')).map(|(owner, _)| owner);
    let hash = ["wellKnownDigest", "computedHash", "skillFolderHash"];
    Ok(Entry {
        key: key.to_owned(),
        place,
        name: name.or_else(|| name_of(key)),
        scope: scope.or_else(|| owner.and_then(scope_of)),
        version,
        requirement: None,
        source: described(value, url.or_else(|| text(value, "source"))),
        hash: hash.iter().find_map(|field| text(value, field)).map(str::to_owned),
    })
}

fn described(value: &Json, source: Option<&str>) -> Option<String> {
    let mut shown = shown_source(source?);
    if let Some(revision) = text(value, "ref") {
        shown = format!("{shown} at {revision}");
    }
    if let Some(path) = text(value, "skillPath") {
        shown = format!("{shown}, {path}");
    }
    Some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROJECT: &str = r#"{"version":1,"skills":{
        "pdf-tools":{"source":"127.0.0.1","sourceUrl":"http://127.0.0.1:18180/s/acme/pdf-tools",
            "sourceType":"well-known","computedHash":"c431f9","wellKnownDigest":"sha256:9da493"},
        "web":{"source":"vercel-labs/agent-skills","ref":"v1","sourceType":"github",
            "skillPath":"skills/web/SKILL.md","computedHash":"aa55"},
        "here":{"source":"./skills/here","sourceType":"local","computedHash":"bb"},
        "../../evil":{"source":"a/b","sourceType":"github","computedHash":"cc"},
        "a/b":{"source":"a/b","sourceType":"github","computedHash":"cc"},
        "\u0007":{"source":"a/b","sourceType":"github"},
        "con":{"source":"a/b"},
        "odd":[]}}"#;

    #[test]
    fn a_projects_file_is_read_and_what_is_no_name_is_told_and_never_followed() {
        let listing = parse(PROJECT, 1).unwrap();
        let keys: Vec<&str> = listing.entries.iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!(keys, ["pdf-tools", "web", "here"]);
        let first = &listing.entries[0];
        assert_eq!(first.scope.as_ref().unwrap().as_str(), "acme");
        assert_eq!(first.hash.as_deref(), Some("sha256:9da493"));
        assert_eq!(first.source.as_deref(), Some("http://127.0.0.1:18180/s/acme/pdf-tools"));
        let web = listing.entries[1].source.as_deref();
        assert_eq!(web, Some("vercel-labs/agent-skills at v1, skills/web/SKILL.md"));
        assert_eq!(listing.entries[1].scope.as_ref().unwrap().as_str(), "vercel-labs");
        let refused: Vec<&str> = listing.refused.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(refused, ["../../evil", "a/b", "\u{7}", "con", "odd"]);
    }

    #[test]
    fn a_users_file_is_read() {
        let text = r#"{"version":3,"skills":{"pdf-tools":{"source":"127.0.0.1",
            "sourceType":"well-known","sourceUrl":"http://h/a/acme/pdf-tools/2.0.0.tar.gz",
            "skillFolderHash":"","sourceBaseUrl":"http://h/s/acme","wellKnownDigest":"sha256:9d",
            "installedAt":"x","updatedAt":"y"}},"dismissed":{}}"#;
        let listing = parse(text, 3).unwrap();
        assert_eq!(listing.entries[0].source.as_deref(), Some("http://h/s/acme"));
        assert_eq!(listing.entries[0].name.as_ref().unwrap().as_str(), "pdf-tools");
    }

    #[test]
    fn what_is_of_another_version_or_shape_is_refused() {
        for (text, version) in [
            (r#"{"version":2,"skills":{}}"#, 1),
            (r#"{"version":1,"skills":{}}"#, 3),
            (r#"{"version":1}"#, 1),
            (r#"{"version":1,"skills":[]}"#, 1),
            (r#"{"version":1,"version":1,"skills":{}}"#, 1),
            (r#"{"version":1,"skills":{"a":{},"a":{}}}"#, 1),
            ("[]", 1),
            ("", 1),
        ] {
            assert!(parse(text, version).is_err(), "{text}");
        }
        let many: Vec<String> = (0..2_001).map(|number| format!("\"s{number}\":{{}}")).collect();
        let text = format!("{{\"version\":1,\"skills\":{{{}}}}}", many.join(","));
        assert_eq!(parse(&text, 1).unwrap_err(), Unread::TooMany(2_001));
    }
}
