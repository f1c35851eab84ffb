//! Brings one skill into the store and checks it, down to what it runs.

use std::io::Cursor;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::{ContentAddress, Manifest, QualifiedName, Version};
use skillpkg_store::content::{Ingested, Lease, Store, StoreError, Stored};

use super::candidate::{Candidate, vouching};
use super::proven::RESTORE_HINT;
use crate::activation::{self, Checked, found, prose_commands};
use crate::policy::{Before, Policy, Skill, Violation, published, refuse};
use crate::project::{ProjectArchive, Source};
use crate::runner::RunnerSet;
use crate::{Error, Kind, Settings};

/// What every preparation shares.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) settings: Arc<Settings>,
    pub(super) runners: RunnerSet,
    pub(super) policy: Arc<Policy>,
    pub(super) store: Store,
    pub(super) lease: Arc<Lease>,
}

/// Where an archive comes from.
#[derive(Debug, Clone)]
pub(super) enum Archive {
    /// Its bytes, of the digest that was asked for.
    Bytes(Bytes),
    /// A file.
    File(ProjectArchive),
}

/// What a skill is to be, as far as that is known before its archive is read.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub(super) name: Option<QualifiedName>,
    pub(super) version: Option<Version>,
    pub(super) address: Option<ContentAddress>,
    pub(super) archive: Option<ContentAddress>,
    /// The key of the lockfile.
    pub(super) key: Option<KeyId>,
    /// Keys that may vouch for it.
    pub(super) candidates: Vec<Candidate>,
    /// Whether agents are to see it.
    pub(super) visible: bool,
    /// The snapshot of it that agents see now.
    pub(super) seen: Option<ContentAddress>,
    /// The key whose signature over `address` was verified when agents were first shown it.
    pub(super) verified: Option<KeyId>,
    /// What the store holds of it, re-hashed in this run.
    pub(super) held: Option<Held>,
    /// Where it comes from.
    pub(super) source: Source,
    /// When it was published, as its registry says; [`None`] where that is not known.
    pub(super) published: Option<String>,
    /// The snapshot of it that the project has now.
    pub(super) present: Option<ContentAddress>,
}

impl Expected {
    /// Whether the very address was verified with the very key that the lockfile names, and nothing
    /// was learnt of a revocation.
    fn is_verified(&self) -> bool {
        self.verified.is_some()
            && self.verified == self.key
            && self.candidates.iter().all(|one| one.revoked.is_none())
    }

    /// Whether agents see it already, it was re-hashed in this run and found intact, and its
    /// signature was verified before.
    pub(super) fn is_settled(&self) -> bool {
        let is_intact = self.held.as_ref().is_some_and(|held| held.is_intact);
        self.is_verified() && is_intact && self.seen.is_some() && self.seen == self.address
    }
}

/// A snapshot that the store holds, re-hashed in this run.
#[derive(Debug, Clone)]
pub(super) struct Held {
    /// Its manifest and signatures.
    pub(super) stored: Arc<Stored>,
    /// Whether its tree was re-hashed too and is what the manifest says.
    pub(super) is_intact: bool,
}

impl Held {
    /// A snapshot of which the record alone was read.
    pub(super) fn unseen(stored: Stored) -> Self {
        Self { stored: Arc::new(stored), is_intact: false }
    }
}

/// A skill in the store, checked.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    /// Its manifest and signatures.
    stored: Arc<Stored>,
    pub(super) address: ContentAddress,
    /// The archive's digest, where one was read or is known.
    pub(super) archive: ContentAddress,
    pub(super) vouching: Vec<Candidate>,
    /// What an activation found out; [`None`] where agents see this snapshot already or are not to.
    pub(super) checked: Option<Checked>,
    /// What was put right in the tree, as sentences.
    pub(super) repaired: Vec<String>,
    /// Whether the store took anything in.
    pub(super) is_new: bool,
}

impl Prepared {
    /// Its manifest.
    pub(super) fn manifest(&self) -> &Manifest {
        &self.stored.manifest
    }

    /// The public key that the lockfile names.
    pub(super) fn key(&self) -> Option<KeyId> {
        self.vouching.first().map(|candidate| candidate.key.id())
    }
}

/// The snapshot, if it is in the store and whole.
pub(super) fn stored(store: &Store, address: &ContentAddress) -> Result<Option<Stored>, Error> {
    match store.stored(address) {
        // Set aside just now: from here on it is absent.
        Err(StoreError::Damaged { .. }) => Ok(None),
        answer => Ok(answer?),
    }
}

