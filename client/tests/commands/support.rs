//! A machine of its own for one test, and a registry that answers what it is told to.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// A user, with a home, a configuration and a working directory beneath one temporary directory.
pub(crate) struct Machine {
    root: tempfile::TempDir,
    environment: Vec<(String, String)>,
}

/// What a run of the command came to.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The one JSON document on stdout.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }

    /// The stable code of a failure told as JSON.
    pub(crate) fn error_code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }

    /// Both streams and the exit code, for a snapshot.
    pub(crate) fn shown(&self) -> String {
        format!(
            "exit {}\n--- stdout\n{}\n--- stderr\n{}",
            self.code,
            self.stdout.trim_end(),
            self.stderr.trim_end()
        )
    }
}

impl Machine {
    pub(crate) fn new() -> Self {
        let root = tempfile::Builder::new().prefix("skillpkg-test-").tempdir().unwrap();
        std::fs::create_dir(root.path().join("work")).unwrap();
        Self { root, environment: Vec::new() }
    }

    /// A machine with a signing key.
    pub(crate) fn with_key() -> Self {
        let machine = Self::new();
        machine.ok(&["keygen", "-q"]);
        machine
    }

    /// The working directory.
    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// `$SKILLPKG_HOME`.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// Sets a variable for the runs that follow.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Writes a file beneath the working directory.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The command, not yet run.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = skillpkg_tests::interruptible(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.root.path().join("user"))
            .env("SKILLPKG_HOME", self.home())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.work())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the command.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let output = self.command(BINARY).args(arguments).output().unwrap();
        let ran = self.ran(&output);
        skillpkg_tests::hints::check(Path::new(BINARY), arguments, &ran.stderr);
        ran
    }

    /// Runs the command with this on stdin.
    pub(crate) fn run_with(&self, arguments: &[&str], stdin: &str) -> Ran {
        let mut command = self.command(BINARY);
        let mut child = command.args(arguments).stdin(Stdio::piped()).spawn().unwrap();
        // A command that reads nothing closes its end first.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        self.ran(&child.wait_with_output().unwrap())
    }

    /// Runs the command, which succeeds.
    pub(crate) fn ok(&self, arguments: &[&str]) -> Ran {
        let ran = self.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}\n{}", ran.shown());
        ran
    }

    /// What came out, with this machine's paths and every digest named instead of shown.
    pub(crate) fn ran(&self, output: &Output) -> Ran {
        let text = |bytes: &[u8]| {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            let text = text.replace(self.root.path().to_str().unwrap(), "[ROOT]");
            without_digests(&text.replace(examples().to_str().unwrap(), "[EXAMPLES]"))
        };
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

/// The command.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_skillpkg");

/// The directory of the example skills.
pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("examples")
}

/// One example's directory.
pub(crate) fn example(name: &str) -> String {
    examples().join(name).to_str().unwrap().to_owned()
}

/// `text` with each run of 64 hexadecimal digits as `[DIGEST]`, and each of 16 as `[SHORT]`.
fn without_digests(text: &str) -> String {
    let mut shown = String::new();
    let mut digits = String::new();
    let flush = |digits: &mut String, shown: &mut String| {
        match digits.len() {
            64 => shown.push_str("[DIGEST]"),
            16 => shown.push_str("[SHORT]"),
            _ => shown.push_str(digits),
        }
        digits.clear();
    };
    for character in text.chars() {
        if matches!(character, '0'..='9' | 'a'..='f') {
            digits.push(character);
        } else {
            flush(&mut digits, &mut shown);
            shown.push(character);
        }
    }
    flush(&mut digits, &mut shown);
    shown
}

/// In the place of a status: the request is never answered.
pub(crate) const SILENT: &str = "silent";

/// A registry that answers by path, and remembers the heads of what it was asked.
pub(crate) struct Canned {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Canned {
    /// Answers a request whose path starts with one of these with its status, media type and body.
    pub(crate) fn start(answers: &[(&str, &str, &str, &str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let remembered = asked.clone();
        let answers: Vec<[String; 4]> = answers
            .iter()
            .map(|(path, status, kind, body)| [path, status, kind, body].map(|s| (*s).to_owned()))
            .collect();
        std::thread::spawn(move || {
            let mut waiting = Vec::new();
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default();
                let found = answers.iter().find(|answer| path.starts_with(&answer[0]));
                // Every registry answers what its log shows: this one keeps none.
                let absent = if path == "/v1/index" {
                    ["", "200 OK", "application/json", r#"{"documents":[],"missing":[]}"#]
                } else {
                    ["", "404 Not Found", "text/plain", ""]
                };
                let absent = absent.map(str::to_owned);
                let [_, status, kind, body] = found.unwrap_or(&absent);
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\
                     content-length: {}\r\n\r\n{body}",
                    body.len()
                );
                remembered.lock().unwrap().push(head);
                if status == SILENT {
                    // Open, so that whoever asked waits.
                    waiting.push(stream);
                    continue;
                }
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Self { url, asked }
    }

    /// The heads of the requests so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}
