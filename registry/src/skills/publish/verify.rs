//! Verifies an archive as if nobody had before: its bytes, what its files say it is, who signed it.

use std::fs::File;
use std::io::BufReader;

use skillpkg_schema::address::Digests;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::finding::{self, FindingCount};
use skillpkg_schema::limits::MAX_DESCRIPTION_CHARACTERS;
use skillpkg_schema::manifest::verify_derived;
use skillpkg_schema::signature::{Envelope, KeyId, PublicKey, ReleaseError, verify_release};
use skillpkg_schema::skill::{SkillFile, hidden_text};
use skillpkg_schema::wire::Key;
use skillpkg_schema::{Diagnostic, Manifest, Version};
use skillpkg_store::archive::{ArchiveError, Bounds, Reader};
use sqlx::AnyConnection;

use super::receive::{Received, too_large};
use super::staged::Staged;
use super::{Offered, Request};
use crate::accounts::keys::{self, ProvenKey};
use crate::accounts::proof;
use crate::auth::Credential;
use crate::faces::Face;
use crate::faces::rendering::{self, Made, Outcome};
use crate::problem::{Answer, Code, Refusal};

/// The keys that a signature is looked for under.
#[derive(Debug, Clone)]
pub(crate) struct SigningKeys {
    /// Keys that count.
    pub(super) accepted: Vec<PublicKey>,
    /// Keys of the account that count no more.
    pub(super) revoked: Vec<KeyId>,
    /// Whether the one accepted key is yet to be registered: the account has none.
    pub(super) first: bool,
    /// The key that is to be registered, or whose registration has no proof yet.
    pub(super) proven: Option<ProvenKey>,
}

impl SigningKeys {
    /// Just these, of nobody's account.
    pub(crate) fn just(accepted: Vec<PublicKey>) -> Self {
        Self { accepted, revoked: Vec::new(), first: false, proven: None }
    }
}

/// A version of which everything is verified, and whose files are still staged.
#[derive(Debug)]
pub(crate) struct Verified {
    /// What it lists.
    pub(crate) manifest: Manifest,
    /// The manifest's canonical bytes.
    pub(crate) manifest_bytes: Vec<u8>,
    /// The digests of those bytes: the snapshot's addresses.
    pub(crate) manifest_digests: Digests,
    /// The signatures.
    pub(crate) envelope: Envelope,
    /// The digests of the archive's bytes.
    pub(crate) archive_digests: Digests,
    /// The keys whose signatures verified.
    pub(crate) key_ids: Vec<KeyId>,
    /// How much is worth an eye in the files, by kind: derived here, whatever its publisher saw.
    pub(super) findings: Vec<FindingCount>,
    /// What is worth telling whoever publishes.
    pub(super) warnings: Vec<Diagnostic>,
    /// Whether [`Verified::proven`] is to be registered with it, as the account's first.
    pub(super) first: bool,
    /// The key that is to be registered, or whose registration has no proof yet.
    pub(super) proven: Option<ProvenKey>,
    /// The archive as it came.
    pub(super) received: Received,
    /// Its files.
    pub(super) staged: Staged,
    /// What faces serve of it, once [`Verified::render`] made it.
    pub(super) renderings: Vec<Made>,
}

impl Verified {
    /// Makes what these faces serve of it, and tells whoever publishes where one serves nothing.
    ///
    /// Runs on a thread of its own. That of a large one is left to the first request for it.
    pub(super) async fn render(mut self, faces: Vec<Face>) -> Answer<Self> {
        if self.manifest.unpacked_size() > rendering::MOST_AT_ONCE {
            return Ok(self);
        }
        let work = tokio::task::spawn_blocking(move || {
            for face in faces {
                let into = self.received.directory.path();
                let made = rendering::make(&self.staged, &self.manifest, face, into)?;
                match &made.outcome {
                    Outcome::LeftOut(reason) => self.warnings.push(left_out(face, reason)),
                    // Its digest is all that is kept of it until somebody asks for it.
                    Outcome::Container { file, .. } => std::fs::remove_file(file)?,
                }
                self.renderings.push(made);
            }
            Ok(self)
        });
        work.await.map_err(|error| Refusal::internal(&error))?
    }
}

fn left_out(face: Face, reason: &str) -> Diagnostic {
    let message = format!("clients that speak `{face}` are not offered this version: {reason}");
    Diagnostic::warning("face_left_out", message)
}

