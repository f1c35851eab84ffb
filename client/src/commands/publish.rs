//! `skillpkg publish`.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Serialize;
use skillpkg::keys::StoredKey;
use skillpkg::keys::proof::{self, Proof};
use skillpkg::registry::Registry;
use skillpkg::settings::registry_text;
use skillpkg::trust::{check_log, is_falsified};
use skillpkg::unfinished::{self, Readers};
use skillpkg::{Error, Kind, keys};
use skillpkg_schema::address::Digests;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::manifest::FileEntry;
use skillpkg_schema::signature::{Envelope, KeyId, PublicKey, SigningKey, verify_release};
use skillpkg_schema::wire::PublishAnswer;
use skillpkg_schema::{Diagnostic, Manifest};
use skillpkg_store::archive::Sink;

use crate::commands::found::counted;
use crate::commands::packing::{self, ShownArchive};
use crate::commands::rehearsal::{self, Outcome, Release};
use crate::commands::signing::{opened, signing_keys};
use crate::commands::{PackingArguments, account, packed};
use crate::context::Context;

/// Check, pack, sign and upload a skill.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg publish examples/waitlist")]
pub(crate) struct Arguments {
    #[command(flatten)]
    packing: PackingArguments,
    /// Do everything but upload, and ask the registry whether it would take it
    #[arg(long)]
    dry_run: bool,
}

/// A signed archive, ready to go.
struct Ready {
    manifest: Manifest,
    archive: Digests,
    file: PathBuf,
    /// The keys of this machine among those that signed it.
    signers: Vec<Signer>,
    /// Keeps the file of a directory's archive until it is sent.
    _temporary: Option<tempfile::NamedTempFile>,
}

/// A key that signed, opened only where it must be.
struct Signer {
    public: PublicKey,
    key: StoredKey,
}

impl From<SigningKey> for Signer {
    fn from(key: SigningKey) -> Self {
        Self { public: key.public(), key: StoredKey::Open(key) }
    }
}

#[derive(Serialize)]
struct Published {
    #[serde(flatten)]
    archive: ShownArchive,
    registry: Option<String>,
    log_index: Option<u64>,
    created: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_registered: Option<KeyId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Diagnostic>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
    /// Of a dry run: whether the registry was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<bool>,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let source = packing::source(&arguments.packing);
    let ready = if source.is_file() {
        from_archive(context, &arguments.packing, &source)?
    } else {
        from_directory(context, &arguments.packing, &source)?
    };
    let archive = ShownArchive::new(&ready.manifest, &ready.archive, &source);
    let (name, version) = (&ready.manifest.name, &ready.manifest.version);
    let keys: Vec<PublicKey> = ready.signers.iter().map(|signer| signer.public).collect();
    context.output.talk(&packing::tell(&ready.manifest));
    if arguments.dry_run {
        let release = Release { manifest: &ready.manifest, address: archive.address, keys: &keys };
        let outcome = rehearsal::ask(context, &release).await?;
        let registry = context.settings.registry_for(name).ok();
        let registry = registry.map(|choice| registry_text(&choice.url).to_owned());
        let asked = match outcome {
            Outcome::Ready(told) => {
                let ready = format!("{name} {version} is ready to publish, and nothing was sent.");
                context.output.talk(&format!("{ready}\n{told}."));
                true
            }
            Outcome::NotAsked(reason) => {
                context.output.talk(&format!(
                    "{name} {version} is packed and signed, and nothing was sent. Whether it may \
                     be published was not asked: {reason}."
                ));
                false
            }
        };
        let (log_index, created, key_registered, dry_run) = (None, false, None, true);
        context.output.json(&Published {
            archive,
            registry,
            log_index,
            created,
            key_registered,
            warnings: Vec::new(),
            dry_run,
            asked: Some(asked),
        })?;
        return Ok(0);
    }
    let registry = Registry::for_settings(&context.settings, name)?;
    let url = registry_text(registry.url()).to_owned();
    if !registry.has_token() {
        let message = format!("publishing needs a token, and there is none for {url}");
        return Err(Error::new(Kind::Refused, "unauthorized", message).with_hint(format!(
            "`skillpkg login --registry {url}` keeps one; its operator makes one with \
             `skillpkg-registry user add`"
        )));
    }
    let registry = account::checked(context, registry).await?;
    let proof = prove(context, &registry, &ready.signers).await?;
    let envelope = proof.as_ref().map(|(_, proof)| &proof.envelope);
    let offered = proof.as_ref().map(|(key, _)| key).or(keys.first());
    let answer = registry.publish(name, version, &ready.file, offered, envelope).await?;
    if answer.address != archive.address || answer.version != *version {
        let message = format!(
            "the registry at `{url}` says that it published {} {}, which is not what was sent",
            answer.version, answer.address
        );
        return Err(Error::new(Kind::Verification, "answer_mismatch", message));
    }
    remember(context, &registry, &answer).await?;
    tell(context, &answer, &url, proof.as_ref().map(|(_, proof)| proof), &keys);
    context.output.json(&Published {
        archive: ShownArchive { archive: answer.archive, size: answer.size, ..archive },
        registry: Some(url),
        log_index: answer.log_index,
        created: answer.created,
        key_registered: answer.key_registered,
        warnings: answer.warnings,
        dry_run: false,
        asked: None,
    })?;
    Ok(0)
}

/// Remembers what the registry's log is once it has the release, so that one which is set back to
/// before it is found out.
async fn remember(
    context: &Context,
    registry: &Registry,
    answer: &PublishAnswer,
) -> Result<(), Error> {
    let PublishAnswer { name, version, .. } = answer;
    match check_log(&context.settings, registry).await {
        Ok(notices) => context.output.tell_all(&notices),
        Err(error) if is_falsified(&error) || error.kind == Kind::Refused => {
            let message = format!("{name} {version} was published, and then: {}", error.message);
            return Err(Error { message, ..error });
        }
        Err(error) => context
            .output
            .warn(&format!("what the log shows since is not remembered here: {}", error.message)),
    }
    Ok(())
}

