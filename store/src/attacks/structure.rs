//! Entries that the profile does not have: links, directories, devices, duplicates, wrong order.

use std::io;

use super::Corpus;
use super::sample::{MIDDLE, MIDDLE_BYTES, TAIL, noise};
use super::tar::Header;
use crate::archive::{ENVELOPE_PATH, MANIFEST_PATH};

pub(super) fn add(corpus: &mut Corpus) -> io::Result<()> {
    links(corpus)?;
    kinds(corpus)?;
    duplicates(corpus)?;
    order(corpus)?;
    end(corpus)
}

/// Three archives: `evil` in place of the middle file, before it, and after the last file.
pub(super) fn placed(corpus: &mut Corpus, name: &str, evil: &[u8]) -> io::Result<()> {
    let entries = corpus.entries()?;
    let in_place = entries.clone().change(MIDDLE, |bytes| {
        let room = bytes.len();
        *bytes = evil.to_vec();
        // What is left of the room is a file again, so that a reader which takes the evil goes on.
        if let Some(left) = room.checked_sub(bytes.len() + 512) {
            bytes.extend(Header::file(MIDDLE, left).with(&noise(left)));
        }
        bytes.resize(room, 0);
    });
    corpus.stream_of(format!("{name}/in-place"), &in_place)?;
    let inserted = entries.clone().insert_before(MIDDLE, evil.to_vec());
    corpus.stream_of(format!("{name}/inserted"), &inserted)?;
    let appended = entries.insert_before("", evil.to_vec());
    corpus.stream_of(format!("{name}/appended"), &appended)
}

fn links(corpus: &mut Corpus) -> io::Result<()> {
    for (kind, group) in [(b'2', "symbolic-link"), (b'1', "hard-link")] {
        for (what, target) in [
            ("relative", "../../etc/passwd"),
            ("absolute", "/etc/passwd"),
            ("inside", "SKILL.md"),
            ("dangling", "nowhere"),
        ] {
            let link = Header::link(kind, MIDDLE, target).block();
            placed(corpus, &format!("{group}/{what}"), &link)?;
        }
    }
    let through =
        [Header::link(b'2', "a", "/etc/passwd").block(), Header::link(b'1', "b", "a").block()];
    placed(corpus, "hard-link/to-link", &through.concat())?;
    for (group, name) in [("directory-over-link/plain", "d/"), ("directory-over-link/dot", "d/.")] {
        let mut directory = Header::of_kind(b'5', name, 0);
        directory.mode = b"0000777".to_vec();
        let evil = [Header::link(b'2', "d", "/tmp/x").block(), directory.block()].concat();
        placed(corpus, group, &evil)?;
    }
    let behind = [Header::link(b'2', "d", "/tmp").block(), Header::file("d/evil", 4).with(b"evil")];
    placed(corpus, "file-behind-link/tmp", &behind.concat())
}

/// Every type of entry with the middle file's name, size and content.
fn kinds(corpus: &mut Corpus) -> io::Result<()> {
    for (what, kind) in [
        ("old-regular", b'\0'),
        ("hard-link", b'1'),
        ("symbolic-link", b'2'),
        ("character-device", b'3'),
        ("block-device", b'4'),
        ("directory", b'5'),
        ("pipe", b'6'),
        ("contiguous", b'7'),
        ("gnu-directory", b'D'),
        ("gnu-long-link", b'K'),
        ("gnu-long-name", b'L'),
        ("gnu-multi-volume", b'M'),
        ("gnu-names", b'N'),
        ("gnu-sparse", b'S'),
        ("gnu-volume", b'V'),
        ("pax-global", b'g'),
        ("pax-next", b'x'),
        ("solaris-pax", b'X'),
        ("solaris-acl", b'A'),
        ("unknown", b'Z'),
        ("unknown-high", 0xff),
    ] {
        let entries = corpus.entries()?.change(MIDDLE, |bytes| {
            *bytes = Header::of_kind(kind, MIDDLE, MIDDLE_BYTES).with(&bytes[512..]);
        });
        corpus.stream_of(format!("type/{what}"), &entries)?;
    }
    for (what, kind) in [("character-device", b'3'), ("block-device", b'4'), ("pipe", b'6')] {
        let mut device = Header::of_kind(kind, "device", 0);
        device.major = b"0000001".to_vec();
        device.minor = b"0000003".to_vec();
        placed(corpus, &format!("extra-device/{what}"), &device.block())?;
    }
    let directory = Header::of_kind(b'5', "bin/", 0).block();
    let entries = corpus.entries()?.insert_before("bin/run.sh", directory);
    corpus.stream_of("parent-directory", &entries)
}

