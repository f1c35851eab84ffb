//! Random texts.

use std::fmt::Write as _;

/// The system gave no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the system gave no random bytes: {0}")]
pub struct NoRandomness(getrandom::Error);

impl From<NoRandomness> for crate::problem::Refusal {
    fn from(error: NoRandomness) -> Self {
        Self::internal(&error)
    }
}

/// `BYTES` random bytes.
pub fn bytes<const BYTES: usize>() -> Result<[u8; BYTES], NoRandomness> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(NoRandomness)?;
    Ok(bytes)
}

/// `BYTES` random bytes as lowercase hexadecimal digits.
pub fn hex<const BYTES: usize>() -> Result<String, NoRandomness> {
    let bytes = bytes::<BYTES>()?;
    Ok(bytes.iter().fold(String::with_capacity(BYTES * 2), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    }))
}
