//! What is remembered of logs: whole, never set back, never quietly pinned anew.

use std::fs;

use skillpkg::trust::{self, LogSource, Verdict};

use crate::log::{Log, pack};
use crate::machine::Machine;
use crate::registry::Registry;

#[tokio::test]
async fn damaged_state_is_refused_with_the_way_out_and_never_pinned_anew() {
    let registry = Registry::with_waitlist();
    let machine = Machine::new(&registry);
    machine.install("waitlist").await.unwrap();
    let file = machine.log_directory().join("log.json");
    let text = fs::read_to_string(&file).unwrap();
    let other = Log::new("skillpkg/test").checkpoint();
    let known: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut falsified = known.clone();
    falsified["checkpoint"] = other.into();
    let mut moved = known.clone();
    moved["origin"] = "skillpkg/other".into();
    let mut unsigned = known;
    unsigned["identities"] = serde_json::json!([]);
    for (what, text, code) in [
        ("cut", text[..text.len() / 2].to_owned(), "trust_state_damaged"),
        ("empty", String::new(), "trust_state_damaged"),
        ("another's checkpoint", falsified.to_string(), "trust_state_damaged"),
        ("another log", moved.to_string(), "trust_state_damaged"),
        ("nobody", unsigned.to_string(), "trust_state_damaged"),
        ("later", text.replacen("\"version\": 1", "\"version\": 2", 1), "format_too_new"),
    ] {
        fs::write(&file, text).unwrap();
        let error = machine.in_project("two").refused("waitlist").await;
        assert_eq!(error.code, code, "{what}: {error}");
        assert!(trust::logs(&machine.settings).is_err());
    }
    fs::write(&file, "damaged").unwrap();
    let error = machine.in_project("two").refused("waitlist").await;
    let hint = error.hint.unwrap();
    let named = machine.log_directory().file_name().unwrap().to_str().unwrap().to_owned();
    assert!(hint.contains(&format!("log forget {named}")), "{hint}");
    assert_eq!(trust::forget(&machine.settings, &named).unwrap().len(), 1);
    machine.in_project("two").install("waitlist").await.unwrap();
}

#[tokio::test]
async fn a_log_whose_file_is_gone_is_not_taken_for_one_that_was_never_known() {
    let registry = Registry::with_waitlist();
    let machine = Machine::new(&registry);
    machine.install("waitlist").await.unwrap();
    let directory = machine.log_directory();
    let file = directory.join("log.json");
    let text = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    // Whatever log is shown then: the proofs tell that one was known.
    registry.change(|state| state.log = Log::new("skillpkg/other"));
    registry.publish("waitlist", "1.1.0");
    let error = machine.in_project("two").refused("waitlist").await;
    assert_eq!(error.code, "trust_state_damaged", "{error}");
    fs::write(&file, text).unwrap();
    assert_eq!(machine.in_project("two").refused("waitlist").await.code, "log_key_changed");
    fs::remove_file(&file).unwrap();
    #[cfg(unix)]
    {
        fs::remove_dir_all(machine.settings.home.join("proofs")).unwrap();
        std::os::unix::fs::symlink("/nonexistent/log.json", &file).unwrap();
        let error = machine.in_project("two").refused("waitlist").await;
        assert_eq!(error.code, "trust_state_damaged", "{error}");
    }
    let named = directory.file_name().unwrap().to_str().unwrap();
    let forgotten = trust::forget(&machine.settings, named).unwrap();
    assert_eq!(forgotten.len(), usize::from(cfg!(unix)));
}

#[tokio::test]
async fn where_there_are_more_logs_than_are_remembered_none_is_overlooked() {
    let registry = Registry::with_waitlist();
    let machine = Machine::new(&registry);
    machine.install("waitlist").await.unwrap();
    let known = machine.log_directory();
    for number in 0..1_000 {
        let other = known.with_file_name(format!("{number:032x}"));
        fs::create_dir(&other).unwrap();
        fs::write(other.join("log.json"), "x").unwrap();
    }
    let error = machine.in_project("two").refused("waitlist").await;
    assert_eq!(error.code, "trust_state_full", "{error}");
    assert_eq!(trust::forget(&machine.settings, "*").unwrap().len(), 1_001);
}

#[tokio::test]
async fn runs_at_once_never_set_a_log_back_and_all_succeed() {
    let registry = Registry::with_waitlist();
    let machine = Machine::new(&registry);
    machine.install("waitlist").await.unwrap();
    let machines: Vec<Machine> =
        (0..6).map(|number| machine.in_project(&format!("p{number}"))).collect();
    std::thread::scope(|scope| {
        for (number, machine) in machines.iter().enumerate() {
            let registry = registry.clone();
            scope.spawn(move || {
                let runtime =
                    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                for round in 0..3 {
                    let name = format!("skill-{number}-{round}");
                    registry.publish(&name, "1.0.0");
                    runtime.block_on(machine.install(&name)).unwrap();
                    let known = trust::logs(&machine.settings).unwrap()[0].size;
                    assert!(known >= 3);
                }
            });
        }
    });
    let known = trust::logs(&machine.settings).unwrap();
    assert_eq!(known[0].size, registry.log().size());
    assert_eq!(known[0].root, registry.log().root());
}

