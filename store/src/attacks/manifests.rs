//! Manifests that are not canonical, break a rule, or say what the files do not.

use std::io;

use super::Corpus;
use super::paths::replaced;
use super::sample::{MIDDLE, TAIL};

pub(super) fn add(corpus: &mut Corpus) -> io::Result<()> {
    let honest = corpus.sample.manifest.to_bytes();
    let with = |wanted: &str, with: &str| replaced(&honest, wanted.as_bytes(), with.as_bytes());
    let texts = [
        ("manifest-shape/empty", Vec::new()),
        ("manifest-shape/zeros", vec![0; honest.len()]),
        ("manifest-shape/array", b"[]".to_vec()),
        ("manifest-shape/two", [honest.as_slice(), &honest].concat()),
        ("manifest-shape/cut", honest[..honest.len() - 1].to_vec()),
        ("manifest-shape/byte-order-mark", [b"\xef\xbb\xbf", honest.as_slice()].concat()),
        ("manifest-shape/float-size", with("\"size\":513", "\"size\":513.0")),
        ("manifest-shape/negative-size", with("\"size\":513", "\"size\":-513")),
        ("manifest-shape/huge-size", with("\"size\":513", "\"size\":18446744073709551616")),
        ("manifest-shape/text-size", with("\"size\":513", "\"size\":\"513\"")),
        ("manifest-shape/mode", with("\"mode\":\"755\"", "\"mode\":\"4755\"")),
        ("manifest-shape/unknown-field", with("{\"description\"", "{\"a\":1,\"description\"")),
        (
            "manifest-shape/unknown-file-field",
            with("\"mode\":\"755\"", "\"link\":\"/etc\",\"mode\":\"755\""),
        ),
        (
            "manifest-shape/duplicate-key",
            with("{\"description\"", "{\"description\":\"x\",\"description\""),
        ),
        ("manifest-shape/capital-digest", with("\"sha256\":\"", "\"sha256\":\"A")),
        ("manifest-shape/name", with("acme/sample", "acme/../x")),
        ("manifest-shape/version", with("\"version\":\"1.0.0\"", "\"version\":\"latest\"")),
        ("manifest-shape/deep", {
            let nested =
                format!("\"metadata\":{{\"a\":{}{}}}", "[".repeat(40_000), "]".repeat(40_000));
            with("\"metadata\":{}", &nested)
        }),
        ("manifest-version/next", with("skillpkg.manifest/1", "skillpkg.manifest/2")),
        ("manifest-version/terminal", with("skillpkg.manifest/1", "\\u001b[31m\\u202e")),
        ("manifest-form/spaces", with("\":\"", "\": \"")),
        ("manifest-form/line-end", [honest.as_slice(), b"\n"].concat()),
        ("manifest-form/escape", with("A sample.", "\\u0041 sample.")),
        ("manifest-form/slash-escape", with("acme/sample", "acme\\/sample")),
        ("manifest-metadata/whole-float", with("\"metadata\":{}", "\"metadata\":{\"a\":1.0}")),
        ("manifest-metadata/exponent", with("\"metadata\":{}", "\"metadata\":{\"a\":1e2}")),
        ("manifest-metadata/minus-zero", with("\"metadata\":{}", "\"metadata\":{\"a\":-0}")),
        (
            "manifest-form/duplicate-metadata",
            with("\"metadata\":{}", "\"metadata\":{\"a\":\"1\",\"a\":\"1\"}"),
        ),
        (
            "manifest-form/unsorted-metadata",
            with("\"metadata\":{}", "\"metadata\":{\"b\":\"1\",\"a\":\"1\"}"),
        ),
        ("manifest-form/null-licence", with("\"metadata\"", "\"license\":null,\"metadata\"")),
        ("manifest-files/unsorted", {
            let swapped = with("\"block\"", "\"\u{0}\"");
            let swapped = replaced(&swapped, b"\"empty\"", b"\"block\"");
            replaced(&swapped, b"\"\0\"", b"\"empty\"")
        }),
        ("manifest-files/twice", with("\"empty\"", "\"block\"")),
        ("manifest-files/case", with("\"bin/run.sh\"", "\"TAIL.md\"")),
        ("manifest-files/sharp-s", {
            let one = with("\"tail.md\"", "\"ss\"");
            replaced(&one, "\"\u{e9}t\u{e9}/na\u{ef}ve.md\"".as_bytes(), "\"\u{df}\"".as_bytes())
        }),
        ("manifest-files/directories", {
            let one = with("\"bin/run.sh\"", "\"Zir/y\"");
            replaced(&one, b"\"tail.md\"", b"\"zir/x\"")
        }),
        ("manifest-files/file-is-directory", with("\"block\"", "\"bin/run.sh/x\"")),
        ("manifest-files/no-skill", with("\"SKILL.md\"", "\"SKILL.MD\"")),
        ("manifest-metadata/float", with("\"metadata\":{}", "\"metadata\":{\"a\":1.5}")),
        ("manifest-metadata/integer", with("\"metadata\":{}", "\"metadata\":{\"a\":[{\"b\":1}]}")),
        ("manifest-metadata/truth", with("\"metadata\":{}", "\"metadata\":{\"a\":true}")),
        ("manifest-metadata/null", with("\"metadata\":{}", "\"metadata\":{\"a\":null}")),
    ];
    for (name, manifest) in texts {
        corpus.manifest(name, &manifest)?;
    }
    lies(corpus)
}

