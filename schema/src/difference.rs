//! The first difference of two JSON values.

use serde_json::Value;

use crate::diagnostic::escape;
use crate::json::Pointer;

/// Where two values differ, and what stands there in each.
#[derive(Debug)]
pub(crate) struct Difference<'a> {
    /// JSON pointer of the place; empty where the values differ as wholes.
    pub(crate) path: String,
    left: Option<&'a Value>,
    right: Option<&'a Value>,
}

impl Difference<'_> {
    /// The difference in words, where `left` and `right` are whose values they are.
    pub(crate) fn said(&self, left: &str, right: &str) -> String {
        let shown = |value: Option<&Value>| match value {
            Some(value) => format!("`{}`", escape(&value.to_string())),
            None => "nothing".to_owned(),
        };
        let place = match self.path.as_str() {
            "" => String::new(),
            path => format!("at `{}` ", escape(path)),
        };
        format!("{place}{left} has {}, {right} has {}", shown(self.left), shown(self.right))
    }
}

/// The first difference in the order of canonical text; [`None`] where the values are equal.
///
/// Recurses as deep as both values nest, which whoever read them has bounded.
pub(crate) fn first<'a>(
    left: Option<&'a Value>,
    right: Option<&'a Value>,
) -> Option<Difference<'a>> {
    descend(&mut Pointer::default(), left, right)
}

fn descend<'a>(
    path: &mut Pointer<'a>,
    left: Option<&'a Value>,
    right: Option<&'a Value>,
) -> Option<Difference<'a>> {
    match (left, right) {
        _ if left == right => None,
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let mut keys: Vec<&String> = left.keys().chain(right.keys()).collect();
            keys.sort();
            keys.into_iter().find_map(|key| {
                path.push_key(key.as_str());
                let found = descend(path, left.get(key), right.get(key));
                path.pop();
                found
            })
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => (0..left.len().max(right.len()))
            .find_map(|position| {
                path.push_item(position);
                let found = descend(path, left.get(position), right.get(position));
                path.pop();
                found
            }),
        _ => Some(Difference { path: path.to_string(), left, right }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_is_found_in_canonical_order() {
        let left = json!({"b": [1, {"x": 1}], "a/": "same"});
        for (right, path, said) in [
            (
                json!({"b": [1, {"x": 2}], "a/": "same"}),
                "/b/1/x",
                "at `/b/1/x` l has `1`, r has `2`",
            ),
            (json!({"b": [1], "a/": "same"}), "/b/1", "at `/b/1` l has `{\"x\":1}`, r has nothing"),
            (
                json!({"b": [1], "a/": "other"}),
                "/a~1",
                "at `/a~1` l has `\"same\"`, r has `\"other\"`",
            ),
            (json!([]), "", "l has `{\"a/\":\"same\",\"b\":[1,{\"x\":1}]}`, r has `[]`"),
        ] {
            let found = first(Some(&left), Some(&right)).unwrap();
            assert_eq!((found.path.as_str(), found.said("l", "r").as_str()), (path, said));
        }
        assert!(first(Some(&left), Some(&left.clone())).is_none());
        assert!(first(None, Some(&left)).is_some());
    }
}
