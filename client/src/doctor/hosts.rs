//! Links that lead nowhere, and skills that an agent sees twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::limits::MAX_SKILL_FILE_BYTES;
use skillpkg_schema::skill;

use super::{Area, Complaint};
use crate::Settings;
use crate::agents::{Agents, Reach, Surroundings};

/// Most entries of one directory that are looked at.
const MOST_ENTRIES: usize = 2_000;

pub(super) fn examine(settings: &Settings, complaints: &mut Vec<Complaint>) {
    // That it cannot be read is told of the configuration.
    let Ok(agents) = Agents::of(settings) else { return };
    let reaches = [(Reach::Project, &settings.project), (Reach::Global, &settings.user_home)];
    let mut seen: BTreeMap<String, BTreeMap<String, BTreeSet<PathBuf>>> = BTreeMap::new();
    for (reach, base) in reaches {
        let Settings { user_home, path, .. } = settings;
        let project = (reach == Reach::Project).then_some(base.as_path());
        let surroundings = Surroundings { project, user_home, path, remembered: None };
        // With what is placed for where nobody is found.
        let mut ids: BTreeSet<String> = agents.detected(surroundings).into_iter().collect();
        ids.extend(agents.found(surroundings).into_iter().map(|found| found.id));
        let mut readers: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
        for agent in ids.iter().filter_map(|id| agents.get(id).ok()) {
            for directory in agent.reads_of(reach) {
                readers.entry(base.join(directory)).or_default().push(agent.id.clone());
            }
        }
        for (directory, agents) in readers {
            for (name, place) in entries(settings, &directory, complaints) {
                for agent in &agents {
                    let of_agent = seen.entry(agent.clone()).or_default();
                    of_agent.entry(name.clone()).or_default().insert(place.clone());
                }
            }
        }
    }
    let mut twice: BTreeMap<(String, BTreeSet<PathBuf>), Vec<String>> = BTreeMap::new();
    for (agent, skills) in seen {
        for (name, places) in skills.into_iter().filter(|(_, places)| places.len() > 1) {
            twice.entry((name, places)).or_default().push(agent.clone());
        }
    }
    for ((name, places), agents) in twice {
        let places: Vec<String> = places.iter().map(|place| shown(place)).collect();
        complaints.push(Complaint::new(
            Area::Duplicate,
            format!("{} sees `{}` at {}", agents.join(", "), escape(&name), places.join(" and ")),
            "keep one of them: `skillpkg remove NAME` (`--global` for the user's) takes out what it \
             placed; remove the other by hand",
        ));
    }
}

/// The skills in an agent's directory, by the names that they give themselves.
fn entries(
    settings: &Settings,
    directory: &Path,
    complaints: &mut Vec<Complaint>,
) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut skills = Vec::new();
    for entry in entries.take(MOST_ENTRIES).filter_map(Result::ok) {
        let path = entry.path();
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if is_link && path.metadata().is_err() {
            complaints.push(dangling(settings, &path));
            continue;
        }
        let Some(text) = skill_file(&path.join("SKILL.md")) else { continue };
        let own = skill::parse(&text, "SKILL.md").map(|file| file.name).ok();
        let name = own.unwrap_or_else(|| entry.file_name().to_string_lossy().into_owned());
        skills.push((name, path));
    }
    skills
}

fn skill_file(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let file = crate::regular_file::open(path).ok()?;
    file.take(MAX_SKILL_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn dangling(settings: &Settings, link: &Path) -> Complaint {
    let target = fs::read_link(link).unwrap_or_default();
    let advice = if target.starts_with(&settings.home) {
        "`skillpkg sync` fetches what it led to; where no project has it any more, remove the link"
    } else {
        "restore what it led to, or remove the link"
    };
    let what = format!("{} leads to {}, which is not there", shown(link), shown(&target));
    Complaint::new(Area::Link, what, advice)
}

fn shown(path: &Path) -> String {
    format!("`{}`", escape(&path.to_string_lossy()))
}
