//! A registry of a test's own.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::binary;

/// A registry process and its data. Ended when dropped.
#[derive(Debug)]
pub struct Registry {
    data: PathBuf,
    address: String,
    /// Further arguments of `serve`.
    arguments: Vec<String>,
    /// What every command of it finds in its environment.
    environment: Vec<(String, String)>,
    process: Option<Child>,
}

impl Registry {
    /// Starts one on the data at `data`, at a free port.
    pub fn start(data: &Path) -> Self {
        Self::start_with(data, &[])
    }

    /// As [`Registry::start`], with further arguments of `serve`.
    pub fn start_with(data: &Path, arguments: &[&str]) -> Self {
        Self::starting(data, arguments, &[])
    }

    /// Starts one that keeps what it keeps where `environment` says, as do all commands on it.
    pub fn start_over(data: &Path, environment: &[(&str, &str)]) -> Self {
        Self::starting(data, &[], environment)
    }

    fn starting(data: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let owned = |text: &str| text.to_owned();
        let mut registry = Self {
            data: data.to_owned(),
            address: "127.0.0.1:0".to_owned(),
            arguments: arguments.iter().copied().map(owned).collect(),
            environment: environment
                .iter()
                .map(|(name, value)| (owned(name), owned(value)))
                .collect(),
            process: None,
        };
        registry.resume();
        registry
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where its data lies.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Ends the process; the data stays.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Starts it again on its data, at the address that it had.
    pub fn resume(&mut self) {
        self.stop();
        let mut process = Command::new(binary("skillpkg-registry"))
            .args(["serve", "--listen", &self.address, "--data"])
            .arg(&self.data)
            .args(&self.arguments)
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the registry starts");
        let stdout = process.stdout.take().expect("its stdout is piped");
        let mut line = String::new();
        let mut stdout = BufReader::new(stdout);
        stdout.read_line(&mut line).unwrap();
        let Some(address) = line.trim().strip_prefix("listening on http://") else {
            let _ = process.kill();
            let mut told = String::new();
            let stderr = process.stderr.take().map(|mut stderr| stderr.read_to_string(&mut told));
            panic!("the registry did not start: {line:?} {told} {stderr:?}");
        };
        address.clone_into(&mut self.address);
        // Neither stream may fill up and hold it.
        let stderr = process.stderr.take().expect("its stderr is piped");
        std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
        std::thread::spawn(move || {
            std::io::copy(&mut BufReader::new(stderr), &mut std::io::sink())
        });
        self.process = Some(process);
    }

    /// Starts it again on its data, at the address that it had, with these further arguments of `serve`.
    pub fn resume_with(&mut self, arguments: &[&str]) {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self.resume();
    }

    /// Makes an account; answers with its token.
    pub fn add_user(&self, name: &str) -> String {
        self.command(&["user", "add", name])
    }

    /// Runs a command of the operator on this registry's data; answers with its stdout, trimmed.
    pub fn command(&self, arguments: &[&str]) -> String {
        let output = Command::new(binary("skillpkg-registry"))
            .args(arguments)
            .arg("--data")
            .arg(&self.data)
            .envs(self.environment.iter().cloned())
            .output()
            .expect("the registry's command runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "skillpkg-registry {arguments:?}: {told}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop();
    }
}
