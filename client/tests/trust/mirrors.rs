//! Mirrors that falsify, and a registry that relays the log of another.

use skillpkg::Kind;
use skillpkg::credentials::Credentials;
use skillpkg_schema::log::Hash;

use crate::log::{Log, now, pack};
use crate::machine::Machine;
use crate::registry::Registry;

/// What a mirror is made to do.
type Lie = fn(&Registry);

/// A registry, a mirror of it, and a machine that asks the mirror first.
async fn mirrored() -> (Registry, Registry, Machine) {
    let registry = Registry::with_waitlist();
    let mirror = Registry::start(registry.log());
    mirror.change(|state| state.archives = registry.change(|state| state.archives.clone()));
    let mut machine = Machine::new(&registry);
    machine.in_project("first").install("waitlist").await.unwrap();
    let url = mirror.url.clone();
    machine.trust(&registry).mirrors = vec![url];
    registry.asked();
    (registry, mirror, machine)
}

#[tokio::test]
async fn what_a_mirror_has_is_not_asked_of_the_registry() {
    let (registry, mirror, machine) = mirrored().await;
    let mut fresh = Machine::new(&registry);
    fresh.settings.trust.clone_from(&machine.settings.trust);
    fresh.in_project("first").install("waitlist").await.unwrap();
    registry.asked();
    mirror.asked();
    std::fs::remove_dir_all(fresh.settings.home.join("snapshots")).unwrap();
    std::fs::remove_dir_all(fresh.settings.home.join("manifests")).unwrap();
    std::fs::remove_dir_all(fresh.settings.home.join("proofs")).unwrap();
    fresh.install("waitlist").await.unwrap();
    assert_eq!(registry.asked(), Vec::<String>::new());
    let asked = mirror.asked();
    assert_eq!(asked.len(), 3, "{asked:?}");
    // What the mirror does not have may be there for those who may read it.
    registry.publish("newer", "1.0.0");
    fresh.install("newer").await.unwrap();
}

#[tokio::test]
async fn what_a_mirror_falsifies_is_told_with_its_code_and_had_from_the_registry() {
    let lies: [(&str, Lie); 7] = [
        ("document_changed", |mirror| {
            mirror.lie_in_index(|index| index.documents[0].insert(1, b' '));
        }),
        ("checkpoint_stale", |mirror| {
            mirror.change(|state| state.log.time = now() - 15 * 24 * 60 * 60);
        }),
        ("checkpoint_unsigned", |mirror| mirror.change(|state| state.log.take_other_keys())),
        // Its log has grown, and the tiles of which it makes its proofs are others.
        ("checkpoint_inconsistent", |mirror| {
            mirror.publish("other", "1.0.0");
            mirror.lie_in_index(|index| {
                index.views[0].consistency.0.iter_mut().for_each(|hash| *hash = Hash::of(b"x"));
            });
        }),
        ("heads_refused", |mirror| {
            mirror.lie_in_index(|index| index.views[0].buckets[0].proof.0[3] = Hash::of(b"x"));
        }),
        ("log_key_changed", |mirror| {
            mirror.change(|state| state.log = Log::new("skillpkg/mirror"));
            mirror.publish("waitlist", "1.0.0");
        }),
        ("inclusion_refused", |mirror| {
            mirror.lie_in_proofs(|answer| answer.records[0].proof.0[0] = Hash::of(b"x"));
        }),
    ];
    for (code, lie) in lies {
        let (registry, mirror, mut machine) = mirrored().await;
        std::fs::remove_dir_all(machine.settings.home.join("proofs")).unwrap();
        lie(&mirror);
        let (_, told) = machine.in_project("two").install("waitlist").await.unwrap();
        assert!(told.iter().any(|line| line.contains(&format!("({code})"))), "{code}: {told:?}");
        assert!(!registry.asked().is_empty());
        machine.trust(&registry).only_mirrors = true;
        std::fs::remove_dir_all(machine.settings.home.join("proofs")).unwrap();
        assert_eq!(machine.in_project("three").refused("waitlist").await.code, code);
        assert!(registry.asked().is_empty());
    }
}

#[tokio::test]
async fn an_archive_that_a_mirror_changed_is_told_and_had_from_the_registry() {
    let (registry, mirror, machine) = mirrored().await;
    registry.publish("other", "1.0.0");
    mirror.change(|state| {
        state.log = registry.log();
        state.archives = registry.change(|state| state.archives.clone());
        state.archives.values_mut().for_each(|bytes| *bytes.last_mut().unwrap() ^= 1);
    });
    let (_, told) = machine.install("other").await.unwrap();
    assert!(told.iter().any(|line| line.contains("(digest_mismatch)")), "{told:?}");
}