/// Whether a failure means that the archive must be had again.
pub(super) fn is_lost(error: &Error) -> bool {
    matches!(error.code.as_str(), "verification_failed" | "not_found")
}

/// Brings the skill into the store where it is not there, verifies the signature, compares it with
/// what was expected, and does what an activation does short of showing it to agents.
pub(super) fn prepare(
    shared: &Shared,
    expected: &Expected,
    archive: Option<Archive>,
) -> Result<Prepared, Error> {
    let Shared { settings, runners, store, lease, policy } = shared;
    let is_new = archive.is_some();
    let (held, address, digest) = if let Some(archive) = archive {
        let Ingested { address, manifest, envelope, archive } =
            ingest(store, lease, archive, expected.address.as_ref())?;
        (Held::unseen(Stored { manifest, envelope }), address, Some(archive.sha256.address()))
    } else {
        let address = expected.address.ok_or_else(|| lost(expected))?;
        (expected.held.clone().ok_or_else(|| lost(expected))?, address, expected.archive)
    };
    let Held { stored, is_intact } = held;
    let Stored { manifest, envelope } = &*stored;
    compare(expected, manifest, digest.as_ref())?;
    let vouching = if is_new || !expected.is_verified() {
        vouching(
            envelope,
            &manifest.name,
            &manifest.version,
            &address,
            &expected.candidates,
            expected.key.as_ref(),
        )?
    } else {
        // The very address was verified with the very key that the lockfile names, and the manifest
        // was just hashed to that address: nothing is left that a signature could tell.
        let named = |one: &&Candidate| Some(one.key.id()) == expected.key;
        expected.candidates.iter().filter(named).cloned().collect()
    };
    refuse(&forbidden(shared, expected, manifest, &address, &vouching)?)?;
    let mut repaired = Vec::new();
    let checked = match expected.visible {
        true if expected.seen == Some(address) => {
            if !is_intact {
                repaired = activation::intact_tree_at(store, &address, manifest)?.1;
            }
            None
        }
        true => {
            // A new tree is made under the lease of this install; the check re-hashes it.
            store.materialise(lease, manifest)?;
            let checked = activation::check_with(store, manifest, settings, runners)?;
            repaired.clone_from(&checked.repaired);
            found::admit(manifest, &checked.findings)?;
            refuse(&policy.found(manifest, &checked.findings))?;
            Some(checked)
        }
        false => None,
    };
    let archive = digest.ok_or_else(|| lost(expected))?;
    Ok(Prepared { stored, address, archive, vouching, checked, repaired, is_new })
}

/// What the policies forbid of a snapshot that the store has.
fn forbidden(
    shared: &Shared,
    expected: &Expected,
    manifest: &Manifest,
    address: &ContentAddress,
    vouching: &[Candidate],
) -> Result<Vec<Violation>, Error> {
    let Shared { policy, store, .. } = shared;
    if policy.is_empty() {
        return Ok(Vec::new());
    }
    let prose = |manifest: &Manifest| {
        let commands = if policy.reads_prose() { prose_commands(store, manifest) } else { None };
        commands.unwrap_or_default()
    };
    let commands = prose(manifest);
    let keys: Vec<KeyId> = vouching.iter().map(|candidate| candidate.key.id()).collect();
    let other = expected.present.filter(|present| present != address);
    let other = other.filter(|_| policy.compares_versions());
    let present = other.map(|other| stored(store, &other)).transpose()?.flatten();
    let before = present.as_ref().map(|present| prose(&present.manifest)).unwrap_or_default();
    let skill = Skill {
        manifest,
        from: (&expected.source).into(),
        keys: &keys,
        published: expected.published.as_deref().and_then(published),
        prose_commands: &commands,
        findings: &[],
        before: match (other, &present) {
            (None, _) => Before::Nothing,
            (Some(_), Some(present)) => Before::Version(&present.manifest, &before),
            (Some(_), None) => Before::Lost,
        },
    };
    Ok(policy.violations(&skill, Timestamp::now()))
}

fn ingest(
    store: &Store,
    lease: &Lease,
    archive: Archive,
    wanted: Option<&ContentAddress>,
) -> Result<Ingested, Error> {
    Ok(match archive {
        Archive::Bytes(bytes) => store.ingest(lease, Cursor::new(bytes), wanted)?,
        Archive::File(archive) => store
            .ingest(lease, archive.open()?, wanted)
            .map_err(|error| Error::from(error).in_file(archive.path().to_string_lossy()))?,
    })
}

