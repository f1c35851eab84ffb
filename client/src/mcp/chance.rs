//! Texts that nobody guesses.

use std::fmt::Write as _;

/// `N` bytes of chance in lowercase hex.
pub(super) fn digits<const N: usize>() -> Result<String, getrandom::Error> {
    let mut chance = [0; N];
    getrandom::fill(&mut chance)?;
    Ok(chance.iter().fold(String::with_capacity(2 * N), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}
