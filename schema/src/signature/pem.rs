//! The blocks of a PEM file (RFC 7468).

/// The first block of this label, from its first dash to its last; what is around it is not read.
pub(super) fn block<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
    let text = &text[text.find(&begin)?..];
    let length = text.find(&end)? + end.len();
    Some(&text[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_of_a_label_is_found_whatever_is_around_it() {
        let a = "-----BEGIN A-----\nx\n-----END A-----";
        let text = format!("about\n{a}\n-----BEGIN B A-----\ny\n-----END B A-----\n{a}\n");
        assert_eq!(block(&text, "A"), Some(a));
        assert_eq!(block(&text, "B A"), Some("-----BEGIN B A-----\ny\n-----END B A-----"));
        for (text, label) in
            [(text.as_str(), "B"), ("-----BEGIN A-----", "A"), ("-----END A-----", "A"), ("", "A")]
        {
            assert_eq!(block(text, label), None, "{text}");
        }
    }
}
