//! `skillpkg show`.

use std::fmt::Write as _;

use serde::Serialize;
use skillpkg::install::{self, PickError, found_in};
use skillpkg::registry::Registry;
use skillpkg::settings::registry_text;
use skillpkg::trust::{self, Standing};
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::finding::FindingCount;
use skillpkg_schema::limits::MAX_SKILL_FILE_BYTES;
use skillpkg_schema::signature::{KeyId, PublicKey, verify_release};
use skillpkg_schema::wire::{Advisory, DeletedVersion, Document, Effect, VersionEntry};
use skillpkg_schema::{Reference, Requirement, SkillPath};

use crate::candidates;
use crate::commands::found::counted;
use crate::commands::inspection::Inspection;
use crate::commands::{absent, inspect};
use crate::context::Context;

/// Tell everything known about one skill.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg show waitlist@1.2")]
pub(crate) struct Arguments {
    /// The skill, `[scope/]name[@requirement]`
    #[arg(add = candidates::installed())]
    reference: String,
}

/// Who signed a version.
#[derive(Debug, Serialize)]
struct Signer {
    account: Option<String>,
    key: KeyId,
    /// Whether the registry has the private key, and signed for the account.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    held: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A version, with the ids of the advisories that are about it.
#[derive(Debug, Serialize)]
struct ShownVersion<'a> {
    #[serde(flatten)]
    entry: &'a VersionEntry,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    forbidden_by: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warned_of_by: Vec<&'a str>,
}

impl<'a> ShownVersion<'a> {
    fn of(document: &'a Document, entry: &'a VersionEntry) -> Self {
        let about = |effect: Effect| {
            let covers = document.advisories.iter().filter(|one| one.covers(&entry.version));
            covers.filter(|one| one.effect == effect).map(|one| one.id.as_str()).collect()
        };
        let (forbidden_by, warned_of_by) = (about(Effect::Forbid), about(Effect::Warn));
        Self { entry, forbidden_by, warned_of_by }
    }

    fn line(&self) -> String {
        let Self { entry, forbidden_by, warned_of_by } = self;
        let mut line = format!("{}  {}", entry.version, escape(&entry.published));
        for (what, ids) in
            [("forbidden by advisory", forbidden_by), ("warned of by advisory", warned_of_by)]
        {
            if !ids.is_empty() {
                let _ = write!(line, "  {what} {}", escape(&ids.join(", ")));
            }
        }
        if let Some(yank) = &entry.yanked {
            let _ = write!(line, "  yanked: {}", escape(&yank.reason));
        }
        line
    }
}

#[derive(Debug, Serialize)]
struct Shown<'a> {
    registry: &'a str,
    private: bool,
    published: &'a str,
    archive: String,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    yanked: Option<&'a str>,
    /// What advisories say of the version.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    advisories: &'a [Advisory],
    signers: Vec<Signer>,
    versions: Vec<ShownVersion<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    deleted: &'a [DeletedVersion],
    /// How much is worth an eye of each kind, as the registry says.
    #[serde(skip_serializing_if = "Option::is_none")]
    finding_counts: Option<&'a [FindingCount]>,
    #[serde(flatten)]
    inspection: Inspection,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let reference: Reference = arguments.reference.parse().map_err(
        |error: skillpkg_schema::reference::ReferenceError| {
            Error::new(Kind::Usage, "invalid_reference", error.to_string())
        },
    )?;
    let registry = Registry::for_settings(&context.settings, &reference.name)?;
    let (document, notices) =
        trust::document(&context.settings, &registry, &reference.name).await?;
    context.output.tell_all(&notices);
    let Some(document) = document else {
        return Err(absent::skill(&registry, &reference.name).await);
    };
    let entry = pick(&document, reference.requirement.as_ref())?;
    let (manifest, envelope) =
        tokio::try_join!(registry.manifest(&entry.address), registry.signatures(&entry.address))?;
    if manifest.name != document.name || manifest.version != entry.version {
        let message = format!(
            "the manifest at {} is that of {} {}, not of {} {}",
            entry.address, manifest.name, manifest.version, document.name, entry.version
        );
        return Err(Error::new(Kind::Verification, "answer_mismatch", message));
    }
    // A manifest lists the files, and `SKILL.md` alone what it includes.
    let skill_file =
        manifest.file(SkillPath::skill_file().as_str()).map(|entry| entry.sha256.address());
    let keys: Vec<PublicKey> =
        document.keys.iter().filter_map(|key| PublicKey::from_pem(&key.pem).ok()).collect();
    let signed = verify_release(&envelope, &document.name, &entry.version, &entry.address, &keys)
        .map_err(|error| {
        Error::new(Kind::Verification, "signature_refused", error.to_string())
    })?;
    let skill_file = match skill_file {
        Some(address) => Some(registry.blob(&address, MAX_SKILL_FILE_BYTES).await?),
        None => None,
    };
    let mut inspection = Inspection::of(manifest, skill_file.as_deref().unwrap_or_default())?;
    if let Some(bytes) = &skill_file {
        inspect::add_skill_file(&mut inspection, bytes)?;
    }
    inspection.findings = found_in(&context.settings, &entry.address)?;
    let signers: Vec<Signer> = signed.into_iter().map(|key| signer(&document, key)).collect();
    let standing = Standing::in_document(&document, &entry.version);
    let shown = Shown {
        registry: registry_text(registry.url()),
        private: document.private,
        published: &entry.published,
        archive: entry.archive.to_string(),
        size: entry.size,
        yanked: entry.yanked.as_ref().map(|yank| yank.reason.as_str()),
        advisories: &standing.advisories,
        signers,
        versions: document
            .versions
            .iter()
            .map(|entry| ShownVersion::of(&document, entry))
            .collect(),
        deleted: &document.deleted,
        finding_counts: entry.findings.as_deref(),
        inspection,
    };
    context.output.text(&text(&shown))?;
    context.output.json(&shown)?;
    Ok(0)
}

