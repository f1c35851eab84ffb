//! A script, and where its bytes are.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use skillpkg_schema::capability::{DEFAULT_MAXIMUM_OUTPUT_BYTES, DEFAULT_TIMEOUT};
use skillpkg_schema::contract::{Contract, ContractError};
use skillpkg_schema::manifest::ScriptEntry;
use skillpkg_schema::{ContentAddress, SkillPath};
use url::Url;

/// What is run, and by which kind of runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptReference {
    /// Which kind of runner it needs, such as `python`.
    pub runtime: String,
    /// Where its bytes are.
    pub source: ScriptSource,
}

/// Where the bytes of a script are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptSource {
    /// In the content store, under exactly this address.
    Content(ContentAddress),
    /// A file beneath a root: of an installed skill, the tree of its snapshot.
    File {
        /// The root.
        root: PathBuf,
        /// The file beneath it.
        path: SkillPath,
        /// What its bytes must be, where that is known.
        address: Option<ContentAddress>,
    },
    /// Compiled into the host.
    Embedded(Bytes),
    /// A job elsewhere, for a remote runner.
    Uri(Url),
}

/// A script that a call may run.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// The capability's name.
    pub name: String,
    /// What a model is told it does.
    pub description: String,
    /// What is run.
    pub reference: ScriptReference,
    /// What it takes.
    pub contract: Contract,
    /// Whether permission is asked before each call.
    pub requires_permission: bool,
    /// Longest run.
    pub timeout: Duration,
    /// Most bytes of output, standard output and standard error together.
    pub maximum_output_bytes: u64,
}

impl Script {
    /// A script of a host's own, with the bounds that a script has where none are named:
    /// permission asked at each call, [`DEFAULT_TIMEOUT`], [`DEFAULT_MAXIMUM_OUTPUT_BYTES`].
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        reference: ScriptReference,
        contract: Contract,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            reference,
            contract,
            requires_permission: true,
            timeout: DEFAULT_TIMEOUT,
            maximum_output_bytes: DEFAULT_MAXIMUM_OUTPUT_BYTES,
        }
    }

    /// The script that a manifest lists, of the snapshot whose tree is at `root`.
    ///
    /// Compiles its contract: a manifest that was verified holds none that fails.
    pub fn of_manifest(
        entry: &ScriptEntry,
        root: PathBuf,
        address: Option<ContentAddress>,
    ) -> Result<Self, ContractError> {
        Ok(Self {
            name: entry.name.clone(),
            description: entry.description.clone(),
            reference: ScriptReference {
                runtime: entry.runtime.clone(),
                source: ScriptSource::File { root, path: entry.path.clone(), address },
            },
            contract: Contract::compile(&entry.contract)?,
            requires_permission: entry.requires_permission,
            timeout: Duration::from_secs(entry.timeout_seconds),
            maximum_output_bytes: entry.maximum_output_bytes,
        })
    }
}