/// Good manifests that are not these files'.
fn lies(corpus: &mut Corpus) -> io::Result<()> {
    let sample = corpus.sample.clone();
    for (what, path) in [("lie-header/size", TAIL), ("lie-longer/empty", "empty")] {
        let mut lying = sample.manifest.clone();
        if let Some(file) = lying.files.iter_mut().find(|file| file.path.as_str() == path) {
            file.size += 1;
        }
        corpus.manifest(what, &lying.to_bytes())?;
    }
    let mut lying = sample.manifest.clone();
    if let Some(file) = lying.files.iter_mut().find(|file| file.path.as_str() == MIDDLE) {
        file.size *= 2;
    }
    corpus.manifest("lie-longer/middle", &lying.to_bytes())?;
    let mut lying = sample.manifest.clone();
    lying.files.retain(|file| file.path.as_str() != TAIL);
    corpus.manifest("lie-shorter", &lying.to_bytes())?;

    let other = sample.manifest.files[0].clone();
    for what in ["sha256", "blake3", "both"] {
        let mut lying = sample.manifest.clone();
        if let Some(file) = lying.files.iter_mut().find(|file| file.path.as_str() == TAIL) {
            if what != "blake3" {
                file.sha256 = other.sha256;
            }
            if what != "sha256" {
                file.blake3 = other.blake3;
            }
        }
        corpus.manifest(format!("lie-digest/{what}"), &lying.to_bytes())?;
    }
    for path in [TAIL, MIDDLE] {
        for (what, place) in [("first", 512), ("tenth", 521)] {
            let entries = corpus.entries()?.change(path, |bytes| bytes[place] ^= 1);
            corpus.stream_of(format!("lie-content/{path}/{what}"), &entries)?;
        }
    }
    let mut lying = sample.manifest.clone();
    if let Some(file) = lying.files.iter_mut().find(|file| file.path.as_str() == TAIL) {
        file.mode = skillpkg_schema::manifest::Mode::Executable;
    }
    corpus.manifest("lie-header/mode", &lying.to_bytes())?;

    let mut lying = sample.manifest.clone();
    "Another thing altogether.".clone_into(&mut lying.description);
    corpus.manifest("lie-derived/description", &lying.to_bytes())?;
    let mut lying = sample.manifest.clone();
    lying.requires.all.push("evil".to_owned());
    corpus.manifest("lie-derived/requires", &lying.to_bytes())?;
    let mut lying = sample.manifest;
    lying.tools.push(skillpkg_schema::manifest::ToolEntry {
        id: "evil".to_owned(),
        description: "Not in any file.".to_owned(),
        run: vec!["sh".to_owned(), "-c".to_owned(), "evil".to_owned()],
        schema: "{}".to_owned(),
    });
    corpus.manifest("lie-derived/tool", &lying.to_bytes())
}
