//! Versions that are not in the log, or not as the document says.

use std::fs;

use skillpkg::Kind;
use skillpkg::audit::{Problem, audit};
use skillpkg::trust;
use skillpkg::verification::ProblemKind;
use skillpkg_schema::log::{Hash, Subject};
use skillpkg_schema::signature::SigningKey;

use crate::log::pack;
use crate::machine::Machine;
use crate::registry::Registry;

async fn code(registry: &Registry, reference: &str) -> String {
    let machine = Machine::new(registry);
    let error = machine.refused(reference).await;
    assert!(machine.is_clean());
    error.code
}

#[tokio::test]
async fn a_version_without_proof_or_with_a_falsified_one_is_refused() {
    let registry = Registry::with_waitlist();
    registry.lie_in_proofs(|answer| answer.missing.push(answer.records.remove(0).index));
    assert_eq!(code(&registry, "waitlist").await, "inclusion_missing");
    registry.lie_in_proofs(|answer| answer.records[0].proof.0[0] = Hash::of(b"other"));
    assert_eq!(code(&registry, "waitlist").await, "inclusion_refused");
    let log = registry.log();
    registry.lie_in_proofs(move |answer| {
        // The proof of another leaf under the number of this one.
        answer.records[0] = log.proven(0);
        answer.records[0].index = 1;
    });
    assert_eq!(code(&registry, "waitlist").await, "inclusion_refused");
    registry.lie_in_proofs(|answer| {
        if let Subject::Publish { account, .. } = &mut answer.records[0].sealed.record.subject {
            "mallory".clone_into(account);
        }
    });
    assert_eq!(code(&registry, "waitlist").await, "inclusion_refused");
}

#[tokio::test]
async fn a_document_without_leaves_is_refused_where_there_is_a_log() {
    let registry = Registry::with_waitlist();
    registry.change(|state| {
        for document in state.log.skills.values_mut() {
            document.versions[0].log_index = None;
        }
        state.log.commit();
    });
    assert_eq!(code(&registry, "waitlist").await, "inclusion_missing");
}

#[tokio::test]
async fn a_record_that_says_another_name_version_address_archive_or_key_is_refused() {
    for what in ["name", "version", "address", "archive", "keys", "kind"] {
        let registry = Registry::with_waitlist();
        registry.change(|state| {
            let stranger = SigningKey::generate().unwrap().public().id();
            let mut subject = state.log.proven(1).sealed.record.subject;
            let other = Hash::of(b"other").address();
            if let Subject::Publish { name, version, address, archive, keys, .. } = &mut subject {
                match what {
                    "name" => *name = "other".parse().unwrap(),
                    "version" => *version = "1.0.1".parse().unwrap(),
                    "address" => *address = other,
                    "archive" => *archive = other,
                    "keys" => *keys = vec![stranger],
                    _ => subject = Subject::ScopeAdded { scope: "acme".parse().unwrap() },
                }
            }
            let index = state.log.append(subject, false);
            for document in state.log.skills.values_mut() {
                document.versions[0].log_index = Some(index);
            }
            state.log.commit();
        });
        assert_eq!(code(&registry, "waitlist").await, "record_mismatch", "{what}");
    }
}

#[tokio::test]
async fn a_version_stands_where_its_leaf_is_below_that_of_the_revocation_and_falls_above() {
    let registry = Registry::with_waitlist();
    let revoked = registry.change(|state| {
        let key = state.log.author.public().id();
        let subject = Subject::KeyRevoked { account: "ada".to_owned(), key, reason: None };
        let index = state.log.append(subject, false);
        for document in state.log.skills.values_mut() {
            document.keys[0].revoked = Some("2026-02-01T00:00:00Z".to_owned());
            document.keys[0].revoked_index = Some(index);
        }
        state.log.commit();
        index
    });
    registry.publish("waitlist", "1.1.0");
    Machine::new(&registry).install("waitlist@=1.0.0").await.unwrap();
    let machine = Machine::new(&registry);
    let error = machine.refused("waitlist").await;
    assert_eq!((error.code.as_str(), error.kind), ("key_revoked_before", Kind::Refused));
    assert!(error.message.contains(&format!("leaf {revoked}")), "{error}");
    assert!(machine.is_clean());
}

#[tokio::test]
async fn a_key_that_is_not_the_pinned_signers_is_refused_though_the_log_has_its_record() {
    let registry = Registry::with_waitlist();
    let machine = Machine::new(&registry);
    machine.install("waitlist").await.unwrap();
    registry.change(|state| {
        let mallory = SigningKey::generate().unwrap();
        let packed = pack("waitlist", "1.1.0", &mallory);
        state.keep(&packed);
        let author = std::mem::replace(&mut state.log.author, mallory);
        state.log.record(&packed, false);
        let key = std::mem::replace(&mut state.log.author, author).public();
        let document = state.log.skills.get_mut(&"waitlist".parse().unwrap()).unwrap();
        let mut signer = document.keys[0].clone();
        (signer.id, signer.pem, signer.account) = (key.id(), key.to_pem(), "mallory".to_owned());
        document.keys.push(signer);
        state.log.commit();
    });
    let error = machine.refused("waitlist@1.1").await;
    assert_eq!((error.code.as_str(), error.kind), ("signer_changed", Kind::Refused));
}

