//! What changes between two skills, for whoever reviews it: first what they may do, then the files.

mod change;
mod files;
mod side;
mod text;
mod told;

pub use change::{Change, Subject};
pub use files::{Content, FileChange, FileState};
pub use side::{Side, Signer};
pub use text::{Hunk, Piece, Standing};
pub use told::{lines, lines_within, summary};

use serde::Serialize;
use skillpkg_schema::{ContentAddress, Version};

use crate::Error;
use crate::activation::{found, growth, prose_growth};

/// Which skill stands on one side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Which {
    /// Its name, as it calls itself; text from outside.
    pub name: String,
    /// Its version; [`None`] for a directory that has none.
    pub version: Option<Version>,
    /// Its address; [`None`] for a directory.
    pub address: Option<ContentAddress>,
    /// Who signed it; [`None`] for a directory.
    pub signers: Option<Vec<Signer>>,
}

/// What changes between two skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The one before.
    pub before: Which,
    /// The one after.
    pub after: Which,
    /// Whether nothing differs.
    pub same: bool,
    /// What the one after may do that the one before might not, as it is asked about before an
    /// update; phrases that are safe to print.
    pub adds: Vec<String>,
    /// What differs in what they may do and ask for, what matters most first.
    pub changes: Vec<Change>,
    /// The files that differ, sorted by path.
    pub files: Vec<FileChange>,
}

impl Difference {
    /// What changes from `before` to `after`.
    ///
    /// At most 1 MiB of text is told, and 64 KiB of one file; what is left out is said.
    pub fn of(before: &Side, after: &Side) -> Result<Self, Error> {
        let changes = change::changes(before, after)?;
        let files = files::changed(before, after)?;
        let mut adds = growth(&before.manifest, &after.manifest);
        adds.extend(prose_growth(&before.prose_commands()?, &after.prose_commands()?));
        if let (Some(old), Some(new)) = (&before.findings, &after.findings) {
            adds.extend(found::added(old, new));
        }
        let same = changes.is_empty() && files.is_empty() && before.version == after.version;
        Ok(Self { before: which(before), after: which(after), same, adds, changes, files })
    }
}

fn which(side: &Side) -> Which {
    Which {
        name: side.name.clone(),
        version: side.version.clone(),
        address: side.address,
        signers: side.signers.clone(),
    }
}
