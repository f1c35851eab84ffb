//! When the snapshots of this machine were published, as their registries said.

use serde::{Deserialize, Serialize};
use skillpkg_schema::ContentAddress;
use url::Url;

use super::State;
use super::document::Stored;
use crate::Error;
use crate::settings::registry_text;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Release {
    address: ContentAddress,
    registry: String,
    /// RFC 3339.
    published: String,
}

impl State {
    /// When `registry` said that the snapshot was published, RFC 3339; [`None`] where that was not
    /// noted, or by another registry.
    ///
    /// `snapshot` is a SHA-256 address.
    pub fn published(
        &self,
        registry: &Url,
        snapshot: &ContentAddress,
    ) -> Result<Option<String>, Error> {
        let release = self.release(snapshot).read::<Release>()?;
        // A file renamed by hand says nothing of another snapshot.
        let is_meant = |release: &Release| {
            release.address == *snapshot && release.registry == registry_text(registry)
        };
        Ok(release.filter(is_meant).map(|release| release.published))
    }

    /// Remembers when `registry` says that the snapshot was published. Atomic.
    pub fn remember_published(
        &self,
        registry: &Url,
        snapshot: &ContentAddress,
        published: &str,
    ) -> Result<(), Error> {
        let release = Release {
            address: *snapshot,
            registry: registry_text(registry).to_owned(),
            published: published.to_owned(),
        };
        Ok(self.release(snapshot).write(&release)?)
    }

    fn release(&self, snapshot: &ContentAddress) -> Stored {
        Stored::new(self.directory.join("releases").join(format!("{}.json", snapshot.hex())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillpkg_schema::Sha256Digest;

    #[test]
    fn a_release_is_of_one_snapshot_and_one_registry() {
        let home = tempfile::tempdir().unwrap();
        let state = State::new(home.path());
        let (here, there): (Url, Url) =
            ("http://127.0.0.1:1".parse().unwrap(), "http://127.0.0.1:2".parse().unwrap());
        let (first, second) = (Sha256Digest::of(b"1").address(), Sha256Digest::of(b"2").address());
        assert_eq!(state.published(&here, &first), Ok(None));
        state.remember_published(&here, &first, "2026-01-01T00:00:00Z").unwrap();
        let known = state.published(&here, &first).unwrap();
        assert_eq!(known.as_deref(), Some("2026-01-01T00:00:00Z"));
        assert_eq!(state.published(&there, &first), Ok(None));
        std::fs::copy(state.release(&first).path(), state.release(&second).path()).unwrap();
        assert_eq!(state.published(&here, &second), Ok(None));
    }
}
