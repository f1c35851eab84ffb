use std::io::Cursor;

use proptest::prelude::*;

use super::*;
use crate::faces::zip::ZipWriter;

fn sample() -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.file("a", 0o644, &mut &b"one"[..]).unwrap();
    zip.file("b/c", 0o755, &mut &b"two"[..]).unwrap();
    zip.finish().unwrap().into_inner()
}

fn names(bytes: &[u8]) -> Result<Vec<String>, UnzipError> {
    let mut names = Vec::new();
    unzip(&mut Cursor::new(bytes), Bounds::default(), &mut |name, _, content| {
        io::copy(content, &mut io::sink())?;
        names.push(name.to_owned());
        Ok(())
    })?;
    Ok(names)
}

/// The sample with bytes changed, at places from its end.
fn changed(places: &[(usize, u8)]) -> Vec<u8> {
    let mut bytes = sample();
    let length = bytes.len();
    for (from_end, byte) in places {
        bytes[length - from_end] = *byte;
    }
    bytes
}

#[test]
fn what_two_readers_could_read_in_two_ways_is_refused() {
    assert_eq!(names(&sample()).unwrap(), ["a", "b/c"]);
    // The directory: an entry of 47 bytes, one of 49, and the end of 22.
    let second = 22 + 49;
    let first = second + 47;
    let flags = |from_end| from_end - 8;
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", Vec::new()),
        ("text", b"no zip at all, though it is longer than the end of one".to_vec()),
        ("something behind the end", [sample(), vec![0]].concat()),
        ("something before the start", [vec![0], sample()].concat()),
        ("a comment", [changed(&[(2, 1)]), vec![b'x']].concat()),
        ("another count", changed(&[(22 - 8, 1), (22 - 10, 1)])),
        ("two names for one entry", changed(&[(second - 46, b'x')])),
        ("encrypted", changed(&[(flags(first), 1)])),
        ("strong encryption", changed(&[(flags(first), 0x40)])),
        ("another method", changed(&[(first - 10, 9)])),
        ("a link", changed(&[(first - 41, 0xa1)])),
        ("another checksum", changed(&[(first - 16, 0x55)])),
        ("another length", changed(&[(first - 24, 2)])),
        ("another disk", changed(&[(first - 34, 1)])),
    ];
    for (what, bytes) in cases {
        assert!(names(&bytes).is_err(), "{what}: {:?}", names(&bytes));
    }
}

#[test]
fn the_same_name_twice_and_names_that_are_no_utf8_are_refused() {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for _ in 0..2 {
        zip.file("a", 0o644, &mut &b"one"[..]).unwrap();
    }
    let bytes = zip.finish().unwrap().into_inner();
    assert!(names(&bytes).unwrap_err().to_string().contains("stands there twice"));
    let mut bytes = sample();
    for at in 0..bytes.len() {
        if bytes[at..].starts_with(b"b/c") {
            bytes[at] = 0xff;
        }
    }
    assert!(names(&bytes).unwrap_err().to_string().contains("UTF-8"));
}

#[test]
fn no_more_is_read_than_the_bounds_allow() {
    let bounds = |entries, bytes| Bounds { entries, bytes };
    let read = |bounds| {
        unzip(&mut Cursor::new(sample()), bounds, &mut |_, _, content| {
            io::copy(content, &mut io::sink()).map(|_| ())
        })
    };
    assert!(read(bounds(2, 6)).is_ok());
    assert!(matches!(read(bounds(1, 6)), Err(UnzipError::TooMuch(_))));
    assert!(matches!(read(bounds(2, 5)), Err(UnzipError::TooMuch(_))));
    // An entry that says that it is short, and is not.
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.file("a", 0o644, &mut vec![0; 100_000].as_slice()).unwrap();
    let mut bytes = zip.finish().unwrap().into_inner();
    let length = bytes.len();
    bytes[22..26].copy_from_slice(&1_u32.to_le_bytes());
    bytes[length - 22 - 47 + 24..][..4].copy_from_slice(&1_u32.to_le_bytes());
    assert!(names(&bytes).unwrap_err().to_string().contains("longer than it says"));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(change in any::<[u8; 3]>(), at in any::<[u16; 3]>(), cut in any::<u8>()) {
        let mut bytes = sample();
        for (byte, at) in change.iter().zip(at) {
            let at = usize::from(at) % bytes.len();
            bytes[at] = *byte;
        }
        let _ = names(&bytes);
        bytes.truncate(usize::from(cut));
        let _ = names(&bytes);
    }
}
