//! A server of the tests' own that speaks the protocol of S3.
//!
//! The server is `s3s-fs`: not Amazon's, and small, but one that checks signatures and honours
//! conditional puts. It keeps objects as plain files, so that a test can lay hands on them.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::skipped;

/// The environment variable that names the program of the server.
const PROGRAM: &str = "SKILLPKG_TEST_S3";
/// The id of the one key that it knows.
pub const KEY: &str = "test-key";
/// That key.
pub const SECRET: &str = "test-secret-that-nobody-may-see";

/// A server, ended with the test.
#[derive(Debug)]
pub struct S3Server {
    process: Child,
    /// Its address and port.
    pub address: String,
    /// Where it keeps its buckets.
    pub directory: TempDir,
}

impl S3Server {
    /// Starts one; [`None`] where it is not installed, which is told.
    ///
    /// # Panics
    ///
    /// Where it is installed, and does not start.
    pub fn start(test: &str) -> Option<Self> {
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
    ///
    /// # Panics
    ///
    /// Where it cannot be made.
    pub fn bucket(&self, name: &str) -> PathBuf {
        let bucket = self.directory.path().join(name);
        std::fs::create_dir_all(&bucket).unwrap();
        bucket
    }

    /// The environment of a process that is to find it.
    pub fn environment() -> [(&'static str, &'static str); 2] {
        [("AWS_ACCESS_KEY_ID", KEY), ("AWS_SECRET_ACCESS_KEY", SECRET)]
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
