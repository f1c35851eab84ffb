//! `skillpkg inspect`.

use std::io::{self, Read};
use std::path::Path;

use skillpkg::Error;
use skillpkg::bundle::is_bundle;
use skillpkg::install::found_in;
use skillpkg_schema::finding::Finder;
use skillpkg_schema::limits::MAX_SKILL_FILE_BYTES;
use skillpkg_schema::manifest::FileEntry;
use skillpkg_schema::skill::parse_unnamed;
use skillpkg_schema::{SkillName, SkillPath, Version};
use skillpkg_store::archive::Sink;
use skillpkg_store::pack::{PackOptions, Packing};

use crate::candidates;
use crate::commands::bundle;
use crate::commands::check::stand_in;
use crate::commands::inspection::Inspection;
use crate::commands::packed;
use crate::commands::subject::{Subject, read_directory};
use crate::context::Context;

/// Tell what a skill carries: tools, programs, files, resources, scripts.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg inspect examples/waitlist --json")]
pub(crate) struct Arguments {
    /// A directory, an installed skill's name, an archive or a bundle; the working directory where
    /// absent
    #[arg(add = candidates::installed_or_path())]
    what: Option<String>,
}

/// Runs it; answers with the exit code.
pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<u8, Error> {
    if let Some(file) = arguments.what.as_deref().map(Path::new).filter(|file| is_bundle(file)) {
        return bundle::tell(context, file);
    }
    let inspection = match Subject::find(context, arguments.what.as_deref())? {
        Subject::Directory(directory) => of_directory(&directory)?,
        Subject::Archive(path) => of_archive(&path)?,
        Subject::Installed(snapshot) => {
            let mut inspection = Inspection::of(snapshot.manifest, &snapshot.skill_file)?;
            add_skill_file(&mut inspection, &snapshot.skill_file)?;
            if let Some(address) = &inspection.address {
                inspection.findings = found_in(&context.settings, address)?;
            }
            inspection
        }
    };
    context.output.text(&inspection.text())?;
    context.output.warn_all(&inspection.warnings);
    context.output.json(&inspection)?;
    Ok(0)
}

/// What would be packed, whether or not it could be published as it is.
fn of_directory(directory: &Path) -> Result<Inspection, Error> {
    let skill = read_directory(directory)?;
    let options = PackOptions { allow_secrets: true, ..stand_in(&skill.file) };
    let packing = Packing::plan(directory, &options)?;
    let mut inspection =
        Inspection::of(packing.manifest().clone(), skill.file.rendered.as_bytes())?;
    inspection.name.clone_from(&skill.file.name);
    let version = skill.file.version.as_deref();
    inspection.version = version.map(|text| {
        Version::parse_lenient(text).map_or_else(|_| text.to_owned(), |known| known.to_string())
    });
    let is_identity = skill.file.name.parse::<SkillName>().is_ok()
        && version.is_some_and(|text| Version::parse_lenient(text).is_ok());
    if !is_identity {
        (inspection.address, inspection.blake3) = (None, None);
    }
    inspection.includes = skill.file.includes.unwrap_or_default();
    inspection.included = skill.included.iter().map(ToString::to_string).collect();
    inspection.findings = Some(packing.findings().clone());
    inspection.warnings = packing.warnings().to_vec();
    Ok(inspection)
}

/// What an archive holds, every byte of it checked against its manifest.
fn of_archive(path: &Path) -> Result<Inspection, Error> {
    let mut looked = Looked { skill_file: Vec::new(), finder: Finder::new() };
    let read = packed::read(path, &mut looked)?;
    let Looked { skill_file, finder } = looked;
    let mut inspection = Inspection::of(read.manifest, &skill_file)?;
    inspection.key_ids = Some(read.envelope.key_ids().collect());
    add_skill_file(&mut inspection, &skill_file)?;
    inspection.findings = Some(finder.finish());
    Ok(inspection)
}

/// Keeps `SKILL.md`, and looks into every file.
struct Looked {
    skill_file: Vec<u8>,
    finder: Finder,
}

impl Sink for Looked {
    fn file(&mut self, entry: &FileEntry, content: &mut dyn Read) -> io::Result<()> {
        if entry.path != SkillPath::skill_file() {
            return self.finder.file(&entry.path, content);
        }
        content.take(MAX_SKILL_FILE_BYTES + 1).read_to_end(&mut self.skill_file)?;
        self.finder.file(&entry.path, &mut self.skill_file.as_slice())
    }
}

/// Adds what stands in `SKILL.md` alone.
pub(crate) fn add_skill_file(inspection: &mut Inspection, bytes: &[u8]) -> Result<(), Error> {
    let file = parse_unnamed(bytes, "SKILL.md")?;
    inspection.warnings = file.warnings;
    if let Some(includes) = file.includes {
        inspection.includes = includes;
        inspection.included = inspection.other_files();
    }
    Ok(())
}
