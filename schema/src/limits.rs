//! The bounds of what is read, packed and unpacked. Sources: the design's manifest section and the
//! contract rules.

/// Most bytes of a packed archive.
pub const MAX_ARCHIVE_BYTES: u64 = 50 * 1024 * 1024;
/// Most bytes of all files of a snapshot together.
pub const MAX_UNPACKED_BYTES: u64 = 256 * 1024 * 1024;
/// Most files of a snapshot.
pub const MAX_FILES: usize = 5_000;
/// Most parts of a path.
pub const MAX_PATH_DEPTH: usize = 16;
/// Most bytes of a path.
pub const MAX_PATH_BYTES: usize = 255;
/// Most bytes of one part of a path.
pub const MAX_PATH_PART_BYTES: usize = 100;
/// Most bytes of a `SKILL.md`.
pub const MAX_SKILL_FILE_BYTES: u64 = 1024 * 1024;
/// Most characters of a description that a registry takes: its documents carry it.
pub const MAX_DESCRIPTION_CHARACTERS: usize = 4_096;
/// Most bytes of a `skill.json`.
pub const MAX_CAPABILITY_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Most bytes of a contract's schema as given.
pub const MAX_CONTRACT_BYTES: usize = 262_144;
/// Most bytes of a manifest: 5,000 files with the longest of paths take 2.5 MiB.
pub const MAX_MANIFEST_BYTES: usize = 4 * 1024 * 1024;
/// Most values in a manifest, counted as commas, colons and opening brackets. 5,000 files are some
/// 55,000; a text of two bytes a value would cost many times its length in memory.
pub const MAX_MANIFEST_VALUES: usize = 100_000;
/// Most bytes of a signature envelope.
pub const MAX_ENVELOPE_BYTES: usize = 64 * 1024;
/// Most bytes of arguments of one call.
pub const MAX_ARGUMENT_BYTES: usize = 1024 * 1024;
