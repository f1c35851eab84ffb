//! What a version can run, in full.

use serde_json::Value;
use skillpkg_schema::Manifest;
use skillpkg_schema::diagnostic::is_unprintable;
use skillpkg_schema::manifest::{Mode, ScriptEntry, ToolEntry};

use crate::web::digest::Digest;
use crate::web::link;
use crate::web::text::{Text, size};

/// About how many bytes of HTML the page of a skill gives to it; the rest is a page of its own.
pub(super) const MOST_HTML: usize = 16 * 1024;
/// About how many bytes one tool or script takes beside its texts.
const AROUND_ONE: usize = 500;
/// Most params of one tool that are told one by one.
const MOST_PARAMS: usize = 256;

/// One word of what is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::web) struct Word {
    pub(in crate::web) text: Text,
    /// Whether a param is put in it.
    pub(in crate::web) is_filled: bool,
}

/// One param of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::web) struct Param {
    pub(in crate::web) name: Text,
    pub(in crate::web) kind: Text,
    pub(in crate::web) is_required: bool,
    pub(in crate::web) description: Text,
    pub(in crate::web) default: Option<Text>,
    pub(in crate::web) choices: Vec<Text>,
}

/// A tool.
#[derive(Debug, Clone)]
pub(in crate::web) struct Tool {
    pub(in crate::web) id: Text,
    pub(in crate::web) description: Text,
    pub(in crate::web) words: Vec<Word>,
    pub(in crate::web) params: Vec<Param>,
}

/// A script.
#[derive(Debug, Clone)]
pub(in crate::web) struct Script {
    pub(in crate::web) name: Text,
    pub(in crate::web) description: Text,
    pub(in crate::web) path: Text,
    pub(in crate::web) link: String,
    pub(in crate::web) runtime: Text,
    pub(in crate::web) asks: bool,
    pub(in crate::web) seconds: u64,
    pub(in crate::web) output: String,
    pub(in crate::web) fingerprint: Digest,
    pub(in crate::web) contract: Text,
}

/// A resource.
#[derive(Debug, Clone)]
pub(in crate::web) struct Resource {
    pub(in crate::web) name: Text,
    pub(in crate::web) description: Text,
    pub(in crate::web) path: Text,
    pub(in crate::web) link: String,
}

/// A program that tools start.
#[derive(Debug, Clone)]
pub(in crate::web) struct Program {
    pub(in crate::web) name: Text,
    pub(in crate::web) is_dynamic: bool,
    pub(in crate::web) tools: Vec<Text>,
}

/// What a version can run.
#[derive(Debug, Default)]
pub(in crate::web) struct Runs {
    pub(in crate::web) tools: Vec<Tool>,
    pub(in crate::web) scripts: Vec<Script>,
    pub(in crate::web) resources: Vec<Resource>,
    pub(in crate::web) programs: Vec<Program>,
    /// What the machine must have: a label, and what.
    pub(in crate::web) requires: Vec<(&'static str, Vec<Text>)>,
    /// Files that may be executed.
    pub(in crate::web) executables: usize,
    /// Tools, scripts and resources that are not told here.
    pub(in crate::web) more: usize,
    /// Where everything is told.
    pub(in crate::web) all: String,
}

impl Runs {
    /// What a version can run, in about `most` bytes of HTML.
    pub(in crate::web) fn of(manifest: &Manifest, most: usize) -> Self {
        let mut room = most;
        let (mut runs, mut more) = (Self::default(), 0);
        for tool in &manifest.tools {
            let texts = tool.id.len() + tool.description.len() + tool.schema.len();
            let words: usize = tool.run.iter().map(|word| word.len() + 40).sum();
            if takes(&mut room, texts * 2 + words, &mut more) {
                runs.tools.push(Tool::of(tool));
            }
        }
        for script in &manifest.scripts {
            let texts = script.description.len() + script.contract.len() * 2;
            if takes(&mut room, texts, &mut more) {
                runs.scripts.push(Script::of(manifest, script));
            }
        }
        for resource in &manifest.resources {
            if takes(&mut room, resource.description.len(), &mut more) {
                let path = resource.path.as_str();
                runs.resources.push(Resource {
                    name: resource.name.as_str().into(),
                    description: resource.description.as_str().into(),
                    path: path.into(),
                    link: link::file(&manifest.name, &manifest.version, path),
                });
            }
        }
        let texts = |texts: &[String]| texts.iter().map(|text| text.as_str().into()).collect();
        for program in &manifest.programs {
            let tools: usize = program.tools.iter().map(|tool| tool.len() + 30).sum();
            if takes(&mut room, tools, &mut more) {
                runs.programs.push(Program {
                    name: program.name.as_str().into(),
                    is_dynamic: program.dynamic,
                    tools: texts(&program.tools),
                });
            }
        }
        let requires = &manifest.requires;
        runs.requires = [
            ("Programs, all of", texts(&requires.all)),
            ("Programs, one of", texts(&requires.any)),
            ("Environment", texts(&requires.env)),
            ("System, one of", texts(&requires.os)),
        ]
        .into_iter()
        .filter(|(_, texts): &(_, Vec<Text>)| !texts.is_empty())
        .collect();
        let executable = manifest.files.iter().filter(|file| file.mode == Mode::Executable);
        runs.executables = executable.count();
        runs.more = more;
        runs.all = format!("{}/runs", link::version(&manifest.name, &manifest.version));
        runs
    }

