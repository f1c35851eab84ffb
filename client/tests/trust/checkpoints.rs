//! Checkpoints that go back, fork, freeze, run ahead or are signed by somebody else.

use skillpkg::Kind;
use skillpkg::trust;
use skillpkg_schema::log::{Hash, Note, NoteKey, NoteSigner, SignatureKind, Subject};
use skillpkg_schema::signature::{Envelope, SigningKey};

use crate::log::{now, pack};
use crate::machine::Machine;
use crate::registry::Registry;

const DAY: u64 = 24 * 60 * 60;

/// A machine that has installed `waitlist` and thereby pinned the log.
async fn pinned() -> (Registry, Machine) {
    let registry = Registry::with_waitlist();
    registry.publish("other", "1.0.0");
    let machine = Machine::new(&registry);
    machine.install("waitlist").await.unwrap();
    (registry, machine)
}

#[tokio::test]
async fn a_log_that_grows_is_believed_and_a_whole_install_costs_one_request_more() {
    let registry = Registry::with_waitlist();
    let machine = Machine::new(&registry);
    let (report, told) = machine.install("waitlist").await.unwrap();
    assert_eq!(report.skills[0].locked.log_index, Some(1));
    let fingerprint = trust::logs(&machine.settings).unwrap()[0].fingerprint.to_string();
    assert!(told.iter().any(|line| line.contains(&fingerprint)), "{told:?}");
    registry.publish("other", "1.0.0");
    registry.asked();
    machine.install("other").await.unwrap();
    let asked = registry.asked();
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert_eq!(asked[..2], ["/v1/index", "/v1/log/proofs"]);
    assert!(machine.verify(true).await.unwrap().problems.is_empty());
}

#[tokio::test]
async fn an_older_checkpoint_is_a_rewind() {
    let registry = Registry::with_waitlist();
    let old = registry.log();
    let machine = Machine::new(&registry);
    registry.publish("other", "1.0.0");
    machine.install("waitlist").await.unwrap();
    registry.change(|state| state.log = old);
    let error = machine.in_project("two").refused("waitlist@1").await;
    assert_eq!((error.code.as_str(), error.kind), ("checkpoint_rewind", Kind::Verification));
    assert!(error.message.contains("5 leaves") && error.message.contains("3 leaves"), "{error}");
    let kept = &machine.evidence()[0];
    assert!(error.message.contains(kept.to_str().unwrap()));
    for name in ["known.checkpoint", "received.checkpoint", "answer.json", "about.json"] {
        assert!(kept.join(name).is_file(), "{name}");
    }
}

#[tokio::test]
async fn another_root_of_the_same_size_is_a_fork_and_both_notes_are_kept() {
    let registry = Registry::with_waitlist();
    let mut fork = registry.log();
    let machine = Machine::new(&registry);
    registry.publish("other", "1.0.0");
    machine.install("waitlist").await.unwrap();
    let known = registry.log().checkpoint();
    let packed = pack("evil", "1.0.0", &fork.author);
    fork.publish(&packed);
    registry.change(|state| state.log = fork);
    let error = machine.in_project("two").refused("evil").await;
    assert_eq!((error.code.as_str(), error.kind), ("checkpoint_fork", Kind::Verification));
    let kept = &machine.evidence()[0];
    let read = |name| std::fs::read_to_string(kept.join(name)).unwrap();
    let root = |note: &str| note.lines().nth(2).unwrap().to_owned();
    assert_eq!(root(&read("known.checkpoint")), root(&known));
    assert_ne!(root(&read("received.checkpoint")), root(&known));
    // The same again is kept once.
    machine.in_project("two").refused("evil").await;
    assert_eq!(machine.evidence().len(), 1);
}

