//! What registries last said against versions: yanked, or under an advisory. Remembered, so that a
//! machine without a network tells it too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::wire::{Advisory, Document, Effect};
use skillpkg_schema::{QualifiedName, Version};
use url::Url;

use super::ask::Found;
use crate::settings::registry_text;
use crate::state::{Durable, PATIENCE, Stored, lock_file};
use crate::{Error, Kind};

/// After how long `sync` asks again, in seconds.
const ASK_AFTER: u64 = 60 * 60;
/// After how long it asks a registry again that did not answer, in seconds.
const TRY_AFTER: u64 = 10 * 60;
/// Most characters of a summary or a reason that are shown.
const MOST_SHOWN: usize = 500;

/// What was last said of one skill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct OfSkill {
    /// When, in seconds since 1970.
    asked: u64,
    /// Leaves of the log that proved it; 0 where none did.
    #[serde(default, skip_serializing_if = "is_zero")]
    leaves: u64,
    /// Reasons by version.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    yanked: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    advisories: Vec<Advisory>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(leaves: &u64) -> bool {
    *leaves == 0
}

/// One document, and how late it speaks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said<'d> {
    /// The registry that says it.
    pub(crate) registry: &'d Url,
    /// What it says.
    pub(crate) document: &'d Document,
    /// When, in seconds since 1970.
    pub(crate) at: u64,
    /// Leaves of the log that proves it; 0 where none does.
    pub(crate) leaves: u64,
}

impl<'d> Said<'d> {
    /// A document as of the time of the checkpoint that proves it.
    pub(crate) fn carried(registry: &'d Url, found: &'d Found, now: u64) -> Self {
        let Found { document, view } = found;
        let then = view.as_ref().and_then(|view| view.time()).unwrap_or_default();
        let leaves = view.as_ref().map_or(0, |view| view.checkpoint().size);
        Self { registry, document, at: then.min(now), leaves }
    }
}

/// What registries last said against versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standings {
    /// By registry, then by name.
    registries: BTreeMap<String, BTreeMap<String, OfSkill>>,
    /// When registries that did not answer were last asked, in seconds since 1970.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    tried: BTreeMap<String, u64>,
}

/// What is said against one version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// Why it was yanked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub yanked: Option<String>,
    /// The advisories that are about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub advisories: Vec<Advisory>,
}

/// The advisory of a document that forbids a version.
pub(crate) fn forbidding<'d>(document: &'d Document, version: &Version) -> Option<&'d Advisory> {
    let forbids = |one: &&Advisory| one.effect == Effect::Forbid && one.covers(version);
    document.advisories.iter().find(forbids)
}

/// That an advisory forbids a version.
pub(crate) fn forbidden(name: &QualifiedName, version: &Version, advisory: &Advisory) -> Error {
    let message = format!(
        "`{name}@{version}` is not to be used: advisory {} of {}: {}",
        escape(&advisory.id),
        escape(&advisory.published),
        shown(&advisory.summary)
    );
    Error::new(Kind::Refused, "advisory_forbids", message).with_hint(format!(
        "`skillpkg show {name}` marks what is forbidden; where a version is not, `skillpkg install \
         {name}@VERSION` takes it, and without a network `skillpkg install --bundle FILE \
         {name}@VERSION` does, from a bundle that holds it"
    ))
}

/// A text of a registry's, safe to print and bounded.
fn shown(text: &str) -> String {
    let text: String = text.chars().take(MOST_SHOWN).collect();
    escape(&text)
}

impl Standing {
    /// What a document says against a version.
    pub fn in_document(document: &Document, version: &Version) -> Self {
        let entry = document.version(version);
        let yanked = entry.and_then(|entry| entry.yanked.as_ref());
        let advisories = document.advisories.iter().filter(|one| one.covers(version));
        Self {
            yanked: yanked.map(|yank| yank.reason.clone()),
            advisories: advisories.cloned().collect(),
        }
    }

    /// What either says.
    pub(crate) fn with(mut self, other: Self) -> Self {
        let new = other.advisories.into_iter().filter(|one| !self.advisories.contains(one));
        let new: Vec<Advisory> = new.collect();
        self.advisories.extend(new);
        Self { yanked: self.yanked.or(other.yanked), ..self }
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.yanked.is_none() && self.advisories.is_empty()
    }

    /// The advisory that forbids it.
    pub fn forbids(&self) -> Option<&Advisory> {
        self.advisories.iter().find(|one| one.effect == Effect::Forbid)
    }

    /// Refuses a version that an advisory forbids.
    pub(crate) fn check(&self, name: &QualifiedName, version: &Version) -> Result<(), Error> {
        self.forbids().map_or(Ok(()), |advisory| Err(forbidden(name, version, advisory)))
    }