    /// Whether nothing is declared that runs.
    pub(in crate::web) fn is_nothing(&self) -> bool {
        self.tools.is_empty() && self.scripts.is_empty() && self.more == 0
    }
}

/// Whether there is room for one more of so many bytes; counts what there is none for.
fn takes(room: &mut usize, texts: usize, more: &mut usize) -> bool {
    let left = room.checked_sub(texts.saturating_add(AROUND_ONE));
    *more += usize::from(left.is_none());
    *room = left.unwrap_or(*room);
    left.is_some()
}

impl Tool {
    fn of(tool: &ToolEntry) -> Self {
        Self {
            id: tool.id.as_str().into(),
            description: tool.description.as_str().into(),
            words: words_of(&tool.run),
            params: params(&tool.schema),
        }
    }
}

/// The words of a run line, each as a shell would have to be told it.
pub(in crate::web) fn words_of(run: &[String]) -> Vec<Word> {
    let word = |word: &String| Word { text: quoted(word).into(), is_filled: is_filled(word) };
    run.iter().map(word).collect()
}

/// Whether a word holds a param: a `$` that is not doubled.
fn is_filled(word: &str) -> bool {
    word.replace("$$", "").contains('$')
}

/// A word in quotes, where it would otherwise be read as several or as none.
fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty()
        && !word.contains(|c: char| {
            c.is_whitespace() || is_unprintable(c) || "'\"`\\;|&<>(){}*?#!~".contains(c)
        });
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// The params that a tool's schema tells of.
fn params(schema: &str) -> Vec<Param> {
    let Ok(schema) = serde_json::from_str::<Value>(schema) else { return Vec::new() };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let text = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let param = |(name, told): (&String, &Value)| Param {
        name: name.as_str().into(),
        kind: text(told.get("type")).into(),
        is_required: required.contains(&name.as_str()),
        description: text(told.get("description")).into(),
        default: told.get("default").map(|value| text(Some(value)).into()),
        choices: told
            .get("enum")
            .and_then(Value::as_array)
            .map(|choices| choices.iter().map(|choice| text(Some(choice)).into()).collect())
            .unwrap_or_default(),
    };
    properties.iter().take(MOST_PARAMS).map(param).collect()
}

impl Script {
    fn of(manifest: &Manifest, script: &ScriptEntry) -> Self {
        let contract = serde_json::from_str::<Value>(&script.contract)
            .and_then(|contract| serde_json::to_string_pretty(&contract))
            .unwrap_or_else(|_| script.contract.clone());
        Self {
            name: script.name.as_str().into(),
            description: script.description.as_str().into(),
            path: script.path.as_str().into(),
            link: link::file(&manifest.name, &manifest.version, script.path.as_str()),
            runtime: script.runtime.as_str().into(),
            asks: script.requires_permission,
            seconds: script.timeout_seconds,
            output: size(script.maximum_output_bytes),
            fingerprint: (&script.fingerprint).into(),
            contract: contract.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_apart_and_what_is_filled_in_is_seen() {
        let run = ["sh", "-c", "rm -rf \"$x\"", "", "it's", "--$op", "$$5", "a\u{202e}"];
        let words = words_of(&run.map(str::to_owned));
        let texts: Vec<String> = words.iter().map(|word| word.text.to_string()).collect();
        assert_eq!(
            texts,
            ["sh", "-c", "'rm -rf \"$x\"'", "''", "'it'\\''s'", "--$op", "$$5", "'a\\u{202e}'"]
        );
        let filled: Vec<bool> = words.iter().map(|word| word.is_filled).collect();
        assert_eq!(filled, [false, false, true, false, false, true, false, false]);
    }

    #[test]
    fn params_are_read_from_a_schema_and_nothing_from_what_is_none() {
        let schema = r#"{"properties":{"n":{"default":3,"description":"how many","type":"integer"},"op":{"enum":["a","b"],"type":"string"}},"required":["op"],"type":"object"}"#;
        let params = params(schema);
        assert_eq!(params.len(), 2);
        assert_eq!(params[0].default, Some("3".into()));
        assert!(params[1].is_required && params[1].choices.len() == 2);
        assert!(super::params("[").is_empty() && super::params("{\"properties\":[]}").is_empty());
    }
}
