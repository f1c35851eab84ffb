//! Reads TOML and remembers where each thing stands, so that every fault has a line and a column.

use std::fmt::Display;
use std::ops::Range;

use skillpkg_schema::diagnostic::{escape, nearest};
use skillpkg_schema::{Diagnostic, Faults};
use toml::de::{DeTable, DeValue};

use super::conflict::first_mark;
use crate::text_faults::{TextFaults, of_toml};

/// One of the two files while it is read: its text, its name, and what is wrong with it.
pub(super) struct Reading<'a> {
    text: &'a str,
    file: &'a str,
    code: &'static str,
    faults: TextFaults<'a>,
}

/// A key or a value and where it stands.
pub(super) type Span = Range<usize>;

impl<'a> Reading<'a> {
    /// Starts on `text` of the file called `file`; faults without a code of their own get `code`.
    pub(super) fn new(text: &'a str, file: &'a str, code: &'static str) -> Self {
        Self { text, file, code, faults: TextFaults::new(text, file) }
    }

    /// The whole file as a table, or why it is none. `solution` is what solves a merge conflict.
    ///
    /// `restoring` is what to do where it is no TOML at all.
    pub(super) fn table(
        &self,
        solution: &str,
        restoring: Option<&str>,
    ) -> Result<DeTable<'a>, Faults> {
        if let Some(line) = first_mark(self.text) {
            let message = "an unfinished merge left conflict markers here";
            return Err(Diagnostic::error("lock_conflict", message)
                .in_file(self.file)
                .at_line(line)
                .with_hint(solution)
                .into());
        }
        DeTable::parse(self.text).map(toml::Spanned::into_inner).map_err(|error| {
            let (message, hint) = of_toml(self.text, &error);
            let mut fault = Diagnostic::error(self.code, message);
            fault.hint = restoring.map(str::to_owned).or(hint);
            self.placed(fault, error.span().unwrap_or(0..0)).into()
        })
    }

    /// Adds a fault at `span`.
    pub(super) fn fault(&mut self, span: Span, message: impl Into<String>) {
        self.fault_with_code(self.code, span, message, None);
    }

    /// Adds a fault with advice.
    pub(super) fn fault_with_hint(&mut self, span: Span, message: impl Into<String>, hint: String) {
        self.fault_with_code(self.code, span, message, Some(hint));
    }

    /// Adds a fault with a code of its own.
    pub(super) fn fault_with_code(
        &mut self,
        code: &str,
        span: Span,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        let mut fault = self.placed(Diagnostic::error(code, message), span);
        fault.hint = hint;
        self.faults.add(fault);
    }

    /// A key that nobody reads: a fault where it is near to one of those that are read, since then
    /// what was meant is not what would be done; else a warning, as of a later version's.
    pub(super) fn unknown_key(&mut self, key: &str, span: Span, known: &[&str]) {
        let shown = escape(key);
        if let Some(near) = nearest(key, known.iter().copied()) {
            let message = format!("`{shown}` is not known here");
            let hint = format!("did you mean `{near}`?");
            return self.fault_with_code("unknown_key", span, message, Some(hint));
        }
        let message = format!("`{shown}` is not known here and is left alone");
        let warning = self.placed(Diagnostic::warning("unknown_key", message), span);
        self.faults.add(warning);
    }

    /// A text, or a fault that names what it should be.
    pub(super) fn text_of<'v>(
        &mut self,
        key: &str,
        value: &'v toml::Spanned<DeValue<'_>>,
    ) -> Option<&'v str> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            let found = value.get_ref().type_str();
            self.fault(value.span(), format!("`{key}` must be a text, not {}", article(found)));
        }
        text
    }

    /// A value read out of a text by its own parser, or that parser's fault at the text's place.
    pub(super) fn parsed<T>(&mut self, key: &str, value: &toml::Spanned<DeValue<'_>>) -> Option<T>
    where
        T: std::str::FromStr,
        T::Err: Display,
    {
        let text = self.text_of(key, value)?;
        match text.parse() {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                self.fault(value.span(), format!("`{key}`: {error}"));
                None
            }
        }
    }

    /// The value with the warnings, unless a fault was added.
    pub(super) fn finish<T>(self, value: T) -> Result<(T, Vec<Diagnostic>), Faults> {
        self.faults.finish(value)
    }

    fn placed(&self, diagnostic: Diagnostic, span: Span) -> Diagnostic {
        self.faults.placed(diagnostic, span.start)
    }
}

fn article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'i']) { "an" } else { "a" };
    format!("{article} {kind}")
}
