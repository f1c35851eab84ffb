//! A failure names what is wrong, and its advice is one that works.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

#[cfg(target_os = "linux")]
use skillpkg_tests::skipped;
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

#[test]
fn an_option_that_is_none_is_not_offered_as_a_value_where_no_value_starts_so() {
    let context = TestContext::new();
    let machine = context.machine("reader");
    for arguments in
        [&["show", "waitlist", "-1"][..], &["update", "--jsn"], &["owner", "list", "-x"]]
    {
        let answer = machine.run(arguments).ended_with(2);
        assert!(!answer.stderr.contains("as a value, use"), "{}", answer.stderr);
    }
    says(&machine.run(&["search", "-1"]).ended_with(2), "as a value, use");
}

#[cfg(target_os = "linux")]
#[test]
fn what_only_looks_works_in_a_home_that_cannot_be_written() {
    let test = "what_only_looks_works_in_a_home_that_cannot_be_written";
    let context = published();
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    let before = machine.picture();
    // A file system of its own for what is run, in which the home cannot be written.
    let mount = "mount --bind \"$SKILLPKG_HOME\" \"$SKILLPKG_HOME\" && \
                 mount -o remount,bind,ro \"$SKILLPKG_HOME\"";
    let run = |arguments: &[&str]| {
        let command = machine.command(arguments);
        let mut inside = std::process::Command::new("unshare");
        inside.args(["-rm", "sh", "-c", &format!("{mount} && exec \"$@\""), "sh"]);
        inside.arg(command.get_program()).args(command.get_args());
        inside.current_dir(&machine.project).env_clear();
        inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Answer::of(arguments, &inside.stdin(std::process::Stdio::null()).output().unwrap())
    };
    if run(&["--version"]).code != 0 {
        return skipped(test, "the right to mount in a namespace of its own", false);
    }
    for arguments in [
        &["sync", "--check"][..],
        &["verify"],
        &["show", "waitlist"],
        &["list"],
        &["audit"],
        &["search", "waitlist"],
    ] {
        run(arguments).succeeded();
    }
    let called = run(&["call", "waitlist", "none", "--json"]).ended_with(1);
    assert_eq!(called.error_code(), "capability_not_found");
    let refused = run(&["remove", "waitlist"]).ended_with(1);
    says(&refused, &machine.home.to_string_lossy());
    assert_eq!(machine.picture(), before);
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_done_is_told_where_nobody_can_be_told_what() {
    let context = published();
    let machine = context.machine("reader");
    let run = |arguments: &[&str]| {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = machine.command(arguments).stdout(full).output().unwrap();
        Answer::of(arguments, &output).ended_with(1)
    };
    says(&run(&["install", "waitlist", "-y"]), "what was asked for is done all the same");
    says(&machine.run(&["install", "waitlist"]).succeeded(), "`waitlist` stays at 1.2.0");
    let told = run(&["list"]).stderr;
    assert!(!told.contains("done all the same"), "{told}");
    says(&run(&["remove", "waitlist"]), "what was asked for is done all the same");
}

#[test]
fn faults_of_configuration_are_told_with_their_place() {
    let context = published();
    let mut machine = context.machine("reader");
    let url = machine.registry.take().unwrap();
    let configured = |text: &str| {
        fs::write(&machine.configuration, text).unwrap();
        machine.run(&["install", "waitlist", "-y"])
    };
    let answer =
        configured(&format!("registry = \"{url}\"\n[agents]\nuse = [\n \"cloud-code\"]\n"));
    says(&answer.ended_with(2), "config.toml:4:2: no agent is known as `cloud-code`");
    let bare = url.trim_start_matches("http://");
    let answer = configured(&format!("\nregistry = \"{bare}\"\n")).ended_with(2);
    says(&answer, "config.toml:2:12: ");
    let answer = configured("[registries.here]\nurl = \"http://ada:secret@skills.test\"\n");
    says(&answer.ended_with(1), "config.toml:2:7: ");
    fs::write(&machine.configuration, format!("registry = \"{url}\"\n")).unwrap();
    machine.write("skillpkg.toml", "[skills]\nwaitlist = \"1\"\n[agents]\nuse = [\"codx\"]\n");
    says(&machine.run(&["sync", "-y"]).ended_with(2), "skillpkg.toml:4:8: no agent is known as");
    machine.write("skillpkg.toml", "[skills]\nwaitlist = \"1\"\nwaitlist = \"2\"\n");
    says(&machine.run(&["sync", "-y"]), "skillpkg.toml:3:1: the key `waitlist` is there twice");
}

#[test]
fn an_advisory_is_told_of_the_versions_that_it_is_about_with_what_is_left() {
    let context = published();
    let author = context.author("ben");
    context.publish(&author, "reports", "1.0.0", "notes", None);
    context.publish(&author, "reports", "1.1.0", "notes", None);
    let machine = context.machine("reader");
    context.forbid(&author, "reports@=1.1.0", "it sends mail");
    let shown = machine.run(&["show", "reports"]).succeeded().stdout;
    let line = |version: &str| {
        let start = format!("  {version}  ");
        shown.lines().find(|line| line.starts_with(&start)).unwrap().to_owned()
    };
    assert!(line("1.1.0").contains("forbidden by advisory"), "{shown}");
    assert!(!line("1.0.0").contains("forbidden"), "{shown}");
    let versions = &machine.json(&["show", "reports"])["versions"];
    assert!(versions[0].get("forbidden_by").is_none(), "{versions}");
    assert!(versions[1]["forbidden_by"][0].is_string(), "{versions}");
    let refused = machine.run(&["install", "reports@1.1", "-y"]).ended_with(5);
    says(&refused, "`skillpkg install reports@1.0.0` takes the newest that no advisory forbids");
    machine.run(&["install", "reports@1.0.0", "-y"]).succeeded();
    let refused = machine.run(&["bundle", "reports@=1.1.0"]).ended_with(5);
    says(&refused, "`skillpkg bundle reports@1.0.0` takes");
    context.forbid(&author, "reports@*", "it loses mail");
    let refused = machine.run(&["install", "reports@latest", "-y"]).ended_with(5);
    says(&refused, "nothing of `reports` is left to take instead");
    assert!(!refused.stderr.contains("skillpkg update"), "{}", refused.stderr);
}
