//! Each row of docs/attacks.md stands there once and names the tests that hold it, and each of them
//! is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use skillpkg_tests::named_tests;

/// The rows that there must be, by the letters that they start with.
const ROWS: &[(&str, &[u8])] = &[
    (
        "TR",
        &[
            1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 18, 19, 20, 21, 22, 23, 24, 26, 27, 28,
            29, 30,
        ],
    ),
    ("NM", &[1, 2, 4, 5, 6, 7, 8, 10, 11]),
    ("RG", &[1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23, 24, 25]),
];

/// What stands in the place of tests where the part that a row is about is not built.
const NOT_BUILT: &str = "not built: ";

/// A row of a table: its id, the attack, what becomes of it, and what holds that.
struct Row<'a> {
    id: &'a str,
    cells: [&'a str; 3],
}

impl<'a> Row<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').collect();
        let [id, attack, answer, held] = cells[..] else { return None };
        let cells = [attack.trim(), answer.trim(), held.trim()];
        let id = id.trim();
        let is_id = id.split_once('-').is_some_and(|(_, number)| number.parse::<u8>().is_ok());
        is_id.then_some(Self { id, cells })
    }

    /// The tests that it names.
    fn tests(&self) -> Vec<&'a str> {
        self.cells[2].split('`').skip(1).step_by(2).collect()
    }

    /// What is wrong with it.
    fn faults(&self) -> Vec<String> {
        let Self { id, cells } = self;
        let mut faults = Vec::new();
        if cells.iter().any(|cell| cell.is_empty()) {
            faults.push(format!("{id} has an empty cell"));
        }
        let tests = self.tests();
        if tests.is_empty() && !cells[2].starts_with(NOT_BUILT) {
            faults.push(format!("{id} names no test, and not why there is none"));
        }
        let absent = tests.into_iter().filter(|test| !named_tests::is_there(test));
        faults.extend(absent.map(|test| format!("{id}: `{test}` is not there")));
        faults
    }
}

/// Everything that is wrong with a page.
fn faults(page: &str) -> Vec<String> {
    let rows: Vec<Row<'_>> = page.lines().filter_map(Row::of).collect();
    let mut missing: BTreeSet<String> = ROWS
        .iter()
        .flat_map(|(part, numbers)| numbers.iter().map(move |number| format!("{part}-{number:02}")))
        .collect();
    let mut faults = Vec::new();
    for row in &rows {
        if !missing.remove(row.id) {
            faults.push(format!("{} stands there twice, or is no row", row.id));
        }
        faults.extend(row.faults());
    }
    faults.extend(missing.iter().map(|id| format!("{id} is missing")));
    faults
}

#[test]
fn every_row_is_there_once_and_held_by_tests_that_are_there() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/attacks.md");
    let found = faults(&fs::read_to_string(page).unwrap());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_page_with_a_fault_is_told() {
    let this = "tests/tests/attacks_page.rs::a_page_with_a_fault_is_told";
    let rows = ROWS.iter().flat_map(|(part, numbers)| {
        numbers.iter().map(move |number| format!("| {part}-{number:02} | a | b | `{this}` |\n"))
    });
    let whole: String = rows.collect();
    assert_eq!(faults(&whole), [] as [String; 0]);
    let first = whole.lines().next().unwrap();
    for (what, page) in [
        ("TR-01 is missing", whole.replacen(first, "", 1)),
        ("TR-01 stands there twice", format!("{whole}{first}\n")),
        ("XX-01 stands there twice, or is no row", whole.replacen("TR-01", "XX-01", 1)),
        ("TR-01: `tests/no.rs::test` is not there", whole.replacen(this, "tests/no.rs::test", 1)),
        ("TR-01 names no test", whole.replacen(&format!("`{this}`"), "some", 1)),
        ("TR-01 has an empty cell", whole.replacen("| a |", "| |", 1)),
    ] {
        let found = faults(&page);
        assert!(found.iter().any(|fault| fault.starts_with(what)), "{what}: {found:?}");
    }
    assert_eq!(faults(&whole.replacen(&format!("`{this}`"), "not built: why", 1)).len(), 0);
}
