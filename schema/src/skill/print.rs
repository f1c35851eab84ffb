//! A skill written back as the text of a `SKILL.md`, to hold the reader to its own answer.

use std::fmt::Write as _;

use serde_json::Value;

use super::coerce::text;
use super::repair::quote;
use super::{Dialect, SkillFile, Tool};

/// The text of a `SKILL.md` that parses to `file`.
pub(super) fn print(file: &SkillFile) -> String {
    let key = if file.dialect == Dialect::Hard { "skill" } else { "name" };
    let mut out = format!("---\n{key}: {}\n", quote(&file.name));
    let _ = writeln!(out, "description: {}", quote(&file.description));
    for (key, value) in [("version", &file.version), ("license", &file.license)] {
        if let Some(value) = value {
            let _ = writeln!(out, "{key}: {}", quote(value));
        }
    }
    if let Some(includes) = &file.includes {
        out.push_str("includes: [");
        out.push_str(&includes.iter().map(|path| quote(path)).collect::<Vec<_>>().join(", "));
        out.push_str("]\n");
    }
    for (key, value) in &file.metadata {
        let _ = write!(out, "{}: ", quote(key));
        flow(value, &mut out);
        out.push('\n');
    }
    out.push_str("---\n\n");
    let mut rest = file.rendered.as_str();
    for tool in &file.tools {
        let mark = format!("[tool: {}]", tool.id);
        let (before, after) = rest.split_once(&mark).unwrap();
        out.push_str(before);
        fence(tool, &mut out);
        rest = after;
    }
    out.push_str(rest);
    out.push('\n');
    out
}

fn flow(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                flow(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (at, (key, value)) in members.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                let _ = write!(out, "{}: ", quote(key));
                flow(value, out);
            }
            out.push('}');
        }
        scalar => out.push_str(&quote(scalar.as_str().unwrap())),
    }
}

fn fence(tool: &Tool, out: &mut String) {
    let _ = writeln!(out, "```tool\nid: {}\ndescription: {}", tool.id, tool.description);
    if !tool.params.is_empty() {
        out.push_str("params:\n");
    }
    for param in &tool.params {
        let _ = writeln!(out, "  {}:\n    type: {}", param.name, param.kind.name());
        let choices = param
            .choices
            .as_ref()
            .map(|choices| choices.iter().map(text).collect::<Vec<_>>().join(", "));
        for (key, value) in [
            ("format", param.format.clone()),
            ("enum", choices),
            ("description", param.description.clone()),
            ("default", param.default.as_ref().map(text)),
        ] {
            if let Some(value) = value {
                let _ = writeln!(out, "    {key}: {value}");
            }
        }
    }
    out.push_str("run:\n");
    for word in tool.run.words() {
        let _ = writeln!(out, "  - {word}");
    }
    out.push_str("```");
}
