//! What a skill needs on the machine, in the dialects that say so.
//!
//! `metadata.openclaw.requires` with `bins`, `anyBins` and `env`, and `os` beside it; the same shape
//! under the names that hosts of its family use; Hermes' `prerequisites`.

use serde_json::{Map, Value};

use crate::manifest::Requires;

/// The hosts whose metadata has the shape of OpenClaw's; the first one present is read.
const HOSTS: [&str; 6] = ["openclaw", "clawdbot", "moltbot", "clawdis", "nanobot", "picoclaw"];

/// What the frontmatter requires.
pub(super) fn requires(frontmatter: &Map<String, Value>) -> Requires {
    let mut requires = Requires::default();
    let metadata = frontmatter.get("metadata").and_then(object).unwrap_or_default();
    if let Some(host) = HOSTS.iter().find_map(|host| metadata.get(*host).and_then(object)) {
        let needs = host.get("requires").and_then(object).unwrap_or_default();
        add(&mut requires.all, needs.get("bins"), str::to_owned);
        add(&mut requires.any, needs.get("anyBins"), str::to_owned);
        add(&mut requires.env, needs.get("env"), str::to_owned);
        add(&mut requires.os, host.get("os").or_else(|| needs.get("os")), system);
    }
    let hermes = metadata.get("hermes").and_then(object).unwrap_or_default();
    for prerequisites in [
        frontmatter.get("prerequisites"),
        metadata.get("prerequisites"),
        hermes.get("prerequisites"),
    ] {
        let Some(prerequisites) = prerequisites.and_then(object) else { continue };
        add(&mut requires.all, prerequisites.get("commands"), str::to_owned);
        add(&mut requires.env, prerequisites.get("env_vars"), str::to_owned);
    }
    requires
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

/// Adds a list's texts, or those of one comma-separated text, each once.
fn add(list: &mut Vec<String>, value: Option<&Value>, normalize: fn(&str) -> String) {
    let texts: Vec<&str> = match value {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(text)) => text.split(',').collect(),
        _ => Vec::new(),
    };
    for text in texts.into_iter().map(str::trim).filter(|text| !text.is_empty()) {
        let text = normalize(text);
        if !list.contains(&text) {
            list.push(text);
        }
    }
}

/// An operating system by the name that we use.
fn system(name: &str) -> String {
    match name.to_ascii_lowercase().as_str() {
        "darwin" | "mac" | "macos" | "osx" => "macos".to_owned(),
        "win" | "win32" | "windows" => "windows".to_owned(),
        other => other.to_owned(),
    }
}
