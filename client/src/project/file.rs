//! Reads `skillpkg.toml`: what a project asks for.

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{Diagnostic, Faults, QualifiedName, Requirement};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use url::Url;

use super::fault::Reading;
use super::{MAX_PROJECT_SKILLS, PROJECT_FILE, Wanted};
use crate::install::ARCHIVE_ENDING;
use crate::settings::registry_url;

const TOP_KEYS: [&str; 4] = ["skills", "agents", "registry", "policy"];
const SKILL_KEYS: [&str; 3] = ["version", "as", "file"];
const AGENTS_KEYS: [&str; 2] = ["use", "copy"];

/// What a project asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectFile {
    /// The registry that the project names. It is never expanded, and no token of the environment
    /// goes to it.
    pub registry: Option<Url>,
    /// Whether there is a `[skills]` table: a file without one says nothing of which are wanted.
    pub has_skills: bool,
    /// The skills, sorted by name.
    pub skills: Vec<Wanted>,
    /// Where they are placed.
    pub agents: AgentsTable,
}

/// Where a project's skills are placed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentsTable {
    /// The agents to place them for, by id; [`None`] where the file does not say.
    pub used: Option<Vec<String>>,
    /// Whether copies are placed in place of links; [`None`] where the file does not say.
    pub copy: Option<bool>,
}

impl ProjectFile {
    /// Reads the text of the file; answers with warnings beside it. Line ends may be CRLF.
    pub fn parse(text: &str) -> Result<(Self, Vec<Diagnostic>), Faults> {
        let mut reading = Reading::new(text, PROJECT_FILE, "project_invalid");
        let table = reading.table(
            "edit `skillpkg.toml` to hold the skills of both sides, then run `skillpkg sync`",
            None,
        )?;
        let mut file = Self::default();
        for (key, value) in &table {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("skills", DeValue::Table(skills)) if skills.len() > MAX_PROJECT_SKILLS => {
                    let (found, most) = (skills.len(), MAX_PROJECT_SKILLS);
                    reading.fault(key.span(), format!("{found} skills are over {most}"));
                }
                ("skills", DeValue::Table(skills)) => {
                    file.has_skills = true;
                    file.skills = read_skills(&mut reading, skills);
                }
                ("agents", DeValue::Table(agents)) => {
                    file.agents = read_agents(&mut reading, agents);
                }
                // Whoever decides by it reads it, and more strictly than this file is read.
                ("policy", DeValue::Table(_)) => {}
                ("registry", _) => file.registry = read_registry(&mut reading, value),
                (name @ ("skills" | "agents" | "policy"), _) => {
                    reading.fault(value.span(), format!("`{name}` must be a table: `[{name}]`"));
                }
                (other, _) => reading.unknown_key(other, key.span(), &TOP_KEYS),
            }
        }
        file.skills.sort_by_cached_key(|wanted| wanted.name.to_string());
        reading.finish(file)
    }

    /// What is asked for of `name`.
    pub fn skill(&self, name: &QualifiedName) -> Option<&Wanted> {
        self.skills.iter().find(|wanted| wanted.name == *name)
    }
}

/// A registry's base URL: without variables, which are not expanded in a file that others wrote,
/// and without credentials, which a file that others read must not hold.
pub(super) fn read_registry(
    reading: &mut Reading<'_>,
    value: &Spanned<DeValue<'_>>,
) -> Option<Url> {
    let text = reading.text_of("registry", value)?;
    registry_url(text)
        .map_err(|error| reading.fault(value.span(), format!("`registry`: {error}")))
        .ok()
}

