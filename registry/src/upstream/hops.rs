//! The mirrors that a request has come through, so that two that mirror each other do not ask each
//! other for ever.

use std::fmt;
use std::str::FromStr;

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::random;

/// Holds the ids of the mirrors that a request has come through, the nearest last, with commas
/// between.
pub const MIRRORED_BY: HeaderName = HeaderName::from_static("skillpkg-mirrored-by");
/// Most mirrors in a row.
const MAX_HOPS: usize = 8;
/// Digits of an id.
const DIGITS: usize = 16;

/// What a mirror is known by to others: 16 hexadecimal digits, drawn once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MirrorId(String);

impl MirrorId {
    /// A new one.
    pub fn generate() -> Result<Self, random::NoRandomness> {
        random::hex::<8>().map(Self)
    }
}

impl fmt::Display for MirrorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Not the id of a mirror.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a mirror's id is {DIGITS} lowercase hexadecimal digits")]
pub struct MirrorIdError;

impl FromStr for MirrorId {
    type Err = MirrorIdError;

    fn from_str(text: &str) -> Result<Self, MirrorIdError> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() == DIGITS && text.bytes().all(is_digit) {
            Ok(Self(text.to_owned()))
        } else {
            Err(MirrorIdError)
        }
    }
}

/// The mirrors that a request has come through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hops(Vec<MirrorId>);

/// Why a request goes no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HopsError {
    /// It has been here.
    #[error("the request has come back to this mirror: its upstream mirrors it")]
    Loop,
    /// Too many mirrors in a row.
    #[error("the request has come through more than {MAX_HOPS} mirrors")]
    TooMany,
    /// A header that cannot be read.
    #[error("`skillpkg-mirrored-by` holds ids of mirrors with commas between")]
    Malformed,
}

impl Hops {
    /// Reads what a request has come through.
    pub fn of(headers: &HeaderMap) -> Result<Self, HopsError> {
        let mut hops = Vec::new();
        for value in headers.get_all(MIRRORED_BY) {
            let text = value.to_str().map_err(|_| HopsError::Malformed)?;
            for id in text.split(',') {
                hops.push(id.trim().parse().map_err(|_| HopsError::Malformed)?);
                if hops.len() > MAX_HOPS {
                    return Err(HopsError::TooMany);
                }
            }
        }
        Ok(Self(hops))
    }

    /// Refuses what has come back to `mirror`.
    pub fn check(&self, mirror: &MirrorId) -> Result<(), HopsError> {
        if self.0.contains(mirror) { Err(HopsError::Loop) } else { Ok(()) }
    }

    /// As upstream is told: these, and then `mirror`.
    pub fn through(&self, mirror: &MirrorId) -> Result<HeaderValue, HopsError> {
        let all: Vec<&str> =
            self.0.iter().chain([mirror]).map(|MirrorId(digits)| digits.as_str()).collect();
        HeaderValue::try_from(all.join(", ")).map_err(|_| HopsError::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(MIRRORED_BY, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn what_is_sent_is_read_and_a_mirror_finds_itself_in_it() {
        let (one, other) = (MirrorId::generate().unwrap(), MirrorId::generate().unwrap());
        let first = Hops::default().through(&one).unwrap();
        let hops = Hops::of(&headers(&[first.to_str().unwrap()])).unwrap();
        assert_eq!(hops.check(&other), Ok(()));
        let second = hops.through(&other).unwrap();
        let hops = Hops::of(&headers(&[second.to_str().unwrap()])).unwrap();
        assert_eq!(hops.check(&one), Err(HopsError::Loop));
        assert_eq!(hops.check(&other), Err(HopsError::Loop));
        // Several headers are one list.
        let parted = Hops::of(&headers(&[&one.to_string(), &other.to_string()])).unwrap();
        assert_eq!(parted, hops);
    }

    #[test]
    fn what_is_no_list_of_ids_or_too_long_a_one_is_refused() {
        assert_eq!(Hops::of(&HeaderMap::new()), Ok(Hops::default()));
        let id = "0123456789abcdef";
        for text in ["", "x", "0123456789ABCDEF", "0123456789abcdef,", "0123456789abcdef0"] {
            assert_eq!(Hops::of(&headers(&[text])), Err(HopsError::Malformed), "{text:?}");
        }
        assert!(Hops::of(&headers(&[&[id; MAX_HOPS].join(",")])).is_ok());
        let long = [id; MAX_HOPS + 1].join(", ");
        assert_eq!(Hops::of(&headers(&[&long])), Err(HopsError::TooMany));
    }
}
