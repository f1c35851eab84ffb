//! What an update would add to what was approved before.

use std::collections::BTreeSet;

use skillpkg_schema::Manifest;
use skillpkg_schema::diagnostic::{escape_quoted, escape_whole};
use skillpkg_schema::manifest::{Mode, ToolEntry};
use skillpkg_schema::skill::Dialect;

use super::asked::{allowed_tools, host_settings};
use super::describe::run_line;
use super::running::{language, running, runs_a_file};

/// The file that is read to a model.
const SKILL_FILE: &str = "SKILL.md";

/// What an update would add to what was approved before: programs, tools, changed run lines,
/// scripts, permissions, bounds, requirements, executable files, what its host is told, other bytes
/// in a file that runs or that what runs may load; empty where nothing grows.
///
/// What became less, or changed without running anything else, is not told.
pub fn growth(approved: &Manifest, offered: &Manifest) -> Vec<String> {
    let mut lines = widening(approved, offered);
    contents(approved, offered, &mut lines);
    beside(approved, offered, &mut lines);
    lines
}

/// The part of [`growth`] with which a skill may do what it might not before: all of it but other
/// bytes in a file that ran already or lies beside one.
pub fn widening(approved: &Manifest, offered: &Manifest) -> Vec<String> {
    let mut lines = Vec::new();
    programs(approved, offered, &mut lines);
    tools(approved, offered, &mut lines);
    scripts(approved, offered, &mut lines);
    requirements(approved, offered, &mut lines);
    executables(approved, offered, &mut lines);
    let before = allowed_tools(approved);
    for tool in allowed_tools(offered).difference(&before) {
        lines.push(format!("allowed tool `{}` is new", escape_quoted(tool)));
    }
    let before = host_settings(approved);
    for setting in host_settings(offered).difference(&before) {
        lines.push(format!("it tells its host {setting}"));
    }
    lines
}

/// The commands in the prose that a host may run when it reads it, of which there was none before:
/// as much of a widening as a tool, and told by both proses.
pub fn prose_growth(approved: &[String], offered: &[String]) -> Vec<String> {
    let new = offered.iter().filter(|command| !approved.contains(command));
    new.map(|command| format!("the prose has its host run: {}", escape_whole(command))).collect()
}

fn programs(approved: &Manifest, offered: &Manifest, lines: &mut Vec<String>) {
    for program in &offered.programs {
        let known = approved
            .programs
            .iter()
            .any(|known| known.name == program.name && known.dynamic == program.dynamic);
        if !known {
            lines.push(format!("program `{}` is new", escape_quoted(&program.name)));
        }
    }
}

fn tools(approved: &Manifest, offered: &Manifest, lines: &mut Vec<String>) {
    for tool in &offered.tools {
        let id = escape_quoted(&tool.id);
        match approved.tools.iter().find(|known| known.id == tool.id) {
            None => lines.push(format!("tool `{id}` is new, and runs: {}", run_line(&tool.run))),
            Some(known) if known.run != tool.run => lines.push(format!(
                "tool `{id}` ran: {}\n  and would run: {}",
                run_line(&known.run),
                run_line(&tool.run)
            )),
            Some(known) if accepts_more(known, tool) => lines.push(format!(
                "tool `{id}` takes other arguments in its run line: {}",
                run_line(&tool.run)
            )),
            Some(_) => {}
        }
    }
}

/// Whether the same run line may be filled in otherwise than before: a param's values are part of
/// what runs, most of all one that stands for the program.
fn accepts_more(known: &ToolEntry, tool: &ToolEntry) -> bool {
    essence(&known.schema) != essence(&tool.schema)
}

/// A tool's schema without what is only told to a model.
fn essence(schema: &str) -> Option<serde_json::Value> {
    let mut schema: serde_json::Value = serde_json::from_str(schema).ok()?;
    let properties = schema.get_mut("properties").and_then(serde_json::Value::as_object_mut)?;
    for param in properties.values_mut() {
        if let Some(param) = param.as_object_mut() {
            param.remove("description");
        }
    }
    Some(schema)
}

fn scripts(approved: &Manifest, offered: &Manifest, lines: &mut Vec<String>) {
    for script in &offered.scripts {
        let name = escape_quoted(&script.name);
        let Some(known) = approved.scripts.iter().find(|known| known.name == script.name) else {
            lines.push(format!(
                "script `{name}` is new, and runs `{}` ({})",
                escape_quoted(script.path.as_str()),
                escape_quoted(&script.runtime)
            ));
            continue;
        };
        if known.runtime != script.runtime || known.path != script.path {
            lines.push(format!(
                "script `{name}` ran `{}` ({}) and would run `{}` ({})",
                escape_quoted(known.path.as_str()),
                escape_quoted(&known.runtime),
                escape_quoted(script.path.as_str()),
                escape_quoted(&script.runtime)
            ));
        }
        if known.requires_permission && !script.requires_permission {
            lines.push(format!("script `{name}` would no longer ask before each call"));
        }
        if known.contract != script.contract {
            lines.push(format!("script `{name}` takes other arguments"));
        }
        for (what, before, after) in [
            ("s", known.timeout_seconds, script.timeout_seconds),
            ("bytes of output", known.maximum_output_bytes, script.maximum_output_bytes),
        ] {
            if after > before {
                lines.push(format!(
                    "script `{name}` had at most {before} {what} and would have {after}"
                ));
            }
        }
    }
}

