//! `skillpkg diff`.

use std::path::Path;

use skillpkg::difference::{self, Difference, Side};
use skillpkg::registry::Registry;
use skillpkg::trust::{self, Notice};
use skillpkg::{Error, Kind, Settings};
use skillpkg_schema::diagnostic::{escape, nearest};
use skillpkg_schema::reference::ReferenceError;
use skillpkg_schema::wire::Document;
use skillpkg_schema::{ContentAddress, QualifiedName, Reference, Requirement};

use crate::commands::cat::{locked, looks_like_address};
use crate::commands::subject::{directory_of, installed, tell_of_directory};
use crate::commands::{absent, exact_version, show};
use crate::context::Context;

/// Tell what changes between two skills, or two versions of one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg diff waitlist waitlist@2.0.0

Each is a version (`waitlist@1.2.0`), an installed skill (`waitlist`), an address, a directory (`./waitlist`) or \
an archive. What a skill may do and ask for is told first, then its files: prose with what is gone \
in [-…-] and what is new in {+…+}, all else as lines.")]
pub(crate) struct Arguments {
    /// The one before
    before: String,
    /// The one after
    after: String,
    /// Tell no text of files
    #[arg(long)]
    summary: bool,
    /// Exit with 6 where they differ
    #[arg(long)]
    exit_code: bool,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let Arguments { before, after, summary, exit_code } = arguments;
    let before = side(context, &before).await?;
    let after = side(context, &after).await?;
    let mut difference = Difference::of(&before, &after)?;
    if summary {
        for file in &mut difference.files {
            file.hunks.clear();
        }
        context.output.text(&difference::summary(&difference).join("\n"))?;
    } else {
        context.output.text(&difference::lines(&difference).join("\n"))?;
    }
    context.output.json(&difference)?;
    Ok(if exit_code && !difference.same { Kind::Drift.exit_code() } else { 0 })
}

/// What `what` means: an address, a directory or a file that is there, an installed skill, else a
/// version of a registry.
async fn side(context: &Context, what: &str) -> Result<Side, Error> {
    let settings = &context.settings;
    if looks_like_address(what) {
        let address = what
            .parse::<ContentAddress>()
            .map_err(|error| Error::new(Kind::Usage, "invalid_address", error.to_string()))?;
        return match Side::snapshot(settings, &address)? {
            Some(side) => Ok(side),
            None => of_address(context, &address).await,
        };
    }
    let path = Path::new(what);
    let directory = directory_of(path);
    let installed = installed(context);
    if let Some(address) = installed.as_ref().ok().and_then(|all| all.get(what))
        && let Some(side) = Side::snapshot(settings, address)?
    {
        tell_of_directory(context, what);
        return Ok(side);
    }
    if directory != path || path.join("SKILL.md").exists() {
        return Side::directory(directory);
    }
    if path.is_file() {
        return Side::archive(settings, path);
    }
    let installed = installed?;
    if path.is_dir() {
        return Side::directory(path);
    }
    let reference: Reference = what.parse().map_err(|error: ReferenceError| {
        let error = Error::new(Kind::Usage, "invalid_reference", error.to_string());
        error.with_hint("name a version, an installed skill, an address, a directory or an archive")
    })?;
    // A whole version is that one, and not whatever is newer and compatible.
    let exact = exact_version::read(what)
        .ok()
        .and_then(|(_, one)| format!("={one}").parse::<Requirement>().ok());
    let Reference { name, requirement } = reference;
    let (name, requirement) = (&name, &exact.or(requirement));
    if let Some(Requirement::Address(address)) = requirement {
        return match Side::snapshot(settings, address)? {
            Some(side) => Ok(side),
            None => of_address(context, address).await,
        };
    }
    // What is locked and will do is here, and no registry need be there for it.
    if requirement.is_some()
        && let Some(address) = locked(context, name, requirement.as_ref())?
        && let Some(side) = Side::snapshot(settings, &address)?
    {
        return Ok(side);
    }
    let names = installed.keys().map(String::as_str);
    let near = nearest(what, names).map(str::to_owned);
    let registry = Registry::for_settings(settings, name).map_err(|error| match &near {
        Some(near) if requirement.is_none() => {
            let message = format!("`{}` is neither there nor installed", escape(what));
            let error = Error::new(Kind::Failed, "not_found", message);
            error.with_hint(format!("did you mean `{near}`?"))
        }
        _ => error,
    })?;
    let mut notices = Vec::new();
    let side = of_version(settings, &registry, name, requirement.as_ref(), &mut notices).await;
    context.output.tell_all(&notices);
    side
}

/// The version of a registry that a requirement picks.
pub(crate) async fn of_version(
    settings: &Settings,
    registry: &Registry,
    name: &QualifiedName,
    requirement: Option<&Requirement>,
    notices: &mut Vec<Notice>,
) -> Result<Side, Error> {
    let document = document(settings, registry, name, notices).await?;
    let entry = show::pick(&document, requirement)?;
    Side::release(settings, registry, &document, entry, notices).await
}

async fn document(
    settings: &Settings,
    registry: &Registry,
    name: &QualifiedName,
    notices: &mut Vec<Notice>,
) -> Result<Document, Error> {
    let (document, told) = trust::document(settings, registry, name).await?;
    notices.extend(told);
    match document {
        Some(document) => Ok(document),
        None => Err(absent::skill(registry, name).await),
    }
}

/// The version of the registry that has this address.
async fn of_address(context: &Context, address: &ContentAddress) -> Result<Side, Error> {
    let settings = &context.settings;
    let message = format!("this machine has nothing with the address {address}");
    let absent = Error::new(Kind::Failed, "not_found", message);
    let Some(choice) = settings.registry.as_ref().filter(|_| !settings.offline) else {
        return Err(absent.with_hint("`--registry` names one that may have it"));
    };
    let registry = Registry::chosen(settings, choice)?;
    let manifest = match registry.manifest(address).await {
        Err(error) if error.code == "not_found" => {
            return Err(absent.with_hint(
                "nor has the registry; `skillpkg show` and `skillpkg inspect` tell the addresses \
                 of a skill",
            ));
        }
        answer => answer?,
    };
    let mut notices = Vec::new();
    let document = document(settings, &registry, &manifest.name, &mut notices).await?;
    let sha256 = manifest.address();
    let entry = document.versions.iter().find(|entry| entry.address == sha256);
    let Some(entry) = entry else {
        let message = format!("no version of `{}` has the address {address}", manifest.name);
        return Err(Error::new(Kind::Failed, "not_found", message));
    };
    let side = Side::release(settings, &registry, &document, entry, &mut notices).await;
    context.output.tell_all(&notices);
    side
}
