//! The version of the store's layout, so that an older program refuses a newer store.

use std::io::{self, Read as _, Write as _};
use std::sync::Arc;

use skillpkg_schema::diagnostic::escape;

use super::directory::{open_file, place_new};
use super::error::{AtPath as _, StoreError};
use super::layout::Layout;
use super::lease::{Lease, Patience};
use super::temporary::TemporaryFile;

/// The format that this version reads and writes.
pub(super) const FORMAT: u32 = 1;
/// The file that holds it.
const FORMAT_FILE: &str = "format";
/// What stands before the number.
const PREFIX: &str = "skillpkg.store/";
/// Most bytes of the file that are looked at.
const LONGEST: u64 = 64;

/// Refuses a store of another format; writes ours where there is none yet.
pub(super) fn check(layout: &Arc<Layout>) -> Result<(), StoreError> {
    if is_known(layout)? { Ok(()) } else { write(layout) }
}

/// Refuses a store of another format; answers whether it says that it has ours.
pub(super) fn is_known(layout: &Layout) -> Result<bool, StoreError> {
    let path = || layout.path().join(FORMAT_FILE);
    let mut text = String::new();
    match open_file(layout.root(), FORMAT_FILE) {
        Ok(file) => {
            // Bytes that are no text are no format of ours either.
            let mut bytes = Vec::new();
            file.take(LONGEST).read_to_end(&mut bytes).at(path)?;
            text.push_str(&String::from_utf8_lossy(&bytes));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            let reason = error.to_string();
            return Err(StoreError::FormatUnread { path: path(), reason, known: FORMAT });
        }
        Err(error) => return Err(StoreError::io(path(), error)),
    }
    let number = text.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix('\n'));
    if number.and_then(|number| number.parse::<u32>().ok()) == Some(FORMAT) {
        return Ok(true);
    }
    let Some(found) = number else {
        let reason = match text.trim_end() {
            "" => "it is empty".to_owned(),
            text => format!("it says `{}`", escape(text)),
        };
        return Err(StoreError::FormatUnread { path: path(), reason, known: FORMAT });
    };
    let (path, found) = (layout.path().to_owned(), escape(found));
    Err(StoreError::Format { path, found, known: FORMAT })
}

fn write(layout: &Arc<Layout>) -> Result<(), StoreError> {
    // Or a collection could clear `tmp/` in the middle.
    let _lease = Lease::take(layout, &Patience::default())?;
    let path = || layout.path().join(FORMAT_FILE);
    let mut file = TemporaryFile::create(layout, "format", 0o644)?;
    file.handle().write_all(format!("{PREFIX}{FORMAT}\n").as_bytes()).at(path)?;
    // Once in a store's life; an empty file here would shut the store for good.
    file.handle().sync_all().at(path)?;
    if place_new(layout.temporary(), file.name(), layout.root(), FORMAT_FILE).at(path)? {
        file.placed();
    }
    Ok(())
}
