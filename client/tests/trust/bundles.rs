//! Bundles of logs that rotate, fork, are of earlier days, or of a registry that relays another's.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use skillpkg::bundle::{Carried, Request, make, verify};
use skillpkg::install::install;
use skillpkg::trust::{self, LogKey, LogSource, Verdict};
use skillpkg::verification::{Report, Verifier};
use skillpkg::{Error, Kind, Settings};
use skillpkg_schema::bundle::{BundleIndex, BundledFile};
use skillpkg_schema::log::{Hash, Subject, sign_identity};
use skillpkg_schema::signature::SigningKey;
use skillpkg_schema::wire::{Advisory, Effect};
use skillpkg_store::bundle::{BundleReader, BundleWriter};
use tempfile::TempDir;

use crate::log::{Log, now};
use crate::machine::{Machine, Told};
use crate::registry::Registry;

const DAY: u64 = 24 * 60 * 60;

/// Makes a bundle of what is named, on a machine of its own.
async fn bundle(directory: &TempDir, registry: &Registry, name: &str, wanted: &[&str]) -> PathBuf {
    bundled_by(&Machine::new(registry), directory, name, wanted).await
}

/// Makes a bundle of what is named, or of all that a machine's project has locked.
async fn bundled_by(
    machine: &Machine,
    directory: &TempDir,
    name: &str,
    wanted: &[&str],
) -> PathBuf {
    let target = directory.path().join(name);
    let request = Request {
        references: wanted.iter().map(|text| (*text).to_owned()).collect(),
        target: target.clone(),
        ..Request::default()
    };
    make(&machine.settings, &request, &mut Told::default()).await.unwrap();
    target
}

/// Installs from a bundle as a machine that has no network does.
async fn from(machine: &Machine, bundle: &Path, wanted: &str) -> Result<Vec<String>, Error> {
    let settings = machine.settings.clone().with_bundle(Carried::open(bundle)?, false);
    let request = skillpkg::install::Request {
        references: vec![wanted.to_owned()],
        ..skillpkg::install::Request::default()
    };
    let mut told = Told::default();
    install(&settings, &machine.options, &request, &mut told).await?;
    Ok(told.0)
}

async fn code(machine: &Machine, bundle: &Path, wanted: &str) -> String {
    match from(machine, bundle, wanted).await {
        Ok(told) => panic!("`{wanted}` was installed: {told:?}"),
        Err(error) => error.code,
    }
}

/// A machine that knows the log from having asked the registry.
async fn knowing(registry: &Registry) -> Machine {
    let machine = Machine::new(registry);
    machine.in_project("before").install("waitlist").await.unwrap();
    machine
}

/// The same bundle with some of its files, written with care.
fn without(bundle: &Path, target: &Path, drops: impl Fn(&str) -> bool) {
    forged(bundle, target, drops, |_| {});
}

/// The same bundle with some of its files and another index, written with care.
fn forged(
    bundle: &Path,
    target: &Path,
    drops: impl Fn(&str) -> bool,
    change: impl Fn(&mut BundleIndex),
) {
    let mut reader = BundleReader::open(File::open(bundle).unwrap()).unwrap();
    let mut index = reader.index().clone();
    change(&mut index);
    let files: BTreeMap<String, Vec<u8>> = index
        .files
        .iter()
        .filter(|file| !drops(&file.path))
        .map(|file| (file.path.clone(), reader.read(&file.path).unwrap()))
        .collect();
    let entries = files.iter().map(|(path, bytes)| BundledFile {
        path: path.clone(),
        sha256: Hash::of(bytes),
        size: bytes.len() as u64,
    });
    let index = BundleIndex { files: entries.collect(), ..index };
    let mut writer = BundleWriter::new(File::create(target).unwrap(), &index).unwrap();
    for (path, bytes) in &files {
        writer.add(path, bytes).unwrap();
    }
    writer.finish().unwrap();
}

#[tokio::test]
async fn the_age_of_a_bundle_is_that_of_its_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::with_waitlist();
    registry.change(|state| state.log.time = now() - 3 * DAY);
    let bundle = bundle(&directory, &registry, "a", &["waitlist"]).await;
    let mut machine = knowing(&registry).await;
    from(&machine, &bundle, "waitlist").await.unwrap();
    machine.rule("maximum-checkpoint-age = \"2d\"\n");
    assert_eq!(code(&machine.in_project("two"), &bundle, "waitlist").await, "checkpoint_stale");
}

