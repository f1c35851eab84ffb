//! Yanks and advisories reach machines, and are told there without a network.

use std::fs;

use skillpkg::agents::Reach;
use skillpkg::host::{Arguments, Host, HostOptions, PermissionRequest};
use skillpkg::install::list;
use skillpkg::verification::ProblemKind;
use skillpkg::{Error, Kind};
use skillpkg_schema::wire::{Advisory, Effect, Yank};

use crate::machine::{Machine, Told};
use crate::registry::Registry;

fn advise(registry: &Registry, versions: &str, effect: Effect) {
    registry.change(|state| {
        for document in state.log.skills.values_mut() {
            document.advisories = vec![Advisory {
                id: "SKA-2026-0001".to_owned(),
                versions: versions.to_owned(),
                effect,
                summary: "it sends keys away".to_owned(),
                published: "2026-03-01T00:00:00Z".to_owned(),
                log_index: None,
            }];
        }
        state.log.commit();
    });
}

fn yank(registry: &Registry) {
    registry.change(|state| {
        for document in state.log.skills.values_mut() {
            document.versions[0].yanked = Some(Yank { reason: "it is broken".to_owned() });
        }
        state.log.commit();
    });
}

/// Lets an hour pass for what is remembered.
fn let_an_hour_pass(machine: &Machine) {
    let file = machine.settings.home.join("state/standings.json");
    let mut all: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    for skills in all["registries"].as_object_mut().unwrap().values_mut() {
        for skill in skills.as_object_mut().unwrap().values_mut() {
            skill["asked"] = (skill["asked"].as_u64().unwrap() - 3_601).into();
        }
    }
    fs::write(&file, all.to_string()).unwrap();
}

async fn call(machine: &Machine) -> Result<(i32, Vec<String>), Error> {
    let host = Host::open(HostOptions::new(machine.settings.clone()))?;
    let arguments = Arguments::from_words([])?;
    let permission = |request: &PermissionRequest| request.approved;
    let outcome = host.call("waitlist", "greet", &arguments, &permission).await;
    outcome.map(|outcome| (outcome.exit, Vec::new())).map_err(Error::from)
}

#[tokio::test]
async fn a_sync_asks_once_an_hour_and_what_it_learns_is_told_without_a_network() {
    let registry = Registry::with_waitlist();
    let mut machine = Machine::new(&registry);
    machine.install("waitlist").await.unwrap();
    yank(&registry);
    registry.asked();
    assert!(machine.sync().await.unwrap().1.is_empty());
    assert!(registry.asked().is_empty(), "within the hour nobody is asked");
    let_an_hour_pass(&machine);
    let (_, told) = machine.sync().await.unwrap();
    assert!(told.iter().any(|line| line.contains("it is broken")), "{told:?}");
    assert_eq!(registry.asked(), ["/v1/index"]);
    machine.settings.offline = true;
    let listed = list(&machine.settings, Reach::Project, &mut Told::default()).unwrap();
    assert_eq!(listed[0].standing.yanked.as_deref(), Some("it is broken"));
    let report = machine.verify(true).await.unwrap();
    assert!(report.notices.iter().any(|notice| notice.contains("it is broken")));
    assert!(report.problems.is_empty());
    assert_eq!(call(&machine).await.unwrap().0, 0);
    assert!(registry.asked().is_empty());
}

#[tokio::test]
async fn a_lie_is_a_refusal_and_that_nobody_answers_a_warning() {
    let registry = Registry::with_waitlist();
    let machine = Machine::new(&registry);
    machine.install("waitlist").await.unwrap();
    registry.lie_in_index(|index| {
        index.documents.clear();
        index.missing = vec!["waitlist".parse().unwrap()];
    });
    let_an_hour_pass(&machine);
    assert_eq!(machine.sync().await.unwrap_err().code, "document_hidden");
    // That nobody answers refuses nothing, and is tried again only after some minutes.
    registry.change(|state| state.is_dead = true);
    let (_, told) = machine.sync().await.unwrap();
    assert!(told.iter().any(|line| line.contains("is not known")), "{told:?}");
    registry.asked();
    assert_eq!(machine.sync().await.unwrap().1, Vec::<String>::new());
    assert!(registry.asked().is_empty());
}

#[tokio::test]
async fn a_yanked_version_is_restored_with_a_warning_and_a_forbidden_one_is_not() {
    let registry = Registry::with_waitlist();
    let machine = Machine::new(&registry);
    machine.install("waitlist").await.unwrap();
    let read = |name: &str| fs::read(machine.settings.project.join(name)).unwrap();
    let files =
        [("skillpkg.toml", read("skillpkg.toml")), ("skillpkg.lock", read("skillpkg.lock"))];
    let cloned = || {
        let clone = Machine::new(&registry);
        for (name, bytes) in &files {
            fs::write(clone.settings.project.join(name), bytes).unwrap();
        }
        clone
    };
    yank(&registry);
    let (_, told) = cloned().sync().await.unwrap();
    assert!(told.iter().any(|line| line.contains("yanked: it is broken")), "{told:?}");
    advise(&registry, "<1.1.0", Effect::Warn);
    let (_, told) = cloned().sync().await.unwrap();
    assert!(told.iter().any(|line| line.contains("SKA-2026-0001")), "{told:?}");
    advise(&registry, "<1.1.0", Effect::Forbid);
    let error = cloned().sync().await.unwrap_err();
    assert_eq!((error.code.as_str(), error.kind), ("advisory_forbids", Kind::Refused));
    // Where it is installed already: nothing of it runs once the machine has heard.
    assert_eq!(call(&machine).await.unwrap().0, 0);
    let_an_hour_pass(&machine);
    assert_eq!(machine.sync().await.unwrap_err().code, "advisory_forbids");
    assert_eq!(call(&machine).await.unwrap_err().code, "advisory_forbids");
    let report = machine.verify(true).await.unwrap();
    let found: Vec<_> = report.problems.iter().map(|one| (one.kind, one.code)).collect();
    assert_eq!(found, [(ProblemKind::Policy, Some("advisory_forbids"))]);
    assert_eq!(report.kind(), Some(Kind::Refused));
}

#[tokio::test]
async fn a_forbidden_version_is_not_picked_and_one_that_is_asked_for_is_refused() {
    let registry = Registry::with_waitlist();
    registry.publish("waitlist", "1.1.0");
    advise(&registry, ">=1.1.0", Effect::Forbid);
    let machine = Machine::new(&registry);
    let (report, _) = machine.install("waitlist").await.unwrap();
    assert_eq!(report.skills[0].locked.version.to_string(), "1.0.0");
    let error = Machine::new(&registry).refused("waitlist@=1.1.0").await;
    assert_eq!((error.code.as_str(), error.kind), ("advisory_forbids", Kind::Refused));
}
