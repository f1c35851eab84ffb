//! Proofs that lie in a file (C2SP tlog-proof): that a record is in a log, with the checkpoint that
//! says so.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::checkpoint::MAX_CHECKPOINT_BYTES;
use super::merkle::Hash;

/// The first line.
const HEADER: &str = "c2sp.org/tlog-proof@v1";
/// Most hashes of an inclusion proof.
const MAX_HASHES: usize = 63;
/// Most bytes of extra data, as base64: a record and its salt.
const MAX_EXTRA: usize = 192 * 1024;

/// Why a text is no proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlogProofError {
    /// Longer than any is.
    #[error("the proof is longer than {} bytes", TlogProof::MAX_BYTES)]
    TooLong,
    /// Something else stands in a line.
    #[error("line {line} of the proof is not {expected}")]
    Line {
        /// From 1.
        line: usize,
        /// What should stand there.
        expected: &'static str,
    },
}

/// That a leaf is in a log, unverified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlogProof {
    /// What the application adds: here a [`super::Sealed`] record's JSON.
    pub extra: Option<Vec<u8>>,
    /// The leaf.
    pub index: u64,
    /// Its inclusion proof, from the leaf's sibling up.
    pub hashes: Vec<Hash>,
    /// The signed checkpoint that the proof leads to.
    pub checkpoint: String,
}

impl TlogProof {
    /// Most bytes of a proof.
    pub const MAX_BYTES: usize = MAX_EXTRA + MAX_CHECKPOINT_BYTES + 64 * 64;

    /// Reads a proof.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TlogProofError> {
        if bytes.len() > Self::MAX_BYTES {
            return Err(TlogProofError::TooLong);
        }
        let fault = |line, expected| TlogProofError::Line { line, expected };
        let text = std::str::from_utf8(bytes).map_err(|_| fault(1, "UTF-8"))?;
        let mut rest = text;
        let mut number = 0;
        let mut next = || {
            let (line, after) = rest.split_once('\n')?;
            rest = after;
            number += 1;
            Some((number, line))
        };
        if next().map(|(_, line)| line) != Some(HEADER) {
            return Err(fault(1, "`c2sp.org/tlog-proof@v1`"));
        }
        let (mut at, mut line) = next().ok_or(fault(2, "`index` and a number"))?;
        let mut extra = None;
        if let Some(data) = line.strip_prefix("extra ") {
            let data = STANDARD.decode(data).map_err(|_| fault(at, "`extra` and base64"))?;
            extra = Some(data);
            (at, line) = next().ok_or(fault(3, "`index` and a number"))?;
        }
        let index = line.strip_prefix("index ").and_then(|digits| {
            digits.parse::<u64>().ok().filter(|index| index.to_string() == digits)
        });
        let index = index.ok_or(fault(at, "`index` and a number"))?;
        let mut hashes = Vec::new();
        loop {
            let (at, line) = next().ok_or(fault(at + 1, "a hash or an empty line"))?;
            if line.is_empty() {
                break;
            }
            let hash = STANDARD.decode(line).ok().and_then(|hash| hash.try_into().ok());
            let hash = hash.filter(|_| hashes.len() < MAX_HASHES);
            hashes.push(Hash::from_bytes(hash.ok_or(fault(at, "a hash or an empty line"))?));
        }
        Ok(Self { extra, index, hashes, checkpoint: rest.to_owned() })
    }
}

impl fmt::Display for TlogProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        if let Some(extra) = &self.extra {
            writeln!(f, "extra {}", STANDARD.encode(extra))?;
        }
        writeln!(f, "index {}", self.index)?;
        for hash in &self.hashes {
            writeln!(f, "{}", STANDARD.encode(hash.as_bytes()))?;
        }
        write!(f, "\n{}", self.checkpoint)
    }
}
