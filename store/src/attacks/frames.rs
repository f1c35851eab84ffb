//! Frames outside the profile, and what may stand around a frame.

use std::io;

use super::Corpus;
use super::frame::{HandMade, Settings, compress};

/// Where a frame's header has its descriptor.
const DESCRIPTOR: usize = 4;

pub(super) fn add(corpus: &mut Corpus) -> io::Result<()> {
    let stream = corpus.entries()?.stream();
    let honest = compress(&stream, Settings::default())?;
    let empty = compress(b"", Settings::default())?;
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, b'e', b'v', b'i', b'l'];
    let flipped = |place: usize, bits: u8| {
        let mut frame = honest.clone();
        frame[place] ^= bits;
        frame
    };
    let last = honest.len() - 1;
    for (name, frame) in [
        ("not-zstd/empty", Vec::new()),
        ("not-zstd/tar", stream.clone()),
        ("not-zstd/gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec()),
        ("not-zstd/xz", b"\xfd7zXZ\0\0\x04".to_vec()),
        ("not-zstd/zip", b"PK\x03\x04".to_vec()),
        ("not-zstd/zeros", vec![0; 64 * 1024]),
        ("not-zstd/legacy-0.7", [b"\x27", &honest[1..]].concat()),
        ("not-zstd/byte-before", [b"\0", honest.as_slice()].concat()),
        ("skippable/before", [skippable.as_slice(), &honest].concat()),
        ("trailing/skippable", [honest.as_slice(), &skippable].concat()),
        ("trailing/byte", [honest.as_slice(), b"\0"].concat()),
        ("trailing/line-end", [honest.as_slice(), b"\n"].concat()),
        ("trailing/frame", [honest.as_slice(), &honest].concat()),
        ("trailing/empty-frame", [honest.as_slice(), &empty].concat()),
        ("trailing/cut-frame", [honest.as_slice(), &honest[..3]].concat()),
        ("two-frames", {
            let (first, second) = stream.split_at(stream.len() / 2);
            let mut frames = compress(first, Settings::default())?;
            frames.extend(compress(second, Settings::default())?);
            frames
        }),
        ("no-checksum", compress(&stream, Settings { checksum: false, ..Settings::default() })?),
        ("no-size", compress(&stream, Settings { content_size: false, ..Settings::default() })?),
        ("dictionary", flipped(DESCRIPTOR, 1)),
        ("reserved/reserved", flipped(DESCRIPTOR, 8)),
        ("reserved/unused", flipped(DESCRIPTOR, 16)),
        ("wrong-checksum/first", flipped(last - 3, 1)),
        ("wrong-checksum/last", flipped(last, 0x80)),
        ("wrong-size/larger", HandMade::of_size(stream.len() as u64 + 1).raw(&stream).end()),
        ("wrong-size/smaller", HandMade::of_size(stream.len() as u64 - 1).raw(&stream).end()),
        ("hand-made", HandMade::of_size(stream.len() as u64).raw(&stream).end()),
        ("window/over", {
            let mut frame = HandMade::of_size(stream.len() as u64).raw(&stream).end();
            // Eight MiB and an eighth.
            frame[DESCRIPTOR + 1] = 13 << 3 | 1;
            frame
        }),
        ("window/most", {
            let mut frame = HandMade::of_size(stream.len() as u64).raw(&stream).end();
            frame[DESCRIPTOR + 1] = 0xff;
            frame
        }),
        ("taken/level-3", compress(&stream, Settings { level: 3, ..Settings::default() })?),
        ("taken/level-19", compress(&stream, Settings { level: 19, ..Settings::default() })?),
        ("taken/fast", compress(&stream, Settings { level: -5, ..Settings::default() })?),
        ("taken/small-window", {
            compress(&stream, Settings { window_log: Some(10), ..Settings::default() })?
        }),
        ("taken/many-blocks", {
            compress(&stream, Settings { flush_every: 100, ..Settings::default() })?
        }),
        ("taken/honest", honest.clone()),
    ] {
        corpus.archive(name, frame);
    }
    Ok(())
}
