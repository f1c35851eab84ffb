//! Bytes of any kind as each thing that a log sends; what is read must be written again as it was.

use skillpkg_schema::log::{Bucket, Checkpoint, Entries, Note, Record, TilePath, TlogProof};

/// Reads `bytes` as everything they could be; panics where one is written otherwise than it was
/// read. Answers whether anything was read.
pub(crate) fn check(bytes: &[u8]) -> bool {
    let mut read = false;
    let mut same = |again: &[u8]| {
        assert_eq!(again, bytes);
        read = true;
    };
    if let Ok(note) = Note::from_bytes(bytes) {
        same(note.to_string().as_bytes());
        let _ = Checkpoint::from_text(note.text());
    }
    if let Ok(proof) = TlogProof::from_bytes(bytes) {
        same(proof.to_string().as_bytes());
    }
    if let Ok(record) = Record::from_bytes(bytes) {
        same(&record.to_bytes());
    }
    if let Ok(entries) = Entries::from_bytes(bytes) {
        let mut again = Vec::new();
        for entry in entries.iter() {
            assert!(Entries::append(&mut again, entry).is_ok());
        }
        same(&again);
    }
    if let Some(number) = bytes.first_chunk().map(|first| u16::from_be_bytes(*first))
        && let Ok(bucket) = Bucket::from_bytes(number, bytes)
    {
        same(&bucket.to_bytes());
    }
    if let Ok(path) = std::str::from_utf8(bytes)
        && let Some(tile) = TilePath::parse(path)
    {
        same(tile.to_string().as_bytes());
    }
    read
}
