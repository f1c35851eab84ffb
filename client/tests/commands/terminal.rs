//! A person at a terminal, who is asked for passphrases and sees none of them.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use crate::support::{BINARY, Machine, example};

/// A command at a terminal.
pub(crate) struct Session {
    keyboard: File,
    /// What is on the screen so far.
    screen: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
    /// The side of the command, which tells whether what is typed is shown.
    terminal: File,
    child: Child,
}

impl Session {
    pub(crate) fn start(machine: &Machine, arguments: &[&str]) -> Self {
        let pty = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&pty).unwrap();
        unlockpt(&pty).unwrap();
        let name = ptsname(&pty, Vec::new()).unwrap();
        let terminal = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap());
        let (terminal, keyboard) = (terminal.unwrap(), File::from(pty));
        let side = || Stdio::from(terminal.try_clone().unwrap());
        let mut command = machine.command(BINARY);
        let child = command.args(arguments).stdin(side()).stdout(side()).stderr(side());
        let child = child.spawn().unwrap();
        let screen: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (mut shown, seen) = (keyboard.try_clone().unwrap(), screen.clone());
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            // Where nobody has the other side open any more, reading ends with an error.
            while let Ok(read @ 1..) = shown.read(&mut piece) {
                seen.lock().unwrap().extend_from_slice(&piece[..read]);
            }
        });
        Self { keyboard, screen, reader, terminal, child }
    }

    /// The process.
    pub(crate) fn id(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// Whether what is typed is shown.
    pub(crate) fn shows_typing(&self) -> bool {
        tcgetattr(&self.terminal).unwrap().local_modes.contains(LocalModes::ECHO)
    }

    /// Waits until this is on the screen.
    pub(crate) fn sees(&self, text: &str) {
        let started = Instant::now();
        while !self.seen().contains(text) {
            assert!(started.elapsed() < Duration::from_mins(1), "{text}: {}", self.seen());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Types keys, whatever is asked.
    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// The exit code once it has ended.
    pub(crate) fn ended(&mut self) -> i32 {
        self.child.wait().unwrap().code().unwrap_or(-1)
    }

    pub(crate) fn seen(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().unwrap()).into_owned()
    }

    /// Types a line once this was asked so many times, and what is typed is not shown.
    pub(crate) fn answer(&mut self, question: &str, times: usize, line: &str) {
        let started = Instant::now();
        let is_shown =
            |terminal: &File| tcgetattr(terminal).unwrap().local_modes.contains(LocalModes::ECHO);
        while self.seen().matches(question).count() < times || is_shown(&self.terminal) {
            assert!(started.elapsed() < Duration::from_mins(1), "{question}: {}", self.seen());
            std::thread::sleep(Duration::from_millis(5));
        }
        self.keyboard.write_all(format!("{line}\r").as_bytes()).unwrap();
    }

    /// The exit code, and all that was on the screen.
    pub(crate) fn end(mut self) -> (i32, String) {
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        drop(self.terminal);
        self.reader.join().unwrap();
        (code, String::from_utf8_lossy(&self.screen.lock().unwrap()).into_owned())
    }
}

#[test]
fn a_person_is_asked_twice_for_a_new_passphrase_and_sees_neither() {
    let machine = Machine::new();
    let mut differs = Session::start(&machine, &["keygen", "--passphrase"]);
    differs.answer("New passphrase:", 1, "correct horse");
    differs.answer("The same again:", 1, "correct house");
    let (code, seen) = differs.end();
    assert_eq!(code, 2, "{seen}");
    assert!(seen.contains("not the same") && !seen.contains("correct"), "{seen}");
    assert!(!machine.home().join("keys").exists());

    let mut same = Session::start(&machine, &["keygen", "--passphrase"]);
    same.answer("New passphrase:", 1, "correct horsş\u{7f}e");
    same.answer("The same again:", 1, "correct horse");
    let (code, seen) = same.end();
    assert_eq!(code, 0, "{seen}");
    assert!(!seen.contains("correct"), "{seen}");

    let source = example("waitlist");
    let mut pack = Session::start(&machine, &["pack", &source, "-o", "a.zst"]);
    pack.answer("Passphrase of", 1, "wrong");
    pack.answer("Passphrase of", 2, "correct horse");
    let (code, seen) = pack.end();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("does not open this key"), "{seen}");

    let refused = Session::start(&machine, &["pack", &source, "-o", "a.zst", "--no-input"]);
    let (code, seen) = refused.end();
    assert_eq!(code, 2, "{seen}");
}

#[test]
fn a_person_without_a_key_is_asked_whether_one_is_to_be_made() {
    let machine = Machine::new();
    let source = example("release-notes");
    for (answer, code, is_made) in [("n", 1, false), ("y", 0, true)] {
        let mut session = Session::start(&machine, &["publish", &source, "--dry-run"]);
        session.sees("Make a signing key? [y/N] ");
        session.types(&format!("{answer}\r"));
        let (ended, seen) = session.end();
        assert_eq!(ended, code, "{seen}");
        assert_eq!(machine.home().join("keys/default.pem").exists(), is_made);
        assert!(is_made || seen.contains("`skillpkg keygen` makes one"), "{seen}");
    }
}
