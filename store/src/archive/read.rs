//! Reads an archive without parsing tar: what it must hold is made of the manifest and compared.

use std::io::{self, Read};

use skillpkg_schema::Manifest;
use skillpkg_schema::address::{Digests, Hasher};
use skillpkg_schema::limits::{MAX_ENVELOPE_BYTES, MAX_MANIFEST_BYTES};
use skillpkg_schema::manifest::{FileEntry, ManifestError, Mode};
use skillpkg_schema::signature::{Envelope, EnvelopeError};

use super::bounds::Bounds;
use super::error::ArchiveError;
use super::frame::FrameReader;
use super::header::{
    BLOCK_BYTES, Block, END_BYTES, NAME_BYTES, first_difference, header, padding, stated_size,
};
use super::layout::Layout;
use super::{ENVELOPE_PATH, MANIFEST_PATH};

const PIECE_BYTES: usize = 64 * 1024;

/// Where unpacked files go.
pub trait Sink {
    /// Takes the content of `entry`, already checked to fit it in length as it streams.
    ///
    /// What a sink leaves unread is read and checked all the same. The digests are compared
    /// afterwards, so nothing may be believed before [`Reader::unpack`] answers.
    fn file(&mut self, entry: &FileEntry, content: &mut dyn Read) -> io::Result<()>;
}

/// An archive whose manifest and signatures have been read, and whose files have not.
pub struct Reader<R: Read> {
    manifest: Manifest,
    envelope: Envelope,
    stream: Stream<R>,
}

impl<R: Read> Reader<R> {
    /// Reads the manifest and the signatures.
    ///
    /// Refuses, before any file is read, a frame whose content is not exactly as long as the
    /// manifest calls for. Needs memory for the frame's window, at most 8 MiB, and the manifest.
    pub fn open(input: R, bounds: Bounds) -> Result<Self, ArchiveError> {
        let Some(frame) = FrameReader::open(input, bounds.archive_bytes)? else {
            return Err(ArchiveError::Truncated { entry: MANIFEST_PATH.to_owned() });
        };
        if frame.content_bytes() > bounds.stream_bytes() {
            return Err(ArchiveError::Bomb(bounds.unpacked_bytes));
        }
        let mut stream = Stream { frame };

        let manifest_bytes =
            stream.ours(MANIFEST_PATH, MAX_MANIFEST_BYTES, ManifestError::TooLong)?;
        let manifest = Manifest::from_bytes(&manifest_bytes)?;
        if manifest.files.len() > bounds.files {
            let (files, most) = (manifest.files.len(), bounds.files);
            return Err(ArchiveError::TooManyFiles { files, most });
        }
        if manifest.unpacked_size() > bounds.unpacked_bytes {
            return Err(ArchiveError::Bomb(bounds.unpacked_bytes));
        }

        let envelope_bytes =
            stream.ours(ENVELOPE_PATH, MAX_ENVELOPE_BYTES, EnvelopeError::TooLong)?;
        let lengths = (manifest_bytes.len() as u64, envelope_bytes.len() as u64);
        stream.check_length(&Layout::new(&manifest, lengths.0, lengths.1))?;
        let envelope = Envelope::from_bytes(&envelope_bytes)?;
        Ok(Self { manifest, envelope, stream })
    }

    /// The manifest, in canonical form, its signature not yet verified.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The signatures.
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// Streams every file into `sink`, comparing headers and hashing content, to the end of the
    /// input; answers with the digests of the compressed bytes.
    pub fn unpack(self, sink: &mut dyn Sink) -> Result<Digests, ArchiveError> {
        let Self { manifest, mut stream, .. } = self;
        let mut last = ENVELOPE_PATH;
        for entry in &manifest.files {
            let path = &entry.path;
            let wanted = header(path.as_str(), path.ustar_split(), entry.mode.bits(), entry.size);
            stream.expect_header(path.as_str(), &wanted)?;
            let mut content = Content::new(&mut stream.frame, entry);
            let taken = sink.file(entry, &mut content);
            content.finish(taken)?;
            last = path.as_str();
            stream.expect_zeros(last, padding(entry.size))?;
        }
        stream.expect_zeros(last, END_BYTES)?;
        stream.frame.finish(last)
    }
}

/// The tar stream, read only where it is known what must stand there.
struct Stream<R> {
    frame: FrameReader<R>,
}

impl<R: Read> Stream<R> {
    fn exactly(&mut self, entry: &str, mut bytes: &mut [u8]) -> Result<(), ArchiveError> {
        while !bytes.is_empty() {
            match self.frame.read(bytes)? {
                0 => return Err(ArchiveError::Truncated { entry: entry.to_owned() }),
                read => bytes = &mut bytes[read..],
            }
        }
        Ok(())
    }

    fn expect_header(&mut self, entry: &str, wanted: &Block) -> Result<(), ArchiveError> {
        let mut found = [0; BLOCK_BYTES];
        self.exactly(entry, &mut found)?;
        compare(entry, &found, wanted)
    }