#[tokio::test]
async fn a_log_that_has_other_keys_since_is_followed_and_its_earlier_days_are_known() {
    let directory = tempfile::tempdir().unwrap();
    let keys: Vec<SigningKey> = (0..2).map(|_| SigningKey::generate().unwrap()).collect();
    let log = Log::with_rotation("skillpkg/test", vec![keys[0].clone()], 1);
    let registry = Registry::start(log);
    registry.publish("waitlist", "1.0.0");
    let first = bundle(&directory, &registry, "first", &["waitlist"]).await;
    let machine = knowing(&registry).await;
    registry.change(|state| {
        state.log.take_other_keys();
        state.log.rotation = vec![keys[1].clone()];
        let identity = state.log.identity(2, 1);
        state.log.identities.push(sign_identity(&identity, &keys));
    });
    registry.publish("other", "1.0.0");
    let second = bundle(&directory, &registry, "second", &["other"]).await;
    let told = from(&machine, &second, "other").await.unwrap();
    assert!(told.iter().any(|line| line.contains("identity 2")), "{told:?}");
    from(&machine, &first, "waitlist").await.unwrap();
    assert!(machine.verify(true).await.unwrap().problems.is_empty());
}

#[tokio::test]
async fn another_root_is_a_fork_at_the_same_size_and_at_a_greater_and_evidence_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::with_waitlist();
    let other = registry.log();
    registry.publish("other", "1.0.0");
    let machine = knowing(&registry).await;
    registry.change(|state| state.log = other);
    for round in 0..2 {
        registry.publish("waitlist", &format!("2.{round}.0"));
        let name = format!("fork-{round}");
        let fork = bundle(&directory, &registry, &name, &["waitlist"]).await;
        assert_eq!(code(&machine, &fork, "waitlist").await, "checkpoint_fork");
        assert_eq!(machine.evidence().len(), round + 1);
        assert!(machine.is_clean());
        let verified = verify(&machine.settings, &Carried::open(&fork).unwrap()).await.unwrap();
        assert_eq!(verified.faults[0].error.code, "checkpoint_fork");
    }
}

#[tokio::test]
async fn a_bundle_without_the_tiles_of_what_is_known_is_told_apart_and_not_believed() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::with_waitlist();
    let machine = knowing(&registry).await;
    registry.publish("other", "1.0.0");
    let whole = bundle(&directory, &registry, "whole", &["other"]).await;
    let bare = directory.path().join("bare");
    without(&whole, &bare, |path| path.starts_with("logs/"));
    let error = from(&machine, &bare, "other").await.unwrap_err();
    assert_eq!((error.code.as_str(), error.kind), ("bundle_apart", Kind::Refused));
    assert!(error.hint.unwrap().contains("--since"));
    assert_eq!(machine.evidence().len(), 1);
    from(&machine, &whole, "other").await.unwrap();
    // Who knows nothing yet needs no tiles; an earlier day is then not proven by anything.
    let mut fresh = Machine::new(&registry);
    let key = registry.log().keys()[0].to_string();
    fresh.trust(&registry).log_key = Some(skillpkg::trust::LogKey::parse(&key).unwrap());
    from(&fresh, &bare, "other").await.unwrap();
    assert!(!fresh.log_directory().join("tree.json").exists());
}

#[tokio::test]
async fn what_is_kept_of_a_tree_is_of_no_use_once_it_is_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::with_waitlist();
    let first = bundle(&directory, &registry, "first", &["waitlist"]).await;
    let machine = knowing(&registry).await;
    registry.publish("other", "1.0.0");
    let second = bundle(&directory, &registry, "second", &["other"]).await;
    from(&machine, &second, "other").await.unwrap();
    let tree = machine.log_directory().join("tree.json");
    let text = std::fs::read_to_string(&tree).unwrap();
    let at = text.find("tile/0").unwrap() + 20;
    let changed = format!("{}{}{}", &text[..at], "AAAA", &text[at + 4..]);
    std::fs::write(&tree, changed).unwrap();
    assert_eq!(code(&machine, &first, "waitlist").await, "bundle_earlier");
    std::fs::write(&tree, text).unwrap();
    from(&machine, &first, "waitlist").await.unwrap();
}

