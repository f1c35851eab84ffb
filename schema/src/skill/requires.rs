//! What a skill needs on the machine, in the dialects that say so.
//!
//! `metadata.openclaw.requires` with `bins`, `anyBins`, `env` and `config`, and `os`, `always` and
//! `primaryEnv` beside it; the same shape under the names that hosts of its family use; Hermes'
//! `prerequisites`.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value};

use crate::diagnostic::escape;
use crate::manifest::Requires;

/// The hosts whose metadata has the shape of OpenClaw's; the first one present is read.
const HOSTS: [&str; 6] = ["openclaw", "clawdbot", "moltbot", "clawdis", "nanobot", "picoclaw"];
/// The conditions of `requires` that are known.
const CONDITIONS: [&str; 5] = ["bins", "anyBins", "env", "config", "os"];
/// Those of Hermes' `prerequisites`.
const PREREQUISITES: [&str; 2] = ["commands", "env_vars"];

/// What a skill's frontmatter says it needs, also what a manifest's [`Requires`] has no field for.
///
/// Nothing that stands there is passed over in silence: it is read, or it is
/// [`Requirements::unknown`], or it is [`Requirements::unreadable`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requirements {
    /// The part that manifests carry.
    pub requires: Requires,
    /// Keys of the host's own configuration that must be set. Only the host knows whether they are.
    pub config: Vec<String>,
    /// Whether its host is to offer it whatever programs, variables and settings are missing; the
    /// operating system counts all the same.
    pub always: bool,
    /// The variable for which a host may hold a secret in its own configuration.
    pub primary_env: Option<String>,
    /// Conditions of a kind that is not known here, by their dotted keys.
    pub unknown: Vec<String>,
    /// What stands in the place of a requirement and has not the shape of one.
    pub unreadable: Vec<Unreadable>,
}

/// Something that stands in the place of a requirement and has not the shape of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The dotted key.
    pub at: String,
    /// What is expected there, such as `a list of names`.
    pub expected: &'static str,
}

impl fmt::Display for Unreadable {
    /// A sentence without a full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` says what is needed, and is not {}", escape(&self.at), self.expected)
    }
}

impl Requirements {
    /// Reads the frontmatter of a `SKILL.md`, or what a manifest carries of it.
    ///
    /// Scalars may be texts or of their own types: manifests keep them as they are written, and JSON
    /// within a text has types.
    pub fn read(frontmatter: &Map<String, Value>) -> Self {
        let mut read = Self::default();
        let metadata = read.mapping("metadata", frontmatter.get("metadata")).unwrap_or_default();
        let mut is_found = false;
        for host in HOSTS {
            let at = format!("metadata.{host}");
            if let Some(members) = read.mapping(&at, metadata.get(host))
                && !is_found
            {
                is_found = true;
                read.host(&at, &members);
            }
        }
        let hermes = metadata.get("hermes").and_then(object).unwrap_or_default();
        for (at, prerequisites) in [
            ("prerequisites", frontmatter.get("prerequisites")),
            ("metadata.prerequisites", metadata.get("prerequisites")),
            ("metadata.hermes.prerequisites", hermes.get("prerequisites")),
        ] {
            read.prerequisites(at, prerequisites);
        }
        read
    }

    /// The block of a host of OpenClaw's family.
    fn host(&mut self, at: &str, host: &Map<String, Value>) {
        let key = |name: &str| format!("{at}.{name}");
        let needs = self.mapping(&key("requires"), host.get("requires")).unwrap_or_default();
        let condition = |name: &str| format!("{at}.requires.{name}");
        let Self { requires, config, unreadable, .. } = self;
        let mut names = |list: &mut Vec<String>, at: String, value: Option<&Value>| {
            add(list, value, str::to_owned);
            check_names(&at, value, unreadable);
        };
        names(&mut requires.all, condition("bins"), needs.get("bins"));
        names(&mut requires.any, condition("anyBins"), needs.get("anyBins"));
        names(&mut requires.env, condition("env"), needs.get("env"));
        names(config, condition("config"), needs.get("config"));
        add(&mut requires.os, host.get("os").or_else(|| needs.get("os")), system);
        check_names(&key("os"), host.get("os"), unreadable);
        check_names(&condition("os"), needs.get("os"), unreadable);
        match host.get("always").map(truth) {
            None => {}
            Some(Some(always)) => self.always = always,
            Some(None) => self.refuse(key("always"), "`true` or `false`"),
        }
        match host.get("primaryEnv") {
            None => {}
            Some(Value::String(name)) if is_variable(name) => self.primary_env = Some(name.clone()),
            Some(_) => self.refuse(key("primaryEnv"), "the name of a variable"),
        }
        self.check_variables(condition("env"), needs.get("env"));
        self.note_unknown(&key("requires"), &needs, &CONDITIONS);
    }

