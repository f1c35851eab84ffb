//! `update --merge`: moves skills whose copies were edited too, and merges the edits into what comes.

use skillpkg_schema::diagnostic::escape;
use skillpkg_store::content::Store;

use super::attend::{Approval, Attendant, Progress};
use super::goal::Report;
use super::options::Options;
use super::session::{open_directory, root_of};
use super::update::update;
use crate::merge::{Edits, MergedCopy};
use crate::state::{Placement, State};
use crate::{Error, Settings};

/// As [`update`], and moves the skills too of which copies were edited: the edits are merged into
/// what comes.
///
/// The edited files are first kept in `edits` beneath the home, and stay there: whatever a merge or
/// a crash makes of a copy, no edit is lost. A skill whose edits cannot be read stays as it is.
pub async fn update_merging(
    settings: &Settings,
    options: &Options,
    names: &[String],
    attendant: &mut dyn Attendant,
) -> Result<(Report, Vec<MergedCopy>), Error> {
    let mut report = update(settings, options, names, attendant).await?;
    if report.kept.is_empty() || options.discard_edits {
        return Ok((report, Vec::new()));
    }
    let mut copies = Vec::new();
    for kept in std::mem::take(&mut report.kept) {
        let name = [kept.name.to_string()];
        let mut keeping =
            Keeping { settings, options, name: &name[0], kept: Ok(Vec::new()), attendant };
        keeping.keep();
        if let Err(reason) = &keeping.kept {
            let reason = format!("{}; it cannot be merged: {reason}", kept.reason);
            report.kept.push(super::goal::Kept { reason, ..kept });
            continue;
        }
        let replacing = Options { discard_edits: true, ..options.clone() };
        let moved = update(settings, &replacing, &name, &mut keeping).await?;
        let edits = keeping.kept.unwrap_or_default();
        let store = Store::open(&settings.home)?;
        for outcome in &moved.skills {
            let address = outcome.locked.address;
            for one in edits.iter().filter(|one| *one.name() == outcome.locked.name) {
                if one.base() == address {
                    continue;
                }
                let manifest =
                    super::prepare::stored(&store, &address)?.map(|stored| stored.manifest);
                let merged = match &manifest {
                    Some(manifest) => {
                        one.apply(&store, manifest).map_err(|error| error.to_string())
                    }
                    None => Err("the store has lost what was just placed".to_owned()),
                };
                match merged {
                    Ok(copy) => copies.push(copy),
                    Err(reason) => attendant.warn(&format!(
                        "the edits of `{}` could not be merged: {reason}; they lie in `{}`",
                        escape(&one.path().to_string_lossy()),
                        escape(&one.kept().to_string_lossy())
                    )),
                }
            }
        }
        report.skills.extend(moved.skills);
        report.kept.extend(moved.kept);
    }
    report.skills.sort_by_cached_key(|skill| skill.locked.name.to_string());
    Ok((report, copies))
}

/// Keeps the edits of a skill's copies, and again at the last moments before they are replaced: a
/// person may go on to edit while something is fetched or asked.
struct Keeping<'k> {
    settings: &'k Settings,
    options: &'k Options,
    name: &'k str,
    /// The edits as they were last kept, or why they cannot be.
    kept: Result<Vec<Edits>, String>,
    attendant: &'k mut dyn Attendant,
}

impl Keeping<'_> {
    fn keep(&mut self) {
        if self.kept.is_ok() {
            self.kept = self.look().map_err(|error| error.message);
        }
    }

    fn look(&self) -> Result<Vec<Edits>, Error> {
        let Self { settings, options, .. } = self;
        if !root_of(settings, options.reach).is_dir() {
            return Ok(Vec::new());
        }
        let directory = open_directory(settings, options.reach)?;
        let remembered = State::new(&settings.home).project(directory.root())?;
        let store = Store::open(&settings.home)?;
        let beneath = settings.home.join("edits");
        let mut kept = Vec::new();
        let copies = remembered.placed.iter().filter(|placed| {
            placed.placement == Placement::Copy && placed.name.to_string() == self.name
        });
        for placed in copies {
            let edits = Edits::keep(&store, &placed.address, &placed.path, &beneath);
            kept.extend(
                edits.map_err(|error| {
                    Error::new(crate::Kind::Refused, "edited", error.to_string())
                })?,
            );
        }
        Ok(kept)
    }

    /// Why nothing may be replaced, where the edits could not be kept.
    fn check(&self) -> Result<(), Error> {
        match &self.kept {
            Ok(_) => Ok(()),
            Err(reason) => {
                let message = format!("the edits of `{}` cannot be kept: {reason}", self.name);
                Err(Error::new(crate::Kind::Refused, "edited", message))
            }
        }
    }
}

impl Attendant for Keeping<'_> {
    fn tell(&mut self, text: &str) {
        self.attendant.tell(text);
    }

    fn warn(&mut self, text: &str) {
        self.attendant.warn(text);
    }

    fn progress(&mut self, progress: Progress) {
        self.attendant.progress(progress);
    }

    fn approve(&mut self, asked: &[Approval]) -> Result<bool, Error> {
        let answer = self.attendant.approve(asked)?;
        if answer {
            self.keep();
            self.check()?;
        }
        Ok(answer)
    }

    fn approved(&mut self, asked: &[Approval]) {
        self.attendant.approved(asked);
    }
}
