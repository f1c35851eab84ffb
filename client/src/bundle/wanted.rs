//! What goes into a bundle, by the registries that have it.

use std::collections::BTreeMap;

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{QualifiedName, Reference};

use super::make::Request;
use crate::install::Attendant;
use crate::project::{LOCK_FILE, LockFile, Locked, ProjectDirectory, Source};
use crate::settings::{RegistryChoice, registry_text};
use crate::{Error, Kind, Settings};

/// One skill that is asked for, and how its version is found.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    Locked(Box<Locked>),
    Named(Reference),
}

impl Wanted {
    pub(super) fn name(&self) -> &QualifiedName {
        match self {
            Self::Locked(locked) => &locked.name,
            Self::Named(reference) => &reference.name,
        }
    }
}

/// What is asked for: by name what is locked where no requirement says otherwise.
pub(super) fn wanted(
    settings: &Settings,
    request: &Request,
    attendant: &mut dyn Attendant,
) -> Result<Vec<Wanted>, Error> {
    let lock = if settings.project.is_dir() {
        ProjectDirectory::open(&settings.project)?.read()?.lock
    } else {
        LockFile::default()
    };
    if !request.references.is_empty() {
        return request.references.iter().map(|text| named(&lock, text)).collect();
    }
    let mut wanted = Vec::new();
    for locked in lock.skills() {
        match &locked.source {
            Source::Registry(_) => wanted.push(Wanted::Locked(Box::new(locked.clone()))),
            Source::File(file) => attendant.warn(&format!(
                "`{}` comes from `{}` and from no registry: it is left out, and travels with the \
                 project",
                locked.name,
                escape(file)
            )),
        }
    }
    if wanted.is_empty() && lock.skills().next().is_some() {
        let message = "every skill that is locked here comes from a file, and none from a registry";
        return Err(Error::new(Kind::Usage, "nothing_to_bundle", message)
            .in_file(LOCK_FILE)
            .with_hint(
                "copy the project with these files, and run `skillpkg sync --frozen` there: nothing \
                 is asked for over a network",
            ));
    }
    if wanted.is_empty() {
        let message = "nothing is locked here, and no skill is named";
        return Err(Error::new(Kind::Usage, "nothing_to_bundle", message)
            .in_file(LOCK_FILE)
            .with_hint("`skillpkg bundle NAME@VERSION` takes what is named"));
    }
    Ok(wanted)
}

fn named(lock: &LockFile, text: &str) -> Result<Wanted, Error> {
    let reference: Reference =
        text.parse().map_err(|error: skillpkg_schema::reference::ReferenceError| {
            Error::new(Kind::Usage, "reference_invalid", error.to_string())
        })?;
    let locked = lock.skill(&reference.name).filter(|_| reference.requirement.is_none());
    if let Some(Source::File(file)) = locked.map(|locked| &locked.source) {
        let (name, file) = (&reference.name, escape(file));
        let message = format!("`{name}` comes from `{file}` here, and from no registry");
        return Err(Error::new(Kind::Usage, "nothing_to_bundle", message).with_hint(format!(
            "copy the project with that file; `skillpkg bundle {name}@VERSION` takes one of that \
             name from a registry"
        )));
    }
    let locked = locked.filter(|locked| locked.source.registry().is_some());
    Ok(locked.map_or(Wanted::Named(reference), |locked| Wanted::Locked(Box::new(locked.clone()))))
}

/// What is asked of each registry, in the order of their URLs.
pub(super) fn by_registry(
    settings: &Settings,
    wanted: Vec<Wanted>,
) -> Result<Vec<(RegistryChoice, Vec<Wanted>)>, Error> {
    let mut sorted: BTreeMap<String, (RegistryChoice, Vec<Wanted>)> = BTreeMap::new();
    for one in wanted {
        let choice = match (settings.registry_for(one.name()), &one) {
            (Err(error), Wanted::Locked(locked)) if error.code == "no_registry" => {
                let url = locked.source.registry().ok_or(error)?;
                settings.registry_at(url)
            }
            (Ok(choice), Wanted::Locked(locked)) => {
                let url = locked.source.registry();
                if let Some(url) =
                    url.filter(|url| registry_text(url) != registry_text(&choice.url))
                {
                    let message = format!(
                        "the lockfile has `{}` from `{}`; here it comes from `{}`",
                        locked.name,
                        registry_text(url),
                        registry_text(&choice.url)
                    );
                    return Err(Error::new(Kind::Refused, "registry_changed", message).with_hint(
                        format!("`--registry {}` uses the one of the lockfile", registry_text(url)),
                    ));
                }
                choice
            }
            (choice, Wanted::Named(_)) => choice?,
            (Err(error), _) => return Err(error),
        };
        let key = registry_text(&choice.url).to_owned();
        sorted.entry(key).or_insert_with(|| (choice, Vec::new())).1.push(one);
    }
    Ok(sorted.into_values().collect())
}