fn read_skills(reading: &mut Reading<'_>, table: &DeTable<'_>) -> Vec<Wanted> {
    let mut skills = Vec::new();
    for (key, value) in table {
        let name = match key.get_ref().parse::<QualifiedName>() {
            Ok(name) => name,
            Err(error) => {
                reading.fault(key.span(), error.to_string());
                continue;
            }
        };
        let wanted = match value.get_ref() {
            DeValue::String(_) => reading.parsed("version", value).map(|requirement| Wanted {
                name,
                requirement,
                placed_as: None,
                file: None,
            }),
            DeValue::Table(entry) => read_skill(reading, name, key.span(), entry),
            other => {
                let message = format!(
                    "`{name}` must be a requirement such as \"1.2\" or a table, not {}",
                    other.type_str()
                );
                reading.fault(value.span(), message);
                None
            }
        };
        skills.extend(wanted);
    }
    skills
}

fn read_skill(
    reading: &mut Reading<'_>,
    name: QualifiedName,
    span: super::fault::Span,
    table: &DeTable<'_>,
) -> Option<Wanted> {
    let mut wanted = Wanted { name, requirement: Requirement::Latest, placed_as: None, file: None };
    let (mut sourced, mut sound) = (false, true);
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "version" => {
                sourced = true;
                match reading.parsed("version", value) {
                    Some(requirement) => wanted.requirement = requirement,
                    None => sound = false,
                }
            }
            "as" => match reading.parsed("as", value) {
                Some(directory) => wanted.placed_as = Some(directory),
                None => sound = false,
            },
            "file" => {
                sourced = true;
                match reading.text_of("file", value) {
                    Some(path) => match check_file(path) {
                        Ok(()) => wanted.file = Some(path.to_owned()),
                        Err(message) => {
                            reading.fault(value.span(), message);
                            sound = false;
                        }
                    },
                    None => sound = false,
                }
            }
            other => reading.unknown_key(other, key.span(), &SKILL_KEYS),
        }
    }
    if !sourced {
        let message = format!("`{}` has neither `version` nor `file`", wanted.name);
        let hint =
            format!("write `{} = \"latest\"`, or a requirement such as \"1.2\"", wanted.name);
        reading.fault_with_hint(span, message, hint);
        return None;
    }
    sound.then_some(wanted)
}

/// An archive's path: relative and `/`-separated, so that it means the same on every machine. One
/// that leads out of the project names an archive by its ending: nothing else there is looked at.
pub(super) fn check_file(path: &str) -> Result<(), String> {
    let shown = escape(path);
    if path.is_empty() {
        Err("`file` is empty".to_owned())
    } else if path.contains('\\') || path.chars().any(char::is_control) {
        Err(format!("`file`: `{shown}` has a backslash or a control character; use `/`"))
    } else if path.starts_with('/') || path.contains(':') {
        Err(format!("`file`: `{shown}` must be relative to the project"))
    } else if path.split('/').any(|part| part == "..") && !path.ends_with(ARCHIVE_ENDING) {
        Err(format!(
            "`file`: `{shown}` leads out of the project and does not end in `{ARCHIVE_ENDING}`"
        ))
    } else {
        Ok(())
    }
}

fn read_agents(reading: &mut Reading<'_>, table: &DeTable<'_>) -> AgentsTable {
    let mut agents = AgentsTable::default();
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "use" => match value.get_ref() {
                DeValue::Array(ids) => {
                    let ids: Vec<Option<String>> = ids
                        .iter()
                        .map(|id| reading.text_of("use", id).map(str::to_owned))
                        .collect();
                    agents.used = ids.into_iter().collect();
                }
                _ => reading.fault(value.span(), "`use` must be a list of agents' ids"),
            },
            "copy" => match value.get_ref().as_bool() {
                Some(copy) => agents.copy = Some(copy),
                None => reading.fault(value.span(), "`copy` must be `true` or `false`"),
            },
            other => reading.unknown_key(other, key.span(), &AGENTS_KEYS),
        }
    }
    agents
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"registry = "https://skills.example.org"

[skills]
waitlist = "1.2"
"acme/reports" = { version = "^2", as = "reports" }
local = { file = "vendor/local-1.0.0.skill.tar.zst" }

