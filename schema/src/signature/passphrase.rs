//! What a private key is locked with.

use std::fmt;

use zeroize::Zeroizing;

/// Most bytes of a passphrase: as many as OpenSSL reads.
pub const MAX_PASSPHRASE_BYTES: usize = 1024;

/// Text that is no passphrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PassphraseError {
    /// Nothing, which locks nothing.
    #[error("the passphrase is empty")]
    Empty,
    /// Longer than [`MAX_PASSPHRASE_BYTES`].
    #[error("the passphrase is {0} bytes long; the most is {MAX_PASSPHRASE_BYTES}")]
    TooLong(usize),
    /// A line break or a NUL, which no prompt can be given.
    #[error("the passphrase is more than one line of text")]
    NotOneLine,
}

/// A passphrase, whose bytes are taken as they are: no tool that reads the key changes them.
///
/// Its memory is overwritten when it is dropped, and `Debug` does not show it.
#[derive(Clone)]
pub struct Passphrase(Zeroizing<String>);

impl Passphrase {
    /// Takes one line of text; it is overwritten also where it is refused.
    pub fn new(text: String) -> Result<Self, PassphraseError> {
        let text = Zeroizing::new(text);
        if text.is_empty() {
            return Err(PassphraseError::Empty);
        }
        if text.len() > MAX_PASSPHRASE_BYTES {
            return Err(PassphraseError::TooLong(text.len()));
        }
        if text.contains(['\n', '\r', '\0']) {
            return Err(PassphraseError::NotOneLine);
        }
        Ok(Self(text))
    }

    /// Takes the text of a file or of a pipe: one line, with or without its end.
    pub fn from_line(mut text: String) -> Result<Self, PassphraseError> {
        if text.ends_with('\n') {
            text.pop();
            if text.ends_with('\r') {
                text.pop();
            }
        }
        Self::new(text)
    }

    /// Whether the other is the same.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    /// Its bytes.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_of_text_is_taken_as_it_is_and_never_shown() {
        for (text, taken) in [
            ("correct horse", Ok("correct horse")),
            (" ş\t✓ ", Ok(" ş\t✓ ")),
            ("line\n", Ok("line")),
            ("line\r\n", Ok("line")),
            ("two\nlines\n", Err(PassphraseError::NotOneLine)),
            ("two\n\n", Err(PassphraseError::NotOneLine)),
            ("a\0b", Err(PassphraseError::NotOneLine)),
            ("", Err(PassphraseError::Empty)),
            ("\n", Err(PassphraseError::Empty)),
        ] {
            let passphrase = Passphrase::from_line(text.to_owned());
            let bytes = passphrase.as_ref().map(Passphrase::as_bytes).map_err(|error| *error);
            assert_eq!(bytes, taken.map(str::as_bytes), "{text:?}");
            if let Ok(passphrase) = passphrase {
                assert_eq!(format!("{passphrase:?}"), "Passphrase(…)");
            }
        }
        assert!(Passphrase::new("x".repeat(MAX_PASSPHRASE_BYTES)).is_ok());
        let long = Passphrase::new("x".repeat(MAX_PASSPHRASE_BYTES + 1)).unwrap_err();
        assert_eq!(long, PassphraseError::TooLong(1025));
    }
}
