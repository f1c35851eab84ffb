//! Which registry is asked for a name.

use skillpkg_schema::diagnostic::{escape, nearest};
use skillpkg_schema::{QualifiedName, Scope};
use url::{Host, Url};

use super::sources::CONFIGURATION_FILE;
use super::{Chosen, RegistryChoice, Settings};
use crate::policy::{PolicySource, Whose};
use crate::{Error, Kind};

/// What a URL is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlOf {
    /// A registry.
    Registry,
    /// A proxy before a registry.
    Proxy,
    /// A runner that is asked by HTTP.
    Runner,
}

impl UrlOf {
    fn whose(self) -> &'static str {
        match self {
            Self::Registry => "a registry's",
            Self::Proxy => "a proxy's",
            Self::Runner => "a runner's",
        }
    }

    fn example(self) -> &'static str {
        match self {
            Self::Registry => "https://skills.example.com",
            Self::Proxy => "http://proxy.example.com:3128",
            Self::Runner => "https://runner.example.com",
        }
    }

    /// What there is in place of a user name and a password.
    fn instead(self) -> &'static str {
        match self {
            Self::Registry => "`skillpkg login` keeps a token",
            Self::Proxy => "a proxy is told neither, and must let this machine through without",
            Self::Runner => "a runner is told neither",
        }
    }
}

/// Why a text is no such URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// A variable that somebody expects to be expanded.
    #[error("`{}` is not a URL: variables are not expanded in it", escape(.0))]
    Variable(String),
    /// Not a URL at all.
    #[error("`{}` is not a URL: {reason}; expected one such as `{}`", escape(.text), .of.example())]
    Syntax {
        /// What it is of.
        of: UrlOf,
        /// The text as given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Neither `http` nor `https`.
    #[error("`{}` is not {} URL: expected one that starts with `https://` or `http://`", escape(.1), .0.whose())]
    Scheme(UrlOf, String),
    /// A user name or a password, which would end up in lockfiles and messages.
    #[error("{} URL holds no user name and no password: {}", .0.whose(), .0.instead())]
    Credentials(UrlOf),
    /// A query or a fragment, behind which no path can stand.
    #[error("`{}` is not {} URL: it has a query or a fragment", escape(.1), .0.whose())]
    Query(UrlOf, String),
}

/// Reads a registry's base URL; a trailing `/` is left out.
pub fn registry_url(text: &str) -> Result<Url, UrlError> {
    url_of(UrlOf::Registry, text)
}

