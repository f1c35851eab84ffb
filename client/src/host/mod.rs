//! What an agent host embeds: the active skills, their capabilities, and calls.
//!
//! ```
//! use skillpkg::host::{Arguments, Host, HostOptions, PermissionRequest};
//! use skillpkg_schema::skill::Answer;
//!
//! # use skillpkg::{Settings, state::{Active, State}};
//! # use skillpkg_schema::signature::SigningKey;
//! # use skillpkg_store::{content::Store, pack::{PackOptions, Packing}};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let at = |name: &str| directory.path().join(name);
//! # for name in ["home", "project", "skill"] { std::fs::create_dir(at(name))?; }
//! # std::fs::write(at("skill").join("SKILL.md"), "---\nskill: greeter\nversion: 1.0.0\n\
//! # description: Greets people.\n---\n\nGreet by name.\n\n```tool\nid: greet\n\
//! # description: greets\nparams:\n  name:\n    type: string\nrun: echo hello $name\n```\n")?;
//! # let packing = Packing::plan(&at("skill"), &PackOptions::default())?;
//! # let mut archive = Vec::new();
//! # packing.write(&packing.sign(&[SigningKey::generate()?]), &mut archive)?;
//! # let mut settings = Settings::new(at("home"), at("user"), at("project"));
//! # settings.path = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
//! # let (store, state) = (Store::open(&settings.home)?, State::new(&settings.home));
//! # let ingested = store.ingest(&store.lease()?, archive.as_slice(), None)?;
//! # let manifest = ingested.manifest;
//! # let key = ingested.envelope.key_ids().next().unwrap();
//! # let mut lock = skillpkg::project::LockFile::default();
//! # lock.insert(skillpkg::project::Locked {
//! #     name: manifest.name.clone(), version: manifest.version.clone(), key,
//! #     source: skillpkg::project::Source::File("greeter.skill.tar.zst".to_owned()),
//! #     address: ingested.address, archive: ingested.archive.sha256.address(), log_index: None,
//! # });
//! # std::fs::write(settings.project.join("skillpkg.lock"), lock.to_text())?;
//! # let (name, version, address) = (manifest.name, manifest.version, store.snapshots()?[0]);
//! # state.approve(&name, &version, &address, &Default::default(), &Default::default())?;
//! # let mut project = state.project(&settings.project)?;
//! # let placed_as = name.name().clone();
//! # project.active.push(Active { name, placed_as, version, address, key: None, proven: None, programs: Default::default() });
//! # state.set_project(&settings.project, &project)?;
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let host = Host::open(HostOptions::new(settings))?;
//! for skill in host.skills()? {
//!     println!("{}: {}", skill.name, skill.description);
//! }
//! let _tell_the_model = host.system_text("greeter")?;
//!
//! let answer = r#"{"tool": "greet", "args": {"name": "Ada; rm -rf /"}}"#;
//! if let Some(call) = host.resolve("greeter", Answer::Text(answer))? {
//!     let tool = call.tool.clone();
//!     let permission = |request: &PermissionRequest| request.approved;
//!     let outcome = host.call("greeter", &tool, &Arguments::from(call), &permission).await?;
//!     assert_eq!(outcome.stdout, b"hello Ada; rm -rf /\n");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok(())
//! # }
//! ```

mod active;
mod added;
mod arguments;
mod call;
mod calling;
mod capability;
mod contents;
mod environment;
mod error;
mod moment;
mod outcome;
mod permission;
mod snapshot;
mod verdicts;
mod workplace;

pub use active::ActiveSkill;
pub use arguments::Arguments;
pub use capability::{Capability, CapabilityKind};
pub use contents::{Contents, Each};
pub use error::CallError;
pub use outcome::{CallOptions, CallOutcome, Streams};
pub use permission::{Permission, PermissionRequest};

use std::collections::BTreeMap;
use std::path::PathBuf;

use bytes::Bytes;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::skill::{self, CatalogueEntry};
use skillpkg_schema::{ContentAddress, QualifiedName};
use skillpkg_store::content::Store;

use crate::policy::check_content;
use crate::resource::{self, Resource, ResourceError, ResourceFailure};
use crate::runner::RunnerSet;
use crate::state::State;
use crate::{Error, Kind, Settings};
pub use active::check_locked;
use added::{Added, name_taken};
use snapshot::Snapshot;

