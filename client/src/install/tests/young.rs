//! Versions that have not been published for as long as a policy wants.

use std::fs;

use jiff::{SignedDuration, Timestamp};

use super::bench::{Machine, Watcher};
use super::offering::Offering;
use crate::host::{Arguments, Host, HostOptions, PermissionRequest};
use crate::install::Frozen;
use crate::policy::{PolicySource, Whose};
use crate::{Error, Kind};

/// A machine whose registry has `first` 1.2.0, of a year ago, and 1.3.0, of an hour ago.
fn machine() -> (Machine, Offering, Timestamp) {
    let mut machine = Machine::new();
    let mut registry = Offering::start(&machine.public_key());
    // A registry tells whole seconds.
    let now = Timestamp::from_second(Timestamp::now().as_second()).unwrap();
    for (version, hours) in [("1.2.0", 365 * 24), ("1.3.0", 1)] {
        let archive = machine.archive("first", version, version, Some("echo hello"));
        let published = now - SignedDuration::from_hours(hours);
        registry.offer(&fs::read(archive).unwrap(), &published.to_string());
    }
    machine.settings.registry = Some(registry.choice());
    machine.settings.policies =
        vec![PolicySource::new(machine.path("policy.toml"), Whose::Machine)];
    (machine, registry, now)
}

fn rule(machine: &Machine, text: &str) {
    fs::write(machine.path("policy.toml"), text).unwrap();
}

fn version(machine: &Machine) -> String {
    let lock = fs::read_to_string(machine.project().join("skillpkg.lock")).unwrap();
    let line = lock.lines().find(|line| line.starts_with("version = \"")).unwrap();
    line.to_owned()
}

#[track_caller]
fn too_young(machine: &Machine, result: Result<impl Sized, Error>) -> Error {
    let error = result.err().unwrap();
    assert_eq!((error.kind, error.code.as_str()), (Kind::Refused, "policy_release_age"));
    assert_eq!(error.file.as_deref(), machine.path("policy.toml").to_str());
    assert_eq!(error.line, Some(2));
    error
}

#[test]
fn a_young_version_is_passed_over_and_told_and_refused_where_it_is_named() {
    let (machine, _registry, now) = machine();
    rule(&machine, "\nminimum-release-age = \"3d\"\n");
    let mut watcher = Watcher::default();
    machine.install_as(&["first"], None, false, &mut watcher).unwrap();
    assert_eq!(version(&machine), "version = \"1.2.0\"");
    let (published, when) =
        (now - SignedDuration::from_hours(1), now + SignedDuration::from_hours(71));
    let policy = machine.path("policy.toml");
    let told = format!(
        "warning: `first@1.3.0` is passed over: it was published at {published}, and is old enough \
         at {when} (`minimum-release-age = \"3d\"`, {}:2)",
        policy.display()
    );
    assert!(watcher.told.contains(&told), "{:?}", watcher.told);
    let mut watcher = Watcher::default();
    machine.update(&[], &mut watcher).unwrap();
    assert!(watcher.told.contains(&told), "{:?}", watcher.told);
    assert_eq!(version(&machine), "version = \"1.2.0\"");

    // Who asks what there is hears of it too, and that an update would not take it.
    let seen = machine.outdated().unwrap();
    assert!(!seen[0].moves() && seen[0].kept_back.len() == 1, "{seen:?}");
    assert!(told.ends_with(&seen[0].kept_back[0]), "{seen:?}");
    assert_eq!(seen[0].newest.as_ref().map(ToString::to_string).as_deref(), Some("1.3.0"));

    let before = machine.picture();
    for reference in ["first@=1.3.0", "first@1.3"] {
        let error = too_young(&machine, machine.install(&[reference]));
        assert!(error.message.contains(&format!("old enough at {when}")), "{error}");
        assert_eq!(machine.picture(), before);
    }
    // A policy that wants less lets it in.
    rule(&machine, "\nminimum-release-age = \"30m\"\n");
    machine.update(&[], &mut Watcher::default()).unwrap();
    assert_eq!(version(&machine), "version = \"1.3.0\"");
}

#[test]
fn a_young_version_that_is_locked_is_refused_by_every_way_to_it() {
    let (mut machine, _registry, _) = machine();
    machine.install(&["first"]).unwrap();
    assert_eq!(version(&machine), "version = \"1.3.0\"");
    rule(&machine, "\nminimum-release-age = \"3d\"\n");
    let host = || Host::open(HostOptions::new(machine.settings.clone())).unwrap();
    // Nobody has told this machine yet when it was published.
    too_young(&machine, host().prose("first"));
    machine.settings.offline = true;
    too_young(&machine, machine.sync(Frozen::Yes));
    machine.settings.offline = false;
    let error = too_young(&machine, machine.sync(Frozen::Yes));
    assert!(error.message.contains("was published at"), "{error}");
    let host = || Host::open(HostOptions::new(machine.settings.clone())).unwrap();
    let error = too_young(&machine, host().prose("first"));
    assert!(error.message.contains("was published at"), "{error}");
    let permission = |_: &PermissionRequest| true;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let called = runtime
        .block_on(async { host().call("first", "go", &Arguments::none(), &permission).await });
    too_young(&machine, called.map_err(Error::from));
    assert_eq!(host().skills().unwrap(), []);
    let forbidden = host().forbidden_skills().unwrap();
    too_young(&machine, Err::<(), _>(forbidden[0].1.clone()));
    // What is old enough by then is called, without a registry.
    rule(&machine, "\nminimum-release-age = \"30m\"\n");
    machine.settings.offline = true;
    machine.sync(Frozen::Yes).unwrap();
    let host = Host::open(HostOptions::new(machine.settings.clone())).unwrap();
    assert!(host.prose("first").is_ok());
}
