//! Where things are and which registry is asked: what the command takes from its flags, the
//! environment, the project's file and the user's configuration, in that order.

mod choice;
pub mod configuration;
mod project;
mod sources;

pub use choice::{UrlError, UrlOf, is_loopback, registry_text, registry_url};
pub use project::registry_of_project;
pub use sources::Sources;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use skillpkg_schema::Scope;
use skillpkg_schema::diagnostic::escape;
use skillpkg_store::content::Store;
use url::Url;
use zeroize::Zeroizing;

use crate::bundle::Carried;
use crate::mcp::Allowed;
use crate::policy::{PolicySource, machine_files};
use crate::registry::job::JobIdentity;

use crate::trust::RegistryTrust;
use crate::{Error, Kind};

/// Where the choice of a registry was made.
///
/// A token given in the environment is sent only to a registry that the user chose: a cloned
/// project's file can name a registry, and must not thereby receive the token of another
/// (CVE-2025-69262).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chosen {
    /// By the user: a flag, the environment, the user's configuration.
    ByUser,
    /// By the project's `skillpkg.toml`.
    ByProject,
}

/// A registry that is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryChoice {
    /// Its base URL, without a trailing `/`.
    pub url: Url,
    /// Who chose it.
    pub chosen: Chosen,
}

/// Everything that a run of the library depends on outside its arguments.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `$SKILLPKG_HOME`: the store, and beside it keys, credentials and state.
    pub home: PathBuf,
    /// The user's home directory, beneath which agents' global directories lie.
    pub user_home: PathBuf,
    /// The project: the nearest directory at or above the working directory that has a
    /// `skillpkg.toml`, else the working directory.
    pub project: PathBuf,
    /// The registry of names without a route of their own; [`None`] where none is configured.
    pub registry: Option<RegistryChoice>,
    /// The registry of the user's configuration, also where another is chosen: a project that names
    /// its own does not keep the user's from telling which keys were revoked.
    pub configured_registry: Option<Url>,
    /// Registries by name, of the user's configuration.
    pub registries: BTreeMap<String, Url>,
    /// Which registry a scope's names go to, of the user's configuration; they never go elsewhere.
    pub routes: BTreeMap<Scope, Url>,
    /// How a registry is connected to, where the user's configuration says more than its URL.
    pub connections: BTreeMap<Url, Connection>,
    /// A token given in the environment, for a registry [`Chosen::ByUser`].
    pub token: Option<String>,
    /// Where the environment says which job of a build service this is.
    pub job: Option<JobIdentity>,
    /// A PEM file given in the environment in place of the default key.
    pub key: Option<PathBuf>,
    /// Where the environment says that the passphrase of a key is.
    pub key_passphrase: Option<PassphraseSource>,
    /// The commands of process runners by runtime, of the user's configuration, over the built-in
    /// ones.
    pub runners: BTreeMap<String, Vec<String>>,
    /// URLs of remote runners by runtime, of the user's configuration.
    pub remote_runners: BTreeMap<String, Url>,
    /// What hosts of `skillpkg mcp` may call without a question, of the user's configuration.
    pub allow: Vec<Allowed>,
    /// Directories of agents over those of the data file, of the user's configuration.
    pub agents: BTreeMap<String, AgentDirectories>,
    /// The agents that skills are placed for where neither a flag nor the project names any, of the
    /// user's configuration.
    pub use_agents: Vec<String>,
    /// The configuration file that was read, if there was one.
    pub configuration: Option<PathBuf>,
    /// The directories of PATH, in order.
    pub path: Vec<PathBuf>,
    /// The environment that a skill's requirements are checked against and that its programs get.
    pub environment: BTreeMap<String, String>,
    /// Where policies lie, beside that of the project. The machine's is among them from the start:
    /// who embeds this library is ruled as the command is.
    pub policies: Vec<PolicySource>,
    /// Never asks a network.
    pub offline: bool,
    /// What is said of the logs and the mirrors of registries, of the user's configuration.
    pub trust: BTreeMap<Url, RegistryTrust>,
    /// Whether the log of a registry that was never asked before is believed to be its own where
    /// nothing says which it is.
    pub trust_on_first_use: bool,
    /// Changes nothing beneath [`Settings::home`]: neither what registries say nor what turns out to
    /// be damaged is remembered. For commands that only look.
    pub looks_only: bool,
    /// Stands in for every registry where it is there.
    pub bundle: Option<Arc<Carried>>,
}

