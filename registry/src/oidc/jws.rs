//! A signed JSON Web Token (RFC 7515, compact), read strictly.
//!
//! A reader of its own: the algorithm is the key's and never the token's, no key is taken out of the
//! token, and nothing is read in two ways.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::json::{self, Bounds, Json};

use super::error::IdentityError;

/// Most bytes of a token.
pub(super) const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// Longest id of a key, in bytes.
pub(super) const MAX_KID_BYTES: usize = 256;
const HEADER: Bounds = Bounds { bytes: 4 * 1024, depth: 4, nodes: 64 };
const CLAIMS: Bounds = Bounds { bytes: MAX_TOKEN_BYTES, depth: 8, nodes: 1_024 };

/// The algorithms that count, as headers name them.
pub(super) const ALGORITHMS: [&str; 3] = ["RS256", "ES256", "EdDSA"];

/// A token whose signature is yet to be verified: nothing in it is to be believed.
#[derive(Debug)]
pub(super) struct Unverified<'a> {
    /// The algorithm that it says it is signed by.
    pub(super) algorithm: String,
    /// The id of the key that it says it is signed with.
    pub(super) kid: String,
    /// What is signed: the header and the claims as they came.
    pub(super) signed: &'a str,
    /// The signature.
    pub(super) signature: Vec<u8>,
    /// The claims.
    pub(super) claims: Json,
}

impl<'a> Unverified<'a> {
    /// Reads a token; of its header all is understood, or it is refused.
    pub(super) fn read(token: &'a str) -> Result<Self, IdentityError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(IdentityError::TooLong);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(IdentityError::Parts)?;
        let (header, claims) = signed.split_once('.').ok_or(IdentityError::Parts)?;
        if claims.contains('.') || header.is_empty() || claims.is_empty() {
            return Err(IdentityError::Parts);
        }
        let (algorithm, kid) = read_header(&object("header", header, &HEADER)?)?;
        let signature = decode("signature", signature)?;
        let claims = object("payload", claims, &CLAIMS)?;
        Ok(Self { algorithm, kid, signed, signature, claims })
    }
}

/// The algorithm and the key that a header names.
fn read_header(header: &Json) -> Result<(String, String), IdentityError> {
    let text = |name: &str| match header.get(name) {
        Some(Json::String(text)) => Ok(text.clone()),
        Some(_) => Err(IdentityError::Header(format!("has another `{name}` than a text"))),
        None => Err(IdentityError::Header(format!("has no `{name}`"))),
    };
    let algorithm = text("alg")?;
    if !ALGORITHMS.contains(&algorithm.as_str()) {
        return Err(IdentityError::Algorithm(algorithm));
    }
    if header.get("crit").is_some() {
        // RFC 7515, 4.1.11: whoever does not understand what it lists refuses.
        return Err(IdentityError::Header("asks with `crit` for what is not done here".to_owned()));
    }
    if header.get("typ").is_some() && !text("typ")?.eq_ignore_ascii_case("JWT") {
        let said = escape(&text("typ")?);
        return Err(IdentityError::Header(format!("says that it is a `{said}`, and no `JWT`")));
    }
    let kid = text("kid")?;
    if kid.is_empty() || kid.len() > MAX_KID_BYTES {
        let bound = format!("has a `kid` that is not of 1 to {MAX_KID_BYTES} bytes");
        return Err(IdentityError::Header(bound));
    }
    Ok((algorithm, kid))
}

/// Decodes base64url; padding, other alphabets and bits that say nothing are refused.
fn decode(part: &'static str, text: &str) -> Result<Vec<u8>, IdentityError> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| IdentityError::Encoding(part))
}

