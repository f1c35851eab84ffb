//! The process runner.

use std::time::{Duration, Instant};

use bytes::Bytes;
use skillpkg::runner::{FailureKind, Runner as _, ScriptSource};

use crate::support::{Case, ends, number_in, script, sh};

#[tokio::test]
async fn a_script_gets_the_effective_json_byte_for_byte_and_then_the_end() {
    let input = r#"{"a":1.0,"b":"é\n\u001f\\","c":["$x","`id`"]}"#;
    let output = Case::shell("cat").run(input).await.unwrap();
    assert_eq!(output.exit, 0);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), input);
}

#[tokio::test]
async fn arguments_are_neither_in_argv_nor_in_the_environment() {
    let case = Case::shell("echo \"$#\"; env; tr '\\0' ' ' < /proc/$$/cmdline");
    let output = case.run(r#"{"secret":"hunter2"}"#).await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("0\n"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn the_environment_is_the_one_given_and_the_working_directory_is_the_snapshot() {
    let mut case = Case::shell("pwd -P; /usr/bin/env");
    case.environment.insert("SKILLPKG_PROJECT".to_owned(), "/project".to_owned());
    let output = case.run("{}").await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], case.path().canonicalize().unwrap().to_str().unwrap());
    let mut names: Vec<&str> =
        lines[1..].iter().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    // The shell sets the others itself.
    names.retain(|name| !matches!(*name, "PWD" | "OLDPWD" | "SHLVL" | "_"));
    assert_eq!(names, ["PATH", "SKILLPKG_PROJECT"]);
}

#[tokio::test]
async fn an_exit_code_other_than_0_is_a_failed_execution_that_keeps_its_output() {
    let failure = Case::shell("echo out; echo err >&2; exit 7").run("{}").await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::ExecutionFailed);
    let output = failure.output.unwrap();
    assert_eq!(output.exit, 7);
    assert_eq!((output.stdout, output.stderr), (b"out\n".to_vec(), b"err\n".to_vec()));
}

#[tokio::test]
async fn an_end_by_a_signal_is_told_as_a_shell_tells_it() {
    let failure = Case::shell("kill -TERM $$").run("{}").await.unwrap_err();
    assert_eq!(failure.output.unwrap().exit, 128 + 15);
}

#[tokio::test]
async fn the_time_being_up_kills_the_whole_group() {
    let mut case = Case::shell("sleep 300 & echo $! > child; sleep 300");
    case.timeout = Duration::from_millis(500);
    let failure = case.run("{}").await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::TimedOut);
    assert!(ends(&number_in(&case.path().join("child")).await).await);
}

#[tokio::test]
async fn a_script_that_ignores_the_gentle_signals_is_killed_too() {
    let mut case = Case::shell("trap '' TERM INT HUP PIPE; while :; do sleep 1; done");
    case.timeout = Duration::from_millis(300);
    let started = Instant::now();
    assert_eq!(case.run("{}").await.unwrap_err().kind, FailureKind::TimedOut);
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn an_output_without_end_is_cut_at_the_bound_and_its_group_killed() {
    for stream in ["", ">&2"] {
        let text = format!("echo $$ > self; exec yes 0123456789012345678901234567890 {stream}");
        let case = Case::shell(&text);
        let before = peak_memory();
        let failure = case.run("{}").await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::OutputTooLarge);
        assert_eq!(failure.output, None);
        assert!(peak_memory() - before < 32 * 1024, "kilobytes");
        assert!(ends(&number_in(&case.path().join("self")).await).await);
    }
}

/// The most memory that this process ever had resident, in kilobytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn both_streams_share_one_bound_that_may_be_reached_and_not_passed() {
    let mut case = Case::shell("head -c 600 /dev/zero; head -c 400 /dev/zero >&2");
    case.maximum_output_bytes = 1000;
    let output = case.run("{}").await.unwrap();
    assert_eq!((output.stdout.len(), output.stderr.len()), (600, 400));
    case.maximum_output_bytes = 999;
    assert_eq!(case.run("{}").await.unwrap_err().kind, FailureKind::OutputTooLarge);
}

