//! `apm.lock.yaml`, versions 1 to 3, and the ranges of `apm.yml` beside it.

use std::collections::{BTreeMap, BTreeSet};

use skillpkg_schema::SkillPath;
use skillpkg_schema::json::Json;

use super::entry::{
    Entry, Listing, MAX_ENTRIES, MAX_FILE_BYTES, Place, Refused, Unread, name_of, scope_of,
    shown_source, text, version_of,
};
use super::yaml;

/// What makes a deployed directory a skill.
const SKILL_FILE: &str = "/SKILL.md";

/// Reads the lockfile.
pub(super) fn parse(source: &str) -> Result<Listing, Unread> {
    if source.len() > MAX_FILE_BYTES {
        return Err(Unread::TooLong);
    }
    let value = yaml::read(source)?;
    let found = version_of(&value, "lockfile_version");
    if !matches!(found.as_str(), "1" | "2" | "3") {
        return Err(Unread::Version { found, known: "1, 2 or 3" });
    }
    let dependencies = match value.get("dependencies") {
        Some(Json::Array(items)) if items.len() > MAX_ENTRIES => {
            return Err(Unread::TooMany(items.len()));
        }
        Some(Json::Array(items)) => items.as_slice(),
        None | Some(Json::Null) => &[],
        Some(_) => return Err(Unread::Shape("dependencies")),
    };
    let mut listing = Listing::default();
    for dependency in dependencies {
        let key = text(dependency, "repo_url").unwrap_or("?");
        match entry(key, dependency) {
            Ok(Some(entry)) => listing.entries.push(entry),
            // A package of something else than skills.
            Ok(None) => {}
            Err(reason) => listing.refused.push(Refused { key: key.to_owned(), reason }),
        }
    }
    Ok(listing)
}

fn entry(key: &str, value: &Json) -> Result<Option<Entry>, String> {
    let Some(url) = text(value, "repo_url") else {
        return Err("it says not where it is from".to_owned());
    };
    let mut paths = BTreeSet::new();
    if let Some(Json::Array(files)) = value.get("deployed_files") {
        for file in files {
            let Some(file) = file.as_str() else {
                return Err("a file of it is no text".to_owned());
            };
            let Some(directory) = file.strip_suffix(SKILL_FILE) else { continue };
            let path: SkillPath =
                directory.parse().map_err(|error: skillpkg_schema::path::PathError| {
                    format!("a file of it is where no skill is: {}", error.reason)
                })?;
            paths.insert(path);
        }
    }
    if paths.is_empty() {
        return Ok(None);
    }
    let is_registry = text(value, "source") == Some("registry");
    let (owner, repository) = url.rsplit_once('/').unwrap_or(("", url));
    let version = ["version", "resolved_ref"].iter().find_map(|field| text(value, field));
    let source = if is_registry { text(value, "resolved_url") } else { None }.unwrap_or(url);
    let mut source = shown_source(source);
    if let Some(commit) = text(value, "resolved_commit") {
        source = format!("{source} at {commit}");
    }
    let hash = ["content_hash", "resolved_hash"];
    Ok(Some(Entry {
        key: key.to_owned(),
        place: Place::At(paths.into_iter().collect()),
        name: name_of(repository),
        scope: scope_of(owner),
        version: version.and_then(|version| version.parse().ok()),
        requirement: None,
        source: Some(source),
        hash: hash.iter().find_map(|field| text(value, field)).map(str::to_owned),
    }))
}

/// The ranges that `apm.yml` asks for, by `owner/repository` in lower case. What is no range that
/// Cargo reads the same way is left out, and so is all where the file is not read.
pub(super) fn requirements(source: &str) -> BTreeMap<String, semver::VersionReq> {
    let mut ranges = BTreeMap::new();
    if source.len() > MAX_FILE_BYTES {
        return ranges;
    }
    let Ok(value) = yaml::read(source) else { return ranges };
    let Some(Json::Array(items)) = value.get("dependencies").and_then(|all| all.get("apm")) else {
        return ranges;
    };
    for item in items.iter().take(MAX_ENTRIES) {
        let (name, range) = match item {
            Json::String(text) => match text.split_once('#') {
                Some((name, range)) => (name, range),
                None => continue,
            },
            item => match (text(item, "id"), text(item, "version")) {
                (Some(name), Some(range)) => (name, range),
                _ => continue,
            },
        };
        if let Some(range) = requirement(range) {
            ranges.insert(name.to_ascii_lowercase(), range);
        }
    }
    ranges
}

