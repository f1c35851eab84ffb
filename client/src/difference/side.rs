//! One side of a difference: a skill, read and verified.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use serde::Serialize;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::finding::{Finder, Findings, host_commands};
use skillpkg_schema::limits::MAX_SKILL_FILE_BYTES;
use skillpkg_schema::manifest::FileEntry;
use skillpkg_schema::signature::{Envelope, KeyId, PublicKey, ReleaseError, verify_release};
use skillpkg_schema::skill;
use skillpkg_schema::tree::{DirectoryTree, Tree as _};
use skillpkg_schema::wire::{Document, VersionEntry};
use skillpkg_schema::{ContentAddress, Manifest, QualifiedName, SkillName, SkillPath, Version};
use skillpkg_store::archive::{Bounds, Reader, Sink};
use skillpkg_store::content::{Store, StoreError};
use skillpkg_store::pack::{PackOptions, Packing};

use crate::activation::found;
use crate::keys::vouching_for_files;
use crate::meter::Meter;
use crate::project::io_error;
use crate::registry::Registry;
use crate::state::State;
use crate::trust::{Notice, Places};
use crate::{Error, Kind, Settings};

/// Longest file whose text is compared; a model is shown no longer one at once.
pub(super) const MOST_TEXT: u64 = MAX_SKILL_FILE_BYTES;
/// Most bytes of an archive's files that are kept to be compared.
const MOST_KEPT: u64 = 64 * 1024 * 1024;

/// A key that signed a skill.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Signer {
    /// The key.
    pub key: KeyId,
    /// Whose it is, as the registry says; text from outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Whether the signature was verified with a key that this machine or the registry knows.
    pub verified: bool,
}

/// One side of a difference: a skill, read and verified.
#[derive(Debug)]
pub struct Side {
    /// Its name, as it calls itself.
    pub(super) name: String,
    /// Its version; [`None`] for a directory that has none.
    pub(super) version: Option<Version>,
    /// Its address; [`None`] for a directory, which nobody signed.
    pub(super) address: Option<ContentAddress>,
    /// What it carries.
    pub(super) manifest: Manifest,
    /// Who signed it; [`None`] for a directory.
    pub(super) signers: Option<Vec<Signer>>,
    /// What is worth an eye in its files; [`None`] where nobody could look.
    pub(super) findings: Option<Findings>,
    contents: Contents,
}

/// Where the bytes of a side's files are had.
#[derive(Debug)]
enum Contents {
    Directory(DirectoryTree),
    Store(Store),
    Kept(BTreeMap<SkillPath, Vec<u8>>),
}

impl Side {
    /// A directory, as it would be packed; it need not have a version that could be published.
    pub fn directory(directory: &Path) -> Result<Self, Error> {
        let tree = DirectoryTree::open(directory).map_err(|error| io_error(directory, &error))?;
        let path = SkillPath::skill_file();
        let bytes = tree
            .read(path.as_str(), MAX_SKILL_FILE_BYTES)
            .map_err(|error| io_error(&directory.join(path.as_str()), &error))?;
        let file = skill::parse(&bytes, path.as_str())?;
        let version = file.version.as_deref().and_then(|text| Version::parse_lenient(text).ok());
        let name = file.name.parse::<SkillName>().or_else(|_| "unnamed".parse()).ok();
        let options = PackOptions {
            name: name.map(QualifiedName::from),
            version: version.clone().or_else(|| "0.0.0".parse().ok()),
            allow_secrets: true,
        };
        let packing = Packing::plan(directory, &options)?;
        Ok(Self {
            name: file.name,
            version,
            address: None,
            manifest: packing.manifest().clone(),
            signers: None,
            findings: Some(packing.findings().clone()),
            contents: Contents::Directory(tree),
        })
    }

