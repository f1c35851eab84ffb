//! Each row of docs/field-reports.md stands there once and names the tests that hold it, and each of
//! them is there.

use std::fs;
use std::path::Path;

use skillpkg_tests::held_rows;

/// The rows that there must be, by the letters that they start with.
const ROWS: &[(&str, &[u8])] = &[
    ("LK", &[1, 2, 3, 4, 5, 6, 7, 8]),
    ("IN", &[1, 2, 3, 4, 5, 6]),
    ("UP", &[1, 2, 3, 4, 5, 6, 7, 8]),
    ("PA", &[1, 2, 3, 4, 5, 6, 7, 8]),
    ("PR", &[1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ("OP", &[1, 2, 3, 4, 5, 6]),
    ("RQ", &[1, 2, 3]),
    ("RV", &[1, 2]),
];

#[test]
fn every_row_is_there_once_and_held_by_tests_that_are_there() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/field-reports.md");
    let found = held_rows::faults(&fs::read_to_string(page).unwrap(), ROWS);
    assert!(found.is_empty(), "{}", found.join("\n"));
}
