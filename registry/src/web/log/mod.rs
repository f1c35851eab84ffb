//! The log: what it says, and a proof of each leaf that is checked with nothing of ours.

mod by_hand;
mod told;

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use skillpkg_schema::log::{Hash, Note, Record, SignatureKind, Subject, leaf_hash};

use self::told::Told;
use super::answer::{Page, for_one};
use super::asked::Asked;
use super::digest::Digest;
use super::frame::{Frame, render};
use super::link;
use super::place::Last;
use super::root::Root;
use super::text::{Text, number};
use super::visitor::Visitor;
use crate::problem::{Answer, Refusal};
use crate::routes::relayed::Passage;
use crate::state::Registry;

/// Leaves on one page.
const ON_PAGE: u64 = 30;

/// A leaf in a list.
#[derive(Debug)]
struct Row {
    number: String,
    link: String,
    told: Told,
}

/// A key that signs the log.
#[derive(Debug)]
struct Key {
    what: &'static str,
    verifier: Text,
}

#[derive(Template)]
#[template(path = "log.html")]
struct LogPage {
    frame: Frame,
    origin: Text,
    leaves: String,
    root: Digest,
    fingerprint: Digest,
    keys: Vec<Key>,
    note: Text,
    base: String,
    rows: Vec<Row>,
    earlier: Option<String>,
    later: Option<String>,
    /// The log that is relayed: its origin, and where it lies.
    relayed: Option<(Text, String)>,
}

#[derive(Template)]
#[template(path = "leaf.html")]
struct LeafPage {
    frame: Frame,
    number: String,
    leaves: String,
    told: Told,
    /// The record, where the leaf alone does not say it.
    record: Option<Text>,
    salt: Option<Text>,
    entry: Text,
    leaf: Digest,
    path: Vec<by_hand::Step>,
    root: Digest,
    note: Text,
    script: Text,
    before: Option<String>,
    after: Option<String>,
}

/// Which leaves.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Wanted {
    before: Option<u64>,
}

/// What the log says, newest first.
pub(super) async fn log(
    State(registry): State<Registry>,
    visitor: Visitor,
    passage: Passage,
    Asked(query): Asked<Wanted>,
    asked: HeaderMap,
) -> Answer<Response> {
    let log = &registry.log;
    let (checkpoint, note) = log.checkpoint().await?;
    let size = checkpoint.size;
    let end = query.before.unwrap_or(size).min(size);
    let start = end.saturating_sub(ON_PAGE);
    let mut rows = Vec::new();
    for index in (start..end).rev() {
        let sealed = log.sealed(index, size, |scope| visitor.caller.reads_scope(scope)).await?;
        let told = match &sealed {
            Some(sealed) => Told::of(&sealed.record),
            None => Told::of(&leaf_of(&log.tiles().entry(index, size).await?)?),
        };
        rows.push(Row { number: number(index), link: link::leaf(index), told });
    }
    let (fingerprint, keys) = log.identity();
    let keys = keys.iter().map(|key| Key {
        what: match key.kind() {
            SignatureKind::Ed25519 => "signs checkpoints",
            SignatureKind::Cosignature => "says when",
        },
        verifier: key.to_string().into(),
    });
    let relayed = passage.log();
    let relayed = relayed.map(|log| (log.origin.into(), format!("/{}/checkpoint", log.prefix)));
    let html = render(&LogPage {
        frame: visitor.frame("The log").at("/log"),
        origin: checkpoint.origin.as_str().into(),
        leaves: number(size),
        root: (&checkpoint.root).into(),
        fingerprint: (&fingerprint).into(),
        keys: keys.collect(),
        note: note.into(),
        base: visitor.base.clone(),
        rows,
        earlier: (start > 0).then(|| format!("/log?before={start}")),
        later: (end < size).then(|| format!("/log?before={}", (end + ON_PAGE).min(size))),
        relayed,
    })?;
    answer(&registry.web.root, &visitor, html, &asked)
}

/// One leaf, and the proof that it is in the log.
pub(super) async fn entry(
    State(registry): State<Registry>,
    visitor: Visitor,
    Last(index): Last,
    asked: HeaderMap,
) -> Answer<Response> {
    let index: u64 = index.parse().map_err(|_| Refusal::not_found())?;
    let log = &registry.log;
    let (checkpoint, note) = log.checkpoint().await?;
    let size = checkpoint.size;
    if index >= size {
        return Err(Refusal::not_found());
    }
    let entry = log.tiles().entry(index, size).await?;
    let proof: Vec<Hash> = log.inclusion(index, size, size).await?;
    let leaf = leaf_of(&entry)?;
    let sealed = log.sealed(index, size, |scope| visitor.caller.reads_scope(scope)).await?;
    let is_blinded = matches!(leaf.subject, Subject::Blinded { .. });
    let (record, salt) = match &sealed {
        Some(sealed) if is_blinded => {
            let record = String::from_utf8(sealed.record.to_bytes()).unwrap_or_default();
            (Some(record.into()), sealed.salt.as_ref().map(|salt| salt.to_string().into()))
        }
        _ => (None, None),
    };
    let (_, keys) = log.identity();
    let key = keys.iter().find(|key| key.kind() == SignatureKind::Ed25519);
    let signed = Note::from_bytes(note.as_bytes()).map_err(|error| Refusal::internal(&error))?;
    let path = by_hand::steps(index, size, &proof);
    let script = by_hand::script(index, &checkpoint, &entry, &path, key, &signed);
    let html = render(&LeafPage {
        frame: visitor.frame(format!("Leaf {index}")).at(link::leaf(index)).unlisted(),
        number: number(index),
        leaves: number(size),
        told: Told::of(sealed.as_ref().map_or(&leaf, |sealed| &sealed.record)),
        record,
        salt,
        leaf: (&leaf_hash(&entry)).into(),
        entry: String::from_utf8_lossy(&entry).into_owned().into(),
        path,
        root: (&checkpoint.root).into(),
        note: note.into(),
        script: script.into(),
        before: index.checked_sub(1).map(link::leaf),
        after: (index + 1 < size).then(|| link::leaf(index + 1)),
    })?;
    answer(&registry.web.root, &visitor, html, &asked)
}

fn leaf_of(entry: &[u8]) -> Answer<Record> {
    Record::from_bytes(entry).map_err(|error| Refusal::internal(&error))
}

fn answer(root: &Root, visitor: &Visitor, html: String, asked: &HeaderMap) -> Answer<Response> {
    if visitor.is_anybody() {
        return Ok(Page::new(root, html)?.for_anybody(asked));
    }
    Ok(for_one(root, axum::http::StatusCode::OK, html))
}
