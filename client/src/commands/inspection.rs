//! What a skill carries, told the same way wherever it lies.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::value::RawValue;
use skillpkg::Error;
use skillpkg::activation::{found_lines, host_requests, run_line};
use skillpkg_schema::diagnostic::{escape, escape_prose, escape_whole};
use skillpkg_schema::finding::Findings;
use skillpkg_schema::manifest::{FileEntry, Requires, ResourceEntry, ScriptEntry, ToolEntry};
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::skill::{Dialect, Program};
use skillpkg_schema::{Blake3Digest, ContentAddress, Diagnostic, Manifest};

use crate::commands::input::raw_json;

/// What a skill carries.
#[derive(Debug, Serialize)]
pub(crate) struct Inspection {
    /// The name as its file has it, or the whole one where it is packed.
    pub(crate) name: String,
    /// The version; absent where the file gives none.
    pub(crate) version: Option<String>,
    /// What it is for.
    pub(crate) description: String,
    /// The licence it names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) license: Option<String>,
    /// Which kind of `SKILL.md` it has.
    pub(crate) dialect: Dialect,
    /// Its snapshot; absent where the file gives no name or version to pack it as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<ContentAddress>,
    /// The same by BLAKE3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) blake3: Option<ContentAddress>,
    tools: Vec<Tool>,
    programs: Vec<Program>,
    /// `includes` as written.
    pub(crate) includes: Vec<String>,
    /// The files that `includes` names.
    pub(crate) included: Vec<String>,
    files: Vec<FileEntry>,
    resources: Vec<ResourceEntry>,
    scripts: Vec<Script>,
    requires: Requires,
    /// What the host that reads it is asked for, phrases that are safe to print.
    host_requests: Vec<String>,
    /// The keys that are said to have signed it; absent where nothing is signed yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key_ids: Option<Vec<KeyId>>,
    /// What is worth an eye in its files; absent where they are not here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) findings: Option<Findings>,
    /// What is worth telling.
    pub(crate) warnings: Vec<Diagnostic>,
}

#[derive(Debug, Serialize)]
struct Tool {
    id: String,
    description: String,
    schema: Box<RawValue>,
    run: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Script {
    name: String,
    description: String,
    path: String,
    runtime: String,
    contract: Box<RawValue>,
    fingerprint: String,
    requires_permission: bool,
    timeout_seconds: u64,
    maximum_output_bytes: u64,
}

impl Inspection {
    /// What a manifest lists, and what the text of its `SKILL.md` asks of a host.
    pub(crate) fn of(manifest: Manifest, skill_file: &[u8]) -> Result<Self, Error> {
        let bytes = manifest.to_bytes();
        let host_requests = host_requests(&manifest, &String::from_utf8_lossy(skill_file));
        Ok(Self {
            name: manifest.name.to_string(),
            version: Some(manifest.version.to_string()),
            description: manifest.description,
            license: manifest.license,
            dialect: manifest.dialect,
            address: Some(skillpkg_schema::Sha256Digest::of(&bytes).address()),
            blake3: Some(Blake3Digest::of(&bytes).address()),
            tools: manifest.tools.into_iter().map(tool).collect::<Result<_, _>>()?,
            programs: manifest.programs,
            includes: Vec::new(),
            included: Vec::new(),
            files: manifest.files,
            resources: manifest.resources,
            scripts: manifest.scripts.into_iter().map(script).collect::<Result<_, _>>()?,
            requires: manifest.requires,
            host_requests,
            key_ids: None,
            findings: None,
            warnings: Vec::new(),
        })
    }

    /// The paths of every file but `SKILL.md`.
    pub(crate) fn other_files(&self) -> Vec<String> {
        let paths = self.files.iter().map(|file| file.path.to_string());
        paths.filter(|path| path != "SKILL.md").collect()
    }

