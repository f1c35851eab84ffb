//! `skillpkg cat`.

use std::io::{self, IsTerminal as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use skillpkg::policy::{Policy, check_content};
use skillpkg::project::ProjectDirectory;
use skillpkg::registry::Registry;
use skillpkg::settings::registry_text;
use skillpkg::trust;
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::{escape, nearest};
use skillpkg_schema::limits::MAX_UNPACKED_BYTES;
use skillpkg_schema::{ContentAddress, Manifest, QualifiedName, Reference, Requirement};
use skillpkg_store::content::{Store, StoreError};

use crate::candidates;
use crate::commands::{absent, show, subject};
use crate::context::Context;
use crate::output;

/// Print exact bytes, verified before they are written.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg cat waitlist SKILL.md")]
pub(crate) struct Arguments {
    /// An address, or a skill, `[scope/]name[@requirement]`
    #[arg(add = candidates::installed())]
    what: String,
    /// The file, where a skill is named
    path: Option<String>,
}

/// What `--json` prints: the content as text where it is UTF-8, and else in base64.
#[derive(Debug, Serialize)]
struct Shape {
    address: ContentAddress,
    size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let store = Store::open(&context.settings.home)?;
    let Arguments { what, path } = arguments;
    if let Ok(address) = what.parse::<ContentAddress>() {
        if path.is_some() {
            let message = "an address names its bytes in full: no path belongs behind it";
            return Err(Error::new(Kind::Usage, "path_unexpected", message));
        }
        let registry = context.settings.registry.as_ref();
        let registry =
            registry.map(|choice| Registry::chosen(&context.settings, choice)).transpose()?;
        return print(context, &store, registry.as_ref(), &address).await;
    }
    if looks_like_address(&what)
        && let Err(error) = what.parse::<ContentAddress>()
    {
        return Err(Error::new(Kind::Usage, "invalid_address", error.to_string()));
    }
    let reference: Reference =
        what.parse().map_err(|error: skillpkg_schema::reference::ReferenceError| {
            Error::new(Kind::Usage, "invalid_reference", error.to_string())
        })?;
    // What agents see under a name of their own goes by that name too.
    let roots = [context.settings.project.as_path(), &context.settings.home.join("global")];
    let name = subject::whole_name(&roots, &reference.name.to_string())?;
    let reference = Reference { name: name.unwrap_or(reference.name), ..reference };
    let Some(path) = path else {
        let message = format!("which file of `{}`?", reference.name);
        return Err(Error::new(Kind::Usage, "path_missing", message)
            .with_hint(format!("`skillpkg cat {} SKILL.md`", reference.name)));
    };
    let registry = Registry::for_settings(&context.settings, &reference.name);
    let (manifest, registry) = if let Some(manifest) = here(context, &store, &reference)? {
        (manifest, registry.ok())
    } else {
        let registry = registry?;
        (there(context, &registry, &reference).await?, Some(registry))
    };
    let entry = manifest.file(&path).ok_or_else(|| no_file(&manifest, &path))?;
    print(context, &store, registry.as_ref(), &entry.sha256.address()).await
}

/// Whether a text is meant as an address: no skill's name holds a colon.
pub(crate) fn looks_like_address(text: &str) -> bool {
    text.split_once(':').is_some_and(|(algorithm, _)| {
        matches!(algorithm.to_ascii_lowercase().as_str(), "sha256" | "blake3")
    })
}

/// The manifest of the skill as this machine has it: what the project or the user locks, or exactly
/// the snapshot that the reference names.
fn here(
    context: &Context,
    store: &Store,
    reference: &Reference,
) -> Result<Option<Manifest>, Error> {
    let address = match &reference.requirement {
        Some(Requirement::Address(address)) => Some(*address),
        requirement => locked(context, &reference.name, requirement.as_ref())?,
    };
    let Some(address) = address else { return Ok(None) };
    let stored = match store.stored(&address) {
        // It was set aside; whoever has it elsewhere gives it again.
        Err(StoreError::Damaged { .. }) => None,
        other => other?,
    };
    Ok(stored.map(|stored| stored.manifest).filter(|manifest| manifest.name == reference.name))
}

/// The snapshot of a skill that the project or the user locks and that will do.
pub(crate) fn locked(
    context: &Context,
    name: &QualifiedName,
    requirement: Option<&Requirement>,
) -> Result<Option<ContentAddress>, Error> {
    for root in [context.settings.project.clone(), context.settings.home.join("global")] {
        if !root.is_dir() {
            continue;
        }
        let lock = ProjectDirectory::open(&root)?.read()?.lock;
        let Some(locked) = lock.skill(name) else { continue };
        if requirement.is_none_or(|wanted| wanted.matches(&locked.version, &locked.address)) {
            return Ok(Some(locked.address));
        }
    }
    Ok(None)
}

/// The manifest of the skill as its registry has it, re-hashed.
async fn there(
    context: &Context,
    registry: &Registry,
    reference: &Reference,
) -> Result<Manifest, Error> {
    let (document, notices) = trust::document(&context.settings, registry, &reference.name).await?;
    context.output.tell_all(&notices);
    let Some(document) = document else {
        return Err(absent::skill(registry, &reference.name).await);
    };
    let entry = show::pick(&document, reference.requirement.as_ref())?;
    let manifest = registry.manifest(&entry.address).await?;
    if manifest.name != reference.name || manifest.version != entry.version {
        let message = format!(
            "the registry gave `{}@{}` for `{}@{}`",
            manifest.name, manifest.version, reference.name, entry.version
        );
        return Err(Error::new(Kind::Verification, "verification_failed", message));
    }
    Ok(manifest)
}

fn no_file(manifest: &Manifest, path: &str) -> Error {
    let message =
        format!("`{}@{}` has no file `{}`", manifest.name, manifest.version, escape(path));
    let error = Error::new(Kind::Failed, "not_found", message);
    match nearest(path, manifest.files.iter().map(|file| file.path.as_str())) {
        Some(near) => error.with_hint(format!("did you mean `{near}`?")),
        None => error.with_hint(format!("`skillpkg inspect {}` lists its files", manifest.name)),
    }
}

/// Prints what has this address: from the store, else from the registry.
async fn print(
    context: &Context,
    store: &Store,
    registry: Option<&Registry>,
    address: &ContentAddress,
) -> Result<u8, Error> {
    let settings = &context.settings;
    let policy = Policy::of_project(settings, &settings.project)?;
    check_content(&policy, settings, &settings.project, store, address)?;
    // A terminal would obey what is in the bytes; there they are shown, and not written as they are.
    let absent = if context.output.json || io::stdout().is_terminal() {
        match store.read_blob(address, MAX_UNPACKED_BYTES) {
            Ok(bytes) => return tell(context, address, &bytes),
            Err(error) => error,
        }
    } else {
        // Verified before anything is written, and in little memory.
        match store.write_blob_to(address, &mut io::stdout().lock()) {
            Ok(_) => {
                let _ = io::stdout().flush();
                return Ok(0);
            }
            Err(error) => error,
        }
    };
    match absent {
        StoreError::Absent(_) | StoreError::Damaged { .. } => {}
        StoreError::Output(error) => return Err(output::closed(&error)),
        other => return Err(other.into()),
    }
    // The address of a snapshot is that of its manifest's bytes.
    if let Ok(Some(stored)) = store.stored(address) {
        let bytes = stored.manifest.to_bytes();
        if address.matches(&bytes) {
            return tell(context, address, &bytes);
        }
    }
    let Some(registry) = registry.filter(|_| !context.settings.offline) else {
        return Err(Error::from(absent).with_hint("`--registry` names one that may have it"));
    };
    let bytes = match registry.blob(address, MAX_UNPACKED_BYTES).await {
        Err(error) if error.code == "not_found" => {
            let manifest = registry.manifest(address).await;
            manifest.map_err(|error| nothing_there(error, registry, address))?.to_bytes()
        }
        other => other?.to_vec(),
    };
    if !address.matches(&bytes) {
        let message = format!("the registry's bytes are not those of {address}");
        return Err(Error::new(Kind::Verification, "digest_mismatch", message));
    }
    tell(context, address, &bytes)
}

/// Where the registry has no such bytes, says which.
fn nothing_there(error: Error, registry: &Registry, address: &ContentAddress) -> Error {
    if error.code != "not_found" {
        return error;
    }
    let url = registry_text(registry.url());
    let message = format!("{url} has nothing with the address {address} that you may read");
    Error { message, ..error }
        .with_hint("`skillpkg show` and `skillpkg inspect` tell the addresses of a skill")
}

fn tell(context: &Context, address: &ContentAddress, bytes: &[u8]) -> Result<u8, Error> {
    let text = std::str::from_utf8(bytes).ok();
    if context.output.json {
        let base64 = text.is_none().then(|| STANDARD.encode(bytes));
        let (text, size) = (text.map(str::to_owned), bytes.len());
        context.output.json(&Shape { address: *address, size, text, base64 })?;
        return Ok(0);
    }
    match text {
        _ if !io::stdout().is_terminal() => context.output.streams(bytes, b"")?,
        Some(text) => context.output.exact(text)?,
        None => {
            let message = format!("{address} is {} bytes that are no text", bytes.len());
            return Err(Error::new(Kind::Usage, "not_text", message)
                .with_hint("send them to a file: `skillpkg cat … > FILE`"));
        }
    }
    Ok(0)
}
