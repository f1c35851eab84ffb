//! A machine that installs from registries which lie.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skillpkg::agents::Reach;
use skillpkg::install::{
    Approval, Attendant, Frozen, Options, Progress, Report, Request, install, sync,
};
use skillpkg::policy::{PolicySource, Whose};
use skillpkg::trust::RegistryTrust;
use skillpkg::verification::{Report as Verified, Verifier};
use skillpkg::{Error, Settings};
use tempfile::TempDir;

use crate::registry::Registry;

/// What was told.
#[derive(Debug, Default)]
pub(crate) struct Told(pub(crate) Vec<String>);

impl Attendant for Told {
    fn tell(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
    fn warn(&mut self, text: &str) {
        self.0.push(format!("warning: {text}"));
    }
    fn progress(&mut self, _: Progress) {}
    fn approve(&mut self, _: &[Approval]) -> Result<bool, Error> {
        Ok(true)
    }
}

pub(crate) struct Machine {
    /// Goes with the machine.
    directory: Arc<TempDir>,
    pub(crate) settings: Settings,
    pub(crate) options: Options,
}

impl Machine {
    pub(crate) fn new(registry: &Registry) -> Self {
        let memory = Path::new("/dev/shm");
        let directory = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap();
        let at = |name: &str| {
            let path = directory.path().join(name);
            fs::create_dir_all(&path).unwrap();
            path.canonicalize().unwrap()
        };
        let mut settings = Settings::new(at("home"), at("user"), at("project"));
        settings.path = std::env::split_paths(&std::env::var_os("PATH").unwrap()).collect();
        settings.registry = Some(registry.choice());
        let options = Options { approve: true, ..Options::new(Reach::Project) };
        Self { directory: Arc::new(directory), settings, options }
    }

    /// Another project of the same user.
    pub(crate) fn in_project(&self, name: &str) -> Self {
        let mut settings = self.settings.clone();
        settings.project = self.settings.user_home.join(name);
        fs::create_dir_all(&settings.project).unwrap();
        let directory = Arc::clone(&self.directory);
        Self { directory, settings, options: self.options.clone() }
    }

    pub(crate) fn trust(&mut self, registry: &Registry) -> &mut RegistryTrust {
        self.settings.trust.entry(registry.url.clone()).or_default()
    }

    /// Adds a policy of the user's.
    pub(crate) fn rule(&mut self, text: &str) {
        let path = self.settings.user_home.join("policy.toml");
        fs::write(&path, text).unwrap();
        self.settings.policies = vec![PolicySource::new(path, Whose::User)];
    }

    pub(crate) async fn install(&self, reference: &str) -> Result<(Report, Vec<String>), Error> {
        let request = Request { references: vec![reference.to_owned()], ..Request::default() };
        let mut told = Told::default();
        let report = install(&self.settings, &self.options, &request, &mut told).await?;
        Ok((report, told.0))
    }

    /// Installs, and answers with the code of the refusal.
    pub(crate) async fn refused(&self, reference: &str) -> Error {
        match self.install(reference).await {
            Ok((_, told)) => panic!("`{reference}` was installed: {told:?}"),
            Err(error) => error,
        }
    }

    pub(crate) async fn sync(&self) -> Result<(Report, Vec<String>), Error> {
        let mut told = Told::default();
        let report = sync(&self.settings, &self.options, Frozen::No, &mut told).await?;
        Ok((report, told.0))
    }

    pub(crate) async fn verify(&self, offline: bool) -> Result<Verified, Error> {
        let settings = Settings { offline, ..self.settings.clone() };
        let verifier = Verifier::new(&settings, settings.project.clone(), false)?;
        verifier.project(&[]).await
    }

    /// Whether anything is installed.
    pub(crate) fn is_clean(&self) -> bool {
        !self.settings.project.join("skillpkg.lock").exists()
            && !self.settings.project.join(".agents").exists()
    }

    /// The files of refusals that are kept, by the name of their directory.
    pub(crate) fn evidence(&self) -> Vec<PathBuf> {
        let logs = fs::read_dir(self.settings.home.join("trust")).into_iter().flatten().flatten();
        let kept = logs.flat_map(|log| fs::read_dir(log.path().join("evidence")));
        kept.flatten().flatten().map(|entry| entry.path()).collect()
    }

    /// The directory of the one log.
    pub(crate) fn log_directory(&self) -> PathBuf {
        let mut logs = fs::read_dir(self.settings.home.join("trust"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.join("log.json").exists());
        logs.next().unwrap()
    }
}
