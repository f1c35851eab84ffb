//! Frontmatter that is not YAML because a plain value holds `: `, ` #` or a reserved character.
//!
//! Many published skills write such lines. The text is divided at its keys, each part is read
//! alone, and the value of a part that is not YAML is taken verbatim, as if it stood in quotes.

use super::report::Place;
use super::yaml;

/// Deepest nesting that is looked into.
const MAX_DEPTH: usize = 16;

/// Most words of a key: a line with more before its colon is prose.
const MAX_KEY_WORDS: usize = 3;

/// A value that was taken verbatim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repair {
    /// Where the value starts.
    pub(super) place: Place,
    /// The key, where it has one.
    pub(super) key: Option<String>,
    /// The value as YAML would have it.
    pub(super) quoted: String,
}

/// `text` with the values quoted that are not YAML as they stand, and what was quoted.
///
/// Every line keeps its number.
pub(super) fn repair(text: &str) -> (String, Vec<Repair>) {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let mut repairs = Vec::new();
    block(&mut lines, 1, 0, &mut repairs);
    (lines.join("\n"), repairs)
}

/// A value in double quotes, as YAML and JSON both read it.
pub(super) fn quote(value: &str) -> String {
    serde_json::Value::from(value).to_string()
}

pub(super) fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn is_blank_or_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

fn is_item(content: &str) -> bool {
    content == "-" || content.starts_with("- ")
}

/// Divides `key: value` where the key is a word, a few words, or in quotes; the offset is where the
/// value starts.
pub(super) fn key_and_value(content: &str) -> Option<(&str, usize)> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '$');
    let quote = content.chars().next().filter(|c| matches!(c, '"' | '\''));
    let (key, colon) = if let Some(quote) = quote {
        let length = content.get(1..)?.find(quote)?;
        (content.get(1..=length)?, length + 2)
    } else {
        let colon = content.find(':')?;
        (content.get(..colon)?.trim_end_matches(' '), colon)
    };
    let rest = content.get(colon..)?.strip_prefix(':')?;
    let words = key.split(' ').count();
    let is_key = words <= MAX_KEY_WORDS
        && key.split(' ').all(|word| !word.is_empty() && word.chars().all(is_word))
        && !key.starts_with('-');
    if !is_key || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    Some((key, content.len() - rest.trim_start().len()))
}

/// Repairs the entries of one block: the lines at its own indentation that start a key or an item.
fn block(lines: &mut [String], first_line: usize, depth: usize, repairs: &mut Vec<Repair>) {
    let Some(first) = lines.iter().position(|line| !is_blank_or_comment(line)) else { return };
    if depth >= MAX_DEPTH {
        return;
    }
    let indent = indentation(&lines[first]);
    let starts: Vec<usize> = (first..lines.len())
        .filter(|&at| {
            let content = lines[at].get(indent..).unwrap_or_default();
            indentation(&lines[at]) == indent
                && (is_item(content) || key_and_value(content).is_some())
        })
        .collect();
    let item_at = |lines: &[String], at: usize| {
        lines.get(at).and_then(|line| line.get(indent..)).is_some_and(is_item)
    };
    let first_key = starts.iter().position(|&start| !item_at(lines, start));
    for (at, &start) in starts.iter().enumerate() {
        let is_item = item_at(lines, start);
        // Items that stand level with a key belong to it.
        if is_item && first_key.is_some_and(|key| key < at) {
            continue;
        }
        let end = starts[at + 1..]
            .iter()
            .copied()
            .find(|&next| is_item || !item_at(lines, next))
            .unwrap_or(lines.len());
        let Some(entry) = lines.get_mut(start..end) else { continue };
        let reason = yaml::read_node(&entry.join("\n")).err().map(|error| error.reason);
        if reason.is_some_and(|reason| reason.may_be_prose()) {
            repair_entry(entry, first_line + start, indent, depth, repairs);
        }
    }
}

fn repair_entry(
    entry: &mut [String],
    line: usize,
    indent: usize,
    depth: usize,
    repairs: &mut Vec<Repair>,
) {
    let Some((head, rest)) = entry.split_first_mut() else { return };
    let content = head.get(indent..).unwrap_or_default();
    let (key, offset) = match key_and_value(content) {
        Some((key, offset)) => (Some(key.to_owned()), offset),
        None => (None, content.len() - content.get(1..).unwrap_or_default().trim_start().len()),
    };
    let value = content.get(offset..).unwrap_or_default().trim_end().to_owned();
    let column = indent + offset;
    if value.is_empty() || value.starts_with('#') {
        block(rest, line + 1, depth + 1, repairs);
    } else if key.is_none() && (is_item(&value) || key_and_value(&value).is_some()) {
        // `- key: value` opens a mapping whose first line shares the item's.
        let dashes = head.get(..column).unwrap_or_default().to_owned();
        let spaces = " ".repeat(dashes.len());
        head.replace_range(..dashes.len(), &spaces);
        block(entry, line, depth + 1, repairs);
        if let Some(head) = entry.first_mut() {
            head.replace_range(..dashes.len(), &dashes);
        }
    } else if let Some(whole) = verbatim(&value, rest, indent) {
        let quoted = quote(&whole);
        let place = Place {
            line,
            column: head.get(..column).map_or(0, |before| before.chars().count()) + 1,
        };
        repairs.push(Repair { place, key, quoted: quoted.clone() });
        head.truncate(column);
        if !head.ends_with([' ', '\t']) {
            head.push(' ');
        }
        head.push_str(&quoted);
        for line in rest.iter_mut().filter(|line| indentation(line) > indent) {
            line.clear();
        }
    }
}

/// The value with its continuation lines folded; [`None`] where it is not a plain one.
fn verbatim(value: &str, rest: &[String], indent: usize) -> Option<String> {
    let continuation: Vec<&str> = rest
        .iter()
        .filter(|line| !line.trim().is_empty() && indentation(line) > indent)
        .map(|line| line.trim())
        .collect();
    let stray = rest.iter().any(|line| indentation(line) <= indent && !is_blank_or_comment(line));
    let is_refused = stray
        || is_block_header(value)
        || is_alias(value)
        || is_open_quote(value)
        || (value.starts_with(['"', '\'']) && !continuation.is_empty());
    if is_refused {
        return None;
    }
    let mut whole = value.to_owned();
    for line in continuation {
        whole.push(' ');
        whole.push_str(line);
    }
    Some(whole)
}

/// `|`, `>` and their forms: what is wrong then is in the lines below.
pub(super) fn is_block_header(value: &str) -> bool {
    let Some(rest) = value.strip_prefix(['|', '>']) else { return false };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '+' || c == '-');
    rest.is_empty() || rest.trim_start().starts_with('#')
}

/// `*name` alone: an alias, which is refused, and not prose that starts with a star.
fn is_alias(value: &str) -> bool {
    value.strip_prefix('*').is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
    })
}

/// A quote that opens and does not close on its line.
fn is_open_quote(value: &str) -> bool {
    let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        return false;
    };
    let mut rest = value[1..].chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\\' if quote == '"' => {
                rest.next();
            }
            _ if character == quote && quote == '\'' && rest.peek() == Some(&'\'') => {
                rest.next();
            }
            // Closed: text stands behind it, else YAML would have read the line.
            _ if character == quote => return rest.all(char::is_whitespace),
            _ => {}
        }
    }
    true
}