fn requirements(approved: &Manifest, offered: &Manifest, lines: &mut Vec<String>) {
    let (before, after) = (&approved.requires, &offered.requires);
    for (what, before, after) in [
        ("required program", &before.all, &after.all),
        ("required program (one of several)", &before.any, &after.any),
        ("required environment variable", &before.env, &after.env),
    ] {
        for name in after.iter().filter(|name| !before.contains(name)) {
            lines.push(format!("{what} `{}` is new", escape_quoted(name)));
        }
    }
}

fn executables(approved: &Manifest, offered: &Manifest, lines: &mut Vec<String>) {
    for file in offered.files.iter().filter(|file| file.mode == Mode::Executable) {
        let known =
            approved.file(file.path.as_str()).is_some_and(|known| known.mode == Mode::Executable);
        if !known {
            lines.push(format!("executable file `{}` is new", escape_quoted(file.path.as_str())));
        }
    }
}

/// Files that run and whose bytes are not those that were approved: the same run line runs something
/// else then.
fn contents(approved: &Manifest, offered: &Manifest, lines: &mut Vec<String>) {
    for (file, what) in running(offered) {
        let known = approved.file(file.path.as_str());
        let is_executable = file.mode == Mode::Executable;
        if is_executable && known.is_none_or(|known| known.mode != Mode::Executable) {
            // Told as a new executable file.
            continue;
        }
        let path = escape_quoted(file.path.as_str());
        match known {
            None => lines.push(format!("`{path}`, {what}, is new")),
            Some(known) if known.sha256 != file.sha256 => {
                lines.push(format!("`{path}`, {what}, has other content"));
            }
            Some(_) => {}
        }
    }
}

/// How many changed files beside what runs are named.
const MOST_NAMED: usize = 8;

/// Files that what ran already, and runs on, may load. Nobody can tell which it does, so that all
/// that are new or changed are told, in one line: in an Agent Skill those beneath `scripts/` and
/// those of the language of a file that runs, in another all; never `SKILL.md`, which holds the
/// prose.
fn beside(approved: &Manifest, offered: &Manifest, lines: &mut Vec<String>) {
    let whose = stays(approved, offered);
    if whose.is_empty() {
        return;
    }
    let told: BTreeSet<&str> =
        running(offered).into_iter().map(|(file, _)| file.path.as_str()).collect();
    let languages: BTreeSet<&str> = told.iter().filter_map(|path| language(path)).collect();
    let is_of_language =
        |path: &str| language(path).is_some_and(|language| languages.contains(language));
    let may_be_loaded = |path: &str| match offered.dialect {
        _ if path == SKILL_FILE => false,
        Dialect::Agent => path.starts_with("scripts/") || is_of_language(path),
        Dialect::Hard => true,
    };
    let changed: Vec<String> = offered
        .files
        .iter()
        .filter(|file| may_be_loaded(file.path.as_str()) && !told.contains(file.path.as_str()))
        .filter(|file| {
            let known = approved.file(file.path.as_str());
            known.is_none_or(|known| known.sha256 != file.sha256)
        })
        .map(|file| format!("`{}`", escape_quoted(file.path.as_str())))
        .collect();
    if changed.is_empty() {
        return;
    }
    let files = if changed.len() == 1 { "file" } else { "files" };
    let more = match changed.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named: Vec<&str> = changed.iter().take(MOST_NAMED).map(String::as_str).collect();
    lines.push(format!(
        "{} {files} beside {} changed: {}{more}",
        changed.len(),
        whose.join(", "),
        named.join(", ")
    ));
}

/// What runs a file of the skill and was approved as it is, in words: scripts, and tools whose run
/// line names a file.
fn stays(approved: &Manifest, offered: &Manifest) -> Vec<String> {
    let scripts = offered.scripts.iter().filter(|script| {
        let known = approved.scripts.iter().find(|known| known.name == script.name);
        known.is_some_and(|known| known.path == script.path && known.contract == script.contract)
    });
    let tools = offered.tools.iter().filter(|tool| {
        approved.tools.iter().any(|known| known.id == tool.id && known.run == tool.run)
            && runs_a_file(offered, tool)
    });
    let scripts = scripts.map(|script| format!("script `{}`", escape_quoted(&script.name)));
    scripts.chain(tools.map(|tool| format!("tool `{}`", escape_quoted(&tool.id)))).collect()
}