fn object(part: &'static str, text: &str, bounds: &Bounds) -> Result<Json, IdentityError> {
    let refused = |reason: String| IdentityError::Json { part, reason };
    let bytes = decode(part, text)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| refused("it is not UTF-8".to_owned()))?;
    let value = json::parse(text, bounds).map_err(|error| refused(escape(&error.to_string())))?;
    match value {
        Json::Object(_) => Ok(value),
        _ => Err(refused("it is another value".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn token(header: &str, claims: &str) -> String {
        format!("{}.{}.c2ln", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims))
    }

    const GOOD: &str = r#"{"alg":"ES256","kid":"k","typ":"JWT"}"#;

    #[test]
    fn a_token_is_read_in_one_way_or_refused() {
        let good = token(GOOD, r#"{"iss":"i"}"#);
        let read = Unverified::read(&good).unwrap();
        assert_eq!((read.algorithm.as_str(), read.kid.as_str()), ("ES256", "k"));
        assert_eq!(read.signature, b"sig");
        assert_eq!(format!("{}.c2ln", read.signed), good);
        let long = format!("{good}{}", "A".repeat(MAX_TOKEN_BYTES));
        for bad in [
            "",
            ".",
            "..",
            "a.b",
            &good.replace('.', ".."),
            &format!("{good}.c2ln"),
            &format!("{good}="),
            &format!("{good} "),
            &format!(" {good}"),
            &format!("{good}\n"),
            // `c2lo` and `c2lp` decode to other bytes; `c2k` has bits that say nothing but in one way.
            &good.replace("c2ln", "c2l"),
            &good.replace("c2ln", "c+/n"),
            &long,
            &token(GOOD, "[]"),
            &token(GOOD, r#"{"iss":"i","iss":"j"}"#),
            &token(GOOD, r#"{"iss":"i"}{}"#),
            &token(GOOD, &format!("{}1{}", "[".repeat(200), "]".repeat(200))),
            &token(r#"{"alg":"ES256","kid":"k","alg":"none"}"#, "{}"),
        ] {
            assert!(Unverified::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_header_is_understood_or_refused() {
        for (header, said) in [
            (r#"{"kid":"k"}"#, "has no `alg`"),
            (r#"{"alg":"none","kid":"k"}"#, "`none`"),
            (r#"{"alg":"None","kid":"k"}"#, "`None`"),
            (r#"{"alg":"","kid":"k"}"#, "``"),
            (r#"{"alg":"HS256","kid":"k"}"#, "`HS256`"),
            (r#"{"alg":"RS512","kid":"k"}"#, "`RS512`"),
            (r#"{"alg":["ES256"],"kid":"k"}"#, "another `alg`"),
            (r#"{"alg":"ES256"}"#, "has no `kid`"),
            (r#"{"alg":"ES256","kid":1}"#, "another `kid`"),
            (r#"{"alg":"ES256","kid":""}"#, "1 to 256 bytes"),
            (r#"{"alg":"ES256","kid":"k","crit":["exp"]}"#, "`crit`"),
            (r#"{"alg":"ES256","kid":"k","typ":"at+jwt"}"#, "no `JWT`"),
        ] {
            let refused = Unverified::read(&token(header, "{}")).unwrap_err().to_string();
            assert!(refused.contains(said), "{header}: {refused}");
        }
        // A key or a place for one in the header is not looked at.
        let other = r#"{"alg":"EdDSA","kid":"k","jku":"http://a","jwk":{"kty":"oct","k":"AA"}}"#;
        assert!(Unverified::read(&token(other, "{}")).is_ok());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn whatever_comes_is_read_or_refused(text in "[A-Za-z0-9_.=-]{0,200}|.{0,200}") {
            if let Ok(read) = Unverified::read(&text) {
                prop_assert!(text.starts_with(read.signed));
            }
        }

        #[test]
        fn one_other_character_is_another_token(position in 0_usize..80, other in "[A-Za-z0-9_-]") {
            let good = token(GOOD, r#"{"iss":"https://issuer.example","sub":"s"}"#);
            let at = position % good.len();
            let mut changed = good.clone();
            changed.replace_range(at..=at, &other);
            if changed != good && let Ok(read) = Unverified::read(&changed) {
                let same = read.signed == &good[..read.signed.len()] && read.signature == b"sig";
                prop_assert!(!same);
            }
        }
    }
}