    /// What is said, a sentence each; safe to print.
    pub fn told(&self, name: &QualifiedName, version: &Version) -> Vec<String> {
        let mut told = self.told_yank(name, version).into_iter().collect::<Vec<_>>();
        told.extend(self.told_advisories(name, version));
        told
    }

    /// As [`Standing::told`], of the yank alone.
    pub(crate) fn told_yank(&self, name: &QualifiedName, version: &Version) -> Option<String> {
        let reason = self.yanked.as_ref()?;
        Some(format!("`{name}@{version}` was yanked: {}", shown(reason)))
    }

    /// As [`Standing::told`], of the advisories alone.
    pub(crate) fn told_advisories(&self, name: &QualifiedName, version: &Version) -> Vec<String> {
        let told = |one: &Advisory| {
            let what = match one.effect {
                Effect::Forbid => "forbids",
                Effect::Warn => "warns of",
            };
            let (id, summary) = (escape(&one.id), shown(&one.summary));
            format!("advisory {id} {what} `{name}@{version}`: {summary}")
        };
        self.advisories.iter().map(told).collect()
    }
}

impl Standings {
    /// What is remembered beneath a home.
    pub fn read(home: &Path) -> Result<Self, Error> {
        Ok(file(home).read()?.unwrap_or_default())
    }

    /// What was last said against a version at a registry.
    pub fn of(&self, registry: &Url, name: &QualifiedName, version: &Version) -> Standing {
        let Some(skill) = self.skill(registry, name) else { return Standing::default() };
        let advisories = skill.advisories.iter().filter(|one| one.covers(version));
        Standing {
            yanked: skill.yanked.get(&version.to_string()).cloned(),
            advisories: advisories.cloned().collect(),
        }
    }

    /// Whether it is time to ask a registry again about a skill.
    pub(crate) fn is_due(&self, registry: &Url, name: &QualifiedName, now: u64) -> bool {
        let asked = self.skill(registry, name).map(|skill| skill.asked);
        let tried = self.tried.get(registry_text(registry)).copied();
        // A time to come is one of a clock that was wrong.
        let is_past = |then: Option<u64>, span| {
            then.is_none_or(|then| now.checked_sub(then).is_none_or(|passed| passed >= span))
        };
        is_past(asked, ASK_AFTER) && is_past(tried, TRY_AFTER)
    }

    /// Remembers that registries did not answer.
    pub(crate) fn tried<'u>(
        home: &Path,
        registries: impl IntoIterator<Item = &'u Url>,
        now: u64,
    ) -> Result<(), Error> {
        let registries = registries.into_iter().map(|url| registry_text(url).to_owned());
        Self::change(home, |all| all.tried.extend(registries.map(|url| (url, now))))
    }

    fn skill(&self, registry: &Url, name: &QualifiedName) -> Option<&OfSkill> {
        self.registries.get(registry_text(registry))?.get(&name.to_string())
    }

    /// Remembers what documents say against versions, in place of what was said before; writes
    /// nothing where that is as it was.
    ///
    /// A crash leaves what was remembered before, or all of it.
    pub(crate) fn learn<'d>(
        home: &Path,
        said: impl IntoIterator<Item = Said<'d>>,
    ) -> Result<(), Error> {
        let said: Vec<(Said<'_>, OfSkill)> =
            said.into_iter().map(|said| (said, OfSkill::of(&said))).collect();
        let known = Self::read(home)?;
        let is_new = |(said, now): &(Said<'_>, OfSkill)| {
            let before = known.skill(said.registry, &said.document.name);
            !before.unwrap_or(&OfSkill::default()).says(now)
        };
        if !said.iter().any(is_new) {
            return Ok(());
        }
        Self::change(home, |all| {
            for (said, now) in said {
                *all.entry(said.registry, &said.document.name) = now;
            }
        })
    }

    /// As [`Standings::learn`], of documents that may be of an earlier day: what was said later
    /// stays. Which is later, the log tells by its leaves; without one, the time.
    pub(crate) fn learn_earlier<'d>(
        home: &Path,
        said: impl IntoIterator<Item = Said<'d>>,
    ) -> Result<(), Error> {
        Self::change(home, |all| {
            for said in said {
                let known = all.entry(said.registry, &said.document.name);
                let is_later = if known.leaves > 0 && said.leaves > 0 {
                    said.leaves >= known.leaves
                } else {
                    said.at >= known.asked
                };
                if is_later {
                    *known = OfSkill::of(&said);
                }
            }
        })
    }

    /// Remembers that registries were asked about skills.
    pub(crate) fn asked<'n>(
        home: &Path,
        skills: impl IntoIterator<Item = (&'n Url, &'n QualifiedName)>,
        now: u64,
    ) -> Result<(), Error> {
        let mut skills = skills.into_iter().peekable();
        if skills.peek().is_none() {
            return Ok(());
        }
        Self::change(home, |all| {
            for (registry, name) in skills {
                all.entry(registry, name).asked = now;
            }
        })
    }

    fn entry(&mut self, registry: &Url, name: &QualifiedName) -> &mut OfSkill {
        let skills = self.registries.entry(registry_text(registry).to_owned()).or_default();
        skills.entry(name.to_string()).or_default()
    }

    fn change(home: &Path, change: impl FnOnce(&mut Self)) -> Result<(), Error> {
        let file = file(home);
        let _lock = lock_file(&file.path().with_extension("lock"), PATIENCE)?;
        let mut all: Self = file.read()?.unwrap_or_default();
        change(&mut all);
        Ok(file.write_as(&all, Durable::No)?)
    }
}

