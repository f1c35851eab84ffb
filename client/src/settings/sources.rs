//! Settings out of flags, the environment, the project's file and the user's configuration.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use skillpkg_schema::Diagnostic;
use url::Url;
use zeroize::Zeroizing;

use super::configuration::{self, Configuration, ConfiguredRunner};
use super::{
    Chosen, Connection, PassphraseSource, RegistryChoice, Settings, WITHHELD, is_same_variable,
    registry_of_project,
};
use crate::policy::{POLICY_FILE, PolicySource, Whose};
use crate::project::{MAX_PROJECT_FILE_BYTES, PROJECT_FILE};
use crate::registry::job::JobIdentity;
use crate::trust::RegistryTrust;
use crate::{Error, Kind, real_path, regular_file};

/// The name of the user's configuration file.
pub(super) const CONFIGURATION_FILE: &str = "config.toml";

/// What a program was started with.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// `--registry`: a URL or the name of a configured registry.
    pub registry: Option<String>,
    /// The environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// The working directory, absolute.
    pub working_directory: PathBuf,
    /// The user's home directory as the system knows it; [`None`] where it knows none.
    pub user_home: Option<PathBuf>,
}

/// `registry` of a configuration file.
struct Configured {
    text: String,
    file: String,
    /// Line and column.
    place: Option<(u32, u32)>,
}

impl Configured {
    fn url(self, settings: &Settings) -> Result<Url, Error> {
        let (line, column) = self.place.unzip();
        let placed = |error: Error| Error { line, column, ..error.in_file(self.file) };
        settings.named_registry(&self.text).map_err(placed)
    }
}

impl Sources {
    /// Reads the user's configuration and the project's file, and puts flags over the environment
    /// over the project over the configuration. Answers with the warnings met.
    pub fn settings(&self) -> Result<(Settings, Vec<Diagnostic>), Error> {
        let home = self.home()?;
        // Without a home directory there is still `$SKILLPKG_HOME`, and nothing of ours goes
        // outside it.
        let user_home = self.user_home.clone().unwrap_or_else(|| home.clone());
        let mut settings = Settings::new(home, user_home, self.project());
        let mut warnings = Vec::new();
        let mut registry = None;
        if let Some((path, text)) = self.configuration_text()? {
            let (read, told) = configuration::parse(&text, &path.to_string_lossy())?;
            warnings = told;
            registry = read.registry.clone().map(|text| Configured {
                text,
                file: path.to_string_lossy().into_owned(),
                place: read.registry_place,
            });
            apply(&mut settings, read, path.parent().unwrap_or(Path::new("")));
            settings.configuration = Some(path);
        }
        // One that is no registry is refused where it is chosen.
        settings.configured_registry =
            registry.as_ref().and_then(|registry| settings.named_registry(&registry.text).ok());
        settings.registry = self.registry(&settings, registry)?;
        settings.token = self.text("SKILLPKG_TOKEN")?.map(|token| token.trim().to_owned());
        settings.job = self.job()?;
        settings.key = self.path("SKILLPKG_KEY");
        let passphrase = self.text("SKILLPKG_KEY_PASSPHRASE")?;
        settings.key_passphrase = passphrase
            .map(|text| PassphraseSource::Text(Zeroizing::new(text)))
            .or_else(|| self.path("SKILLPKG_KEY_PASSPHRASE_FILE").map(PassphraseSource::File));
        settings.path = self.variable("PATH").map_or_else(Vec::new, |path| {
            std::env::split_paths(path).filter(|part| !part.as_os_str().is_empty()).collect()
        });
        settings.environment = self.inherited();
        settings.policies.extend(self.policies());
        Ok((settings, warnings))
    }

    fn registry(
        &self,
        settings: &Settings,
        configured: Option<Configured>,
    ) -> Result<Option<RegistryChoice>, Error> {
        let by_user = |text: &str| {
            let url = settings.named_registry(text)?;
            Ok(Some(RegistryChoice { url, chosen: Chosen::ByUser }))
        };
        if let Some(text) = &self.registry {
            return by_user(text);
        }
        if let Some(text) = self.text("SKILLPKG_REGISTRY")? {
            return by_user(&text);
        }
        let configured = configured.map(|configured| configured.url(settings)).transpose()?;
        let file = settings.project.join(PROJECT_FILE);
        if let Some(text) = read_text(&file)?
            && let Some(url) = registry_of_project(&text, PROJECT_FILE)?
        {
            // A project that names the registry that its user chose anyway takes nothing away.
            let chosen =
                if configured.as_ref() == Some(&url) { Chosen::ByUser } else { Chosen::ByProject };
            return Ok(Some(RegistryChoice { url, chosen }));
        }
        Ok(configured.map(|url| RegistryChoice { url, chosen: Chosen::ByUser }))
    }

