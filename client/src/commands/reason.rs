//! The reason of a yank or a revocation.

use skillpkg::{Error, Kind};

/// Most characters of a reason.
const MAX_REASON: usize = 500;

/// The reason without space around it.
pub(crate) fn read(text: &str) -> Result<&str, Error> {
    let reason = text.trim();
    if (1..=MAX_REASON).contains(&reason.chars().count()) {
        return Ok(reason);
    }
    let message = format!("a reason has 1 to {MAX_REASON} characters");
    Err(Error::new(Kind::Usage, "invalid_reason", message))
}
