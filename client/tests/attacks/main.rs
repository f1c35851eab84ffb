//! Every attack on the archive, installed: from a registry that vouches for it, and from a file by
//! the command.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails the test")]

mod registry;
mod victim;

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use skillpkg::agents::Reach;
use skillpkg::install::{Options, Request, install};
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::is_unprintable;
use skillpkg_store::attacks::{self, Attack, RefusedBy};

use registry::Registry;
use victim::Victim;

/// The code with which an install refuses it; [`None`] where it is as good as the sample.
fn code(attack: &Attack) -> Option<&str> {
    match attack.expected.refused_by {
        RefusedBy::Reader => attack.expected.code.as_deref(),
        RefusedBy::Signature => Some("signature_refused"),
        RefusedBy::Derivation => Some("manifest_mismatch"),
        RefusedBy::Nobody => None,
    }
}

/// Whether anything of it may be left in the store: only where the archive itself is sound, and who
/// signed it or what it says of itself is not.
fn may_leave_blobs(attack: &Attack) -> bool {
    matches!(attack.expected.refused_by, RefusedBy::Signature | RefusedBy::Derivation)
}

#[track_caller]
fn told_safely(name: &str, text: &str) {
    assert!(!text.replace('\n', "").contains(is_unprintable), "{name}: {text:?}");
    assert!(text.len() < 3000, "{name}: {}", text.len());
}

#[tokio::test]
async fn no_attack_is_installed_from_a_registry_that_vouches_for_it() {
    let registry = Registry::start();
    let victim = Victim::new();
    let mut settings = victim.settings();
    settings.registry = Some(registry.choice());
    let options = Options { approve: true, ..Options::new(Reach::Project) };
    let request = Request { references: vec!["acme/sample".to_owned()], ..Request::default() };
    let (refused, taken): (Vec<Attack>, Vec<Attack>) =
        attacks::all().unwrap().into_iter().partition(|attack| code(attack).is_some());
    assert!(refused.len() > 500 && !taken.is_empty());
    let before = victim.picture();
    for attack in &refused {
        registry.offer(&attack.archive);
        let mut watcher = victim::Nobody;
        let answer = install(&settings, &options, &request, &mut watcher).await;
        let Err(error) = answer else { panic!("{} was installed", attack.name) };
        let name = &attack.name;
        assert_eq!(Some(error.code.as_str()), code(attack), "{name}: {error}");
        assert_eq!(error.kind, Kind::Verification, "{name}: {error}");
        told_safely(name, &error.to_string());
        if may_leave_blobs(attack) {
            victim.collect();
        }
        assert_eq!(victim.picture(), before, "{name}");
    }
    for attack in &taken {
        registry.offer(&attack.archive);
        let mut watcher = victim::Nobody;
        let report = install(&settings, &options, &request, &mut watcher).await;
        assert_eq!(report.map(|report| report.skills.len()), Ok::<_, Error>(1), "{}", attack.name);
    }
    assert_ne!(victim.picture(), before);
}

/// One attack of each expectation: each is a process.
#[test]
fn no_attack_is_installed_from_a_file_by_the_command() {
    let victim = Victim::new();
    let mut seen = BTreeSet::new();
    let file = victim.project().join("sample.skill.tar.zst");
    std::fs::write(&file, "").unwrap();
    let run = || {
        let command = Command::new(env!("CARGO_BIN_EXE_skillpkg"))
            .args(["install", "./sample.skill.tar.zst", "-y", "--json"])
            .current_dir(victim.project())
            .env_clear()
            .env("HOME", victim.user_home())
            .env("SKILLPKG_HOME", victim.home())
            .stdin(Stdio::null())
            .output();
        command.unwrap()
    };
    let before = victim.picture();
    for attack in attacks::all().unwrap() {
        if !seen.insert(attack.expected.attack.clone()) {
            continue;
        }
        let Some(code) = code(&attack) else { continue };
        std::fs::write(&file, &attack.archive).unwrap();
        let output = run();
        let (stdout, stderr) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        let name = &attack.name;
        assert_eq!(output.status.code(), Some(3), "{name}: {stderr}");
        let answer: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(answer["error"]["code"], code, "{name}: {stderr}");
        told_safely(name, &stderr);
        told_safely(name, answer["error"]["message"].as_str().unwrap());
        if may_leave_blobs(&attack) {
            victim.collect();
        }
        std::fs::write(&file, "").unwrap();
        assert_eq!(victim.picture(), before, "{name}");
    }
    assert!(seen.len() > 100, "{}", seen.len());
}
