//! What other tools' files say of the skills that they installed.

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::json::{self, Bounds, Json, JsonError};
use skillpkg_schema::name::EMPTY_SCOPE;
use skillpkg_schema::{Scope, SkillName, SkillPath, Version};
use url::Url;

use super::yaml::YamlError;

/// Most bytes of a file of another tool.
pub const MAX_FILE_BYTES: usize = 8 * 1024 * 1024;
/// Most entries of one.
pub const MAX_ENTRIES: usize = 2_000;
/// Most bytes of a text that is shown or looked at.
const MAX_TEXT_BYTES: usize = 2_000;
/// The bounds of JSON.
const BOUNDS: Bounds = Bounds { bytes: MAX_FILE_BYTES, depth: 32, nodes: 500_000 };

/// A tool that installs skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    /// `skills` of npm, in a project.
    Skills,
    /// `skills` of npm, for all projects of a user.
    GlobalSkills,
    /// `apm`.
    Apm,
    /// `clawhub`.
    ClawHub,
}

impl Tool {
    /// What its users call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Skills | Self::GlobalSkills => "skills",
            Self::Apm => "apm",
            Self::ClawHub => "clawhub",
        }
    }

    /// Its file, relative to a project (of [`Tool::GlobalSkills`] to the user's home).
    pub fn file(self) -> &'static str {
        match self {
            Self::Skills => "skills-lock.json",
            Self::GlobalSkills => ".agents/.skill-lock.json",
            Self::Apm => "apm.lock.yaml",
            Self::ClawHub => ".clawhub/lock.json",
        }
    }

    /// Reads its file.
    pub fn parse(self, text: &str) -> Result<Listing, Unread> {
        match self {
            Self::Skills => super::skills_lock::parse(text, 1),
            Self::GlobalSkills => super::skills_lock::parse(text, 3),
            Self::Apm => super::apm_lock::parse(text),
            Self::ClawHub => super::clawhub_lock::parse(text),
        }
    }
}

/// Where an entry says that its skill lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a directory of this name, in the directories of agents.
    Named(SkillPath),
    /// At these paths beneath the project.
    At(Vec<SkillPath>),
}

/// One skill, as another tool's file has it. Its texts are as they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is called there.
    pub key: String,
    /// Where it lies.
    pub place: Place,
    /// Its name, where the entry tells one that is one.
    pub name: Option<SkillName>,
    /// The scope that the entry has it from.
    pub scope: Option<Scope>,
    /// Its version.
    pub version: Option<Version>,
    /// Which versions its user asked for.
    pub requirement: Option<semver::VersionReq>,
    /// Where it came from.
    pub source: Option<String>,
    /// A digest of it.
    pub hash: Option<String>,
}

/// An entry that is not taken for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// What it is called there, as it is written.
    pub key: String,
    /// Why; safe to print.
    pub reason: String,
}

/// What a file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Its entries, in its order.
    pub entries: Vec<Entry>,
    /// Those that are not taken for one.
    pub refused: Vec<Refused>,
}

/// Why a file is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// Not JSON as it is read.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// Not YAML as it is read.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// Its format is another.
    #[error("its format is version `{}`, and {known} is what is read", escape(.found))]
    Version {
        /// The version that it gives; empty where it gives none.
        found: String,
        /// What is read.
        known: &'static str,
    },
    /// Something in it has another shape.
    #[error("`{0}` is not there, or is something else than it should be")]
    Shape(&'static str),
    /// Too much.
    #[error("it has {0} entries, and at most {MAX_ENTRIES} are read")]
    TooMany(usize),
    /// Too long.
    #[error("it is longer than {MAX_FILE_BYTES} bytes")]
    TooLong,
}

/// The JSON of a file.
pub(super) fn json_of(text: &str) -> Result<Json, Unread> {
    Ok(json::parse(text, &BOUNDS)?)
}

/// The members of an object of at most [`MAX_ENTRIES`].
fn members<'j>(value: &'j Json, key: &'static str) -> Result<&'j [(String, Json)], Unread> {
    match value.get(key) {
        Some(Json::Object(members)) if members.len() > MAX_ENTRIES => {
            Err(Unread::TooMany(members.len()))
        }
        Some(Json::Object(members)) => Ok(members),
        _ => Err(Unread::Shape(key)),
    }
}

/// What the members of the object under `key` are, each read by `entry`.
pub(super) fn listed(
    value: &Json,
    key: &'static str,
    entry: impl Fn(&str, &Json) -> Result<Entry, String>,
) -> Result<Listing, Unread> {
    let mut listing = Listing::default();
    for (key, value) in members(value, key)? {
        match entry(key, value) {
            Ok(entry) => listing.entries.push(entry),
            Err(reason) => listing.refused.push(Refused { key: key.clone(), reason }),
        }
    }
    Ok(listing)
}

/// A text of a bearable length.
pub(super) fn text<'j>(value: &'j Json, key: &str) -> Option<&'j str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty() && text.len() <= MAX_TEXT_BYTES)
}

/// A version of a format, as it is written.
pub(super) fn version_of(value: &Json, key: &str) -> String {
    match value.get(key) {
        Some(Json::Number(text) | Json::String(text)) => text.chars().take(40).collect(),
        _ => String::new(),
    }
}

/// The name of one directory: one part of a path that means the same on every system.
pub(super) fn one_part(text: &str) -> Result<SkillPath, String> {
    let path: SkillPath = text.parse().map_err(|error: skillpkg_schema::path::PathError| {
        format!("no directory of a skill is called so: {}", error.reason)
    })?;
    if text.contains('/') {
        return Err("no directory of a skill is called so: it is more than one part".to_owned());
    }
    Ok(path)
}

