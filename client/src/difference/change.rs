//! What differs in what two skills may do and ask for.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;
use skillpkg_schema::Manifest;
use skillpkg_schema::diagnostic::escape_whole;
use skillpkg_schema::finding::Findings;
use skillpkg_schema::skill::Dialect;

use super::side::Side;
use crate::Error;
use crate::activation::{allowed_tools, found, host_settings, run_line};

/// What a change is about; what matters most stands first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// A program that its tools start.
    Program,
    /// The run line of a tool.
    Run,
    /// A param of a tool.
    Param,
    /// The file and the runtime of a script.
    Script,
    /// An argument of a script's contract.
    Contract,
    /// Whether a script asks before each call.
    Permission,
    /// How long a script may run, and how much it may write.
    Bound,
    /// What the host that reads it is asked for or told.
    Host,
    /// What it needs on the machine.
    Requirement,
    /// Who signed it.
    Signer,
    /// What is worth an eye in its files.
    Finding,
    /// A resource.
    Resource,
    /// What a model is told of it or of a part of it, and what kind of skill it is.
    Description,
}

impl Subject {
    /// It in words, as the title of what changes.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Program => "Programs",
            Self::Run => "Run lines of tools",
            Self::Param => "Params of tools",
            Self::Script => "Scripts",
            Self::Contract => "Contracts of scripts",
            Self::Permission => "Permissions",
            Self::Bound => "Bounds of scripts",
            Self::Host => "Asked of the host",
            Self::Requirement => "Requirements",
            Self::Signer => "Signers",
            Self::Finding => "Findings",
            Self::Resource => "Resources",
            Self::Description => "Descriptions",
        }
    }
}

/// One change. Its texts are safe to print, and nothing of them is cut.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Change {
    /// What it is about.
    pub subject: Subject,
    /// What of that: a tool, a param as `tool.param`, a script, a key.
    pub name: String,
    /// What it was; absent where it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What it is; absent where it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What a skill may do and ask for: by subject and name, in words that are safe to print.
type Abilities = BTreeMap<(Subject, String), String>;

/// What differs in what two skills may do and ask for, what matters most first.
pub(super) fn changes(before: &Side, after: &Side) -> Result<Vec<Change>, Error> {
    let (mut olds, mut news) = (abilities(&before.manifest), abilities(&after.manifest));
    for (side, abilities) in [(before, &mut olds), (after, &mut news)] {
        for command in side.prose_commands()? {
            let name = format!("the prose has its host run: {}", escape_whole(&command));
            abilities.insert((Subject::Host, name), String::new());
        }
    }
    // A directory is signed by nobody, which says nothing of the other side.
    if let (Some(old), Some(new)) = (&before.signers, &after.signers) {
        for (signers, abilities) in [(old, &mut olds), (new, &mut news)] {
            for signer in signers {
                let known = if signer.verified { "" } else { "not a known key" };
                abilities.insert((Subject::Signer, signer.key.to_string()), known.to_owned());
            }
        }
    }
    let mut changes = held_together(&olds, &news);
    if let (Some(old), Some(new)) = (&before.findings, &after.findings) {
        changes.extend(findings(old, new));
    }
    changes.sort_by_key(|change| change.subject);
    Ok(changes)
}

fn held_together(before: &Abilities, after: &Abilities) -> Vec<Change> {
    let keys: BTreeSet<&(Subject, String)> = before.keys().chain(after.keys()).collect();
    keys.into_iter()
        .filter_map(|key| {
            let (old, new) = (before.get(key), after.get(key));
            let (subject, name) = key.clone();
            let change = Change { subject, name, before: old.cloned(), after: new.cloned() };
            (old != new).then_some(change)
        })
        .collect()
}

