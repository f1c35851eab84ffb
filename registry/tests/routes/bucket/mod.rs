//! Objects in a bucket: a server that speaks the protocol of S3 over a socket, and buckets in it.

mod faults;
mod objects;
mod process;

use std::path::Path;
use std::process::Command;

use skillpkg_registry::data::Places;
use skillpkg_schema::Sha256Digest;
pub(crate) use skillpkg_tests::s3::{KEY, S3Server, SECRET};

/// Where the buckets of this run are, in place of files beside the database: the server's URL.
const ENDPOINT: &str = "SKILLPKG_TEST_S3_ENDPOINT";
/// The directory of that server.
const DIRECTORY: &str = "SKILLPKG_TEST_S3_DIRECTORY";

/// Where the registry of a directory keeps its objects: beside the database, or in a bucket of its
/// own, whose objects lie beside the database all the same. One that a process has begun with files,
/// since its directory was not there yet, stays with them.
pub(crate) fn places(directory: &Path) -> Places {
    let mut places = crate::on_postgres::places(directory);
    let note = std::fs::read_to_string(directory.join("blob-store"));
    if note.is_ok_and(|note| !note.contains("s3://")) {
        return places;
    }
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
    let blobs = places(directory).blobs.map(|blobs| blobs.to_string());
    blobs.map(|blobs| ("SKILLPKG_REGISTRY_BLOBS", blobs)).into_iter().collect()
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
        "overtaken::a_se",
        "places::",
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