fn duplicates(corpus: &mut Corpus) -> io::Result<()> {
    placed(corpus, "duplicate/other", &Header::file(TAIL, 4).with(b"evil"))?;
    let same = corpus.sample.files.iter().find(|(path, _)| path.as_str() == TAIL);
    let same = same.map(|(_, content)| content.clone()).unwrap_or_default();
    placed(corpus, "duplicate/same", &Header::file(TAIL, same.len()).with(&same))?;
    placed(corpus, "duplicate/manifest", &Header::file(MANIFEST_PATH, 2).with(b"{}"))?;
    placed(corpus, "extra/ours", &Header::file(".skillpkg/evil", 4).with(b"evil"))?;
    placed(corpus, "extra/file", &Header::file("evil.sh", 4).with(b"evil"))?;
    placed(corpus, "extra/climbing", &Header::file("../../evil", 4).with(b"evil"))
}

fn order(corpus: &mut Corpus) -> io::Result<()> {
    let entries = corpus.entries()?;
    for (name, changed) in [
        ("order/files", entries.clone().swapped("block", TAIL)),
        ("order/ours", entries.clone().swapped(MANIFEST_PATH, ENVELOPE_PATH)),
        ("order/manifest-last", entries.clone().swapped(MANIFEST_PATH, TAIL)),
        ("missing/manifest", entries.clone().without(MANIFEST_PATH)),
        ("missing/signatures", entries.clone().without(ENVELOPE_PATH)),
        ("missing-file/first", entries.clone().without("SKILL.md")),
        ("missing-file/middle", entries.clone().without(MIDDLE)),
        ("missing-file/empty", entries.without("empty")),
    ] {
        corpus.stream_of(name, &changed)?;
    }
    Ok(())
}

/// What follows content, and what ends the stream.
fn end(corpus: &mut Corpus) -> io::Result<()> {
    let entries = corpus.entries()?;
    for name in [MANIFEST_PATH, ENVELOPE_PATH, TAIL] {
        let changed = entries.clone().change(name, |bytes| {
            if let Some(last) = bytes.last_mut() {
                *last = 1;
            }
        });
        corpus.stream_of(format!("padding/{name}"), &changed)?;
    }
    for (name, end) in [
        ("end/none", Vec::new()),
        ("end/one-block", vec![0; 512]),
        ("end-long/three-blocks", vec![0; 3 * 512]),
        // What tar writes unless told otherwise.
        ("end-long/blocked", vec![0; 10_240]),
        ("end-long/many", vec![0; 1 << 20]),
        ("end-long/byte", vec![0; 1025]),
        ("end-dirty/first", [vec![1], vec![0; 1023]].concat()),
        ("end-dirty/last", [vec![0; 1023], vec![1]].concat()),
        ("end-dirty/entry", Header::file("evil", 4).with(b"evil")),
    ] {
        let mut changed = entries.clone();
        changed.end = end;
        corpus.stream_of(name, &changed)?;
    }
    let early = corpus.entries()?.change(MIDDLE, |bytes| bytes.fill(0));
    corpus.stream_of("end-early", &early)
}
