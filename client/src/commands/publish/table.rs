//! What became of several skills, as a table and as JSON.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use skillpkg::{Error, Kind};
use skillpkg_schema::Severity;
use skillpkg_schema::diagnostic::escape;

use super::ready::{Ready, Shown};
use super::send::Sent;
use super::{Published, in_file};
use crate::commands::packing::ShownArchive;
use crate::context::Context;

/// Most skills that are each told a reason that they share.
const MOST_TOLD_EACH: usize = 2;

/// What became of one skill; in a dry run, what would.
pub(super) enum Became {
    /// A new version, and what its registry answered.
    New(Option<(Box<Sent>, String)>),
    /// It was there already, with exactly this content.
    Unchanged(Option<(Box<Sent>, String)>),
    /// It cannot be packed, or its registry does not take it.
    Refused(Error),
    /// It can be packed; whether it may be published was not asked, for this reason.
    NotAsked(String),
    /// Nothing was sent of it, since the command was told to end.
    NotSent,
    /// It was being sent when the command was told to end at once.
    Unknown,
}

impl Became {
    fn word(&self) -> &'static str {
        match self {
            Self::New(_) => "new",
            Self::Unchanged(_) => "unchanged",
            Self::Refused(_) => "refused",
            Self::NotAsked(_) => "not_asked",
            Self::NotSent => "not_sent",
            Self::Unknown => "unknown",
        }
    }
}

/// One skill.
pub(super) struct Row {
    source: PathBuf,
    shown: Option<Shown>,
    became: Became,
}

impl Row {
    pub(super) fn new(source: PathBuf, ready: Option<Ready>, became: Became) -> Self {
        Self { shown: ready.map(|ready| ready.shown(&source)), source, became }
    }
}

/// What became of several skills, in the order in which they were given.
pub(super) struct Table {
    pub(super) rows: Vec<Row>,
    pub(super) dry_run: bool,
    /// A failure that is of no single skill.
    pub(super) error: Option<Error>,
}

/// A row as `--json` answers it.
#[derive(Serialize)]
struct ShownRow<'r> {
    status: &'static str,
    #[serde(flatten)]
    what: What<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<serde_json::Value>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum What<'r> {
    Published(Box<Published>),
    Packed(&'r ShownArchive),
    Path { path: String },
}

#[derive(Serialize)]
struct Report<'r> {
    skills: Vec<ShownRow<'r>>,
    dry_run: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<serde_json::Value>,
}

impl Table {
    /// What was published to the registry at `url`, in words; [`None`] where nothing was.
    pub(super) fn published_to(&self, url: &str) -> Option<String> {
        let names = self.rows.iter().filter_map(|row| match &row.became {
            Became::New(Some((_, to))) | Became::Unchanged(Some((_, to))) if to == url => {
                let archive = &row.shown.as_ref()?.archive;
                Some(format!("{} {}", archive.name, archive.version))
            }
            _ => None,
        });
        let names: Vec<String> = names.collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// Prints it; answers with the exit code, which is that of the worst.
    pub(super) fn print(self, context: &Context) -> Result<u8, Error> {
        let output = context.output;
        let common = self.common_reasons();
        for row in &self.rows {
            let is_told_below = row.reason().is_some_and(|reason| common.contains_key(&reason));
            output.text(&row.text(is_told_below))?;
        }
        for (count, error) in common.values() {
            let told = reasons(error).join("\n");
            output.text(&format!("{count} of them are refused for one reason:\n{told}"))?;
        }
        output.talk(&self.summary());
        let unnamed = self.rows.iter().filter(|row| row.is_unnamed()).count();
        if unnamed > 1 {
            output.talk(&format!(
                "{unnamed} of them have a name that cannot be one, or none: `--nearest-names` \
                 publishes each under the nearest that can, or its directory's."
            ));
        }
        if let Some(error) = &self.error
            && !output.json
        {
            output.fail(error);
        }
        let errors = || self.rows.iter().filter_map(Row::error).chain(&self.error);
        let stopped =
            self.rows.iter().any(|row| matches!(row.became, Became::NotSent | Became::Unknown));
        let kinds = errors().map(|error| error.kind).chain(stopped.then_some(Kind::Failed));
        let code = worst(kinds);
        let error = self.error.as_ref().or_else(|| errors().next());
        let error = error.and_then(|error| error.to_json().get("error").cloned());
        let skills = self.rows.iter().map(|row| row.json(context)).collect();
        output.json(&Report { skills, dry_run: self.dry_run, error })?;
        Ok(code)
    }

    /// The reasons for which several are refused, each with how many are and the first that is.
    fn common_reasons(&self) -> BTreeMap<String, (usize, &Error)> {
        let mut counted: BTreeMap<String, (usize, &Error)> = BTreeMap::new();
        for row in &self.rows {
            if let Some((reason, error)) = row.reason().zip(row.error()) {
                counted.entry(reason).or_insert((0, error)).0 += 1;
            }
        }
        counted.retain(|_, (count, _)| *count > MOST_TOLD_EACH);
        counted
    }

    fn summary(&self) -> String {
        let counted = |word: &str| {
            let count = self.rows.iter().filter(|row| row.became.word() == word).count();
            (count > 0).then(|| format!("{count} {}", word.replace('_', " ")))
        };
        let words = ["new", "unchanged", "refused", "not_asked", "not_sent", "unknown"];
        let counts: Vec<String> = words.iter().filter_map(|word| counted(word)).collect();
        let nothing = if self.dry_run { " Nothing was sent." } else { "" };
        format!("{}.{nothing}", counts.join(", "))
    }
}

/// The exit code of the worst of several failures: what is not what it was said to be comes before
/// what is refused, and that before the rest.
fn worst(kinds: impl Iterator<Item = Kind>) -> u8 {
    let gravity = |kind: &Kind| match kind {
        Kind::Verification => 5,
        Kind::Refused => 4,
        Kind::Requirement => 3,
        Kind::Usage => 2,
        Kind::Failed => 1,
        Kind::Drift => 0,
    };
    kinds.max_by_key(gravity).map_or(0, Kind::exit_code)
}

impl Row {
    fn error(&self) -> Option<&Error> {
        match &self.became {
            Became::Refused(error) => Some(error),
            _ => None,
        }
    }

