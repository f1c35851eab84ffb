//! From an archive to blobs and a record, nothing in place before all of it is checked.

use std::io::{self, Read, Write as _};

use skillpkg_schema::manifest::FileEntry;
use skillpkg_schema::signature::Envelope;
use skillpkg_schema::{Algorithm, ContentAddress, Manifest};

use super::Ingested;
use super::blob::{Content, PIECE, SMALL, place, read_only};
use super::error::StoreError;
use super::layout::Layout;
use super::record;
use super::temporary::TemporaryFile;
use crate::archive::{ArchiveError, Bounds, Reader, Sink};

/// Most bytes of small files that one archive keeps in memory until all of it is checked.
const MOST_IN_MEMORY: u64 = 8 * 1024 * 1024;

/// Unpacks an archive. See [`super::Store::ingest`].
pub(super) fn ingest(
    layout: &Layout,
    archive: impl Read,
    wanted: Option<&ContentAddress>,
) -> Result<Ingested, StoreError> {
    let reader = Reader::open(archive, Bounds::default())?;
    let (manifest, envelope) = (reader.manifest().clone(), reader.envelope().clone());
    if let Some(wanted) = wanted {
        check_wanted(&manifest, wanted)?;
    }
    let mut unpacked = Unpacked::new(layout);
    let archive = reader.unpack(&mut unpacked).map_err(|error| unpacked.failure(error))?;
    let address = unpacked.keep(&manifest, &envelope)?;
    Ok(Ingested { address, manifest, envelope, archive })
}

fn check_wanted(manifest: &Manifest, wanted: &ContentAddress) -> Result<(), ArchiveError> {
    let is_wanted = match wanted.algorithm() {
        Algorithm::Sha256 => manifest.address() == *wanted,
        Algorithm::Blake3 => wanted.matches(&manifest.to_bytes()),
    };
    if is_wanted {
        return Ok(());
    }
    Err(ArchiveError::OtherSnapshot { found: manifest.address(), wanted: *wanted })
}

/// The files of an archive that is not yet checked to its end, in the order of its manifest.
struct Unpacked<'store> {
    layout: &'store Layout,
    files: Vec<Content<'store>>,
    in_memory: u64,
    /// Why a file could not be written, with its path, which an archive's error does not carry.
    failed: Option<StoreError>,
}

impl<'store> Unpacked<'store> {
    fn new(layout: &'store Layout) -> Self {
        Self { layout, files: Vec::new(), in_memory: 0, failed: None }
    }

    /// The error that says most.
    fn failure(&mut self, error: ArchiveError) -> StoreError {
        self.failed.take().unwrap_or(StoreError::Archive(error))
    }

    /// Puts everything in place: each blob, and last the record that makes them a snapshot.
    fn keep(self, manifest: &Manifest, envelope: &Envelope) -> Result<ContentAddress, StoreError> {
        for (entry, content) in manifest.files.iter().zip(self.files) {
            place(self.layout, entry, content)?;
        }
        record::keep(self.layout, manifest, envelope)
    }

    /// Takes a file into memory while there is room, else into `tmp/`.
    ///
    /// A failure to read is the archive's, and told as it is; one to write is kept with its path.
    fn take(&mut self, entry: &FileEntry, content: &mut dyn Read) -> io::Result<()> {
        let room = MOST_IN_MEMORY.saturating_sub(self.in_memory);
        if entry.size <= SMALL.min(room) {
            let mut bytes = Vec::with_capacity(usize::try_from(entry.size).unwrap_or(0));
            content.read_to_end(&mut bytes)?;
            self.in_memory += entry.size;
            self.files.push(Content::Memory(bytes));
            return Ok(());
        }
        let file = TemporaryFile::create(self.layout, "blob", read_only(entry.mode));
        let mut file = file.map_err(|error| self.fail(error))?;
        let mut piece = vec![0; PIECE];
        loop {
            let read = match content.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let written = file.handle().write_all(piece.get(..read).unwrap_or_default());
            written.map_err(|source| {
                let path = self.layout.temporary_path(file.name());
                self.fail(StoreError::Io { path, source })
            })?;
        }
        self.files.push(Content::Written(file));
        Ok(())
    }

    fn fail(&mut self, error: StoreError) -> io::Error {
        let message = error.to_string();
        self.failed = Some(error);
        io::Error::other(message)
    }
}

impl Sink for Unpacked<'_> {
    fn file(&mut self, entry: &FileEntry, content: &mut dyn Read) -> io::Result<()> {
        self.take(entry, content)
    }
}