impl Settings {
    /// The store, made where it is absent.
    ///
    /// Of settings that only look, one that is only looked at, and an error where there is none.
    pub(crate) fn store(&self) -> Result<Store, Error> {
        if !self.looks_only {
            return Ok(Store::open(&self.home)?);
        }
        Store::look(&self.home)?.ok_or_else(|| {
            let home = escape(&self.home.to_string_lossy());
            let message = format!("there is no store in `{home}` yet");
            Error::new(Kind::Failed, "no_store", message)
                .with_hint("`skillpkg sync` brings what the lockfile names")
        })
    }

    /// Whether nothing can be written beneath [`Settings::home`], which is there, or nothing is to
    /// be.
    pub(crate) fn is_read_only(&self) -> bool {
        if self.looks_only {
            return true;
        }
        #[cfg(unix)]
        {
            use rustix::fs::{Access, access};
            let refused = access(&self.home, Access::WRITE_OK).err();
            refused.is_some_and(|error| {
                matches!(error, rustix::io::Errno::ACCESS | rustix::io::Errno::ROFS)
            })
        }
        #[cfg(not(unix))]
        {
            self.home.metadata().is_ok_and(|metadata| metadata.permissions().readonly())
        }
    }

    /// Settings with a store at `home` and nothing configured.
    pub fn new(home: PathBuf, user_home: PathBuf, project: PathBuf) -> Self {
        Self {
            home,
            user_home,
            project,
            registry: None,
            configured_registry: None,
            registries: BTreeMap::new(),
            routes: BTreeMap::new(),
            connections: BTreeMap::new(),
            token: None,
            job: None,
            key: None,
            key_passphrase: None,
            runners: BTreeMap::new(),
            remote_runners: BTreeMap::new(),
            allow: Vec::new(),
            agents: BTreeMap::new(),
            use_agents: Vec::new(),
            configuration: None,
            path: Vec::new(),
            environment: BTreeMap::new(),
            policies: machine_files(),
            offline: false,
            trust: BTreeMap::new(),
            trust_on_first_use: true,
            looks_only: false,
            bundle: None,
        }
    }

    /// A variable of the environment that programs get.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let mut known = self.environment.iter();
        known.find(|(known, _)| is_same_variable(known, name)).map(|(_, value)| value.as_str())
    }
}

/// What never reaches a skill: the registry token, what says which job this is, the signing key and
/// what opens it, and the token of a server of ours.
pub(crate) const WITHHELD: [&str; 8] = [
    "SKILLPKG_TOKEN",
    "SKILLPKG_OIDC_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_URL",
    "SKILLPKG_KEY",
    "SKILLPKG_KEY_PASSPHRASE",
    "SKILLPKG_KEY_PASSPHRASE_FILE",
    "SKILLPKG_MCP_TOKEN",
];

/// Whether two names are of one environment variable: on Windows case makes no difference, and
/// `PATH` is mostly written `Path` there.
pub(crate) fn is_same_variable(left: impl AsRef<OsStr>, right: &str) -> bool {
    let left = left.as_ref();
    if cfg!(windows) { left.eq_ignore_ascii_case(right) } else { left == right }
}

/// Where the passphrase of a signing key is.
#[derive(Clone)]
pub enum PassphraseSource {
    /// It is this text.
    Text(Zeroizing<String>),
    /// It is the one line of this file.
    File(PathBuf),
}

impl fmt::Debug for PassphraseSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Text(…)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

/// How a registry is connected to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Connection {
    /// A PEM file of certificates that are trusted beside the system's.
    pub ca: Option<PathBuf>,
    /// An HTTP proxy. None is ever taken from the environment.
    pub proxy: Option<Url>,
}

/// Where one agent looks for skills, as a user's configuration gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDirectories {
    /// Relative to a project.
    pub project: Option<String>,
    /// Relative to the user's home directory, or absolute.
    pub global: Option<String>,
}
