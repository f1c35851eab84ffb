//! What end-to-end tests share: the two real binaries, a registry of one's own, machines that talk
//! to it.
//!
//! Everything of one test lies in one temporary directory, every server takes a free port, and a
//! server is ended by its process when the test lets go of it: tests run beside one another.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a test that cannot be set up ends"
)]

mod binaries;
mod clients;
pub mod held_rows;
pub mod hints;
mod interrupts;
pub mod issuer;
mod machine;
pub mod named_tests;
pub mod postgres;
mod prefixed;
mod registry;
mod relay;
pub mod s3;
mod skips;

pub use binaries::binary;
pub use clients::OtherClient;
pub use interrupts::interruptible;
pub use machine::{Answer, Machine};
pub use prefixed::Prefixed;
pub use registry::Registry;
pub use relay::relay;
pub use skips::skipped;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

/// One test: a registry, and any number of machines.
#[derive(Debug)]
pub struct TestContext {
    directory: TempDir,
    /// The registry, on an empty directory at first.
    pub registry: Registry,
}

impl TestContext {
    /// Starts a registry.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let registry = Registry::start(&directory.path().join("registry"));
        Self { directory, registry }
    }

    /// Starts a registry that keeps what it keeps where `environment` says.
    pub fn over(environment: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let registry = Registry::start_over(&directory.path().join("registry"), environment);
        Self { directory, registry }
    }

    /// A path of this test's own.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A machine without an account: a home, a user and a project of its own.
    pub fn machine(&self, name: &str) -> Machine {
        Machine::new(&self.directory.path().join(name), self.registry.url())
    }

    /// A machine of a new account of the same name, with a token and a signing key.
    pub fn author(&self, name: &str) -> Machine {
        let mut machine = self.machine(name);
        machine.token = Some(self.registry.add_user(name));
        machine.run(&["keygen"]).succeeded();
        machine
    }

    /// Another registry, and the machine of somebody who has an account and a signing key there.
    pub fn elsewhere(&self, name: &str) -> (Registry, Machine) {
        let registry = Registry::start(&self.path(format!("registry-of-{name}")));
        let mut machine = Machine::new(&self.path(name), registry.url());
        machine.token = Some(registry.add_user(name));
        machine.run(&["keygen"]).succeeded();
        (registry, machine)
    }

    /// Makes `account`, on the machine `other`, an owner of a skill: invited by `owner`, and accepted.
    pub fn share(&self, owner: &Machine, name: &str, (account, other): (&str, &Machine)) {
        owner.run(&["owner", "add", name, account]).succeeded();
        other.run(&["owner", "accept", name]).succeeded();
    }

    /// Publishes a skill whose `NOTES.md` says `notes`; `runs` is the run line of a tool of it.
    pub fn publish(
        &self,
        author: &Machine,
        name: &str,
        version: &str,
        notes: &str,
        runs: Option<&str>,
    ) {
        let bare = name.rsplit('/').next().unwrap_or(name);
        let source = tempfile::tempdir_in(self.directory.path()).expect("a temporary directory");
        write_skill(source.path(), bare, notes, runs);
        let source = source.path().to_str().expect("a path in UTF-8");
        author.run(&["publish", source, "--name", name, "--version", version]).succeeded();
    }

    /// Publishes an advisory that forbids a skill, or the versions that a requirement behind its
    /// name means, and waits until `reader` is told.
    pub fn forbid(&self, reader: &Machine, reference: &str, summary: &str) {
        let tell = ["advisory", "add", reference, "--effect", "forbid", "--summary", summary];
        self.registry.command(&tell);
        // The registry that serves learns within a second of what a command did beside it.
        let is_told = || reader.json(&["show", reference]).to_string().contains(summary);
        assert!((0..100).any(|_| is_told() || {
            std::thread::sleep(Duration::from_millis(100));
            false
        }));
    }
}

impl Default for TestContext {
    fn default() -> Self {
        Self::new()
    }
}

/// Copies everything beneath a directory.
pub fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_all(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Writes a small skill that includes `NOTES.md`, with a tool where `runs` gives its run line.
pub fn write_skill(directory: &Path, name: &str, notes: &str, runs: Option<&str>) {
    let tool = runs.map_or_else(String::new, |run| {
        format!("\n```tool\nid: go\ndescription: goes\nrun: {run}\n```\n")
    });
    let text = format!(
        "---\nskill: {name}\ndescription: A skill of a test.\nincludes: NOTES.md\n---\n\n\
         Read NOTES.md.\n{tool}"
    );
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join("SKILL.md"), text).unwrap();
    fs::write(directory.join("NOTES.md"), notes).unwrap();
}
