//! Tests of the five kinds, and of the six failures.

use std::path::Path;

use bytes::Bytes;
use skillpkg_schema::Sha256Digest;
use skillpkg_store::content::Store;

use super::*;

struct Case {
    directory: tempfile::TempDir,
    store: Store,
}

impl Case {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("home")).unwrap();
        Self { directory, store }
    }

    fn root(&self) -> &Path {
        self.directory.path()
    }

    async fn read(&self, resource: &Resource, limit: u64) -> Result<Bytes, ResourceFailure> {
        read(resource, &self.store, limit).await.map_err(|error| error.failure)
    }
}

#[tokio::test]
async fn content_that_is_held_or_made_is_handed_out_within_the_bound() {
    let case = Case::new();
    let resources = [
        Resource::inline("read_guide", "A guide.", "12345"),
        Resource::embedded("read_guide", "A guide.", b"12345"),
        Resource::delegate("read_guide", "A guide.", || async { Ok(Bytes::from("12345")) }),
    ];
    for resource in resources {
        assert_eq!(case.read(&resource, 5).await, Ok(Bytes::from("12345")));
        assert_eq!(case.read(&resource, 4).await, Err(ResourceFailure::ContentTooLarge));
    }
}

#[tokio::test]
async fn a_delegate_fails_with_its_reason() {
    let failing = Resource::delegate("read_guide", "A guide.", || async {
        Err(ResourceFailure::SourceUnavailable)
    });
    let error = read(&failing, &Case::new().store, 5).await.unwrap_err();
    assert_eq!(error.failure, ResourceFailure::SourceUnavailable);
    assert_eq!(error.to_string(), "the resource `read_guide`: where it comes from does not answer");
}

#[tokio::test]
async fn an_address_of_nothing_is_not_found_and_not_searched_for() {
    let absent = Resource::content("read_x", "X.", Sha256Digest::of(b"nowhere").address());
    assert_eq!(Case::new().read(&absent, 5).await, Err(ResourceFailure::NotFound));
}

#[tokio::test]
async fn a_file_beneath_its_root_is_read_and_no_other() {
    let case = Case::new();
    std::fs::create_dir(case.root().join("docs")).unwrap();
    std::fs::write(case.root().join("docs/guide.md"), "12345").unwrap();
    let file = |path: &str| Resource::file("read_guide", "A guide.", case.root(), path);
    assert_eq!(case.read(&file("docs/guide.md").unwrap(), 5).await, Ok(Bytes::from("12345")));
    let refused = [
        ("docs/guide.md", 4, ResourceFailure::ContentTooLarge),
        ("docs/absent.md", 5, ResourceFailure::NotFound),
        ("docs", 5, ResourceFailure::UnsupportedContent),
    ];
    for (path, limit, failure) in refused {
        assert_eq!(case.read(&file(path).unwrap(), limit).await, Err(failure), "{path}");
    }
    for path in ["/etc/passwd", "../guide.md", "docs/../../x", "docs//guide.md", ""] {
        assert_eq!(file(path).unwrap_err().failure, ResourceFailure::AccessDenied, "{path}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn no_link_is_followed_to_a_file() {
    let case = Case::new();
    std::fs::create_dir(case.root().join("real")).unwrap();
    std::fs::write(case.root().join("real/guide.md"), "secret").unwrap();
    std::os::unix::fs::symlink("real", case.root().join("linked")).unwrap();
    std::os::unix::fs::symlink("real/guide.md", case.root().join("link.md")).unwrap();
    for path in ["link.md", "linked/guide.md"] {
        let resource = Resource::file("read_guide", "A guide.", case.root(), path).unwrap();
        assert_eq!(case.read(&resource, 99).await, Err(ResourceFailure::AccessDenied), "{path}");
    }
}

#[tokio::test]
async fn neither_messages_nor_debug_text_hold_the_content() {
    let resource = Resource::inline("read_guide", "A guide.", "hunter2");
    let error = read(&resource, &Case::new().store, 1).await.unwrap_err();
    assert!(!format!("{resource:?} {error} {error:?}").contains("hunter2"));
}
