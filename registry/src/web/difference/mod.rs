//! What differs between two versions: first what they can run, then their files.

mod files;
mod runs;
mod words;

use askama::Template;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use skillpkg_schema::Version;

use self::files::{Changed, Texts};
use self::runs::Row;
use super::answer::see;
use super::asked::Asked;
use super::content::Reader;
use super::digest::Digest;
use super::frame::{Frame, render};
use super::link;
use super::place::{OfSkill, OfTwo};
use super::skill::{self, Head};
use crate::problem::{Answer, Refusal};

/// One side.
#[derive(Debug)]
struct Side {
    version: String,
    link: String,
    address: Digest,
    published: String,
}

#[derive(Template)]
#[template(path = "difference.html")]
struct DifferencePage {
    frame: Frame,
    head: Head,
    from: Side,
    to: Side,
    choices: Vec<String>,
    rows: Vec<Row>,
    rows_more: usize,
    files: Vec<Changed>,
    files_more: usize,
    texts: Vec<Texts>,
    swapped: String,
}

/// Which two; none where nothing was chosen.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Chosen {
    from: String,
    to: String,
}

/// Goes to the difference that was chosen in a form; of none, to what the newest version changed, or to
/// the skill where it is the only one.
pub(super) async fn choose(
    reader: Reader,
    OfSkill(name): OfSkill,
    Asked(chosen): Asked<Chosen>,
) -> Answer<Response> {
    let found = reader.skill(&name).await?;
    let version = |text: &str| text.parse::<Version>().map_err(|_| Refusal::not_found());
    let to = if chosen.from.is_empty() && chosen.to.is_empty() {
        match *found.by_age() {
            [newest, before, ..] => link::difference(&name, &before.version, &newest.version),
            _ => link::skill(&name),
        }
    } else {
        link::difference(&name, &version(&chosen.from)?, &version(&chosen.to)?)
    };
    Ok(see(&reader.asker.registry.web.root, &to))
}

/// What differs between two versions.
pub(super) async fn show(
    reader: Reader,
    OfTwo(name, from, to): OfTwo,
    asked: HeaderMap,
) -> Answer<Response> {
    let found = reader.skill(&name).await?;
    let (old, new) = (found.version(&from)?, found.version(&to)?);
    let path = link::difference(&name, &from, &to);
    let page = async {
        let was = reader.manifest(&old.address).await?;
        let is = reader.manifest(&new.address).await?;
        let (rows, rows_more) = runs::compare(&found, (old, &was), (new, &is));
        let (files, files_more) = files::compare(&was, &is);
        let texts = files::texts(&reader, &was, &is).await?;
        let side = |entry: &skillpkg_schema::wire::VersionEntry| Side {
            version: entry.version.to_string(),
            link: link::version(&name, &entry.version),
            address: (&entry.address).into(),
            published: skill::day(&entry.published),
        };
        render(&DifferencePage {
            frame: reader
                .visitor
                .frame(format!("{name}: {from} to {to}"))
                .at(path.clone())
                .unlisted(),
            head: Head::of(&found, new),
            from: side(old),
            to: side(new),
            choices: found
                .by_age()
                .iter()
                .take(skill::MOST_CHOICES)
                .map(|one| one.version.to_string())
                .collect(),
            rows,
            rows_more,
            files,
            files_more,
            texts,
            swapped: link::difference(&name, &to, &from),
        })
    };
    skill::answer(&reader, &found, path.clone(), page, &asked).await
}
