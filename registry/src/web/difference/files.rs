//! Which files of two versions differ, and how their texts do.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use skillpkg_schema::Manifest;
use skillpkg_schema::manifest::FileEntry;

use super::words::{self, Style};
use crate::problem::{Answer, Refusal};
use crate::web::content::Reader;
use crate::web::link;
use crate::web::text::{Markup, Text, size};

/// Files that are listed.
const MOST_LISTED: usize = 60;
/// Files of which the texts are compared.
const MOST_TEXTS: usize = 20;
/// Longest file that is compared.
const MOST_BYTES: u64 = 256 * 1024;
/// Most bytes that are compared, of both sides together.
const MOST_ALL_BYTES: u64 = 2 * 1024 * 1024;
/// About how many bytes of HTML the texts take.
const MOST_HTML: usize = 18 * 1024;
/// How long texts are compared: what is not found out by then is told as replaced.
const LONGEST: Duration = Duration::from_millis(600);

/// A file that differs.
#[derive(Debug)]
pub(super) struct Changed {
    /// `added`, `removed` or `changed`.
    pub(super) how: &'static str,
    pub(super) path: Text,
    pub(super) link: String,
    /// Its length, and what it was.
    pub(super) size: String,
}

/// How the text of a file differs.
#[derive(Debug)]
pub(super) struct Texts {
    pub(super) path: Text,
    pub(super) link: String,
    pub(super) how: &'static str,
    /// The places that differ.
    pub(super) hunks: Markup,
    /// What is said in their place.
    pub(super) note: Option<&'static str>,
}

type Pair<'m> = (Option<&'m FileEntry>, Option<&'m FileEntry>);

/// The files that differ, `SKILL.md` first.
fn changed<'m>(was: &'m Manifest, is: &'m Manifest) -> Vec<Pair<'m>> {
    let mut pairs: BTreeMap<(bool, &str), Pair<'m>> = BTreeMap::new();
    let key = |file: &'m FileEntry| (file.path.as_str() != "SKILL.md", file.path.as_str());
    for file in &was.files {
        pairs.entry(key(file)).or_default().0 = Some(file);
    }
    for file in &is.files {
        pairs.entry(key(file)).or_default().1 = Some(file);
    }
    let differs = |(old, new): &Pair<'_>| {
        old.map(|file| (file.sha256, file.mode)) != new.map(|file| (file.sha256, file.mode))
    };
    pairs.into_values().filter(differs).collect()
}

fn how((old, new): Pair<'_>) -> &'static str {
    match (old, new) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "changed",
    }
}

fn place(was: &Manifest, is: &Manifest, (old, new): Pair<'_>) -> (Text, String) {
    let (manifest, file) = match (old, new) {
        (_, Some(file)) => (is, file),
        (Some(file), None) => (was, file),
        (None, None) => return (Text::from(""), String::new()),
    };
    let path = file.path.as_str();
    (path.into(), link::file(&manifest.name, &manifest.version, path))
}

/// The files that differ, and how many more do than are told.
pub(super) fn compare(was: &Manifest, is: &Manifest) -> (Vec<Changed>, usize) {
    let all = changed(was, is);
    let more = all.len().saturating_sub(MOST_LISTED);
    let row = |pair: Pair<'_>| {
        let (path, link) = place(was, is, pair);
        let size = match pair {
            (Some(old), Some(new)) if old.sha256 == new.sha256 => "mode alone".to_owned(),
            (Some(old), Some(new)) => format!("{}, was {}", size(new.size), size(old.size)),
            (Some(one), None) | (None, Some(one)) => size(one.size),
            (None, None) => String::new(),
        };
        Changed { how: how(pair), path, link, size }
    };
    (all.into_iter().take(MOST_LISTED).map(row).collect(), more)
}

struct Loaded {
    path: Text,
    link: String,
    how: &'static str,
    style: Style,
    /// [`None`] where they are too long.
    both: Option<(Bytes, Bytes)>,
}

/// How the texts of the files differ, as far as there is room and time.
pub(super) async fn texts(reader: &Reader, was: &Manifest, is: &Manifest) -> Answer<Vec<Texts>> {
    let mut room = MOST_ALL_BYTES;
    let mut loaded = Vec::new();
    for pair in changed(was, is).into_iter().take(MOST_TEXTS) {
        if let (Some(old), Some(new)) = pair
            && old.sha256 == new.sha256
        {
            continue;
        }
        let (path, link) = place(was, is, pair);
        let load = async |file: Option<&FileEntry>, room: u64| match file {
            Some(file) => reader.file(file, MOST_BYTES.min(room)).await,
            None => Ok(Some(Bytes::new())),
        };
        let old = load(pair.0, room).await?;
        room -= old.as_ref().map_or(0, |bytes| bytes.len() as u64);
        let new = load(pair.1, room).await?;
        room -= new.as_ref().map_or(0, |bytes| bytes.len() as u64);
        let name = pair.1.or(pair.0).map_or("", |file| file.path.as_str());
        let is_prose = name.to_ascii_lowercase().ends_with(".md");
        let style = if is_prose { Style::Words } else { Style::Lines };
        loaded.push(Loaded { path, link, how: how(pair), style, both: old.zip(new) });
    }
    let compared = tokio::task::spawn_blocking(move || {
        let deadline = Instant::now() + LONGEST;
        let mut room = MOST_HTML;
        loaded.into_iter().map(|one| compared(one, &mut room, deadline)).collect::<Vec<_>>()
    });
    compared.await.map_err(|error| Refusal::internal(&error))
}

fn compared(loaded: Loaded, room: &mut usize, deadline: Instant) -> Texts {
    let Loaded { path, link, how, style, both } = loaded;
    let told = |hunks, note| Texts { path, link, how, hunks, note };
    let nothing = Markup::default;
    let Some((old, new)) = both else {
        return told(nothing(), Some("It is too long to be compared here."));
    };
    let (Ok(old), Ok(new)) = (std::str::from_utf8(&old), std::str::from_utf8(&new)) else {
        return told(nothing(), Some("It is no text."));
    };
    if old.contains('\0') || new.contains('\0') {
        return told(nothing(), Some("It is no text."));
    }
    if *room == 0 {
        return told(nothing(), Some("There is more than this page shows: read the file itself."));
    }
    let hunks = words::hunks(old, new, style, *room, deadline);
    *room = room.saturating_sub(hunks.html.len());
    let note = hunks.is_cut.then_some("There is more than this page shows: read the file itself.");
    told(Markup(hunks.html), note)
}