    fn prerequisites(&mut self, at: &str, value: Option<&Value>) {
        let Some(value) = value.filter(|value| !is_nothing(value)) else { return };
        // Many write prose there, which nothing but a reader can judge.
        let Some(members) = object(value) else {
            self.unknown.push(at.to_owned());
            return;
        };
        let (commands, variables) = (members.get("commands"), members.get("env_vars"));
        add(&mut self.requires.all, commands, str::to_owned);
        add(&mut self.requires.env, variables, str::to_owned);
        check_names(&format!("{at}.commands"), commands, &mut self.unreadable);
        check_names(&format!("{at}.env_vars"), variables, &mut self.unreadable);
        self.check_variables(format!("{at}.env_vars"), variables);
        self.note_unknown(at, &members, &PREREQUISITES);
    }

    /// A mapping; [`None`] where there is nothing, or something else, which is noted.
    fn mapping(&mut self, at: &str, value: Option<&Value>) -> Option<Map<String, Value>> {
        let value = value.filter(|value| !is_nothing(value))?;
        let read = object(value);
        if read.is_none() {
            self.refuse(at.to_owned(), "a mapping");
        }
        read
    }

    /// A name with `=` in it, or nothing, is no variable that could ever be set.
    fn check_variables(&mut self, at: String, value: Option<&Value>) {
        let names = texts(value).into_iter().map(str::trim).filter(|name| !name.is_empty());
        if names.into_iter().any(|name| !is_variable(name)) {
            self.refuse(at, "a list of names of variables");
        }
    }

    fn refuse(&mut self, at: String, expected: &'static str) {
        if !self.unreadable.iter().any(|one| one.at == at) {
            self.unreadable.push(Unreadable { at, expected });
        }
    }

    fn note_unknown(&mut self, at: &str, members: &Map<String, Value>, known: &[&str]) {
        let unknown = members
            .iter()
            .filter(|(name, value)| !known.contains(&name.as_str()) && !is_nothing(value));
        self.unknown.extend(unknown.map(|(name, _)| format!("{at}.{name}")));
    }
}

/// An object, or the text of one: some write JSON into a string.
fn object(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(members) => Some(members.clone()),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Object(members)) => Some(members),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a value says nothing: a key without one.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    }
}

/// A truth value, or the text of one.
fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::String(text) => text.trim().to_ascii_lowercase().parse().ok(),
        _ => None,
    }
}

/// Whether a text can be the name of a variable of the environment.
fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c == '=' || c == '\0' || c.is_whitespace())
}

/// The texts of a list, or those of one comma-separated text.
fn texts(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(text)) => text.split(',').collect(),
        _ => Vec::new(),
    }
}

/// Adds a list's texts, each once.
fn add(list: &mut Vec<String>, value: Option<&Value>, normalize: fn(&str) -> String) {
    for text in texts(value).into_iter().map(str::trim).filter(|text| !text.is_empty()) {
        let text = normalize(text);
        if !list.contains(&text) {
            list.push(text);
        }
    }
}

/// Notes what is no list of names: an item that is left out of it is a requirement that nobody
/// would check.
fn check_names(at: &str, value: Option<&Value>, unreadable: &mut Vec<Unreadable>) {
    let at = match value {
        None | Some(Value::Null | Value::String(_)) => return,
        Some(Value::Array(items)) => {
            let is_name = |item: &Value| item.as_str().is_some_and(|text| !text.trim().is_empty());
            match items.iter().position(|item| !is_name(item)) {
                None => return,
                Some(position) => Cow::Owned(format!("{at}[{position}]")),
            }
        }
        Some(_) => Cow::Borrowed(at),
    };
    let expected = if at.ends_with(']') { "a name" } else { "a list of names" };
    unreadable.push(Unreadable { at: at.into_owned(), expected });
}

/// An operating system by the name that we use.
fn system(name: &str) -> String {
    match name.to_ascii_lowercase().as_str() {
        "darwin" | "mac" | "macos" | "osx" => "macos".to_owned(),
        "win" | "win32" | "windows" => "windows".to_owned(),
        other => other.to_owned(),
    }
}