/// What shows the registry that the account holds one of the keys, where it does not know that yet.
async fn prove(
    context: &Context,
    registry: &Registry,
    signers: &[Signer],
) -> Result<Option<(PublicKey, Proof)>, Error> {
    for signer in signers {
        if proof::is_needed(registry, &signer.public.id()).await? {
            let key = opened(context, signer.key.clone())?;
            let (proof, notices) = proof::make(&context.settings, registry, &key).await?;
            context.output.tell_all(&notices);
            return Ok(Some((signer.public, proof)));
        }
    }
    Ok(None)
}

fn tell(
    context: &Context,
    answer: &PublishAnswer,
    url: &str,
    proof: Option<&Proof>,
    keys: &[PublicKey],
) {
    let output = context.output;
    output.warn_all(&answer.warnings);
    if !answer.findings.is_empty() {
        let counts = counted(&answer.findings);
        output
            .talk(&format!("Whoever installs it is shown what was found in its files: {counts}."));
    }
    if let Some(key) = &answer.key_registered {
        let whose = proof.map_or_else(String::new, |proof| {
            format!(" `{}` at the registry {}", escape(&proof.account), escape(&proof.registry))
        });
        output.talk(&format!(
            "Registered key {} with your account{whose}: it was the account's first publish. A \
             further key needs `skillpkg keys add`.",
            key.short()
        ));
        for other in keys.iter().map(PublicKey::id).filter(|other| other != key) {
            output.warn(&format!(
                "key {} is not registered, and its signature counts for nothing there",
                other.short()
            ));
        }
    }
    let (name, version) = (&answer.name, &answer.version);
    if answer.created {
        output.talk(&format!("Published {name} {version} to {url} as {}.", answer.address));
    } else {
        output.talk(&format!(
            "{name} {version} was at {url} already, with exactly this content: nothing changed."
        ));
    }
}

fn from_directory(
    context: &Context,
    arguments: &PackingArguments,
    directory: &Path,
) -> Result<Ready, Error> {
    let plan = packing::plan(context, directory, &packing::options(arguments)?)?;
    let keys = signing_keys(context, &arguments.keys)?;
    // Its owner's alone: what goes to a private scope is not for others on this machine.
    let temporary = std::env::temp_dir();
    let mut file = unfinished::create(&temporary, Readers::Owner)
        .map_err(|error| packing::not_written(&temporary, &error))?;
    let archive = packing::write(&plan, &keys, &mut file)?;
    Ok(Ready {
        manifest: plan.manifest().clone(),
        archive,
        file: file.path().to_path_buf(),
        signers: keys.into_iter().map(Signer::from).collect(),
        _temporary: Some(file),
    })
}

/// An archive is published as it was packed: its name, version and signature are in it.
fn from_archive(
    context: &Context,
    arguments: &PackingArguments,
    file: &Path,
) -> Result<Ready, Error> {
    let options = packing::options(arguments)?;
    let read = packed::read(file, &mut Nothing)?;
    let manifest = read.manifest;
    let differs = options.name.is_some_and(|name| name != manifest.name)
        || options.version.is_some_and(|version| version != manifest.version);
    if differs {
        let message = format!(
            "the archive is signed as {} {}, and stays so",
            manifest.name, manifest.version
        );
        return Err(Error::new(Kind::Usage, "archive_named", message)
            .with_hint("pack its directory again with `--name` and `--version`"));
    }
    let signers = signers_here(context, &arguments.keys, &read.envelope)?;
    if !signers.is_empty() {
        let (name, version) = (&manifest.name, &manifest.version);
        let keys: Vec<PublicKey> = signers.iter().map(|signer| signer.public).collect();
        verify_release(&read.envelope, name, version, &manifest.address(), &keys).map_err(
            |error| {
                Error::new(Kind::Verification, "signature_refused", error.to_string())
                    .in_file(file.to_string_lossy())
            },
        )?;
    }
    let file = file.to_path_buf();
    Ok(Ready { manifest, archive: read.archive, file, signers, _temporary: None })
}

/// The keys of this machine that signed an archive: those in the files that are named, each of which
/// has, or the one that this machine signs with, where it has.
fn signers_here(
    context: &Context,
    files: &[PathBuf],
    envelope: &Envelope,
) -> Result<Vec<Signer>, Error> {
    let has_signed = |signer: &Signer| envelope.key_ids().any(|id| id == signer.public.id());
    if files.is_empty() {
        // Whoever publishes what somebody else packed has no key of it, and needs none.
        let key = keys::signing_key(&context.settings).ok();
        let signer = key.and_then(|key| Some(Signer { public: key.public()?, key }));
        return Ok(signer.filter(has_signed).into_iter().collect());
    }
    let of_file = |file: &PathBuf| {
        let key = keys::private_key(file)?;
        let signer = match key.public() {
            Some(public) => Signer { public, key },
            None => opened(context, key)?.into(),
        };
        if has_signed(&signer) {
            return Ok(signer);
        }
        let message = "the archive is not signed with this key, and is not signed again";
        Err(Error::new(Kind::Usage, "archive_signed", message)
            .in_file(file.to_string_lossy())
            .with_hint("pack its directory again with `--key`"))
    };
    files.iter().map(of_file).collect()
}

/// Keeps nothing: the reader checks all the same.
struct Nothing;

impl Sink for Nothing {
    fn file(&mut self, _: &FileEntry, _: &mut dyn Read) -> io::Result<()> {
        Ok(())
    }
}