    /// What tells apart the reasons for which skills are refused; [`None`] where the reason is a place
    /// in its files, or it is not refused.
    fn reason(&self) -> Option<String> {
        let error = self.error().filter(|error| error.faults.is_empty())?;
        // How long to wait differs from one to the next.
        let is_wait = error.code == "rate_limited";
        Some(if is_wait { error.code.clone() } else { format!("{}: {error}", error.code) })
    }

    /// Whether it is refused for its name, and another could be made of that.
    fn is_unnamed(&self) -> bool {
        let is_of_name = |code: &str| matches!(code, "name_refused" | "name_missing");
        self.error().is_some_and(|error| error.faults.iter().any(|one| is_of_name(&one.code)))
    }

    /// The row for a person: what became of it, which skill it is, where it lies, what it calls
    /// itself where it goes under another name, and why, unless that is told below.
    fn text(&self, is_told_below: bool) -> String {
        let path = escape(&self.source.to_string_lossy());
        let what = match &self.shown {
            Some(Shown { archive, named_in_file }) => {
                let said = named_in_file.as_deref().map(in_file);
                let said = said.map_or_else(String::new, |said| format!("  ({said})"));
                format!("{} {}  {path}{said}", archive.name, archive.version)
            }
            None => path,
        };
        let line = format!("{:<10} {what}", self.became.word().replace('_', " "));
        let mut lines = vec![line];
        match &self.became {
            Became::Refused(_) if is_told_below => {}
            Became::Refused(error) => lines.extend(reasons(error)),
            Became::NotAsked(reason) => lines.push(format!("    {reason}")),
            Became::Unknown => lines.push(
                "    it was being sent: `skillpkg show` tells whether it arrived, and publishing it \
                 again does no harm"
                    .to_owned(),
            ),
            Became::New(_) | Became::Unchanged(_) | Became::NotSent => {}
        }
        lines.join("\n")
    }

    fn json(&self, context: &Context) -> ShownRow<'_> {
        let what = match (&self.shown, &self.became) {
            (None, _) => What::Path { path: self.source.to_string_lossy().into_owned() },
            (
                Some(archive),
                Became::New(Some((sent, url))) | Became::Unchanged(Some((sent, url))),
            ) => What::Published(Box::new(Published::sent(archive.clone(), url, sent))),
            (Some(archive), Became::New(None) | Became::Unchanged(None)) => {
                What::Published(Box::new(Published::rehearsed(context, archive.clone(), true)))
            }
            (Some(archive), Became::NotAsked(_)) => {
                What::Published(Box::new(Published::rehearsed(context, archive.clone(), false)))
            }
            (Some(shown), _) => What::Packed(&shown.archive),
        };
        let reason = match &self.became {
            Became::NotAsked(reason) => Some(reason.as_str()),
            _ => None,
        };
        let error = self.error().and_then(|error| error.to_json().get("error").cloned());
        ShownRow { status: self.became.word(), what, reason, error }
    }
}

/// Why a skill is refused: every fault with its place, or the one failure.
fn reasons(error: &Error) -> Vec<String> {
    let faults = error.faults.iter().filter(|fault| fault.severity == Severity::Error);
    let mut told: Vec<String> = faults.map(ToString::to_string).collect();
    if told.is_empty() {
        told.push(error.to_string());
    }
    told.iter().flat_map(|text| text.lines()).map(|line| format!("    {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_that_of_the_worst() {
        for (kinds, code) in [
            (&[][..], 0),
            (&[Kind::Failed], 1),
            (&[Kind::Failed, Kind::Refused, Kind::Failed], 5),
            (&[Kind::Refused, Kind::Verification, Kind::Usage], 3),
        ] {
            assert_eq!(worst(kinds.iter().copied()), code, "{kinds:?}");
        }
    }

    #[test]
    fn a_refusal_tells_every_fault_with_its_place() {
        use skillpkg_schema::{Diagnostic, Faults};
        let one = Diagnostic::error("a", "too long").in_file("x/SKILL.md").at_line(3);
        let two = Diagnostic::error("b", "missing").in_file("x/SKILL.md").at_line(5);
        let faults = Faults::check((), vec![one, two]).unwrap_err();
        let told = reasons(&Error::from(faults));
        assert_eq!(told, ["    x/SKILL.md:3: too long", "    x/SKILL.md:5: missing"]);
    }
}
