//! Archives that would cost their reader more than it has.

use std::io;

use super::Corpus;
use super::frame::HandMade;
use super::tar::Header;
use crate::archive::MANIFEST_PATH;

/// Blocks of 128 KiB in 10 GiB.
const TEN_GIB: usize = 10 * 1024 * 8;

pub(super) fn add(corpus: &mut Corpus) -> io::Result<()> {
    let entries = corpus.entries()?;
    let stream = entries.stream();
    let ours = &stream[..entries.start_of("SKILL.md")];
    let length = stream.len() as u64;
    let ten_gib = 10 << 30;
    corpus.archive("bomb/true-size", {
        HandMade::of_size(ten_gib).raw(&stream).repeated(0, TEN_GIB).end()
    });
    corpus.archive("bomb/most-size", HandMade::of_size(u64::MAX).raw(&stream).end());
    // The header promises the right size; the blocks go on.
    corpus.archive(
        "bomb/lying-size",
        HandMade::of_size(length).raw(&stream).repeated(0, TEN_GIB).end(),
    );
    corpus.archive("bomb-in-manifest/zeros", {
        let header = Header::file(MANIFEST_PATH, 4 << 20).block();
        HandMade::of_size(8 << 20).raw(&header).repeated(0, TEN_GIB).end()
    });
    corpus.archive("bomb-in-manifest/over", {
        let header = Header::file(MANIFEST_PATH, 1 << 30).block();
        HandMade::of_size(8 << 20).raw(&header).repeated(b'[', TEN_GIB).end()
    });
    corpus.archive(
        "bomb-in-files",
        HandMade::of_size(length).raw(ours).repeated(b'b', TEN_GIB).end(),
    );
    // Blocks of nothing: input without end and never any content.
    corpus.archive("starved", {
        HandMade::of_size(length).raw(&stream[..700]).empty_blocks(1 << 20).end()
    });

    let manifest = corpus.sample.manifest.to_bytes();
    let with = |metadata: &[u8]| super::paths::replaced(&manifest, b"\"metadata\":{}", metadata);
    // Two bytes of text each, and many more in memory.
    let many = |unit: &str, count: usize| {
        with(format!("\"metadata\":{{\"a\":[{}0]}}", unit.repeat(count)).as_bytes())
    };
    corpus.manifest("amplified/numbers", &many("0,", 1 << 20))?;
    corpus.manifest("amplified/arrays", &many("[],", 1 << 20))?;
    corpus.manifest("amplified/objects", &many("{\"\":0},", 1 << 18))?;
    corpus.manifest(
        "amplified/long-text",
        &with(&{ [b"\"metadata\":{\"a\":\"".as_slice(), &vec![b'a'; 4 << 20], b"\"}"].concat() }),
    )?;
    // As much as is taken at all.
    corpus.manifest(
        "amplified-most/objects",
        &with(format!("\"metadata\":{{\"a\":[{}\"\"]}}", "{\"\":\"\"},".repeat(33_000)).as_bytes()),
    )?;
    corpus.manifest(
        "amplified-most/text",
        &with(&{
            [b"\"metadata\":{\"a\":\"".as_slice(), &vec![b'a'; (4 << 20) - 4096], b"\"}"].concat()
        }),
    )?;
    let empty = |count: usize| {
        let entry = r#"{"blake3":"af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262","mode":"644","path":"PATH","sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","size":0},"#;
        let files: String =
            (0..count).map(|number| entry.replace("PATH", &format!("0/{number:05}"))).collect();
        super::paths::replaced(&manifest, b"\"files\":[", format!("\"files\":[{files}").as_bytes())
    };
    corpus.manifest("many-files/over", &empty(5_000))?;
    let large = super::paths::replaced(&manifest, b"\"size\":513", b"\"size\":268435456");
    corpus.manifest("many-files/bytes", &large)
}
