//! A writer of tar streams that writes whatever it is told: headers field by field, in any order.
//!
//! It shares nothing with the archive's own writer, so that each checks the other.

use std::io;

use skillpkg_schema::manifest::Mode;

use super::sample::Sample;
use crate::archive::{ENVELOPE_PATH, MANIFEST_PATH};

const BLOCK_BYTES: usize = 512;

/// A header, each field as its bytes.
#[derive(Debug, Clone)]
pub(super) struct Header {
    pub(super) name: Vec<u8>,
    pub(super) mode: Vec<u8>,
    pub(super) uid: Vec<u8>,
    pub(super) gid: Vec<u8>,
    pub(super) size: Vec<u8>,
    pub(super) mtime: Vec<u8>,
    /// In place of the true one.
    pub(super) checksum: Option<Vec<u8>>,
    pub(super) kind: u8,
    pub(super) link: Vec<u8>,
    /// With the version.
    pub(super) magic: Vec<u8>,
    pub(super) user: Vec<u8>,
    pub(super) group: Vec<u8>,
    pub(super) major: Vec<u8>,
    pub(super) minor: Vec<u8>,
    pub(super) prefix: Vec<u8>,
    pub(super) rest: Vec<u8>,
}

impl Header {
    /// The canonical header of a regular file.
    pub(super) fn file(name: impl AsRef<[u8]>, size: usize) -> Self {
        Self {
            name: name.as_ref().to_vec(),
            mode: b"0000644".to_vec(),
            uid: b"0000000".to_vec(),
            gid: b"0000000".to_vec(),
            size: format!("{size:011o}").into_bytes(),
            mtime: b"00000000000".to_vec(),
            checksum: None,
            kind: b'0',
            link: Vec::new(),
            magic: b"ustar\x0000".to_vec(),
            user: Vec::new(),
            group: Vec::new(),
            major: b"0000000".to_vec(),
            minor: b"0000000".to_vec(),
            prefix: Vec::new(),
            rest: Vec::new(),
        }
    }

    /// A header of another type.
    pub(super) fn of_kind(kind: u8, name: impl AsRef<[u8]>, size: usize) -> Self {
        Self { kind, ..Self::file(name, size) }
    }

    /// A link.
    pub(super) fn link(kind: u8, name: &str, target: &str) -> Self {
        Self { kind, link: target.into(), ..Self::file(name, 0) }
    }

    /// The block.
    pub(super) fn block(&self) -> Vec<u8> {
        let blank = b"        ".to_vec();
        let fields = |checksum: &Vec<u8>| {
            let mut block = Vec::with_capacity(BLOCK_BYTES);
            let kind = vec![self.kind];
            for (field, width) in [
                (&self.name, 100),
                (&self.mode, 8),
                (&self.uid, 8),
                (&self.gid, 8),
                (&self.size, 12),
                (&self.mtime, 12),
                (checksum, 8),
                (&kind, 1),
                (&self.link, 100),
                (&self.magic, 8),
                (&self.user, 32),
                (&self.group, 32),
                (&self.major, 8),
                (&self.minor, 8),
                (&self.prefix, 155),
                (&self.rest, 12),
            ] {
                let mut field = field.clone();
                field.resize(width, 0);
                block.extend_from_slice(&field);
            }
            block
        };
        let sum: u32 = fields(&blank).iter().map(|byte| u32::from(*byte)).sum();
        let checksum = format!("{sum:06o}\0 ").into_bytes();
        fields(self.checksum.as_ref().unwrap_or(&checksum))
    }

    /// The block, and `content` padded behind it.
    pub(super) fn with(&self, content: &[u8]) -> Vec<u8> {
        let mut entry = self.block();
        entry.extend_from_slice(content);
        entry.resize(entry.len().next_multiple_of(BLOCK_BYTES), 0);
        entry
    }
}

/// The entries of a stream, one by one, with the name by which attacks find each.
#[derive(Debug, Clone)]
pub(super) struct Entries {
    entries: Vec<(String, Vec<u8>)>,
    /// What ends it.
    pub(super) end: Vec<u8>,
}

impl Entries {
    /// The honest entries of `sample`.
    pub(super) fn of(sample: &Sample) -> io::Result<Self> {
        Self::with(sample, &sample.manifest.to_bytes(), &sample.envelope.to_bytes())
    }

    /// The honest files of `sample` behind these bytes in place of its manifest and envelope.
    pub(super) fn with(sample: &Sample, manifest: &[u8], envelope: &[u8]) -> io::Result<Self> {
        let ours = |path: &str, content: &[u8]| {
            (path.to_owned(), Header::file(path, content.len()).with(content))
        };
        let mut entries = vec![ours(MANIFEST_PATH, manifest), ours(ENVELOPE_PATH, envelope)];
        for file in &sample.manifest.files {
            let path = file.path.as_str();
            let content = sample.files.get(&file.path).ok_or(io::ErrorKind::NotFound)?;
            let (prefix, name) = match path.split_at_checked(file.path.ustar_split()) {
                Some((prefix, name)) if !prefix.is_empty() => (prefix, &name[1..]),
                _ => ("", path),
            };
            let mut header = Header::file(name, content.len());
            header.prefix = prefix.into();
            if file.mode == Mode::Executable {
                header.mode = b"0000755".to_vec();
            }
            entries.push((path.to_owned(), header.with(content)));
        }
        Ok(Self { entries, end: vec![0; 2 * BLOCK_BYTES] })
    }

    /// The whole stream.
    pub(super) fn stream(&self) -> Vec<u8> {
        let mut stream: Vec<u8> =
            self.entries.iter().flat_map(|(_, bytes)| bytes).copied().collect();
        stream.extend_from_slice(&self.end);
        stream
    }

    /// The offset at which the entry `name` starts.
    pub(super) fn start_of(&self, name: &str) -> usize {
        let before = self.entries.iter().take_while(|(at, _)| at != name);
        before.map(|(_, bytes)| bytes.len()).sum()
    }

    /// Changes the bytes of the entry `name`.
    pub(super) fn change(mut self, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> Self {
        if let Some((_, bytes)) = self.entries.iter_mut().find(|(at, _)| at == name) {
            change(bytes);
        }
        self
    }

    /// Puts `bytes` before the entry `name`; at the end where there is none.
    pub(super) fn insert_before(mut self, name: &str, bytes: Vec<u8>) -> Self {
        let place = self.entries.iter().position(|(at, _)| at == name);
        self.entries.insert(place.unwrap_or(self.entries.len()), (String::new(), bytes));
        self
    }

    /// Takes the entry `name` out.
    pub(super) fn without(mut self, name: &str) -> Self {
        self.entries.retain(|(at, _)| at != name);
        self
    }

    /// Exchanges two entries.
    pub(super) fn swapped(mut self, left: &str, right: &str) -> Self {
        let place = |name: &str| self.entries.iter().position(|(at, _)| at == name);
        if let (Some(left), Some(right)) = (place(left), place(right)) {
            self.entries.swap(left, right);
        }
        self
    }
}

/// One PAX record: its length, the key, the value.
pub(super) fn pax(key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let mut length = rest.len() + 1;
    // The length counts its own digits.
    while length.to_string().len() + rest.len() != length {
        length = length.to_string().len() + rest.len();
    }
    format!("{length}{rest}").into_bytes()
}
