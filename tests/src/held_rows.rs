//! Tables of documents whose rows are held by tests: an id, two or more cells of text, the tests.

use std::collections::BTreeSet;

use crate::named_tests;

/// What stands in the place of tests where the part that a row is about is not built.
const NOT_BUILT: &str = "not built: ";

/// A row: its id, what it is about, and what holds that.
struct Row<'a> {
    id: &'a str,
    cells: Vec<&'a str>,
}

impl<'a> Row<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let inner = line.strip_prefix('|')?.strip_suffix('|')?;
        let mut cells = inner.split('|').map(str::trim);
        let id = cells.next()?;
        let cells: Vec<&str> = cells.collect();
        let is_id = id.split_once('-').is_some_and(|(_, number)| number.parse::<u8>().is_ok());
        (is_id && cells.len() == 3).then_some(Self { id, cells })
    }

    /// What holds it, as it is written.
    fn held(&self) -> &'a str {
        self.cells[2]
    }

    /// The tests that it names.
    fn tests(&self) -> Vec<&'a str> {
        self.held().split('`').skip(1).step_by(2).collect()
    }

    /// What is wrong with it.
    fn faults(&self) -> Vec<String> {
        let Self { id, cells } = self;
        let mut faults = Vec::new();
        if cells.iter().any(|cell| cell.is_empty()) {
            faults.push(format!("{id} has an empty cell"));
        }
        let tests = self.tests();
        if tests.is_empty() && !self.held().starts_with(NOT_BUILT) {
            faults.push(format!("{id} names no test, and not why there is none"));
        }
        let absent = tests.into_iter().filter(|test| !named_tests::is_there(test));
        faults.extend(absent.map(|test| format!("{id}: `{test}` is not there")));
        faults
    }
}

/// Everything that is wrong with the tables of a page, which must have each of `rows` once: the
/// letters that ids start with, and the numbers that there are.
pub fn faults(page: &str, rows: &[(&str, &[u8])]) -> Vec<String> {
    let mut missing: BTreeSet<String> = rows
        .iter()
        .flat_map(|(part, numbers)| numbers.iter().map(move |number| format!("{part}-{number:02}")))
        .collect();
    let mut faults = Vec::new();
    for row in page.lines().filter_map(Row::of) {
        if !missing.remove(row.id) {
            faults.push(format!("{} stands there twice, or is no row", row.id));
        }
        faults.extend(row.faults());
    }
    faults.extend(missing.iter().map(|id| format!("{id} is missing")));
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &[(&str, &[u8])] = &[("TR", &[1, 2]), ("RG", &[1])];

    #[test]
    fn a_page_with_a_fault_is_told() {
        let this = "tests/src/held_rows.rs::a_page_with_a_fault_is_told";
        let rows = ROWS.iter().flat_map(|(part, numbers)| {
            numbers.iter().map(move |number| format!("| {part}-{number:02} | a | b | `{this}` |\n"))
        });
        let whole: String = rows.collect();
        assert_eq!(faults(&whole, ROWS), [] as [String; 0]);
        let first = whole.lines().next().unwrap();
        for (what, page) in [
            ("TR-01 is missing", whole.replacen(first, "", 1)),
            ("TR-01 stands there twice", format!("{whole}{first}\n")),
            ("XX-01 stands there twice, or is no row", whole.replacen("TR-01", "XX-01", 1)),
            ("TR-01: `tests/no.rs::test` is not", whole.replacen(this, "tests/no.rs::test", 1)),
            ("TR-01 names no test", whole.replacen(&format!("`{this}`"), "some", 1)),
            ("TR-01 has an empty cell", whole.replacen("| a |", "| |", 1)),
        ] {
            let found = faults(&page, ROWS);
            assert!(found.iter().any(|fault| fault.starts_with(what)), "{what}: {found:?}");
        }
        let not_built = whole.replacen(&format!("`{this}`"), "not built: why", 1);
        assert_eq!(faults(&not_built, ROWS), [] as [String; 0]);
    }
}