#[tokio::test]
async fn the_kept_proof_is_verified_without_a_network_and_one_that_does_not_hold_is_told() {
    let registry = Registry::with_waitlist();
    let machine = Machine::new(&registry);
    let (report, _) = machine.install("waitlist").await.unwrap();
    let locked = &report.skills[0].locked;
    let proof = trust::proof(&machine.settings, locked).unwrap().unwrap();
    assert_eq!((proof.index, proof.size), (1, 3));
    registry.asked();
    assert!(machine.verify(true).await.unwrap().problems.is_empty());
    assert!(registry.asked().is_empty());
    let text = std::fs::read_to_string(&proof.path).unwrap();
    for (what, broken) in [
        ("another leaf", text.replace("index 1\n", "index 0\n")),
        ("cut", text[..text.len() - 40].to_owned()),
        ("another checkpoint", text.replacen("\n3\n", "\n4\n", 1)),
        ("nothing", String::new()),
    ] {
        std::fs::write(&proof.path, &broken).unwrap();
        let report = machine.verify(true).await.unwrap();
        let found: Vec<_> = report.problems.iter().map(|one| (one.kind, one.code)).collect();
        assert_eq!(found, [(ProblemKind::Proof, Some("inclusion_refused"))], "{what}");
        assert_eq!(report.kind(), Some(Kind::Verification));
    }
    std::fs::remove_file(&proof.path).unwrap();
    let report = machine.verify(true).await.unwrap();
    assert_eq!(report.problems[0].code, Some("inclusion_missing"));
    // With a network another one is fetched.
    assert!(machine.verify(false).await.unwrap().problems.is_empty());
    assert_eq!(std::fs::read_to_string(&proof.path).unwrap().lines().nth(2), Some("index 1"));
}

#[tokio::test]
async fn a_proof_that_leads_to_a_log_that_is_not_known_here_proves_nothing() {
    let registry = Registry::with_waitlist();
    let machine = Machine::new(&registry);
    machine.install("waitlist").await.unwrap();
    let file = machine.log_directory().join("log.json");
    let known = std::fs::read(&file).unwrap();
    registry.publish("other", "1.0.0");
    machine.install("other").await.unwrap();
    std::fs::write(&file, known).unwrap();
    let report = machine.verify(true).await.unwrap();
    let found: Vec<_> = report.problems.iter().map(|one| (&*one.name, one.code)).collect();
    assert_eq!(found, [("other", Some("inclusion_refused"))]);
}

#[tokio::test]
async fn a_lockfile_whose_leaf_the_log_contradicts_is_refused() {
    let registry = Registry::with_waitlist();
    let machine = Machine::new(&registry);
    machine.install("waitlist").await.unwrap();
    let lock = machine.settings.project.join("skillpkg.lock");
    let text = std::fs::read_to_string(&lock).unwrap();
    let edited = text.replace("log-index = 1", "log-index = 0");
    std::fs::write(&lock, &edited).unwrap();
    let report = machine.verify(true).await.unwrap();
    assert_eq!(report.problems[0].kind, ProblemKind::Proof);
    let report = machine.verify(false).await.unwrap();
    let problem = &report.problems[0];
    assert_eq!((problem.kind, problem.code), (ProblemKind::Proof, Some("inclusion_refused")));
    assert!(problem.detail.as_ref().unwrap().contains("may have been edited"), "{problem:?}");
    // A project that was cloned with it, on a machine that has the skill and on one that has not.
    let toml = std::fs::read(machine.settings.project.join("skillpkg.toml")).unwrap();
    for machine in [machine.in_project("two"), Machine::new(&registry)] {
        std::fs::write(machine.settings.project.join("skillpkg.toml"), &toml).unwrap();
        std::fs::write(machine.settings.project.join("skillpkg.lock"), &edited).unwrap();
        let error = machine.sync().await.unwrap_err();
        assert_eq!((error.code.as_str(), error.kind), ("record_mismatch", Kind::Verification));
    }
}

#[tokio::test]
async fn when_a_version_was_published_its_proof_tells_an_audit_before_any_sync() {
    let registry = Registry::with_waitlist();
    let mut machine = Machine::new(&registry);
    machine.install("waitlist").await.unwrap();
    machine.rule("minimum-release-age = \"3d\"\n");
    registry.change(|state| state.is_dead = true);
    let audited = audit(&machine.settings).await.unwrap();
    assert!(audited.problems.is_empty(), "{:?}", audited.problems);
    assert!(machine.verify(true).await.unwrap().problems.is_empty());
    // Without the proof nobody knows it.
    fs::remove_dir_all(machine.settings.home.join("proofs")).unwrap();
    let audited = audit(&machine.settings).await.unwrap();
    let of_age = |one: &&Problem| one.rule == Some("minimum-release-age");
    assert_eq!(audited.problems.iter().filter(of_age).count(), 1, "{:?}", audited.problems);
}
