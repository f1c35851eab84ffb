//! The YAML of frontmatter: scalars as they are written, and no more of YAML than a reader sees.
//!
//! Anchors, aliases, merge keys, tags, keys given twice and further documents are refused: what one
//! reader of the file sees must be what every program makes of it.

use std::collections::HashSet;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span};

use super::report::Place;
use crate::diagnostic::escape;

/// Deepest nesting of frontmatter.
pub(super) const MAX_DEPTH: usize = 32;
/// Most keys and values of frontmatter.
pub(super) const MAX_NODES: usize = 10_000;

/// A value and where it starts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// A scalar as it is written.
    Text(String),
    List(Vec<Node>),
    Map(Vec<Member>),
}

/// One key of a mapping and its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    pub(super) key: String,
    /// Where the key stands.
    pub(super) place: Place,
    pub(super) value: Node,
}

/// A plain value that YAML ends at ` #`, though it goes on as prose does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) place: Place,
    /// The whole value, what stands after the `#` included.
    pub(super) whole: String,
}

/// Text that is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct YamlError {
    pub(super) place: Place,
    pub(super) reason: YamlReason,
}

/// Why frontmatter is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum YamlReason {
    #[error("the frontmatter is not YAML: {0}")]
    Syntax(String),
    #[error("the frontmatter holds no `key: value` lines")]
    NotMapping,
    #[error("the key `{}` stands twice", escape(.0))]
    DuplicateKey(String),
    #[error("a key of the frontmatter is not a plain text")]
    ComplexKey,
    #[error("anchors (`&…`) are not read")]
    Anchor,
    #[error("aliases (`*…`) are not read")]
    Alias,
    #[error("merge keys (`<<`) are not read")]
    MergeKey,
    #[error("tags (`!…`) are not read")]
    Tag,
    #[error("the frontmatter holds more than one YAML document")]
    SecondDocument,
    #[error("the frontmatter is nested deeper than {MAX_DEPTH}")]
    TooDeep,
    #[error("the frontmatter holds more than {MAX_NODES} keys and values")]
    TooManyNodes,
}

impl YamlReason {
    /// Whether prose that is not meant as YAML reads so: `a: b`, `{{x}}`, `*bold* text`.
    pub(super) fn may_be_prose(&self) -> bool {
        matches!(self, Self::Syntax(_) | Self::ComplexKey | Self::Alias)
    }

    /// What to do about it.
    pub(super) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Syntax(reason) if reason.contains("escape") => {
                Some("in double quotes `\\` starts an escape: write `\\\\`, or use single quotes")
            }
            Self::Syntax(reason) if reason.contains("quoted scalar") => {
                Some("close the quote at the end of the value")
            }
            Self::Syntax(reason) if reason.contains("tab") => {
                Some("indent with spaces; YAML allows no tabs there")
            }
            Self::Syntax(_) => Some("put the value in quotes, or on indented lines under `key: >`"),
            Self::NotMapping => Some("write `name: …` and `description: …`, each on its own line"),
            Self::DuplicateKey(_) => Some("keep one of them"),
            Self::Anchor | Self::Alias | Self::Tag => {
                Some("write the value out; where the text itself starts so, put it in quotes")
            }
            Self::MergeKey => Some("write the keys out"),
            Self::SecondDocument => Some("keep one, and no `...` or `---` inside it"),
            Self::ComplexKey => Some("put the value in quotes"),
            Self::TooDeep | Self::TooManyNodes => None,
        }
    }
}

fn place(marker: &Marker) -> Place {
    Place { line: marker.line().max(1), column: marker.col() + 1 }
}

/// The members of the mapping that `text` is, and the values that YAML ends at ` #`.
pub(super) fn read(text: &str) -> Result<(Vec<Member>, Vec<Cut>), YamlError> {
    match read_node(text)? {
        (Some(Node { value: Value::Map(members), .. }), cuts) => Ok((members, cuts)),
        (Some(Node { place, .. }), _) => Err(YamlError { place, reason: YamlReason::NotMapping }),
        (None, cuts) => Ok((Vec::new(), cuts)),
    }
}

/// The value that `text` is; [`None`] where it holds none.
pub(super) fn read_node(text: &str) -> Result<(Option<Node>, Vec<Cut>), YamlError> {
    let mut builder = Builder::new(text);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| syntax(&error))?;
        builder.take(event, span)?;
    }
    Ok((builder.root, builder.cuts))
}

fn syntax(error: &ScanError) -> YamlError {
    let reason = if error.info().contains("unknown anchor") {
        YamlReason::Alias
    } else {
        YamlReason::Syntax(escape(error.info()))
    };
    YamlError { place: place(error.marker()), reason }
}

/// A collection that is not closed yet.
enum Open {
    List { place: Place, items: Vec<Node>, flow: bool },
    Map { place: Place, members: Vec<Member>, seen: HashSet<String>, key: Option<Key>, flow: bool },
}

struct Key {
    text: String,
    place: Place,
}

struct Builder<'a> {
    lines: Vec<&'a str>,
    open: Vec<Open>,
    root: Option<Node>,
    cuts: Vec<Cut>,
    documents: usize,
    nodes: usize,
}

