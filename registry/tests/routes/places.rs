//! Where a registry keeps what it keeps, and what is refused before anything of it is made.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use skillpkg_registry::data::{Data, Places};

use crate::commands::Serving;
use crate::support::{Skill, TestRegistry, client, json};

fn registry(arguments: &[&str], data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skillpkg-registry"));
    command.args(arguments).arg("--data").arg(data).stdin(Stdio::null());
    for variable in [
        "RUST_LOG",
        "SKILLPKG_REGISTRY_DATA",
        "SKILLPKG_REGISTRY_DATABASE",
        "SKILLPKG_REGISTRY_BLOBS",
    ] {
        command.env_remove(variable);
    }
    command
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_address_in_use_is_told_before_anything_is_made_or_said() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap().to_string();
    for arguments in [
        &["serve", "--listen", &taken][..],
        &["serve", "--listen", "127.0.0.1:0", "--metrics-listen", &taken],
    ] {
        let output = registry(arguments, &data).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(told(&output).contains(&format!("listening on {taken}")), "{}", told(&output));
        assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
        assert!(!data.exists(), "{arguments:?}");
    }
}

#[tokio::test]
async fn a_registry_goes_with_the_blob_store_that_it_was_made_with() {
    let directory = tempfile::tempdir().unwrap();
    let (of_files, of_bucket) = (directory.path().join("files"), directory.path().join("bucket"));
    let with = |root: &Path, blobs: &str| Places {
        blobs: Some(blobs.parse().unwrap()),
        ..Places::from(root)
    };
    let one = "s3://one/registry?endpoint=http://127.0.0.1:9&region=eu-central-1";
    Data::open_or_create(&of_files).await.unwrap().note_blobs().unwrap();
    Data::open_or_create(with(&of_bucket, one)).await.unwrap().note_blobs().unwrap();
    for (root, asked, found) in [
        (&of_files, Some(one), "the directory `objects` in it"),
        (&of_bucket, None, "`s3://one/registry` at `http://127.0.0.1:9`"),
        (&of_bucket, Some("s3://one/registry"), "at `http://127.0.0.1:9`"),
        (&of_bucket, Some("s3://two/registry?endpoint=http://127.0.0.1:9"), "`s3://one/registry`"),
        (&of_bucket, Some("s3://one?endpoint=http://127.0.0.1:9"), "`s3://one/registry`"),
    ] {
        let places = || match asked {
            Some(asked) => with(root, asked),
            None => Places::from(root),
        };
        for refused in [Data::open(places()).await, Data::open_or_create(places()).await] {
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains(found) && refused.contains("`blob-store`"), "{refused}");
            let asked = asked.map_or("the directory `objects` in it", |_| "`s3://");
            assert!(refused.contains(asked), "{refused}");
        }
    }
    // Another region, credentials or patience are no other store.
    let same = "s3://one/registry?endpoint=http://127.0.0.1:9&timeout=3";
    drop(Data::open(with(&of_bucket, same)).await.unwrap());
    // Moved on purpose.
    std::fs::remove_file(of_bucket.join("blob-store")).unwrap();
    drop(
        Data::open_or_create(with(&of_bucket, "s3://two?endpoint=https://h.example"))
            .await
            .unwrap(),
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_directory_whose_path_is_no_text_holds_a_registry_as_any_other() {
    use std::os::unix::ffi::OsStrExt as _;
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9 %41"));
    let mut ana = TestRegistry::start().await.author("ana").await;
    let output = registry(&["user", "add", "ana"], &data).output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
    ana.token = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    for version in ["1.0.0", "1.1.0"] {
        let serving = Serving::of(&mut registry(&["serve", "--listen", "127.0.0.1:0"], &data));
        let log = client().get(format!("{}/v1/log", serving.url)).send().await.unwrap();
        let log: serde_json::Value = json(log, reqwest::StatusCode::OK).await;
        ana.identity = log["logs"][0]["origin"].as_str().unwrap().to_owned();
        let packed = Skill::new("open", version).pack(&ana);
        let publish = client().put(format!("{}{}", serving.url, packed.path()));
        let publish = ana.offer(publish.bearer_auth(&ana.token)).body(packed.archive.clone());
        assert_eq!(publish.send().await.unwrap().status(), 201);
        serving.kill();
    }
    let output = registry(&["verify"], &data).output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
    assert!(data.join("registry.db").is_file());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}
