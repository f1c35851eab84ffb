//! Who a log is: first contact, rotation, and logs that take the place of others.

use skillpkg::Kind;
use skillpkg::trust::{self, LogKey};
use skillpkg_schema::log::{Hash, sign_identity};
use skillpkg_schema::signature::SigningKey;

use crate::log::Log;
use crate::machine::Machine;
use crate::registry::{Index, Registry};

fn keys(count: usize) -> Vec<SigningKey> {
    (0..count).map(|_| SigningKey::generate().unwrap()).collect()
}

#[tokio::test]
async fn a_log_that_nothing_names_is_refused_where_first_use_is_not_trusted() {
    let registry = Registry::with_waitlist();
    let mut machine = Machine::new(&registry);
    machine.settings.trust_on_first_use = false;
    let error = machine.refused("waitlist").await;
    assert_eq!((error.code.as_str(), error.kind), ("log_unknown", Kind::Refused));
    assert!(machine.is_clean() && trust::logs(&machine.settings).unwrap().is_empty());
    let hint = error.hint.unwrap();
    let fingerprint: Hash = hint
        .split_whitespace()
        .find_map(|word| word.trim_matches(|c: char| !c.is_ascii_hexdigit()).parse().ok())
        .unwrap();
    let key = LogKey::Fingerprint(fingerprint);
    trust::pin(&machine.settings, &registry.choice(), Some(&key)).await.unwrap();
    machine.install("waitlist").await.unwrap();
}

#[tokio::test]
async fn a_configured_key_is_believed_without_a_question_and_another_log_is_refused() {
    let registry = Registry::with_waitlist();
    let vkey = registry.log().keys()[0].to_string();
    let other = Log::new("skillpkg/test").keys()[0].to_string();
    let machine = Machine::new(&registry);
    machine.install("waitlist").await.unwrap();
    let fingerprint = trust::logs(&machine.settings).unwrap()[0].fingerprint.to_string();
    for (key, is_it) in [
        (vkey.as_str(), true),
        (fingerprint.as_str(), true),
        (other.as_str(), false),
        (&*"0".repeat(64), false),
    ] {
        let mut machine = Machine::new(&registry);
        machine.settings.trust_on_first_use = false;
        machine.trust(&registry).log_key = Some(LogKey::parse(key).unwrap());
        if is_it {
            machine.install("waitlist").await.unwrap();
            continue;
        }
        let error = machine.refused("waitlist").await;
        assert_eq!((error.code.as_str(), error.kind), ("log_key_changed", Kind::Refused));
        assert!(machine.is_clean());
        // Nor is a log that was pinned before believed against the configuration.
        let mut machine = Machine::new(&registry);
        machine.install("waitlist").await.unwrap();
        machine.trust(&registry).log_key = Some(LogKey::parse(key).unwrap());
        assert_eq!(machine.in_project("two").refused("waitlist").await.code, "log_key_changed");
    }
}

#[tokio::test]
async fn a_registry_without_the_log_that_was_named_or_is_asked_for_is_refused() {
    let registry = Registry::with_waitlist();
    registry.change(|state| state.is_silent = true);
    Machine::new(&registry).install("waitlist").await.unwrap();
    let mut machine = Machine::new(&registry);
    machine.trust(&registry).log_key = Some(LogKey::Fingerprint(Hash::of(b"log")));
    assert_eq!(machine.refused("waitlist").await.code, "log_missing");
    let mut machine = Machine::new(&registry);
    machine.rule("require-log = true\n");
    assert_eq!(machine.refused("waitlist").await.code, "log_missing");
}

#[tokio::test]
async fn a_registry_that_had_a_log_and_answers_without_is_refused() {
    let registry = Registry::with_waitlist();
    let machine = Machine::new(&registry);
    machine.install("waitlist").await.unwrap();
    registry.change(|state| state.is_silent = true);
    let error = machine.in_project("two").refused("waitlist").await;
    assert_eq!((error.code.as_str(), error.kind), ("log_missing", Kind::Refused));
    // Another log in its place is no better.
    registry.change(|state| {
        state.is_silent = false;
        state.log = Log::new("skillpkg/other");
    });
    registry.publish("waitlist", "1.0.0");
    let error = machine.in_project("two").refused("waitlist").await;
    assert_eq!((error.code.as_str(), error.kind), ("log_key_changed", Kind::Refused));
    // Nor is one of the same name.
    registry.change(|state| state.log = Log::new("skillpkg/test"));
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        registry.publish("waitlist", version);
    }
    let error = machine.in_project("two").refused("waitlist").await;
    assert_eq!((error.code.as_str(), error.kind), ("log_key_changed", Kind::Refused));
}

