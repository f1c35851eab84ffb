//! Where in a value a reader is.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

/// The steps from the root to a value; shown as a JSON pointer (RFC 6901).
#[derive(Debug, Clone, Default)]
pub(crate) struct Pointer<'a>(Vec<Step<'a>>);

#[derive(Debug, Clone)]
enum Step<'a> {
    Key(Cow<'a, str>),
    Item(usize),
}

impl<'a> Pointer<'a> {
    /// Goes to the value under `key`.
    pub(crate) fn push_key(&mut self, key: impl Into<Cow<'a, str>>) {
        self.0.push(Step::Key(key.into()));
    }

    /// Goes to the item at `position`.
    pub(crate) fn push_item(&mut self, position: usize) {
        self.0.push(Step::Item(position));
    }

    /// Goes back by one step.
    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }

    /// Goes back to where it had `depth` steps.
    pub(crate) fn truncate(&mut self, depth: usize) {
        self.0.truncate(depth);
    }

    /// How many steps there are.
    pub(crate) fn depth(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for Pointer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            f.write_char('/')?;
            match step {
                Step::Item(position) => write!(f, "{position}")?,
                Step::Key(key) => key.chars().try_for_each(|character| match character {
                    '~' => f.write_str("~0"),
                    '/' => f.write_str("~1"),
                    _ => f.write_char(character),
                })?,
            }
        }
        Ok(())
    }
}
