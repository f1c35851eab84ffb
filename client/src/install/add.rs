//! `install`: adds skills to a project.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{QualifiedName, Reference, Requirement, SkillName};
use skillpkg_store::archive::{Bounds, Reader};

use super::attend::Attendant;
use super::goal::{Entry, Goal, GoalSkill, Report};
use super::make::make;
use super::options::Options;
use super::session::Session;
use super::sync::{Frozen, sync};
use crate::project::{Locked, Source, Wanted, io_error};
use crate::{Error, Kind, Settings};

/// What an archive's name ends in.
pub const ARCHIVE_ENDING: &str = ".skill.tar.zst";

/// What `install` is asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Skills, `[scope/]name[@requirement]`, or paths of archives.
    pub references: Vec<String>,
    /// Another directory name for the one skill.
    pub placed_as: Option<String>,
    /// Whether agents are not to see them yet.
    pub hidden: bool,
}

/// One skill that is asked for.
#[derive(Debug, Clone)]
enum Asked {
    Registry(Reference),
    /// An archive, and the name that it holds.
    File(PathBuf, QualifiedName),
}

/// Installs skills: resolves, fetches, verifies, asks, places them and writes both project files.
/// Without references, what the project asks for.
///
/// All of it or nothing: a failure leaves the project as it was, and a kill leaves it as it was or
/// is finished by the next command.
pub async fn install(
    settings: &Settings,
    options: &Options,
    request: &Request,
    attendant: &mut dyn Attendant,
) -> Result<Report, Error> {
    let placed_as = read_directory_name(request)?;
    let asked: Vec<Asked> = match &settings.bundle {
        Some(bundle) if request.references.is_empty() => {
            let named = bundle.skills().filter(|(_, skill)| !skill.versions.is_empty());
            let named = named.map(|(_, skill)| skill.name.clone());
            named.map(|name| Asked::Registry(Reference { name, requirement: None })).collect()
        }
        _ => request.references.iter().map(|text| read(text)).collect::<Result<_, _>>()?,
    };
    if asked.is_empty() {
        return sync(settings, options, Frozen::No, attendant).await;
    }
    let session = Session::open(settings, options, attendant)?;
    session.require_project_file()?;
    let mut skills: BTreeMap<QualifiedName, GoalSkill> = BTreeMap::new();
    for one in asked {
        let skill = goal_of(&session, one, placed_as.clone(), !request.hidden)?;
        let name = skill.wanted.name.clone();
        if let Some(other) = skills.insert(name.clone(), skill.clone())
            && other.wanted != skill.wanted
        {
            let message = format!("`{name}` is asked for twice, and not in the same way");
            return Err(Error::new(Kind::Usage, "reference_invalid", message));
        }
    }
    let goal = Goal { skills: skills.into_values().collect(), ..Goal::default() };
    make(&session, goal, attendant).await
}

fn read_directory_name(request: &Request) -> Result<Option<SkillName>, Error> {
    let Some(text) = &request.placed_as else { return Ok(None) };
    if request.references.len() != 1 {
        let message = "another directory name can be given to one skill at a time";
        return Err(Error::new(Kind::Usage, "usage", message));
    }
    let name = text.parse().map_err(|error: skillpkg_schema::name::NameError| {
        Error::new(Kind::Usage, "name_invalid", error.to_string())
    })?;
    Ok(Some(name))
}

/// A text is a path where it can be nothing else, so that a file that happens to lie there never
/// stands in for a skill.
fn read(text: &str) -> Result<Asked, Error> {
    let is_path = (text.ends_with(ARCHIVE_ENDING) && !text.contains("://"))
        || ["/", "./", "../"].iter().any(|start| text.starts_with(start))
        || matches!(text, "." | "..")
        || Path::new(text).is_absolute();
    if is_path {
        let path = PathBuf::from(text);
        let name = name_in(&path)?;
        return Ok(Asked::File(path, name));
    }
    text.parse().map(Asked::Registry).map_err(
        |error: skillpkg_schema::reference::ReferenceError| {
            let error = Error::new(Kind::Usage, "reference_invalid", error.to_string());
            if Path::new(text).exists() {
                error.with_hint(format!("for a file, write `./{}`", escape(text)))
            } else if text.contains("://") || text.starts_with("git@") || text.contains(".com/") {
                error.with_hint(
                    "nothing is installed from a repository: `skillpkg search WORDS` finds what is \
                     published; of what is not, `skillpkg pack DIRECTORY` makes an archive, which is \
                     installed by its path",
                )
            } else {
                error
            }
        },
    )
}

/// The name that an archive's manifest has.
fn name_in(path: &Path) -> Result<QualifiedName, Error> {
    let shown = escape(&path.to_string_lossy());
    if path.is_dir() {
        let message = format!("`{shown}` is a directory; what is installed is an archive");
        return Err(Error::new(Kind::Usage, "not_an_archive", message).with_hint(format!(
            "`skillpkg pack {shown}` makes one, and `skillpkg check {shown}` tells what is wrong"
        )));
    }
    let file = crate::regular_file::open(path).map_err(|error| io_error(path, &error))?;
    let reader = Reader::open(file, Bounds::default())
        .map_err(|error| Error::from(error).in_file(path.to_string_lossy()))?;
    Ok(reader.manifest().name.clone())
}