    /// An archive in a file, every byte of it checked against its manifest, and its signatures
    /// against the keys that this machine knows for its name.
    pub fn archive(settings: &Settings, path: &Path) -> Result<Self, Error> {
        let file = std::fs::File::open(path).map_err(|error| io_error(path, &error))?;
        let shown = path.to_string_lossy();
        let (manifest, envelope, kept, findings) =
            read(file).map_err(|error| error.in_file(&*shown))?;
        let address = manifest.address();
        let signers = known_signers(settings, &manifest, &address, &envelope)
            .map_err(|error| error.in_file(&*shown))?;
        Ok(Self::of(manifest, address, signers, Some(findings), Contents::Kept(kept)))
    }

    /// A snapshot that the store has, its manifest re-hashed just now; [`None`] where the store has
    /// it not, or not whole.
    pub fn snapshot(settings: &Settings, address: &ContentAddress) -> Result<Option<Self>, Error> {
        // Where there is no store, none is made for a question.
        let Some(store) = Store::look(&settings.home)? else { return Ok(None) };
        let stored = match store.stored(address) {
            // Whoever has it elsewhere gives it again.
            Err(StoreError::Damaged { .. }) => None,
            answer => answer?,
        };
        let Some(stored) = stored else { return Ok(None) };
        let (manifest, envelope) = (stored.manifest, stored.envelope);
        let address = manifest.address();
        let signers = known_signers(settings, &manifest, &address, &envelope)?;
        let findings = found::known(&store, &State::new(&settings.home), &address)?;
        Ok(Some(Self::of(manifest, address, signers, findings, Contents::Store(store))))
    }

    /// A version that a proven document names: out of the store where it is there, else its archive
    /// from the registry, checked byte for byte and against the keys of the document.
    pub async fn release(
        settings: &Settings,
        registry: &Registry,
        document: &Document,
        entry: &VersionEntry,
        notices: &mut Vec<Notice>,
    ) -> Result<Self, Error> {
        let (name, version) = (&document.name, &entry.version);
        if let Some(mut side) = Self::snapshot(settings, &entry.address)? {
            side.is_of(name, version)?;
            for signer in side.signers.iter_mut().flatten() {
                signer.account = account(document, signer.key);
            }
            return Ok(side);
        }
        let places = Places::of(settings, registry)?;
        let bytes =
            places.archive(&entry.archive, entry.size, &Meter::default().part(0), notices).await?;
        let (manifest, envelope, kept, findings) = read(&*bytes)?;
        let address = manifest.address();
        if address != entry.address {
            let message = format!(
                "the archive of `{name}@{version}` holds {address}, and the registry says {}",
                entry.address
            );
            return Err(Error::new(Kind::Verification, "digest_mismatch", message));
        }
        let keys: Vec<PublicKey> =
            document.keys.iter().filter_map(|key| PublicKey::from_pem(&key.pem).ok()).collect();
        let signed = verify_release(&envelope, name, version, &address, &keys).map_err(refused)?;
        let signers = signed.into_iter().map(|key| Signer {
            key,
            account: account(document, key),
            verified: true,
        });
        let signers = signers.collect();
        let side = Self::of(manifest, address, signers, Some(findings), Contents::Kept(kept));
        side.is_of(name, version)?;
        Ok(side)
    }

    fn of(
        manifest: Manifest,
        address: ContentAddress,
        signers: Vec<Signer>,
        findings: Option<Findings>,
        contents: Contents,
    ) -> Self {
        Self {
            name: manifest.name.to_string(),
            version: Some(manifest.version.clone()),
            address: Some(address),
            manifest,
            signers: Some(signers),
            findings,
            contents,
        }
    }

    /// Refuses one that is not what was asked for.
    fn is_of(&self, name: &QualifiedName, version: &Version) -> Result<(), Error> {
        let Manifest { name: found, version: at, .. } = &self.manifest;
        if found == name && at == version {
            return Ok(());
        }
        let message = format!("the registry gave `{found}@{at}` for `{name}@{version}`");
        Err(Error::new(Kind::Verification, "answer_mismatch", message))
    }

    /// `name@version`, safe to print.
    pub fn label(&self) -> String {
        let name = escape(&self.name);
        match &self.version {
            Some(version) => format!("{name}@{version}"),
            None => name,
        }
    }

