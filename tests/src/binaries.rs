//! The binaries under test, built once for all tests that run.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A directory of binaries that are built already, in place of building them.
const VARIABLE: &str = "SKILLPKG_TEST_BINARIES";

/// The path of `skillpkg` or `skillpkg-registry`, built from this workspace in this profile.
pub fn binary(name: &str) -> PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(build).join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

fn build() -> PathBuf {
    if let Some(directory) = std::env::var_os(VARIABLE) {
        return directory.into();
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| workspace.join("target"), |directory| workspace.join(directory));
    fs::create_dir_all(&target).unwrap();
    // Processes of several test binaries take turns, and all but the first find it done.
    let lock = File::create(target.join("end-to-end.lock")).unwrap();
    lock.lock().unwrap();
    let (profile, directory) =
        if cfg!(debug_assertions) { ("dev", "debug") } else { ("release", "release") };
    let built = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--profile",
            profile,
            "-p",
            "skillpkg",
            "-p",
            "skillpkg-registry",
            // For its dependencies' features: see `Cargo.toml` of this package.
            "-p",
            "skillpkg-tests",
        ])
        .current_dir(&workspace)
        .status()
        .expect("cargo runs");
    assert!(built.success(), "the binaries could not be built");
    target.join(directory).canonicalize().expect("the binaries are there")
}
