//! Where a registry keeps what it keeps: what every command takes that reads or changes it.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::Args;
use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use skillpkg_registry::data::{Places, told};
use skillpkg_schema::diagnostic::escape;
use url::Url;

/// Where the registry keeps everything.
#[derive(Debug, Args)]
pub(super) struct Directory {
    /// The data directory
    #[arg(long, value_name = "DIR", env = "SKILLPKG_REGISTRY_DATA")]
    pub(super) data: PathBuf,
    #[command(flatten)]
    pub(super) elsewhere: Elsewhere,
}

/// What is kept elsewhere than in the data directory.
#[derive(Clone, clap::Args)]
pub(super) struct Elsewhere {
    /// A database server to use instead of a file in the data directory: `postgres://…`
    #[arg(
        long,
        value_name = "URL",
        env = "SKILLPKG_REGISTRY_DATABASE",
        hide_env_values = true,
        value_parser = Reads::DATABASE
    )]
    database: Option<Url>,
    /// An object store to use instead of files in the data directory: `s3://…`
    #[arg(
        long,
        value_name = "URL",
        env = "SKILLPKG_REGISTRY_BLOBS",
        hide_env_values = true,
        value_parser = Reads::BLOBS
    )]
    blobs: Option<Url>,
}

impl Directory {
    pub(super) fn places(&self) -> Places {
        self.elsewhere.places(self.data.clone())
    }
}

impl Elsewhere {
    /// With the data directory at `root`.
    pub(super) fn places(&self, root: PathBuf) -> Places {
        Places { root, database: self.database.clone(), blobs: self.blobs.clone() }
    }
}

/// Tells neither URL in full: each may hold a password.
impl std::fmt::Debug for Elsewhere {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (database, blobs) = (&self.database, &self.blobs);
        formatter
            .debug_struct("Elsewhere")
            .field("database", &database.as_ref().map(told))
            .field("blobs", &blobs.as_ref().map(told))
            .finish()
    }
}

/// Reads a URL of one of these schemes. What is wrong with it is told without it, where a password may
/// be: what clap says by itself repeats the whole.
#[derive(Clone)]
struct Reads {
    schemes: &'static [&'static str],
    example: &'static str,
}

impl Reads {
    const DATABASE: Self = Self {
        schemes: &["postgres", "postgresql"],
        example: "postgres://USER:PASSWORD@HOST/DATABASE",
    };
    const BLOBS: Self = Self { schemes: &["s3"], example: "s3://BUCKET/PREFIX" };

    fn read(&self, text: &str) -> Result<Url, String> {
        let Self { schemes, example } = self;
        match Url::parse(text) {
            Ok(url) if schemes.contains(&url.scheme()) => Ok(url),
            Ok(url) => Err(format!(
                "`{}:` is no scheme that is known here; expected `{example}`",
                escape(url.scheme())
            )),
            Err(error) => Err(format!("{error}; expected `{example}`")),
        }
    }
}

impl TypedValueParser for Reads {
    type Value = Url;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Url, clap::Error> {
        let read = match value.to_str() {
            Some(text) => self.read(text),
            None => Err(format!("it is no text; expected `{}`", self.example)),
        };
        read.map_err(|reason| {
            let name = argument.and_then(clap::Arg::get_long).unwrap_or_default();
            let message = format!("the value of `--{name}`: {reason}\n");
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn a_url_of_another_scheme_is_refused_with_the_form_that_is_expected() {
        let database = |text| Reads::DATABASE.read(text);
        assert!(database("postgres://ana@db.example.org/skills").is_ok());
        assert!(database("postgresql:///skills?host=/run/postgresql").is_ok());
        assert!(Reads::BLOBS.read("s3://skills/registry").is_ok());
        for text in ["mysql://ana:secret@host/skills", "skills.db", "", "postgres//x", "s3://x"] {
            let told = database(text).unwrap_err();
            assert!(told.contains("expected `postgres://"), "{text}: {told}");
            assert!(!told.contains("secret"), "{told}");
        }
        assert!(Reads::BLOBS.read("gs://skills").unwrap_err().contains("expected `s3://BUCKET"));
    }

    #[test]
    fn what_a_command_line_is_refused_with_tells_no_password() {
        #[derive(Debug, clap::Parser)]
        struct Line {
            #[command(flatten)]
            directory: Directory,
        }
        let line = |url| ["x", "--data", "d", "--database", url];
        let refused = Line::try_parse_from(line("mysql://ana:secret@host/x")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ValueValidation);
        let told = refused.to_string();
        assert!(told.contains("`--database`") && !told.contains("secret"), "{told}");
        let read = Line::try_parse_from(line("postgres://ana:secret@host/x")).unwrap();
        let told = format!("{read:?} {:?}", read.directory.places());
        assert!(told.contains("postgres://host/x") && !told.contains("secret"), "{told}");
    }
}
