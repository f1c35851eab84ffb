//! Each row of docs/attacks.md stands there once and names the tests that hold it, and each of them
//! is there.

use std::fs;
use std::path::Path;

use skillpkg_tests::held_rows;

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
    ("FC", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]),
    ("PG", &[1, 2, 3, 4, 5, 6, 7]),
    ("MC", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
];

#[test]
fn every_row_is_there_once_and_held_by_tests_that_are_there() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/attacks.md");
    let found = held_rows::faults(&fs::read_to_string(page).unwrap(), ROWS);
    assert!(found.is_empty(), "{}", found.join("\n"));
}