[agents]
use = ["claude-code", "codex"]
copy = false
"#;

    #[test]
    fn a_project_file_is_read_whole() {
        let (file, warnings) = ProjectFile::parse(SAMPLE).unwrap();
        assert!(warnings.is_empty());
        assert_eq!(file.registry.as_ref().unwrap().host_str(), Some("skills.example.org"));
        let names: Vec<String> = file.skills.iter().map(|one| one.name.to_string()).collect();
        assert_eq!(names, ["acme/reports", "local", "waitlist"]);
        assert_eq!(file.skills[0].directory_name().as_str(), "reports");
        assert_eq!(file.skills[1].file.as_deref(), Some("vendor/local-1.0.0.skill.tar.zst"));
        assert_eq!(file.agents.used.as_ref().unwrap().len(), 2);
        assert_eq!(file.agents.copy, Some(false));
    }

    #[test]
    fn line_ends_of_windows_change_nothing() {
        let carriage = SAMPLE.replace('\n', "\r\n");
        assert_eq!(ProjectFile::parse(&carriage).unwrap(), ProjectFile::parse(SAMPLE).unwrap());
    }

    #[test]
    fn every_fault_has_its_line_and_all_are_told() {
        let text = "[skills]\nWait = \"1\"\nok = \"one\"\nx = 1\ny = {}\n[agents]\nuse = \"a\"\n";
        let faults = ProjectFile::parse(text).unwrap_err();
        let lines: Vec<Option<u32>> = faults.diagnostics().iter().map(|one| one.line).collect();
        assert_eq!(lines, [Some(2), Some(3), Some(4), Some(5), Some(7)]);
        assert!(faults.diagnostics().iter().all(|one| one.code == "project_invalid"));
    }

    #[test]
    fn a_misspelt_key_is_refused_with_the_nearest_and_a_strange_one_is_warned_of() {
        for (text, line, near) in [
            ("[skils]\nx = \"1\"\n", 1, "skills"),
            ("[skills]\n[agent]\n", 2, "agents"),
            ("regstry = \"https://x.test\"\n", 1, "registry"),
            ("[skills]\nx = { versoin = \"1\", version = \"1\" }\n", 2, "version"),
            ("[agents]\nuses = []\n", 2, "use"),
        ] {
            let faults = ProjectFile::parse(text).unwrap_err();
            let fault = faults.first();
            assert_eq!((fault.code.as_str(), fault.line), ("unknown_key", Some(line)), "{text}");
            assert_eq!(fault.hint, Some(format!("did you mean `{near}`?")), "{text}");
        }
        let (_, warnings) = ProjectFile::parse("[of-a-later-version]\nx = \"1\"\n").unwrap();
        assert_eq!(warnings[0].code, "unknown_key");
    }

    #[test]
    fn a_file_that_is_absolute_or_no_archive_outside_the_project_is_refused_at_its_line() {
        let read =
            |file: &str| ProjectFile::parse(&format!("[skills]\n\nx = {{ file = \"{file}\" }}\n"));
        for file in ["/etc/passwd", "../../etc/passwd", "a/../../x", "C:/x", ".."] {
            let faults = read(file).unwrap_err();
            assert_eq!(faults.first().line, Some(3), "{file}");
        }
        for file in ["x", "vendor/x", "../shared/x.skill.tar.zst", "..x"] {
            assert!(read(file).is_ok(), "{file}");
        }
    }

    #[test]
    fn more_skills_than_a_project_may_have_are_one_fault() {
        let skills = (0..=MAX_PROJECT_SKILLS).map(|number| format!("a{number} = 1"));
        let text = format!("[skills]\n{}\n", skills.collect::<Vec<_>>().join("\n"));
        let faults = ProjectFile::parse(&text).unwrap_err();
        assert_eq!(faults.diagnostics().len(), 1);
    }

    #[test]
    fn a_registry_with_a_password_is_refused() {
        for text in ["https://u:p@h", "ftp://h", "data:x", "$URL"] {
            assert!(ProjectFile::parse(&format!("registry = \"{text}\"")).is_err(), "{text}");
        }
    }
}
