//! What a test says that cannot run on this machine.

use std::io::Write as _;

/// Says that `test` is skipped, for want of what it `needs`.
///
/// The line goes to stderr itself: what a passing test prints by macro is captured, and then a test
/// that did nothing looks like one that passed.
///
/// # Panics
///
/// Where `SKILLPKG_REQUIRE_SERVICES` is `1` and what is missing can be installed. A privilege, a kind
/// of file system and other people's skills cannot, and are only told.
pub(crate) fn skipped(test: &str, needs: &str, can_be_installed: bool) {
    let is_required = std::env::var_os("SKILLPKG_REQUIRE_SERVICES").is_some_and(|it| it == "1");
    assert!(!(is_required && can_be_installed), "{test} needs {needs}");
    let _ = writeln!(std::io::stderr(), "skipped: {test}: needs {needs}");
}