#[tokio::test]
async fn no_bundle_makes_a_known_log_that_of_another_registry() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::with_waitlist();
    let bundle = bundle(&directory, &registry, "a", &["waitlist"]).await;
    let mut reader = BundleReader::open(File::open(&bundle).unwrap()).unwrap();
    let mut index = reader.index().clone();
    index.registries[0].url = "https://skills.example.org".to_owned();
    let target = directory.path().join("claimed");
    let mut writer = BundleWriter::new(File::create(&target).unwrap(), &index).unwrap();
    for file in &index.files {
        writer.add(&file.path, &reader.read(&file.path).unwrap()).unwrap();
    }
    writer.finish().unwrap();
    let mut machine = knowing(&registry).await;
    machine.settings.registry = None;
    assert_eq!(code(&machine, &target, "waitlist").await, "log_unknown");
    let logs = skillpkg::trust::logs(&machine.settings).unwrap();
    assert_eq!(logs[0].registries.len(), 1);
}

#[tokio::test]
async fn tiles_of_another_log_than_is_shown_keep_a_bundle_from_being_made() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::with_waitlist();
    let mut relayed = Log::new("skillpkg/upstream");
    let packed = crate::log::pack("other", "1.0.0", &relayed.author);
    relayed.publish(&packed);
    registry.change(|state| {
        state.keep(&packed);
        state.relayed = Some(relayed);
    });
    // The tests' registry has the tiles of its own log alone: nothing is written of another.
    let request = Request {
        references: vec!["other".to_owned()],
        target: directory.path().join("a"),
        ..Request::default()
    };
    let machine = Machine::new(&registry);
    let made = make(&machine.settings, &request, &mut Told::default()).await;
    let error = made.unwrap_err();
    assert!(matches!(error.code.as_str(), "bundle_tiles" | "log_tiles_missing"), "{error}");
    assert!(!request.target.exists());
}

#[tokio::test]
async fn nothing_is_bundled_that_does_not_hold() {
    let directory = tempfile::tempdir().unwrap();
    let refused = async |registry: &Registry| {
        let target = directory.path().join("a");
        let references = vec!["waitlist".to_owned()];
        let request = Request { references, target: target.clone(), ..Request::default() };
        let settings: Settings = Machine::new(registry).settings;
        let error = make(&settings, &request, &mut Told::default()).await.unwrap_err();
        assert!(!target.exists());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left");
        error.code
    };
    let registry = Registry::with_waitlist();
    registry.lie_in_index(|index| index.views[0].checkpoint = "nothing".to_owned());
    assert_eq!(refused(&registry).await, "checkpoint_unsigned");
    let registry = Registry::with_waitlist();
    registry.lie_in_proofs(|answer| answer.records.clear());
    assert_eq!(refused(&registry).await, "inclusion_missing");
    let registry = Registry::with_waitlist();
    registry.change(|state| {
        for bytes in state.archives.values_mut() {
            bytes[100] ^= 1;
        }
    });
    assert_eq!(refused(&registry).await, "digest_mismatch");
    let registry = Registry::with_waitlist();
    registry.change(|state| state.is_silent = true);
    assert_eq!(refused(&registry).await, "log_missing");
    let registry = Registry::with_waitlist();
    let log = registry.log();
    let key = log.author.public().id();
    registry.change(|state| {
        let subject = Subject::KeyRevoked { account: "ada".to_owned(), key, reason: None };
        state.log.append(subject, false);
    });
    assert_ne!(refused(&registry).await, "", "a log whose last leaf lists no documents");
}

/// A machine of which the configuration names the log of the registry, and that knows nothing else.
fn told_of(registry: &Registry) -> Machine {
    let mut machine = Machine::new(registry);
    let key = registry.log().keys()[0].to_string();
    machine.trust(registry).log_key = Some(LogKey::parse(&key).unwrap());
    machine
}

/// What `verify FILE` says of a bundle.
async fn verified(machine: &Machine, bundle: &Path) -> Report {
    let verifier = Verifier::new(&machine.settings, machine.settings.project.clone(), false);
    verifier.unwrap().bundle(bundle).await.unwrap()
}

/// Forbids every version of one skill.
fn forbid(registry: &Registry, name: &str) {
    registry.change(|state| {
        let document = state.log.skills.get_mut(&name.parse().unwrap()).unwrap();
        document.advisories = vec![Advisory {
            id: "SKA-2026-0001".to_owned(),
            versions: "*".to_owned(),
            effect: Effect::Forbid,
            summary: "it sends keys away".to_owned(),
            published: "2026-03-01T00:00:00Z".to_owned(),
            log_index: None,
        }];
        state.log.commit();
    });
}