/// How a host is opened.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// Where things are.
    pub settings: Settings,
    /// The skills of all the user's projects, in place of those of the project.
    pub global: bool,
    /// The runners; [`None`] for those that the settings configure.
    pub runners: Option<RunnerSet>,
    /// Most bytes of a resource.
    pub maximum_resource_bytes: u64,
    /// Whether a host is refused where a script of an active skill has no runner, or more than one;
    /// a call of the script is in any case.
    pub check_runners: bool,
}

impl HostOptions {
    /// The project's skills, with the configured runners.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            global: false,
            runners: None,
            maximum_resource_bytes: resource::DEFAULT_MAXIMUM_BYTES,
            check_runners: true,
        }
    }
}

/// The active skills of one project, their capabilities, and calls of them.
///
/// Which skills are active is looked up at each question, so that a host sees what `skillpkg`
/// installs, activates and removes while it runs; one of which the project's lockfile says otherwise
/// is refused (`lock_outdated`). Whatever is handed out or run was re-hashed just
/// before. Everything here wants a Tokio runtime with its drivers on.
#[derive(Debug)]
pub struct Host {
    settings: Settings,
    root: PathBuf,
    store: Store,
    state: State,
    runners: RunnerSet,
    maximum_resource_bytes: u64,
    added: BTreeMap<QualifiedName, Added>,
}

impl Host {
    /// Opens the store and checks, unless told otherwise, that exactly one runner accepts each
    /// script of an active skill.
    pub fn open(options: HostOptions) -> Result<Self, Error> {
        let HostOptions { settings, global, runners, maximum_resource_bytes, check_runners } =
            options;
        let runners = match runners {
            Some(runners) => runners,
            None => RunnerSet::configured(&settings)?,
        };
        let root = if global { settings.home.join("global") } else { settings.project.clone() };
        let host = Self {
            store: settings.store()?,
            state: State::new(&settings.home),
            settings,
            root,
            runners,
            maximum_resource_bytes,
            added: BTreeMap::new(),
        };
        if check_runners {
            host.check_runners()?;
        }
        Ok(host)
    }

    fn check_runners(&self) -> Result<(), Error> {
        for active in self.state.project(&self.root)?.active {
            let snapshot = self.snapshot(&active)?;
            for script in snapshot.scripts()? {
                self.runners.select(&script).map_err(|error| {
                    let message = format!("`{}`: {error}", active.name);
                    Error::new(Kind::Requirement, "runner_unavailable", message)
                })?;
            }
        }
        Ok(())
    }

    /// The active skills, sorted by name. A skill that was installed and not activated is none, and
    /// one that a policy or an advisory forbids is left out: [`Host::forbidden_skills`] tells it.
    pub fn skills(&self) -> Result<Vec<ActiveSkill>, Error> {
        let judged = self.judged()?.into_iter();
        Ok(judged.filter(|(_, refusal)| refusal.is_none()).map(|(skill, _)| skill).collect())
    }

    /// The active skills that the policies of the machine, the user or the project forbid, or that
    /// an advisory does as far as this machine has heard, sorted by name, each with the refusal with which every question about it is answered.
    pub fn forbidden_skills(&self) -> Result<Vec<(ActiveSkill, Error)>, Error> {
        let judged = self.judged()?.into_iter();
        Ok(judged.filter_map(|(skill, refusal)| Some((skill, refusal?))).collect())
    }

    fn judged(&self) -> Result<Vec<(ActiveSkill, Option<Error>)>, Error> {
        let moment = self.moment()?;
        let judged = moment.active.iter().map(|active| {
            let snapshot = self.locked_snapshot(&moment, active)?;
            let refusal = self.judge(&moment, active, &snapshot).err();
            Ok((ActiveSkill::new(active, &snapshot.manifest), refusal))
        });
        judged.collect()
    }

    /// The capabilities of an active skill: its tools, resources and scripts, and what the host
    /// added to it.
    pub fn capabilities(&self, skill: &str) -> Result<Vec<Capability>, Error> {
        let snapshot = self.active_snapshot(skill)?;
        self.listed(&snapshot)
    }

    fn listed(&self, snapshot: &Snapshot) -> Result<Vec<Capability>, Error> {
        let added = self.added.get(&snapshot.manifest.name);
        let capabilities = capability::list(&snapshot.manifest, added);
        let twice = capabilities.iter().enumerate().find(|(position, one)| {
            capabilities.iter().skip(position + 1).any(|other| other.name == one.name)
        });
        match twice {
            Some((_, one)) => Err(name_taken(&snapshot.manifest.name, &one.name)),
            None => Ok(capabilities),
        }
    }

