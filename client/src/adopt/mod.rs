//! Taking over what other tools installed: their lockfiles and directories, held against what is
//! published.
//!
//! A directory whose files are exactly those of a published version becomes that version, placed by
//! us after it went through all that an install goes through. Nothing else is touched: not a
//! directory in which a byte differs, not the files of the other tools.

mod above;
mod absent;
mod apm_lock;
mod clawhub_lock;
mod compare;
mod entry;
mod files;
mod known;
mod left;
mod matched;
mod matching;
mod only;
mod skills_lock;
mod spot;
mod survey;
mod tree;
mod yaml;

pub use compare::{Differing, How};
pub use entry::{Entry, Listing, MAX_ENTRIES, MAX_FILE_BYTES, Place, Refused, Tool, Unread};
pub use files::ToolFile;
pub use left::{Left, Nearest};
pub use matched::Match;
pub use survey::{Request, Survey, survey};
pub(crate) use tree::FoundTree;
pub use yaml::{YamlError, YamlReason};

use crate::install::{Attendant, Options, Report, TakenOver, take_over};
use crate::{Error, Settings};

/// Takes over what a survey found to be exactly a published version: installed as everything is,
/// and placed where it lay, and where the project's agents find it. What is no longer as it was found is left alone, and then nothing is
/// changed at all.
///
/// All of it or nothing: a failure leaves everything as it was, and a kill leaves it so or is
/// finished by the next command.
pub async fn adopt(
    settings: &Settings,
    options: &Options,
    survey: &Survey,
    attendant: &mut dyn Attendant,
) -> Result<Report, Error> {
    let skills: Vec<TakenOver> = survey
        .matched
        .iter()
        .map(|one| TakenOver {
            name: one.name.clone(),
            address: one.address,
            placed_as: one.placed_as.clone(),
            requirement: one.requirement.clone(),
            places: one.places.clone(),
        })
        .collect();
    take_over(settings, options, &skills, attendant).await
}
