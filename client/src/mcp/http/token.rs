//! The token without which nobody is answered.

use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use skillpkg_schema::Sha256Digest;

use crate::mcp::chance;
use crate::{Error, Kind, private_file, regular_file};

/// Fewest characters of a token: what is shorter can be guessed.
const FEWEST: usize = 16;
/// Most bytes of a token, and of a file that holds one.
const MOST_BYTES: usize = 4096;
/// Bytes of chance in a token that is made here.
const CHANCE: usize = 32;

/// A text that is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Too short.
    #[error("a token has at least {FEWEST} characters")]
    Short,
    /// Too long.
    #[error("a token has at most {MOST_BYTES} characters")]
    Long,
    /// No header can carry it.
    #[error("a token is of printable ASCII, without spaces")]
    Characters,
}

/// The token without which nobody is answered. Only its digest is held, so that nothing shows it
/// and comparing it tells nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    digest: Sha256Digest,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// The token that is this text, white space around it left out.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if text.len() < FEWEST {
            return Err(TokenError::Short);
        }
        if text.len() > MOST_BYTES {
            return Err(TokenError::Long);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::Characters);
        }
        Ok(Self { digest: Sha256Digest::of(text.as_bytes()) })
    }

    /// Where a store keeps the token that it was given none for.
    pub fn place(home: &Path) -> PathBuf {
        home.join("mcp-token")
    }

    /// The token that the store at `home` keeps; one is made where it keeps none.
    ///
    /// The file is its owner's alone. A crash leaves no file or the whole one; of two servers that
    /// start at once both have the token that was there first.
    pub fn kept(home: &Path) -> Result<Self, Error> {
        let place = Self::place(home);
        if let Some(token) = Self::read(&place)? {
            return Ok(token);
        }
        let text =
            chance::digits::<CHANCE>().map_err(|error| failed(&place, &error.to_string()))?;
        match private_file::create(&place, format!("{text}\n").as_bytes()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&place, &error.to_string())),
        }
        Self::read(&place)?.ok_or_else(|| failed(&place, "it is gone again"))
    }

    /// The token that a file holds.
    pub fn of_file(path: &Path) -> Result<Self, Error> {
        Self::read(path)?.ok_or_else(|| failed(path, "there is no such file"))
    }

    fn read(path: &Path) -> Result<Option<Self>, Error> {
        let file = match regular_file::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(path, &error.to_string())),
        };
        let mut text = String::new();
        file.take(MOST_BYTES as u64 + 2)
            .read_to_string(&mut text)
            .map_err(|error| failed(path, &error.to_string()))?;
        Self::new(&text).map(Some).map_err(|error| failed(path, &error.to_string()))
    }

    /// Whether an `Authorization` header gives it.
    pub(super) fn is_given_by(&self, header: &[u8]) -> bool {
        let Some((scheme, given)) = header.split_at_checked("Bearer ".len()) else { return false };
        scheme.eq_ignore_ascii_case(b"Bearer ") && Sha256Digest::of(given) == self.digest
    }
}

fn failed(path: &Path, reason: &str) -> Error {
    Error::new(Kind::Failed, "token_unreadable", format!("the token of the server: {reason}"))
        .in_file(path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_kept_for_its_owner_alone_and_read_again() {
        let home = tempfile::tempdir().unwrap();
        let token = Token::kept(home.path()).unwrap();
        assert_eq!(Token::kept(home.path()).unwrap(), token);
        let place = Token::place(home.path());
        assert_eq!(Token::of_file(&place).unwrap(), token);
        let text = std::fs::read_to_string(&place).unwrap();
        assert_eq!(text.trim().len(), 64);
        assert!(token.is_given_by(format!("Bearer {}", text.trim()).as_bytes()));
        assert!(!format!("{token:?}").contains(text.trim()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(place.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
        }
    }

    #[test]
    fn only_a_bearer_with_the_whole_token_gives_it() {
        let token = Token::new(" 0123456789abcdef\n").unwrap();
        for (header, given) in [
            ("Bearer 0123456789abcdef", true),
            ("bearer 0123456789abcdef", true),
            ("Bearer 0123456789abcde", false),
            ("Bearer 0123456789abcdef0", false),
            ("Bearer  0123456789abcdef", false),
            ("Basic 0123456789abcdef", false),
            ("0123456789abcdef", false),
            ("Bearer", false),
            ("", false),
        ] {
            assert_eq!(token.is_given_by(header.as_bytes()), given, "{header}");
        }
    }

    #[test]
    fn what_can_be_guessed_or_no_header_carries_is_refused() {
        assert_eq!(Token::new("short"), Err(TokenError::Short));
        assert_eq!(Token::new(&"x".repeat(5_000)), Err(TokenError::Long));
        assert_eq!(Token::new("0123456789 abcdef"), Err(TokenError::Characters));
        assert_eq!(Token::new("0123456789äabcdef"), Err(TokenError::Characters));
        let home = tempfile::tempdir().unwrap();
        std::fs::write(Token::place(home.path()), "secret").unwrap();
        let error = Token::kept(home.path()).unwrap_err();
        assert!(error.code == "token_unreadable" && !error.to_string().contains("secret"));
        assert!(Token::of_file(&home.path().join("absent")).is_err());
    }
}