    /// The identity of a job: one that it was given, else GitHub's, where that gives one.
    fn job(&self) -> Result<Option<JobIdentity>, Error> {
        if let Some(token) = self.text("SKILLPKG_OIDC_TOKEN")? {
            return Ok(Some(JobIdentity::Token(Zeroizing::new(token.trim().to_owned()))));
        }
        let url = self.text("ACTIONS_ID_TOKEN_REQUEST_URL")?;
        let token = self.text("ACTIONS_ID_TOKEN_REQUEST_TOKEN")?;
        Ok(url.zip(token).map(|(url, token)| {
            let token = Zeroizing::new(token.trim().to_owned());
            JobIdentity::GitHub { url, token }
        }))
    }

    /// `$SKILLPKG_HOME`, else beneath the XDG data directory.
    fn home(&self) -> Result<PathBuf, Error> {
        self.path("SKILLPKG_HOME").or_else(|| self.xdg("XDG_DATA_HOME", ".local/share")).ok_or_else(
            || {
                let message = "the system knows no home directory for this user";
                Error::new(Kind::Failed, "no_home", message)
                    .with_hint("set `HOME`, or `SKILLPKG_HOME` to a directory of its own")
            },
        )
    }

    /// The nearest directory at or above the working directory with a project's file. One in the home
    /// directory is that directory's alone: else each new project beneath it would be a part of it.
    fn project(&self) -> PathBuf {
        let home = self.user_home.as_deref().map(real_path::of).and_then(Result::ok);
        let is_home = |directory: &Path| {
            self.user_home.as_deref() == Some(directory) || home.as_deref() == Some(directory)
        };
        self.working_directory
            .ancestors()
            .filter(|directory| *directory == self.working_directory || !is_home(directory))
            .find(|directory| directory.join(PROJECT_FILE).is_file())
            .unwrap_or(&self.working_directory)
            .to_path_buf()
    }

    fn configuration_text(&self) -> Result<Option<(PathBuf, String)>, Error> {
        if let Some(path) = self.path("SKILLPKG_CONFIG") {
            let Some(text) = read_text(&path)? else {
                let message = "`SKILLPKG_CONFIG` names a file that is not there";
                let error = Error::new(Kind::Failed, "configuration_absent", message);
                return Err(error.in_file(path.to_string_lossy()).with_hint(
                    "write it (an empty file sets nothing), or unset `SKILLPKG_CONFIG`",
                ));
            };
            return Ok(Some((path, text)));
        }
        let Some(directory) = self.xdg("XDG_CONFIG_HOME", ".config") else { return Ok(None) };
        let path = directory.join(CONFIGURATION_FILE);
        Ok(read_text(&path)?.map(|text| (path, text)))
    }

    /// The policies beside those of the machine: the user's, beside the configuration file. Whoever
    /// names another configuration file does not leave the policy beside the usual one behind.
    fn policies(&self) -> Vec<PolicySource> {
        let mut policies = Vec::new();
        if cfg!(windows)
            && let Some(data) = self.variable("ProgramData").map(PathBuf::from)
            && data.is_absolute()
        {
            let path = data.join("skillpkg").join(POLICY_FILE);
            policies.push(PolicySource::new(path, Whose::Machine));
        }
        let usual = self.xdg("XDG_CONFIG_HOME", ".config");
        let named = self.path("SKILLPKG_CONFIG");
        let named = named.as_deref().and_then(Path::parent).map(Path::to_path_buf);
        for directory in usual.into_iter().chain(named) {
            let source = PolicySource::new(directory.join(POLICY_FILE), Whose::User);
            if !policies.contains(&source) {
                policies.push(source);
            }
        }
        policies
    }

    /// Our directory beneath one of the XDG base directories, which is absolute or not counted.
    fn xdg(&self, variable: &str, otherwise: &str) -> Option<PathBuf> {
        let named = self.variable(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        named
            .or_else(|| self.user_home.as_ref().map(|home| home.join(otherwise)))
            .map(|base| real_path::native(base.join("skillpkg")))
    }

    /// A variable's value; an empty one counts as absent.
    fn variable(&self, name: &str) -> Option<&OsStr> {
        let mut known = self.environment.iter();
        known
            .find(|(known, _)| is_same_variable(known, name))
            .map(|(_, value)| value.as_os_str())
            .filter(|value| !value.is_empty())
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).map(|path| self.working_directory.join(path))
    }

    fn text(&self, name: &str) -> Result<Option<String>, Error> {
        let text = self.variable(name).map(|value| value.to_str().map(str::to_owned));
        text.map(|text| {
            text.ok_or_else(|| {
                let message = format!("the environment variable `{name}` is not UTF-8");
                Error::new(Kind::Usage, "environment_invalid", message)
            })
        })
        .transpose()
    }

