//! What is wrong with a text that somebody else may have written: each with its place, and no more
//! of them than anybody reads.

use skillpkg_schema::diagnostic::{Severity, escape};
use skillpkg_schema::{Diagnostic, Faults};

/// What is wrong with a text that is no TOML, safe to print, and what to do where that is known.
pub(crate) fn of_toml(text: &str, error: &toml::de::Error) -> (String, Option<String>) {
    let message = error.message().trim();
    let key = error.span().and_then(|span| text.get(span)).map(str::trim);
    match key.filter(|key| message == "duplicate key" && !key.is_empty()) {
        Some(key) => (
            format!("the key `{}` is there twice", escape(key)),
            Some("keep one of the two".to_owned()),
        ),
        None => (escape(message), None),
    }
}

/// Most faults that are told one by one.
const MOST: usize = 100;

/// What is wrong with one text.
#[derive(Debug)]
pub(crate) struct TextFaults<'a> {
    text: &'a str,
    file: &'a str,
    /// Where each line but the first starts.
    lines: Vec<usize>,
    told: Vec<Diagnostic>,
    /// Those that are not told.
    more: usize,
    /// Whether one of those refuses the text.
    more_refuse: bool,
}

impl<'a> TextFaults<'a> {
    /// None yet, in the text of a file that messages call `file`.
    pub(crate) fn new(text: &'a str, file: &'a str) -> Self {
        let lines = text.match_indices('\n').map(|(end, _)| end + 1).collect();
        Self { text, file, lines, told: Vec::new(), more: 0, more_refuse: false }
    }

    /// The fault with its file, and the line and the column of a byte of the text.
    pub(crate) fn placed(&self, fault: Diagnostic, offset: usize) -> Diagnostic {
        let offset = offset.min(self.text.len());
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|one| self.lines.get(one)).copied().unwrap_or(0);
        let before = self.text.get(start..offset).unwrap_or_default();
        fault.in_file(self.file).at_line(line + 1).at_column(before.chars().count() + 1)
    }

    /// Adds one.
    pub(crate) fn add(&mut self, fault: Diagnostic) {
        if self.told.len() < MOST {
            self.told.push(fault);
        } else {
            self.more += 1;
            self.more_refuse |= fault.severity == Severity::Error;
        }
    }

    /// `value` with the warnings, unless something refuses the text.
    pub(crate) fn finish<T>(mut self, value: T) -> Result<(T, Vec<Diagnostic>), Faults> {
        if self.more > 0 {
            let (code, message) = ("more_findings", format!("and {} more", self.more));
            let rest = if self.more_refuse {
                Diagnostic::error(code, message)
            } else {
                Diagnostic::warning(code, message)
            };
            self.told.push(rest.in_file(self.file));
        }
        Faults::check(value, self.told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn a_place_is_found_as_by_counting(text in "[a\u{e9}\n]{0,40}", at in any::<prop::sample::Index>()) {
            let offset = at.index(text.len() + 1);
            prop_assume!(text.is_char_boundary(offset));
            let before = &text[..offset];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
            let placed = TextFaults::new(&text, "f").placed(Diagnostic::error("x", "x"), offset);
            let found = (placed.line.unwrap() as usize, placed.column.unwrap() as usize);
            prop_assert_eq!(found, (line, column));
        }
    }

    #[test]
    fn a_key_that_is_there_twice_is_named() {
        for (text, key) in [
            ("[skills]\nwaitlist = \"1\"\nother = \"1\"\nwaitlist = \"2\"\n", "waitlist"),
            ("[a]\n[b]\n[a]\n", "a"),
            ("x = { y = 1, y = 2 }\n", "y"),
        ] {
            let error = toml::de::DeTable::parse(text).unwrap_err();
            let (message, hint) = of_toml(text, &error);
            assert_eq!(message, format!("the key `{key}` is there twice"), "{text}");
            assert!(hint.is_some());
        }
        let text = "x = [1\n";
        let error = toml::de::DeTable::parse(text).unwrap_err();
        assert_eq!(of_toml(text, &error), (escape(error.message().trim()), None));
    }

    #[test]
    fn a_hundred_are_told_and_what_refuses_among_the_rest_refuses() {
        for (last, refuses) in [("error", true), ("warning", false)] {
            let mut faults = TextFaults::new("", "f");
            for _ in 0..149 {
                faults.add(Diagnostic::warning("x", "x"));
            }
            faults.add(match last {
                "error" => Diagnostic::error("x", "x"),
                _ => Diagnostic::warning("x", "x"),
            });
            let told = match faults.finish(()) {
                Ok(((), warnings)) if !refuses => warnings,
                Err(faults) if refuses => faults.into_diagnostics(),
                other => panic!("{other:?}"),
            };
            assert_eq!(told.len(), 101);
            assert_eq!(told[100].message, "and 50 more");
        }
    }
}