    /// The whole for a person; every text of the skill is escaped, and no run line is cut.
    pub(crate) fn text(&self) -> String {
        let mut text = escape(&self.name);
        if let Some(version) = &self.version {
            let _ = write!(text, " {}", escape(version));
        }
        let dialect = match self.dialect {
            Dialect::Hard => "hard skill",
            Dialect::Agent => "Agent Skill",
        };
        let _ = write!(text, " ({dialect})\n{}", quoted(&self.description));
        if let Some(address) = &self.address {
            let _ = writeln!(text, "{address}");
        }
        self.capabilities(&mut text);
        section(&mut text, "Files", &self.files, |file| {
            let mode = if file.mode.bits() == 0o755 { "755" } else { "644" };
            format!("{mode} {:>9}  {}", file.size, file.path)
        });
        let found = self.findings.as_ref().map(found_lines).unwrap_or_default();
        section(&mut text, "Findings", &found, |line| line.trim_start().to_owned());
        text.truncate(text.trim_end().len());
        text
    }

    fn capabilities(&self, text: &mut String) {
        section(text, "Tools", &self.tools, |tool| {
            let (id, description) = (escape(&tool.id), escape_whole(&tool.description));
            format!("{id}: {description}\n      runs {}", run_line(&tool.run))
        });
        section(text, "Scripts", &self.scripts, |script| {
            let asks = if script.requires_permission { ", asks before each call" } else { "" };
            format!(
                "{}: {}\n      runs {} by a runner for {}, at most {} s{asks}\n      takes {}",
                escape(&script.name),
                escape_whole(&script.description),
                escape_whole(&script.path),
                escape(&script.runtime),
                script.timeout_seconds,
                escape_whole(script.contract.get())
            )
        });
        section(text, "Resources", &self.resources, |resource| {
            let description = escape_whole(&resource.description);
            format!("{}: {description}\n      is {}", escape(&resource.name), resource.path)
        });
        section(text, "Programs", &self.programs, |program| {
            let dynamic = if program.dynamic { " (known at the call only)" } else { "" };
            let tools = escape_whole(&program.tools.join(", "));
            format!("{}{dynamic} for {tools}", escape_whole(&program.name))
        });
        let requires = [
            ("programs, all of", &self.requires.all),
            ("programs, one of", &self.requires.any),
            ("environment variables", &self.requires.env),
            ("one of the systems", &self.requires.os),
        ];
        let requires: Vec<_> = requires.iter().filter(|(_, names)| !names.is_empty()).collect();
        section(text, "Requires", &requires, |(what, names)| {
            format!("{what} {}", escape_whole(&names.join(", ")))
        });
        section(text, "Asks its host for", &self.host_requests, String::clone);
    }
}

/// The lines of a text of the skill, each behind a bar, so that none can pass for one of ours.
fn quoted(text: &str) -> String {
    let prose = escape_prose(text);
    if prose.is_empty() {
        return String::new();
    }
    prose.lines().fold(String::new(), |mut lines, line| {
        lines.push_str(if line.is_empty() { "|" } else { "| " });
        lines.push_str(line);
        lines.push('\n');
        lines
    })
}

fn section<T>(text: &mut String, title: &str, items: &[T], show: impl Fn(&T) -> String) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}");
    for item in items {
        let _ = writeln!(text, "  {}", show(item));
    }
}

fn tool(entry: ToolEntry) -> Result<Tool, Error> {
    let ToolEntry { id, description, run, schema } = entry;
    Ok(Tool { id, description, schema: raw_json(schema)?, run })
}

fn script(entry: ScriptEntry) -> Result<Script, Error> {
    Ok(Script {
        name: entry.name,
        description: entry.description,
        path: entry.path.to_string(),
        runtime: entry.runtime,
        contract: raw_json(entry.contract)?,
        fingerprint: entry.fingerprint.to_string(),
        requires_permission: entry.requires_permission,
        timeout_seconds: entry.timeout_seconds,
        maximum_output_bytes: entry.maximum_output_bytes,
    })
}