#[tokio::test]
async fn a_rotation_is_believed_where_enough_keys_of_the_one_before_signed_it() {
    let old = keys(3);
    let registry = Registry::start(Log::with_rotation("skillpkg/test", old.clone(), 2));
    registry.publish("waitlist", "1.0.0");
    let machine = Machine::new(&registry);
    machine.install("waitlist").await.unwrap();
    let before = registry.log();
    let first = before.identities.clone();

    let new = keys(1);
    let rotate = |signers: &[SigningKey], number: u64| {
        registry.change(|state| {
            state.log.identities.clone_from(&first);
            state.log.take_other_keys();
            state.log.rotation.clone_from(&new);
            let identity = state.log.identity(number, 1);
            state.log.identities.push(sign_identity(&identity, signers));
        });
    };
    let both = |old: &[SigningKey]| [old, &new].concat();
    for (what, signers, number) in [
        ("too few", both(&old[..1]), 2),
        ("the new one alone", both(&[]), 2),
        ("one left out", both(&old[..2]), 3),
        ("not by its own", old[..2].to_vec(), 2),
    ] {
        rotate(&signers, number);
        let error = machine.in_project("two").refused("waitlist").await;
        assert_eq!(error.code, "log_identity_refused", "{what}: {error}");
        assert_eq!(error.kind, Kind::Verification);
    }
    rotate(&both(&old[..2]), 2);
    let (_, told) = machine.in_project("two").install("waitlist").await.unwrap();
    assert!(told.iter().any(|line| line.contains("identity 2")), "{told:?}");
    assert_eq!(trust::logs(&machine.settings).unwrap()[0].identity, 2);
    // What was proven under the keys before is still proven.
    assert!(machine.verify(true).await.unwrap().problems.is_empty());
    // The keys before sign nothing any more.
    let rotated = registry.log().identities;
    registry.change(|state| {
        state.log = before;
        state.log.identities = rotated;
    });
    let error = machine.in_project("three").refused("waitlist").await;
    assert_eq!((error.code.as_str(), error.kind), ("checkpoint_unsigned", Kind::Verification));
    assert!(error.message.contains("signed with keys that the log has replaced"), "{error}");
    assert!(error.message.contains("knows its identity 2"), "{error}");
    assert!(error.hint.unwrap().contains("`skillpkg log forget skillpkg/test`"));
}

type Lie = fn(&mut Index);

#[tokio::test]
async fn nothing_of_a_first_answer_that_is_refused_is_pinned() {
    let registry = Registry::with_waitlist();
    let mut relayed = Log::new("skillpkg/upstream");
    let packed = crate::log::pack("other", "1.0.0", &relayed.author);
    relayed.publish(&packed);
    registry.change(|state| {
        state.keep(&packed);
        state.relayed = Some(relayed);
    });
    let lies: [(Lie, &str); 3] = [
        (
            |index| {
                let text = String::from_utf8(index.documents[0].clone()).unwrap();
                index.documents[0] = text.replace("of a test", "of a liar").into_bytes();
            },
            "document_changed",
        ),
        (|index| index.views[0].heads.index += 1, "heads_refused"),
        (|index| index.views[1].checkpoint.push('x'), "checkpoint_unsigned"),
    ];
    let machine = Machine::new(&registry);
    for (lie, code) in lies {
        registry.lie_in_index(lie);
        assert_eq!(machine.refused("other").await.code, code);
        assert!(trust::logs(&machine.settings).unwrap().is_empty(), "{code}");
    }
    registry.lie_in_index(|_| {});
    machine.install("other").await.unwrap();
    assert_eq!(trust::logs(&machine.settings).unwrap().len(), 2);
}

#[tokio::test]
async fn of_logs_that_are_pinned_by_hand_one_that_does_not_hold_keeps_all_out() {
    let registry = Registry::with_waitlist();
    registry.change(|state| {
        state.relayed = Some(Log::new("skillpkg/upstream"));
        state.logs = Some(Box::new(|logs| logs.logs[1].checkpoint.push('x')));
    });
    let machine = Machine::new(&registry);
    let pinned = trust::pin(&machine.settings, &registry.choice(), None).await;
    assert_eq!(pinned.unwrap_err().code, "checkpoint_unsigned");
    assert!(trust::logs(&machine.settings).unwrap().is_empty());
}

#[tokio::test]
async fn a_log_that_is_not_the_one_that_is_named_is_not_said_to_be_pinned() {
    let registry = Registry::with_waitlist();
    let machine = Machine::new(&registry);
    let key = LogKey::parse(&"0".repeat(64)).unwrap();
    let pinned = trust::pin(&machine.settings, &registry.choice(), Some(&key)).await;
    let error = pinned.unwrap_err();
    assert_eq!(error.code, "log_key_changed");
    assert!(!error.message.contains("pinned"), "{error}");
}
