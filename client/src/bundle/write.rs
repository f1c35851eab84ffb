//! Writes what was gathered to a file beside its place.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;

use bytes::Bytes;
use skillpkg_schema::ContentAddress;
use skillpkg_schema::bundle::{
    BundleIndex, BundledFile, BundledRegistry, BundledSkill, BundledVersion, archive_path,
    document_path,
};
use skillpkg_schema::log::Hash;
use skillpkg_schema::wire::VersionEntry;
use skillpkg_store::bundle::{BundleError, BundleWriter};
use tempfile::NamedTempFile;
use url::Url;

use super::gather::{Chosen, Gathered};
use super::target::{not_written, unwritable};
use super::verify::archive;
use crate::install::{Attendant, Progress};
use crate::meter::Part;
use crate::parallel::ended_early;
use crate::settings::registry_text;
use crate::trust::{Places, Taken};
use crate::unfinished::{self, Readers};
use crate::{Error, Kind, Settings};

/// The index of what was gathered.
pub(super) fn index_of(all: &[Gathered]) -> Result<BundleIndex, Error> {
    let mut files: BTreeMap<String, (Hash, u64)> = BTreeMap::new();
    let mut registries = Vec::with_capacity(all.len());
    for Gathered { registry, carriage, chosen, .. } in all {
        let mut skills = Vec::with_capacity(chosen.len());
        for taken in &carriage.documents {
            let name = &taken.found.document.name;
            let path = document_path(&taken.digest);
            files.insert(path, (taken.digest, taken.bytes.len() as u64));
            let mut versions = Vec::new();
            for Chosen { entry, origin, proof } in chosen.get(name).into_iter().flatten() {
                let (path, sha256) = archive_file(&entry.archive)?;
                files.insert(path, (sha256, entry.size));
                versions.push(BundledVersion {
                    version: entry.version.clone(),
                    archive: entry.archive,
                    origin: origin.clone(),
                    proof: proof.clone(),
                });
            }
            skills.push(BundledSkill { name: name.clone(), document: taken.digest, versions });
        }
        skills.sort_by_cached_key(|skill| skill.name.to_string());
        for (path, bytes) in &carriage.tiles {
            let file = (Hash::of(bytes), bytes.len() as u64);
            if files.insert(path.clone(), file).is_some_and(|other| other != file) {
                let message = "two registries show two histories of one log";
                return Err(Error::new(Kind::Verification, "checkpoint_fork", message)
                    .with_hint("`skillpkg log compare` tells which"));
            }
        }
        let url = registry_text(registry.url()).to_owned();
        registries.push(BundledRegistry { url, logs: carriage.logs.clone(), skills });
    }
    let files = files.into_iter().map(|(path, (sha256, size))| BundledFile { path, sha256, size });
    Ok(BundleIndex::new(registries, files.collect()))
}

fn archive_file(archive: &ContentAddress) -> Result<(String, Hash), Error> {
    let sha256 = archive.hex().parse().ok();
    archive_path(archive).zip(sha256).ok_or_else(|| {
        let message = format!("the archive {archive} is not named by its SHA-256");
        Error::new(Kind::Verification, "digest_mismatch", message)
    })
}

/// Writes everything to a file beside its place, one archive after the other.
pub(super) async fn write(
    settings: &Settings,
    all: &[Gathered],
    index: &BundleIndex,
    target: &Path,
    attendant: &mut dyn Attendant,
) -> Result<NamedTempFile, Error> {
    let mut small: BTreeMap<String, &Bytes> = BTreeMap::new();
    let mut archives: BTreeMap<String, (&Gathered, &Taken, &VersionEntry)> = BTreeMap::new();
    for gathered in all {
        small.extend(gathered.carriage.tiles.iter().map(|(path, bytes)| (path.clone(), bytes)));
        for taken in &gathered.carriage.documents {
            small.insert(document_path(&taken.digest), &taken.bytes);
            let name = &taken.found.document.name;
            for Chosen { entry, .. } in gathered.chosen.get(name).into_iter().flatten() {
                let (path, _) = archive_file(&entry.archive)?;
                archives.insert(path, (gathered, taken, entry));
            }
        }
    }
    let refused = |error: BundleError| not_written(target, &error);
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let file = unfinished::create(directory, Readers::Owner);
    let mut file = file.map_err(|error| unwritable(target, &error))?;
    let buffered = io::BufWriter::with_capacity(256 * 1024, file.as_file_mut());
    let mut writer = BundleWriter::new(buffered, index).map_err(refused)?;
    let total = archives.len();
    let meter = attendant.meter();
    let parts: BTreeMap<&str, Part> = archives
        .iter()
        .map(|(path, (_, _, entry))| (path.as_str(), meter.part(entry.size)))
        .collect();
    attendant.progress(Progress { done: 0, total });
    let mut done = 0;
    for entry in &index.files {
        let path = entry.path.as_str();
        if let (Some((gathered, taken, version)), Some(part)) =
            (archives.get(path), parts.get(path))
        {
            let bytes = archive_of(settings, gathered, taken, version, part, attendant).await?;
            writer.add(path, &bytes).map_err(refused)?;
            done += 1;
            attendant.progress(Progress { done, total });
        } else {
            let bytes = small.get(path).ok_or_else(ended_early)?;
            writer.add(path, bytes).map_err(refused)?;
        }
    }
    writer.finish().map_err(refused)?.flush().map_err(|error| unwritable(target, &error))?;
    Ok(file)
}

/// An archive as its registry serves it, read to its end, with a signature that holds.
async fn archive_of(
    settings: &Settings,
    gathered: &Gathered,
    taken: &Taken,
    entry: &VersionEntry,
    part: &Part,
    attendant: &mut dyn Attendant,
) -> Result<Bytes, Error> {
    let mut notices = Vec::new();
    let places = Places::of(settings, &gathered.registry)?;
    let bytes = places.archive(&entry.archive, entry.size, part, &mut notices).await?;
    for notice in notices {
        notice.to(attendant);
    }
    let (document, url): (_, Url) = (taken.found.document.clone(), gathered.registry.url().clone());
    let (entry, read) = (entry.clone(), bytes.clone());
    tokio::task::spawn_blocking(move || archive(&read, &url, &document, &entry))
        .await
        .map_err(|_| ended_early())??;
    Ok(bytes)
}
