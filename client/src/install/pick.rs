//! Picks a version out of a skill's document.

use skillpkg_schema::wire::{DeletedVersion, Document, VersionEntry};
use skillpkg_schema::{Requirement, Version};

use super::pick_error::PickError;
use crate::trust::forbidding;

/// The newest version that is picked where nothing is asked for.
pub(super) fn newest_free(document: &Document) -> Option<&Version> {
    let versions = document.versions.iter();
    let free = versions.filter(|entry| entry.yanked.is_none() && !entry.version.is_prerelease());
    let free = free.filter(|entry| forbidding(document, &entry.version).is_none());
    free.map(|entry| &entry.version).max()
}

/// The newest version that will do.
///
/// A pre-release is picked only where the requirement names one, and a yanked version only where it
/// names exactly that one.
pub fn pick<'d>(
    document: &'d Document,
    requirement: &Requirement,
) -> Result<&'d VersionEntry, PickError> {
    pick_passing(document, requirement, |_| false).map(|picked| picked.entry)
}

/// What was picked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Picked<'d> {
    pub(crate) entry: &'d VersionEntry,
    /// Newer ones that would have done but for what keeps them back, the newest first.
    pub(crate) passed_over: Vec<&'d VersionEntry>,
}

/// [`pick`], passing over each version that `keeps_back` says is kept back, unless the requirement
/// names exactly that one; where only such would do, the newest of them.
pub(crate) fn pick_passing<'d>(
    document: &'d Document,
    requirement: &Requirement,
    keeps_back: impl Fn(&VersionEntry) -> bool,
) -> Result<Picked<'d>, PickError> {
    let name = || document.name.clone();
    let mut fitting: Vec<&VersionEntry> =
        document.versions.iter().filter(|entry| fits(entry, requirement)).collect();
    fitting.sort_by(|left, right| left.version.cmp(&right.version));
    let newest = fitting.last().copied();
    fitting.retain(|entry| forbidding(document, &entry.version).is_none());
    if let Some(entry) = newest.filter(|_| fitting.is_empty())
        && let Some(advisory) = forbidding(document, &entry.version)
    {
        return Err(PickError::Forbidden {
            name: name(),
            requirement: requirement.clone(),
            version: entry.version.clone(),
            advisory: Box::new(advisory.clone()),
            free: newest_free(document).cloned(),
        });
    }
    let names = |entry: &VersionEntry| requirement.names_exactly(&entry.version);
    let mut free = fitting
        .iter()
        .rev()
        .copied()
        .filter(|entry| entry.yanked.is_none() || names(entry))
        .peekable();
    let newest = free.peek().copied();
    let mut passed_over = Vec::new();
    for entry in free {
        if names(entry) || !keeps_back(entry) {
            return Ok(Picked { entry, passed_over });
        }
        passed_over.push(entry);
    }
    if let Some(entry) = newest {
        return Ok(Picked { entry, passed_over: Vec::new() });
    }
    if let Some((entry, yank)) =
        fitting.last().and_then(|entry| Some((entry, entry.yanked.as_ref()?)))
    {
        return Err(PickError::Yanked {
            name: name(),
            requirement: requirement.clone(),
            version: entry.version.clone(),
            reason: yank.reason.clone(),
            free: newest_free(document).cloned(),
        });
    }
    // Of what is newest, what is there says more.
    let says_more = *requirement == Requirement::Latest && !document.versions.is_empty();
    if let Some(deleted) = newest_deleted(document, requirement).filter(|_| !says_more) {
        return Err(PickError::Deleted {
            name: name(),
            version: deleted.version.clone(),
            reason: deleted.reason.clone(),
        });
    }
    let versions = || document.versions.iter().map(|entry| &entry.version);
    match versions().max() {
        None => Err(PickError::Empty(name())),
        Some(newest) if *requirement == Requirement::Latest => {
            Err(PickError::PreReleases { name: name(), newest: newest.clone() })
        }
        Some(_) => Err(PickError::None {
            name: name(),
            requirement: requirement.clone(),
            nearest: nearest(document, requirement),
        }),
    }
}

/// The newest version that would do and was deleted.
fn newest_deleted<'d>(
    document: &'d Document,
    requirement: &Requirement,
) -> Option<&'d DeletedVersion> {
    let fitting = document
        .deleted
        .iter()
        .filter(|deleted| requirement.matches(&deleted.version, &deleted.address));
    fitting.max_by(|left, right| left.version.cmp(&right.version))
}

/// Whether a version is what is asked for, by either of its addresses.
pub(super) fn fits(entry: &VersionEntry, requirement: &Requirement) -> bool {
    requirement.matches(&entry.version, &entry.address)
        || requirement.matches(&entry.version, &entry.blake3)
}

