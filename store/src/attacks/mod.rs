//! Hostile archives with the answer each must get, for the tests of every crate that reads one.
//!
//! The archives are made here, the answers are data: `store/tests/attacks/expected.json`. Built only
//! with the feature `attacks`.

mod bounds;
mod constants;
mod decode;
mod expected;
mod extensions;
mod frame;
mod frames;
mod manifests;
mod paths;
mod sample;
mod signatures;
mod structure;
mod tar;
mod truncation;

use std::io;

pub use decode::{check, check_stream, decode, framed, tar_stream};
pub use expected::{Expected, RefusedBy, expectations};
pub use sample::{Collected, SIGNING_KEY, Sample, SampleError};

use tar::Entries;

/// An archive and what must become of it.
#[derive(Debug, Clone)]
pub struct Attack {
    /// Its group and, behind a `/`, which of the group it is.
    pub name: String,
    /// The bytes.
    pub archive: Vec<u8>,
    /// What must become of it.
    pub expected: Expected,
}

/// Every attack, each made from [`Sample::small`].
///
/// Among them are archives that must be taken, so that a reader which refuses all is found out.
/// Names are unique. Fails where an attack has no expectation.
pub fn all() -> io::Result<Vec<Attack>> {
    let sample = Sample::small().map_err(io::Error::other)?;
    let mut corpus = Corpus { sample, made: Vec::new() };
    paths::add(&mut corpus)?;
    structure::add(&mut corpus)?;
    extensions::add(&mut corpus)?;
    constants::add(&mut corpus)?;
    manifests::add(&mut corpus)?;
    signatures::add(&mut corpus)?;
    frames::add(&mut corpus)?;
    bounds::add(&mut corpus)?;
    truncation::add(&mut corpus)?;
    let expectations = expectations()?;
    corpus
        .made
        .into_iter()
        .map(|(name, archive)| match expectations.iter().find(|one| one.covers(&name)).cloned() {
            Some(expected) => Ok(Attack { name, archive, expected }),
            None => Err(io::Error::other(format!("nothing is expected of `{name}`"))),
        })
        .collect()
}

/// The attacks made so far, and what they are made from.
struct Corpus {
    sample: Sample,
    made: Vec<(String, Vec<u8>)>,
}

impl Corpus {
    /// The honest entries.
    fn entries(&self) -> io::Result<Entries> {
        Entries::of(&self.sample)
    }

    /// Adds an archive.
    fn archive(&mut self, name: impl Into<String>, archive: Vec<u8>) {
        self.made.push((name.into(), archive));
    }

    /// Adds the archive of a stream, in an honest frame.
    fn stream(&mut self, name: impl Into<String>, stream: &[u8]) -> io::Result<()> {
        self.archive(name, framed(stream)?);
        Ok(())
    }

    /// Adds the archive of `entries`, in an honest frame.
    fn stream_of(&mut self, name: impl Into<String>, entries: &Entries) -> io::Result<()> {
        self.stream(name, &entries.stream())
    }

    /// Adds an archive whose manifest is `manifest` with a good signature, and whose files are the
    /// honest ones.
    fn manifest(&mut self, name: impl Into<String>, manifest: &[u8]) -> io::Result<()> {
        let entries = self.with_manifest(manifest)?;
        self.stream_of(name, &entries)
    }

    fn with_manifest(&self, manifest: &[u8]) -> io::Result<Entries> {
        let envelope = sample::sign_bytes(&self.sample.manifest, manifest);
        let envelope = envelope.map_err(io::Error::other)?;
        Entries::with(&self.sample, manifest, &envelope.to_bytes())
    }
}