#[tokio::test]
async fn a_larger_log_that_does_not_continue_the_known_one_is_refused() {
    let (registry, machine) = pinned().await;
    let before = machine.log_directory().join("log.json");
    let state = std::fs::read(&before).unwrap();
    // Another history, larger than the known one, signed by the log's own key.
    let mut fork = registry.log().cut_to(2);
    for _ in 0..4 {
        fork.append(Subject::ScopeAdded { scope: "x".parse().unwrap() }, false);
    }
    fork.commit();
    registry.change(|state| state.log = fork);
    registry.lie_in_index(|index| {
        if let Some(hash) = index.views[0].consistency.0.first_mut() {
            *hash = Hash::of(b"tampered");
        }
    });
    let error = machine.in_project("two").refused("waitlist").await;
    assert_eq!((error.code.as_str(), error.kind), ("checkpoint_inconsistent", Kind::Verification));
    registry.lie_in_index(|index| index.views[0].consistency.0.clear());
    let error = machine.in_project("two").refused("waitlist").await;
    assert_eq!(error.code, "checkpoint_inconsistent");
    assert_eq!(std::fs::read(&before).unwrap(), state, "what is known stays");
}

#[tokio::test]
async fn a_frozen_checkpoint_is_stale_and_a_policy_says_when() {
    let (registry, mut machine) = pinned().await;
    registry.change(|state| state.log.time = now() - 13 * DAY);
    machine.in_project("two").install("waitlist").await.unwrap();
    registry.change(|state| state.log.time = now() - 15 * DAY);
    let error = machine.in_project("three").refused("waitlist").await;
    assert_eq!((error.code.as_str(), error.kind), ("checkpoint_stale", Kind::Refused));
    assert!(error.message.contains("15 days") && error.message.contains("clock"), "{error}");
    // A project that somebody else wrote allows no more than there is without a policy.
    let cloned = machine.in_project("four");
    let text = "[policy]\nmaximum-checkpoint-age = \"500w\"\n";
    std::fs::write(cloned.settings.project.join("skillpkg.toml"), text).unwrap();
    assert_eq!(cloned.refused("waitlist").await.code, "checkpoint_stale");
    machine.rule("maximum-checkpoint-age = \"2h\"\n");
    registry.change(|state| state.log.time = now() - 3 * 60 * 60);
    let error = machine.in_project("three").refused("waitlist").await;
    assert_eq!(error.code, "checkpoint_stale");
    assert!(error.message.contains("maximum-checkpoint-age"), "{error}");
}

#[tokio::test]
async fn without_its_own_cosignature_a_checkpoint_tells_no_time_and_is_refused() {
    let (registry, machine) = pinned().await;
    registry.lie_in_index(|index| {
        let note = &mut index.views[0].checkpoint;
        let cut = note.trim_end().rfind('\n').unwrap();
        note.truncate(cut + 1);
    });
    assert_eq!(machine.in_project("two").refused("waitlist").await.code, "checkpoint_unsigned");
}

#[tokio::test]
async fn a_clock_that_is_a_year_behind_or_ahead_is_told_as_one_and_signatures_are_still_looked_at()
{
    // A log a year ahead, or behind: to this machine it is as if its own clock were wrong by as much.
    for (ahead, code) in [(true, "checkpoint_future"), (false, "checkpoint_stale")] {
        let (registry, machine) = pinned().await;
        let year = 365 * DAY;
        let time = if ahead { now() + year } else { now() - year };
        registry.change(|state| state.log.time = time);
        let error = machine.in_project("two").refused("waitlist").await;
        assert_eq!((error.code.as_str(), error.kind), (code, Kind::Refused));
        assert!(error.message.contains("clock"), "{error}");
        // The doctor says so too, also on a machine that nothing was ever installed on.
        let fresh = Machine::new(&registry);
        for settings in [&machine.settings, &fresh.settings] {
            let found = skillpkg::doctor::examine(settings).await;
            assert!(found.iter().any(|one| one.what.contains("clock") && !one.note), "{found:?}");
        }
        // What is here is verified and works, whatever the clock says.
        assert!(machine.verify(true).await.unwrap().problems.is_empty());
        registry.change(|state| state.log.take_other_keys());
        let error = machine.in_project("two").refused("waitlist").await;
        assert_eq!(error.code, "checkpoint_unsigned");
    }
}