fn findings(before: &Findings, after: &Findings) -> Vec<Change> {
    let change = |name, before, after| Change { subject: Subject::Finding, name, before, after };
    let gone = found::added(after, before).into_iter();
    let new = found::added(before, after).into_iter();
    gone.map(|name| change(name, Some(String::new()), None))
        .chain(new.map(|name| change(name, None, Some(String::new()))))
        .collect()
}

fn abilities(manifest: &Manifest) -> Abilities {
    let mut all = Abilities::new();
    let mut put = |subject, name: String, text: String| drop(all.insert((subject, name), text));
    for program in &manifest.programs {
        let when = if program.dynamic { "known at the call only" } else { "" };
        put(Subject::Program, escape_whole(&program.name), when.to_owned());
    }
    for tool in &manifest.tools {
        let id = escape_whole(&tool.id);
        for (param, text) in params(&tool.schema) {
            put(Subject::Param, format!("{id}.{param}"), text);
        }
        put(Subject::Description, format!("tool {id}"), escape_whole(&tool.description));
        put(Subject::Run, id, run_line(&tool.run));
    }
    for script in &manifest.scripts {
        let name = escape_whole(&script.name);
        let (path, runtime) = (script.path.as_str(), escape_whole(&script.runtime));
        for (argument, text) in params(&script.contract) {
            put(Subject::Contract, format!("{name}.{argument}"), text);
        }
        let asks = if script.requires_permission { "asks before each call" } else { "never asks" };
        put(Subject::Permission, name.clone(), asks.to_owned());
        let bounds = format!(
            "at most {} s and {} bytes of output",
            script.timeout_seconds, script.maximum_output_bytes
        );
        put(Subject::Bound, name.clone(), bounds);
        put(Subject::Description, format!("script {name}"), escape_whole(&script.description));
        put(Subject::Script, name, format!("{} ({runtime})", escape_whole(path)));
    }
    for tool in allowed_tools(manifest) {
        put(Subject::Host, format!("the tool {}", escape_whole(&tool)), String::new());
    }
    for setting in host_settings(manifest) {
        put(Subject::Host, format!("the setting {setting}"), String::new());
    }
    let requires = &manifest.requires;
    for (what, names) in [
        ("program", &requires.all),
        ("one of the programs", &requires.any),
        ("environment variable", &requires.env),
        ("system", &requires.os),
    ] {
        for name in names {
            let name = format!("{what} {}", escape_whole(name));
            put(Subject::Requirement, name, String::new());
        }
    }
    for resource in &manifest.resources {
        let name = escape_whole(&resource.name);
        let description = escape_whole(&resource.description);
        put(Subject::Description, format!("resource {name}"), description);
        put(Subject::Resource, name, escape_whole(resource.path.as_str()));
    }
    let dialect = match manifest.dialect {
        Dialect::Hard => "hard skill",
        Dialect::Agent => "Agent Skill",
    };
    put(Subject::Description, "kind".to_owned(), dialect.to_owned());
    put(Subject::Description, "name".to_owned(), manifest.name.to_string());
    put(Subject::Description, "skill".to_owned(), escape_whole(&manifest.description));
    if let Some(license) = &manifest.license {
        put(Subject::Description, "license".to_owned(), escape_whole(license));
    }
    all
}

/// The arguments that a schema takes, and under `*` what it says beside; safe to print.
fn params(schema: &str) -> Vec<(String, String)> {
    let Ok(Value::Object(mut whole)) = serde_json::from_str(schema) else {
        return vec![("*".to_owned(), escape_whole(schema))];
    };
    let required: Vec<String> = match whole.remove("required") {
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    let mut params = Vec::new();
    if let Some(Value::Object(properties)) = whole.remove("properties") {
        for (name, value) in properties {
            let needed = if required.contains(&name) { "" } else { ", optional" };
            let text = format!("{}{needed}", escape_whole(&value.to_string()));
            params.push((escape_whole(&name), text));
        }
    }
    params.push(("*".to_owned(), escape_whole(&Value::Object(whole).to_string())));
    params
}
