//! What an identity says, once its signature is verified.

use skillpkg_schema::Sha256Digest;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::json::Json;

use super::error::IdentityError;
use super::provider::{Claims, Provider};
use crate::clock;

/// How far clocks may differ, in seconds.
pub const LEEWAY: i64 = 60;
/// The longest time that an identity may still be valid for, in seconds: for so long it is remembered.
const MAX_LIFETIME: i64 = 86_400;
/// Longest claim that is compared, in bytes.
pub(super) const MAX_VALUE_BYTES: usize = 1_024;

/// A verified identity of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Its issuer.
    pub issuer: String,
    /// The service of the issuer.
    pub provider: Provider,
    /// What it says, what is derived from it among that.
    pub claims: Claims,
    /// What tells it from every other identity.
    pub once: Sha256Digest,
    /// Until when it would be taken, seconds since 1970.
    pub until: i64,
}

impl Identity {
    /// Checks what a verified token says at the time `now`, seconds since 1970.
    ///
    /// `signed` is what was signed of it: it stands for a token without a `jti`, since a signature can
    /// be written in more than one way.
    pub(super) fn of(
        json: &Json,
        signed: &str,
        (issuer, provider): (&str, Provider),
        audience: &str,
        now: i64,
    ) -> Result<Self, IdentityError> {
        check_audience(json, audience)?;
        let until = check_times(json, now)?;
        let once = match json.get("jti") {
            None => format!("{issuer}\n\n{signed}"),
            Some(Json::String(id)) if !id.is_empty() => format!("{issuer}\n{id}"),
            Some(_) => return Err(IdentityError::Kind { claim: "jti", wanted: "a text" }),
        };
        let once = Sha256Digest::of(once.as_bytes());
        let mut claims = texts(json);
        provider.complete(&mut claims)?;
        let issuer = issuer.to_owned();
        Ok(Self { issuer, provider, claims, once, until })
    }
}

/// The issuer that a token names; nothing shows yet that it is.
pub(super) fn issuer_of(json: &Json) -> Result<&str, IdentityError> {
    match json.get("iss") {
        Some(Json::String(issuer)) => Ok(issuer),
        Some(_) => Err(IdentityError::Kind { claim: "iss", wanted: "a text" }),
        None => Err(IdentityError::Missing("iss")),
    }
}

/// For this registry and for nobody else: whoever it is for as well could use it here.
fn check_audience(json: &Json, expected: &str) -> Result<(), IdentityError> {
    let seen = match json.get("aud").ok_or(IdentityError::Missing("aud"))? {
        Json::String(one) => vec![one.as_str()],
        Json::Array(many) => {
            let texts: Option<Vec<&str>> = many.iter().map(Json::as_str).collect();
            texts
                .ok_or(IdentityError::Kind { claim: "aud", wanted: "a text, or a list of them" })?
        }
        _ => return Err(IdentityError::Kind { claim: "aud", wanted: "a text, or a list of them" }),
    };
    if seen == [expected] {
        return Ok(());
    }
    Err(IdentityError::Audience { seen: seen.join(", "), expected: escape(expected) })
}

/// Answers with the time until which it is taken.
fn check_times(json: &Json, now: i64) -> Result<i64, IdentityError> {
    let shown = |time: i64| clock::at_unix(time);
    let end = time(json, "exp")?.ok_or(IdentityError::Missing("exp"))?;
    let until = end.saturating_add(LEEWAY);
    if until <= now {
        return Err(IdentityError::Over { end: shown(end), now: shown(now) });
    }
    if end > now + MAX_LIFETIME {
        return Err(IdentityError::TooLasting(shown(end)));
    }
    for claim in ["nbf", "iat"] {
        let Some(start) = time(json, claim)? else { continue };
        if start.saturating_sub(LEEWAY) > now {
            return Err(IdentityError::Early { claim, start: shown(start), now: shown(now) });
        }
    }
    Ok(until)
}

/// A time in whole seconds since 1970.
fn time(json: &Json, claim: &'static str) -> Result<Option<i64>, IdentityError> {
    let wanted = "a time in whole seconds since 1970";
    match json.get(claim) {
        None => Ok(None),
        Some(Json::Number(text)) => match text.parse() {
            Ok(time @ 0..) => Ok(Some(time)),
            _ => Err(IdentityError::Kind { claim, wanted }),
        },
        Some(_) => Err(IdentityError::Kind { claim, wanted }),
    }
}