/// The version that is least far from what was asked for: by major version, then by minor, then by
/// patch; the newer of two that are as far. Of another major version than the one asked for, the
/// newest. Near an address is none.
fn nearest(document: &Document, requirement: &Requirement) -> Option<Version> {
    let candidates = || {
        document
            .versions
            .iter()
            .filter(|entry| forbidding(document, &entry.version).is_none())
            .filter(|entry| entry.yanked.is_none() && !entry.version.is_prerelease())
            .map(|entry| &entry.version)
    };
    let wanted = match requirement {
        Requirement::Semver(semver) => semver.comparators.first(),
        _ => None,
    };
    let Some(wanted) = wanted else {
        let is_address = matches!(requirement, Requirement::Address(_));
        return if is_address { None } else { candidates().max().cloned() };
    };
    let (major, minor, patch) =
        (wanted.major, wanted.minor.unwrap_or(0), wanted.patch.unwrap_or(0));
    candidates()
        .min_by_key(|version| {
            let found = version.semver();
            let far = match found.major.abs_diff(major) {
                0 => match found.minor.abs_diff(minor) {
                    0 => (0, 0, found.patch.abs_diff(patch)),
                    minors => (0, minors, 0),
                },
                majors => (majors, 0, 0),
            };
            (far, std::cmp::Reverse((*version).clone()))
        })
        .cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use proptest::prelude::*;
    use skillpkg_schema::wire::{Advisory, Effect, Yank};
    use skillpkg_schema::{Blake3Digest, Sha256Digest};

    fn document(versions: &[(&str, bool)]) -> Document {
        let versions = versions
            .iter()
            .map(|(version, yanked)| VersionEntry {
                version: version.parse().unwrap(),
                address: Sha256Digest::of(version.as_bytes()).address(),
                blake3: Blake3Digest::of(version.as_bytes()).address(),
                archive: Sha256Digest::of(b"archive").address(),
                size: 1,
                unpacked_size: 1,
                key_ids: Vec::new(),
                published: "2026-01-01T00:00:00Z".to_owned(),
                yanked: yanked.then(|| Yank { reason: "broken".to_owned() }),
                log_index: None,
                findings: None,
            })
            .collect();
        Document {
            name: "waitlist".parse().unwrap(),
            description: String::new(),
            private: false,
            versions,
            keys: Vec::new(),
            deleted: Vec::new(),
            advisories: Vec::new(),
        }
    }

    fn picked(versions: &[(&str, bool)], requirement: &str) -> Result<String, PickError> {
        let document = document(versions);
        pick(&document, &requirement.parse().unwrap()).map(|entry| entry.version.to_string())
    }

    #[test]
    fn the_newest_that_will_do_is_picked() {
        let three = [("1.2.0", false), ("2.0.0", false), ("1.3.0", false), ("2.1.0-rc.1", false)];
        for (requirement, version) in [
            ("1.2", "1.3.0"),
            ("latest", "2.0.0"),
            ("=1.2.0", "1.2.0"),
            (">=1", "2.0.0"),
            ("2.1.0-rc.1", "2.1.0-rc.1"),
        ] {
            assert_eq!(picked(&three, requirement).as_deref(), Ok(version), "{requirement}");
        }
        let blake3 = Blake3Digest::of(b"1.2.0").address().to_string();
        assert_eq!(picked(&three, &blake3).as_deref(), Ok("1.2.0"));
    }

    #[test]
    fn the_nearest_is_shown_where_none_will_do() {
        let three = [("1.2.0", false), ("1.3.0", false), ("2.0.0", false), ("9.0.0", true)];
        for (requirement, near) in
            [("3", "2.0.0"), ("=1.2.7", "1.2.0"), ("0.1", "1.3.0"), ("1.9", "1.3.0")]
        {
            let error = picked(&three, requirement).unwrap_err();
            let PickError::None { nearest, .. } = error else { panic!("{error}") };
            assert_eq!(nearest.unwrap().to_string(), near, "{requirement}");
        }
    }

    #[test]
    fn of_a_major_version_that_is_missing_the_nearest_ones_newest_is_shown_and_of_an_address_none()
    {
        let two = [("1.2.0", false), ("1.3.0", false)];
        let address = Sha256Digest::of(b"unknown").address().to_string();
        for (requirement, near) in [("9", Some("1.3.0")), (address.as_str(), None)] {
            let error = picked(&two, requirement).unwrap_err();
            let PickError::None { nearest, .. } = &error else { panic!("{error}") };
            assert_eq!(nearest.as_ref().map(ToString::to_string).as_deref(), near, "{requirement}");
            assert!(Error::from(error).hint.is_some());
        }
    }

    #[test]
    fn a_yanked_version_is_picked_only_where_it_is_named() {
        let two = [("1.2.0", false), ("1.3.0", true)];
        assert_eq!(picked(&two, "1").as_deref(), Ok("1.2.0"));
        assert_eq!(picked(&two, "=1.3.0").as_deref(), Ok("1.3.0"));
        let refused = picked(&two, "1.3").unwrap_err();
        assert!(matches!(refused, PickError::Yanked { .. }));
        let hint = crate::Error::from(refused).hint.unwrap();
        assert!(hint.contains("takes the newest that was not yanked"), "{hint}");
        assert!(hint.ends_with("@=1.3.0` takes this one all the same"), "{hint}");
    }

    #[test]
    fn a_version_that_was_deleted_is_told_apart_from_one_that_never_was() {
        let mut document = document(&[("1.2.0", false)]);
        let address = Sha256Digest::of(b"2.0.0").address();
        document.deleted.push(DeletedVersion {
            version: "2.0.0".parse().unwrap(),
            address,
            reason: "it sent\nkeys away".to_owned(),
            deleted: "2026-01-01T00:00:00Z".to_owned(),
        });
        for requirement in ["2", "=2.0.0", &address.to_string()] {
            let error = Error::from(pick(&document, &requirement.parse().unwrap()).unwrap_err());
            assert_eq!(error.code, "version_deleted", "{requirement}");
            assert!(error.message.contains("says: it sent"), "{}", error.message);
        }
        for requirement in ["3", "=2.0.1"] {
            let error = pick(&document, &requirement.parse().unwrap()).unwrap_err();
            assert!(matches!(error, PickError::None { .. }), "{requirement}: {error}");
        }
        assert!(pick(&document, &"latest".parse().unwrap()).is_ok());
        document.versions.clear();
        let error = pick(&document, &"latest".parse().unwrap()).unwrap_err();
        assert!(matches!(error, PickError::Deleted { .. }), "{error}");
    }

    #[test]
    fn where_an_advisory_forbids_only_what_is_left_is_offered_instead() {
        let mut document = document(&[("1.2.0", false), ("1.3.0", false), ("2.0.0", true)]);
        let forbid = |versions: &str| Advisory {
            id: "A-1".to_owned(),
            versions: versions.to_owned(),
            effect: Effect::Forbid,
            summary: "it sends keys away".to_owned(),
            published: "2026-01-01T00:00:00Z".to_owned(),
            log_index: None,
        };
        for (versions, wanted, offered) in [
            ("=1.3.0", "1.3", "`skillpkg bundle waitlist@1.2.0` takes the newest"),
            ("*", "latest", "nothing of `waitlist` is left"),
            ("1", "1", "nothing of `waitlist` is left"),
        ] {
            document.advisories = vec![forbid(versions)];
            let error = pick(&document, &wanted.parse().unwrap()).unwrap_err();
            let hint = error.advising("skillpkg bundle").hint.unwrap();
            assert!(hint.starts_with(offered), "{versions}: {hint}");
        }
    }

    #[test]
    fn what_is_kept_back_is_passed_over_unless_it_is_named_or_nothing_else_will_do() {
        let document = document(&[("1.2.0", false), ("1.3.0", false), ("1.4.0", false)]);
        let picked = |requirement: &str, back: &[&str]| {
            let keeps_back = |entry: &VersionEntry| back.contains(&&*entry.version.to_string());
            let picked =
                pick_passing(&document, &requirement.parse().unwrap(), keeps_back).unwrap();
            let over: Vec<String> =
                picked.passed_over.iter().map(|entry| entry.version.to_string()).collect();
            (picked.entry.version.to_string(), over)
        };
        assert_eq!(picked("1", &[]), ("1.4.0".to_owned(), vec![]));
        assert_eq!(picked("1", &["1.4.0"]), ("1.3.0".to_owned(), vec!["1.4.0".to_owned()]));
        let both = vec!["1.4.0".to_owned(), "1.3.0".to_owned()];
        assert_eq!(picked("latest", &["1.4.0", "1.3.0"]), ("1.2.0".to_owned(), both));
        assert_eq!(picked("=1.4.0", &["1.4.0"]), ("1.4.0".to_owned(), vec![]));
        assert_eq!(picked("1.3", &["1.4.0", "1.3.0"]), ("1.4.0".to_owned(), vec![]));
    }

    #[test]
    fn pre_releases_alone_are_no_latest() {
        assert!(matches!(
            picked(&[("1.0.0-a", false)], "latest"),
            Err(PickError::PreReleases { .. })
        ));
        assert!(matches!(picked(&[], "latest"), Err(PickError::Empty(_))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn what_is_picked_fits_and_nothing_newer_does(
            versions in prop::collection::btree_set((0u64..4, 0u64..4, 0u64..4, any::<bool>()), 0..12),
            requirement in "(=|\\^|~|>=|<)?[0-3](\\.[0-3]){0,2}",
        ) {
            let texts: Vec<(String, bool)> = versions
                .iter()
                .map(|(a, b, c, yanked)| (format!("{a}.{b}.{c}"), *yanked))
                .collect();
            let versions: Vec<(&str, bool)> =
                texts.iter().map(|(text, yanked)| (text.as_str(), *yanked)).collect();
            let document = document(&versions);
            let requirement: Requirement = requirement.parse().unwrap();
            if let Ok(entry) = pick(&document, &requirement) {
                prop_assert!(fits(entry, &requirement));
                prop_assert!(entry.yanked.is_none() || requirement.names_exactly(&entry.version));
                for other in &document.versions {
                    let better = other.version > entry.version && other.yanked.is_none();
                    prop_assert!(!(better && fits(other, &requirement)));
                }
            } else {
                let free = document.versions.iter().filter(|entry| entry.yanked.is_none());
                prop_assert_eq!(free.filter(|entry| fits(entry, &requirement)).count(), 0);
            }
        }
    }
}
