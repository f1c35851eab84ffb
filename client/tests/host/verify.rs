//! Verification of snapshots, copies and archives.

use std::path::Path;

use skillpkg::Kind;
use skillpkg::state::{Placed, Placement};
use skillpkg::verification::{Problem, ProblemKind, Report, Verifier};
use skillpkg_schema::Manifest;
use skillpkg_schema::signature::SigningKey;

use crate::support::{Machine, overwrite, texts, with_tool};

const RUN: &str = "sh handle.sh --$user $times";

/// A machine with one locked, active skill.
fn machine() -> (Machine, Manifest) {
    let mut machine = Machine::new();
    machine.settings.offline = true;
    let files = with_tool(RUN, "echo honest");
    let manifest = machine.activate(&texts(&files));
    machine.lock(&manifest, &machine.pack(&texts(&files)));
    (machine, manifest)
}

async fn verify(machine: &Machine, repair: bool) -> Report {
    let root = machine.settings.project.clone();
    let verifier = Verifier::new(&machine.settings, root, repair).unwrap();
    verifier.project(&[]).await.unwrap()
}

fn found(problems: &[Problem]) -> Vec<(ProblemKind, &str)> {
    problems.iter().map(|problem| (problem.kind, problem.path.as_str())).collect()
}

#[tokio::test]
async fn what_is_as_signed_has_no_problem() {
    let (machine, _) = machine();
    let report = verify(&machine, false).await;
    assert_eq!((report.checked, report.problems.as_slice(), report.kind()), (1, &[][..], None));
}

#[tokio::test]
async fn every_kind_of_change_of_a_tree_is_named_and_repaired_from_the_store() {
    let (machine, manifest) = machine();
    let tree = machine.store.tree_path(&manifest.address());
    machine.tamper(&manifest, "handle.sh", "echo planted");
    writable(&tree);
    std::fs::remove_file(tree.join("SKILL.md")).unwrap();
    std::fs::write(tree.join("planted"), "x").unwrap();
    let report = verify(&machine, false).await;
    let changes = [
        (ProblemKind::Modified, "handle.sh"),
        (ProblemKind::Missing, "SKILL.md"),
        (ProblemKind::Extra, "planted"),
    ];
    assert_eq!(found(&report.problems), changes);
    assert_eq!(report.kind(), Some(Kind::Verification));
    let report = verify(&machine, true).await;
    assert_eq!(report.problems, []);
    assert_eq!(found(&report.repaired), changes);
    assert_eq!(verify(&machine, false).await.problems, []);
    assert_eq!(std::fs::read(tree.join("handle.sh")).unwrap(), b"echo honest");
}

fn writable(directory: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn a_link_in_the_place_of_a_blob_or_a_record_is_a_problem_and_repaired() {
    let (machine, manifest) = machine();
    let digest = manifest.file("handle.sh").unwrap().sha256.to_string();
    let home = machine.store.root();
    for place in [
        home.join("blobs/sha256").join(&digest[..2]).join(&digest),
        home.join("manifests").join(manifest.address().hex()),
    ] {
        std::fs::remove_file(&place).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &place).unwrap();
        let root = machine.settings.project.clone();
        let verifier = Verifier::new(&machine.settings, root, false).unwrap();
        let report = verifier.everything().await.unwrap();
        assert_eq!(report.kind(), Some(Kind::Verification));
        assert_eq!(verify(&machine, true).await.problems, []);
        assert!(place.symlink_metadata().unwrap().is_file());
    }
}

#[tokio::test]
async fn a_damaged_blob_is_made_again_from_an_intact_tree() {
    let (machine, manifest) = machine();
    let address = manifest.file("handle.sh").unwrap().sha256.address();
    machine.damage_blob(&address);
    let report = verify(&machine, false).await;
    assert_eq!(found(&report.problems), [(ProblemKind::Digest, "handle.sh")]);
    assert_eq!(verify(&machine, true).await.problems, []);
    assert_eq!(machine.store.read_blob(&address, 100).unwrap(), b"echo honest");
}

#[tokio::test]
async fn what_is_lost_here_comes_again_from_where_it_came_from_or_is_told() {
    let (machine, manifest) = machine();
    let archive = machine.settings.project.join("waitlist.skill.tar.zst");
    let lose = || {
        machine.tamper(&manifest, "handle.sh", "echo planted");
        machine.damage_blob(&manifest.file("handle.sh").unwrap().sha256.address());
    };
    lose();
    assert_eq!(verify(&machine, true).await.problems, []);
    lose();
    std::fs::remove_file(archive).unwrap();
    let report = verify(&machine, true).await;
    assert_eq!(report.kind(), Some(Kind::Verification));
    assert!(report.problems.iter().all(|problem| problem.path == "handle.sh"), "{report:?}");
    let detail = report.problems[0].detail.as_deref().unwrap();
    assert!(detail.contains("archive cannot be read"), "{detail}");
}

