//! `skillpkg pack`.

use std::path::{Path, PathBuf};

use serde_json::json;
use skillpkg::unfinished::{self, Readers};
use skillpkg::{Error, Kind};
use skillpkg_schema::Manifest;
use skillpkg_schema::diagnostic::escape;

use crate::commands::PackingArguments;
use crate::commands::packing::{self, ShownArchive};
use crate::commands::signing::signing_keys;
use crate::context::Context;

/// Write the signed archive of a skill.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg pack examples/waitlist -o waitlist.skill.tar.zst")]
pub(crate) struct Arguments {
    #[command(flatten)]
    packing: PackingArguments,
    /// Where to write it; `NAME-VERSION.skill.tar.zst` where absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print which files would be packed, and write nothing
    #[arg(long)]
    list: bool,
}

/// Runs it; answers with the exit code.
pub(crate) fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let options = packing::options(&arguments.packing)?;
    let directory = packing::source(&arguments.packing);
    let plan = packing::plan(context, &directory, &options)?;
    if arguments.list {
        return list(context, plan.manifest());
    }
    let keys = signing_keys(context, &arguments.packing.keys)?;
    let target = arguments.output.unwrap_or_else(|| {
        let manifest = plan.manifest();
        PathBuf::from(format!("{}-{}.skill.tar.zst", manifest.name.name(), manifest.version))
    });
    if target.is_dir() {
        let message = "it is a directory, and an archive is a file";
        let name = format!("{}.skill.tar.zst", plan.manifest().name.name());
        let hint = format!("`--output {}`", escape(&target.join(name).to_string_lossy()));
        return Err(Error::new(Kind::Failed, "not_written", message)
            .in_file(target.to_string_lossy())
            .with_hint(hint));
    }
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new("."));
    // As readable as any file that its author makes.
    let mut file = unfinished::create(directory, Readers::All)
        .map_err(|error| packing::not_written(directory, &error))?;
    let archive = packing::write(&plan, &keys, &mut file)?;
    // Renamed into place: whoever reads the file sees a whole archive or the one before.
    file.persist(&target).map_err(|error| {
        Error::new(Kind::Failed, "not_written", error.error.to_string())
            .in_file(target.to_string_lossy())
    })?;
    let shown = ShownArchive::new(plan.manifest(), &archive, &target);
    let ids: Vec<String> = keys.iter().map(|key| key.public().id().short()).collect();
    let what = if ids.len() == 1 { "key" } else { "keys" };
    let signed = format!("Signed with {what} {}.", ids.join(" and "));
    context.output.talk(&format!("{} {signed}", packing::tell(plan.manifest())));
    context.output.text(&escape(&shown.path))?;
    context.output.json(&shown)?;
    Ok(0)
}

fn list(context: &Context, manifest: &Manifest) -> Result<u8, Error> {
    let paths: Vec<&str> = manifest.files.iter().map(|file| file.path.as_str()).collect();
    context.output.text(&paths.join("\n"))?;
    context.output.json(&json!({
        "name": manifest.name,
        "version": manifest.version,
        "files": manifest.files,
    }))?;
    Ok(0)
}
