//! What differs in what two versions can run, in who signed them, and in what is found in them.

use std::collections::BTreeMap;

use skillpkg_schema::Manifest;
use skillpkg_schema::manifest::{Mode, ScriptEntry, ToolEntry};
use skillpkg_schema::wire::VersionEntry;

use crate::web::content::Found;
use crate::web::skill::{Word, words_of};
use crate::web::text::Text;

/// About how many bytes of HTML the rows of one page take.
const MOST_HTML: usize = 12 * 1024;
/// About how many bytes one row takes beside its texts.
const AROUND_ONE: usize = 200;

/// One thing that differs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// `added`, `removed` or `changed`.
    pub(super) how: &'static str,
    /// What kind of thing it is.
    pub(super) what: &'static str,
    /// Its name.
    pub(super) name: Text,
    /// What it ran.
    pub(super) was: Vec<Word>,
    /// What it runs.
    pub(super) is: Vec<Word>,
    /// What else is to be told.
    pub(super) notes: Vec<Text>,
}

impl Row {
    fn new(how: &'static str, what: &'static str, name: &str) -> Self {
        let (was, is, notes) = (Vec::new(), Vec::new(), Vec::new());
        Self { how, what, name: name.into(), was, is, notes }
    }

    /// About how many bytes of HTML it takes.
    fn length(&self) -> usize {
        let words = self.was.iter().chain(&self.is).map(|word| word.text.to_string().len() + 40);
        let notes = self.notes.iter().map(|note| note.to_string().len() + 20);
        words.chain(notes).fold(AROUND_ONE, usize::saturating_add)
    }

    fn noting(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes.into_iter().map(Text::from));
        self
    }
}

/// What differs, and how much more does than is told.
pub(super) fn compare(
    found: &Found,
    (old, was): (&VersionEntry, &Manifest),
    (new, is): (&VersionEntry, &Manifest),
) -> (Vec<Row>, usize) {
    let mut rows = Vec::new();
    pairs(&was.tools, &is.tools, |tool| &tool.id, |old, new| rows.extend(tool(old, new)));
    pairs(
        &was.scripts,
        &is.scripts,
        |script| &script.name,
        |old, new| {
            rows.extend(script(was, is, old, new));
        },
    );
    pairs(
        &was.programs,
        &is.programs,
        |program| &program.name,
        |old, new| match (old, new) {
            (None, Some(new)) => rows.push(Row::new("added", "program", &new.name)),
            (Some(old), None) => rows.push(Row::new("removed", "program", &old.name)),
            _ => {}
        },
    );
    requirements(was, is, &mut rows);
    executables(was, is, &mut rows);
    pairs(
        &was.resources,
        &is.resources,
        |resource| &resource.name,
        |old, new| match (old, new) {
            (None, Some(new)) => rows.push(
                Row::new("added", "resource", &new.name).noting([new.path.as_str().to_owned()]),
            ),
            (Some(old), None) => rows.push(Row::new("removed", "resource", &old.name)),
            (Some(old), Some(new)) if old.path != new.path => rows.push(
                Row::new("changed", "resource", &new.name)
                    .noting([format!("is `{}`, was `{}`", new.path, old.path)]),
            ),
            _ => {}
        },
    );
    signers(found, old, new, &mut rows);
    findings(old, new, &mut rows);
    let mut room = MOST_HTML;
    let fits = |row: &Row| {
        let left = room.checked_sub(row.length());
        room = left.unwrap_or(0);
        left.is_some()
    };
    let told = rows.iter().map(fits).take_while(|fits| *fits).count();
    let more = rows.len() - told;
    rows.truncate(told);
    (rows, more)
}

/// Calls `each` with what is of one key on both sides, in the order of the later side.
fn pairs<'m, T>(
    was: &'m [T],
    is: &'m [T],
    key: impl Fn(&T) -> &str,
    mut each: impl FnMut(Option<&'m T>, Option<&'m T>),
) {
    let mut left: BTreeMap<&str, &T> = was.iter().map(|one| (key(one), one)).collect();
    for new in is {
        each(left.remove(key(new)), Some(new));
    }
    for old in left.into_values() {
        each(Some(old), None);
    }
}

fn tool(old: Option<&ToolEntry>, new: Option<&ToolEntry>) -> Option<Row> {
    Some(match (old, new) {
        (None, Some(new)) => Row { is: words_of(&new.run), ..Row::new("added", "tool", &new.id) },
        (Some(old), None) => {
            Row { was: words_of(&old.run), ..Row::new("removed", "tool", &old.id) }
        }
        (Some(old), Some(new)) if old != new => {
            let mut row = Row::new("changed", "tool", &new.id);
            if old.run == new.run {
                row.is = words_of(&new.run);
            } else {
                (row.was, row.is) = (words_of(&old.run), words_of(&new.run));
            }
            let schema = (old.schema != new.schema).then(|| "its params differ".to_owned());
            let told = old.description != new.description;
            let told = told.then(|| format!("is described as: {}", new.description));
            row.noting(schema.into_iter().chain(told))
        }
        _ => return None,
    })
}

