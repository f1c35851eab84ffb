//! Calls of tools.

use std::time::Duration;

use skillpkg::Kind;
use skillpkg::host::{Arguments, CallError, CallOptions, PermissionRequest};
use skillpkg::runner::FailureKind;
use skillpkg::state::Provenance;
use skillpkg_schema::finding::Findings;

use crate::support::{Machine, all, approved, texts, with_tool};

const RUN: &str = "sh handle.sh --$user $times";

fn words(words: &[&str]) -> Arguments {
    Arguments::from_words(words.iter().copied()).unwrap()
}

#[tokio::test]
async fn a_tool_runs_as_argv_without_a_shell_in_the_snapshot() {
    let machine = Machine::new();
    let text = "pwd -P; for word in \"$@\"; do echo \"[$word]\"; done; cat; echo err >&2; exit 3\n";
    let manifest = machine.activate(&texts(&with_tool(RUN, text)));
    let user = "a b; touch $(id) `id` > x";
    let arguments = words(&[&format!("user={user}"), "times=007"]);
    let refused = machine.host().call("waitlist", "access", &arguments, &approved).await;
    assert!(matches!(refused, Err(CallError::Arguments { .. })), "{refused:?}");
    let arguments = words(&[&format!("user={user}"), "times=7"]);
    let outcome = machine.host().call("waitlist", "access", &arguments, &approved).await.unwrap();
    let stdout = String::from_utf8(outcome.stdout).unwrap();
    let (directory, rest) = stdout.split_once('\n').unwrap();
    assert_eq!(rest, format!("[--{user}]\n[7]\n"));
    assert!(directory.ends_with("/waitlist"), "{directory}");
    assert_ne!(std::path::Path::new(directory), machine.store.tree_path(&manifest.address()));
    assert!(!std::path::Path::new(directory).exists(), "the copy goes with the call");
    assert_eq!((outcome.stderr.as_slice(), outcome.exit), (b"err\n".as_slice(), 3));
    assert_eq!(outcome.argv, ["sh", "handle.sh", &format!("--{user}"), "7"]);
    assert_eq!(outcome.notices, Vec::<String>::new());
}

#[tokio::test]
async fn a_tool_gets_the_users_environment_without_our_secrets() {
    let mut machine = Machine::new();
    for (name, value) in [
        ("SKILLPKG_TOKEN", "skp_secret"),
        ("SKILLPKG_KEY", "secret.pem"),
        ("SKILLPKG_KEY_PASSPHRASE", "secret horse"),
        ("SKILLPKG_KEY_PASSPHRASE_FILE", "secret.txt"),
        ("KEPT", "kept"),
    ] {
        machine.settings.environment.insert(name.to_owned(), value.to_owned());
    }
    machine.activate(&texts(&with_tool(RUN, "/usr/bin/env")));
    let outcome =
        machine.host().call("waitlist", "access", &words(&["user=x"]), &approved).await.unwrap();
    let text = String::from_utf8(outcome.stdout).unwrap();
    assert!(!text.contains("secret"), "{text}");
    let project = format!("SKILLPKG_PROJECT={}", machine.settings.project.display());
    for line in ["KEPT=kept", "PYTHONDONTWRITEBYTECODE=1", &project] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
}

#[tokio::test]
async fn a_changed_file_is_made_whole_and_what_it_was_changed_to_never_runs() {
    let machine = Machine::new();
    let manifest = machine.activate(&texts(&with_tool(RUN, "echo honest")));
    let mark = machine.mark("ran");
    machine.tamper(&manifest, "handle.sh", &format!("touch {}", mark.display()));
    let outcome =
        machine.host().call("waitlist", "access", &words(&["user=x"]), &approved).await.unwrap();
    assert_eq!(outcome.stdout, b"honest\n");
    assert!(!mark.exists());
    let notice = "`handle.sh` was changed and has been made whole again from the store";
    assert_eq!(outcome.notices, [notice]);
}

