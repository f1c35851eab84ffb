//! The page of a skill: what it can run before what it says.

mod notices;
mod provenance;
mod runs;
mod versions;

use askama::Template;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use skillpkg_schema::manifest::Mode;
use skillpkg_schema::wire::VersionEntry;
use skillpkg_schema::{Manifest, QualifiedName, Version};

use self::notices::Notice;
use self::provenance::Provenance;
use self::runs::Runs;
pub(super) use self::runs::{Word, words_of};
use self::versions::VersionRow;
use super::answer::{Page, for_one};
use super::asked::Asked;
use super::cache::Key;
use super::content::{Found, Reader};
use super::findings::Findings;
use super::frame::{Frame, render};
use super::install::{Wanted, Way};
use super::link;
use super::place::{OfSkill, OfVersion};
use super::prose::Prose;
use super::text::{Text, number, size};
use crate::problem::{Answer, Refusal};

/// Files that the page of a skill lists.
const MOST_FILES: usize = 40;
/// Versions that it lists.
const MOST_VERSIONS: usize = 8;
/// About how many bytes the page of a skill has; with what it loads a first view is below 100 kB.
const MOST_HTML: usize = 50 * 1000;
/// How much of it the prose has at least.
const LEAST_PROSE: usize = 6 * 1024;
/// Longest `SKILL.md` that is read for a page.
const MOST_SOURCE: u64 = 1024 * 1024;

/// Versions that a form offers.
pub(super) const MOST_CHOICES: usize = 100;

/// A file in a list.
#[derive(Debug, Clone)]
pub(super) struct FileRow {
    pub(super) path: Text,
    pub(super) link: String,
    pub(super) size: String,
    pub(super) is_executable: bool,
}

impl FileRow {
    /// The files of a version, at most so many.
    pub(super) fn of(manifest: &Manifest, most: usize) -> Vec<Self> {
        let rows = manifest.files.iter().take(most).map(|file| Self {
            path: file.path.as_str().into(),
            link: link::file(&manifest.name, &manifest.version, file.path.as_str()),
            size: size(file.size),
            is_executable: file.mode == Mode::Executable,
        });
        rows.collect()
    }
}

/// What each page about a version says at its top.
#[derive(Debug)]
pub(super) struct Head {
    /// The scope, where there is one.
    pub(super) scope: Option<String>,
    /// Its page, where it is a scope of this registry.
    pub(super) scope_link: Option<String>,
    /// The name within it.
    pub(super) bare: String,
    /// The page of the skill.
    pub(super) link: String,
    /// The version.
    pub(super) version: String,
    /// The page of the version.
    pub(super) version_link: String,
    /// Whether that is the one that an install takes.
    pub(super) is_newest: bool,
    /// Whether members alone see it.
    pub(super) private: bool,
}

impl Head {
    pub(super) fn of(found: &Found, entry: &VersionEntry) -> Self {
        let name = &found.document().name;
        let newest = found.newest().map(|newest| &newest.version);
        Self {
            scope: name.scope().map(ToString::to_string),
            scope_link: name
                .scope()
                .filter(|_| found.is_own)
                .map(|scope| format!("/scopes/{scope}")),
            bare: name.name().to_string(),
            link: link::skill(name),
            version: entry.version.to_string(),
            version_link: link::version(name, &entry.version),
            is_newest: newest == Some(&entry.version),
            private: found.document().private,
        }
    }
}

#[derive(Template)]
#[template(path = "skill.html")]
struct SkillPage {
    frame: Frame,
    head: Head,
    description: Text,
    notices: Vec<Notice>,
    provenance: Provenance,
    runs: Runs,
    findings: Findings,
    prose: Prose,
    files: Vec<FileRow>,
    files_in_all: usize,
    unpacked: String,
    versions: Vec<VersionRow>,
    versions_in_all: usize,
    compare: Option<String>,
    ways: Vec<Way>,
    exactly: String,
    license: Option<Text>,
}

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    frame: Frame,
    head: Head,
    runs: Runs,
}

#[derive(Template)]
#[template(path = "versions.html")]
struct VersionsPage {
    frame: Frame,
    head: Head,
    versions: Vec<VersionRow>,
    versions_in_all: usize,
    earlier: Option<String>,
    choices: Vec<String>,
    deleted: Vec<(String, Text, String)>,
}

/// What a list goes on from.
#[derive(Debug, Default, Deserialize)]
pub(super) struct From {
    #[serde(default)]
    pub(super) from: usize,
}

/// The version that an install takes.
pub(super) async fn newest(
    reader: Reader,
    OfSkill(name): OfSkill,
    asked: HeaderMap,
) -> Answer<Response> {
    let found = reader.skill(&name).await?;
    let entry = found.newest().ok_or_else(Refusal::not_found)?;
    let page = skill_page(&reader, &found, entry);
    answer(&reader, &found, link::skill(&name), page, &asked).await
}

/// One version.
pub(super) async fn version(
    reader: Reader,
    OfVersion(name, version): OfVersion,
    asked: HeaderMap,
) -> Answer<Response> {
    let found = reader.skill(&name).await?;
    let entry = found.version(&version)?;
    let page = skill_page(&reader, &found, entry);
    answer(&reader, &found, link::version(&name, &version), page, &asked).await
}

