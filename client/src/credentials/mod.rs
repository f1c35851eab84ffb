//! Tokens kept on this machine, each for one registry.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use url::Url;

use crate::private_file;
use crate::settings::registry_text;
use crate::{Error, Kind};

/// The format that this version reads and writes.
const VERSION: u64 = 1;
/// Most bytes of the file.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// `credentials.toml` beneath a home: tokens by registry URL, read and written by its owner alone.
#[derive(Debug, Clone)]
pub struct Credentials {
    path: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
struct Kept {
    version: u64,
    #[serde(default)]
    tokens: BTreeMap<String, String>,
}

impl Credentials {
    /// The credentials beneath `home`; nothing is read yet.
    pub fn new(home: &Path) -> Self {
        Self { path: home.join("credentials.toml") }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file can be read, where there is one.
    pub fn check(&self) -> Result<(), Error> {
        self.read().map(drop)
    }

    /// The token that was kept for exactly this URL.
    pub fn token(&self, registry: &Url) -> Result<Option<String>, Error> {
        Ok(self.read()?.tokens.remove(registry_text(registry)))
    }

    /// Keeps a token for a registry, in place of the one before.
    ///
    /// The file is replaced whole, a link in its place too, and is never readable by others: a
    /// crash leaves the old file or the new one.
    pub fn keep(&self, registry: &Url, token: &str) -> Result<(), Error> {
        let mut kept = self.read()?;
        kept.tokens.insert(registry_text(registry).to_owned(), token.to_owned());
        self.write(&kept)
    }

    /// Forgets the token for a registry; whether there was one.
    ///
    /// A crash leaves the old file or the new one.
    pub fn forget(&self, registry: &Url) -> Result<bool, Error> {
        let mut kept = self.read()?;
        if kept.tokens.remove(registry_text(registry)).is_none() {
            return Ok(false);
        }
        self.write(&kept)?;
        Ok(true)
    }

    fn read(&self) -> Result<Kept, Error> {
        #[derive(Deserialize)]
        struct OnlyVersion {
            version: u64,
        }
        let file = match crate::regular_file::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Kept { version: VERSION, ..Kept::default() });
            }
            Err(error) => return Err(self.failed("credentials_unreadable", error.to_string())),
        };
        let mut text = String::new();
        file.take(MAX_FILE_BYTES)
            .read_to_string(&mut text)
            .map_err(|error| self.failed("credentials_unreadable", error.to_string()))?;
        // The parser's message would show the line, and with it the token.
        let damaged = || {
            self.failed("credentials_unreadable", "it is damaged".to_owned())
                .with_hint("remove it and run `skillpkg login` again")
        };
        let OnlyVersion { version } = toml::from_str(&text).map_err(|_| damaged())?;
        if version != VERSION {
            let message = format!("it has format {version}; this version reads {VERSION}");
            return Err(self.failed("format_too_new", message).with_hint("update skillpkg"));
        }
        toml::from_str(&text).map_err(|_| damaged())
    }

    fn write(&self, kept: &Kept) -> Result<(), Error> {
        let text = toml::to_string(kept)
            .map_err(|error| self.failed("credentials_unwritable", error.to_string()))?;
        private_file::replace(&self.path, text.as_bytes())
            .map_err(|error| self.failed("credentials_unwritable", error.to_string()))
    }

    fn failed(&self, code: &str, message: String) -> Error {
        Error::new(Kind::Failed, code, message).in_file(self.path.to_string_lossy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::registry_url;

    #[test]
    fn a_token_is_kept_for_exactly_one_url() {
        let home = tempfile::tempdir().unwrap();
        let credentials = Credentials::new(&home.path().join("new"));
        let (one, other) = (registry_url("https://a.test/").unwrap(), "https://a.test:8443");
        let other = registry_url(other).unwrap();
        assert_eq!(credentials.token(&one), Ok(None));
        credentials.keep(&one, "skp_1").unwrap();
        credentials.keep(&other, "skp_2").unwrap();
        credentials.keep(&one, "skp_3").unwrap();
        assert_eq!(credentials.token(&one), Ok(Some("skp_3".to_owned())));
        assert_eq!(credentials.token(&other), Ok(Some("skp_2".to_owned())));
        assert_eq!(credentials.forget(&one), Ok(true));
        assert_eq!(credentials.forget(&one), Ok(false));
        assert_eq!(credentials.token(&one), Ok(None));
        let text = std::fs::read_to_string(credentials.path()).unwrap();
        assert_eq!(text, "version = 1\n\n[tokens]\n\"https://a.test:8443\" = \"skp_2\"\n");
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_its_owners_alone_and_a_link_is_not_written_through() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        let elsewhere = home.path().join("elsewhere");
        std::fs::write(&elsewhere, "version = 1\n").unwrap();
        let credentials = Credentials::new(home.path());
        std::os::unix::fs::symlink(&elsewhere, credentials.path()).unwrap();
        credentials.keep(&registry_url("https://a.test").unwrap(), "skp_1").unwrap();
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "version = 1\n");
        let metadata = std::fs::symlink_metadata(credentials.path()).unwrap();
        assert!(metadata.is_file());
        assert_eq!(metadata.permissions().mode() & 0o7777, 0o600);
    }

    #[test]
    fn no_message_shows_a_token_and_a_later_format_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let credentials = Credentials::new(home.path());
        let url = registry_url("https://a.test").unwrap();
        std::fs::write(credentials.path(), "version = 1\n[tokens]\n\"x\" = \"skp_secret\n")
            .unwrap();
        let error = credentials.token(&url).unwrap_err();
        assert_eq!(error.code, "credentials_unreadable");
        assert!(!error.to_string().contains("skp_secret"));
        std::fs::write(credentials.path(), "version = 2\n").unwrap();
        assert_eq!(credentials.token(&url).unwrap_err().code, "format_too_new");
        assert_eq!(credentials.keep(&url, "x").unwrap_err().code, "format_too_new");
    }
}
