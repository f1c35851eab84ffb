//! Entries and files with names that mean something else somewhere.

use std::io;

use super::Corpus;
use super::sample::TAIL;
use super::tar::Header;

/// The group and the names in it, as bytes.
const NAMES: [(&str, &[&[u8]]); 9] = [
    ("path-climbs", &[b"../evil", b"a/../../evil", b"a/./../..//x", b"..", b"a/..", b"./x"]),
    ("path-absolute", &[b"/etc/cron.d/evil", b"//server/share", b"C:/evil", b"c:evil"]),
    ("path-backslash", &[br"a\..\..\b", br"a\b", br"\\server\share"]),
    (
        "path-characters",
        &[
            b"nul\0byte",
            b"bell\x07",
            b"line\nbreak",
            b"next\xc2\x85line",
            b"delete\x7f",
            b"invalid\xff",
            b"cut\xe2\x82",
            b"surrogate\xed\xa0\x80",
            b"overlong\xc0\xae",
            b" leading",
            b"trailing ",
            b"dot.",
            b"dir./x",
            b"colon:stream",
        ],
    ),
    (
        "path-terminal",
        &[
            b"\x1b[2J\x1b[31mred",
            b"\x1b]8;;http://x\x1b\\link",
            b"\xc2\x9b31mc1",
            "bidi\u{202e}gpj.sh".as_bytes(),
            "isolate\u{2066}x".as_bytes(),
            "zero\u{200b}width".as_bytes(),
            "tag\u{e0041}".as_bytes(),
        ],
    ),
    ("path-not-nfc", &["e\u{301}t\u{e9}.md".as_bytes(), "\u{212b}".as_bytes()]),
    (
        "path-device",
        &[
            b"CON",
            b"nul.md",
            b"aux/x",
            b"COM1",
            "COM\u{b9}".as_bytes(),
            b"LPT9.txt",
            b"CONIN$",
            b"x/prn.tar.gz",
        ],
    ),
    ("path-empty-part", &[b"", b"a//b", b"dir/", b"."]),
    (
        "path-ours",
        &[
            b".skillpkg/evil",
            b".skillpkg/manifest.json",
            b".skillpkg",
            b".SKILLPKG/signatures.json",
            b"skillpkg.lock",
        ],
    ),
];

pub(super) fn add(corpus: &mut Corpus) -> io::Result<()> {
    for (group, names) in NAMES {
        for (number, name) in names.iter().enumerate() {
            named(corpus, &format!("{group}/{number}"), name)?;
        }
    }
    let part = |length: usize| "x".repeat(length);
    let deep = format!("{}x", "d/".repeat(16));
    for (number, name) in
        [part(101), part(256), [part(100), part(100), part(60)].join("/"), deep].iter().enumerate()
    {
        named(corpus, &format!("path-long/{number}"), name.as_bytes())?;
    }
    Ok(())
}

/// Two archives with `name` in place of the tail's: in manifest and header, and in the header alone.
fn named(corpus: &mut Corpus, group: &str, name: &[u8]) -> io::Result<()> {
    let content = corpus.sample.files.iter().find(|(path, _)| path.as_str() == TAIL);
    let content = content.map(|(_, content)| content.clone()).unwrap_or_default();
    let renamed = |bytes: &mut Vec<u8>| *bytes = Header::file(name, content.len()).with(&content);

    let manifest = corpus.sample.manifest.to_bytes();
    let quoted = match std::str::from_utf8(name) {
        Ok(name) => serde_json::to_vec(name)?,
        // No JSON text can hold it, so it stands there as it is.
        Err(_) => [b"\"", name, b"\""].concat(),
    };
    let wanted = [b"\"path\":", quoted.as_slice()].concat();
    let manifest = replaced(&manifest, format!("\"path\":\"{TAIL}\"").as_bytes(), &wanted);
    let entries = corpus.with_manifest(&manifest)?.change(TAIL, renamed);
    corpus.stream_of(format!("{group}/in-manifest"), &entries)?;

    let entries = corpus.entries()?.change(TAIL, renamed);
    corpus.stream_of(format!("{group}/in-header"), &entries)
}

/// `bytes` with the first `wanted` replaced.
pub(super) fn replaced(bytes: &[u8], wanted: &[u8], with: &[u8]) -> Vec<u8> {
    match bytes.windows(wanted.len()).position(|window| window == wanted) {
        Some(start) => [&bytes[..start], with, &bytes[start + wanted.len()..]].concat(),
        None => bytes.to_vec(),
    }
}