/// A range of theirs, where it means the same here: parts separated by spaces, a bare version being
/// exactly that one.
fn requirement(range: &str) -> Option<semver::VersionReq> {
    let parts: Option<Vec<String>> = range
        .split_whitespace()
        .map(|part| match part.chars().next()? {
            '^' | '~' | '>' | '<' | '=' => Some(part.to_owned()),
            first if first.is_ascii_digit() => {
                semver::Version::parse(part).ok().map(|version| format!("={version}"))
            }
            _ => None,
        })
        .collect();
    let parts = parts.filter(|parts| !parts.is_empty())?;
    semver::VersionReq::parse(&parts.join(", ")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "\
lockfile_version: '2'
apm_version: 0.35.0
dependencies:
- repo_url: acme/pdf-tools
  name: pdf-tools
  host: github.com
  resolved_ref: 2.0.0
  version: 2.0.0
  package_type: claude_skill
  deployed_files:
  - .claude/skills/pdf-tools
  - .claude/skills/pdf-tools/LICENSE
  - .claude/skills/pdf-tools/SKILL.md
  source: registry
  content_hash: sha256:aa58
  resolved_url: http://127.0.0.1:18182/apm/v1/packages/acme/pdf-tools/versions/2.0.0/download
  resolved_hash: sha256:c52d
- repo_url: acme/prompts
  deployed_files:
  - .github/prompts/x.prompt.md
- repo_url: github/bundle
  resolved_commit: abc
  deployed_files: [.claude/skills/a/SKILL.md, .claude/skills/b/SKILL.md]
- repo_url: evil/out
  deployed_files: [../../out/SKILL.md]
- name: nowhere
";

    #[test]
    fn a_lockfile_is_read_with_where_each_skill_lies() {
        let listing = parse(LOCK).unwrap();
        let [first, second] = listing.entries.as_slice() else { panic!("{listing:?}") };
        assert_eq!(first.place, Place::At(vec![".claude/skills/pdf-tools".parse().unwrap()]));
        assert_eq!(first.scope.as_ref().unwrap().as_str(), "acme");
        assert_eq!(first.version.as_ref().unwrap().to_string(), "2.0.0");
        assert_eq!(first.hash.as_deref(), Some("sha256:aa58"));
        assert!(matches!(&second.place, Place::At(paths) if paths.len() == 2));
        assert_eq!(second.source.as_deref(), Some("github/bundle at abc"));
        let refused: Vec<&str> = listing.refused.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(refused, ["evil/out", "?"]);
    }

    #[test]
    fn another_version_or_shape_is_refused() {
        for text in [
            "lockfile_version: '4'\n",
            "dependencies: []\n",
            "lockfile_version: '1'\ndependencies: x\n",
            "lockfile_version: '1'\nlockfile_version: '1'\n",
            "lockfile_version: &v '1'\n",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("lockfile_version: '1'\n").unwrap(), Listing::default());
    }

    #[test]
    fn ranges_are_those_that_mean_the_same_here() {
        let text = "\
name: demo
dependencies:
  apm:
  - Acme/PDF-Tools#^1.0.0
  - {id: acme/other, version: '>=1.0.0 <2.0.0'}
  - acme/exact#1.2.3
  - acme/latest#latest
  - acme/any#*
  - acme/none
";
        let ranges = requirements(text);
        let shown: Vec<String> =
            ranges.iter().map(|(name, range)| format!("{name} {range}")).collect();
        let expected = ["acme/exact =1.2.3", "acme/other >=1.0.0, <2.0.0", "acme/pdf-tools ^1.0.0"];
        assert_eq!(shown, expected);
        assert!(requirements("a: [").is_empty());
    }
}