#[tokio::test]
async fn a_checkpoint_of_a_time_to_come_says_that_a_clock_is_wrong() {
    let (registry, machine) = pinned().await;
    // A year ahead: to this machine it is as if its own clock were a year behind.
    registry.change(|state| state.log.time = now() + 365 * DAY);
    let error = machine.in_project("two").refused("waitlist").await;
    assert_eq!((error.code.as_str(), error.kind), ("checkpoint_future", Kind::Refused));
    assert!(error.message.contains("clock") && error.message.contains("signature is good"));
    // That it is signed is looked at before: a note of somebody else's says nothing of clocks.
    registry.change(|state| state.log.take_other_keys());
    assert_eq!(machine.in_project("two").refused("waitlist").await.code, "checkpoint_unsigned");
}

#[tokio::test]
async fn a_log_of_impossible_size_or_time_is_refused_and_forgetting_works_afterwards() {
    let (registry, machine) = pinned().await;
    let known = std::fs::read(machine.log_directory().join("log.json")).unwrap();
    let log = registry.log();
    let huge = log.sign(1 << 62, Hash::of(b"root"));
    registry.lie_in_index(move |index| index.views[0].checkpoint.clone_from(&huge));
    let started = std::time::Instant::now();
    let error = machine.in_project("two").refused("waitlist").await;
    assert_eq!(error.code, "checkpoint_too_large");
    assert!(started.elapsed().as_secs() < 20);
    registry.change(|state| {
        state.index = None;
        state.log.time = 4_070_908_800;
    });
    let error = machine.in_project("two").refused("waitlist").await;
    assert_eq!(error.code, "checkpoint_future");
    assert!(error.message.contains("2099"), "{error}");
    assert_eq!(std::fs::read(machine.log_directory().join("log.json")).unwrap(), known);
    // A smaller leap, which a stolen key can sign, does poison: the true log is a rewind then.
    registry.change(|state| {
        state.log.time = 0;
        for _ in 0..20 {
            state.log.append(Subject::ScopeAdded { scope: "x".parse().unwrap() }, false);
        }
        state.log.commit();
    });
    machine.in_project("two").install("waitlist").await.unwrap();
    registry.change(|state| state.log = log);
    assert_eq!(machine.in_project("three").refused("waitlist").await.code, "checkpoint_rewind");
    let moved = trust::forget(&machine.settings, "skillpkg/test").unwrap();
    assert!(moved[0].join("trust/log.json").is_file());
    machine.in_project("three").install("waitlist").await.unwrap();
}

#[tokio::test]
async fn a_checkpoint_that_is_too_long_or_spelled_otherwise_is_refused() {
    let (registry, machine) = pinned().await;
    let note = registry.log().checkpoint();
    let stranger =
        NoteSigner::new("skillpkg/test", SignatureKind::Ed25519, SigningKey::generate().unwrap())
            .unwrap();
    let signed = Note::from_bytes(note.as_bytes()).unwrap().signed(&stranger, 0).to_string();
    let text = Note::from_bytes(note.as_bytes()).unwrap().text().to_owned();
    let unsigned = Note::unsigned(text.clone()).unwrap().signed(&stranger, 0).to_string();
    // Further lines say nothing, and the log may sign them: what refuses these is their length.
    let padded = |bytes: usize| {
        let note = Note::unsigned(format!("{text}{}\n", "x".repeat(bytes))).unwrap();
        let sign = |note: Note, signer: &NoteSigner| note.signed(signer, now());
        registry.log().signers().iter().fold(note, sign).to_string()
    };
    let other_root = note.replacen("skillpkg/test\n", "skillpkg/test\n1", 1);
    let long_line = note.replacen("\n\n", "\nmore\n\n", 1);
    let lines: Vec<&str> = note.lines().collect();
    // The log's own signature once more, with one bit of it turned.
    let mut forged = lines[4].to_owned();
    let at = forged.len() - 4;
    let letter = if forged.as_bytes()[at] == b'A' { "B" } else { "A" };
    forged.replace_range(at..=at, letter);
    let twice = format!("{note}{forged}\n");
    for (what, note, is_believed) in [
        ("another's key beside", signed, true),
        ("another's key alone", unsigned, false),
        ("long", padded(15_000), true),
        ("too long", padded(16 * 1024), false),
        ("another size", other_root, false),
        ("a further line", long_line, false),
        ("carriage returns", note.replace('\n', "\r\n"), false),
        ("one key twice, one bad", twice, false),
        ("another origin", note.replacen("skillpkg/test", "skillpkg/tost", 1), false),
        ("nothing", String::new(), false),
        ("no signature", format!("{text}\n"), false),
    ] {
        registry.lie_in_index(move |index| index.views[0].checkpoint.clone_from(&note));
        let machine = machine.in_project(&what.replace(' ', "-"));
        if is_believed {
            machine.install("waitlist").await.unwrap();
        } else {
            let error = machine.refused("waitlist").await;
            assert_eq!(error.code, "checkpoint_unsigned", "{what}: {error}");
            assert!(machine.is_clean(), "{what}");
        }
    }
}

