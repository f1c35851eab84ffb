//! What a skill asks of the host that reads it, beside its tools and scripts.
//!
//! Hosts act on frontmatter of their own: `allowed-tools` ends their questions, `hooks` are commands
//! that they start. Some run what stands in the prose as `` !`command` `` when they read it. Nothing of
//! it is ever run here, and all of it is shown to whoever approves.

use std::collections::BTreeSet;

use serde_json::Value;
use skillpkg_schema::diagnostic::escape_quoted;
use skillpkg_schema::finding::host_commands;
use skillpkg_schema::tree::Tree as _;
use skillpkg_schema::{Manifest, SkillPath};
use skillpkg_store::content::Store;

/// The frontmatter key with which an Agent Skill asks for tools of its host.
const ALLOWED_TOOLS: &str = "allowed-tools";
/// The frontmatter key under which anything may stand; a text there is a remark.
const METADATA: &str = "metadata";
/// Keys that only describe a skill, with `_` as `-` and in lower case. Any other may mean something
/// to a host.
const DESCRIPTIVE: [&str; 33] = [
    "argument-hint",
    "author",
    "authors",
    "categories",
    "category",
    "compatibility",
    "contact",
    "contributors",
    "copyright",
    "created",
    "date",
    "display-name",
    "documentation",
    "emoji",
    "homepage",
    "icon",
    "keywords",
    "language",
    "languages",
    "last-updated",
    "maintainer",
    "maintainers",
    "maturity",
    "repository",
    "source",
    "status",
    "summary",
    "tags",
    "title",
    "updated",
    "url",
    "version",
    "when-to-use",
];
/// Keys beneath `metadata` of which the manifest's requirements tell.
const REQUIREMENTS: [&str; 3] = ["os", "prerequisites", "requires"];

/// The tools of its host that an Agent Skill asks for: words, or patterns with their parentheses.
///
/// Whatever stands under the key counts, in whatever shape: hosts may take more than a text.
pub(crate) fn allowed_tools(manifest: &Manifest) -> BTreeSet<String> {
    let mut tools = BTreeSet::new();
    match manifest.metadata.get(ALLOWED_TOOLS) {
        Some(Value::String(text)) => tools.extend(patterns(text)),
        Some(Value::Array(values)) => {
            for value in values {
                match value {
                    Value::String(text) => tools.extend(patterns(text)),
                    other => drop(tools.insert(other.to_string())),
                }
            }
        }
        Some(other) => drop(tools.insert(other.to_string())),
        None => {}
    }
    tools
}

/// Splits at commas and spaces that stand outside parentheses: `Read Bash(git add:*)` is two.
fn patterns(text: &str) -> Vec<String> {
    let mut patterns = vec![String::new()];
    let mut depth = 0_usize;
    for character in text.chars() {
        match character {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (character == ',' || character.is_whitespace()) {
            patterns.push(String::new());
        } else if let Some(last) = patterns.last_mut() {
            last.push(character);
        }
    }
    patterns.retain(|pattern| !pattern.is_empty());
    patterns
}

/// What the frontmatter tells a host beside that: each text of it with the keys that lead to it, as
/// phrases that are safe to print.
pub(crate) fn host_settings(manifest: &Manifest) -> BTreeSet<String> {
    let mut told = BTreeSet::new();
    for (key, value) in &manifest.metadata {
        match value {
            _ if key == ALLOWED_TOOLS || is_descriptive(key) => {}
            Value::Object(members) if key == METADATA => {
                for (key, value) in members {
                    beneath_metadata(&format!("{METADATA}.{key}"), key, value, &mut told);
                }
            }
            value => collect(key, value, &mut told),
        }
    }
    told
}

/// What a skill asks of the host that reads it, by its manifest and the text of its `SKILL.md`, as
/// phrases that are safe to print: tools, settings, commands that the host is to run.
pub fn host_requests(manifest: &Manifest, skill_file: &str) -> Vec<String> {
    let tools = allowed_tools(manifest);
    let tools = tools.iter().map(|tool| format!("the tool `{}`", escape_quoted(tool)));
    let settings = host_settings(manifest).into_iter();
    let commands = commands_in(skill_file);
    let commands = commands.iter().map(|command| format!("to run `{}`", escape_quoted(command)));
    tools.chain(settings.map(|setting| format!("the setting {setting}"))).chain(commands).collect()
}

fn is_descriptive(key: &str) -> bool {
    let key = key.to_lowercase().replace('_', "-");
    DESCRIPTIVE.contains(&key.as_str())
}

/// What stands under a key of `metadata`: of a host's own mapping all but what describes, and what
/// the requirements tell already.
fn beneath_metadata(path: &str, key: &str, value: &Value, told: &mut BTreeSet<String>) {
    if is_descriptive(key) || REQUIREMENTS.contains(&key) {
        return;
    }
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                if !is_descriptive(key) && !REQUIREMENTS.contains(&key.as_str()) {
                    collect(&format!("{path}.{key}"), value, told);
                }
            }
        }
        // Some write JSON into a text, and hosts read it out of there.
        Value::String(text) if !text.trim_start().starts_with(['{', '[']) => {}
        value => collect(path, value, told),
    }
}

/// Calls itself as deep as frontmatter may be nested.
fn collect(path: &str, value: &Value, told: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (key, value) in members {
                collect(&format!("{path}.{key}"), value, told);
            }
        }
        // What stands together in an entry means something together, as a matcher and its command.
        Value::Array(values) if !values.is_empty() => {
            for value in values {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                told.insert(phrase(path, &text));
            }
        }
        Value::String(text) => drop(told.insert(phrase(path, text))),
        value => drop(told.insert(phrase(path, &value.to_string()))),
    }
}

fn phrase(path: &str, value: &str) -> String {
    format!("`{}`: {}", escape_quoted(path), escape_quoted(value))
}

/// The commands in the prose of a snapshot that a host may run when it reads it, in their order;
/// [`None`] where the store has no intact copy of the prose.
pub fn prose_commands(store: &Store, manifest: &Manifest) -> Option<Vec<String>> {
    let file = manifest.file(SkillPath::skill_file().as_str())?;
    let address = file.sha256.address();
    let bytes = store.read_blob(&address, file.size).ok().or_else(|| {
        let tree = store.open_tree(manifest).ok()?;
        tree.read(file.path.as_str(), file.size).ok().filter(|bytes| address.matches(bytes))
    })?;
    Some(commands_in(&String::from_utf8_lossy(&bytes)))
}

fn commands_in(text: &str) -> Vec<String> {
    host_commands(text).into_iter().map(|(_, command)| command).collect()
}
