//! A failure names what is wrong, and its advice is one that works.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use skillpkg_tests::{Answer, Machine, TestContext};

#[track_caller]
fn says(answer: &Answer, text: &str) {
    assert!(answer.stderr.contains(text), "{text:?} is not in: {}", answer.stderr);
}

fn published() -> TestContext {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.2.0", "notes", Some("sh NOTES.md"));
    context
}

/// Runs `skillpkg` where no byte can be written to any file, as on a full disk.
#[cfg(unix)]
fn run_where_nothing_can_be_written(machine: &Machine, arguments: &[&str]) -> Answer {
    let command = machine.command(arguments);
    let mut limited = std::process::Command::new("sh");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(&machine.project)
        .env_clear()
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(std::process::Stdio::null());
    Answer::of(arguments, &limited.output().unwrap())
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_no_reason_not_to_make_room() {
    let context = published();
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    machine.run(&["remove", "waitlist"]).succeeded();
    // The lock of a first collection is written here for the first time.
    let answer = run_where_nothing_can_be_written(&machine, &["gc"]).succeeded();
    assert!(answer.stdout.starts_with("removed 1 snapshot"), "{}", answer.stdout);
}

#[cfg(unix)]
#[test]
fn a_new_skill_that_cannot_be_written_leaves_nothing() {
    let context = TestContext::new();
    let machine = context.machine("author");
    let before = machine.picture();
    for arguments in [&["init", "deep/new", "--hard"][..], &["init", "--hard"]] {
        let answer = run_where_nothing_can_be_written(&machine, arguments).ended_with(1);
        says(&answer, "SKILL.md");
        assert_eq!(machine.picture(), before, "{arguments:?}");
    }
    machine.run(&["init", "deep/new", "--hard"]).succeeded();
    machine.run(&["check", "deep/new"]).succeeded();
}

#[test]
fn a_proxy_that_is_down_is_named() {
    let context = published();
    let mut machine = context.machine("reader");
    let url = machine.registry.take().unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let configure = |proxy: &str| {
        let text = format!(
            "registry = \"here\"\n[registries.here]\nurl = \"{url}\"\nproxy = \"{proxy}\"\n"
        );
        fs::write(&machine.configuration, text).unwrap();
    };
    configure(&format!("http://{closed}"));
    let answer = machine.run(&["search", "waitlist"]).ended_with(1);
    says(&answer, &format!("through the proxy at `http://{closed}`"));
    says(&answer, "is the proxy running");
    for (proxy, said) in [
        ("127.0.0.1:3128", "such as `http://proxy.example.com:3128`"),
        ("socks5://127.0.0.1:1", "is not a proxy's URL"),
        ("http://ben:secret@127.0.0.1:1", "a proxy's URL holds no user name and no password"),
    ] {
        configure(proxy);
        let answer = machine.run(&["search", "waitlist"]).ended_with(1);
        says(&answer, said);
        assert!(!answer.stderr.contains("login"), "{}", answer.stderr);
        assert!(!answer.stderr.contains("secret"), "{}", answer.stderr);
    }
}

#[test]
fn a_url_that_is_not_quite_the_registrys_is_doubted() {
    let context = published();
    let machine = context.machine("reader");
    let url = context.registry.url();
    let with_path = format!("{url}/v1");
    let answer = machine.run(&["search", "waitlist", "--registry", &with_path]).ended_with(1);
    says(&answer, &with_path);
    says(&answer, "Most have no path");
    let encrypted = url.replacen("http://", "https://", 1);
    let answer = machine.run(&["search", "waitlist", "--registry", &encrypted]).ended_with(1);
    says(&answer, &format!("is its URL `{url}`?"));
}

#[test]
fn what_answers_in_a_registrys_place_is_told_with_what_to_do() {
    let context = TestContext::new();
    let machine = context.machine("reader");
    for (status, said) in [
        ("502 Bad Gateway", "what stands before the registry does not reach it"),
        ("500 Internal Server Error", "the registry's log says why"),
        ("413 Payload Too Large", "lets no more bytes through"),
        ("407 Proxy Authentication Required", "asks for a user name and a password"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let head = "content-type: text/html\r\ncontent-length: 0\r\nconnection: close";
            let _ = write!(stream, "HTTP/1.1 {status}\r\n{head}\r\n\r\n");
        });
        let answer = machine.run(&["search", "waitlist", "--registry", &url]).ended_with(1);
        says(&answer, said);
        server.join().unwrap();
    }
}

#[cfg(unix)]
#[test]
fn activating_tells_what_is_missing_by_now() {
    let context = published();
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    machine.run(&["activate", "waitlist"]).succeeded();
    let mut command = machine.command(&["activate", "waitlist"]);
    let output = command.env("PATH", &machine.project).output().unwrap();
    let answer = Answer::of(&["activate"], &output).ended_with(4);
    says(&answer, "this needs sh, which is not on your PATH");
}

#[cfg(unix)]
#[test]
fn the_advice_on_a_link_that_was_lost_or_replaced_works() {
    let context = published();
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    let link = machine.project.join(".agents/skills/waitlist");
    fs::remove_file(&link).unwrap();
    let answer = machine.run(&["verify"]).ended_with(6);
    says(&answer, "`skillpkg sync` places what is missing");
    machine.run(&["sync"]).succeeded();
    machine.run(&["verify"]).succeeded();

    fs::remove_file(&link).unwrap();
    fs::create_dir(&link).unwrap();
    let answer = machine.run(&["verify"]).ended_with(6);
    says(&answer, "move what stands in a link's place away, then run `skillpkg sync`");
    fs::remove_dir(&link).unwrap();
    machine.run(&["sync"]).succeeded();

    machine.run(&["install", "waitlist", "--copy", "-y"]).succeeded();
    fs::write(link.join("NOTES.md"), "mine").unwrap();
    let answer = machine.run(&["verify"]).ended_with(6);
    says(&answer, "`skillpkg sync --discard-edits`");
    machine.run(&["sync", "--discard-edits"]).succeeded();
    machine.run(&["verify"]).succeeded();
}

#[test]
fn completions_are_a_document_where_one_is_asked_for() {
    let context = TestContext::new();
    let machine = context.machine("reader");
    let plain = machine.run(&["completions", "bash"]).succeeded();
    let told = machine.json(&["completions", "bash"]);
    assert_eq!(told["shell"], "bash");
    assert_eq!(told["script"].as_str(), Some(plain.stdout.as_str()));
}

#[test]
fn an_archive_cannot_be_written_in_a_directorys_place() {
    let context = TestContext::new();
    let author = context.author("ada");
    author.run(&["init", "new"]).succeeded();
    let answer = author.run(&["pack", "new", "-o", "new"]).ended_with(1);
    says(&answer, "it is a directory, and an archive is a file");
    author.run(&["pack", "new", "-o", "new/new.skill.tar.zst"]).succeeded();
    let answer = author.run(&["pack", "new", "-o", "none/new.skill.tar.zst"]).ended_with(1);
    says(&answer, "none: there is no such directory");
}
