//! `update`: moves skills to the newest versions that the project asks for.

use skillpkg_schema::diagnostic::{escape, nearest};
use skillpkg_schema::{QualifiedName, Requirement};

use super::attend::Attendant;
use super::goal::{Entry, Goal, GoalSkill, Report};
use super::make::make;
use super::options::Options;
use super::session::Session;
use super::sync::kept;
use crate::project::{PROJECT_FILE, Wanted};
use crate::{Error, Kind, Settings};

/// Moves skills to the newest versions that the project asks for: those with these names, or all
/// where there are none.
pub async fn update(
    settings: &Settings,
    options: &Options,
    names: &[String],
    attendant: &mut dyn Attendant,
) -> Result<Report, Error> {
    let session = Session::open(settings, options, attendant)?;
    session.require_project_file()?;
    // Whoever names a skill is answered about that one.
    let mut goal = Goal { is_update: true, spares_lost: names.is_empty(), ..Goal::default() };
    for wanted in chosen(&session, names)? {
        // One snapshot has no newer one, and an archive is read again.
        let is_fixed = matches!(wanted.requirement, Requirement::Address(_));
        let keep = if is_fixed { kept(&session, wanted)?.cloned() } else { None };
        goal.skills.push(GoalSkill {
            keep,
            entry: Entry::Unchanged,
            visible: !session.remembered.inactive.contains(&wanted.name),
            wanted: wanted.clone(),
        });
    }
    make(&session, goal, attendant).await
}

fn chosen<'s>(session: &'s Session<'_>, names: &[String]) -> Result<Vec<&'s Wanted>, Error> {
    let skills = &session.files.project.skills;
    if names.is_empty() {
        return Ok(skills.iter().collect());
    }
    let mut chosen: Vec<&Wanted> = Vec::new();
    for text in names {
        let name = named(text, skills)?;
        let found = skills.iter().find(|wanted| wanted.name == name);
        chosen.extend(found.filter(|one| !chosen.iter().any(|other| other.name == one.name)));
    }
    Ok(chosen)
}

/// The skill of a project that a text means: by its whole name, or by the one that agents see.
pub(super) fn named<'w>(
    text: &str,
    skills: impl IntoIterator<Item = &'w Wanted> + Clone,
) -> Result<QualifiedName, Error> {
    let found =
        skills.clone().into_iter().find(|wanted| wanted.name.to_string() == text).or_else(|| {
            skills.clone().into_iter().find(|one| one.directory_name().as_str() == text)
        });
    if let Some(wanted) = found {
        return Ok(wanted.name.clone());
    }
    let names: Vec<String> = skills.into_iter().map(|wanted| wanted.name.to_string()).collect();
    let message = format!("`{}` is not in `{PROJECT_FILE}`", escape(text));
    let error = Error::new(Kind::Failed, "skill_not_found", message);
    Err(match nearest(text, names.iter().map(String::as_str)) {
        Some(near) => error.with_hint(format!("did you mean `{near}`?")),
        None if text.contains('@') => {
            error.with_hint("another version is asked for with `skillpkg install`")
        }
        None => error.with_hint("`skillpkg list` tells what is installed"),
    })
}