#[tokio::test]
async fn what_two_show_is_compared_and_a_fork_is_proven_and_kept() {
    let registry = Registry::with_waitlist();
    let (one, other) = (Machine::new(&registry), Machine::new(&registry));
    one.install("waitlist").await.unwrap();
    let mut fork = registry.log();
    registry.publish("more", "1.0.0");
    other.install("waitlist").await.unwrap();
    let home = |machine: &Machine| LogSource::Home(machine.settings.home.clone());
    let at = |registry: &Registry| {
        LogSource::Registry(skillpkg::registry::Registry::new(registry.url.clone(), None).unwrap())
    };
    let compare = async |first: &LogSource, second: &LogSource| {
        let compared = trust::compare(&one.settings, first, second).await.unwrap();
        assert_eq!(compared.len(), 1);
        compared.into_iter().next().unwrap()
    };
    let found = compare(&home(&one), &at(&registry)).await;
    assert_eq!(found.verdict, Verdict::Continues);
    assert_eq!((found.first.size, found.second.size), (3, 5));
    assert_eq!(compare(&home(&other), &at(&registry)).await.verdict, Verdict::Same);
    // Whoever was shown another history sees it, whichever is larger.
    let packed = pack("evil", "1.0.0", &fork.author);
    fork.publish(&packed);
    let note = one.settings.user_home.join("checkpoint");
    fs::write(&note, fork.checkpoint()).unwrap();
    let file = LogSource::File(note.clone());
    let same_size = compare(&file, &home(&other)).await;
    assert_eq!(same_size.verdict, Verdict::Fork);
    assert!(same_size.evidence.unwrap().join("known.checkpoint").is_file());
    fork.commit();
    let lying = Registry::start(fork.clone());
    let larger = compare(&home(&other), &at(&lying)).await;
    assert_eq!((larger.verdict, larger.detail), (Verdict::Fork, None));
    // Tiles that lead nowhere prove nothing.
    fs::write(&note, fork.sign(9, skillpkg_schema::log::Hash::of(b"made up"))).unwrap();
    assert_eq!(compare(&home(&other), &file).await.verdict, Verdict::Unproven);
}

#[tokio::test]
async fn a_tile_that_was_changed_proves_neither_that_a_log_goes_on_nor_that_it_forked() {
    let registry = Registry::with_waitlist();
    let machine = Machine::new(&registry);
    machine.install("waitlist").await.unwrap();
    registry.publish("more", "1.0.0");
    let home = LogSource::Home(machine.settings.home.clone());
    let lies: [fn(&mut Vec<u8>); 4] = [
        |tile| tile[0] ^= 1,
        |tile| *tile.last_mut().unwrap() ^= 1,
        |tile| tile.truncate(tile.len() - 32),
        Vec::clear,
    ];
    for lie in lies {
        registry.change(|state| state.tile = Some(Box::new(lie)));
        let there = skillpkg::registry::Registry::new(registry.url.clone(), None).unwrap();
        let there = LogSource::Registry(there);
        let compared = trust::compare(&machine.settings, &home, &there).await.unwrap();
        assert_eq!(compared[0].verdict, Verdict::Unproven, "{compared:?}");
        assert!(compared[0].detail.is_some(), "{compared:?}");
    }
}

#[tokio::test]
async fn after_a_log_was_forgotten_sync_brings_the_proofs_that_verify_misses() {
    let registry = Registry::with_waitlist();
    let machine = Machine::new(&registry);
    machine.install("waitlist").await.unwrap();
    assert!(machine.verify(true).await.unwrap().problems.is_empty());
    trust::forget(&machine.settings, registry.url.as_str()).unwrap();
    let missing = machine.verify(true).await.unwrap().problems;
    assert_eq!(missing[0].code, Some("inclusion_missing"));
    registry.asked();
    machine.sync().await.unwrap();
    assert!(registry.asked().iter().any(|path| path == "/v1/log/proofs"));
    assert!(machine.verify(true).await.unwrap().problems.is_empty());
    // And then there is nothing left to do.
    machine.sync().await.unwrap();
    assert!(registry.asked().is_empty());
    // A version that the registry has no more is told as that, by both.
    trust::forget(&machine.settings, registry.url.as_str()).unwrap();
    registry.change(|state| {
        state.log = Log::new("skillpkg/restored");
        let packed = pack("waitlist", "0.9.0", &state.log.author);
        state.keep(&packed);
        state.log.publish(&packed);
    });
    let problems = machine.verify(false).await.unwrap().problems;
    let detail = problems[0].detail.as_deref().unwrap();
    assert!(detail.contains("does not have this version"), "{detail}");
    assert_eq!(machine.sync().await.unwrap_err().code, "version_not_found");
}

#[cfg(unix)]
#[tokio::test]
async fn a_trust_directory_that_is_a_file_or_leads_nowhere_is_refused_with_the_way_out() {
    let registry = Registry::with_waitlist();
    let machine = Machine::new(&registry);
    let trust = machine.settings.home.join("trust");
    for is_file in [true, false] {
        if is_file {
            fs::write(&trust, "x").unwrap();
        } else {
            std::os::unix::fs::symlink("/nonexistent/trust", &trust).unwrap();
        }
        let error = machine.refused("waitlist").await;
        assert_eq!(error.code, "trust_state_damaged", "{error}");
        assert!(error.hint.unwrap().contains(&format!("move `{}` away", trust.display())));
        fs::remove_file(&trust).unwrap();
    }
    machine.install("waitlist").await.unwrap();
}
