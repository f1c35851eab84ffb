//! Verifies a bundle without installing anything: all of it, against what this machine knows.

use std::path::Path;
use std::sync::Arc;

use skillpkg_schema::QualifiedName;
use skillpkg_schema::bundle::BundledVersion;
use skillpkg_store::archive::{ArchiveError, Bounds, Reader, Sink};
use url::Url;

use super::carried::Carried;
use crate::install::vouched;
use crate::policy::Policy;
use crate::registry::Registry;
use crate::state::Signers;
use crate::trust::{Claim, Found, Notice, Rules, Standing, Standings, Trust, check_keys};
use crate::{Error, Kind, Settings};

/// What is wrong with one part of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The skill and its version, or the registry.
    pub what: String,
    /// What is wrong.
    pub error: Error,
}

/// What came of verifying a bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Versions that were looked at.
    pub checked: usize,
    /// What is wrong with it.
    pub faults: Vec<Fault>,
    /// Versions in it that an advisory forbids, of the bundle's own or as is remembered here.
    pub forbidden: Vec<Fault>,
    /// What is worth telling, such as what else is said against its versions; safe to print.
    pub notices: Vec<String>,
}

/// Verifies everything in a bundle as an install would: the logs against those that are known here,
/// documents, records, archives and signatures. Changes nothing of what is known.
pub async fn verify(settings: &Settings, carried: &Arc<Carried>) -> Result<Verified, Error> {
    let look = settings.clone().with_bundle(Arc::clone(carried), false);
    let trust = Trust::looking(&look, Rules::of(&Policy::of_user(settings)?));
    let standings = Standings::read(&settings.home)?;
    let mut verified = Verified::default();
    for (url, held) in carried.registries() {
        let registry = Registry::chosen(&look, &look.registry_at(url))?;
        let names: Vec<QualifiedName> =
            held.skills.iter().map(|skill| skill.name.clone()).collect();
        verified.checked += held.skills.iter().map(|skill| skill.versions.len()).sum::<usize>();
        let documents = match trust.documents(&registry, &names).await {
            Ok(asked) => {
                verified.notices.extend(asked.notices.into_iter().map(Notice::into_text));
                asked.documents
            }
            Err(error) => {
                verified.faults.push(Fault { what: held.url.clone(), error });
                continue;
            }
        };
        for found in &documents {
            let shelf = registry.shelf();
            let versions = shelf.map_or(&[][..], |shelf| shelf.versions(&found.document.name));
            for one in versions {
                let (name, number) = (&found.document.name, &one.version);
                let what = format!("{name}@{number}");
                if let Err(error) = version(&trust, carried, &registry, found, one).await {
                    verified.faults.push(Fault { what, error });
                    continue;
                }
                let held = Standing::in_document(&found.document, number);
                let standing = held.with(standings.of(url, name, number));
                match standing.check(name, number) {
                    Err(error) => verified.forbidden.push(Fault { what, error }),
                    Ok(()) => verified.notices.extend(standing.told(name, number)),
                }
            }
        }
    }
    Ok(verified)
}

/// Verifies one version that a bundle holds: its record, its archive, its signatures.
async fn version(
    trust: &Trust<'_>,
    carried: &Carried,
    registry: &Registry,
    found: &Found,
    held: &BundledVersion,
) -> Result<(), Error> {
    let (document, version) = (&found.document, &held.version);
    let not_listed = || not_listed(carried.path(), &format!("{}@{version}", document.name));
    let entry = document.version(version).ok_or_else(not_listed)?;
    check_keys(document, entry)?;
    let view = found.view.clone().ok_or_else(not_listed)?;
    // Whoever reads the index alone takes these for what they are of.
    for (what, is_same) in [
        ("archive", held.archive == entry.archive),
        ("log", held.origin == view.origin()),
        ("proof", Some(held.proof.index) == entry.log_index),
    ] {
        if !is_same {
            let message = format!(
                "the bundle's index names another {what} of `{}@{version}` than its document",
                document.name
            );
            return Err(Error::new(Kind::Verification, "bundle_index", message)
                .in_file(carried.path().to_string_lossy()));
        }
    }
    trust.proofs(registry, &[(view, Claim::of(document, entry))]).await?;
    let bytes = registry.archive(&entry.archive, entry.size).await?;
    archive(&bytes, registry.url(), document, entry)
}

fn not_listed(path: &Path, what: &str) -> Error {
    let message = format!("the bundle holds `{what}`, which its document does not list");
    Error::new(Kind::Verification, "record_mismatch", message).in_file(path.to_string_lossy())
}

/// Reads an archive to its end, and holds it and its signatures against what its document says.
pub(super) fn archive(
    bytes: &[u8],
    url: &Url,
    document: &skillpkg_schema::wire::Document,
    entry: &skillpkg_schema::wire::VersionEntry,
) -> Result<(), Error> {
    let refused = |error: ArchiveError| {
        let error = Error::from(error);
        Error {
            message: format!("{}@{}: {}", document.name, entry.version, error.message),
            ..error
        }
    };
    let reader = Reader::open(bytes, Bounds::default()).map_err(refused)?;
    let (manifest, envelope) = (reader.manifest().clone(), reader.envelope().clone());
    reader.unpack(&mut Nothing).map_err(refused)?;
    if manifest.name != document.name
        || manifest.version != entry.version
        || manifest.address() != entry.address
    {
        let message = format!(
            "the archive of `{}@{}` holds `{}@{}`, {}",
            document.name,
            entry.version,
            manifest.name,
            manifest.version,
            manifest.address()
        );
        return Err(Error::new(Kind::Verification, "digest_mismatch", message));
    }
    vouched(&envelope, document, entry, url, &Signers::default())
}

/// Keeps nothing: what is left unread is read and checked all the same.
struct Nothing;

impl Sink for Nothing {
    fn file(
        &mut self,
        _: &skillpkg_schema::manifest::FileEntry,
        _: &mut dyn std::io::Read,
    ) -> std::io::Result<()> {
        Ok(())
    }
}
