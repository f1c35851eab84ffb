//! Runners: what runs a script, with JSON on its standard input.