/// Changes every file of a snapshot as soon as `started` is there, then lets the call go on.
fn tamper_once_started(
    machine: &Machine,
    manifest: &skillpkg_schema::Manifest,
    paths: &[&str],
) -> std::thread::JoinHandle<()> {
    let (started, go) = (machine.mark("started"), machine.mark("go"));
    let files: Vec<_> = paths.iter().map(|path| machine.file(manifest, path)).collect();
    std::thread::spawn(move || {
        for _ in 0..2000 {
            if started.exists() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        for file in files {
            crate::support::overwrite(&file, "echo planted\n");
        }
        std::fs::write(go, "").unwrap();
    })
}

#[tokio::test]
async fn a_file_that_is_changed_after_it_was_checked_does_not_run_either() {
    let machine = Machine::new();
    let wait = format!(
        "touch {}; while [ ! -e {} ]; do sleep 0.01; done",
        machine.mark("started").display(),
        machine.mark("go").display()
    );
    let [(path, skill), handle] = with_tool(RUN, &format!("{wait}\n. ./other.sh\n"));
    let skill = skill.replace("includes: handle.sh", "includes: handle.sh, other.sh");
    let files = [(path, skill), handle, ("other.sh", "echo honest\n".to_owned())];
    let manifest = machine.activate(&texts(&files));
    let other = tamper_once_started(&machine, &manifest, &["handle.sh", "other.sh"]);
    let outcome =
        machine.host().call("waitlist", "access", &words(&["user=x"]), &approved).await.unwrap();
    other.join().unwrap();
    assert_eq!(String::from_utf8(outcome.stdout).unwrap(), "honest\n");
}

#[tokio::test]
async fn where_the_store_has_no_intact_copy_nothing_runs() {
    let machine = Machine::new();
    let manifest = machine.activate(&texts(&with_tool(RUN, "echo honest")));
    let mark = machine.mark("ran");
    machine.damage_blob(&manifest.file("handle.sh").unwrap().sha256.address());
    machine.tamper(&manifest, "handle.sh", &format!("touch {}", mark.display()));
    let refused = machine.host().call("waitlist", "access", &words(&["user=x"]), &approved).await;
    let Err(CallError::Skill(error)) = refused else { panic!("{refused:?}") };
    assert_eq!((error.kind, error.code.as_str()), (Kind::Verification, "verification_failed"));
    assert!(error.message.contains("`handle.sh`"), "{error}");
    assert!(!mark.exists());
}

#[tokio::test]
async fn a_file_that_was_put_there_is_set_aside_before_anything_runs() {
    let machine = Machine::new();
    let text = "ls -A";
    let manifest = machine.activate(&texts(&with_tool(RUN, text)));
    let tree = machine.store.tree_path(&manifest.address());
    writable(&tree);
    std::fs::create_dir(tree.join("__pycache__")).unwrap();
    std::fs::write(tree.join("__pycache__/x.pyc"), "planted").unwrap();
    let outcome =
        machine.host().call("waitlist", "access", &words(&["user=x"]), &approved).await.unwrap();
    assert_eq!(String::from_utf8(outcome.stdout).unwrap(), "SKILL.md\nhandle.sh\n");
    assert_eq!(outcome.notices.len(), 1);
    assert!(outcome.notices[0].contains("set aside"), "{:?}", outcome.notices);
}

fn writable(directory: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn permission_is_asked_with_all_that_will_run_and_a_no_runs_nothing() {
    let machine = Machine::new();
    let mark = machine.mark("ran");
    machine.activate(&texts(&with_tool(RUN, &format!("touch {}", mark.display()))));
    let asked = std::sync::Mutex::new(None);
    let no = |request: &PermissionRequest| {
        *asked.lock().unwrap() = Some(request.clone());
        false
    };
    let refused = machine.host().call("waitlist", "access", &words(&["user=x"]), &no).await;
    let Err(CallError::Run(failure)) = refused else { panic!("{refused:?}") };
    assert_eq!(failure.kind, FailureKind::PermissionDenied);
    assert!(!mark.exists());
    let request = asked.into_inner().unwrap().unwrap();
    assert_eq!(request.runs, ["sh", "handle.sh", "--x", "1"]);
    assert_eq!(request.input, r#"{"times":1,"user":"x"}"#);
    assert!(request.approved);
}

#[tokio::test]
async fn what_was_not_approved_on_this_machine_is_not_run() {
    let machine = Machine::new();
    let files = with_tool(RUN, "echo");
    let manifest = machine.activate(&texts(&files));
    std::fs::remove_dir_all(machine.state.directory().join("approvals")).unwrap();
    let refused = machine.host().call("waitlist", "access", &words(&["user=x"]), &all).await;
    let Err(CallError::Skill(error)) = refused else { panic!("{refused:?}") };
    assert_eq!((error.kind, error.code.as_str()), (Kind::Refused, "approval_required"));
    let (name, version, address) = (&manifest.name, &manifest.version, manifest.address());
    machine
        .state
        .approve(name, version, &address, &Provenance::default(), &Findings::default())
        .unwrap();
    machine.host().call("waitlist", "access", &words(&["user=x"]), &all).await.unwrap();
}

#[tokio::test]
async fn a_program_that_is_gone_is_told_before_anything_runs() {
    let mut machine = Machine::new();
    machine.activate(&texts(&with_tool(RUN, "echo")));
    machine.settings.path.clear();
    let refused = machine.host().call("waitlist", "access", &words(&["user=x"]), &all).await;
    let Err(CallError::Skill(error)) = refused else { panic!("{refused:?}") };
    assert_eq!((error.kind, error.code.as_str()), (Kind::Requirement, "program_missing"));
    assert_eq!(error.message, "this needs sh, which is not on your PATH");
}

#[tokio::test]
async fn a_program_of_the_skill_is_run_from_its_snapshot() {
    let machine = Machine::new();
    machine.activate(&texts(&with_tool("./handle.sh $user $times", "#!/bin/sh\necho \"$0 $1\"\n")));
    let outcome =
        machine.host().call("waitlist", "access", &words(&["user=x"]), &approved).await.unwrap();
    let text = String::from_utf8(outcome.stdout).unwrap();
    assert!(text.ends_with("/handle.sh x\n"), "{text}");
}

#[tokio::test]
async fn a_call_ends_at_its_bounds() {
    let machine = Machine::new();
    machine.activate(&texts(&with_tool(RUN, "yes & sleep 300")));
    let options = CallOptions { maximum_output_bytes: Some(10_000), ..CallOptions::default() };
    let arguments = words(&["user=x"]);
    let host = machine.host();
    let refused = host.call_with("waitlist", "access", &arguments, &approved, &options).await;
    let Err(CallError::Run(failure)) = refused else { panic!("{refused:?}") };
    assert_eq!(failure.kind, FailureKind::OutputTooLarge);
    machine.activate(&texts(&with_tool(RUN, "sleep 300")));
    let options =
        CallOptions { timeout: Some(Duration::from_millis(200)), ..CallOptions::default() };
    let refused = host.call_with("waitlist", "access", &arguments, &approved, &options).await;
    let Err(CallError::Run(failure)) = refused else { panic!("{refused:?}") };
    assert_eq!(failure.kind, FailureKind::TimedOut);
}

#[tokio::test]
async fn a_wrong_argument_is_told_in_words_for_the_model() {
    let machine = Machine::new();
    machine.activate(&texts(&with_tool(RUN, "echo")));
    let host = machine.host();
    for arguments in [
        words(&[]),
        words(&["user=x", "time=2"]),
        words(&["user=x", "times=many"]),
        Arguments::Json(r#"["x"]"#.to_owned()),
        Arguments::Json("not json".to_owned()),
    ] {
        let refused = host.call("waitlist", "access", &arguments, &approved).await;
        assert!(matches!(refused, Err(CallError::Arguments { .. })), "{arguments:?}: {refused:?}");
    }
}

#[tokio::test]
async fn the_program_that_was_approved_runs_whatever_path_holds_by_then() {
    use std::os::unix::fs::PermissionsExt as _;

    let mut machine = Machine::new();
    let manifest = machine.activate(&texts(&with_tool(RUN, "echo honest")));
    let planted = machine.mark("planted");
    let mark = machine.mark("ran");
    std::fs::create_dir(&planted).unwrap();
    std::fs::write(planted.join("sh"), format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(planted.join("sh"), mode).unwrap();
    let approved_program = skillpkg::activation::program::on_path("sh", &machine.settings.path);
    machine.settings.path.insert(0, planted.clone());
    let record = |path: std::path::PathBuf| {
        let mut state = machine.state.project(&machine.settings.project).unwrap();
        state.active[0].programs.insert("sh".to_owned(), path);
        machine.set_state(&state);
    };
    record(approved_program.unwrap());
    let arguments = words(&["user=x"]);
    let outcome = machine.host().call("waitlist", "access", &arguments, &approved).await.unwrap();
    assert_eq!((outcome.stdout.as_slice(), outcome.notices.len()), (b"honest\n".as_slice(), 0));
    assert!(!mark.exists());
    record(machine.mark("gone"));
    let outcome = machine.host().call("waitlist", "access", &arguments, &approved).await.unwrap();
    assert!(outcome.notices[0].contains("when it was approved it was"), "{:?}", outcome.notices);
    assert!(mark.exists());
    assert_eq!(manifest.programs[0].name, "sh");
}