#[tokio::test]
async fn whose_a_log_is_no_bundle_says_and_the_registry_does_with_its_next_answer() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::with_waitlist();
    let honest = bundle(&directory, &registry, "honest", &["waitlist"]).await;
    let lying = directory.path().join("lying");
    forged(&honest, &lying, |_| false, |index| index.registries[0].logs[0].relayed = true);
    let machine = told_of(&registry);
    from(&machine, &lying, "waitlist").await.unwrap();
    let file = machine.log_directory().join("log.json");
    let read = || std::fs::read_to_string(&file).unwrap();
    assert!(!read().contains("relayed"), "{}", read());
    machine.in_project("two").install("waitlist").await.unwrap();
    let of_registry: serde_json::Value = serde_json::from_str(&read()).unwrap();
    assert_eq!(of_registry["registries"][0]["relayed"], false);
    // Nor does a bundle change what the registry has said.
    registry.publish("other", "1.0.0");
    let later = bundle(&directory, &registry, "later", &["other"]).await;
    forged(&later, &lying, |_| false, |index| index.registries[0].logs[0].relayed = true);
    from(&machine.in_project("three"), &lying, "other").await.unwrap();
    assert!(!trust::logs(&machine.settings).unwrap()[0].registries[0].relayed);
}

#[tokio::test]
async fn an_older_bundle_is_told_with_how_far_it_lags() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::with_waitlist();
    registry.change(|state| state.log.time = now() - 3 * DAY);
    let first = bundle(&directory, &registry, "first", &["waitlist"]).await;
    registry.change(|state| state.log.time = now() - DAY);
    registry.publish("other", "1.0.0");
    let second = bundle(&directory, &registry, "second", &["other"]).await;
    let machine = told_of(&registry);
    let lags = |told: &[String]| told.iter().filter(|line| line.contains("lags by")).count();
    assert_eq!(lags(&from(&machine, &second, "other").await.unwrap()), 0);
    let told = from(&machine, &first, "waitlist").await.unwrap();
    assert_eq!(lags(&told), 1, "{told:?}");
    assert!(told.iter().any(|line| line.contains("2 leaves and 2 days")), "{told:?}");
    let (older, newest) = (verified(&machine, &first).await, verified(&machine, &second).await);
    assert!(older.problems.is_empty(), "{older:?}");
    assert_eq!((lags(&older.notices), lags(&newest.notices)), (1, 0));
    // The same again, and what is known is not set back.
    assert_eq!(lags(&from(&machine, &first, "waitlist").await.unwrap()), 1);
    assert_eq!(trust::logs(&machine.settings).unwrap()[0].size, registry.log().size());
}

#[tokio::test]
async fn what_a_bundle_says_against_skills_that_nobody_asked_for_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::with_waitlist();
    registry.publish("other", "1.0.0");
    let maker = knowing(&registry).await;
    maker.install("waitlist").await.unwrap();
    maker.install("other").await.unwrap();
    let before = bundled_by(&maker, &directory, "before", &[]).await;
    let machine = told_of(&registry);
    from(&machine, &before, "waitlist").await.unwrap();
    forbid(&registry, "waitlist");
    // What is locked is carried, so that whoever has it learns what is said against it.
    let after = bundled_by(&maker, &directory, "after", &[]).await;
    let told = verified(&machine, &after).await;
    let codes: Vec<_> = told.problems.iter().map(|one| (&*one.name, one.code)).collect();
    assert_eq!(codes, [("waitlist@1.0.0", Some("advisory_forbids"))]);
    // That was a look alone.
    assert!(machine.verify(true).await.unwrap().problems.is_empty());
    from(&machine.in_project("two"), &after, "other").await.unwrap();
    let problems = machine.verify(true).await.unwrap().problems;
    assert_eq!(problems[0].code, Some("advisory_forbids"));
    // The earlier bundle does not say so, and the machine does.
    let earlier = verified(&machine, &before).await;
    assert_eq!(earlier.problems[0].code, Some("advisory_forbids"), "{earlier:?}");
    let error = from(&machine.in_project("three"), &before, "waitlist").await.unwrap_err();
    assert_eq!(error.code, "advisory_forbids");
    assert!(error.hint.unwrap().contains("--bundle FILE"));
}