/// Reads a base URL; a trailing `/` is left out.
pub(super) fn url_of(of: UrlOf, text: &str) -> Result<Url, UrlError> {
    if text.contains("${") || text.starts_with('$') {
        return Err(UrlError::Variable(text.to_owned()));
    }
    let mut url = Url::parse(text).map_err(|error| UrlError::Syntax {
        of,
        text: text.to_owned(),
        reason: error.to_string(),
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(UrlError::Scheme(of, text.to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlError::Credentials(of));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(UrlError::Query(of, text.to_owned()));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

/// A registry's base URL as it is shown and kept: without a trailing `/`.
pub fn registry_text(url: &Url) -> &str {
    url.as_str().trim_end_matches('/')
}

/// Whether a URL's host is this machine.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

impl Settings {
    /// The registry that `name` is asked for at: its scope's, and no other, where the user routed
    /// the scope; else the one that was chosen.
    ///
    /// A name never falls through from one registry to another: whoever publishes a like name
    /// elsewhere is not asked.
    pub fn registry_for(&self, name: &QualifiedName) -> Result<RegistryChoice, Error> {
        self.registry_for_scope(name.scope())
    }

    /// The registry that the names of a scope, or bare names, are asked for at.
    pub fn registry_for_scope(&self, scope: Option<&Scope>) -> Result<RegistryChoice, Error> {
        match scope.and_then(|scope| self.routes.get(scope)) {
            Some(url) => Ok(RegistryChoice { url: url.clone(), chosen: Chosen::ByUser }),
            None => self.chosen_registry(),
        }
    }

    /// What the configuration file is called in advice: with its path, whether or not it is there.
    pub fn configuration_shown(&self) -> String {
        let beside = |policy: &PolicySource| {
            let is_users = policy.whose == Whose::User;
            let directory = policy.path.parent().filter(|_| is_users)?;
            Some(directory.join(CONFIGURATION_FILE))
        };
        let place = self.configuration.clone().or_else(|| self.policies.iter().find_map(beside));
        place.map_or_else(
            || "the configuration file".to_owned(),
            |place| format!("the configuration file `{}`", escape(&place.to_string_lossy())),
        )
    }

    /// The registry of names without a route of their own; `no_registry` where there is none.
    pub fn chosen_registry(&self) -> Result<RegistryChoice, Error> {
        self.registry.clone().ok_or_else(|| {
            Error::new(Kind::Failed, "no_registry", "no registry is configured").with_hint(format!(
                "give one with `--registry URL`, in `SKILLPKG_REGISTRY`, or as \
                 `registry = \"URL\"` in the project's `skillpkg.toml` or {}",
                self.configuration_shown()
            ))
        })
    }

    /// The choice of a registry whose URL stands in a file, such as a lockfile: the user's where it
    /// is one that the user chose or routed a scope to, else the project's, so that no token of
    /// the environment goes there.
    pub fn registry_at(&self, url: &Url) -> RegistryChoice {
        let by_user = self
            .registry
            .iter()
            .any(|choice| choice.chosen == Chosen::ByUser && choice.url == *url)
            || self.routes.values().any(|route| route == url);
        let chosen = if by_user { Chosen::ByUser } else { Chosen::ByProject };
        RegistryChoice { url: url.clone(), chosen }
    }

    /// The URL that a flag, the environment or the configuration means: a URL, or the name of a
    /// configured registry.
    pub fn named_registry(&self, text: &str) -> Result<Url, Error> {
        if let Some(url) = self.registries.get(text) {
            return Ok(url.clone());
        }
        if text.contains("://") || text.contains('$') {
            return registry_url(text)
                .map_err(|error| Error::new(Kind::Usage, "registry_invalid", error.to_string()));
        }
        let shown = escape(text);
        let message = format!("`{shown}` is neither a URL nor the name of a configured registry");
        let names = self.registries.keys().map(String::as_str);
        let hint = match nearest(text, names) {
            Some(name) => format!("did you mean `{name}`?"),
            None if text.contains(['.', ':']) || text == "localhost" => {
                // What is on this machine has no certificate.
                let is_here = registry_url(&format!("http://{text}"));
                let scheme =
                    if is_here.is_ok_and(|url| is_loopback(&url)) { "http" } else { "https" };
                format!("a URL starts with its scheme: `{scheme}://{shown}`")
            }
            None if is_bare(text) => {
                let file = self.configuration_shown();
                format!("name it in {file}: `[registries.{shown}]`, `url = …`")
            }
            None => {
                "a registry is meant by its URL, or by a name that the configuration file gives \
                     it: letters, digits, `-` and `_`"
                    .to_owned()
            }
        };
        Err(Error::new(Kind::Usage, "registry_unknown", message).with_hint(hint))
    }
}

/// Whether a text is a key of TOML without quotes.
fn is_bare(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        let mut settings = Settings::new("/h".into(), "/u".into(), "/p".into());
        settings.registries.insert("corp".to_owned(), registry_url("https://corp.test").unwrap());
        settings.routes.insert("acme".parse().unwrap(), registry_url("https://corp.test").unwrap());
        settings
    }

    #[test]
    fn a_url_is_kept_without_its_trailing_slash() {
        for (text, kept) in [
            ("http://127.0.0.1:7770", "http://127.0.0.1:7770"),
            ("http://127.0.0.1:7770///", "http://127.0.0.1:7770"),
            ("HTTPS://Skills.Example.com:443/a/", "https://skills.example.com/a"),
        ] {
            assert_eq!(registry_text(&registry_url(text).unwrap()), kept);
        }
    }

    #[test]
    fn what_is_no_registry_is_refused() {
        for text in [
            "",
            "skills.example.com",
            "ftp://x",
            "file:///etc",
            "https://u:p@x",
            "https://tok@x",
            "https://x/?a=1",
            "https://x/#a",
            "https://${GITHUB_TOKEN}.x",
            "$REGISTRY",
        ] {
            assert!(registry_url(text).is_err(), "{text} was taken");
        }
    }

    #[test]
    fn a_routed_scope_goes_to_its_registry_and_nowhere_else() {
        let mut settings = settings();
        let corp = registry_url("https://corp.test").unwrap();
        let routed: QualifiedName = "acme/waitlist".parse().unwrap();
        assert_eq!(settings.registry_for(&routed).unwrap().url, corp);
        assert_eq!(settings.registry_for(&"w".parse().unwrap()).unwrap_err().code, "no_registry");
        let other = RegistryChoice {
            url: registry_url("https://project.test").unwrap(),
            chosen: Chosen::ByProject,
        };
        settings.registry = Some(other.clone());
        assert_eq!(settings.registry_for(&routed).unwrap().url, corp);
        assert_eq!(settings.registry_for(&"w".parse().unwrap()).unwrap(), other);
        assert_eq!(settings.registry_at(&corp).chosen, Chosen::ByUser);
        assert_eq!(settings.registry_at(&other.url).chosen, Chosen::ByProject);
    }

    #[test]
    fn a_registry_is_meant_by_its_name_or_its_url() {
        let settings = settings();
        assert_eq!(settings.named_registry("corp").unwrap().as_str(), "https://corp.test/");
        assert_eq!(settings.named_registry("http://x/").unwrap().as_str(), "http://x/");
        let error = settings.named_registry("crop").unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("did you mean `corp`?"));
        let error = settings.named_registry("localhost:7770").unwrap_err();
        assert!(error.hint.unwrap().contains("http://localhost:7770"));
    }

    #[test]
    fn a_name_that_no_table_can_have_is_not_offered_as_one() {
        let settings = Settings::new("/h".into(), "/u".into(), "/p".into());
        let hint = |text| settings.named_registry(text).unwrap_err().hint.unwrap();
        assert!(hint("corp").contains("[registries.corp]"));
        for text in ["a b", "a/b", "a]b", ""] {
            assert!(!hint(text).contains("[registries"), "{text}");
        }
    }

    #[test]
    fn a_url_without_its_scheme_is_offered_with_the_likely_one() {
        let settings = Settings::new("/h".into(), "/u".into(), "/p".into());
        for (text, offered) in [
            ("127.0.0.1:7791", "`http://127.0.0.1:7791`"),
            ("localhost:7770", "`http://localhost:7770`"),
            ("localhost", "`http://localhost`"),
            ("[::1]:7770", "`http://[::1]:7770`"),
            ("skills.example.com", "`https://skills.example.com`"),
            ("10.0.0.1:7770", "`https://10.0.0.1:7770`"),
        ] {
            let hint = settings.named_registry(text).unwrap_err().hint.unwrap();
            assert!(hint.contains(offered), "{text}: {hint}");
        }
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for (text, expected) in [
            ("http://127.0.0.1:1", true),
            ("http://127.9.9.9", true),
            ("http://[::1]:1", true),
            ("http://localhost", true),
            ("http://localhost.example.com", false),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(is_loopback(&registry_url(text).unwrap()), expected, "{text}");
        }
    }
}