#[tokio::test]
async fn input_that_is_never_read_does_not_hold_the_call_up() {
    let input = format!(r#"{{"a":"{}"}}"#, "x".repeat(1_000_000));
    for text in ["exit 0", "exec 0<&-; sleep 0.2", "head -c 10 > /dev/null"] {
        let output = Case::shell(text).run(&input).await.unwrap();
        assert_eq!(output.exit, 0, "{text}");
    }
}

#[tokio::test]
async fn large_input_and_large_output_at_once_do_not_block_each_other() {
    let input = format!(r#"{{"a":"{}"}}"#, "x".repeat(900_000));
    let output = Case::shell("cat").run(&input).await.unwrap();
    assert_eq!(output.stdout.len(), input.len());
}

#[tokio::test]
async fn what_a_script_left_running_in_its_group_ends_with_it() {
    let case = Case::shell("sleep 300 & echo $!");
    let started = Instant::now();
    let output = case.run("{}").await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(10));
    let process = String::from_utf8(output.stdout).unwrap();
    assert!(ends(process.trim()).await);
}

#[tokio::test]
async fn a_grandchild_that_left_the_group_and_keeps_the_pipe_does_not_hang_the_call() {
    let case = Case::shell(
        "python3 -c 'import os,time\nif os.fork() == 0:\n os.setsid(); time.sleep(15)' ; echo done",
    );
    let started = Instant::now();
    let output = case.run("{}").await.unwrap();
    assert_eq!(output.stdout, b"done\n");
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn cancelling_kills_the_group() {
    let case = Case::shell("sleep 300 & echo $! > child; wait");
    let cancel = async {
        let process = number_in(&case.path().join("child")).await;
        case.cancellation.cancel();
        process
    };
    let (result, process) = tokio::join!(case.run("{}"), cancel);
    assert_eq!(result.unwrap_err().kind, FailureKind::Cancelled);
    assert!(ends(&process).await);
}

#[tokio::test]
async fn giving_the_call_up_kills_the_group() {
    let case = Case::shell("sleep 300 & echo $! > child; wait");
    let process = tokio::select! {
        process = number_in_of(&case) => process,
        _ = case.run("{}") => panic!("it ended by itself"),
    };
    assert!(ends(&process).await);
}

async fn number_in_of(case: &Case) -> String {
    number_in(&case.path().join("child")).await
}

#[tokio::test]
async fn a_result_that_is_no_text_is_unsupported() {
    let failure = Case::shell("printf '\\377\\376'").run("{}").await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::UnsupportedResult);
}

#[tokio::test]
async fn a_changed_file_is_never_run() {
    let case = Case::shell("echo fine");
    let file = case.path().join("scripts/run.sh");
    std::fs::write(&file, "touch marker").unwrap();
    let failure = case.run("{}").await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::InvalidContent);
    assert!(!case.path().join("marker").exists());
    std::fs::remove_file(&file).unwrap();
    assert_eq!(case.run("{}").await.unwrap_err().kind, FailureKind::InvalidContent);
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_behind_a_link_is_never_run() {
    let case = Case::shell("touch marker");
    let file = case.path().join("scripts/run.sh");
    std::fs::rename(&file, case.path().join("elsewhere.sh")).unwrap();
    std::os::unix::fs::symlink("../elsewhere.sh", &file).unwrap();
    assert_eq!(case.run("{}").await.unwrap_err().kind, FailureKind::InvalidContent);
    assert!(!case.path().join("marker").exists());
}

#[tokio::test]
async fn an_embedded_script_is_run_from_a_file_that_goes_with_the_call() {
    let mut case = Case::shell("");
    let text = Bytes::from_static(b"cat; echo \" $0\"");
    case.script = script("shell", ScriptSource::Embedded(text));
    let output = case.run("{}").await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let file = text.trim().strip_prefix("{} ").unwrap();
    assert!(!std::path::Path::new(file).exists());
}

#[tokio::test]
async fn a_program_that_is_gone_when_called_is_an_unavailable_runner() {
    let case = Case::shell("echo");
    let runner = skillpkg::runner::ProcessRunner::new("shell", vec!["sh".to_owned()], &[]);
    let failure = runner.run(case.context("{}")).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::RunnerUnavailable);
    assert!(failure.message.contains("not on your PATH"), "{failure}");
    assert!(sh().can_run(&case.script));
}