    /// The environment without what opens our own doors: no skill's program gets it.
    fn inherited(&self) -> BTreeMap<String, String> {
        self.environment
            .iter()
            .filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)))
            .filter(|(name, _)| !WITHHELD.iter().any(|ours| is_same_variable(name, ours)))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }
}

fn apply(settings: &mut Settings, read: Configuration, directory: &Path) {
    for (name, registry) in read.registries {
        for scope in registry.scopes {
            settings.routes.insert(scope, registry.url.clone());
        }
        let connection =
            Connection { ca: registry.ca.map(|file| directory.join(file)), proxy: registry.proxy };
        if connection != Connection::default() {
            settings.connections.insert(registry.url.clone(), connection);
        }
        let trust = RegistryTrust {
            log_key: registry.log_key,
            mirrors: registry.mirrors,
            only_mirrors: !registry.fallback,
        };
        if trust != RegistryTrust::default() {
            settings.trust.insert(registry.url.clone(), trust);
        }
        settings.registries.insert(name, registry.url);
    }
    settings.trust_on_first_use = read.trust_on_first_use.unwrap_or(true);
    for (runtime, runner) in read.runners {
        match runner {
            ConfiguredRunner::Command(words) => {
                settings.runners.insert(runtime, words);
            }
            ConfiguredRunner::Remote(url) => {
                settings.remote_runners.insert(runtime, url);
            }
        }
    }
    settings.allow = read.allow;
    settings.agents = read.agents;
    settings.use_agents = read.use_agents;
}

