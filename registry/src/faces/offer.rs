//! What a face offers of a skill: its document, less what is not to be used.

use std::cmp::Ordering;

use skillpkg_schema::Version;
use skillpkg_schema::wire::{Advisory, Document, Effect, VersionEntry};

use crate::problem::{Answer, Code, Refusal};

/// A skill as a face has it.
#[derive(Debug, Clone)]
pub struct Offer {
    /// Its document.
    pub document: Document,
}

/// Releases before pre-releases, then newer before older.
fn newest_first(one: &Version, other: &Version) -> Ordering {
    one.is_prerelease().cmp(&other.is_prerelease()).then_with(|| other.cmp(one))
}

impl Offer {
    /// Reads a document's bytes.
    pub fn read(bytes: &[u8]) -> Answer<Self> {
        let document = serde_json::from_slice(bytes).map_err(|error| Refusal::internal(&error))?;
        Ok(Self { document })
    }

    /// The advisories about a version with this effect.
    pub fn advisories(&self, version: &Version, effect: Effect) -> impl Iterator<Item = &Advisory> {
        let advisories = self.document.advisories.iter();
        advisories.filter(move |one| one.effect == effect && one.covers(version))
    }

    fn is_forbidden(&self, entry: &VersionEntry) -> bool {
        self.advisories(&entry.version, Effect::Forbid).next().is_some()
    }

    /// The versions that may be picked, the best first: neither yanked nor under an advisory that
    /// forbids them.
    pub fn listed(&self) -> Vec<&VersionEntry> {
        let is_listed = |entry: &&VersionEntry| entry.yanked.is_none() && !self.is_forbidden(entry);
        let mut listed: Vec<_> = self.document.versions.iter().filter(is_listed).collect();
        listed.sort_by(|one, other| newest_first(&one.version, &other.version));
        listed
    }

    /// The version that is picked where none is named.
    pub fn latest(&self) -> Option<&VersionEntry> {
        self.listed().into_iter().next()
    }

    /// A version by its number, yanked or not; refused with its reason where an advisory forbids it.
    pub fn exact(&self, version: &Version) -> Answer<&VersionEntry> {
        let found = self.document.versions.iter().find(|entry| entry.version == *version);
        let entry = found.ok_or_else(Refusal::not_found)?;
        match self.advisories(version, Effect::Forbid).next() {
            None => Ok(entry),
            Some(Advisory { id, summary, .. }) => Err(Refusal::new(
                Code::AdvisoryForbids,
                format!("`{}` {version} is not to be used: {id}: {summary}", self.document.name),
            )),
        }
    }

    /// Why no version may be picked, where that is for advisories.
    pub fn forbidden(&self) -> Option<&Advisory> {
        let newest = self
            .document
            .versions
            .iter()
            .filter(|entry| entry.yanked.is_none())
            .min_by(|one, other| newest_first(&one.version, &other.version))?;
        self.advisories(&newest.version, Effect::Forbid).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(versions: &[(&str, bool)], advisories: &[(&str, &str)]) -> Offer {
        let digest = "0".repeat(64);
        let versions: Vec<_> = versions
            .iter()
            .map(|(version, yanked)| {
                let yank = yanked.then(|| serde_json::json!({"reason": "r"}));
                serde_json::json!({
                    "version": version, "address": format!("sha256:{digest}"),
                    "blake3": format!("blake3:{digest}"), "archive": format!("sha256:{digest}"),
                    "size": 1, "unpacked_size": 1, "key_ids": [], "published": "p", "yanked": yank,
                })
            })
            .collect();
        let advisories: Vec<_> = advisories
            .iter()
            .map(|(versions, effect)| {
                serde_json::json!({
                    "id": "SKA-2026-0001", "versions": versions, "effect": effect,
                    "summary": "It leaks", "published": "p",
                })
            })
            .collect();
        let document = serde_json::json!({
            "name": "acme/pdf", "description": "d", "versions": versions, "keys": [],
            "advisories": advisories,
        });
        Offer::read(document.to_string().as_bytes()).unwrap()
    }

    fn listed(offer: &Offer) -> Vec<String> {
        offer.listed().iter().map(|entry| entry.version.to_string()).collect()
    }

    #[test]
    fn the_newest_release_comes_first_and_what_is_not_to_be_picked_does_not() {
        let versions =
            [("1.0.0", false), ("1.2.0", true), ("2.0.0-rc.1", false), ("1.10.0", false)];
        let all = offer(&versions, &[]);
        assert_eq!(listed(&all), ["1.10.0", "1.0.0", "2.0.0-rc.1"]);
        let less = offer(&versions, &[(">=1.10", "forbid"), ("*", "warn")]);
        assert_eq!(listed(&less), ["1.0.0"]);
        assert_eq!(less.latest().unwrap().version.to_string(), "1.0.0");
    }

    #[test]
    fn a_version_by_its_number_is_served_when_yanked_and_not_when_forbidden() {
        let offer = offer(&[("1.0.0", true), ("2.0.0", false)], &[("2", "forbid")]);
        let exact = |version: &str| {
            offer.exact(&version.parse().unwrap()).map(|_| ()).map_err(|refused| refused.code())
        };
        assert_eq!(exact("1.0.0"), Ok(()));
        assert_eq!(exact("2.0.0"), Err(Code::AdvisoryForbids));
        assert_eq!(exact("3.0.0"), Err(Code::NotFound));
        assert_eq!(offer.latest(), None);
        assert_eq!(offer.forbidden().unwrap().summary, "It leaks");
    }
}