fn goal_of(
    session: &Session<'_>,
    asked: Asked,
    placed_as: Option<SkillName>,
    visible: bool,
) -> Result<GoalSkill, Error> {
    let (name, requirement, file) = match asked {
        Asked::Registry(Reference { name, requirement }) => (name, requirement, None),
        Asked::File(path, name) => (name, None, Some(relative_to(&path, session.root())?)),
    };
    let present = session.files.project.skill(&name);
    let is_asked = requirement.is_some() || file.is_some() || placed_as.is_some();
    let placed_as = placed_as.or_else(|| present.and_then(|wanted| wanted.placed_as.clone()));
    let file = match (&requirement, file) {
        (None, None) => present.and_then(|wanted| wanted.file.clone()),
        (_, file) => file,
    };
    // Whoever asks for the latest wants it looked up; else what is locked and will do stays.
    let is_anew = requirement == Some(Requirement::Latest);
    let is_bare = requirement.is_none() && file.is_none();
    let requirement = match (requirement, present) {
        (Some(requirement), _) => requirement,
        (None, Some(wanted)) if file.is_none() => wanted.requirement.clone(),
        _ => Requirement::Latest,
    };
    let wanted = Wanted { name, requirement, placed_as, file };
    let locked = session.files.lock.skill(&wanted.name);
    // An archive that is given again may have other bytes at the same path.
    let is_file = wanted.file.is_some() && is_asked;
    let is_anew = is_anew || locked.is_some_and(|locked| is_overtaken(session, &wanted, locked));
    let keep = locked.filter(|locked| !is_anew && !is_file && wanted.is_met_by(locked)).cloned();
    let entry = match present {
        None if is_bare => Entry::CaretOfResolved,
        None => Entry::AsAsked,
        Some(_) if is_asked => Entry::AsAsked,
        Some(_) => Entry::Unchanged,
    };
    let was_seen = session.remembered.active(&wanted.name).map(|active| active.address);
    // A skill that agents see and that stays as it is stays seen.
    let visible = visible || (keep.is_some() && was_seen == keep.as_ref().map(|one| one.address));
    Ok(GoalSkill { wanted, keep, entry, visible })
}

/// Whether a bundle holds a later version of a skill than is locked: whoever installs from it wants
/// what it brings, as far as the project lets it, and never an earlier one.
fn is_overtaken(session: &Session<'_>, wanted: &Wanted, locked: &Locked) -> bool {
    let (Some(bundle), Source::Registry(url)) = (&session.settings.bundle, &locked.source) else {
        return false;
    };
    let versions = bundle.versions(url, &locked.name).unwrap_or_default();
    versions.iter().any(|one| {
        one.version.semver() > locked.version.semver()
            && wanted.requirement.matches(&one.version, &locked.address)
    })
}

/// The path of a file as a project's files write it: relative and `/`-separated.
fn relative_to(path: &Path, root: &Path) -> Result<String, Error> {
    let path = crate::real_path::of(path).map_err(|error| io_error(path, &error))?;
    let shown = || escape(&path.to_string_lossy());
    if !path.starts_with(root) && !path.to_string_lossy().ends_with(ARCHIVE_ENDING) {
        let message = format!(
            "`{}` is outside the project and does not end in `{ARCHIVE_ENDING}`: rename it",
            shown()
        );
        return Err(Error::new(Kind::Usage, "file_unreachable", message));
    }
    let mut from = root.components().peekable();
    let mut to = path.components().peekable();
    while from.peek().is_some() && from.peek() == to.peek() {
        from.next();
        to.next();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in from {
        if !matches!(part, Component::Normal(_)) {
            let message = format!("`{}` is not on the drive of the project", shown());
            return Err(Error::new(Kind::Usage, "file_unreachable", message));
        }
        parts.push("..");
    }
    for part in to {
        let part = part.as_os_str().to_str().filter(|part| !part.contains(['\\', ':']));
        let Some(part) = part else {
            let message =
                format!("`{}` cannot be written into `skillpkg.toml`: rename it", shown());
            return Err(Error::new(Kind::Usage, "file_unreachable", message));
        };
        parts.push(part);
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_relative_to_the_project() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let project = root.join("a/project");
        std::fs::create_dir_all(project.join("vendor")).unwrap();
        for (file, written) in
            [("a/project/vendor/x", "vendor/x"), ("y.skill.tar.zst", "../../y.skill.tar.zst")]
        {
            std::fs::write(root.join(file), "").unwrap();
            assert_eq!(relative_to(&root.join(file), &project).unwrap(), written);
        }
        std::fs::write(root.join("z"), "").unwrap();
        assert_eq!(relative_to(&root.join("z"), &project).unwrap_err().code, "file_unreachable");
    }

    #[test]
    fn a_text_is_a_path_only_where_it_can_be_nothing_else() {
        assert!(matches!(read("acme/waitlist@1.2"), Ok(Asked::Registry(_))));
        for path in ["./x", "x.skill.tar.zst", "/x", "."] {
            let error = read(path).unwrap_err();
            assert_ne!(error.code, "reference_invalid", "{path}");
        }
        assert_eq!(read("Wait List").unwrap_err().kind, Kind::Usage);
    }
}