#[tokio::test]
async fn an_edited_copy_is_drift_and_left_as_it_is() {
    let (machine, manifest) = machine();
    let directory = machine.settings.project.join("waitlist");
    machine.store.copy_tree(&manifest, &directory).unwrap();
    let mut state = machine.state.project(&machine.settings.project).unwrap();
    let link = machine.settings.project.join("link");
    let placed = |path: &Path, placement| Placed {
        path: path.to_path_buf(),
        name: manifest.name.clone(),
        address: manifest.address(),
        placement,
        agents: Vec::new(),
    };
    state.placed = vec![placed(&directory, Placement::Copy), placed(&link, Placement::Link)];
    machine.set_state(&state);
    std::os::unix::fs::symlink(machine.store.tree_path(&manifest.address()), &link).unwrap();
    assert_eq!(verify(&machine, false).await.problems, []);
    overwrite(&directory.join("handle.sh"), "echo mine");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("/", &link).unwrap();
    let report = verify(&machine, true).await;
    assert_eq!(
        found(&report.problems),
        [(ProblemKind::Modified, ""), (ProblemKind::Modified, "handle.sh")]
    );
    assert_eq!(report.kind(), Some(Kind::Drift));
    assert_eq!(std::fs::read(directory.join("handle.sh")).unwrap(), b"echo mine");
}

#[tokio::test]
async fn a_signature_of_no_known_key_or_of_another_than_the_lockfiles_is_told() {
    let (machine, manifest) = machine();
    let lock = machine.settings.project.join("skillpkg.lock");
    let text = std::fs::read_to_string(&lock).unwrap();
    let other = SigningKey::generate().unwrap().public();
    let key = machine.key.public().id().to_string();
    std::fs::write(&lock, text.replace(&key, &other.id().to_string())).unwrap();
    let report = verify(&machine, false).await;
    assert_eq!(found(&report.problems), [(ProblemKind::Signature, "")]);
    std::fs::write(&lock, text).unwrap();
    std::fs::remove_file(machine.state.directory().join("signers.json")).unwrap();
    let report = verify(&machine, false).await;
    assert_eq!(found(&report.problems), [(ProblemKind::Signature, "")]);
    assert!(report.problems[0].detail.as_deref().unwrap().contains("no signature is of a known"));
    assert_eq!(manifest.name.to_string(), "waitlist");
}

#[tokio::test]
async fn a_lockfile_that_says_another_name_or_has_no_such_skill_is_told() {
    let (machine, _) = machine();
    let lock = machine.settings.project.join("skillpkg.lock");
    let text = std::fs::read_to_string(&lock).unwrap();
    std::fs::write(&lock, text.replace("\"waitlist\"", "\"other\"")).unwrap();
    let report = verify(&machine, false).await;
    assert!(found(&report.problems).contains(&(ProblemKind::Digest, "")), "{report:?}");
    std::fs::write(&lock, text.replace("1.2.0", "1.3.0")).unwrap();
    let report = verify(&machine, false).await;
    assert!(found(&report.problems).contains(&(ProblemKind::Digest, "")), "{report:?}");
    std::fs::write(&lock, text).unwrap();
    let root = machine.settings.project.clone();
    let verifier = Verifier::new(&machine.settings, root, false).unwrap();
    let error = verifier.project(&["waitlsit".parse().unwrap()]).await.unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean `waitlist`?"));
}

#[tokio::test]
async fn every_snapshot_of_the_store_is_verified_when_asked_for() {
    let (machine, _) = machine();
    let other = machine.ingest(&texts(&with_tool(RUN, "echo other")));
    machine.tamper(&other, "handle.sh", "echo planted");
    assert_eq!(verify(&machine, false).await.problems, []);
    let root = machine.settings.project.clone();
    let verifier = Verifier::new(&machine.settings, root, false).unwrap();
    let report = verifier.everything().await.unwrap();
    assert_eq!(report.checked, 2);
    assert_eq!(found(&report.problems), [(ProblemKind::Modified, "handle.sh")]);
    assert!(report.notices.is_empty());
    // Which policies of which projects the other snapshot is under, nobody here knows.
    let text = "[policy]\nmaximum-checkpoint-age = \"2d\"\n";
    std::fs::write(machine.settings.project.join("skillpkg.toml"), text).unwrap();
    let root = machine.settings.project.clone();
    let verifier = Verifier::new(&machine.settings, root, false).unwrap();
    let notices = verifier.everything().await.unwrap().notices;
    assert!(notices.iter().any(|told| told.contains("against no policy")), "{notices:?}");
}

#[tokio::test]
async fn an_archive_is_verified_whole_and_a_changed_one_is_not_believed() {
    let (machine, _) = machine();
    let archive = machine.settings.project.join("waitlist.skill.tar.zst");
    let verify = async |machine: &Machine| {
        let root = machine.settings.project.clone();
        let verifier = Verifier::new(&machine.settings, root, false).unwrap();
        verifier.archive(&archive).await.unwrap()
    };
    assert_eq!(verify(&machine).await.problems, []);
    let honest = std::fs::read(&archive).unwrap();
    for position in [0, honest.len() / 2, honest.len() - 1] {
        let mut changed = honest.clone();
        changed[position] ^= 1;
        std::fs::write(&archive, changed).unwrap();
        let report = verify(&machine).await;
        assert_eq!(found(&report.problems), [(ProblemKind::Digest, "")], "{position}");
    }
    std::fs::write(&archive, &honest).unwrap();
    std::fs::remove_file(machine.state.directory().join("signers.json")).unwrap();
    let report = verify(&machine).await;
    assert_eq!(found(&report.problems), [(ProblemKind::Signature, "")]);
    assert_eq!(report.kind(), Some(Kind::Verification));
}