fn script(
    was: &Manifest,
    is: &Manifest,
    old: Option<&ScriptEntry>,
    new: Option<&ScriptEntry>,
) -> Option<Row> {
    let asks = |asks: bool| if asks { "asks before each call" } else { "asks no permission" };
    let all = |script: &ScriptEntry| {
        [
            format!("{}, run by {}", script.path, script.runtime),
            asks(script.requires_permission).to_owned(),
        ]
    };
    Some(match (old, new) {
        (None, Some(new)) => Row::new("added", "script", &new.name).noting(all(new)),
        (Some(old), None) => Row::new("removed", "script", &old.name),
        (Some(old), Some(new)) => {
            let content = |manifest: &Manifest, script: &ScriptEntry| {
                manifest.file(script.path.as_str()).map(|file| file.sha256)
            };
            let mut notes = Vec::new();
            if content(was, old) != content(is, new) {
                notes.push("its content differs".to_owned());
            }
            if old.path != new.path {
                notes.push(format!("is `{}`, was `{}`", new.path, old.path));
            }
            if old.runtime != new.runtime {
                notes.push(format!("is run by {}, was run by {}", new.runtime, old.runtime));
            }
            if old.fingerprint != new.fingerprint {
                notes.push("its contract differs".to_owned());
            }
            if old.requires_permission != new.requires_permission {
                notes.push(asks(new.requires_permission).to_owned());
            }
            if old.timeout_seconds != new.timeout_seconds {
                let (old, new) = (old.timeout_seconds, new.timeout_seconds);
                notes.push(format!("runs for {new} s at most, was {old} s"));
            }
            if old.maximum_output_bytes != new.maximum_output_bytes {
                let (old, new) = (old.maximum_output_bytes, new.maximum_output_bytes);
                notes.push(format!("answers with {new} bytes at most, was {old}"));
            }
            if old.description != new.description {
                notes.push(format!("is described as: {}", new.description));
            }
            if notes.is_empty() {
                return None;
            }
            Row::new("changed", "script", &new.name).noting(notes)
        }
        (None, None) => return None,
    })
}

fn requirements(was: &Manifest, is: &Manifest, rows: &mut Vec<Row>) {
    let (old, new) = (&was.requires, &is.requires);
    for (what, old, new) in [
        ("required program", &old.all, &new.all),
        ("one of required programs", &old.any, &new.any),
        ("environment variable", &old.env, &new.env),
        ("system", &old.os, &new.os),
    ] {
        let added = new.iter().filter(|one| !old.contains(one));
        rows.extend(added.map(|one| Row::new("added", what, one)));
        let removed = old.iter().filter(|one| !new.contains(one));
        rows.extend(removed.map(|one| Row::new("removed", what, one)));
    }
}

fn executables(was: &Manifest, is: &Manifest, rows: &mut Vec<Row>) {
    let executable = |manifest: &Manifest, path: &str| {
        manifest.file(path).is_some_and(|file| file.mode == Mode::Executable)
    };
    for file in is.files.iter().filter(|file| file.mode == Mode::Executable) {
        if !executable(was, file.path.as_str()) {
            rows.push(Row::new("added", "executable file", file.path.as_str()));
        }
    }
    for file in was.files.iter().filter(|file| file.mode == Mode::Executable) {
        if !executable(is, file.path.as_str()) {
            rows.push(Row::new("removed", "executable file", file.path.as_str()));
        }
    }
}

fn signers(found: &Found, old: &VersionEntry, new: &VersionEntry, rows: &mut Vec<Row>) {
    let row = |how, id: &skillpkg_schema::signature::KeyId| {
        let key = found.document().keys.iter().find(|key| key.id == *id);
        let account = key.map_or("", |key| key.account.as_str());
        let held = if key.is_some_and(|key| key.held) { ", held by the registry" } else { "" };
        Row::new(how, "signer", account).noting([format!("key {}{held}", id.short())])
    };
    let added = new.key_ids.iter().filter(|id| !old.key_ids.contains(id));
    rows.extend(added.map(|id| row("added", id)));
    let removed = old.key_ids.iter().filter(|id| !new.key_ids.contains(id));
    rows.extend(removed.map(|id| row("removed", id)));
}

fn findings(old: &VersionEntry, new: &VersionEntry, rows: &mut Vec<Row>) {
    let counts = |entry: &VersionEntry| -> BTreeMap<String, u32> {
        let counts = entry.findings.iter().flatten();
        counts.map(|count| (count.kind.clone(), count.count)).collect()
    };
    let (was, is) = (counts(old), counts(new));
    let kinds: std::collections::BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    for kind in kinds {
        let (was, is) = (was.get(kind).copied().unwrap_or(0), is.get(kind).copied().unwrap_or(0));
        let how = match (was, is) {
            _ if was == is => continue,
            (0, _) => "added",
            (_, 0) => "removed",
            _ => "changed",
        };
        rows.push(Row::new(how, "finding", kind).noting([format!("{is}, was {was}")]));
    }
}
