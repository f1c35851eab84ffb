//! `skillpkg keys list`.

use std::path::PathBuf;

use serde_json::json;
use skillpkg::{Error, keys};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::wire::Key;

use crate::commands::account;
use crate::context::Context;

/// A key's file on this machine.
struct Row {
    path: PathBuf,
    /// [`None`] where nobody knows before it is opened.
    id: Option<KeyId>,
    is_locked: bool,
    /// Whether this machine signs with it.
    signs: bool,
    /// What the account says of it; [`None`] where that is not known.
    standing: Option<Standing>,
}

/// What an account says of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Registered,
    Revoked,
    /// It has others.
    Unregistered,
    /// It has none yet.
    First,
}

impl Standing {
    fn of(id: KeyId, account: &[Key]) -> Self {
        match account.iter().find(|known| known.id == id) {
            Some(known) if known.revoked.is_some() => Self::Revoked,
            Some(_) => Self::Registered,
            None if account.is_empty() => Self::First,
            None => Self::Unregistered,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::Revoked => "revoked",
            Self::Unregistered | Self::First => "unregistered",
        }
    }
}

impl Row {
    fn line(&self) -> String {
        let id =
            self.id.map_or_else(|| "(unknown until it is opened)".to_owned(), |id| id.to_string());
        let said = match (self.signs, self.standing) {
            (true, None | Some(Standing::Registered)) => "signs",
            (true, Some(Standing::Revoked)) => "signs, and is revoked: nothing it signs is taken",
            (true, Some(Standing::Unregistered)) => {
                "signs, and is not registered: `skillpkg keys add`"
            }
            (true, Some(Standing::First)) => "signs; the first publish registers it",
            (false, Some(Standing::Registered)) => "registered",
            (false, Some(Standing::Revoked)) => "revoked",
            (false, Some(Standing::Unregistered)) => "not registered",
            (false, None | Some(Standing::First)) => "",
        };
        let lock = if self.is_locked { "has a passphrase" } else { "" };
        let notes: Vec<&str> = [said, lock].into_iter().filter(|note| !note.is_empty()).collect();
        let notes =
            if notes.is_empty() { String::new() } else { format!("  ({})", notes.join("; ")) };
        format!("  {id}  {}{notes}", escape(&self.path.to_string_lossy()))
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "id": self.id,
            "path": self.path.to_string_lossy(),
            "signs": self.signs,
            "encrypted": self.is_locked,
            "account": self.standing.map(Standing::text),
        })
    }
}

pub(super) async fn run(context: &Context) -> Result<u8, Error> {
    let files = local(context)?;
    let account = match account::chosen_with_token(context) {
        Ok(registry) => Some(account::checked(context, registry).await?.keys().await?.keys),
        Err(_) => None,
    };
    let rows = rows(context, files, account.as_deref());
    let mut lines = vec!["On this machine:".to_owned()];
    lines.extend(rows.iter().map(Row::line));
    if rows.is_empty() {
        lines.push("  none; `skillpkg keygen` makes one".to_owned());
    }
    if let Some(row) = rows.iter().find(|row| row.id.is_none()) {
        context.output.talk(&format!(
            "`skillpkg keys passphrase {}` writes the public half beside the locked one, so that \
             its id is known.",
            escape(&row.path.to_string_lossy())
        ));
    }
    let (trusted, broken) = keys::trusted(&context.settings.home)?;
    for error in &broken {
        context.output.warn(&error.to_string());
    }
    if !trusted.is_empty() {
        lines.push("Trusted:".to_owned());
        lines.extend(trusted.iter().map(|key| format!("  {}", key.public.id())));
    }
    match &account {
        Some(keys) => {
            lines.push("Of the account:".to_owned());
            lines.extend(keys.iter().map(account_line));
            if keys.is_empty() {
                lines.push(
                    "  none; the first publish registers the key it is signed with".to_owned(),
                );
            }
        }
        None => context.output.detail("No registry was asked: there is none, or no token for it."),
    }
    context.output.text(&lines.join("\n"))?;
    let local: Vec<_> = rows.iter().map(Row::json).collect();
    let trusted: Vec<_> = trusted
        .iter()
        .map(|key| json!({ "id": key.public.id(), "path": key.path.to_string_lossy() }))
        .collect();
    context.output.json(&json!({ "local": local, "trusted": trusted, "account": account }))?;
    Ok(0)
}

/// The keys of this home, and the one that is signed with wherever it is; tells what is wrong with
/// the others.
fn local(context: &Context) -> Result<keys::KeyFiles, Error> {
    let mut files = keys::list(&context.settings.home)?;
    for error in &files.broken {
        context.output.warn(&error.to_string());
    }
    let signing = keys::signing_path(&context.settings);
    let is_listed = files.keys.iter().map(|key| &key.path).chain(&files.unknown);
    if !is_listed.into_iter().any(|path| *path == signing) {
        files.add(signing);
    }
    Ok(files)
}

/// Each key's file, the one that is signed with first where it lies elsewhere.
fn rows(context: &Context, files: keys::KeyFiles, account: Option<&[Key]>) -> Vec<Row> {
    let signing = keys::signing_path(&context.settings);
    let directory = keys::default_path(&context.settings.home);
    let known = files.keys.into_iter().map(|key| (key.path, Some(key.public.id()), key.is_locked));
    let unknown = files.unknown.into_iter().map(|path| (path, None, true));
    let mut rows: Vec<Row> = known
        .chain(unknown)
        .map(|(path, id, is_locked)| {
            let signs = path == signing;
            let standing = id.zip(account).map(|(id, account)| Standing::of(id, account));
            Row { path, id, is_locked, signs, standing }
        })
        .collect();
    rows.sort_by(|one, other| {
        let is_ours = |row: &Row| row.path.parent() == directory.parent();
        is_ours(one).cmp(&is_ours(other)).then_with(|| one.path.cmp(&other.path))
    });
    rows
}

fn account_line(key: &Key) -> String {
    let reason = key.reason.as_deref().map(|reason| format!(": {}", escape(reason)));
    let state = match key.revoked.as_deref() {
        Some(when) => format!("  revoked {}{}", escape(when), reason.unwrap_or_default()),
        None if key.held => {
            "  (held by the registry, which signs with it for clients that sign nothing)".to_owned()
        }
        None if key.proven => String::new(),
        None => "  (never shown to be held: `skillpkg keys add` with its file does)".to_owned(),
    };
    format!("  {}  added {}{state}", key.id, escape(&key.added))
}