/// The keys under which a signature by this account counts.
///
/// An account without any key, revoked ones included, is signed for by the key that it offers and
/// shows that it holds: an archive that somebody else signed could be sent by anybody. From then on
/// a token alone cannot bring in another. A proof names the log of this registry by its origin.
pub(super) async fn signing_keys(
    connection: &mut AnyConnection,
    origin: &str,
    credential: &Credential,
    offered: Option<&Offered>,
) -> Answer<SigningKeys> {
    let keys = keys::of_account(&mut *connection, credential.account_id).await?;
    let registered = offered.and_then(|offered| keys.iter().find(|key| key.id == offered.key.id()));
    // One that the registry holds was not brought by the account.
    let first = match offered {
        Some(offered) => {
            keys.iter().all(|key| key.held) && keys.iter().all(|key| key.id != offered.key.id())
        }
        None => keys.is_empty(),
    };
    if first && credential.publisher.is_some() {
        // Else whoever may start a job could choose the key that the account signs with for good.
        let detail = format!(
            "a job registers no key, and `{}` has none: register the one that signs with `skillpkg \
             keys add`, with a token of the account's",
            credential.account
        );
        return Err(Refusal::new(Code::KeyNotRegistered, detail));
    }
    let proven = match offered {
        // Without a proof it stays as it was registered.
        Some(Offered { key, proof })
            if first
                || proof.is_some()
                    && registered.is_some_and(|own| !own.proven && own.revoked.is_none()) =>
        {
            Some(proof::check(*key, proof.clone(), &credential.account, origin)?)
        }
        _ => None,
    };
    if first {
        let accepted: Vec<PublicKey> = proven.iter().map(|proven| proven.key).collect();
        return Ok(SigningKeys { accepted, revoked: Vec::new(), first, proven });
    }
    let revoked = keys.iter().filter(|key| key.revoked.is_some()).map(|key| key.id).collect();
    let accepted = keys
        .iter()
        .filter(|key| key.revoked.is_none())
        .map(public_key)
        .collect::<Answer<Vec<_>>>()?;
    Ok(SigningKeys { accepted, revoked, first, proven })
}

fn public_key(key: &Key) -> Answer<PublicKey> {
    PublicKey::from_pem(&key.pem).map_err(|error| Refusal::internal(&error))
}

/// Verifies what was received; every fault that can be told at once is in the refusal.
///
/// Runs on a thread of its own. Needs disk for the files, at most the unpacked bound.
pub(crate) async fn verify(
    received: Received,
    request: Request,
    keys: SigningKeys,
) -> Answer<Verified> {
    let work = tokio::task::spawn_blocking(move || verify_blocking(received, &request, &keys));
    work.await.map_err(|error| Refusal::internal(&error))?
}

fn verify_blocking(received: Received, request: &Request, keys: &SigningKeys) -> Answer<Verified> {
    let archive = BufReader::with_capacity(64 * 1024, File::open(&received.archive)?);
    let reader = Reader::open(archive, Bounds::default()).map_err(archive_refused)?;
    let (manifest, envelope) = (reader.manifest().clone(), reader.envelope().clone());
    let mut staged = Staged::create(received.directory.path().join("files"))?;
    let archive_digests = reader.unpack(&mut staged).map_err(archive_refused)?;
    let manifest_bytes = manifest.to_bytes();
    let manifest_digests = Digests::of(&manifest_bytes);

    let mut faults = Vec::new();
    identity(&manifest, request, &mut faults);
    described(&manifest, &mut faults);
    // What the manifest claims is what its files say: no tool, script or permission beside them.
    let mut warnings = Vec::new();
    match verify_derived(&staged, &manifest) {
        Ok(derived) => warnings = overridden(&derived.skill.file, &manifest),
        Err(found) => faults.extend(found.into_diagnostics()),
    }
    faults.extend(hidden_text(&staged, manifest.files.iter().map(|file| &file.path))?);
    let findings = finding::find(&staged, manifest.files.iter().map(|file| &file.path))?;
    let signed = verify_release(
        &envelope,
        &manifest.name,
        &manifest.version,
        &manifest_digests.sha256.address(),
        &keys.accepted,
    );
    let refused = signed.as_ref().err().map(|error| signature_refused(error, &envelope, keys));
    match (refused, signed) {
        (None, Ok(key_ids)) if faults.is_empty() => Ok(Verified {
            first: keys.first,
            proven: keys.proven.clone(),
            manifest,
            manifest_bytes,
            manifest_digests,
            envelope,
            archive_digests,
            key_ids,
            findings: findings.counts(),
            warnings,
            received,
            staged,
            renderings: Vec::new(),
        }),
        (Some((code, fault)), _) if faults.is_empty() => {
            Err(Refusal::new(code, fault.message.clone()).with_faults(vec![fault]))
        }
        (refused, _) => {
            faults.extend(refused.map(|(_, fault)| fault));
            let detail = match faults.as_slice() {
                [one] => one.to_string(),
                many => format!("{} faults were found", many.len()),
            };
            Err(Refusal::new(Code::ArchiveRefused, detail).with_faults(faults))
        }
    }
}

