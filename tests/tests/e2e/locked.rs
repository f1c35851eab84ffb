//! A lockfile that somebody else wrote: no entry of it is believed in part, in whatever mode, and
//! no host that it names is told a secret.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use skillpkg_tests::{Machine, TestContext};

/// Every way of the command to what a lockfile says.
const MODES: [&[&str]; 17] = [
    &["sync", "-y"],
    &["sync", "--frozen", "-y"],
    &["sync", "--check"],
    &["sync", "--offline", "-y"],
    &["install", "other", "-y"],
    &["install", "waitlist", "-y"],
    &["update", "-y"],
    &["remove", "waitlist"],
    &["list"],
    &["verify"],
    &["verify", "--offline"],
    &["verify", "--all"],
    &["audit"],
    &["activate", "waitlist", "-y"],
    &["deactivate", "waitlist"],
    &["call", "waitlist", "go", "-y"],
    &["inspect", "waitlist"],
];

/// A machine with `waitlist` installed in its project, the text of its lockfile, and `other` beside
/// it at the registry.
fn installed(context: &TestContext) -> (Machine, String) {
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "echo notes", Some("sh NOTES.md"));
    context.publish(&author, "other", "1.0.0", "notes", None);
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    let lock = machine.read("skillpkg.lock");
    (machine, lock)
}

fn without(lock: &str, field: &str) -> String {
    let start = format!("{field} = ");
    lock.split_inclusive('\n').filter(|line| !line.starts_with(&start)).collect()
}

#[test]
fn an_entry_without_a_part_or_with_a_source_too_many_is_refused_in_every_mode() {
    let context = TestContext::new();
    let (machine, lock) = installed(&context);
    let mut broken: Vec<(String, String)> = ["address", "archive", "key", "registry", "version"]
        .map(|field| (format!("without {field}"), without(&lock, field)))
        .into();
    let beside = |line: &str| lock.replacen("address = ", &format!("{line}\naddress = "), 1);
    broken.push(("a file beside".to_owned(), beside("file = \"w.skill.tar.zst\"")));
    broken.push(("another kind of address".to_owned(), lock.replace("= \"sha256:", "= \"md5:")));
    broken.push(("an empty key".to_owned(), {
        let key = lock.lines().find(|line| line.starts_with("key = ")).unwrap();
        lock.replace(key, "key = \"\"")
    }));
    for (what, text) in broken {
        assert_ne!(text, lock, "{what}");
        machine.write("skillpkg.lock", &text);
        let before = machine.picture();
        for arguments in MODES {
            let mut all = arguments.to_vec();
            all.extend(["--no-input", "--json"]);
            let answer = machine.run(&all);
            let told = format!("{what}: {arguments:?}: {} {}", answer.code, answer.stdout);
            assert_ne!(answer.code, 0, "{told}");
            assert!(answer.stdout.contains("lock_invalid"), "{told}");
            assert_eq!(machine.picture(), before, "{told}");
        }
    }
    machine.write("skillpkg.lock", &lock);
    machine.run(&["sync", "--frozen"]).succeeded();
}

/// A host that answers nothing of use, and remembers the heads of what it is sent.
fn listening() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let shared = Arc::clone(&heard);
    std::thread::spawn(move || {
        for peer in listener.incoming() {
            let Ok(mut peer) = peer else { return };
            let mut request = vec![0; 64 * 1024];
            let length = peer.read(&mut request).unwrap_or(0);
            shared.lock().unwrap().push(String::from_utf8_lossy(&request[..length]).into_owned());
            let _ = peer.write_all(
                b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            );
        }
    });
    (url, heard)
}

#[test]
fn a_registry_that_was_written_into_a_lockfile_is_refused_and_sent_no_token() {
    let context = TestContext::new();
    let (reader, lock) = installed(&context);
    let (attacker, heard) = listening();
    let edited = lock.replace(&context.registry.url(), &attacker);
    let project = reader.read("skillpkg.toml");
    let token = context.registry.add_user("victim");
    for (at, kept) in ["environment", "login"].into_iter().enumerate() {
        // On a machine that has the skill, and on one that has nothing.
        for (of, mut machine) in [("old", reader.clone()), ("new", context.machine("fresh"))] {
            machine.registry = None;
            let configuration = format!("registry = \"{}\"\n", context.registry.url());
            std::fs::write(&machine.configuration, configuration).unwrap();
            if kept == "environment" {
                machine.token = Some(token.clone());
            } else {
                machine.run_with_input(&["login"], &token).succeeded();
            }
            let clone = machine.in_project(&context.path(format!("clone-{of}-{at}")));
            clone.write("skillpkg.toml", &project);
            clone.write("skillpkg.lock", &edited);
            let before = clone.picture();
            for arguments in [&["sync", "-y"][..], &["sync", "--frozen", "-y"]] {
                let mut all = arguments.to_vec();
                all.extend(["--no-input", "--json"]);
                let answer = clone.run(&all).ended_with(5);
                assert_eq!(answer.error_code(), "registry_changed", "{of}: {arguments:?}");
                assert_eq!(clone.picture(), before, "{arguments:?}");
            }
            // An update resolves anew, where the user said.
            for arguments in MODES {
                clone.run(&[arguments, &["--no-input"][..]].concat());
            }
        }
    }
    assert_eq!(heard.lock().unwrap().len(), 0, "a host that only a lockfile names was asked");
    // Where the project names the host as well it is asked, as one that only a project names.
    let mut machine = context.machine("trusting");
    machine.registry = None;
    machine.token = Some(token.clone());
    machine.write("skillpkg.toml", &format!("registry = \"{attacker}\"\n{project}"));
    machine.write("skillpkg.lock", &edited);
    for arguments in MODES {
        assert_ne!(machine.run(&[arguments, &["--no-input"][..]].concat()).code, -1);
    }
    let heard = heard.lock().unwrap().clone();
    assert!(!heard.is_empty(), "nobody asked the host that the project names");
    for head in heard {
        assert!(!head.to_lowercase().contains("authorization"), "{head}");
        assert!(!head.contains(token.trim_start_matches("skp_")), "{head}");
    }
}
