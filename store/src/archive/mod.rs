//! The archive profile: one zstd frame around a canonical ustar stream.
//!
//! Given the manifest, every header is known. The reader generates each and compares; it never
//! parses tar, so that no two readers can see different files in one archive.

use std::io::{self, Read, Write};

use skillpkg_schema::address::Digests;
use skillpkg_schema::manifest::{FileEntry, Manifest, ManifestError};
use skillpkg_schema::signature::{Envelope, EnvelopeError};
use skillpkg_schema::{ContentAddress, SkillPath};

/// How much of an archive is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Most compressed bytes.
    pub archive_bytes: u64,
    /// Most bytes of all files together.
    pub unpacked_bytes: u64,
    /// Most files.
    pub files: usize,
}

impl Default for Bounds {
    /// The design's bounds: 50 MiB, 256 MiB, 5,000 files.
    fn default() -> Self {
        use skillpkg_schema::limits::{MAX_ARCHIVE_BYTES, MAX_FILES, MAX_UNPACKED_BYTES};
        Self {
            archive_bytes: MAX_ARCHIVE_BYTES,
            unpacked_bytes: MAX_UNPACKED_BYTES,
            files: MAX_FILES,
        }
    }
}

/// Why bytes are no archive, or cannot be made one.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// Not one zstd frame of the profile.
    #[error("not a skill archive: {0}")]
    Frame(String),
    /// The compressed bytes go on past [`Bounds::archive_bytes`].
    #[error("the archive is over {0} bytes")]
    TooLong(u64),
    /// The unpacked bytes go on past what the manifest or [`Bounds::unpacked_bytes`] allows.
    #[error("the archive unpacks to over {0} bytes")]
    Bomb(u64),
    /// It ends early.
    #[error("the archive is cut short in `{entry}`")]
    Truncated {
        /// The entry in which it ends.
        entry: String,
    },
    /// A header is not the one that the manifest calls for.
    #[error("the header of `{entry}` is not the one its manifest calls for ({field} differs)")]
    Header {
        /// The entry, as the manifest names it.
        entry: String,
        /// The first field of the header that differs.
        field: &'static str,
    },
    /// Something other than zeros where padding or the end belongs.
    #[error("something stands after `{entry}` where zeros belong")]
    Padding {
        /// The entry before it.
        entry: String,
    },
    /// A file's bytes do not have the digest in the manifest.
    #[error("the content of `{path}` is not what the manifest says")]
    Content {
        /// The file.
        path: SkillPath,
    },
    /// The manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The signatures.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// Another snapshot than the one asked for.
    #[error("the archive holds {found}, not {wanted}")]
    OtherSnapshot {
        /// What it holds.
        found: ContentAddress,
        /// What was asked for.
        wanted: ContentAddress,
    },
    /// Reading or writing failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Where unpacked files go.
pub trait Sink {
    /// Takes the content of `entry`, already checked to fit it in length as it streams.
    ///
    /// The content is read to its end by whoever takes it; its digests are compared afterwards, so
    /// nothing may be believed before [`Reader::unpack`] answers.
    fn file(&mut self, entry: &FileEntry, content: &mut dyn Read) -> io::Result<()>;
}

/// Writes the archive of `manifest` and `envelope`; answers with the digests of its bytes.
///
/// `open` gives each file's content; content that does not fit its entry refuses the whole, so a
/// file changed since it was hashed is never packed.
pub fn write(
    out: impl Write,
    manifest: &Manifest,
    envelope: &Envelope,
    open: &mut dyn FnMut(&FileEntry) -> io::Result<Box<dyn Read + Send>>,
) -> Result<Digests, ArchiveError> {
    let _ = (out, manifest, envelope, open);
    todo!()
}

/// An archive whose manifest and signatures have been read, and whose files have not.
pub struct Reader<R: Read> {
    manifest: Manifest,
    envelope: Envelope,
    _input: R,
}

impl<R: Read> Reader<R> {
    /// Reads the manifest and the signatures.
    pub fn open(input: R, bounds: Bounds) -> Result<Self, ArchiveError> {
        let _ = (input, bounds);
        todo!()
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
        let _ = sink;
        todo!()
    }
}
