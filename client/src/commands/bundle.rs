//! `skillpkg bundle`.

use std::path::{Path, PathBuf};

use serde::Serialize;
use skillpkg::bundle::{Carried, Contents, HeldLog, HeldRegistry, HeldSkill, Request, make};
use skillpkg::{Error, Kind, Settings};
use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::log::Hash;

use crate::commands::attendant::Terminal;
use crate::context::Context;

/// Write skills with their proofs to one file, for machines without a network.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg bundle -o skills.bundle

On the other machine `skillpkg install --bundle skills.bundle` installs what it holds. Of private \
skills it holds all that their members may read: keep it as they keep those.")]
pub(crate) struct Arguments {
    /// Skills, `[scope/]name[@requirement]`; all that the lockfile has where absent
    references: Vec<String>,
    /// Where to write it; `skills.bundle` where absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
    /// An earlier bundle or a checkpoint of the other machine, which this one continues
    #[arg(long, value_name = "FILE")]
    since: Option<PathBuf>,
    /// Tell what a bundle holds, and write nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["references", "output", "force", "since"])]
    list: Option<PathBuf>,
}

/// What `install` and `sync` take of a bundle.
#[derive(Debug, clap::Args)]
pub(crate) struct BundleArguments {
    /// Install from this bundle, and ask no network
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    /// Take logs that nothing names as the bundle shows them
    #[arg(long, requires = "bundle")]
    trust_on_first_use: bool,
}

impl BundleArguments {
    /// The settings with the bundle in the place of every registry, where one is given.
    pub(crate) fn settings(&self, settings: &Settings) -> Result<Settings, Error> {
        let Some(file) = &self.bundle else { return Ok(settings.clone()) };
        let carried = Carried::open(file)?;
        Ok(settings.clone().with_bundle(carried, self.trust_on_first_use))
    }
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let Arguments { references, output, force, since, list } = arguments;
    if let Some(file) = list {
        return tell(context, &file);
    }
    let target = output.unwrap_or_else(|| PathBuf::from("skills.bundle"));
    let request = Request { references, since, target: target.clone(), replace: force };
    let mut terminal = Terminal::approving(context.output);
    let made = make(&context.settings, &request, &mut terminal).await?;
    let skills = made.contents.registries.iter().flat_map(|registry| &registry.skills);
    let (mut versions, mut is_private) = (0, false);
    for skill in skills {
        versions += skill.versions.len();
        is_private |= skill.private;
    }
    let what = if versions == 1 { "version" } else { "versions" };
    context.output.talk(&format!("Bundled {versions} {what}, {} bytes.", made.size));
    if is_private {
        context.output.warn("it holds private skills: whoever has the file can read them");
    }
    let path = target.to_string_lossy().into_owned();
    context.output.text(&escape(&path))?;
    context.output.json(&Shape {
        path: &path,
        sha256: Some(made.sha256),
        bytes: made.size,
        registries: &made.contents.registries,
        left_out: &made.left_out,
    })?;
    Ok(if made.left_out.is_empty() { 0 } else { Kind::Drift.exit_code() })
}

/// What `--json` prints.
#[derive(Serialize)]
struct Shape<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<Hash>,
    bytes: u64,
    registries: &'a [HeldRegistry],
    /// What the lockfile names and could not be had any more.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    left_out: &'a [QualifiedName],
}

/// Tells what a bundle holds; nothing of it is verified but that it is whole.
pub(crate) fn tell(context: &Context, file: &Path) -> Result<u8, Error> {
    let carried = Carried::open(file)?;
    let contents = Contents::of(&carried)?;
    for registry in &contents.registries {
        context.output.text(&text(registry))?;
    }
    let path = file.to_string_lossy().into_owned();
    context.output.talk(&format!(
        "the file is whole; `skillpkg verify {}` tells whether what it says holds",
        escape(&path)
    ));
    let bytes = std::fs::metadata(file).map_or(contents.size, |metadata| metadata.len());
    let registries = &contents.registries;
    context.output.json(&Shape { path: &path, sha256: None, bytes, registries, left_out: &[] })?;
    Ok(0)
}

fn text(registry: &HeldRegistry) -> String {
    let mut lines = vec![escape(&registry.url)];
    for HeldLog { origin, fingerprint, size, relayed, .. } in &registry.logs {
        let relayed = if *relayed { ", relayed" } else { "" };
        let fingerprint = fingerprint.map_or_else(String::new, |hash| hash.to_string());
        let origin = escape(origin);
        lines.push(format!("  log {origin}, {size} leaves{relayed}, fingerprint {fingerprint}"));
    }
    for HeldSkill { name, private, versions } in &registry.skills {
        for one in versions {
            let mut line = format!("  {name} {}, {} bytes", one.version, one.size);
            if *private {
                line.push_str(", private");
            }
            if let Some(reason) = &one.yanked {
                line = format!("{line}, yanked: {}", escape(reason));
            }
            for advisory in &one.advisories {
                line = format!("{line}, advisory {}", escape(&advisory.id));
            }
            lines.push(line);
        }
    }
    lines.join("\n")
}