#[tokio::test]
async fn a_signature_over_something_else_does_not_stand_in_for_one_over_a_checkpoint() {
    let (registry, machine) = pinned().await;
    let log = registry.log();
    let note = Note::from_bytes(log.checkpoint().as_bytes()).unwrap();
    // The log's key signs, as a publisher's would, an envelope that holds the text.
    let envelope =
        Envelope::sign("text/plain", note.text().as_bytes(), std::slice::from_ref(&log.signing));
    let json: serde_json::Value = serde_json::from_slice(&envelope.to_bytes()).unwrap();
    let signature = json["signatures"][0]["sig"].as_str().unwrap().to_owned();
    let key = log.keys()[0].clone();
    registry.lie_in_index(move |index| {
        index.views[0].checkpoint = signed_with(note.text(), &key, &signature);
    });
    assert_eq!(machine.in_project("two").refused("waitlist").await.code, "checkpoint_unsigned");
    // And what signed a checkpoint is no release's signature: the envelope of one is refused.
    let checkpoint = registry.log().checkpoint();
    let line = checkpoint.lines().nth(4).unwrap().to_owned();
    let bytes = envelope_with(&registry.log().signing, &line);
    assert!(envelope_of(&bytes).verified_by(&[registry.log().signing.public()]).is_none());
}

fn signed_with(text: &str, key: &NoteKey, signature: &str) -> String {
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::STANDARD;
    let raw = engine.decode(signature).unwrap();
    let bytes = [key.id().to_be_bytes().as_slice(), &raw].concat();
    format!("{text}\n\u{2014} {} {}\n", key.name(), engine.encode(bytes))
}

fn envelope_with(key: &SigningKey, line: &str) -> Vec<u8> {
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::STANDARD;
    let signature = engine.decode(line.rsplit(' ').next().unwrap()).unwrap();
    let signature = engine.encode(&signature[4..]);
    let payload = engine.encode("{}");
    format!(
        "{{\"payload\":\"{payload}\",\"payloadType\":\"application/vnd.in-toto+json\",\
         \"signatures\":[{{\"keyid\":\"{}\",\"sig\":\"{signature}\"}}]}}",
        key.public().id()
    )
    .into_bytes()
}

fn envelope_of(bytes: &[u8]) -> Envelope {
    Envelope::from_bytes(bytes).unwrap()
}

#[tokio::test]
async fn a_stolen_log_key_does_not_stand_in_for_a_quorum_of_witnesses() {
    let (registry, mut machine) = pinned().await;
    let witness = |name: &str| {
        let key = SigningKey::generate().unwrap();
        NoteSigner::new(name, SignatureKind::Cosignature, key).unwrap()
    };
    let witnesses: Vec<NoteSigner> = ["one", "two", "three"].into_iter().map(witness).collect();
    let keys: Vec<String> = witnesses.iter().map(|one| format!("\"{}\"", one.key())).collect();
    machine.rule(&format!("witnesses = [{}]\nquorum = 2\n", keys.join(", ")));
    registry.change(|state| state.log.witnesses = witnesses[..1].to_vec());
    let error = machine.in_project("two").refused("waitlist").await;
    assert_eq!((error.code.as_str(), error.kind), ("witness_quorum", Kind::Refused));
    assert!(error.message.starts_with("1 of the 3"), "{error}");
    registry.change(|state| state.log.witnesses = witnesses[1..].to_vec());
    machine.in_project("two").install("waitlist").await.unwrap();
}
