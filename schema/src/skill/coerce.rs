//! Values made to fit the type of a param, and nothing further.

use super::{Param, ParamKind, number};
use crate::json::Json;

/// `value` as `kind` has it; [`None`] where it does not fit.
///
/// Text that is a number or a truth value becomes one, and the other way round; a number without a
/// fraction is an integer. Nothing else is made of anything.
pub(super) fn coerce(kind: ParamKind, value: &Json) -> Option<Json> {
    match (kind, value) {
        (_, Json::String(text)) => from_text(kind, text),
        (ParamKind::String, Json::Number(text)) => Some(Json::String(text.clone())),
        (ParamKind::String, Json::Bool(value)) => Some(Json::String(value.to_string())),
        (ParamKind::Integer, Json::Number(text)) => {
            number::integer(text).map(|value| Json::Number(value.to_string()))
        }
        (ParamKind::Number, Json::Number(text)) if number::is_finite(text) => Some(value.clone()),
        (ParamKind::Boolean, Json::Bool(_)) => Some(value.clone()),
        _ => None,
    }
}

/// The value of type `kind` that `text` writes.
pub(super) fn from_text(kind: ParamKind, text: &str) -> Option<Json> {
    match kind {
        ParamKind::String => Some(Json::String(text.to_owned())),
        ParamKind::Integer => number::integer(text)
            .filter(|_| text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()))
            .map(|value| Json::Number(value.to_string())),
        ParamKind::Number => number::is_finite(text).then(|| Json::Number(text.to_owned())),
        ParamKind::Boolean => text.parse().ok().map(Json::Bool),
    }
}

/// Whether two values of one param are the same.
pub(super) fn same(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => {
            match (number::integer(left), number::integer(right)) {
                (Some(left), Some(right)) => left == right,
                (None, None) => left.parse::<f64>().ok() == right.parse::<f64>().ok(),
                _ => false,
            }
        }
        _ => left == right,
    }
}

/// What a param's values are, as a message says it.
pub(super) fn expected(param: &Param) -> String {
    match (&param.choices, param.kind) {
        (Some(choices), _) => {
            let shown: Vec<String> = choices
                .iter()
                .map(|one| format!("`{}`", crate::diagnostic::escape(&text(one))))
                .collect();
            format!("one of {}", shown.join(", "))
        }
        (None, ParamKind::String) => "a string".to_owned(),
        (None, ParamKind::Integer) => "a whole number of at most 64 bits".to_owned(),
        (None, ParamKind::Number) => "a number".to_owned(),
        (None, ParamKind::Boolean) => "`true` or `false`".to_owned(),
    }
}

/// A value as text: a string as itself, the others as JSON writes them.
pub(super) fn text(value: &Json) -> String {
    match value {
        Json::String(text) | Json::Number(text) => text.clone(),
        Json::Bool(value) => value.to_string(),
        Json::Null => "null".to_owned(),
        Json::Array(_) | Json::Object(_) => value.canonical(),
    }
}
