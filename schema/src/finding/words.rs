//! Words of command lines, found in a line of whatever language.

/// The offsets at which a word stands in `line` as a word of a command: the end of a path at most
/// before it, and nothing but an end behind it. Both are in lower case.
pub(super) fn places<'l>(line: &'l str, word: &'l str) -> impl Iterator<Item = usize> + 'l {
    line.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let before = line.get(..*at).and_then(|before| before.chars().next_back());
        let behind = line.get(at + word.len()..).unwrap_or_default();
        let behind = behind.strip_prefix(".exe").unwrap_or(behind);
        let is_within = |one: char| one.is_alphanumeric() || matches!(one, '_' | '-' | '.' | '@');
        let ends = |one: char| {
            one.is_whitespace()
                || matches!(one, '"' | '\'' | '`' | ',' | ')' | '(' | ']' | ';' | '|')
        };
        !before.is_some_and(is_within) && behind.chars().next().is_none_or(ends)
    })
}

/// A word without the quotes, brackets and marks that prose and source put around it.
pub(super) fn bare(word: &str) -> &str {
    word.trim_start_matches(['"', '\'', '`', '(', '[', '{', '\\'])
        .trim_end_matches(['"', '\'', '`', ')', ']', '}', ',', ';', '.', ':', '\\', '|'])
}

/// Whether a word is an address of something elsewhere, or stands in for one.
pub(super) fn is_address(word: &str) -> bool {
    let word = word.trim_matches(['"', '\'', '`', '(', ')', '[', ']', ',', ';']);
    if word.starts_with('-') {
        return false;
    }
    let has_dot = word.as_bytes().windows(3).any(|three| match three {
        [before, b'.', after] => before.is_ascii_alphanumeric() && after.is_ascii_alphanumeric(),
        _ => false,
    });
    word.contains("://") || word.contains(['$', '{', '<', '%']) || has_dot
}

/// Whether `name` stands in the line as a whole identifier.
pub(super) fn has_identifier(line: &str, name: &str) -> bool {
    let is_part = |one: char| one.is_alphanumeric() || one == '_';
    line.match_indices(name).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        let behind = line.get(at + name.len()..).and_then(|behind| behind.chars().next());
        !before.is_some_and(is_part) && !behind.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_command_is_no_part_of_another() {
        for (line, found) in [
            ("curl x", true),
            ("/usr/bin/curl x", true),
            ("curl.exe x", true),
            ("[\"curl\", x]", true),
            ("https://curl.se/x", false),
            ("libcurl x", false),
            ("curl-config x", false),
            ("pycurl", false),
            ("user@curl x", false),
        ] {
            assert_eq!(places(line, "curl").next().is_some(), found, "{line}");
        }
    }

    #[test]
    fn an_address_is_told_from_words() {
        for word in ["https://x.y", "\"$url\"", "example.com/x", "<url>", "{base}/x", "get.x.io"] {
            assert!(is_address(word), "{word}");
        }
        for word in ["-fsSL", "...", "x", "done.", "--data.x"] {
            assert!(!is_address(word), "{word}");
        }
    }

    #[test]
    fn an_identifier_is_whole() {
        assert!(has_identifier("exec(code)", "code"));
        assert!(!has_identifier("exec(codec)", "code") && !has_identifier("decode", "code"));
    }
}
