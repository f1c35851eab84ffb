//! A skill checked, packed and signed, and nothing sent of it yet.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skillpkg::keys::StoredKey;
use skillpkg::unfinished::{self, UnfinishedDirectory};
use skillpkg::{Error, Kind, keys};
use skillpkg_schema::address::Digests;
use skillpkg_schema::limits::MAX_SKILL_FILE_BYTES;
use skillpkg_schema::manifest::FileEntry;
use skillpkg_schema::name::nearest_legal;
use skillpkg_schema::signature::{Envelope, PublicKey, SigningKey, verify_release};
use skillpkg_schema::skill;
use skillpkg_schema::tree::{DirectoryTree, Tree as _};
use skillpkg_schema::{Manifest, QualifiedName, Scope, SkillName};
use skillpkg_store::archive::Sink;
use skillpkg_store::pack::PackOptions;

use crate::commands::packing::{self, ShownArchive};
use crate::commands::signing::{opened, signing_keys};
use crate::commands::{PackingArguments, packed};
use crate::context::Context;

/// A signed archive, ready to go.
pub(super) struct Ready {
    pub(super) manifest: Manifest,
    pub(super) archive: Digests,
    pub(super) file: PathBuf,
    /// The keys of this machine among those that signed it.
    pub(super) signers: Vec<Signer>,
    /// The name in the file, where it goes under another; empty where there is none.
    pub(super) named_in_file: Option<String>,
    /// Whether that other name was made for it.
    pub(super) is_renamed: bool,
    /// Keeps the file of a directory's archive until it is sent. Not open: there may be many, so that
    /// it is the directory which is held.
    _temporary: Option<(tempfile::TempPath, Arc<UnfinishedDirectory>)>,
}

/// What is shown of what is ready.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) archive: ShownArchive,
    /// The name in the file, where it goes under another.
    pub(super) named_in_file: Option<String>,
}

impl Ready {
    /// What `--json` answers of it.
    pub(super) fn shown(&self, source: &Path) -> Shown {
        Shown {
            archive: ShownArchive::new(&self.manifest, &self.archive, source),
            named_in_file: self.named_in_file.clone(),
        }
    }

    /// The keys of this machine among those that signed it.
    pub(super) fn keys(&self) -> Vec<PublicKey> {
        self.signers.iter().map(|signer| signer.public).collect()
    }
}

/// A key that signed, opened only where it must be.
pub(super) struct Signer {
    pub(super) public: PublicKey,
    pub(super) key: StoredKey,
}

impl From<SigningKey> for Signer {
    fn from(key: SigningKey) -> Self {
        Self { public: key.public(), key: StoredKey::Open(key) }
    }
}

/// What one command makes ready, with the same options and the same keys.
pub(super) struct Maker<'a> {
    context: &'a Context,
    arguments: &'a PackingArguments,
    options: PackOptions,
    scope: Option<Scope>,
    /// Whether names are made of those that cannot be one.
    nearest_names: bool,
    /// The keys, once they were opened: a passphrase is asked for once.
    keys: Option<Vec<SigningKey>>,
    /// Where archives wait, once there is one.
    waiting: Option<Arc<UnfinishedDirectory>>,
}

impl<'a> Maker<'a> {
    pub(super) fn new(
        context: &'a Context,
        arguments: &'a PackingArguments,
        scope: Option<&str>,
        nearest_names: bool,
    ) -> Result<Self, Error> {
        let scope = scope.map(str::parse).transpose();
        let scope = scope.map_err(|error: skillpkg_schema::name::NameError| {
            Error::new(Kind::Usage, "invalid_name", error.to_string())
        })?;
        let options = packing::options(arguments)?;
        Ok(Self { context, arguments, options, scope, nearest_names, keys: None, waiting: None })
    }

    /// Gets ready to make several. A passphrase is asked for here, once for all of them.
    pub(super) fn several(mut self, sources: &[PathBuf]) -> Result<Self, Error> {
        if self.options.name.is_some() {
            let message = "`--name` names one skill, and several are to be published";
            return Err(Error::new(Kind::Usage, "usage", message)
                .with_hint("`--scope` publishes each in a scope, under the name in its file"));
        }
        if sources.iter().any(|source| !source.is_file()) {
            self.keys = Some(signing_keys(self.context, self.arguments)?);
        }
        Ok(self)
    }

    /// Checks, packs and signs what lies at `source`.
    pub(super) fn make(&mut self, source: &Path) -> Result<Ready, Error> {
        if source.is_file() { self.packed(source) } else { self.directory(source) }
    }

    fn directory(&mut self, directory: &Path) -> Result<Ready, Error> {
        let context = self.context;
        let (options, is_renamed) = self.options_for(directory);
        let plan = packing::plan(context, directory, &options)?;
        let keys = match self.keys.take() {
            Some(keys) => keys,
            None => signing_keys(context, self.arguments)?,
        };
        let keys = self.keys.insert(keys).clone();
        let waiting = self.waiting()?;
        let mut file = tempfile::NamedTempFile::new_in(waiting.path())
            .map_err(|error| packing::not_written(waiting.path(), &error))?;
        let archive = packing::write(context, &plan, &keys, &mut file)?;
        let said = &plan.skill().file.name;
        let is_said = said == plan.manifest().name.name().as_str();
        let file = file.into_temp_path();
        Ok(Ready {
            manifest: plan.manifest().clone(),
            archive,
            file: file.to_path_buf(),
            named_in_file: (!is_said).then(|| said.clone()),
            is_renamed,
            signers: keys.into_iter().map(Signer::from).collect(),
            _temporary: Some((file, waiting)),
        })
    }

