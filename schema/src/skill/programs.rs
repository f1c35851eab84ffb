//! The programs that tools start.

use std::collections::HashMap;

use super::run::{Part, parts};
use super::{Program, Tool};

/// The programs that `tools` start, in order of first appearance.
pub fn programs(tools: &[Tool]) -> Vec<Program> {
    let mut programs: Vec<Program> = Vec::new();
    let mut positions: HashMap<(String, bool), usize> = HashMap::new();
    for tool in tools {
        let Some(word) = tool.run.words().next() else { continue };
        let parts = parts(word);
        let dynamic = parts.iter().any(|part| matches!(part, Part::Param(_)));
        let name = if dynamic { word.to_owned() } else { literal(&parts) };
        let position = *positions.entry((name, dynamic)).or_insert_with_key(|(name, dynamic)| {
            programs.push(Program { name: name.clone(), dynamic: *dynamic, tools: Vec::new() });
            programs.len() - 1
        });
        if let Some(program) = programs.get_mut(position) {
            program.tools.push(tool.id.clone());
        }
    }
    programs
}

fn literal(parts: &[Part<'_>]) -> String {
    parts
        .iter()
        .map(|part| match part {
            Part::Literal(text) | Part::Param(text) => *text,
        })
        .collect()
}
