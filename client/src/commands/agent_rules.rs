//! What agent hosts expect of an Agent Skill beyond what skillpkg needs: the rules of
//! agentskills.io, told as warnings.

use std::path::Path;

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::skill::SkillFile;
use skillpkg_schema::{Diagnostic, SkillName};

/// Most characters of a name.
const MAX_NAME: usize = 64;
/// Most characters of `compatibility`.
const MAX_COMPATIBILITY: usize = 500;

/// The warnings for an Agent Skill in `directory`.
pub(crate) fn check(file: &SkillFile, directory: &Path) -> Vec<Diagnostic> {
    let mut told = Vec::new();
    let mut warn = |code: &str, message: String, hint: String| {
        told.push(Diagnostic::warning(code, message).in_file("SKILL.md").with_hint(hint));
    };
    // That there is none is told already.
    let name = &file.name;
    // A name that is not even one of ours is told already.
    if !is_name(name) && name.parse::<SkillName>().is_ok() {
        let message = format!("`{}` is not a name that agents take", escape(name));
        let hint = format!("use lowercase letters, digits and single `-`, at most {MAX_NAME}");
        warn("agent_name", message, hint);
    }
    // `.` and a directory behind a link have names too.
    let real = directory.canonicalize().ok();
    let called = real.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy());
    if let Some(called) = called.filter(|called| !name.is_empty() && *called != name.as_str()) {
        let message = format!(
            "`name` is `{}` and the directory is called `{}`: agents expect one name",
            escape(name),
            escape(&called)
        );
        warn(
            "agent_directory",
            message,
            "rename either; an installed skill lies in a directory of its own name".to_owned(),
        );
    }
    let compatibility = file.metadata.get("compatibility").and_then(serde_json::Value::as_str);
    let length = compatibility.map_or(0, |text| text.chars().count());
    if length > MAX_COMPATIBILITY {
        let message = format!(
            "`compatibility` is {length} characters long; agents read at most {MAX_COMPATIBILITY}"
        );
        warn("agent_compatibility", message, "shorten it".to_owned());
    }
    told
}

/// Letters and digits of lower case, in words joined by one `-`.
fn is_name(name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() && !c.is_uppercase())
    };
    name.chars().count() <= MAX_NAME && name.split('-').all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_specification() {
        for name in ["pdf", "pdf-tools", "2fa", "café"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "-a", "a-", "a--b", "A", "a_b", "a b", &"a".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