    fn expect_zeros(&mut self, entry: &str, count: usize) -> Result<(), ArchiveError> {
        let mut zeros = [0; END_BYTES];
        let zeros = &mut zeros[..count.min(END_BYTES)];
        self.exactly(entry, zeros)?;
        if zeros.iter().any(|byte| *byte != 0) {
            return Err(ArchiveError::Padding { entry: entry.to_owned() });
        }
        Ok(())
    }

    /// Reads an entry of ours, whose length only its header tells.
    fn ours<E: Into<ArchiveError>>(
        &mut self,
        path: &str,
        most: usize,
        too_long: fn(usize) -> E,
    ) -> Result<Vec<u8>, ArchiveError> {
        let mut found = [0; BLOCK_BYTES];
        self.exactly(path, &mut found)?;
        // A size that is not spelled our way differs from the header that says 0.
        let size = stated_size(&found).unwrap_or(0);
        let wanted = header(path, 0, Mode::Regular.bits(), size);
        if path == MANIFEST_PATH && first_difference(&found, &wanted) == Some("name") {
            let name = found.get(..NAME_BYTES).unwrap_or_default();
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            let found = String::from_utf8_lossy(name).into_owned();
            return Err(ArchiveError::OtherStart { found, first: MANIFEST_PATH });
        }
        compare(path, &found, &wanted)?;
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        if length > most {
            return Err(too_long(length).into());
        }
        // Memory is taken as bytes come, not as a header claims them.
        let mut bytes = Vec::new();
        while bytes.len() < length {
            let start = bytes.len();
            bytes.resize(length.min(start + PIECE_BYTES), 0);
            self.exactly(path, &mut bytes[start..])?;
        }
        self.expect_zeros(path, padding(size))?;
        Ok(bytes)
    }

    /// Compares the length of the frame's content with what the manifest calls for.
    fn check_length(&self, layout: &Layout<'_>) -> Result<(), ArchiveError> {
        let (found, wanted) = (self.frame.content_bytes(), layout.stream_bytes());
        if found > wanted {
            return Err(ArchiveError::Bomb(wanted));
        }
        if found < wanted {
            return Err(ArchiveError::Truncated { entry: layout.entry_at(found).to_owned() });
        }
        Ok(())
    }
}

fn compare(entry: &str, found: &Block, wanted: &Block) -> Result<(), ArchiveError> {
    match first_difference(found, wanted) {
        Some(field) => Err(ArchiveError::Header { entry: entry.to_owned(), field }),
        None => Ok(()),
    }
}

/// One file's content, as a sink reads it.
struct Content<'a, R> {
    frame: &'a mut FrameReader<R>,
    entry: &'a FileEntry,
    remaining: u64,
    hasher: Hasher,
    fault: Option<ArchiveError>,
}

impl<'a, R: Read> Content<'a, R> {
    fn new(frame: &'a mut FrameReader<R>, entry: &'a FileEntry) -> Self {
        Self { frame, entry, remaining: entry.size, hasher: Hasher::new(), fault: None }
    }

    fn next(&mut self, piece: &mut [u8]) -> Result<usize, ArchiveError> {
        let most = usize::try_from(self.remaining).unwrap_or(usize::MAX).min(piece.len());
        let Some(piece) = piece.get_mut(..most).filter(|piece| !piece.is_empty()) else {
            return Ok(0);
        };
        let read = self.frame.read(piece)?;
        if read == 0 {
            return Err(ArchiveError::Truncated { entry: self.entry.path.as_str().to_owned() });
        }
        self.hasher.update(&piece[..read]);
        self.remaining -= read as u64;
        Ok(read)
    }

    /// Reads what the sink left, and compares the digests.
    ///
    /// A fault of the archive counts before what the sink made of it, even where the sink said
    /// nothing of it.
    fn finish(mut self, taken: io::Result<()>) -> Result<(), ArchiveError> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        taken?;
        let mut piece =
            vec![0; usize::try_from(self.remaining).unwrap_or(PIECE_BYTES).min(PIECE_BYTES)];
        while self.remaining > 0 {
            self.next(&mut piece)?;
        }
        let Digests { size, sha256, blake3 } = self.hasher.finish();
        let FileEntry { path, .. } = self.entry;
        if (size, sha256, blake3) == (self.entry.size, self.entry.sha256, self.entry.blake3) {
            Ok(())
        } else {
            Err(ArchiveError::Content { path: path.clone() })
        }
    }
}

impl<R: Read> Read for Content<'_, R> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        if self.fault.is_some() {
            return Err(refused());
        }
        self.next(piece).map_err(|fault| {
            self.fault = Some(fault);
            refused()
        })
    }
}

/// What a sink sees of a fault that [`Reader::unpack`] answers with itself.
fn refused() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the archive is refused")
}