    /// Where archives wait until they are sent. Its owner's alone: what goes to a private scope is not
    /// for others on this machine.
    fn waiting(&mut self) -> Result<Arc<UnfinishedDirectory>, Error> {
        if let Some(waiting) = &self.waiting {
            return Ok(Arc::clone(waiting));
        }
        let temporary = std::env::temp_dir();
        let made = unfinished::create_directory(&temporary)
            .map_err(|error| packing::not_written(&temporary, &error))?;
        Ok(Arc::clone(self.waiting.insert(Arc::new(made))))
    }

    /// The options, with the skill's own name in the scope that was given, or one made for it where
    /// it has none and that was asked for; and whether it was. What cannot be read here is told by
    /// whoever packs it.
    fn options_for(&self, directory: &Path) -> (PackOptions, bool) {
        let options = self.options.clone();
        if self.scope.is_none() && !self.nearest_names {
            return (options, false);
        }
        let said = || {
            let tree = DirectoryTree::open(directory).ok()?;
            let bytes = tree.read("SKILL.md", MAX_SKILL_FILE_BYTES).ok()?;
            Some(skill::parse_unnamed(&bytes, "SKILL.md").ok()?.name)
        };
        let Some(said) = said() else { return (options, false) };
        let own: Option<SkillName> = said.parse().ok();
        let is_renamed = own.is_none() && self.nearest_names;
        let name = own.or_else(|| is_renamed.then(|| made_name(&said, directory)).flatten());
        let name = name.map(|name| QualifiedName::new(self.scope.clone(), name));
        let is_renamed = is_renamed && name.is_some();
        (PackOptions { name: name.or_else(|| options.name.clone()), ..options }, is_renamed)
    }

    /// An archive is published as it was packed: its name, version and signature are in it.
    fn packed(&self, file: &Path) -> Result<Ready, Error> {
        let options = self.options.clone();
        let read = packed::read(file, &mut Nothing)?;
        let manifest = read.manifest;
        let differs = self.scope.as_ref().is_some_and(|scope| Some(scope) != manifest.name.scope())
            || options.name.is_some_and(|name| name != manifest.name)
            || options.version.is_some_and(|version| version != manifest.version);
        if differs {
            let message = format!(
                "the archive is signed as {} {}, and stays so",
                manifest.name, manifest.version
            );
            return Err(Error::new(Kind::Usage, "archive_named", message)
                .with_hint("pack its directory again with `--name` and `--version`"));
        }
        let signers = signers_here(self.context, &self.arguments.keys, &read.envelope)?;
        if !signers.is_empty() {
            let (name, version) = (&manifest.name, &manifest.version);
            let keys: Vec<PublicKey> = signers.iter().map(|signer| signer.public).collect();
            verify_release(&read.envelope, name, version, &manifest.address(), &keys).map_err(
                |error| {
                    Error::new(Kind::Verification, "signature_refused", error.to_string())
                        .in_file(file.to_string_lossy())
                },
            )?;
        }
        let file = file.to_path_buf();
        Ok(Ready {
            manifest,
            archive: read.archive,
            file,
            signers,
            named_in_file: None,
            is_renamed: false,
            _temporary: None,
        })
    }
}

/// A name for a skill whose file says `said`, which is none: the nearest legal one, or of nothing that
/// of its directory.
fn made_name(said: &str, directory: &Path) -> Option<SkillName> {
    let text = if said.is_empty() {
        directory.canonicalize().ok()?.file_name()?.to_string_lossy().into_owned()
    } else {
        said.to_owned()
    };
    text.parse().ok().or_else(|| nearest_legal(&text)?.parse().ok())
}

/// The keys of this machine that signed an archive: those in the files that are named, each of which
/// has, or the one that this machine signs with, where it has.
fn signers_here(
    context: &Context,
    files: &[PathBuf],
    envelope: &Envelope,
) -> Result<Vec<Signer>, Error> {
    let has_signed = |signer: &Signer| envelope.key_ids().any(|id| id == signer.public.id());
    if files.is_empty() {
        // Whoever publishes what somebody else packed has no key of it, and needs none.
        let key = keys::signing_key(&context.settings).ok();
        let signer = key.and_then(|key| Some(Signer { public: key.public()?, key }));
        return Ok(signer.filter(has_signed).into_iter().collect());
    }
    let of_file = |file: &PathBuf| {
        let key = keys::private_key(file)?;
        let signer = match key.public() {
            Some(public) => Signer { public, key },
            None => opened(context, key)?.into(),
        };
        if has_signed(&signer) {
            return Ok(signer);
        }
        let message = "the archive is not signed with this key, and is not signed again";
        Err(Error::new(Kind::Usage, "archive_signed", message)
            .in_file(file.to_string_lossy())
            .with_hint("pack its directory again with `--key`"))
    };
    files.iter().map(of_file).collect()
}

/// Keeps nothing: the reader checks all the same.
struct Nothing;

impl Sink for Nothing {
    fn file(&mut self, _: &FileEntry, _: &mut dyn Read) -> io::Result<()> {
        Ok(())
    }
}
