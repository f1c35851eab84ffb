//! Headers that say the same in other bytes: nothing in an archive is left to choose.

use std::io;

use super::Corpus;
use super::sample::TAIL;
use super::tar::Header;
use crate::archive::{ENVELOPE_PATH, MANIFEST_PATH};

/// What is changed, and how.
type Change = (&'static str, fn(&mut Header));

const CHANGES: [Change; 33] = [
    ("name-after-nul", |header| header.name.extend(b"\0x")),
    ("name-dot-slash", |header| header.name = [b"./", header.name.as_slice()].concat()),
    ("mode-private", |header| header.mode = b"0000600".to_vec()),
    ("mode-executable", |header| header.mode = b"0000755".to_vec()),
    ("mode-set-user", |header| header.mode = b"0004755".to_vec()),
    ("mode-file-type", |header| header.mode = b"0100644".to_vec()),
    ("mode-spaces", |header| header.mode = b"   644 ".to_vec()),
    ("uid", |header| header.uid = b"0001750".to_vec()),
    ("uid-empty", |header| header.uid.clear()),
    ("gid", |header| header.gid = b"0001750".to_vec()),
    ("gid-binary", |header| header.gid = b"\x80\0\0\0\0\0\0\x01".to_vec()),
    ("size-spaces", |header| header.size = b"         12 ".to_vec()),
    ("size-larger", |header| header.size = b"00000001000".to_vec()),
    ("size-zero", |header| header.size = b"00000000000".to_vec()),
    ("size-binary", |header| header.size = b"\x80\0\0\0\0\0\0\0\0\0\0\x0a".to_vec()),
    ("size-negative", |header| header.size = vec![0xff; 12]),
    ("size-huge", |header| header.size = b"77777777777".to_vec()),
    ("time", |header| header.mtime = b"00000000001".to_vec()),
    ("time-empty", |header| header.mtime.clear()),
    ("checksum-wrong", |header| header.checksum = Some(b"000000\0 ".to_vec())),
    ("checksum-signed", |header| header.checksum = Some(b"177777\0 ".to_vec())),
    ("checksum-seven-digits", |header| {
        let sum = header.block()[148..154].to_vec();
        header.checksum = Some([b"0", sum.as_slice(), b"\0"].concat());
    }),
    ("link-name", |header| header.link = b"SKILL.md".to_vec()),
    ("magic-gnu", |header| header.magic = b"ustar  \0".to_vec()),
    ("magic-none", |header| header.magic.clear()),
    ("version", |header| header.magic = b"ustar\x0001".to_vec()),
    ("user", |header| header.user = b"root".to_vec()),
    ("group", |header| header.group = b"wheel".to_vec()),
    ("major", |header| header.major = b"0000001".to_vec()),
    ("major-empty", |header| header.major.clear()),
    ("minor-empty", |header| header.minor.clear()),
    ("prefix", |header| header.prefix = b"evil".to_vec()),
    ("rest", |header| header.rest = b"tar\0".to_vec()),
];

pub(super) fn add(corpus: &mut Corpus) -> io::Result<()> {
    for entry in [MANIFEST_PATH, ENVELOPE_PATH, TAIL] {
        for (what, change) in CHANGES {
            let entries = corpus.entries()?.change(entry, |bytes| {
                let size = usize::from_str_radix(&String::from_utf8_lossy(&bytes[124..135]), 8);
                let mut header = Header::file(entry, size.unwrap_or(0));
                change(&mut header);
                bytes.splice(..512, header.block());
            });
            let short = entry.trim_start_matches(".skillpkg/");
            let group =
                if entry != TAIL && matches!(what, "size-larger" | "size-zero" | "size-huge") {
                    // Of these two the reader learns the size from the header.
                    "constant-size"
                } else {
                    "constant"
                };
            corpus.stream_of(format!("{group}/{short}/{what}"), &entries)?;
        }
    }
    // The same path divided at another `/`, where a header has room for both.
    let (prefix, name) = ("p".repeat(80), format!("{}/deep.txt", "q".repeat(80)));
    let path = format!("{prefix}/{name}");
    let other = format!("{prefix}/{}", "q".repeat(80));
    let entries = corpus.entries()?.change(&path, |bytes| {
        let mut header = Header::file("deep.txt", 513);
        header.prefix = other.into_bytes();
        // Too long for a prefix by a little, so it is cut: another file.
        header.prefix.truncate(155);
        bytes.splice(..512, header.block());
    });
    corpus.stream_of("constant/divided", &entries)
}