/// Compares what came with what was asked for: a signature of something else does not stand in.
fn compare(
    expected: &Expected,
    manifest: &Manifest,
    archive: Option<&ContentAddress>,
) -> Result<(), Error> {
    let differs = |what: &str, wanted: String, found: String| {
        let message = format!("asked for {what} `{wanted}` and got `{found}`");
        let error = Error::new(Kind::Verification, "digest_mismatch", message);
        // Of what is locked, the lockfile said what to expect.
        Err(if expected.key.is_some() { error.with_hint(RESTORE_HINT) } else { error })
    };
    if let Some(name) = expected.name.as_ref().filter(|name| **name != manifest.name) {
        return differs("the skill", name.to_string(), manifest.name.to_string());
    }
    if let Some(version) = expected.version.as_ref().filter(|one| **one != manifest.version) {
        let what = format!("the version of `{}`", manifest.name);
        return differs(&what, version.to_string(), manifest.version.to_string());
    }
    if let Some((wanted, found)) = expected.archive.as_ref().zip(archive)
        && wanted != found
    {
        let what = format!("the archive of `{}`", manifest.name);
        return differs(&what, wanted.to_string(), found.to_string());
    }
    Ok(())
}

fn lost(expected: &Expected) -> Error {
    let name =
        expected.name.as_ref().map_or_else(|| "a skill".to_owned(), |name| format!("`{name}`"));
    Error::new(Kind::Failed, "not_found", format!("{name} is not in the store"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillpkg_schema::Sha256Digest;
    use skillpkg_schema::signature::SigningKey;
    use skillpkg_store::pack::{PackOptions, Packing};

    #[test]
    fn what_came_is_exactly_what_was_asked_for_or_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir(at("source")).unwrap();
        let text = "---\nname: first\ndescription: A skill of a test.\n---\n\nRead.\n";
        std::fs::write(at("source/SKILL.md"), text).unwrap();
        let options =
            PackOptions { version: Some("1.0.0".parse().unwrap()), ..PackOptions::default() };
        let packing = Packing::plan(&at("source"), &options).unwrap();
        let keys = [SigningKey::generate().unwrap(), SigningKey::generate().unwrap()];
        let mut bytes = Vec::new();
        packing.write(&packing.sign(&keys[..1]), &mut bytes).unwrap();

        let settings = Settings::new(at("home"), at("user"), at("project"));
        let store = Store::open(&settings.home).unwrap();
        let shared = Shared {
            runners: RunnerSet::configured(&settings).unwrap(),
            settings: Arc::new(settings),
            policy: Arc::default(),
            lease: Arc::new(store.lease().unwrap()),
            store,
        };
        let prepare = |expected: &Expected| {
            prepare(&shared, expected, Some(Archive::Bytes(bytes.clone().into())))
        };
        let candidates = keys.each_ref().map(|key| Candidate {
            key: key.public(),
            account: None,
            revoked: None,
        });
        let open = Expected {
            name: None,
            version: None,
            address: None,
            archive: None,
            key: None,
            candidates: candidates.to_vec(),
            visible: false,
            seen: None,
            verified: None,
            held: None,
            source: Source::File("first.skill.tar.zst".to_owned()),
            published: None,
            present: None,
        };
        let came = prepare(&open).unwrap();
        let right = Expected {
            name: Some("first".parse().unwrap()),
            version: Some("1.0.0".parse().unwrap()),
            address: Some(came.address),
            archive: Some(came.archive),
            key: Some(keys[0].public().id()),
            ..open
        };
        assert_eq!(prepare(&right).unwrap().key(), right.key);
        let other = Some(Sha256Digest::of(b"other").address());
        let [name, version] = ["second", "1.0.1"];
        for (what, wrong) in [
            ("name", Expected { name: Some(name.parse().unwrap()), ..right.clone() }),
            ("version", Expected { version: Some(version.parse().unwrap()), ..right.clone() }),
            ("address", Expected { address: other, ..right.clone() }),
            ("archive", Expected { archive: other, ..right.clone() }),
            ("key", Expected { key: Some(keys[1].public().id()), ..right.clone() }),
            (
                "signer",
                Expected { candidates: candidates[1..].to_vec(), key: None, ..right.clone() },
            ),
        ] {
            assert_eq!(prepare(&wrong).unwrap_err().kind, Kind::Verification, "{what}");
        }
    }
}
