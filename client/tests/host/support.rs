//! A project on a machine of its own, with skills that are packed, ingested, approved and active.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skillpkg::Settings;
use skillpkg::host::{Host, HostOptions, PermissionRequest};
use skillpkg::project::{LockFile, Locked, Source};
use skillpkg::state::{Active, Pinned, ProjectState, Provenance, Signers, State};
use skillpkg_schema::finding::Findings;
use skillpkg_schema::signature::SigningKey;
use skillpkg_schema::{ContentAddress, Manifest, Sha256Digest};
use skillpkg_store::content::Store;
use skillpkg_store::pack::{PackOptions, Packing};
use tempfile::TempDir;

/// A machine: a home and a project.
pub(crate) struct Machine {
    directory: TempDir,
    pub(crate) settings: Settings,
    pub(crate) store: Store,
    pub(crate) state: State,
    pub(crate) key: SigningKey,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| {
            let path = directory.path().join(name);
            std::fs::create_dir(&path).unwrap();
            path
        };
        let mut settings = Settings::new(at("home"), at("user"), at("project"));
        let path = std::env::var_os("PATH").unwrap();
        settings.path = std::env::split_paths(&path).collect();
        settings.environment.insert("PATH".to_owned(), path.into_string().unwrap());
        let store = Store::open(&settings.home).unwrap();
        let state = State::new(&settings.home);
        let key = SigningKey::generate().unwrap();
        Self { directory, settings, store, state, key }
    }

    /// Packs the files as a skill, brings it into the store, approves and activates it.
    pub(crate) fn activate(&self, files: &[(&str, &str)]) -> Manifest {
        let manifest = self.ingest(files);
        let address = manifest.address();
        let from = Provenance::default();
        self.state
            .approve(&manifest.name, &manifest.version, &address, &from, &Findings::default())
            .unwrap();
        let mut state = self.state.project(&self.settings.project).unwrap();
        state.active.retain(|active| active.name != manifest.name);
        state.active.push(Active {
            name: manifest.name.clone(),
            placed_as: manifest.name.name().clone(),
            version: manifest.version.clone(),
            address,
            key: None,
            proven: None,
            programs: BTreeMap::new(),
        });
        self.set_state(&state);
        self.lock_too(&manifest);
        manifest
    }

    /// Adds a skill to the project's lockfile.
    fn lock_too(&self, manifest: &Manifest) {
        let path = self.settings.project.join("skillpkg.lock");
        let text = std::fs::read_to_string(&path).unwrap_or("version = 1\n".to_owned());
        let mut lock = LockFile::parse(&text).unwrap();
        lock.insert(Locked {
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            source: Source::File(format!("{}.skill.tar.zst", manifest.name)),
            address: manifest.address(),
            archive: manifest.address(),
            key: self.key.public().id(),
            log_index: None,
        });
        std::fs::write(path, lock.to_text()).unwrap();
    }

    /// Packs the files as a skill and brings it into the store.
    pub(crate) fn ingest(&self, files: &[(&str, &str)]) -> Manifest {
        let archive = self.pack(files);
        let lease = self.store.lease().unwrap();
        let ingested = self.store.ingest(&lease, archive.as_slice(), None).unwrap();
        self.store.materialise(&lease, &ingested.manifest).unwrap();
        ingested.manifest
    }

    /// Packs the files as a skill that the machine's key signs.
    pub(crate) fn pack(&self, files: &[(&str, &str)]) -> Vec<u8> {
        let source = tempfile::tempdir_in(self.directory.path()).unwrap();
        for (path, text) in files {
            let file = source.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, text).unwrap();
            if text.starts_with("#!") {
                executable(&file);
            }
        }
        let packing = Packing::plan(source.path(), &PackOptions::default()).unwrap();
        let envelope = packing.sign(std::slice::from_ref(&self.key));
        let mut archive = Vec::new();
        packing.write(&envelope, &mut archive).unwrap();
        archive
    }

    /// Writes the archive beside the project and a lockfile that names it, and pins the key.
    pub(crate) fn lock(&self, manifest: &Manifest, archive: &[u8]) {
        let file = format!("{}.skill.tar.zst", manifest.name);
        std::fs::write(self.settings.project.join(&file), archive).unwrap();
        let lock = format!(
            "version = 1\n\n[[skill]]\nname = \"{}\"\nversion = \"{}\"\nfile = \"{file}\"\n\
             address = \"{}\"\narchive = \"{}\"\nkey = \"{}\"\n",
            manifest.name,
            manifest.version,
            manifest.address(),
            Sha256Digest::of(archive).address(),
            self.key.public().id()
        );
        std::fs::write(self.settings.project.join("skillpkg.lock"), lock).unwrap();
        let key = self.key.public();
        let pinned = Pinned { account: None, keys: vec![key.id()] };
        let remember = |signers: &mut Signers| {
            signers.keep(&key);
            signers.pin(None, &manifest.name, pinned);
        };
        self.state.change_signers(remember).unwrap();
    }

    pub(crate) fn set_state(&self, state: &ProjectState) {
        self.state.set_project(&self.settings.project, state).unwrap();
    }

    pub(crate) fn host(&self) -> Host {
        Host::open(HostOptions::new(self.settings.clone())).unwrap()
    }

    /// A file of a snapshot's tree.
    pub(crate) fn file(&self, manifest: &Manifest, path: &str) -> PathBuf {
        self.store.tree_path(&manifest.address()).join(path)
    }

    /// Puts other bytes in the place of a file of a snapshot, its times kept.
    pub(crate) fn tamper(&self, manifest: &Manifest, path: &str, text: &str) {
        overwrite(&self.file(manifest, path), text);
    }

    /// Damages the blob of a file.
    pub(crate) fn damage_blob(&self, address: &ContentAddress) {
        let hex = address.hex();
        let mut found = Vec::new();
        files_beneath(&self.store.root().join("blobs"), &mut found);
        let blob = found
            .into_iter()
            .find(|path| path.to_string_lossy().replace('/', "").contains(&hex[2..]))
            .unwrap();
        overwrite(&blob, "damaged");
    }

    /// Where a test's scripts leave marks.
    pub(crate) fn mark(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

fn files_beneath(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files_beneath(&path, found) } else { found.push(path) }
    }
}

