//! Why bytes are no archive.

use std::io;

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::manifest::ManifestError;
use skillpkg_schema::signature::EnvelopeError;
use skillpkg_schema::{ContentAddress, SkillPath};

use super::frame::MAX_WINDOW_BYTES;

/// Why bytes are not the one zstd frame of the profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// It does not start as a zstd frame does.
    #[error("it does not start with a zstd frame")]
    Magic,
    /// A skippable frame, which readers may skip or not.
    #[error("it starts with a skippable zstd frame")]
    Skippable,
    /// A bit of the frame's header that the format reserves is set.
    #[error("its zstd frame sets a reserved bit")]
    Reserved,
    /// It needs a dictionary.
    #[error("its zstd frame needs a dictionary")]
    Dictionary,
    /// No content size in the frame's header.
    #[error("its zstd frame does not say its content size")]
    NoContentSize,
    /// No checksum after the frame's content.
    #[error("its zstd frame has no content checksum")]
    NoChecksum,
    /// A window that would cost its reader too much memory.
    #[error("its zstd frame needs a window of {0} bytes; the most is {MAX_WINDOW_BYTES}")]
    Window(u64),
    /// The decompressor refuses the bytes.
    #[error("its zstd frame is damaged: {0}")]
    Corrupt(String),
    /// Something after the frame: a second frame, or bytes of any kind.
    #[error("something follows its zstd frame")]
    Trailing,
}

/// Why bytes are no archive, or cannot be made one.
///
/// Texts from outside are already escaped: entries are named as a [`SkillPath`] spells them.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// Not one zstd frame of the profile.
    #[error("not a skill archive: {0}")]
    Frame(#[from] FrameError),
    /// The compressed bytes go on past [`Bounds::archive_bytes`](super::Bounds::archive_bytes).
    #[error("the archive is over {0} bytes")]
    TooLong(u64),
    /// The unpacked bytes go on past what the manifest or
    /// [`Bounds::unpacked_bytes`](super::Bounds::unpacked_bytes) allows.
    #[error("the archive unpacks to over {0} bytes, which is all that is allowed for it")]
    Bomb(u64),
    /// More files than [`Bounds::files`](super::Bounds::files).
    #[error("the archive holds {files} files; the most is {most}")]
    TooManyFiles {
        /// The files in the manifest.
        files: usize,
        /// The bound.
        most: usize,
    },
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
    /// Another entry stands first than the manifest: another tar's archive, or one packed again.
    #[error("it starts with the entry `{}`, where `{first}` stands first in an archive", escape(.found))]
    OtherStart {
        /// The name in its first header.
        found: String,
        /// The name that belongs there.
        first: &'static str,
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

impl ArchiveError {
    /// The reason as a stable word in `snake_case`: what scripts and problem documents match on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Frame(_) => "archive_frame",
            Self::TooLong(_) => "archive_too_long",
            Self::Bomb(_) => "archive_bomb",
            Self::TooManyFiles { .. } => "archive_too_many_files",
            Self::Truncated { .. } => "archive_truncated",
            Self::Header { .. } | Self::OtherStart { .. } => "archive_header",
            Self::Padding { .. } => "archive_padding",
            Self::Content { .. } => "archive_content",
            Self::Manifest(_) => "archive_manifest",
            Self::Envelope(_) => "archive_signatures",
            Self::OtherSnapshot { .. } => "archive_other_snapshot",
            Self::Io(_) => "archive_io",
        }
    }
}
