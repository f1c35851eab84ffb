//! What is written is read again, and nothing else is.

use std::io::{self, Read};

use skillpkg_schema::address::Digests;
use skillpkg_schema::manifest::FileEntry;
use skillpkg_store::archive::{self, ArchiveError, Bounds, Reader, Sink};
use skillpkg_store::attacks;

use crate::support::{path, small};

#[test]
fn an_archive_is_read_as_it_was_written() {
    let sample = small();
    let mut bytes = Vec::new();
    let written = archive::write(&mut bytes, &sample.manifest, &sample.envelope, &mut |entry| {
        Ok(Box::new(io::Cursor::new(sample.files[&entry.path].clone())))
    })
    .unwrap();
    assert_eq!(written, Digests::of(&bytes));
    assert_eq!(attacks::decode(&bytes).unwrap(), (sample, written));
}

#[test]
fn a_file_that_changed_since_it_was_hashed_is_never_packed() {
    let sample = small();
    let mut first = sample.files[&path("bin/run.sh")].clone();
    first[0] ^= 1;
    let longer = [sample.files[&path("bin/run.sh")].as_slice(), b"x"].concat();
    for content in [first, longer, b"#!".to_vec(), vec![0; 1 << 20]] {
        let mut changed = sample.clone();
        changed.files.insert(path("bin/run.sh"), content);
        let error = changed.archive().unwrap_err();
        assert!(matches!(error, ArchiveError::Content { path } if path.as_str() == "bin/run.sh"));
    }
}

/// Takes `most` bytes of each file and says that all is well.
struct Careless {
    most: usize,
}

impl Sink for Careless {
    fn file(&mut self, _: &FileEntry, content: &mut dyn Read) -> io::Result<()> {
        let mut piece = vec![0; self.most];
        let _ = content.read(&mut piece);
        Ok(())
    }
}

#[test]
fn what_a_sink_leaves_unread_is_checked_all_the_same() {
    let archive = small().archive().unwrap();
    for most in [0, 1, 600] {
        let reader = Reader::open(archive.as_slice(), Bounds::default()).unwrap();
        assert_eq!(reader.unpack(&mut Careless { most }).unwrap(), Digests::of(&archive));
        let cut = &archive[..archive.len() - 1];
        let reader = Reader::open(cut, Bounds::default()).unwrap();
        assert!(matches!(
            reader.unpack(&mut Careless { most }),
            Err(ArchiveError::Truncated { .. })
        ));
    }
}

/// Fails as a full disk does.
struct Full;

impl Sink for Full {
    fn file(&mut self, _: &FileEntry, _: &mut dyn Read) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::StorageFull))
    }
}

#[test]
fn a_sink_that_fails_stops_the_reader() {
    let archive = small().archive().unwrap();
    let reader = Reader::open(archive.as_slice(), Bounds::default()).unwrap();
    let error = reader.unpack(&mut Full).unwrap_err();
    assert!(matches!(error, ArchiveError::Io(error) if error.kind() == io::ErrorKind::StorageFull));
}