/// A scope as others write it, whose case they make nothing of.
pub(super) fn scope_of(text: &str) -> Option<Scope> {
    text.to_ascii_lowercase().parse().ok()
}

/// A name as others write it.
pub(super) fn name_of(text: &str) -> Option<SkillName> {
    text.to_ascii_lowercase().parse().ok()
}

/// What the URL of an index of this project's registries tells: `…/s/SCOPE[/NAME[/VERSION]]`.
pub(super) fn told_by(url: &str) -> (Option<Scope>, Option<SkillName>, Option<Version>) {
    let nothing = (None, None, None);
    let Ok(url) = Url::parse(url) else { return nothing };
    let Some(segments) = url.path_segments() else { return nothing };
    let mut segments = segments.skip_while(|segment| *segment != "s").skip(1);
    let scope = segments.next().filter(|scope| *scope != EMPTY_SCOPE).and_then(scope_of);
    let name = segments.next().and_then(name_of);
    let version = segments.next().and_then(|version| version.parse().ok());
    (scope, name, version)
}

/// A source as it may be shown: of a URL without its user, its query and a token in its path.
pub(super) fn shown_source(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else { return text.to_owned() };
    if url.cannot_be_a_base() {
        return text.to_owned();
    }
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    let mut is_secret = false;
    let path: Vec<&str> = url
        .path()
        .split('/')
        .map(|segment| {
            let hidden =
                std::mem::replace(&mut is_secret, segment == "t") || segment.starts_with("skp_");
            if hidden && !segment.is_empty() { "TOKEN" } else { segment }
        })
        .collect();
    let path = path.join("/");
    url.set_path(&path);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_token_in_a_source_is_not_shown() {
        for (source, shown) in [
            ("https://r.example/t/skp_abc/s/acme/pdf", "https://r.example/t/TOKEN/s/acme/pdf"),
            ("https://me:pass@r.example/s/acme?token=x#y", "https://r.example/s/acme"),
            ("https://r.example/skp_abc", "https://r.example/TOKEN"),
            ("acme/pdf", "acme/pdf"),
            ("git@github.com:acme/pdf.git", "git@github.com:acme/pdf.git"),
        ] {
            assert_eq!(shown_source(source), shown);
        }
    }

    #[test]
    fn the_url_of_an_index_tells_scope_name_and_version() {
        let told = told_by("https://r.example/base/t/x/s/Acme/pdf-tools/1.2.0");
        assert_eq!(told.0.unwrap().as_str(), "acme");
        assert_eq!(told.1.unwrap().as_str(), "pdf-tools");
        assert_eq!(told.2.unwrap().to_string(), "1.2.0");
        let told = told_by("https://r.example/s/_/pdf");
        assert!(told.0.is_none() && told.1.is_some());
        for other in ["acme/pdf", "https://github.com/a/b", "https://r.example/s/..%2f/x y"] {
            let (scope, name, _) = told_by(other);
            assert!(scope.is_none() && name.is_none(), "{other}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn no_text_reaches_out_of_a_directory(text in "[-a-z./\\\\:\\PC]{0,12}") {
            if let Ok(part) = one_part(&text) {
                prop_assert!(!part.as_str().contains(['/', '\\', ':']) && part.as_str() != "..");
            }
            let _ = (shown_source(&text), told_by(&text));
        }

        #[test]
        fn no_entry_leads_out_of_the_project(
            key in "(\\.\\./|/|@|[a-z]|\\.|\\\\|:|skills-sh:|\\PC){0,10}",
            other in "(\\.\\./|/|[a-z]|\\.|\\\\|~|\\PC){0,10}",
        ) {
            let fields = serde_json::json!({
                "source": other, "sourceUrl": other, "ownerHandle": other, "version": other,
                "repo_url": key, "deployed_files": [format!("{other}/SKILL.md"), other],
            });
            let entries = serde_json::json!({ key.clone(): fields });
            let dependency = serde_json::json!([fields]);
            for (tool, value) in [
                (Tool::Skills, serde_json::json!({ "version": 1, "skills": entries })),
                (Tool::GlobalSkills, serde_json::json!({ "version": 3, "skills": entries })),
                (Tool::ClawHub, serde_json::json!({ "version": 1, "skills": entries })),
                (
                    Tool::Apm,
                    serde_json::json!({ "lockfile_version": "1", "dependencies": dependency }),
                ),
            ] {
                let text = serde_json::to_string(&value).unwrap();
                // JSON is YAML but for what YAML does not take in a text.
                let listing = match tool.parse(&text) {
                    Ok(listing) => listing,
                    Err(error) => {
                        prop_assert!(tool == Tool::Apm, "{tool:?} {error}");
                        continue;
                    }
                };
                prop_assert!(listing.entries.len() + listing.refused.len() <= 1);
                for entry in listing.entries {
                    let paths = match entry.place {
                        Place::Named(path) => vec![path],
                        Place::At(paths) => paths,
                    };
                    for path in paths {
                        let is_inside = std::path::Path::new(path.as_str())
                            .components()
                            .all(|part| matches!(part, std::path::Component::Normal(_)));
                        prop_assert!(is_inside, "{path}");
                    }
                }
            }
        }

        #[test]
        fn no_file_is_more_than_refused(text in "([-a-z0-9:{}\\[\\]\", \\n]|\\PC){0,120}") {
            for tool in [Tool::Skills, Tool::GlobalSkills, Tool::Apm, Tool::ClawHub] {
                let _ = tool.parse(&text);
            }
        }
    }
}