/// The text of a file; [`None`] where it is absent.
fn read_text(path: &Path) -> Result<Option<String>, Error> {
    let refused = |message: String| {
        Error::new(Kind::Failed, "file_unreadable", message).in_file(path.to_string_lossy())
    };
    let file = match regular_file::open(path) {
        Ok(file) => file,
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(refused(error.to_string())),
    };
    let read = regular_file::read(file, MAX_PROJECT_FILE_BYTES);
    let Some(bytes) = read.map_err(|error| refused(error.to_string()))? else {
        return Err(refused(format!("it is over {MAX_PROJECT_FILE_BYTES} bytes long")));
    };
    String::from_utf8(bytes).map(Some).map_err(|_| refused("it is not UTF-8".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Machine {
        root: tempfile::TempDir,
        sources: Sources,
    }

    impl Machine {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let work = root.path().join("work/deep");
            std::fs::create_dir_all(&work).unwrap();
            let sources = Sources {
                working_directory: work,
                user_home: Some(root.path().to_path_buf()),
                ..Sources::default()
            };
            Self { root, sources }
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn set(&mut self, name: &str, value: impl Into<OsString>) {
            self.sources.environment.insert(name.into(), value.into());
        }

        fn settings(&self) -> Settings {
            self.sources.settings().unwrap().0
        }

        fn registry(&self) -> Option<(String, Chosen)> {
            self.settings().registry.map(|choice| (choice.url.to_string(), choice.chosen))
        }
    }

    #[test]
    fn a_registry_comes_from_the_flag_the_environment_the_project_or_the_configuration() {
        let mut machine = Machine::new();
        assert_eq!(machine.registry(), None);
        machine.write(".config/skillpkg/config.toml", "registry = \"https://user.test\"");
        assert_eq!(machine.registry(), Some(("https://user.test/".into(), Chosen::ByUser)));
        machine.write("work/skillpkg.toml", "registry = \"https://project.test\"");
        assert_eq!(machine.registry(), Some(("https://project.test/".into(), Chosen::ByProject)));
        let configured = machine.settings().configured_registry;
        assert_eq!(configured.unwrap().as_str(), "https://user.test/");
        machine.set("SKILLPKG_REGISTRY", "https://environment.test");
        assert_eq!(machine.registry(), Some(("https://environment.test/".into(), Chosen::ByUser)));
        machine.sources.registry = Some("https://flag.test".to_owned());
        assert_eq!(machine.registry(), Some(("https://flag.test/".into(), Chosen::ByUser)));
    }

    #[test]
    fn a_project_that_names_the_users_own_registry_does_not_take_the_choice_away() {
        let machine = Machine::new();
        machine.write(".config/skillpkg/config.toml", "registry = \"https://user.test\"");
        machine.write("work/skillpkg.toml", "registry = \"https://user.test/\"");
        assert_eq!(machine.registry(), Some(("https://user.test/".into(), Chosen::ByUser)));
    }

    #[test]
    fn the_project_is_the_nearest_directory_with_its_file() {
        let machine = Machine::new();
        assert_eq!(machine.settings().project, machine.sources.working_directory);
        // One in the home directory is not that of every directory beneath it.
        machine.write("skillpkg.toml", "[skills]\n");
        assert_eq!(machine.settings().project, machine.sources.working_directory);
        machine.write("work/skillpkg.toml", "[skills]\n");
        assert_eq!(machine.settings().project, machine.root.path().join("work"));
    }

    #[test]
    fn directories_follow_the_environment_and_need_no_home_where_one_is_named() {
        let mut machine = Machine::new();
        let root = machine.root.path().to_path_buf();
        assert_eq!(machine.settings().home, root.join(".local/share/skillpkg"));
        machine.set("XDG_DATA_HOME", "relative");
        assert_eq!(machine.settings().home, root.join(".local/share/skillpkg"));
        machine.set("XDG_DATA_HOME", root.join("data"));
        assert_eq!(machine.settings().home, root.join("data/skillpkg"));
        machine.set("SKILLPKG_HOME", "here");
        let home = machine.sources.working_directory.join("here");
        assert_eq!(machine.settings().home, home);
        machine.sources.user_home = None;
        assert_eq!(machine.settings().user_home, home);
        machine.sources.environment.clear();
        assert_eq!(machine.sources.settings().unwrap_err().code, "no_home");
    }

    #[test]
    fn a_configuration_that_is_named_must_be_there_and_be_right() {
        let mut machine = Machine::new();
        machine.set("SKILLPKG_CONFIG", "mine.toml");
        assert_eq!(machine.sources.settings().unwrap_err().code, "configuration_absent");
        machine.write("work/deep/mine.toml", "registry = 1");
        assert_eq!(machine.sources.settings().unwrap_err().line, Some(1));
        machine.write(
            "work/deep/mine.toml",
            "registry = \"c\"\n[registries.c]\nurl = \"https://c\"\nca = \"c.pem\"\nscopes=[\"a\"]",
        );
        let settings = machine.settings();
        let url = &settings.registries["c"];
        let ca = machine.sources.working_directory.join("c.pem");
        assert_eq!(settings.connections[url].ca, Some(ca));
        assert_eq!(&settings.routes[&"a".parse().unwrap()], url);
    }

    #[test]
    fn a_registry_that_is_none_is_told_with_its_place() {
        let machine = Machine::new();
        machine.write(".config/skillpkg/config.toml", "\n  registry = \"127.0.0.1:7770\"\n");
        let error = machine.sources.settings().unwrap_err();
        assert_eq!((error.code.as_str(), error.line), ("registry_unknown", Some(2)));
        assert!(error.file.as_ref().unwrap().ends_with("config.toml"), "{error}");
        assert!(error.hint.unwrap().contains("`http://127.0.0.1:7770`"));
    }

    #[test]
    fn policies_lie_on_the_machine_and_beside_each_configuration() {
        let mut machine = Machine::new();
        let root = machine.root.path().to_path_buf();
        let usual = root.join(".config/skillpkg/policy.toml");
        let paths = |settings: Settings| -> Vec<PathBuf> {
            settings.policies.into_iter().map(|source| source.path).collect()
        };
        let of_machine = crate::policy::machine_files()[0].path.clone();
        assert!(of_machine.is_absolute());
        assert_eq!(paths(machine.settings()), [of_machine.clone(), usual.clone()]);
        machine.write("work/deep/mine.toml", "");
        machine.set("SKILLPKG_CONFIG", "mine.toml");
        let beside = root.join("work/deep/policy.toml");
        assert_eq!(paths(machine.settings()), [of_machine, usual, beside]);
        assert!(machine.settings().policies.iter().all(|source| !source.named));
    }

    #[test]
    fn no_skill_inherits_the_token_the_key_or_its_passphrase() {
        let mut machine = Machine::new();
        for name in WITHHELD.iter().chain(&["LANG"]) {
            machine.set(name, "x");
        }
        let settings = machine.settings();
        assert_eq!(settings.environment.keys().collect::<Vec<_>>(), ["LANG"]);
        assert_eq!(settings.token.as_deref(), Some("x"));
    }

    #[test]
    fn a_passphrase_is_a_text_or_else_a_file_and_is_not_shown() {
        let mut machine = Machine::new();
        assert!(machine.settings().key_passphrase.is_none());
        machine.set("SKILLPKG_KEY_PASSPHRASE_FILE", "secret");
        let file = machine.sources.working_directory.join("secret");
        let shown = format!("{:?}", machine.settings().key_passphrase.unwrap());
        assert_eq!(shown, format!("File({file:?})"));
        machine.set("SKILLPKG_KEY_PASSPHRASE", "horse");
        let settings = machine.settings();
        let is_text = |source: &PassphraseSource| matches!(source, PassphraseSource::Text(text) if text.as_str() == "horse");
        assert!(settings.key_passphrase.as_ref().is_some_and(is_text));
        assert!(!format!("{settings:?}").contains("horse"));
    }
}
