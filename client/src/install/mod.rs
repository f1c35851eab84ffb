//! Installing: resolve, fetch, verify, activate, place; all of it or nothing.
