//! What differs in the files of two skills.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use skillpkg_schema::manifest::{FileEntry, Mode};
use skillpkg_schema::{Sha256Digest, SkillPath};

use super::side::Side;
use super::text::{Grain, Hunk, Until, hunks};
use crate::Error;

/// Most bytes of text of one file that are told.
const MOST_OF_FILE: usize = 64 * 1024;
/// Most bytes of text of all files that are told.
const MOST_OF_ALL: usize = 1024 * 1024;
/// What a piece costs beside its text: what is told of many short ones is long too.
const PIECE: usize = 32;
/// How long the shortest differences of all texts are looked for.
const PATIENCE: Duration = Duration::from_secs(3);
/// Ends of names of files that are prose, in lower case.
const PROSE: [&str; 4] = ["md", "markdown", "mdx", "txt"];

/// A file as one side has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileState {
    /// Whether it is executable.
    pub mode: Mode,
    /// Its length in bytes.
    pub size: u64,
    /// SHA-256 of its bytes.
    pub sha256: Sha256Digest,
}

/// How the bytes of a file are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// They are the same: its mode alone differs.
    Same,
    /// As lines.
    Lines,
    /// As lines in which words differ.
    Words,
    /// Not at all: they are no text.
    Binary,
    /// Not at all: they are too many.
    TooLong,
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// The file.
    pub path: SkillPath,
    /// As it was; absent where it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<FileState>,
    /// As it is; absent where it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<FileState>,
    /// How its bytes are told.
    pub content: Content,
    /// What differs in its text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<Hunk>,
    /// Whether more differs than is told.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// The files that differ, sorted by path.
pub(super) fn changed(before: &Side, after: &Side) -> Result<Vec<FileChange>, Error> {
    let (olds, news) = (&before.manifest.files, &after.manifest.files);
    let paths: BTreeSet<&SkillPath> = olds.iter().chain(news).map(|file| &file.path).collect();
    let (mut room, until) = (MOST_OF_ALL, Until::after(PATIENCE));
    let mut changed = Vec::new();
    for path in paths {
        let old = before.manifest.file(path.as_str());
        let new = after.manifest.file(path.as_str());
        let mut change = FileChange {
            path: path.clone(),
            before: old.map(state),
            after: new.map(state),
            content: Content::Same,
            hunks: Vec::new(),
            cut: false,
        };
        if change.before == change.after {
            continue;
        }
        if old.map(|file| file.sha256) != new.map(|file| file.sha256) {
            let (old, new) = (bytes(before, old)?, bytes(after, new)?);
            tell(&mut change, old, new, &mut room, until);
        }
        changed.push(change);
    }
    Ok(changed)
}

fn state(entry: &FileEntry) -> FileState {
    FileState { mode: entry.mode, size: entry.size, sha256: entry.sha256 }
}

/// The bytes of a file, none where there is no file; [`None`] where it is too long to be compared.
fn bytes(side: &Side, entry: Option<&FileEntry>) -> Result<Option<Vec<u8>>, Error> {
    entry.map_or(Ok(Some(Vec::new())), |entry| side.read(entry))
}

/// Compares bytes within what is left of the room.
fn tell(
    change: &mut FileChange,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    room: &mut usize,
    until: Until,
) {
    let (Some(before), Some(after)) = (before, after) else {
        change.content = Content::TooLong;
        return;
    };
    let (Some(before), Some(after)) = (text(&before), text(&after)) else {
        change.content = Content::Binary;
        return;
    };
    let is_prose = Path::new(change.path.as_str())
        .extension()
        .is_some_and(|extension| PROSE.iter().any(|one| extension.eq_ignore_ascii_case(one)));
    let (grain, content) =
        if is_prose { (Grain::Words, Content::Words) } else { (Grain::Lines, Content::Lines) };
    change.content = content;
    if *room == 0 {
        change.cut = true;
        return;
    }
    let mut left = MOST_OF_FILE.min(*room);
    let all = hunks(before, after, grain, until);
    *room -= left;
    for mut hunk in all {
        let whole = hunk.pieces.len();
        hunk.pieces.retain(|piece| {
            let cost = piece.text.len() + PIECE;
            let fits = cost <= left;
            left = if fits { left - cost } else { 0 };
            fits
        });
        change.cut |= hunk.pieces.len() < whole;
        if !hunk.pieces.is_empty() {
            change.hunks.push(hunk);
        }
    }
    *room += left;
}

/// The text that bytes are; [`None`] for what is no text.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}