impl<'a> Builder<'a> {
    fn new(text: &'a str) -> Self {
        let lines = text.split('\n').collect();
        Self { lines, open: Vec::new(), root: None, cuts: Vec::new(), documents: 0, nodes: 0 }
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlError> {
        let place = place(&span.start);
        let refuse = |reason| Err(YamlError { place, reason });
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return refuse(YamlReason::SecondDocument);
                }
            }
            Event::Alias(_) => return refuse(YamlReason::Alias),
            Event::Scalar(_, _, anchor, _)
            | Event::SequenceStart(anchor, _)
            | Event::MappingStart(anchor, _)
                if anchor != 0 =>
            {
                return refuse(YamlReason::Anchor);
            }
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => return refuse(YamlReason::Tag),
            Event::Scalar(text, style, ..) => self.scalar(text.into_owned(), style, &span)?,
            Event::SequenceStart(..) => {
                let flow = self.opens_flow(&span.start);
                self.start(Open::List { place, items: Vec::new(), flow }, place)?;
            }
            Event::MappingStart(..) => {
                let flow = self.opens_flow(&span.start);
                let (members, seen) = (Vec::new(), HashSet::new());
                self.start(Open::Map { place, members, seen, key: None, flow }, place)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(place)?,
        }
        Ok(())
    }

    fn in_flow(&self) -> bool {
        match self.open.last() {
            Some(Open::List { flow, .. } | Open::Map { flow, .. }) => *flow,
            None => false,
        }
    }

    fn opens_flow(&self, start: &Marker) -> bool {
        self.in_flow() || self.rest_of_line(start).starts_with(['[', '{'])
    }

    fn rest_of_line(&self, marker: &Marker) -> &'a str {
        let line = self.lines.get(marker.line().saturating_sub(1)).copied().unwrap_or_default();
        line.char_indices().nth(marker.col()).map_or("", |(start, _)| &line[start..])
    }

    fn is_description(&self) -> bool {
        matches!(self.open.as_slice(), [Open::Map { key: Some(key), .. }] if key.text == "description")
    }

    fn awaits_key(&self) -> bool {
        matches!(self.open.last(), Some(Open::Map { key: None, .. }))
    }

    fn count(&mut self, place: Place) -> Result<(), YamlError> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(YamlError { place, reason: YamlReason::TooManyNodes });
        }
        Ok(())
    }

    fn start(&mut self, open: Open, place: Place) -> Result<(), YamlError> {
        self.count(place)?;
        if self.awaits_key() {
            return Err(YamlError { place, reason: YamlReason::ComplexKey });
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(YamlError { place, reason: YamlReason::TooDeep });
        }
        self.open.push(open);
        Ok(())
    }

    fn end(&mut self, place: Place) -> Result<(), YamlError> {
        match self.open.pop() {
            Some(Open::List { place, items, .. }) => {
                self.put(Node { place, value: Value::List(items) })
            }
            Some(Open::Map { place, members, .. }) => {
                self.put(Node { place, value: Value::Map(members) })
            }
            None => Err(YamlError { place, reason: YamlReason::NotMapping }),
        }
    }

    fn scalar(&mut self, text: String, style: ScalarStyle, span: &Span) -> Result<(), YamlError> {
        let place = place(&span.start);
        let mut text = text;
        self.count(place)?;
        let is_plain = style == ScalarStyle::Plain;
        let in_flow = self.in_flow();
        if let Some(Open::Map { seen, key: key @ None, .. }) = self.open.last_mut() {
            let refuse = |reason| Err(YamlError { place, reason });
            if is_plain && text == "<<" {
                return refuse(YamlReason::MergeKey);
            }
            if !seen.insert(text.clone()) {
                return refuse(YamlReason::DuplicateKey(text));
            }
            *key = Some(Key { text, place });
            return Ok(());
        }
        if is_plain && !in_flow {
            let rest = self.rest_of_line(&span.end);
            let has_comment = rest.starts_with([' ', '\t']) && rest.trim_start().starts_with('#');
            // After one word it is a remark on a name or a number. Prose that goes on with ` #`
            // would lose its end without a word, so it is kept.
            if has_comment && (text.contains(char::is_whitespace) || self.is_description()) {
                text.push_str(if text.is_empty() { rest.trim() } else { rest.trim_end() });
                self.cuts.push(Cut { place, whole: text.clone() });
            }
        }
        if is_plain
            && text.is_empty()
            && let Some(whole) = self.hashed_description()
        {
            self.cuts.push(whole.clone());
            return self.put(Node { place: whole.place, value: Value::Text(whole.whole) });
        }
        self.put(Node { place, value: Value::Text(text) })
    }

    /// The description that awaits its value, where all of its line is a word behind a `#`, as in
    /// `#1 in tests`: nobody writes a remark so.
    fn hashed_description(&self) -> Option<Cut> {
        let [Open::Map { key: Some(key), flow: false, .. }] = self.open.as_slice() else {
            return None;
        };
        let line = self.lines.get(key.place.line.checked_sub(1)?)?;
        let whole = line.split_once(':').map(|(_, value)| value.trim())?;
        let word = whole.strip_prefix('#')?;
        let is_word = word.starts_with(|c: char| c.is_alphanumeric());
        let column =
            line.find(whole).map(|at| line.get(..at).unwrap_or_default().chars().count())?;
        (key.text == "description" && is_word).then(|| Cut {
            place: Place { column: column + 1, ..key.place },
            whole: whole.to_owned(),
        })
    }

    fn put(&mut self, value: Node) -> Result<(), YamlError> {
        let place = value.place;
        match self.open.last_mut() {
            Some(Open::List { items, .. }) => items.push(value),
            Some(Open::Map { members, key, .. }) => match key.take() {
                Some(Key { text, place }) => members.push(Member { key: text, place, value }),
                None => return Err(YamlError { place, reason: YamlReason::ComplexKey }),
            },
            None => self.root = Some(value),
        }
        Ok(())
    }
}
