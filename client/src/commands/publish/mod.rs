//! `skillpkg publish`.

mod many;
mod ready;
mod send;
mod sources;
mod table;

use std::path::{Path, PathBuf};

use serde::Serialize;
use skillpkg::Error;
use skillpkg::settings::registry_text;
use skillpkg_schema::Diagnostic;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::signature::{KeyId, PublicKey};

use self::ready::{Maker, Ready, Shown};
use self::send::{Sent, registry_of, rehearse, remember, send};
use self::sources::Sources;
use crate::commands::PackingArguments;
use crate::commands::found::counted;
use crate::commands::packing::{self, ShownArchive};
use crate::commands::rehearsal::Outcome;
use crate::context::Context;
use crate::interruption;
use crate::working::Working;

/// Check, pack, sign and upload skills.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg publish examples/waitlist")]
pub(crate) struct Arguments {
    /// Directories of skills, or packed archives; one that is no skill stands for the skills beneath
    /// it. The working directory where absent
    #[arg(value_name = "DIR|FILE")]
    sources: Vec<PathBuf>,
    #[command(flatten)]
    packing: PackingArguments,
    /// The scope that skills are published in, each under the name in its file
    #[arg(long, conflicts_with = "name")]
    scope: Option<String>,
    /// Publish a skill whose name cannot be one under the nearest that can, and one without a name
    /// under its directory's
    #[arg(long, conflicts_with = "name")]
    nearest_names: bool,
    /// Do everything but upload, and ask the registry whether it would take it
    #[arg(long)]
    dry_run: bool,
    /// Publish as the job of a build service that this is, which an owner trusts, whatever token there is
    #[arg(long)]
    trusted: bool,
}

#[derive(Serialize)]
struct Published {
    #[serde(flatten)]
    archive: ShownArchive,
    registry: Option<String>,
    log_index: Option<u64>,
    created: bool,
    /// The name in the file, where it goes under another.
    #[serde(skip_serializing_if = "Option::is_none")]
    named_in_file: Option<String>,
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

impl Published {
    /// Of what was sent.
    fn sent(what: Shown, url: &str, sent: &Sent) -> Self {
        let Shown { archive, named_in_file } = what;
        let answer = &sent.answer;
        Self {
            archive: ShownArchive { archive: answer.archive, size: answer.size, ..archive },
            registry: Some(url.to_owned()),
            log_index: answer.log_index,
            created: answer.created,
            named_in_file,
            key_registered: answer.key_registered,
            warnings: answer.warnings.clone(),
            dry_run: false,
            asked: None,
        }
    }

    /// Of what was only packed, and asked about or not.
    fn rehearsed(context: &Context, what: Shown, asked: bool) -> Self {
        let Shown { archive, named_in_file } = what;
        let registry = context.settings.registry_for(&archive.name).ok();
        Self {
            archive,
            registry: registry.map(|choice| registry_text(&choice.url).to_owned()),
            log_index: None,
            created: false,
            named_in_file,
            key_registered: None,
            warnings: Vec::new(),
            dry_run: true,
            asked: Some(asked),
        }
    }
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let Arguments { sources, packing, scope, nearest_names, dry_run, trusted } = arguments;
    let maker = Maker::new(context, &packing, scope.as_deref(), nearest_names)?;
    match sources::find(context, sources)? {
        Sources::One(source) if dry_run => rehearse_one(context, maker, &source).await,
        Sources::One(source) => one(context, maker, &source, trusted).await,
        Sources::Many(sources) => many::run(context, maker, sources, (dry_run, trusted)).await,
    }
}

async fn one(
    context: &Context,
    mut maker: Maker<'_>,
    source: &Path,
    trusted: bool,
) -> Result<u8, Error> {
    let ready = maker.make(source)?;
    tell_packed(context, source, &ready);
    let archive = ready.shown(source);
    let (name, version) = (&ready.manifest.name, &ready.manifest.version);
    let working = Working::on(context.output, "Sending");
    let registry = registry_of(context, name, trusted).await?.metered(working.bytes());
    let url = registry_text(registry.url());
    interruption::advise(format!(
        "`skillpkg show {name}` tells whether it arrived; publishing it again does no harm"
    ));
    let sent = send(context, &registry, &ready, trusted).await?;
    drop(working);
    remember(context, &registry, &format!("{name} {version}")).await?;
    tell(context, source, &ready, &sent, url);
    context.output.json(&Published::sent(archive, url, &sent))?;
    Ok(0)
}

/// Tells what was packed, or is read from an archive that was, and under which name it goes.
fn tell_packed(context: &Context, source: &Path, ready: &Ready) {
    let packed = packing::tell(&ready.manifest);
    let told = match packed.strip_prefix("Packed ") {
        Some(rest) if source.is_file() => format!("Read {rest}"),
        _ => packed,
    };
    context.output.talk(&told);
    if let Some(said) = &ready.named_in_file {
        let (name, said) = (&ready.manifest.name, in_file(said));
        context.output.talk(&format!("It goes under the name `{name}`; {said}."));
    }
}

/// What a skill that goes under another name calls itself, as words.
fn in_file(said: &str) -> String {
    if said.is_empty() {
        "its file has no name".to_owned()
    } else {
        format!("its file says `{}`", escape(said))
    }
}

async fn rehearse_one(context: &Context, mut maker: Maker<'_>, source: &Path) -> Result<u8, Error> {
    let ready = maker.make(source)?;
    tell_packed(context, source, &ready);
    let archive = ready.shown(source);
    let asked = told_rehearsal(context, &ready, rehearse(context, &ready).await?);
    context.output.json(&Published::rehearsed(context, archive, asked))?;
    Ok(0)
}

/// Tells what came of a dry run; answers whether the registry was asked.
fn told_rehearsal(context: &Context, ready: &Ready, outcome: Outcome) -> bool {
    let (name, version) = (&ready.manifest.name, &ready.manifest.version);
    match outcome {
        Outcome::Ready { told, .. } => {
            let ready = format!("{name} {version} is ready to publish, and nothing was sent.");
            context.output.talk(&format!("{ready}\n{told}."));
            true
        }
        Outcome::NotAsked(reason) => {
            context.output.talk(&format!(
                "{name} {version} is packed and signed, and nothing was sent. Whether it may be \
                 published was not asked: {reason}."
            ));
            false
        }
    }
}

/// Tells what came of publishing what lies at `source`.
fn tell(context: &Context, source: &Path, ready: &Ready, sent: &Sent, url: &str) {
    let output = context.output;
    let Sent { answer, proof } = sent;
    let keys = ready.keys();
    // Whoever has names chosen is told of each before, or in the table.
    let is_told = |code: &str| ready.is_renamed && code == "name_overridden";
    let warnings = answer.warnings.iter().filter(|warning| !is_told(&warning.code));
    for warning in warnings {
        output.warn(&packing::placed(source, warning.clone()).to_string());
    }
    if !answer.findings.is_empty() {
        let counts = counted(&answer.findings);
        output
            .talk(&format!("Whoever installs it is shown what was found in its files: {counts}."));
    }
    if let Some(key) = &answer.key_registered {
        let whose = proof.as_ref().map_or_else(String::new, |proof| {
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
