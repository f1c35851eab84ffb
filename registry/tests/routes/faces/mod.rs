//! The faces: what clients of other people's protocols are answered.

mod agent_skills;
mod apm;
mod clawhub;
mod held;
mod many_skills;
mod rendering;
mod withdrawn;

use std::io::{Cursor, Write as _};

use reqwest::{Method, Response, StatusCode};
use skillpkg_registry::faces::{Face, Faces};
use skillpkg_registry::state::Options;

use crate::support::TestRegistry;

/// Options of a registry with these faces off.
fn without(off: &[Face]) -> Options {
    Options { faces: Faces { off: off.to_vec(), ..Faces::default() }, ..Options::default() }
}

fn read_only() -> Options {
    Options { faces: Faces { read_only: true, ..Faces::default() }, ..Options::default() }
}

/// A zip of these files.
fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = skillpkg_registry::faces::zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (path, text) in files {
        let mode = if text.starts_with("#!") { 0o755 } else { 0o644 };
        zip.file(path, mode, &mut text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// The files of a zip, by path.
fn unzipped(bytes: &[u8]) -> Vec<(String, bool, Vec<u8>)> {
    use skillpkg_registry::faces::unzip::{Bounds, unzip};
    let mut files = Vec::new();
    unzip(&mut Cursor::new(bytes), Bounds::default(), &mut |path, executable, content| {
        let mut bytes = Vec::new();
        std::io::copy(content, &mut bytes)?;
        files.push((path.to_owned(), executable, bytes));
        Ok(())
    })
    .unwrap();
    files
}

/// The files of a gzipped tar, by path.
fn untarred(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut tar = flate2::write::GzDecoder::new(Vec::new());
    tar.write_all(bytes).unwrap();
    let tar = tar.finish().unwrap();
    let (mut files, mut rest) = (Vec::new(), tar.as_slice());
    while rest[0] != 0 {
        let (header, behind) = rest.split_at(512);
        let text = |range: std::ops::Range<usize>| {
            let bytes: Vec<u8> = header[range].iter().copied().take_while(|b| *b != 0).collect();
            String::from_utf8(bytes).unwrap()
        };
        let (name, prefix) = (text(0..100), text(345..500));
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        let size = usize::from_str_radix(&text(124..135), 8).unwrap();
        files.push((path, behind[..size].to_vec()));
        rest = &behind[size.div_ceil(512) * 512..];
    }
    files
}

/// The plain text of an error of this status and code.
async fn plain(response: Response, status: u16, code: &str) -> String {
    let kind = response.headers()["content-type"].clone();
    let found = response.headers().get("skillpkg-code").cloned();
    let (got, text) = (response.status().as_u16(), response.text().await.unwrap());
    assert_eq!((got, kind.as_bytes()), (status, &b"text/plain; charset=utf-8"[..]), "{text}");
    assert_eq!(found.unwrap(), code, "{text}");
    text
}

#[tokio::test]
async fn a_face_that_is_off_answers_as_what_is_not_there_on_every_path_and_method() {
    let registry = TestRegistry::start_with(without(&Face::ALL)).await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "open", "1.0.0").await;
    let absent = async |method: Method, path: &str| {
        let answer = registry.request(method, path, Some(&ana.token)).send().await.unwrap();
        let mut headers = answer.headers().clone();
        headers.remove("date");
        headers.remove("x-request-id");
        (answer.status(), headers, answer.bytes().await.unwrap())
    };
    let nothing = absent(Method::GET, "/nothing").await;
    assert_eq!(nothing.0, StatusCode::NOT_FOUND);
    let paths = skillpkg_registry::access::TABLE.iter().map(|row| row.path);
    for path in paths.filter(|path| Face::of_path(path).is_some()) {
        let path =
            path.replace("{scope}", "_").replace("{name}", "open").replace("{version}", "1.0.0");
        for method in [Method::GET, Method::PUT, Method::POST, Method::PATCH, Method::DELETE] {
            assert_eq!(absent(method.clone(), &path).await, nothing, "{method} {path}");
        }
    }
    assert_eq!(registry.get("/v1/skills/_/open", None).await.status(), 200);
}
