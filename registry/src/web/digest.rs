//! Digests in a page: short enough to read, whole within reach, and drawn so that two are told apart.

use std::fmt::Write as _;

use skillpkg_schema::signature::KeyId;
use skillpkg_schema::{ContentAddress, Sha256Digest};

use super::text::Markup;

/// Digits of the short form.
const SHORT: usize = 12;
/// Digits of a group of the whole form.
const GROUP: usize = 8;
/// Bars of the drawing.
const BARS: usize = 16;

/// A digest, and what it is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Digest {
    /// What stands before the digits, such as `sha256:`; empty for a key.
    pub(super) prefix: &'static str,
    hex: String,
}

impl From<&ContentAddress> for Digest {
    fn from(address: &ContentAddress) -> Self {
        let prefix = match address.algorithm() {
            skillpkg_schema::Algorithm::Sha256 => "sha256:",
            skillpkg_schema::Algorithm::Blake3 => "blake3:",
        };
        Self { prefix, hex: address.hex() }
    }
}

impl From<&Sha256Digest> for Digest {
    fn from(digest: &Sha256Digest) -> Self {
        Self { prefix: "sha256:", hex: digest.to_string() }
    }
}

impl From<&KeyId> for Digest {
    fn from(key: &KeyId) -> Self {
        Self { prefix: "", hex: key.to_string() }
    }
}

impl Digest {
    /// The first digits: enough to see, not to compare.
    pub(super) fn short(&self) -> &str {
        self.hex.get(..SHORT).unwrap_or(&self.hex)
    }

    /// All of it, as it is written to a program.
    pub(super) fn whole(&self) -> String {
        format!("{}{}", self.prefix, self.hex)
    }

    /// The digits, eight by eight.
    pub(super) fn groups(&self) -> impl Iterator<Item = &str> {
        (0..self.hex.len()).step_by(GROUP).map(|at| {
            let end = (at + GROUP).min(self.hex.len());
            self.hex.get(at..end).unwrap_or_default()
        })
    }

    /// All its digits as bars, as wide as there is room: what a snapshot looks like.
    pub(super) fn band(&self) -> Markup {
        let mut path = String::new();
        for (at, digit) in self.hex.chars().enumerate() {
            let height = digit.to_digit(16).unwrap_or(0) + 1;
            let _ = write!(path, "M{} {}h2v{}h-2z", 3 * at, 16 - height, 2 * height);
        }
        let width = (3 * self.hex.len()).saturating_sub(1);
        Markup(format!(
            "<svg class=\"band\" viewBox=\"0 0 {width} 32\" preserveAspectRatio=\"none\" aria-hidden=\"true\" focusable=\"false\"><path d=\"{path}\"/></svg>"
        ))
    }

    /// Its first digits as bars, for the eye: two digests that differ there look different.
    pub(super) fn bars(&self) -> Markup {
        let mut path = String::new();
        for (at, digit) in self.hex.chars().take(BARS).enumerate() {
            let height = digit.to_digit(16).unwrap_or(0) + 1;
            let _ = write!(path, "M{} 16v-{height}", 2 * at + 1);
        }
        Markup(format!(
            "<svg class=\"bars\" viewBox=\"0 0 32 16\" width=\"32\" height=\"16\" aria-hidden=\"true\" focusable=\"false\"><path d=\"{path}\"/></svg>"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_short_and_whole_and_drawn() {
        let digest = Digest::from(&Sha256Digest::from_bytes([0xaf; 32]));
        assert_eq!(digest.short(), "afafafafafaf");
        assert_eq!(digest.whole(), format!("sha256:{}", "af".repeat(32)));
        assert_eq!(digest.groups().collect::<String>(), "af".repeat(32));
        assert_eq!(digest.groups().count(), 8);
        assert!(digest.bars().0.contains("M1 16v-11M3 16v-16"));
    }
}
