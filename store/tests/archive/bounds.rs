//! What a reader is told to take at most, and what a writer does not write.

use std::cell::Cell;
use std::io::{self, Read};

use skillpkg_schema::signature::Envelope;
use skillpkg_store::archive::{self, ArchiveError, Bounds, Reader};
use skillpkg_store::attacks::{Collected, Sample};

use crate::support::small;

fn read(input: impl Read, bounds: Bounds) -> Result<Collected, ArchiveError> {
    let mut collected = Collected::default();
    Reader::open(input, bounds)?.unpack(&mut collected)?;
    Ok(collected)
}

#[test]
fn each_bound_is_held_to_the_byte_and_the_file() {
    let sample = small();
    let archive = sample.archive().unwrap();
    let exact = Bounds {
        archive_bytes: archive.len() as u64,
        unpacked_bytes: sample.manifest.unpacked_size(),
        files: sample.manifest.files.len(),
    };
    assert!(read(archive.as_slice(), exact).is_ok());
    for (bounds, code) in [
        (Bounds { archive_bytes: exact.archive_bytes - 1, ..exact }, "archive_too_long"),
        (Bounds { unpacked_bytes: exact.unpacked_bytes - 1, ..exact }, "archive_bomb"),
        (Bounds { files: exact.files - 1, ..exact }, "archive_too_many_files"),
        (Bounds { archive_bytes: 0, ..exact }, "archive_too_long"),
        (Bounds { unpacked_bytes: 0, files: 0, ..exact }, "archive_too_many_files"),
    ] {
        assert_eq!(read(archive.as_slice(), bounds).unwrap_err().code(), code, "{bounds:?}");
    }
}

#[test]
fn input_without_end_is_read_to_its_bound() {
    let archive = small().archive().unwrap();
    let bounds = Bounds { archive_bytes: 1 << 20, ..Bounds::default() };
    let taken = Cell::new(0);
    let endless = Counting { input: archive.as_slice().chain(io::repeat(0)), taken: &taken };
    // One byte behind the frame is enough to know.
    assert_eq!(read(endless, bounds).unwrap_err().code(), "archive_frame");
    assert!(taken.get() <= 1 << 18, "{}", taken.get());

    // Empty blocks, of which a frame may have any number.
    let start = [0x28, 0xb5, 0x2f, 0xfd, 0xc4, 0x50, 0, 4, 0, 0, 0, 0, 0, 0];
    taken.set(0);
    let endless = Counting { input: start.as_slice().chain(io::repeat(0)), taken: &taken };
    assert_eq!(read(endless, bounds).unwrap_err().code(), "archive_too_long");
    assert!(taken.get() <= (1 << 20) + (1 << 17), "{}", taken.get());
}

struct Counting<'a, R> {
    input: R,
    taken: &'a Cell<usize>,
}

impl<R: Read> Read for Counting<'_, R> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(piece)?;
        self.taken.set(self.taken.get() + read);
        Ok(read)
    }
}

/// Gives one byte at a time, and is interrupted before each.
struct Slow<'a> {
    bytes: &'a [u8],
    is_interrupted: bool,
}

impl Read for Slow<'_> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        self.is_interrupted = !self.is_interrupted;
        if self.is_interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = piece.len().min(1);
        self.bytes.read(&mut piece[..most])
    }
}

#[test]
fn input_that_comes_slowly_is_read_all_the_same() {
    let sample = small();
    let archive = sample.archive().unwrap();
    let slow = Slow { bytes: &archive, is_interrupted: false };
    assert_eq!(read(slow, Bounds::default()).unwrap().files, sample.files);
}

#[test]
fn input_that_fails_is_an_error_of_its_own() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
    let archive = small().archive().unwrap();
    for cut in [0, 3, 100, archive.len() - 1, archive.len()] {
        let error = read(archive[..cut].chain(Failing), Bounds::default()).unwrap_err();
        let is_reset = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionReset;
        assert!(matches!(&error, ArchiveError::Io(error) if is_reset(error)), "{cut}: {error}");
    }
}

#[test]
fn what_would_not_be_read_again_is_not_written() {
    let Sample { manifest, envelope, files } = small();
    let unsigned = Envelope::sign(envelope.payload_type(), &envelope.payload(), &[]);
    let mut unsorted = manifest.clone();
    unsorted.files.reverse();
    for (manifest, envelope, code) in
        [(&manifest, &unsigned, "archive_signatures"), (&unsorted, &envelope, "archive_manifest")]
    {
        let mut out = Vec::new();
        let error = archive::write(&mut out, manifest, envelope, &mut |entry| {
            Ok(Box::new(files[&entry.path].as_slice()))
        })
        .unwrap_err();
        assert_eq!((error.code(), out.len()), (code, 0));
    }
}

#[test]
fn a_file_that_cannot_be_opened_and_a_full_disk_are_errors() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let Sample { manifest, envelope, files } = small();
    let error = archive::write(Vec::new(), &manifest, &envelope, &mut |_| {
        Err(io::ErrorKind::PermissionDenied.into())
    });
    assert_eq!(error.unwrap_err().code(), "archive_io");
    let error = archive::write(Full, &manifest, &envelope, &mut |entry| {
        Ok(Box::new(files[&entry.path].as_slice()))
    });
    assert_eq!(error.unwrap_err().code(), "archive_io");
}