/// The name and the version of the path are the manifest's, so that no signature for one stands
/// under another.
fn identity(manifest: &Manifest, request: &Request, faults: &mut Vec<Diagnostic>) {
    if manifest.name != request.name {
        let message =
            format!("the archive is of `{}`, and was sent as `{}`", manifest.name, request.name);
        faults.push(Diagnostic::error("name_mismatch", message));
    }
    if manifest.version != request.version {
        let message = format!(
            "the archive is of version {}, and was sent as {}",
            manifest.version, request.version
        );
        faults.push(Diagnostic::error("version_mismatch", message));
    }
}

/// Tells where the name or the version is another than `SKILL.md` says, as whoever signs may choose
/// with `--name` and `--version`.
fn overridden(file: &SkillFile, manifest: &Manifest) -> Vec<Diagnostic> {
    let warning = |code, what: &str, said: &str, published: &str| {
        let said = escape(said);
        let message = format!("the {what} in `SKILL.md` is `{said}`; published is `{published}`");
        Diagnostic::warning(code, message).in_file("SKILL.md").with_hint(format!(
            "whoever reads the file sees `{said}`: change it there for the next version, unless \
             another was meant"
        ))
    };
    let mut warnings = Vec::new();
    let name = manifest.name.name().as_str();
    if !file.name.is_empty() && file.name != name {
        warnings.push(warning("name_overridden", "name", &file.name, name));
    }
    if let Some(said) = &file.version
        && Version::parse_lenient(said).ok().as_ref() != Some(&manifest.version)
    {
        let published = manifest.version.to_string();
        warnings.push(warning("version_overridden", "version", said, &published));
    }
    warnings
}

fn described(manifest: &Manifest, faults: &mut Vec<Diagnostic>) {
    let length = manifest.description.chars().count();
    if length > MAX_DESCRIPTION_CHARACTERS {
        let message = format!(
            "the description is {length} characters long; a registry takes \
             {MAX_DESCRIPTION_CHARACTERS}"
        );
        let fault = Diagnostic::error("description_too_long", message);
        let hint = "say what it is for, and when, in a few sentences; the rest is for the body";
        faults.push(fault.in_file("SKILL.md").with_hint(hint));
    }
}

fn archive_refused(error: ArchiveError) -> Refusal {
    match error {
        // Not the archive's fault: the file that was received, or the disk beneath it.
        ArchiveError::Io(error) => error.into(),
        ArchiveError::TooLong(_) => too_large(),
        error => {
            let message = error.to_string();
            let fault = Diagnostic::error(error.code(), message.clone());
            Refusal::new(Code::ArchiveRefused, message).with_faults(vec![fault])
        }
    }
}

fn signature_refused(
    error: &ReleaseError,
    envelope: &Envelope,
    keys: &SigningKeys,
) -> (Code, Diagnostic) {
    let code = match error {
        ReleaseError::UnknownKey(_)
            if envelope.key_ids().any(|signer| keys.revoked.contains(&signer)) =>
        {
            Code::KeyRevoked
        }
        ReleaseError::UnknownKey(_) => Code::KeyNotRegistered,
        _ => Code::SignatureRefused,
    };
    let hint = match code {
        Code::KeyRevoked => "sign with a key that is not revoked; `skillpkg keys list` shows them",
        Code::KeyNotRegistered if keys.first => {
            "an account's first publish offers its public key in the header `skillpkg-public-key`, and shows in `skillpkg-key-proof` that the account holds it"
        }
        Code::KeyNotRegistered => "`skillpkg keys add` registers another key of the account",
        _ => "sign this very version: `skillpkg publish` does",
    };
    (code, Diagnostic::error(code.text(), error.to_string()).with_hint(hint))
}
