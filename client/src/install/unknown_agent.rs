//! Where a file names an agent that is none.

use std::path::Path;

use skillpkg_schema::Diagnostic;
use toml::de::DeTable;

use super::session::Session;
use crate::agents::{Agents, ChosenBy};
use crate::project::{MAX_PROJECT_FILE_BYTES, PROJECT_FILE};
use crate::text_faults::TextFaults;
use crate::{Error, regular_file};

/// The error about agents of which one is none, with the file that names it, line and column.
pub(super) fn in_its_file(
    session: &Session<'_>,
    agents: &Agents,
    by: ChosenBy,
    ids: &[String],
    error: Error,
) -> Error {
    let reach = session.options.reach;
    let file = match by {
        ChosenBy::Project => {
            let text = session.files.project_text.clone();
            text.map(|text| (PROJECT_FILE.to_owned(), text))
        }
        ChosenBy::Configuration => {
            let path = session.settings.configuration.as_ref();
            path.and_then(|path| Some((path.to_string_lossy().into_owned(), read(path)?)))
        }
        _ => None,
    };
    let wrong = ids.iter().find(|id| agents.directories(std::slice::from_ref(*id), reach).is_err());
    let Some((wrong, (file, text))) = wrong.zip(file) else { return error };
    let (line, column) = named_at(&text, wrong).unzip();
    Error { line, column, ..error.in_file(file) }
}

/// The text of the configuration file, as far as it is still one.
fn read(path: &Path) -> Option<String> {
    let file = regular_file::open(path).ok()?;
    let bytes = regular_file::read(file, MAX_PROJECT_FILE_BYTES).ok()??;
    String::from_utf8(bytes).ok()
}

/// Line and column of an agent's id in `use` of `[agents]`.
fn named_at(text: &str, id: &str) -> Option<(u32, u32)> {
    let root = DeTable::parse(text).ok()?;
    let used = root.get_ref().get("agents")?.get_ref().as_table()?.get("use")?;
    let items = used.get_ref().as_array()?;
    let item = items.iter().find(|item| item.get_ref().as_str() == Some(id))?;
    let fault = Diagnostic::error("unknown_agent", "");
    let placed = TextFaults::new(text, "").placed(fault, item.span().start);
    placed.line.zip(placed.column)
}