    /// The bytes of one of its files, checked; [`None`] where the file is too long to be compared.
    pub(super) fn read(&self, entry: &FileEntry) -> Result<Option<Vec<u8>>, Error> {
        if entry.size > MOST_TEXT {
            return Ok(None);
        }
        let bytes = match &self.contents {
            Contents::Kept(kept) => return Ok(kept.get(&entry.path).cloned()),
            Contents::Store(store) => store.read_blob(&entry.sha256.address(), entry.size)?,
            Contents::Directory(tree) => {
                let path = entry.path.as_str();
                let bytes = tree.read(path, entry.size);
                bytes.map_err(|error| io_error(Path::new(path), &error))?
            }
        };
        if entry.sha256.address().matches(&bytes) {
            return Ok(Some(bytes));
        }
        let message = format!("`{}` changed while it was read", entry.path);
        Err(Error::new(Kind::Failed, "file_changed", message).with_hint("run this again"))
    }

    /// The commands in its prose that a host may run when it reads it.
    pub(super) fn prose_commands(&self) -> Result<Vec<String>, Error> {
        let Some(entry) = self.manifest.file(SkillPath::skill_file().as_str()) else {
            return Ok(Vec::new());
        };
        let bytes = self.read(entry)?.unwrap_or_default();
        let commands = host_commands(&String::from_utf8_lossy(&bytes));
        Ok(commands.into_iter().map(|(_, command)| command).collect())
    }
}

fn account(document: &Document, key: KeyId) -> Option<String> {
    document.keys.iter().find(|one| one.id == key).map(|one| one.account.clone())
}

/// Who signed a snapshot, as far as this machine knows the keys. A signature of a known key that
/// does not verify refuses the whole.
fn known_signers(
    settings: &Settings,
    manifest: &Manifest,
    address: &ContentAddress,
    envelope: &Envelope,
) -> Result<Vec<Signer>, Error> {
    let signers = State::new(&settings.home).signers()?;
    let Manifest { name, version, .. } = manifest;
    let keys = vouching_for_files(settings, &signers, name);
    let verified = match verify_release(envelope, name, version, address, &keys) {
        Ok(verified) => verified,
        Err(ReleaseError::UnknownKey(_)) => Vec::new(),
        Err(error) => return Err(refused(error)),
    };
    let signer = |key| Signer { key, account: None, verified: verified.contains(&key) };
    Ok(envelope.key_ids().map(signer).collect())
}

#[expect(clippy::needless_pass_by_value, reason = "handed to `map_err`")]
fn refused(error: ReleaseError) -> Error {
    Error::new(Kind::Verification, "signature_refused", error.to_string())
}

/// What an archive holds: manifest, signatures, the files that are compared, and what was found.
type Unpacked = (Manifest, Envelope, BTreeMap<SkillPath, Vec<u8>>, Findings);

/// Reads an archive to its end.
fn read(input: impl Read) -> Result<Unpacked, Error> {
    let reader = Reader::open(input, Bounds::default())?;
    let (manifest, envelope) = (reader.manifest().clone(), reader.envelope().clone());
    let mut taken = Taken { kept: BTreeMap::new(), room: MOST_KEPT, finder: Finder::new() };
    reader.unpack(&mut taken)?;
    Ok((manifest, envelope, taken.kept, taken.finder.finish()))
}

/// Keeps the files that are compared, and looks into every one.
struct Taken {
    kept: BTreeMap<SkillPath, Vec<u8>>,
    room: u64,
    finder: Finder,
}

impl Sink for Taken {
    fn file(&mut self, entry: &FileEntry, content: &mut dyn Read) -> io::Result<()> {
        if entry.size > MOST_TEXT || entry.size > self.room {
            return self.finder.file(&entry.path, content);
        }
        self.room -= entry.size;
        let mut bytes = Vec::new();
        content.take(MOST_TEXT).read_to_end(&mut bytes)?;
        self.finder.file(&entry.path, &mut bytes.as_slice())?;
        self.kept.insert(entry.path.clone(), bytes);
        Ok(())
    }
}