    /// The system text of an active skill, for a model without tool calling of its own: the prose,
    /// how to call, and the catalogue of tools and, behind them, of scripts.
    pub fn system_text(&self, skill: &str) -> Result<String, Error> {
        let snapshot = self.active_snapshot(skill)?;
        let scripts = self.listed(&snapshot)?.into_iter();
        let scripts = scripts.filter(|one| one.kind == CapabilityKind::Script);
        let catalogue: Vec<CatalogueEntry> =
            scripts.map(calling::catalogue_entry).collect::<Result<_, _>>()?;
        Ok(skill::compile_with(&snapshot.skill_file()?, &catalogue))
    }

    /// The prose of an active skill, for a model with tool calling of its own.
    pub fn prose(&self, skill: &str) -> Result<String, Error> {
        Ok(self.active_snapshot(skill)?.skill_file()?.rendered)
    }

    /// The content of a resource of an active skill, re-hashed just now.
    pub async fn read(&self, skill: &str, capability: &str) -> Result<Bytes, Error> {
        let snapshot = self.active_snapshot(skill)?;
        if let Some(entry) = snapshot.manifest.resources.iter().find(|one| one.name == capability) {
            return Ok(snapshot.resource(entry, self.maximum_resource_bytes)?);
        }
        let added = self.added.get(&snapshot.manifest.name);
        let added = added.into_iter().flat_map(|added| &added.resources);
        match added.into_iter().find(|one| one.name == capability) {
            Some(found) => {
                Ok(resource::read(found, &self.store, self.maximum_resource_bytes).await?)
            }
            None => Err(self.no_capability(&snapshot, capability, &[CapabilityKind::Resource])?),
        }
    }

    /// [`Host::read`] as text; content that is not UTF-8 is
    /// [`ResourceFailure::UnsupportedContent`].
    pub async fn read_text(&self, skill: &str, capability: &str) -> Result<String, Error> {
        let content = self.read(skill, capability).await?;
        let text = String::from_utf8(content.into())
            .map_err(|_| ResourceError::new(capability, ResourceFailure::UnsupportedContent))?;
        Ok(text)
    }

    /// The content of the store at exactly this address, of at most `limit` bytes, re-hashed just
    /// now. It is looked for nowhere else.
    ///
    /// Where a policy rules skills, an installed skill that it allows must have it.
    pub async fn read_address(&self, address: &ContentAddress, limit: u64) -> Result<Bytes, Error> {
        check_content(&self.policy()?, &self.settings, &self.root, &self.store, address)?;
        let resource = Resource::content(address.to_string(), "", *address);
        Ok(resource::read(&resource, &self.store, limit).await?)
    }

    /// What to say where a skill has no such capability of the kinds wanted.
    fn no_capability(
        &self,
        snapshot: &Snapshot,
        name: &str,
        wanted: &[CapabilityKind],
    ) -> Result<Error, Error> {
        let capabilities = self.listed(snapshot)?;
        let skill = &snapshot.manifest.name;
        if let Some(other) = capabilities.iter().find(|one| one.name == name) {
            let kind = other.kind.as_str();
            let message = format!("`{}` of `{skill}` is a {kind}", escape(name));
            let hint = match other.kind {
                CapabilityKind::Resource => "read it; it cannot be called",
                CapabilityKind::Tool | CapabilityKind::Script => "call it; it cannot be read",
            };
            return Ok(Error::new(Kind::Usage, "capability_kind", message).with_hint(hint));
        }
        let message = format!("`{skill}` has no capability `{}`", escape(name));
        let error = Error::new(Kind::Failed, "capability_not_found", message);
        let names: Vec<String> = capabilities
            .iter()
            .filter(|one| wanted.contains(&one.kind))
            .map(|one| format!("`{}`", escape(&one.name)))
            .collect();
        Ok(match capability::near(name, &capabilities) {
            Some(near) => error.with_hint(format!("did you mean `{}`?", escape(near))),
            None if names.is_empty() => error,
            None => error.with_hint(format!("it has {}", names.join(", "))),
        })
    }
}

/// The guide's examples compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/hosts.md")]
struct Guide;