fn signer(document: &Document, key: KeyId) -> Signer {
    let known = document.keys.iter().find(|one| one.id == key);
    Signer {
        account: known.map(|one| one.account.clone()),
        key,
        held: known.is_some_and(|one| one.held),
        revoked: known.and_then(|one| one.revoked.clone()),
        reason: known.and_then(|one| one.reason.clone()),
    }
}

/// The version that would be installed. What is shown is not installed: where nothing else will do,
/// a pre-release or a yanked one is shown, and said to be one.
pub(crate) fn pick<'a>(
    document: &'a Document,
    requirement: Option<&Requirement>,
) -> Result<&'a VersionEntry, Error> {
    let error = match install::pick(document, requirement.unwrap_or(&Requirement::Latest)) {
        Ok(entry) => return Ok(entry),
        Err(error) => error,
    };
    let version = match &error {
        PickError::PreReleases { newest, .. } => Some(newest),
        PickError::Yanked { version, .. } | PickError::Forbidden { version, .. } => Some(version),
        _ => None,
    };
    version
        .and_then(|version| document.version(version))
        .ok_or_else(|| Error { hint: None, ..error.into() })
}

fn text(shown: &Shown<'_>) -> String {
    let mut text = shown.inspection.text();
    let counts = shown.finding_counts.unwrap_or_default();
    if shown.inspection.findings.is_none() && !counts.is_empty() {
        let counts = counted(counts);
        let _ = write!(text, "\n\nFindings\n  {counts}; each is shown before it is installed");
    }
    let _ = write!(text, "\n\nRegistry\n  {}", shown.registry);
    if shown.private {
        text.push_str(" (private)");
    }
    let published = escape(shown.published);
    let _ = write!(text, "\n  published {published}, archive of {} bytes", shown.size);
    if let Some(reason) = shown.yanked {
        let _ = write!(text, "\n  YANKED: {}", escape(reason));
    }
    for advisory in shown.advisories {
        let what = if advisory.effect == Effect::Forbid { "FORBIDDEN" } else { "WARNING" };
        let (id, summary) = (escape(&advisory.id), escape(&advisory.summary));
        let _ = write!(text, "\n  {what}, advisory {id}: {summary}");
    }
    text.push_str("\n\nSigned by");
    for signer in &shown.signers {
        let account = signer.account.as_deref().map_or_else(|| "nobody known".to_owned(), escape);
        if signer.held {
            let _ = write!(
                text,
                "\n  the registry for {account}, who published with a client that signs nothing, \
                 with key {}",
                signer.key
            );
        } else {
            let _ = write!(text, "\n  {account} with key {}", signer.key);
        }
        if let Some(when) = &signer.revoked {
            let reason = signer.reason.as_deref().map(|reason| format!(": {}", escape(reason)));
            let reason = reason.unwrap_or_default();
            let _ = write!(text, "\n    revoked {}{reason}", escape(when));
        }
    }
    text.push_str("\n\nVersions");
    for version in shown.versions.iter().rev() {
        let _ = write!(text, "\n  {}", version.line());
    }
    for entry in shown.deleted.iter().rev() {
        let reason = escape(&entry.reason);
        let _ = write!(text, "\n  {}  deleted: {reason}", entry.version);
    }
    text
}
