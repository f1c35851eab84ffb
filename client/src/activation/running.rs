//! Which files of a skill run, and what runs them.

use std::collections::BTreeMap;

use skillpkg_schema::Manifest;
use skillpkg_schema::diagnostic::escape_whole;
use skillpkg_schema::manifest::{FileEntry, Mode, ToolEntry};

/// Endings of files that are loaded by one another: of the same line, a language.
const LANGUAGES: [&[&str]; 4] = [
    &["bash", "sh", "zsh"],
    &["cjs", "cts", "js", "json", "jsx", "mjs", "mts", "ts", "tsx"],
    &["py", "pyc", "pyi", "pyw"],
    &["bat", "cmd", "ps1", "psd1", "psm1"],
];

/// Each file that runs, with what runs it in words, safe to print: a tool whose run line names it,
/// with or without its ending, or a directory above it; a script; or whoever starts an executable
/// file.
pub(super) fn running(manifest: &Manifest) -> Vec<(&FileEntry, String)> {
    let mut by_path: BTreeMap<String, String> = BTreeMap::new();
    for script in &manifest.scripts {
        let what = format!("which script `{}` runs", escape_whole(&script.name));
        by_path.entry(script.path.as_str().to_owned()).or_insert(what);
    }
    for tool in &manifest.tools {
        for path in named(tool) {
            let what = format!("which tool `{}` runs", escape_whole(&tool.id));
            by_path.entry(path).or_insert(what);
        }
    }
    let files = manifest.files.iter().filter_map(|file| {
        let what = called(file.path.as_str()).find_map(|name| by_path.get(&name).cloned());
        let own = || (file.mode == Mode::Executable).then(|| "which is executable".to_owned());
        what.or_else(own).map(|what| (file, what))
    });
    files.collect()
}

/// Every name by which a run line may mean a file: its path, those of the directories above it, and
/// its own without the ending.
fn called(path: &str) -> impl Iterator<Item = String> {
    above(path).map(str::to_owned).chain(without_ending(path))
}

/// What a path is called without its ending, as a path and as a module.
fn without_ending(path: &str) -> impl Iterator<Item = String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rfind('.').filter(|start| *start > 0).map(|start| name.len() - start);
    let stem = ending.and_then(|ending| path.get(..path.len() - ending));
    stem.into_iter().flat_map(|stem| [stem.to_owned(), stem.replace('/', ".")])
}

/// What a file's ending says that it is written in: the first ending of its language, else its own.
pub(super) fn language(path: &str) -> Option<&str> {
    let (stem, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
    let of = |endings: &&&[&'static str]| endings.contains(&ending);
    let known = LANGUAGES.iter().find(of).and_then(|endings| endings.first().copied());
    (!stem.is_empty()).then(|| known.unwrap_or(ending))
}

/// Whether a tool's run line names a file of the skill or a directory above one.
pub(super) fn runs_a_file(manifest: &Manifest, tool: &ToolEntry) -> bool {
    let paths = named(tool);
    manifest.files.iter().any(|file| called(file.path.as_str()).any(|name| paths.contains(&name)))
}

/// A path and each directory above it.
fn above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(above, _)| above))
}

/// Every relative path that a run line may name: each of its words and of the values that its
/// params may have, and each part of one, since a word may hold a command of its own.
fn named(tool: &ToolEntry) -> Vec<String> {
    let values = values(&tool.schema);
    let texts = tool.run.iter().chain(&values);
    texts
        .flat_map(|text| std::iter::once(text.as_str()).chain(text.split(ends)))
        .filter_map(plain)
        .collect()
}

/// Whether a character ends a path in a command: one that shells or options give a meaning.
fn ends(character: char) -> bool {
    character.is_whitespace() || "\"'`=:;,&|<>(){}$".contains(character)
}

/// The path as a manifest writes it; [`None`] where it is absolute, or leads to the skill's own
/// directory or out of it.
fn plain(text: &str) -> Option<String> {
    if text.starts_with('/') {
        return None;
    }
    let mut parts = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// The texts that a tool's schema lists as values of its params.
fn values(schema: &str) -> Vec<String> {
    let Ok(schema) = serde_json::from_str::<serde_json::Value>(schema) else { return Vec::new() };
    let properties = schema.get("properties").and_then(serde_json::Value::as_object);
    let listed = properties.into_iter().flat_map(serde_json::Map::values).flat_map(|param| {
        let several = param.get("enum").and_then(serde_json::Value::as_array);
        several.into_iter().flatten().chain(param.get("default"))
    });
    listed.filter_map(|value| value.as_str().map(str::to_owned)).collect()
}