/// The claims that are texts, whole numbers or truths, as text; no others are compared.
fn texts(json: &Json) -> Claims {
    let Json::Object(members) = json else { return Claims::new() };
    let text = |value: &Json| match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(text) => text.parse::<u64>().ok().map(|number| number.to_string()),
        Json::Bool(truth) => Some(truth.to_string()),
        _ => None,
    };
    let texts = members.iter().filter_map(|(claim, value)| Some((claim.clone(), text(value)?)));
    texts.filter(|(_, value)| value.len() <= MAX_VALUE_BYTES).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use skillpkg_schema::json::{Bounds, parse};

    use super::*;

    const NOW: i64 = 1_790_000_000;
    const HERE: &str = "https://skills.example";

    fn check(claims: &Value) -> Result<Identity, String> {
        let bounds = Bounds { bytes: 10_000, depth: 8, nodes: 100 };
        let json = parse(&claims.to_string(), &bounds).unwrap();
        Identity::of(&json, "signed", ("i", Provider::Other), HERE, NOW)
            .map_err(|error| error.to_string())
    }

    fn with(claim: &str, value: &Value) -> Result<Identity, String> {
        let mut claims = json!({"aud": HERE, "exp": NOW + 300, "sub": "s", "jti": "j"});
        claims[claim] = value.clone();
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(claim);
        }
        check(&claims)
    }

    #[test]
    fn an_identity_is_for_this_registry_alone() {
        assert!(with("aud", &json!(HERE)).is_ok() && with("aud", &json!([HERE])).is_ok());
        for other in [
            json!("https://skills.example/"),
            json!("https://SKILLS.example"),
            json!("https://other.example"),
            json!(""),
            json!([]),
            json!([HERE, "https://other.example"]),
            json!([HERE, HERE]),
            json!([1]),
            json!({"a": HERE}),
            json!(true),
            json!(null),
        ] {
            assert!(with("aud", &other).unwrap_err().contains("aud"), "{other}");
        }
    }

    #[test]
    fn an_identity_counts_from_its_start_to_its_end_with_a_minute_for_clocks() {
        for (claim, value, taken) in [
            ("exp", json!(NOW - 59), true),
            ("exp", json!(NOW - 60), false),
            ("exp", json!(NOW - 3_600), false),
            ("exp", json!(NOW + 86_400), true),
            ("exp", json!(NOW + 86_401), false),
            ("exp", json!(u64::MAX), false),
            ("exp", json!(-1), false),
            ("exp", json!("1790000300"), false),
            ("exp", json!(1_790_000_300.5), false),
            ("exp", json!(null), false),
            ("nbf", json!(NOW + 60), true),
            ("nbf", json!(NOW + 61), false),
            ("nbf", json!("soon"), false),
            ("iat", json!(NOW + 60), true),
            ("iat", json!(NOW + 61), false),
            ("iat", json!(i64::MAX), false),
        ] {
            let answer = with(claim, &value);
            assert_eq!(answer.is_ok(), taken, "{claim} {value}: {answer:?}");
            assert!(taken || answer.unwrap_err().contains(claim), "{claim} {value}");
        }
        assert_eq!(with("exp", &json!(NOW + 300)).unwrap().until, NOW + 300 + LEEWAY);
    }

    #[test]
    fn what_tells_one_from_the_others_is_its_id_or_what_was_signed() {
        let one = with("sub", &json!("a")).unwrap().once;
        assert_eq!(with("sub", &json!("b")).unwrap().once, one);
        assert_ne!(with("jti", &json!("k")).unwrap().once, one);
        let without = with("jti", &json!(null)).unwrap().once;
        assert_ne!(without, one);
        assert_eq!(without, with("jti", &json!(null)).unwrap().once);
        for bad in [json!(""), json!(1), json!(["j"])] {
            assert!(with("jti", &bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn claims_are_compared_as_texts_and_lists_are_not() {
        let claims = |value: Value| with("x", &value).unwrap().claims.remove("x");
        assert_eq!(claims(json!("a")).as_deref(), Some("a"));
        assert_eq!(claims(json!(7)).as_deref(), Some("7"));
        assert_eq!(claims(json!(true)).as_deref(), Some("true"));
        for value in [json!(1.5), json!(["a"]), json!({"a": 1}), json!("a".repeat(2_000))] {
            assert_eq!(claims(value), None);
        }
    }
}
