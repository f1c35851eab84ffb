//! Headers that change what the next header means: PAX, GNU's long names, and both at once.

use std::io;

use super::Corpus;
use super::structure::placed;
use super::tar::{Header, pax};

pub(super) fn add(corpus: &mut Corpus) -> io::Result<()> {
    sizes(corpus)?;
    interpretations(corpus)?;
    long_names(corpus)
}

/// An entry that stands within another's content for a reader that goes by the other size.
fn hidden() -> Vec<u8> {
    Header::file("../../evil", 4).with(b"evil")
}

fn file(name: &str) -> Vec<u8> {
    Header::file(name, 4).with(b"evil")
}

/// A PAX header for the next entry.
fn next(records: &[Vec<u8>]) -> Vec<u8> {
    extended(b'x', &records.concat())
}

fn sizes(corpus: &mut Corpus) -> io::Result<()> {
    // A reader that takes the size of one header and a reader that takes the other's see different
    // entries in the same bytes.
    let sizes = [
        (
            "pax-size/larger",
            [next(&[pax("size", "1024")]), Header::file("a", 0).block(), hidden()].concat(),
        ),
        (
            "pax-size/smaller",
            [next(&[pax("size", "0")]), Header::file("a", hidden().len()).with(&hidden())].concat(),
        ),
        (
            "pax-size/twice",
            [
                next(&[pax("size", "0"), pax("size", "1024")]),
                Header::file("a", 0).block(),
                hidden(),
            ]
            .concat(),
        ),
        ("pax-size/negative", [next(&[pax("size", "-1")]), file("a")].concat()),
        ("pax-size/huge", [next(&[pax("size", "18446744073709551615")]), file("a")].concat()),
        ("pax-size/global", [extended(b'g', &pax("size", "1024")), file("a"), hidden()].concat()),
    ];
    for (name, evil) in sizes {
        placed(corpus, name, &evil)?;
    }
    for kind in [b'L', b'K', b'x', b'g'] {
        let between = match kind {
            b'x' | b'g' => extended(kind, &pax("comment", "between")),
            _ => Header::of_kind(kind, "././@LongLink", 8).with(b"../evil\0"),
        };
        let evil = [next(&[pax("size", "1024")]), between, file("a"), hidden()].concat();
        placed(corpus, &format!("pax-size-then/{}", char::from(kind)), &evil)?;
    }
    Ok(())
}

/// What readers of PAX have read differently.
fn interpretations(corpus: &mut Corpus) -> io::Result<()> {
    let mut unterminated = pax("path", "evil");
    unterminated.pop();
    let boundary = pax("comment", &"x".repeat(512 - "512 comment=\n".len()));
    let interpretations = [
        (
            "pax/phantom-entry",
            [next(&[pax("path", "phantom"), pax("size", "0")]), file("a")].concat(),
        ),
        ("pax/hidden-entry", [next(&[pax("size", "1536")]), file("a"), hidden()].concat()),
        ("pax/header-precedence", {
            let mut named = Header::file("b", 4);
            named.prefix = b"prefix".to_vec();
            [
                extended(b'g', &pax("path", "global")),
                next(&[pax("path", "../evil")]),
                named.with(b"evil"),
            ]
            .concat()
        }),
        ("pax/overrides-extension-header", {
            let inner = Header::of_kind(b'x', "PaxHeaders.0/a", 0).with(&pax("path", "../evil"));
            [next(&[pax("size", "512")]), inner, file("a")].concat()
        }),
        ("pax/unterminated", [next(&[unterminated]), file("a")].concat()),
        ("pax/boundary", [next(&[boundary]), file("a")].concat()),
        ("pax/truncated-body", [next(&[b"999 path=evil\n".to_vec()]), file("a")].concat()),
        ("pax/zero-length-record", [next(&[b"0 path=evil\n".to_vec()]), file("a")].concat()),
        ("pax/no-equals", [next(&[b"9 patheq\n".to_vec()]), file("a")].concat()),
        ("pax/nul-in-path", [next(&[pax("path", "a\0../evil")]), file("a")].concat()),
        (
            "pax/link-path",
            [next(&[pax("linkpath", "/etc/passwd")]), Header::link(b'2', "a", "b").block()]
                .concat(),
        ),
        ("pax/harmless-time", [next(&[pax("mtime", "0.5")]), file("a")].concat()),
        ("pax/vendor", [next(&[pax("SCHILY.xattr.user.x", "1")]), file("a")].concat()),
        ("pax/sparse", {
            let records = [
                pax("GNU.sparse.major", "1"),
                pax("GNU.sparse.minor", "0"),
                pax("GNU.sparse.realsize", "9"),
            ];
            [next(&records), file("a")].concat()
        }),
        ("pax/global", [extended(b'g', &pax("path", "../evil")), file("a")].concat()),
    ];
    for (name, evil) in interpretations {
        placed(corpus, name, &evil)?;
    }
    Ok(())
}

fn long_names(corpus: &mut Corpus) -> io::Result<()> {
    let long = |kind: u8, name: &str| {
        let name = format!("{name}\0");
        Header::of_kind(kind, "././@LongLink", name.len()).with(name.as_bytes())
    };
    for (name, evil) in [
        ("gnu-long/name", [long(b'L', "../evil"), file("a")].concat()),
        (
            "gnu-long/link",
            [long(b'K', "/etc/passwd"), Header::link(b'2', "a", "b").block()].concat(),
        ),
        ("gnu-long/twice", [long(b'L', "a"), long(b'L', "../evil"), file("b")].concat()),
        (
            "gnu-long/no-end",
            [Header::of_kind(b'L', "././@LongLink", 512).with(&[b'a'; 512]), file("b")].concat(),
        ),
        (
            "gnu-long/with-pax",
            [long(b'L', "a"), next(&[pax("path", "../evil")]), file("b")].concat(),
        ),
        (
            "gnu-long/after-pax",
            [next(&[pax("path", "a")]), long(b'L', "../evil"), file("b")].concat(),
        ),
    ] {
        placed(corpus, name, &evil)?;
    }
    Ok(())
}

fn extended(kind: u8, records: &[u8]) -> Vec<u8> {
    Header::of_kind(kind, "PaxHeaders.0/a", records.len()).with(records)
}
