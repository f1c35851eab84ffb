//! A `PostgreSQL` server of the tests' own.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The environment variable that names the directory of a server's socket: where it is set, every
/// registry of a test has a database there.
pub const SERVER: &str = "SKILLPKG_TEST_POSTGRES";

/// Where files lie in memory.
const MEMORY: &str = "/dev/shm";

/// The databases that this process has made, each with the directory that is gone once its test is.
static MADE: Mutex<Vec<(PathBuf, String)>> = Mutex::new(Vec::new());

/// A server, and its data; both are gone when it is dropped.
#[derive(Debug)]
pub struct Postgres {
    directory: tempfile::TempDir,
    programs: PathBuf,
    process: Child,
    arguments: Vec<String>,
}

impl Postgres {
    /// Starts one; [`None`] where its programs are not here. It loses what it holds in a crash of the
    /// machine, and nothing where it is killed alone.
    ///
    /// # Panics
    ///
    /// Where the programs are here, and do not do it.
    pub fn start() -> Option<Self> {
        let programs = programs()?;
        let mut builder = tempfile::Builder::new();
        builder.prefix("skpg");
        let made =
            if memory_holds(1 << 21) { builder.tempdir_in(MEMORY) } else { builder.tempdir() };
        let directory = made.expect("a directory");
        let data = directory.path().join("data");
        std::fs::create_dir(&data).expect("a directory");
        own(directory.path());
        own(&data);
        let mut initdb = unprivileged(&programs.join("initdb"));
        initdb.args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8"]);
        let made = initdb.args(["--no-sync", "-D"]).arg(&data).output().expect("initdb runs");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let socket = directory.path().to_str().expect("a temporary directory is text");
        let arguments = [
            "-c",
            "listen_addresses=",
            "-c",
            "fsync=off",
            "-c",
            "max_connections=300",
            "-c",
            "shared_buffers=64MB",
            "-c",
            "max_wal_size=4GB",
            "-k",
            socket,
        ];
        let arguments: Vec<String> = arguments.map(ToOwned::to_owned).to_vec();
        let process = spawn(&programs, &data, &arguments);
        let mut server = Self { directory, programs, process, arguments };
        server.until_up();
        psql(server.socket(), "CREATE DATABASE skillpkg");
        Some(server)
    }

    /// Where its socket is.
    pub fn socket(&self) -> &Path {
        self.directory.path()
    }

    /// The URL of one of its databases.
    pub fn url(&self, database: &str) -> String {
        url(self.socket(), database)
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        // Whoever serves a connection ends as well: `SIGQUIT` is what the server sends itself then.
        let process = self.process.id().to_string();
        let told = Command::new("kill").args(["-QUIT", &process]).status();
        assert!(told.expect("kill runs").success());
        let _ = self.process.wait();
    }

    /// Starts it again on what it has.
    pub fn resume(&mut self) {
        let data = self.directory.path().join("data");
        self.process = spawn(&self.programs, &data, &self.arguments);
        self.until_up();
    }

    fn until_up(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let mut asked = Command::new(self.programs.join("pg_isready"));
            asked.arg("-q").arg("-h").arg(self.directory.path());
            if asked.status().expect("pg_isready runs").success() {
                return;
            }
            if self.process.try_wait().expect("a child").is_some() || Instant::now() > deadline {
                let mut told = String::new();
                if let Some(stderr) = &mut self.process.stderr {
                    let _ = stderr.read_to_string(&mut told);
                }
                panic!("the server did not start: {told}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let process = self.process.id().to_string();
        let _ = Command::new("kill").args(["-INT", &process]).status();
        let _ = self.process.wait();
    }
}

/// The URL of the database of a registry whose data is at `data`, which is made where it is not there
/// yet; [`None`] where the tests use no server.
pub fn database_of(data: &Path) -> Option<String> {
    let socket = PathBuf::from(std::env::var_os(SERVER)?);
    let mut hasher = DefaultHasher::new();
    std::path::absolute(data).expect("a path").hash(&mut hasher);
    let database = format!("of_{:016x}", hasher.finish());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if !made.iter().any(|(_, other)| *other == database) {
        // Those of tests that have ended: there would be a gigabyte of them.
        made.retain(|(place, other)| {
            let is_there = place.exists();
            if !is_there {
                psql(&socket, &format!("DROP DATABASE IF EXISTS {other} WITH (FORCE)"));
            }
            is_there
        });
        psql(&socket, &format!("CREATE DATABASE {database} TEMPLATE skillpkg"));
        // The test's own directory, in which the data may come later.
        let place = data.ancestors().find(|place| place.exists()).unwrap_or(data);
        made.push((place.to_owned(), database.clone()));
    }
    drop(made);
    Some(url(&socket, &database))
}

fn url(socket: &Path, database: &str) -> String {
    format!("postgres:///{database}?host={}&user=postgres", socket.display())
}

fn psql(socket: &Path, statement: &str) {
    let mut psql = Command::new("psql");
    psql.args(["-X", "-q", "-U", "postgres", "-d", "postgres", "-c", statement]);
    let output = psql.arg("-h").arg(socket).stdin(Stdio::null()).output().expect("psql runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() || told.contains("already exists"), "{statement}: {told}");
}

/// Whether so many kibibytes are free in memory: a database is some hundred files, and most of what
/// it costs to make one is to make them.
fn memory_holds(kibibytes: u64) -> bool {
    let free = Command::new("df").args(["--output=avail", "-k", MEMORY]).output();
    let text = free.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let line = text.ok().and_then(|text| text.lines().nth(1).map(ToOwned::to_owned));
    line.and_then(|line| line.trim().parse::<u64>().ok()).is_some_and(|free| free > kibibytes)
}

/// Where the programs of the newest version are that is here.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let version = entry.file_name().to_str()?.parse().ok()?;
            let programs = entry.path().join("bin");
            programs.join("initdb").is_file().then_some((version, programs))
        })
        .collect();
    found.sort();
    found.pop().map(|(_, programs)| programs)
}

fn spawn(programs: &Path, data: &Path, arguments: &[String]) -> Child {
    let mut postgres = unprivileged(&programs.join("postgres"));
    postgres.args(arguments).arg("-D").arg(data);
    postgres.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    postgres.spawn().expect("the server starts")
}

/// Runs a program that ends with whoever started it, as the account of the server's package where
/// this one may do everything: the server refuses to.
fn unprivileged(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "INT"]);
    if is_root() {
        command.args(["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]);
    }
    command.arg(program).current_dir("/");
    command
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().expect("id runs");
    output.stdout.trim_ascii() == b"0"
}

fn own(directory: &Path) {
    if is_root() {
        let owned = Command::new("chown").arg("postgres").arg(directory).status();
        assert!(owned.expect("chown runs").success());
    }
}
