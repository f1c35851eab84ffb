//! The reader: RFC 8259, one value, within bounds.

use std::borrow::Cow;
use std::collections::HashSet;

use super::node::{Member, Node, NodeValue};
use super::pointer::Pointer;
use super::{Bounds, DEEPEST, JsonError, JsonReason};
use crate::diagnostic::escape;

/// Objects of up to this many members are searched one by one for a key given twice.
const SEARCHED: usize = 8;

/// Reads one value that knows its places, and nothing after it.
pub(crate) fn parse_node(text: &str, bounds: &Bounds) -> Result<Node, JsonError> {
    let mut reader = Reader {
        text,
        at: 0,
        bounds: Bounds { depth: bounds.depth.min(DEEPEST), ..*bounds },
        nodes: 0,
        path: Pointer::default(),
    };
    if text.len() > bounds.bytes {
        return Err(reader.error(JsonReason::TooLong(bounds.bytes), 0));
    }
    reader.skip_space();
    let node = reader.value()?;
    reader.skip_space();
    match reader.peek() {
        None => Ok(node),
        Some(_) => Err(reader.unexpected("the end of the text")),
    }
}

/// Line and column, both from 1, of the character at the byte `offset` of `text`.
pub(crate) fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    bounds: Bounds,
    nodes: usize,
    path: Pointer<'a>,
}

impl<'a> Reader<'a> {
    fn error(&self, reason: JsonReason, offset: usize) -> JsonError {
        let (line, column) = place(self.text, offset);
        JsonError { reason, path: self.path.to_string(), line, column }
    }

    fn syntax(&self, message: impl Into<String>, offset: usize) -> JsonError {
        self.error(JsonReason::Syntax(message.into()), offset)
    }

    fn unexpected(&self, expected: &str) -> JsonError {
        let found = match self.text[self.at..].chars().next() {
            Some(character) => format!("`{}`", escape(character.encode_utf8(&mut [0; 4]))),
            None => "the end of the text".to_owned(),
        };
        self.syntax(format!("expected {expected}, found {found}"), self.at)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Node, JsonError> {
        let start = self.at;
        if self.path.depth() > self.bounds.depth {
            return Err(self.error(JsonReason::TooDeep(self.bounds.depth), start));
        }
        if self.nodes >= self.bounds.nodes {
            return Err(self.error(JsonReason::TooManyNodes(self.bounds.nodes), start));
        }
        self.nodes += 1;
        let value = match self.peek() {
            Some(b'{') => self.object()?,
            Some(b'[') => self.array()?,
            Some(b'"') => NodeValue::String(self.string()?.into_owned()),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'n') => self.word("null", NodeValue::Null)?,
            Some(b't') => self.word("true", NodeValue::Bool(true))?,
            Some(b'f') => self.word("false", NodeValue::Bool(false))?,
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Node { start, end: self.at, value })
    }

    fn word(&mut self, word: &str, value: NodeValue) -> Result<NodeValue, JsonError> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.unexpected("a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn array(&mut self) -> Result<NodeValue, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.take(b']') {
            return Ok(NodeValue::Array(items));
        }
        loop {
            self.path.push_item(items.len());
            items.push(self.value()?);
            self.path.pop();
            self.skip_space();
            if self.take(b']') {
                return Ok(NodeValue::Array(items));
            }
            if !self.take(b',') {
                return Err(self.unexpected("`,` or `]`"));
            }
            self.skip_space();
        }
    }

    fn object(&mut self) -> Result<NodeValue, JsonError> {
        self.at += 1;
        let mut members: Vec<Member> = Vec::new();
        let mut seen: HashSet<Cow<'a, str>> = HashSet::new();
        self.skip_space();
        if self.take(b'}') {
            return Ok(NodeValue::Object(members));
        }
        loop {
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in quotation marks"));
            }
            let key = self.string()?;
            // Linear search while the object is small; past that, hashing keeps a text of many
            // keys from costing their square.
            if members.len() == SEARCHED {
                seen.extend(members.iter().map(|member| Cow::Owned(member.key.clone())));
            }
            let twice = if members.len() < SEARCHED {
                members.iter().any(|member| member.key == key)
            } else {
                !seen.insert(key.clone())
            };
            if twice {
                self.path.push_key(key.clone());
                return Err(self.error(JsonReason::DuplicateKey(key.into_owned()), start));
            }
            self.skip_space();
            if !self.take(b':') {
                return Err(self.unexpected("`:`"));
            }
            self.skip_space();
            self.path.push_key(key.clone());
            let node = self.value()?;
            self.path.pop();
            members.push(Member { start, key: key.into_owned(), node });
            self.skip_space();
            if self.take(b'}') {
                return Ok(NodeValue::Object(members));
            }
            if !self.take(b',') {
                return Err(self.unexpected("`,` or `}`"));
            }
            self.skip_space();
        }
    }

    fn number(&mut self) -> Result<NodeValue, JsonError> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _signed = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        Ok(NodeValue::Number(self.text[start..self.at].to_owned()))
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected("a digit")) } else { Ok(()) }
    }

    /// Reads a string from its opening quotation mark; borrows where it has no escape.
    fn string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        self.at += 1;
        let mut decoded: Option<String> = None;
        loop {
            let start = self.at;
            while self.peek().is_some_and(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
                self.at += 1;
            }
            let plain = &self.text[start..self.at];
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(match decoded {
                        None => Cow::Borrowed(plain),
                        Some(text) => Cow::Owned(text + plain),
                    });
                }
                Some(b'\\') => {
                    let text = decoded.get_or_insert_default();
                    text.push_str(plain);
                    text.push(self.escape()?);
                }
                Some(_) => {
                    return Err(
                        self.syntax("a control character must be escaped in a string", self.at)
                    );
                }
                None => return Err(self.unexpected("`\"`")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let start = self.at;
        self.at += 1;
        let character = match self.peek() {
            Some(plain @ (b'"' | b'\\' | b'/')) => char::from(plain),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape(start);
            }
            _ => return Err(self.unexpected("one of `\"\\/bfnrtu` after a backslash")),
        };
        self.at += 1;
        Ok(character)
    }

    /// Reads the digits of a `\u` escape that begins at `start`, and the second of a pair.
    fn unicode_escape(&mut self, start: usize) -> Result<char, JsonError> {
        const HALF: &str = "a `\\u` escape is half of a surrogate pair";
        let first = self.four_digits()?;
        let code = match first {
            0xd800..=0xdbff => {
                if !self.text[self.at..].starts_with("\\u") {
                    return Err(self.syntax(HALF, start));
                }
                self.at += 2;
                match self.four_digits()? {
                    second @ 0xdc00..=0xdfff => {
                        0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                    }
                    _ => return Err(self.syntax(HALF, start)),
                }
            }
            _ => first,
        };
        char::from_u32(code).ok_or_else(|| self.syntax(HALF, start))
    }

    fn four_digits(&mut self) -> Result<u32, JsonError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.unexpected("four hexadecimal digits"));
            };
            code = code << 4 | digit;
            self.at += 1;
        }
        Ok(code)
    }
}
