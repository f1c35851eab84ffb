//! Objects in a bucket: a server that speaks the protocol of S3 over a socket, and buckets in it.
//!
//! The server is `s3s-fs`: not Amazon's, and small, but one that checks signatures and honours
//! conditional puts. It keeps objects as plain files, so that a test can lay hands on them.

mod faults;
mod objects;
mod process;

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use skillpkg_registry::data::Places;
use skillpkg_schema::Sha256Digest;
use tempfile::TempDir;

use crate::skips::skipped;

/// Where the buckets of this run are, in place of files beside the database: the server's URL.
const ENDPOINT: &str = "SKILLPKG_TEST_S3_ENDPOINT";
/// The directory of that server.
const DIRECTORY: &str = "SKILLPKG_TEST_S3_DIRECTORY";
/// The program of the server.
const PROGRAM: &str = "SKILLPKG_TEST_S3";
pub(crate) const KEY: &str = "test-key";
pub(crate) const SECRET: &str = "test-secret-that-nobody-may-see";

/// A server, ended with the test.
pub(crate) struct S3Server {
    process: Child,
    pub(crate) address: String,
    pub(crate) directory: TempDir,
}

impl S3Server {
    /// Starts one; [`None`] where it is not installed, which is told.
    pub(crate) fn start(test: &str) -> Option<Self> {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/s3/bin/s3s-fs");
        let program = std::env::var_os(PROGRAM).map_or(beside, PathBuf::from);
        if !program.is_file() {
            skipped(test, "`s3s-fs`", true);
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        for _ in 0..5 {
            // The port is free now; where somebody takes it meanwhile, another is tried.
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let address = listener.local_addr().unwrap().to_string();
            drop(listener);
            let (host, port) = address.split_once(':').unwrap();
            let mut process = Command::new(&program)
                .args(["--host", host, "--port", port])
                .args(["--access-key", KEY, "--secret-key", SECRET])
                .arg(directory.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let deadline = Instant::now() + Duration::from_secs(20);
            while process.try_wait().unwrap().is_none() {
                if TcpStream::connect(&address).is_ok() {
                    return Some(Self { process, address, directory });
                }
                assert!(Instant::now() < deadline, "`s3s-fs` does not listen");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        panic!("`s3s-fs` does not start");
    }

    /// A new bucket; the directory of its objects.
    pub(crate) fn bucket(&self, name: &str) -> PathBuf {
        let bucket = self.directory.path().join(name);
        std::fs::create_dir_all(&bucket).unwrap();
        bucket
    }

    /// The environment of a process that is to find it.
    pub(crate) fn environment() -> [(&'static str, &'static str); 2] {
        [("AWS_ACCESS_KEY_ID", KEY), ("AWS_SECRET_ACCESS_KEY", SECRET)]
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where the registry of a directory keeps its objects: beside the database, or in a bucket of its
/// own, whose objects lie beside the database all the same.
pub(crate) fn places(directory: &Path) -> Places {
    let mut places = crate::on_postgres::places(directory);
    if let (Ok(endpoint), Some(root)) = (std::env::var(ENDPOINT), std::env::var_os(DIRECTORY)) {
        std::fs::create_dir_all(directory.join("objects")).unwrap();
        let objects = directory.join("objects").canonicalize().unwrap();
        let digits = Sha256Digest::of(objects.as_os_str().as_encoded_bytes()).to_string();
        let bucket = format!("of-{}", digits.split_at(40).0);
        let link = Path::new(&root).join(&bucket);
        if link.symlink_metadata().is_err() {
            link_directory(&objects, &link);
        }
        places.blobs = Some(format!("s3://{bucket}?endpoint={endpoint}").parse().unwrap());
    }
    places
}

/// The environment by which a process finds what [`places`] names.
pub(crate) fn variables(directory: &Path) -> Vec<(&'static str, String)> {
    if std::env::var_os(ENDPOINT).is_none() || !directory.exists() {
        return Vec::new();
    }
    let blobs = places(directory).blobs.unwrap().to_string();
    vec![("SKILLPKG_REGISTRY_BLOBS", blobs)]
}

#[cfg(unix)]
fn link_directory(to: &Path, link: &Path) {
    std::os::unix::fs::symlink(to, link).unwrap();
}

#[cfg(not(unix))]
fn link_directory(_: &Path, _: &Path) {
    panic!("the server of these tests runs on Unix alone");
}

/// Everything in this binary once more, with a bucket for each registry: the answers are the same.
///
/// What is left out is about files themselves, is such a run of another kind, or takes long and is
/// about requests alone.
#[test]
fn the_same_tests_pass_with_objects_in_a_bucket() {
    const BUT: &[&str] = &[
        "bucket::",
        "costly::",
        "disk::",
        "limits::",
        "on_postgres::",
        "paths::no_path_makes_the_server_open_a_file_outside_its_directory",
        "log_copies::objects_of_a_later_state",
        "log_large::",
        "rates::",
        "publish_crash::what_a_kill_has_left_in_the_storage_is_removed_once_it_is_old",
    ];
    let test = "the_same_tests_pass_with_objects_in_a_bucket";
    let Some(server) = S3Server::start(test) else { return };
    let but = BUT.iter().flat_map(|name| ["--skip", name]);
    let output = Command::new(std::env::current_exe().unwrap())
        .args(but)
        .env(ENDPOINT, format!("http://{}", server.address))
        .env(DIRECTORY, server.directory.path())
        .envs(S3Server::environment())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    let passed = told.lines().find_map(|line| line.strip_prefix("test result: ok. "));
    let passed = passed.and_then(|line| line.split_once(" passed")?.0.parse::<u32>().ok());
    assert!(passed.is_some_and(|passed| passed > 150), "{told}");
}
