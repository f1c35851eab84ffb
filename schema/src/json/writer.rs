//! Canonical text.

use std::fmt::Write as _;

use super::Json;

/// Appends the canonical text of `value`.
pub(super) fn write(value: &Json, text: &mut String) {
    match value {
        Json::Null => text.push_str("null"),
        Json::Bool(true) => text.push_str("true"),
        Json::Bool(false) => text.push_str("false"),
        Json::Number(number) => text.push_str(number),
        Json::String(string) => write_string(string, text),
        Json::Array(items) => {
            text.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        Json::Object(members) => {
            let mut sorted: Vec<&(String, Json)> = members.iter().collect();
            sorted.sort_by(|(left, _), (right, _)| left.cmp(right));
            text.push('{');
            for (position, (key, member)) in sorted.into_iter().enumerate() {
                if position > 0 {
                    text.push(',');
                }
                write_string(key, text);
                text.push(':');
                write(member, text);
            }
            text.push('}');
        }
    }
}

/// Appends `string` in quotation marks, escaped as JSON requires and no more.
pub(crate) fn write_string(string: &str, text: &mut String) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\u{c}' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            '\0'..='\u{1f}' => {
                let _ = write!(text, "\\u{:04x}", u32::from(character));
            }
            _ => text.push(character),
        }
    }
    text.push('"');
}