pub(crate) fn overwrite(file: &Path, text: &str) {
    let metadata = file.metadata().unwrap();
    let mut permissions = metadata.permissions();
    let before = permissions.clone();
    {
        use std::os::unix::fs::PermissionsExt as _;
        permissions.set_mode(0o755);
    }
    std::fs::set_permissions(file, permissions).unwrap();
    std::fs::write(file, text).unwrap();
    let opened = std::fs::File::options().write(true).open(file).unwrap();
    opened.set_modified(metadata.modified().unwrap()).unwrap();
    std::fs::set_permissions(file, before).unwrap();
}

fn executable(file: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Permits every call.
pub(crate) fn all(_: &PermissionRequest) -> bool {
    true
}

/// Permits what was approved at activation.
pub(crate) fn approved(request: &PermissionRequest) -> bool {
    request.approved
}

/// A hard skill with a tool of this run line, over `handle.sh`.
pub(crate) fn with_tool(run: &str, handle: &str) -> [(&'static str, String); 2] {
    let skill = format!(
        "---\nskill: waitlist\nversion: 1.2.0\ndescription: Manages signups.\nincludes: handle.sh\n\
         ---\n\nManage it.\n\n```tool\nid: access\ndescription: accept a user\nparams:\n  user:\n    \
         type: string\n    description: who\n  times:\n    type: integer\n    default: 1\n\
         run: {run}\n```\n"
    );
    [("SKILL.md", skill), ("handle.sh", handle.to_owned())]
}

/// An Agent Skill with the script `scripts/normalize.sh` and a resource.
pub(crate) fn with_script(text: &str, more: &str) -> Vec<(&'static str, String)> {
    let capabilities = format!(
        r#"{{"resources": {{"references/guide.md": "Reads the guide."}},
           "scripts": {{"scripts/normalize.sh": {{"description": "Normalizes.", "runtime": "shell",
             "parameters": {{"type": "object", "properties": {{
                "inputFile": {{"type": "string"}},
                "maximumRows": {{"type": "integer", "minimum": 1, "maximum": 100, "default": 10}}
             }}, "required": ["inputFile"], "additionalProperties": false}}{more}}}}}}}"#
    );
    vec![
        (
            "SKILL.md",
            "---\nname: data\ndescription: Validates data.\nmetadata:\n  version: 2.0.0\n---\n\
             Validate.\n"
                .to_owned(),
        ),
        ("skill.json", capabilities),
        ("references/guide.md", "Every row has an id.\n".to_owned()),
        ("scripts/normalize.sh", text.to_owned()),
    ]
}

/// Texts as [`Machine::activate`] takes them.
pub(crate) fn texts<'a>(files: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    files.iter().map(|(path, text)| (*path, text.as_str())).collect()
}
