//! What commands read beside their arguments.

use std::io::Read;
use std::path::Path;

use serde_json::value::RawValue;
use skillpkg::project::io_hint;
use skillpkg::{Error, Kind};

use crate::keyboard::Keyboard;

/// The text on stdin, of at most `limit` bytes.
pub(crate) fn read_stdin(what: &str, limit: u64) -> Result<String, Error> {
    read(Keyboard, what, limit)
}

/// The text of a file of at most `limit` bytes; `-` is stdin.
pub(crate) fn read_file(path: &Path, limit: u64) -> Result<String, Error> {
    let shown = path.to_string_lossy();
    if shown == "-" {
        return read_stdin("stdin", limit);
    }
    let file = std::fs::File::open(path).map_err(|error| {
        let failed = Error::new(Kind::Failed, "file_unreadable", error.to_string());
        Error { hint: io_hint(&error), ..failed }.in_file(&*shown)
    })?;
    read(file, "it", limit).map_err(|error| error.in_file(&*shown))
}

fn read(input: impl Read, what: &str, limit: u64) -> Result<String, Error> {
    let refused = |message: String| Error::new(Kind::Failed, "input_refused", message);
    // What is short may be secret, and growing would leave copies of it behind.
    let mut bytes = Vec::with_capacity(limit.saturating_add(1).min(8 * 1024) as usize);
    input
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| refused(format!("{what} cannot be read: {error}")))?;
    if bytes.len() as u64 > limit {
        return Err(refused(format!("{what} is over {limit} bytes long")));
    }
    String::from_utf8(bytes).map_err(|_| refused(format!("{what} is not UTF-8")))
}

/// JSON text as a part of a document, its numbers as they are written.
pub(crate) fn raw_json(text: String) -> Result<Box<RawValue>, Error> {
    RawValue::from_string(text)
        .map_err(|error| Error::new(Kind::Failed, "output_failed", error.to_string()))
}