impl OfSkill {
    fn of(said: &Said<'_>) -> Self {
        let Said { document, at, leaves, .. } = *said;
        let yanked = document.versions.iter().filter_map(|entry| {
            Some((entry.version.to_string(), entry.yanked.as_ref()?.reason.clone()))
        });
        let advisories = document.advisories.clone();
        Self { asked: at, leaves, yanked: yanked.collect(), advisories }
    }

    /// Whether both say the same, whenever.
    fn says(&self, other: &Self) -> bool {
        self.yanked == other.yanked && self.advisories == other.advisories
    }
}

/// The file that remembers what registries last said, whether or not it is there.
pub(crate) fn standings_file(home: &Path) -> PathBuf {
    file(home).path().to_owned()
}

fn file(home: &Path) -> Stored {
    Stored::new(home.join("state").join("standings.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advisory(versions: &str, effect: Effect) -> Advisory {
        Advisory {
            id: "SKA-2026-0001".to_owned(),
            versions: versions.to_owned(),
            effect,
            summary: "it sends the key away".to_owned(),
            published: "2026-01-01T00:00:00Z".to_owned(),
            log_index: Some(9),
        }
    }

    #[test]
    fn an_advisory_is_about_what_its_requirement_says_and_pre_releases_of_it() {
        for (versions, version, expected) in [
            ("*", "1.2.3", true),
            ("*", "1.2.3-beta.1", true),
            ("<1.2.3", "1.2.2", true),
            ("<1.2.3", "1.2.3", false),
            (">=1.2.3, <1.3.0", "1.2.3-rc.1", true),
            ("=2.0.0", "2.0.1", false),
            ("not a requirement", "9.9.9", true),
        ] {
            let advisory = advisory(versions, Effect::Warn);
            assert_eq!(advisory.covers(&version.parse().unwrap()), expected, "{versions}");
        }
    }

    #[test]
    fn what_is_said_is_remembered_by_registry_and_taken_back_with_the_next_answer() {
        let home = tempfile::tempdir().unwrap();
        let registry: Url = "http://127.0.0.1:1".parse().unwrap();
        let other: Url = "http://127.0.0.1:2".parse().unwrap();
        let (name, version) = ("waitlist".parse().unwrap(), "1.0.0".parse().unwrap());
        let mut document = Document {
            name: "waitlist".parse().unwrap(),
            description: String::new(),
            private: false,
            versions: Vec::new(),
            keys: Vec::new(),
            deleted: Vec::new(),
            advisories: vec![advisory("^1", Effect::Forbid), advisory("^2", Effect::Warn)],
        };
        let read = || Standings::read(home.path()).unwrap();
        let learn = |document: &Document, at| {
            Standings::learn(home.path(), [Said { registry: &registry, document, at, leaves: at }])
        };
        learn(&document, 7).unwrap();
        let standing = read().of(&registry, &name, &version);
        assert_eq!(standing.advisories.len(), 1);
        let error = standing.check(&name, &version).unwrap_err();
        assert_eq!((error.code.as_str(), error.kind), ("advisory_forbids", Kind::Refused));
        assert!(read().of(&other, &name, &version).is_empty());
        Standings::asked(home.path(), [(&registry, &name)], 7).unwrap();
        assert!(!read().is_due(&registry, &name, 7) && read().is_due(&registry, &name, 7 + 3_600));
        assert!(read().is_due(&other, &name, 7));
        document.advisories.clear();
        // Out of a bundle, what is of an earlier log takes nothing back, whatever the clocks say.
        for (leaves, at, is_empty) in [(6, 9, false), (7, 6, true)] {
            let said = Said { registry: &registry, document: &document, at, leaves };
            Standings::learn_earlier(home.path(), [said]).unwrap();
            assert_eq!(read().of(&registry, &name, &version).is_empty(), is_empty, "{leaves}");
        }
        document.advisories.push(advisory("^1", Effect::Warn));
        learn(&document, 3).unwrap();
        assert!(!read().of(&registry, &name, &version).is_empty());
        document.advisories.clear();
        learn(&document, 8).unwrap();
        assert!(read().of(&registry, &name, &version).is_empty());
    }
}