#[tokio::test]
async fn a_mirror_gets_the_token_that_was_kept_for_it_and_no_other() {
    let (registry, mirror, mut machine) = mirrored().await;
    machine.settings.token = Some("skp_environment".to_owned());
    Credentials::new(&machine.settings.home).keep(&registry.url, "skp_registry").unwrap();
    mirror.change(|state| state.asked.clear());
    machine.install("waitlist").await.unwrap();
    let tokens = |registry: &Registry| {
        let asked = registry.change(|state| std::mem::take(&mut state.asked));
        asked.into_iter().filter_map(|(_, token)| token).collect::<Vec<_>>()
    };
    assert_eq!(tokens(&mirror), Vec::<String>::new());
    Credentials::new(&machine.settings.home).keep(&mirror.url, "skp_mirror").unwrap();
    machine.in_project("two").install("waitlist").await.unwrap();
    let tokens = tokens(&mirror);
    assert!(!tokens.is_empty() && tokens.iter().all(|token| token.ends_with("skp_mirror")));
}

#[tokio::test]
async fn a_mirror_that_a_policy_does_not_allow_is_not_asked() {
    let (registry, mirror, mut machine) = mirrored().await;
    machine.rule(&format!("registries = [\"{}\"]\n", registry.url));
    let error = machine.in_project("two").refused("waitlist").await;
    assert_eq!((error.code.as_str(), error.kind), ("policy_registry", Kind::Refused));
    assert!(mirror.asked().is_empty());
}

#[tokio::test]
async fn a_registry_is_not_first_met_by_its_mirror_unless_its_log_is_named() {
    let registry = Registry::with_waitlist();
    let mirror = Registry::start(Log::new("skillpkg/mirror"));
    mirror.publish("waitlist", "1.0.0");
    let mut machine = Machine::new(&registry);
    machine.trust(&registry).mirrors = vec![mirror.url.clone()];
    machine.install("waitlist").await.unwrap();
    let logs = skillpkg::trust::logs(&machine.settings).unwrap();
    assert_eq!(logs.iter().map(|log| log.origin.as_str()).collect::<Vec<_>>(), ["skillpkg/test"]);
}

#[tokio::test]
async fn a_registry_that_relays_another_log_speaks_by_that_for_its_names() {
    let upstream = Registry::with_waitlist();
    let relaying = Registry::start(Log::new("skillpkg/own"));
    relaying.change(|state| {
        state.archives = upstream.change(|state| state.archives.clone());
        state.relayed = Some(upstream.log());
        let packed = pack("acme/own", "1.0.0", &state.log.author);
        state.keep(&packed);
        state.log.publish(&packed);
    });
    let machine = Machine::new(&relaying);
    machine.install("waitlist").await.unwrap();
    machine.install("acme/own").await.unwrap();
    let origins = |machine: &Machine| {
        let logs = skillpkg::trust::logs(&machine.settings).unwrap();
        logs.into_iter().map(|log| log.origin).collect::<Vec<_>>()
    };
    assert_eq!(origins(&machine), ["skillpkg/own", "skillpkg/test"]);
    assert!(machine.verify(true).await.unwrap().problems.is_empty());
    // It does not speak by its own log for a name of the other's.
    relaying.change(|state| {
        state.relayed.as_mut().unwrap().bytes.clear();
        let packed = pack("waitlist", "1.0.1", &state.log.author);
        state.keep(&packed);
        state.log.publish(&packed);
    });
    let error = machine.in_project("two").refused("waitlist@=1.0.1").await;
    assert_eq!((error.code.as_str(), error.kind), ("document_changed", Kind::Verification));
    // Nor does the other for a scope of its own.
    relaying.change(|state| {
        let packed = pack("acme/own", "9.0.0", &state.log.author);
        state.keep(&packed);
        let relayed = state.relayed.as_mut().unwrap();
        relayed.publish(&packed);
        let bytes = relayed.bytes[&"acme/own".parse().unwrap()].clone();
        state.index = Some(Box::new(move |index| index.documents = vec![bytes.clone()]));
    });
    let error = machine.in_project("two").refused("acme/own").await;
    assert_eq!((error.code.as_str(), error.kind), ("log_key_changed", Kind::Refused));
}