/// Everything that one version can run.
pub(super) async fn runs(
    reader: Reader,
    OfVersion(name, version): OfVersion,
    asked: HeaderMap,
) -> Answer<Response> {
    let found = reader.skill(&name).await?;
    let entry = found.version(&version)?;
    let path = format!("{}/runs", link::version(&name, &version));
    let page = async {
        let manifest = reader.manifest(&entry.address).await?;
        let frame = reader.visitor.frame(format!("What {name} {version} can run"));
        let runs = Runs::of(&manifest, usize::MAX);
        render(&RunsPage {
            frame: frame.at(path.clone()).unlisted(),
            head: Head::of(&found, entry),
            runs,
        })
    };
    answer(&reader, &found, path.clone(), page, &asked).await
}

/// Every version of a skill.
pub(super) async fn versions(
    reader: Reader,
    OfSkill(name): OfSkill,
    Asked(From { from }): Asked<From>,
    asked: HeaderMap,
) -> Answer<Response> {
    const MOST: usize = 40;
    let found = reader.skill(&name).await?;
    let entry = found.newest().ok_or_else(Refusal::not_found)?;
    let path = format!("{}/versions", link::skill(&name));
    let page = async {
        let rows = VersionRow::of(&found, None);
        let versions_in_all = rows.len();
        let next = from.saturating_add(MOST);
        let document = &found.document();
        let deleted = document.deleted.iter().map(|deleted| {
            (
                deleted.version.to_string(),
                Text::from(deleted.reason.as_str()),
                day(&deleted.deleted),
            )
        });
        render(&VersionsPage {
            frame: reader.visitor.frame(format!("Versions of {name}")).at(path.clone()),
            head: Head::of(&found, entry),
            versions: rows.into_iter().skip(from).take(MOST).collect(),
            versions_in_all,
            earlier: (next < versions_in_all).then(|| format!("{path}?from={next}")),
            choices: found
                .by_age()
                .iter()
                .take(MOST_CHOICES)
                .map(|one| one.version.to_string())
                .collect(),
            deleted: deleted.take(MOST).collect(),
        })
    };
    answer(&reader, &found, format!("{path}?from={from}"), page, &asked).await
}

/// Answers with a page about a skill: to whoever is nobody in particular with the one that is ready.
pub(super) async fn answer(
    reader: &Reader,
    found: &Found,
    path: String,
    page: impl Future<Output = Answer<String>>,
    asked: &HeaderMap,
) -> Answer<Response> {
    let pages = &reader.asker.registry.web.pages;
    // What members alone see is in no store of pages.
    if found.document().private || !reader.visitor.is_anybody() {
        let html = pages.render(page).await?;
        return Ok(for_one(&reader.asker.registry.web.root, axum::http::StatusCode::OK, html));
    }
    let key = Key { base: reader.visitor.base.clone(), path, document: found.digest };
    let page: Page = pages.get(&key, page).await?;
    Ok(page.for_anybody(asked))
}

async fn skill_page(reader: &Reader, found: &Found, entry: &VersionEntry) -> Answer<String> {
    let name = &found.document().name;
    let manifest = reader.manifest(&entry.address).await?;
    let findings = Findings::of(reader, &manifest, entry).await?;
    let source = match manifest.file("SKILL.md") {
        Some(file) => reader.file(file, MOST_SOURCE).await?,
        None => None,
    };
    let rows = VersionRow::of(found, Some(&entry.version));
    let head = Head::of(found, entry);
    let before = found.before(&entry.version);
    let base = reader.visitor.base.as_str();
    let (is_newest, private) = (head.is_newest, head.private);
    let wanted = Wanted { name, entry, is_newest, private, base };
    let ways = wanted.ways(&reader.asker.registry).await?;
    let mut page = SkillPage {
        frame: reader.visitor.frame(name.to_string()).at(link::version(name, &entry.version)),
        description: manifest.description.as_str().into(),
        notices: notices::of(found, entry),
        provenance: Provenance::of(found, entry),
        runs: Runs::of(&manifest, runs::MOST_HTML),
        findings,
        prose: Prose::default(),
        files: FileRow::of(&manifest, MOST_FILES),
        files_in_all: manifest.files.len(),
        unpacked: size(manifest.unpacked_size()),
        versions_in_all: rows.len(),
        versions: around(rows, &entry.version),
        compare: before.map(|before| link::difference(name, &before.version, &entry.version)),
        ways,
        exactly: format!("skillpkg install {name}@{} --registry {base}", entry.address),
        license: manifest.license.as_deref().map(Text::from),
        head,
    };
    // The prose has the room that all else leaves.
    let room = MOST_HTML.saturating_sub(render(&page)?.len()).max(LEAST_PROSE);
    let rendered = tokio::task::spawn_blocking(move || {
        let source = source.unwrap_or_default();
        Prose::of(&String::from_utf8_lossy(&source), &manifest, room)
    });
    page.prose = rendered.await.map_err(|error| Refusal::internal(&error))?;
    render(&page)
}

/// The versions about the one that is shown, newest first.
fn around(rows: Vec<VersionRow>, version: &Version) -> Vec<VersionRow> {
    let text = version.to_string();
    let at = rows.iter().position(|row| row.version == text).unwrap_or(0);
    let first = at.saturating_sub(MOST_VERSIONS / 2).min(rows.len().saturating_sub(MOST_VERSIONS));
    rows.into_iter().skip(first).take(MOST_VERSIONS).collect()
}

/// The day of a time as the registry writes it.
pub(super) fn day(time: &str) -> String {
    time.get(..10).unwrap_or(time).to_owned()
}

/// A skill's name in words, for titles.
pub(super) fn titled(name: &QualifiedName, version: &Version) -> String {
    format!("{name} {version}")
}

/// A leaf's index in words.
pub(super) fn leaf_number(index: u64) -> String {
    number(index)
}
