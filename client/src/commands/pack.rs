//! `skillpkg pack`.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use skillpkg::install::ARCHIVE_ENDING;
use skillpkg::unfinished::{self, Readers};
use skillpkg::{Error, Kind};
use skillpkg_schema::Manifest;
use skillpkg_schema::diagnostic::escape;
use skillpkg_store::archive::{Bounds, Reader};

use crate::commands::PackingArguments;
use crate::commands::packing::{self, ShownArchive};
use crate::commands::signing::signing_keys;
use crate::context::Context;

/// Write the signed archive of a skill.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg pack examples/waitlist -o waitlist.skill.tar.zst")]
pub(crate) struct Arguments {
    /// The skill's directory; the working directory where absent
    source: Option<PathBuf>,
    #[command(flatten)]
    packing: PackingArguments,
    /// Where to write it; `NAME-VERSION.skill.tar.zst` where absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace another archive that is there
    #[arg(long, conflicts_with = "list")]
    force: bool,
    /// Print which files would be packed, and write nothing
    #[arg(long)]
    list: bool,
}

/// Runs it; answers with the exit code.
pub(crate) fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let options = packing::options(&arguments.packing)?;
    let directory = arguments.source.unwrap_or_else(|| PathBuf::from("."));
    let plan = packing::plan(context, &directory, &options)?;
    if arguments.list {
        return list(context, plan.manifest());
    }
    let target = arguments.output.unwrap_or_else(|| {
        let manifest = plan.manifest();
        PathBuf::from(format!("{}-{}{ARCHIVE_ENDING}", manifest.name.name(), manifest.version))
    });
    let there = check_target(&target, &directory, plan.manifest())?;
    let keys = signing_keys(context, &arguments.packing)?;
    let parent = directory_of(&target);
    // As readable as any file that its author makes.
    let mut file = unfinished::create(parent, Readers::All)
        .map_err(|error| packing::not_written(parent, &error))?;
    let archive = packing::write(context, &plan, &keys, &mut file)?;
    let replaces = match there {
        There::Nothing => false,
        There::Archive => {
            let message = "another archive is there already";
            if !arguments.force && !holds_the_same(file.path(), &target) {
                return Err(not_written(&target, message).with_hint(THERE_ALREADY));
            }
            true
        }
    };
    // Renamed into place: whoever reads the file sees a whole archive or the one before.
    let persisted = if replaces { file.persist(&target) } else { file.persist_noclobber(&target) };
    persisted.map_err(|error| match error.error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            not_written(&target, "it is there already").with_hint(THERE_ALREADY)
        }
        _ => not_written(&target, error.error.to_string()),
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

const THERE_ALREADY: &str = "`--force` replaces it, `--output FILE` writes another";

/// What stands where an archive is to be written.
enum There {
    Nothing,
    /// An archive of a skill.
    Archive,
}

/// What stands at a target; refuses one whose loss nobody can have meant: whatever is no archive of
/// a skill, and, within the skill that is packed, all but what is never part of one.
fn check_target(target: &Path, skill: &Path, manifest: &Manifest) -> Result<There, Error> {
    if target.is_dir() {
        let name = format!("{}{ARCHIVE_ENDING}", manifest.name.name());
        let hint = format!("`--output {}`", escape(&target.join(name).to_string_lossy()));
        let message = "it is a directory, and an archive is a file";
        return Err(not_written(target, message).with_hint(hint));
    }
    let ends_so = target.to_string_lossy().to_ascii_lowercase().ends_with(ARCHIVE_ENDING);
    let within = |root: PathBuf| {
        directory_of(target).canonicalize().is_ok_and(|parent| parent.starts_with(root))
    };
    if !ends_so && skill.canonicalize().is_ok_and(within) {
        let message = "it lies in the skill that is packed, and would be a part of it";
        return Err(not_written(target, message).with_hint(format!(
            "write it elsewhere with `--output FILE`; a name that ends in `{ARCHIVE_ENDING}` is \
             never packed"
        )));
    }
    match target.symlink_metadata() {
        Err(_) => Ok(There::Nothing),
        Ok(_) if is_archive(target) => Ok(There::Archive),
        Ok(_) => Err(not_written(target, "what is there is no archive of a skill, and stays")
            .with_hint("`--output FILE` writes another; or move it away")),
    }
}

fn is_archive(path: &Path) -> bool {
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    is_file
        && std::fs::File::open(path).is_ok_and(|file| Reader::open(file, Bounds::default()).is_ok())
}

/// Whether two archives are of the same bytes: then nothing is lost.
fn holds_the_same(one: &Path, other: &Path) -> bool {
    let read = |path: &Path| {
        let mut bytes = Vec::new();
        let most = skillpkg_schema::limits::MAX_ARCHIVE_BYTES + 1;
        std::fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes))?;
        Ok::<_, std::io::Error>(bytes)
    };
    matches!((read(one), read(other)), (Ok(one), Ok(other)) if one == other)
}

fn directory_of(target: &Path) -> &Path {
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

fn not_written(target: &Path, message: impl Into<String>) -> Error {
    Error::new(Kind::Failed, "not_written", message).in_file(target.to_string_lossy())
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
