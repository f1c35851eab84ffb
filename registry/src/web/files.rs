//! The files of a version, read in place.

mod source;

use askama::Template;
use axum::http::HeaderMap;
use axum::response::Response;
use skillpkg_schema::manifest::Mode;

use self::source::{Shown, window};
use super::asked::Asked;
use super::content::Reader;
use super::digest::Digest;
use super::findings::{self, Told};
use super::frame::{Frame, render};
use super::link;
use super::place::{OfFile, OfVersion};
use super::skill::{self, FileRow, From, Head, titled};
use super::text::{Text, size};
use crate::problem::{Answer, Refusal};

/// Files on one page.
const MOST_FILES: usize = 250;
/// Most bytes of a file that are read for a page.
const MOST_BYTES: u64 = 1024 * 1024;

#[derive(Template)]
#[template(path = "files.html")]
struct FilesPage {
    frame: Frame,
    head: Head,
    files: Vec<FileRow>,
    files_in_all: usize,
    unpacked: String,
    next: Option<String>,
}

#[derive(Template)]
#[template(path = "file.html")]
struct FilePage {
    frame: Frame,
    head: Head,
    path: Text,
    size: String,
    is_executable: bool,
    sha256: Digest,
    blake3: Digest,
    shown: Shown,
    findings: Vec<Told>,
    /// Whether the file is longer than what is read of it.
    is_long: bool,
    before: Option<String>,
    after: Option<String>,
    cat: Text,
    blob: Option<String>,
}

/// The files of a version.
pub(super) async fn list(
    reader: Reader,
    OfVersion(name, version): OfVersion,
    Asked(From { from }): Asked<From>,
    asked: HeaderMap,
) -> Answer<Response> {
    let found = reader.skill(&name).await?;
    let entry = found.version(&version)?;
    let path = format!("{}/files", link::version(&name, &version));
    let page = async {
        let manifest = reader.manifest(&entry.address).await?;
        let next = from.saturating_add(MOST_FILES);
        let title = format!("Files of {}", titled(&name, &version));
        render(&FilesPage {
            frame: reader.visitor.frame(title).at(path.clone()).unlisted(),
            head: Head::of(&found, entry),
            files: FileRow::of(&manifest, next).into_iter().skip(from).collect(),
            files_in_all: manifest.files.len(),
            unpacked: size(manifest.unpacked_size()),
            next: (next < manifest.files.len()).then(|| format!("{path}?from={next}")),
        })
    };
    skill::answer(&reader, &found, format!("{path}?from={from}"), page, &asked).await
}

/// One file, with its lines numbered.
pub(super) async fn file(
    reader: Reader,
    OfFile(name, version, path): OfFile,
    Asked(From { from }): Asked<From>,
    asked: HeaderMap,
) -> Answer<Response> {
    let from = from.max(1);
    let found = reader.skill(&name).await?;
    let entry = found.version(&version)?;
    let at = link::file(&name, &version, &path);
    let page = async {
        let manifest = reader.manifest(&entry.address).await?;
        let file = manifest.file(&path).ok_or_else(Refusal::not_found)?;
        let bytes = reader.start_of_file(file, MOST_BYTES).await?;
        let (of, number, whole) = (name.clone(), version.clone(), file.path.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let found = findings::in_file(&of, &number, &whole, &bytes);
            let lines: Vec<u32> = found.iter().filter_map(|one| one.line).collect();
            (window(&bytes, from, &lines), found)
        });
        let (shown, findings) = looked.await.map_err(|error| Refusal::internal(&error))?;
        let blob = format!("/v1/blobs/sha256:{}", file.sha256);
        let page_at = |line: usize| format!("{at}?from={line}");
        render(&FilePage {
            frame: reader
                .visitor
                .frame(format!("{path} · {}", titled(&name, &version)))
                .at(at.clone())
                .unlisted(),
            head: Head::of(&found, entry),
            path: path.as_str().into(),
            size: size(file.size),
            is_executable: file.mode == Mode::Executable,
            sha256: (&file.sha256).into(),
            blake3: (&file.blake3.address()).into(),
            findings,
            is_long: file.size > MOST_BYTES,
            before: (shown.first > 1).then(|| page_at(shown.before)),
            after: shown.after.map(page_at),
            shown,
            cat: format!("skillpkg cat {name}@={version} {}", shell(&path)).into(),
            // What members alone may read is no answer to a browser's cookie.
            blob: (!found.document().private).then_some(blob),
        })
    };
    skill::answer(&reader, &found, format!("{at}?from={from}"), page, &asked).await
}

/// A path as a shell is told it.
fn shell(path: &str) -> String {
    let is_plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte));
    if is_plain { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}
