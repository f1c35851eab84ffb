//! A machine of a test: a home, a user, a configuration and a project of its own.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use crate::{binary, hints, interruptible};

/// A machine on which `skillpkg` runs. Cheap to clone: a clone shares its directories.
#[derive(Debug, Clone)]
pub struct Machine {
    /// `$SKILLPKG_HOME`.
    pub home: PathBuf,
    /// `$HOME`.
    pub user_home: PathBuf,
    /// The configuration file, empty at first.
    pub configuration: PathBuf,
    /// The working directory, empty at first.
    pub project: PathBuf,
    /// The registry, in `$SKILLPKG_REGISTRY`.
    pub registry: Option<String>,
    /// The token, in `$SKILLPKG_TOKEN`.
    pub token: Option<String>,
}

/// What a run of `skillpkg` said.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The arguments.
    pub arguments: Vec<String>,
    /// The exit code; -1 where a signal ended it.
    pub code: i32,
    /// Its stdout.
    pub stdout: String,
    /// Its stderr.
    pub stderr: String,
}

impl Machine {
    /// A machine in `directory` that asks the registry at `registry`.
    pub fn new(directory: &Path, registry: String) -> Self {
        let at = |name: &str| directory.join(name);
        for name in ["user", "project"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::write(at("config.toml"), "").unwrap();
        // As the command sees it: with every link on the way resolved.
        let directory = directory.canonicalize().unwrap();
        let at = |name: &str| directory.join(name);
        Self {
            home: at("home"),
            user_home: at("user"),
            configuration: at("config.toml"),
            project: at("project"),
            registry: Some(registry),
            token: None,
        }
    }

    /// The same machine in another project.
    #[must_use]
    pub fn in_project(&self, directory: &Path) -> Self {
        fs::create_dir_all(directory).unwrap();
        Self { project: directory.canonicalize().unwrap(), ..self.clone() }
    }

    /// The command with these arguments, ready to be changed or started.
    pub fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        self.prepared(Command::new(binary("skillpkg")), arguments)
    }

    /// [`Machine::command`], which a signal interrupts whoever started the test.
    pub fn interruptible(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        self.prepared(interruptible(binary("skillpkg")), arguments)
    }

    fn prepared(&self, mut command: Command, arguments: &[impl AsRef<OsStr>]) -> Command {
        command
            .args(arguments)
            .current_dir(&self.project)
            .env_clear()
            .env("PATH", path_without_agents())
            .env("HOME", &self.user_home)
            .env("SKILLPKG_HOME", &self.home)
            .env("SKILLPKG_CONFIG", &self.configuration)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(registry) = &self.registry {
            command.env("SKILLPKG_REGISTRY", registry);
        }
        if let Some(token) = &self.token {
            command.env("SKILLPKG_TOKEN", token);
        }
        command
    }

    /// Runs `skillpkg` with these arguments to its end.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> Answer {
        let output = self.command(arguments).output().expect("skillpkg runs");
        let answer = Answer::of(arguments, &output);
        hints::check(&binary("skillpkg"), arguments, &answer.stderr);
        answer
    }

    /// Runs `skillpkg` with this on its stdin.
    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Answer {
        let mut child =
            self.command(arguments).stdin(Stdio::piped()).spawn().expect("skillpkg starts");
        let mut stdin = child.stdin.take().expect("its stdin is piped");
        // One that does not read all of it has ended, and says why.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        Answer::of(arguments, &child.wait_with_output().expect("skillpkg ends"))
    }

    /// Runs `skillpkg --json` with these arguments; its answer, whatever its exit code.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let mut all = arguments.to_vec();
        all.push("--json");
        self.run(&all).json()
    }

    /// The text of a file of the project.
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.project.join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Writes a file of the project.
    pub fn write(&self, path: impl AsRef<Path>, text: &str) {
        let path = self.project.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Every path of the project with what is there; a link shows what the `NOTES.md` behind it
    /// says.
    pub fn picture(&self) -> BTreeMap<String, String> {
        let mut picture = BTreeMap::new();
        let mut directories = vec![self.project.clone()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(&self.project).unwrap().to_string_lossy().into_owned();
                let metadata = path.symlink_metadata().unwrap();
                let what = if metadata.is_symlink() {
                    let notes = fs::read_to_string(path.join("NOTES.md"));
                    format!("link to {}", notes.unwrap_or_default())
                } else if metadata.is_dir() {
                    directories.push(path);
                    "directory".to_owned()
                } else {
                    String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()
                };
                picture.insert(name, what);
            }
        }
        picture
    }
}

/// PATH without the agents that whoever runs the tests has installed: they are not the machine's. A
/// directory that holds one is mirrored without it.
fn path_without_agents() -> &'static OsStr {
    static PATH: OnceLock<OsString> = OnceLock::new();
    PATH.get_or_init(|| {
        let agents = agent_programs();
        let directories = std::env::var_os("PATH").unwrap_or_default();
        let directories = std::env::split_paths(&directories).map(|directory| {
            let is_there = agents.iter().any(|program| directory.join(program).exists());
            if is_there { without(&directory, &agents) } else { directory }
        });
        std::env::join_paths(directories).expect("directories that were in PATH")
    })
}

/// The programs that the client's data file knows agents by.
fn agent_programs() -> Vec<&'static str> {
    let data = include_str!("../../client/src/agents/agents.toml");
    let lines = data.lines().filter_map(|line| line.strip_prefix("programs = "));
    lines.flat_map(|line| line.split('"').skip(1).step_by(2)).collect()
}

#[cfg(unix)]
fn without(directory: &Path, programs: &[&str]) -> PathBuf {
    let mirror = tempfile::tempdir().expect("a temporary directory").keep();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if !programs.iter().any(|program| entry.file_name() == *program) {
            let _ = std::os::unix::fs::symlink(entry.path(), mirror.join(entry.file_name()));
        }
    }
    mirror
}

#[cfg(not(unix))]
fn without(directory: &Path, _: &[&str]) -> PathBuf {
    directory.to_owned()
}

impl Answer {
    /// The answer of a process that ended.
    pub fn of(arguments: &[&str], output: &Output) -> Self {
        Self {
            arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Itself, where the exit code is 0.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "often only that it holds matters")]
    pub fn succeeded(self) -> Self {
        self.ended_with(0)
    }

    /// Itself, where the exit code is this one.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "often only that it holds matters")]
    pub fn ended_with(self, code: i32) -> Self {
        let Self { arguments, stdout, stderr, .. } = &self;
        let found = self.code;
        assert_eq!(found, code, "skillpkg {arguments:?}\n{stdout}\n{stderr}");
        self
    }

    /// Its stdout as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        let Self { arguments, stdout, stderr, .. } = self;
        serde_json::from_str(stdout)
            .unwrap_or_else(|error| panic!("skillpkg {arguments:?}: {error}\n{stdout}\n{stderr}"))
    }

    /// The code of the failure that it tells as JSON.
    #[track_caller]
    pub fn error_code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}