#[tokio::test]
async fn looking_at_a_bundle_changes_nothing_but_the_evidence_that_stays() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::with_waitlist();
    let fork = registry.log();
    let machine = knowing(&registry).await;
    let log = machine.log_directory();
    let known = std::fs::read(log.join("log.json")).unwrap();
    registry.publish("other", "1.0.0");
    let whole = bundle(&directory, &registry, "whole", &["other"]).await;
    assert!(verified(&machine, &whole).await.problems.is_empty());
    assert_eq!(std::fs::read(log.join("log.json")).unwrap(), known);
    assert!(!log.join("tree.json").exists());
    machine.in_project("two").install("other").await.unwrap();
    registry.change(|state| state.log = fork);
    registry.publish("waitlist", "2.0.0");
    let forked = bundle(&directory, &registry, "forked", &["waitlist"]).await;
    let problems = verified(&machine, &forked).await.problems;
    let detail = problems[0].detail.as_deref().unwrap();
    let kept = machine.evidence();
    assert!(detail.contains(kept[0].to_str().unwrap()), "{detail}");
    // A machine that knows nothing is not told anything by looking.
    let fresh = told_of(&registry);
    assert!(verified(&fresh, &forked).await.problems.is_empty());
    assert!(trust::logs(&fresh.settings).unwrap().is_empty());
}

#[tokio::test]
async fn an_index_that_names_another_archive_proof_or_log_is_told_by_a_verification() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::with_waitlist();
    registry.publish("other", "1.0.0");
    let whole = bundle(&directory, &registry, "whole", &["other", "waitlist"]).await;
    let target = directory.path().join("forged");
    let machine = knowing(&registry).await;
    let cases: [fn(&mut BundleIndex); 2] = [
        |index| {
            let skills = &mut index.registries[0].skills;
            let archives: Vec<_> = skills.iter().map(|one| one.versions[0].archive).collect();
            skills[0].versions[0].archive = archives[1];
            skills[1].versions[0].archive = archives[0];
        },
        |index| {
            let skills = &mut index.registries[0].skills;
            let proofs: Vec<_> = skills.iter().map(|one| one.versions[0].proof.clone()).collect();
            skills[0].versions[0].proof = proofs[1].clone();
            skills[1].versions[0].proof = proofs[0].clone();
        },
    ];
    for change in cases {
        forged(&whole, &target, |_| false, change);
        let problems = verified(&machine, &target).await.problems;
        assert_eq!(problems.len(), 2, "{problems:?}");
        let detail = problems[0].detail.as_deref().unwrap();
        assert!(detail.contains("index names another"), "{detail}");
    }
}

#[tokio::test]
async fn a_bundle_and_its_registry_are_each_told_as_what_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::with_waitlist();
    let file = bundle(&directory, &registry, "a", &["waitlist"]).await;
    let mut machine = Machine::new(&registry);
    machine.trust(&registry).log_key = Some(LogKey::parse(&"0".repeat(64)).unwrap());
    let error = from(&machine, &file, "waitlist").await.unwrap_err();
    assert_eq!(error.code, "log_key_changed");
    let (url, path) = (registry.url.as_str().trim_end_matches('/'), file.to_str().unwrap());
    let told = format!("the bundle `{path}` of `{url}`");
    assert!(error.message.contains(&told) && !error.message.contains("pinned"), "{error}");
    let hint = error.hint.unwrap();
    assert!(hint.contains(url) && !hint.contains(path), "{hint}");
}

#[tokio::test]
async fn a_bundle_is_compared_with_what_others_show_of_its_log() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::with_waitlist();
    let machine = knowing(&registry).await;
    let fork = registry.log();
    registry.publish("other", "1.0.0");
    let later = bundle(&directory, &registry, "later", &["other"]).await;
    let home = LogSource::Home(machine.settings.home.clone());
    let at = |path: &Path| LogSource::Bundle(Carried::open(path).unwrap());
    let settings = Settings { offline: true, ..machine.settings.clone() };
    let compared = trust::compare(&settings, &home, &at(&later)).await.unwrap();
    assert_eq!(compared[0].verdict, Verdict::Continues, "{compared:?}");
    assert_eq!(compared[0].second.from, later.to_str().unwrap());
    registry.change(|state| state.log = fork);
    registry.publish("waitlist", "3.0.0");
    let forked = bundle(&directory, &registry, "forked", &["waitlist"]).await;
    let compared = trust::compare(&settings, &at(&forked), &at(&later)).await.unwrap();
    assert_eq!(compared[0].verdict, Verdict::Fork, "{compared:?}");
}
