//! Reads a bundle without parsing tar: what it must hold is made of the index and compared.

use std::io::{self, Read, Seek, SeekFrom};

use sha2::{Digest as _, Sha256};
use skillpkg_schema::bundle::{
    BundleIndex, BundleIndexError, BundledFile, INDEX_PATH, MAX_INDEX_BYTES,
};
use skillpkg_schema::log::Hash;

use super::error::BundleError;
use super::write::MODE;
use crate::archive::header::{
    BLOCK_BYTES, Block, END_BYTES, first_difference, header, padding, stated_size,
};

const PIECE_BYTES: usize = 64 * 1024;

/// A bundle that was read to its end, every byte of it compared or hashed.
#[derive(Debug)]
pub struct BundleReader<R> {
    index: BundleIndex,
    /// Where the content of each file begins, in the order of the index.
    places: Vec<u64>,
    input: R,
}

/// Whether a file starts as a bundle does; whether it is one only [`BundleReader::open`] tells.
pub fn looks_like_bundle(mut input: impl Read) -> io::Result<bool> {
    let mut found = [0; BLOCK_BYTES];
    let mut filled = 0;
    while let Some(rest) = found.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match input.read(rest) {
            Ok(0) => return Ok(false),
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let name = &header(INDEX_PATH, 0, MODE, 0)[..100];
    Ok(found.starts_with(name))
}

impl<R: Read + Seek> BundleReader<R> {
    /// Reads a bundle from its first byte to its last: the headers are those that the index calls
    /// for, every file has its digest, and nothing follows.
    ///
    /// Needs memory for the index, and a piece of a file at a time.
    pub fn open(mut input: R) -> Result<Self, BundleError> {
        input.seek(SeekFrom::Start(0))?;
        let bytes = read_index(&mut input)?;
        let mut place = (BLOCK_BYTES + bytes.len() + padding(bytes.len() as u64)) as u64;
        let index = BundleIndex::from_bytes(&bytes)?;
        let mut places = Vec::with_capacity(index.files.len());
        let mut piece = vec![0; PIECE_BYTES];
        for file in &index.files {
            expect_header(&mut input, file)?;
            places.push(place + BLOCK_BYTES as u64);
            hash_content(&mut input, file, &mut piece)?;
            expect_zeros(&mut input, &file.path, padding(file.size))?;
            place += BLOCK_BYTES as u64 + file.size + padding(file.size) as u64;
        }
        let last = index.files.last().map_or(INDEX_PATH, |file| file.path.as_str());
        expect_zeros(&mut input, last, END_BYTES)?;
        if read_some(&mut input, &mut [0])? != 0 {
            return Err(BundleError::Trailing);
        }
        Ok(Self { index, places, input })
    }

    /// What it holds.
    pub fn index(&self) -> &BundleIndex {
        &self.index
    }

    /// The bytes of a file, hashed again: what was changed since it was opened is refused.
    pub fn read(&mut self, path: &str) -> Result<Vec<u8>, BundleError> {
        let missing = || BundleError::Index(BundleIndexError::Missing(path.to_owned()));
        let (at, file) = self.index.file(path).ok_or_else(missing)?;
        let place = self.places.get(at).ok_or_else(missing)?;
        self.input.seek(SeekFrom::Start(*place))?;
        let bytes = take(&mut self.input, path, file.size)?;
        if Hash::of(&bytes) != file.sha256 {
            return Err(BundleError::Content { entry: path.to_owned() });
        }
        Ok(bytes)
    }
}

/// The index, whose length only its header tells.
fn read_index(input: &mut impl Read) -> Result<Vec<u8>, BundleError> {
    let mut found = [0; BLOCK_BYTES];
    exactly(input, INDEX_PATH, &mut found)?;
    // A size that is not spelled our way differs from the header that says 0.
    let size = stated_size(&found).unwrap_or(0);
    if let Some(field) = first_difference(&found, &header(INDEX_PATH, 0, MODE, size)) {
        return Err(BundleError::NotBundle { field });
    }
    if size > MAX_INDEX_BYTES as u64 {
        return Err(BundleIndexError::TooLong(size).into());
    }
    let bytes = take(input, INDEX_PATH, size)?;
    expect_zeros(input, INDEX_PATH, padding(size))?;
    Ok(bytes)
}

fn expect_header(input: &mut impl Read, file: &BundledFile) -> Result<(), BundleError> {
    let mut found: Block = [0; BLOCK_BYTES];
    exactly(input, &file.path, &mut found)?;
    match first_difference(&found, &header(&file.path, 0, MODE, file.size)) {
        Some(field) => Err(BundleError::Header { entry: file.path.clone(), field }),
        None => Ok(()),
    }
}

fn hash_content(
    input: &mut impl Read,
    file: &BundledFile,
    piece: &mut [u8],
) -> Result<(), BundleError> {
    let mut hasher = Sha256::new();
    let mut remaining = file.size;
    while remaining > 0 {
        let most = usize::try_from(remaining).unwrap_or(usize::MAX).min(piece.len());
        let Some(piece) = piece.get_mut(..most) else { break };
        exactly(input, &file.path, piece)?;
        hasher.update(&*piece);
        remaining -= most as u64;
    }
    if hasher.finalize().as_slice() != file.sha256.as_bytes() {
        return Err(BundleError::Content { entry: file.path.clone() });
    }
    Ok(())
}

/// As many bytes as are said to be there. Memory is taken as they come, not as they are claimed.
fn take(input: &mut impl Read, entry: &str, size: u64) -> Result<Vec<u8>, BundleError> {
    let mut bytes = Vec::new();
    input.by_ref().take(size).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < size {
        return Err(BundleError::Truncated { entry: entry.to_owned() });
    }
    Ok(bytes)
}

fn expect_zeros(input: &mut impl Read, entry: &str, count: usize) -> Result<(), BundleError> {
    let mut zeros = [0; END_BYTES];
    let Some(zeros) = zeros.get_mut(..count) else { return Ok(()) };
    exactly(input, entry, zeros)?;
    if zeros.iter().any(|byte| *byte != 0) {
        return Err(BundleError::Padding { entry: entry.to_owned() });
    }
    Ok(())
}

fn exactly(input: &mut impl Read, entry: &str, mut bytes: &mut [u8]) -> Result<(), BundleError> {
    while !bytes.is_empty() {
        match read_some(input, bytes)? {
            0 => return Err(BundleError::Truncated { entry: entry.to_owned() }),
            read => bytes = bytes.get_mut(read..).unwrap_or_default(),
        }
    }
    Ok(())
}

fn read_some(input: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            answer => return answer,
        }
    }
}
