//! Names that a survey is narrowed to.

use std::collections::BTreeSet;

use skillpkg_schema::diagnostic::{escape, nearest};

use super::files::ToolFile;
use super::spot::Spots;
use crate::{Error, Kind};

/// That something is here under each of these names, be it taken over already; the nearest is
/// offered where there is nothing.
pub(super) fn check(only: &[String], looked: &Spots, files: &[ToolFile]) -> Result<(), Error> {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for spot in &looked.found {
        known.extend([spot.name(), &spot.shown]);
    }
    known.extend(looked.our_names.iter().map(String::as_str));
    for file in files {
        known.extend(file.entries.iter().map(|entry| entry.key.as_str()));
        known.extend(file.refused.iter().map(|refused| refused.key.as_str()));
    }
    let Some(unknown) = only.iter().find(|name| !known.contains(name.as_str())) else {
        return Ok(());
    };
    let message = format!("no other tool has installed a skill called `{}` here", escape(unknown));
    let hint = match nearest(unknown, known) {
        Some(near) => format!("did you mean `{}`?", escape(near)),
        None => "`skillpkg adopt --dry-run` tells what is here".to_owned(),
    };
    Err(Error::new(Kind::Failed, "not_found", message).with_hint(hint))
}
