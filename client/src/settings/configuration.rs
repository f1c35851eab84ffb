//! The user's configuration file.

use std::collections::BTreeMap;

use skillpkg_schema::diagnostic::{escape, nearest};
use skillpkg_schema::{Diagnostic, Faults, Scope};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use url::Url;

use super::AgentDirectories;
use super::choice::{UrlOf, url_of};
use crate::mcp::{Allowed, AllowedError};
use crate::text_faults::{TextFaults, of_toml};
use crate::trust::LogKey;

/// What a configuration file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configuration {
    /// `registry`: a URL or a name of [`Configuration::registries`].
    pub registry: Option<String>,
    /// Line and column of `registry`.
    pub registry_place: Option<(u32, u32)>,
    /// `[registries.NAME]`.
    pub registries: BTreeMap<String, ConfiguredRegistry>,
    /// `[runners.RUNTIME]`.
    pub runners: BTreeMap<String, ConfiguredRunner>,
    /// `[agents.ID]`.
    pub agents: BTreeMap<String, AgentDirectories>,
    /// `use` of `[agents]`.
    pub use_agents: Vec<String>,
    /// `allow` of `[mcp]`.
    pub allow: Vec<Allowed>,
    /// `trust-on-first-use`.
    pub trust_on_first_use: Option<bool>,
}

/// One registry of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredRegistry {
    /// `url`.
    pub url: Url,
    /// `scopes`: the scopes whose names go there and nowhere else.
    pub scopes: Vec<Scope>,
    /// `ca`: a PEM file, absolute or relative to the configuration file's directory.
    pub ca: Option<String>,
    /// `proxy`.
    pub proxy: Option<Url>,
    /// `log-key`.
    pub log_key: Option<LogKey>,
    /// `mirrors`: other places for what the registry has.
    pub mirrors: Vec<Url>,
    /// `fallback`: whether the registry itself is asked where its mirrors do not answer.
    pub fallback: bool,
}

/// One runner of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfiguredRunner {
    /// `command`: a process; its words, at least one.
    Command(Vec<String>),
    /// `url`: a remote runner.
    Remote(Url),
}

/// Reads the text of a configuration file, which messages call `file`.
///
/// Answers with the warnings met: a key that is not known is no error, so that a file can be shared
/// with a later version.
pub fn parse(text: &str, file: &str) -> Result<(Configuration, Vec<Diagnostic>), Faults> {
    let root = DeTable::parse(text).map_err(|error| syntax_fault(text, file, &error))?;
    let mut reader = Reader { faults: TextFaults::new(text, file), scopes: Vec::new() };
    let configuration = reader.configuration(root.get_ref());
    reader.check_scopes(text);
    reader.faults.finish(configuration)
}

/// The fault of a text that is no TOML.
pub(super) fn syntax_fault(text: &str, file: &str, error: &toml::de::Error) -> Diagnostic {
    let (reason, hint) = of_toml(text, error);
    let message = format!("this is not TOML: {reason}");
    let fault = Diagnostic::error("configuration_syntax", message).in_file(file);
    let fault = Diagnostic { hint, ..fault };
    match error.span() {
        Some(span) => {
            let (line, column) = place(text, span.start);
            fault.at_line(line).at_column(column)
        }
        None => fault,
    }
}

/// Line and column, in characters, of a byte of `text`; both from 1.
pub(super) fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.chars().rev().take_while(|character| *character != '\n').count() + 1;
    (line, column)
}

struct Reader<'a> {
    faults: TextFaults<'a>,
    /// The scopes that are bound, with the registry's name, by where they stand.
    scopes: Vec<(usize, Scope, String)>,
}

type Value<'a> = Spanned<DeValue<'a>>;

impl Reader<'_> {
    fn configuration(&mut self, root: &DeTable<'_>) -> Configuration {
        let known = ["registry", "registries", "runners", "agents", "mcp", "trust-on-first-use"];
        self.know(root, "", &known);
        let mut configuration = Configuration {
            registry: root.get("registry").and_then(|value| self.text(value, "registry")),
            registry_place: root.get("registry").and_then(|value| {
                let placed = Diagnostic::error("configuration_value", "");
                let placed = self.faults.placed(placed, value.span().start);
                placed.line.zip(placed.column)
            }),
            trust_on_first_use: root
                .get("trust-on-first-use")
                .and_then(|value| self.truth(value, "trust-on-first-use")),
            ..Configuration::default()
        };
        for (name, value) in self.tables(root, "registries") {
            if let Some(registry) = self.registry(&name, value) {
                configuration.registries.insert(name, registry);
            }
        }
        for (runtime, value) in self.tables(root, "runners") {
            if let Some(runner) = self.runner(&runtime, value) {
                configuration.runners.insert(runtime, runner);
            }
        }
        for (id, value) in self.tables(root, "agents") {
            if id == "use" {
                configuration.use_agents = self.texts(value, "agents.use").unwrap_or_default();
            } else if let Some(directories) = self.agent(&id, value) {
                configuration.agents.insert(id, directories);
            }
        }
        if let Some(table) = root.get("mcp").and_then(|value| self.table(value, "mcp")) {
            self.know(table, "mcp", &["allow"]);
            configuration.allow =
                table.get("allow").map_or_else(Vec::new, |allow| self.allow(allow));
        }
        configuration
    }

    fn allow(&mut self, value: &Value<'_>) -> Vec<Allowed> {
        let texts = self.texts(value, "mcp.allow").unwrap_or_default();
        let read = |text: String| match text.parse() {
            Ok(allowed) => Some(allowed),
            Err(error) => {
                let error: AllowedError = error;
                self.error("configuration_value", value, format!("`mcp.allow`: {error}"));
                None
            }
        };
        texts.into_iter().filter_map(read).collect()
    }

    fn registry(&mut self, name: &str, value: &Value<'_>) -> Option<ConfiguredRegistry> {
        let at = format!("registries.{}", escape(name));
        let table = self.table(value, &at)?;
        self.know(table, &at, &["url", "scopes", "ca", "proxy", "log-key", "mirrors", "fallback"]);
        let url =
            table.get("url").and_then(|url| self.url(UrlOf::Registry, url, &format!("{at}.url")));
        if !table.contains_key("url") {
            self.incomplete(value, table, &["url"], format!("`{at}` has no `url`"));
        }
        let mut scopes = Vec::new();
        if let Some(value) = table.get("scopes") {
            let texts = self.texts(value, &format!("{at}.scopes")).unwrap_or_default();
            let items = value.get_ref().as_array().into_iter().flat_map(|items| items.iter());
            for (text, item) in texts.iter().zip(items) {
                match text.parse::<Scope>() {
                    Ok(scope) => {
                        self.scopes.push((item.span().start, scope.clone(), name.to_owned()));
                        scopes.push(scope);
                    }
                    Err(error) => self.error("configuration_value", item, error.to_string()),
                }
            }
        }
        let ca = table.get("ca").and_then(|value| self.text(value, &format!("{at}.ca")));
        let proxy = table
            .get("proxy")
            .and_then(|value| self.url(UrlOf::Proxy, value, &format!("{at}.proxy")));
        let log_key = table.get("log-key").and_then(|value| self.log_key(value, &at));
        let mirrors = table.get("mirrors").map(|value| self.mirrors(value, &at));
        let fallback =
            table.get("fallback").and_then(|value| self.truth(value, &format!("{at}.fallback")));
        Some(ConfiguredRegistry {
            url: url?,
            scopes,
            ca,
            proxy,
            log_key,
            mirrors: mirrors.unwrap_or_default(),
            fallback: fallback.unwrap_or(true),
        })
    }

    /// That no scope is bound to two registries: names of it would be asked for at the one or the
    /// other, and whoever has the other could answer with skills of their own.
    fn check_scopes(&mut self, text: &str) {
        let mut bound = std::mem::take(&mut self.scopes);
        bound.sort_by_key(|(offset, ..)| *offset);
        for (position, (offset, scope, name)) in bound.iter().enumerate() {
            let earlier = bound.get(..position).into_iter().flatten();
            let mut earlier = earlier.filter(|(_, other, at)| other == scope && at != name);
            let Some((first, _, other)) = earlier.next() else { continue };
            let (line, _) = place(text, *first);
            let message = format!(
                "the scope `{}` is bound to `registries.{}` here, and to `registries.{}` in line \
                 {line}",
                scope.as_str(),
                escape(name),
                escape(other)
            );
            let error = Diagnostic::error("configuration_value", message).with_hint(
                "its names are asked for at one registry alone: take it out of the other's `scopes`",
            );
            self.faults.add(self.faults.placed(error, *offset));
        }
    }

    fn log_key(&mut self, value: &Value<'_>, at: &str) -> Option<LogKey> {
        let text = self.text(value, &format!("{at}.log-key"))?;
        let refused = |reason| format!("`{at}.log-key`: {reason}");
        LogKey::parse(&text)
            .map_err(|reason| self.error("configuration_value", value, refused(reason)))
            .ok()
    }

    fn mirrors(&mut self, value: &Value<'_>, at: &str) -> Vec<Url> {
        let at = format!("{at}.mirrors");
        let Some(items) = value.get_ref().as_array() else {
            self.other_type(value, &at, "a list of texts");
            return Vec::new();
        };
        items.iter().filter_map(|item| self.url(UrlOf::Registry, item, &at)).collect()
    }

    fn runner(&mut self, runtime: &str, value: &Value<'_>) -> Option<ConfiguredRunner> {
        let at = format!("runners.{}", escape(runtime));
        let table = self.table(value, &at)?;
        self.know(table, &at, &["command", "url"]);
        match (table.get("command"), table.get("url")) {
            (Some(command), None) => {
                let words = self.texts(command, &format!("{at}.command"))?;
                if words.first().is_none_or(String::is_empty) {
                    let message = format!("`{at}.command` names no program");
                    self.error("configuration_value", command, message);
                    return None;
                }
                Some(ConfiguredRunner::Command(words))
            }
            (None, Some(url)) => {
                self.url(UrlOf::Runner, url, &format!("{at}.url")).map(ConfiguredRunner::Remote)
            }
            (Some(_), Some(_)) => {
                let message = format!("`{at}` has both `command` and `url`: keep one of them");
                self.error("configuration_incomplete", value, message);
                None
            }
            (None, None) => {
                let message = format!("`{at}` needs either `command` or `url`");
                self.incomplete(value, table, &["command", "url"], message);
                None
            }
        }
    }

    fn agent(&mut self, id: &str, value: &Value<'_>) -> Option<AgentDirectories> {
        let at = format!("agents.{}", escape(id));
        let table = self.table(value, &at)?;
        self.know(table, &at, &["project", "global"]);
        let mut directory =
            |key: &str| table.get(key).and_then(|value| self.text(value, &format!("{at}.{key}")));
        Some(AgentDirectories { project: directory("project"), global: directory("global") })
    }

    /// The members of the table under `key`; none where it is absent.
    fn tables<'t, 'i>(&mut self, root: &'t DeTable<'i>, key: &str) -> Vec<(String, &'t Value<'i>)> {
        let Some(table) = root.get(key).and_then(|value| self.table(value, key)) else {
            return Vec::new();
        };
        table.iter().map(|(name, value)| (name.get_ref().to_string(), value)).collect()
    }

    fn table<'t, 'i>(&mut self, value: &'t Value<'i>, at: &str) -> Option<&'t DeTable<'i>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.other_type(value, at, "a table");
        }
        table
    }

    fn text(&mut self, value: &Value<'_>, at: &str) -> Option<String> {
        let text = value.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.other_type(value, at, "a text in quotes");
        }
        text
    }

    fn truth(&mut self, value: &Value<'_>, at: &str) -> Option<bool> {
        let truth = value.get_ref().as_bool();
        if truth.is_none() {
            self.other_type(value, at, "`true` or `false`");
        }
        truth
    }

    fn texts(&mut self, value: &Value<'_>, at: &str) -> Option<Vec<String>> {
        let Some(items) = value.get_ref().as_array() else {
            self.other_type(value, at, "a list of texts");
            return None;
        };
        items.iter().map(|item| self.text(item, at)).collect()
    }

    fn url(&mut self, of: UrlOf, value: &Value<'_>, at: &str) -> Option<Url> {
        let text = self.text(value, at)?;
        url_of(of, &text)
            .map_err(|error| self.error("configuration_value", value, format!("`{at}`: {error}")))
            .ok()
    }

    fn other_type(&mut self, value: &Value<'_>, at: &str, expected: &str) {
        let found = value.get_ref().type_str();
        let message = format!("`{at}` is of type {found}; expected {expected}");
        self.error("configuration_value", value, message);
    }

    fn error(&mut self, code: &str, value: &Value<'_>, message: String) {
        let error = Diagnostic::error(code, message);
        self.faults.add(self.faults.placed(error, value.span().start));
    }

    /// That a table has none of `missing`, with the key in it that is near to one: where something
    /// refuses the file, the warning of that key is not told.
    fn incomplete(
        &mut self,
        value: &Value<'_>,
        table: &DeTable<'_>,
        missing: &[&str],
        message: String,
    ) {
        let mut error = Diagnostic::error("configuration_incomplete", message);
        let misspelt = table.keys().find_map(|key| {
            let key = key.get_ref().as_ref();
            nearest(key, missing.iter().copied()).map(|near| (key, near))
        });
        if let Some((key, near)) = misspelt {
            let hint = format!("`{}` stands there: did you mean `{near}`?", escape(key));
            error = error.with_hint(hint);
        }
        self.faults.add(self.faults.placed(error, value.span().start));
    }

    /// Warns of each key that is none of `known`.
    fn know(&mut self, table: &DeTable<'_>, at: &str, known: &[&str]) {
        for key in table.keys() {
            let name = key.get_ref().as_ref();
            if known.contains(&name) {
                continue;
            }
            let within = if at.is_empty() { String::new() } else { format!(" in `{at}`") };
            let message = format!("`{}` is not a known key{within}", escape(name));
            let hint = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known are `{}`", known.join("`, `")),
            };
            let warning = Diagnostic::warning("configuration_unknown_key", message);
            let warning = self.faults.placed(warning.with_hint(hint), key.span().start);
            self.faults.add(warning);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_is_named_where_it_leaves_one_out() {
        for (text, said) in [
            (
                "[runners.python]\ncomand = [\"python3\"]",
                "`comand` stands there: did you mean `command`?",
            ),
            (
                "[registries.work]\nulr = \"https://x.test\"",
                "`ulr` stands there: did you mean `url`?",
            ),
        ] {
            let faults = parse(text, "f").unwrap_err().into_diagnostics();
            let error = faults.iter().find(|one| one.code == "configuration_incomplete").unwrap();
            assert_eq!(error.hint.as_deref(), Some(said));
        }
        let both = "[runners.x]\ncommand = [\"x\"]\nurl = \"https://x.test\"";
        let faults = parse(both, "f").unwrap_err();
        assert!(faults.first().message.contains("both `command` and `url`"), "{faults:?}");
    }

    #[test]
    fn a_url_is_called_what_it_is_of() {
        for (text, said) in [
            ("[registries.x]\nurl = \"ftp://x\"", "not a registry's URL"),
            ("[registries.x]\nurl = \"https://x\"\nproxy = \"ftp://x\"", "not a proxy's URL"),
            ("[runners.x]\nurl = \"ftp://x\"", "not a runner's URL"),
            ("[runners.x]\nurl = \"https://x/?a\"", "not a runner's URL"),
            ("[runners.x]\nurl = \"https://a:b@x\"", "a runner's URL holds no user name"),
        ] {
            let faults = parse(text, "f").unwrap_err();
            assert!(faults.first().message.contains(said), "{faults:?}");
        }
    }

    #[test]
    fn a_whole_file_is_read() {
        let text = r#"
registry = "corp"
trust-on-first-use = false
[registries.corp]
url = "https://skills.corp.test/"
scopes = ["acme", "tools"]
ca = "corp.pem"
proxy = "http://proxy.corp.test:3128"
log-key = "0000000000000000000000000000000000000000000000000000000000000001"
mirrors = ["https://near.corp.test/", "http://127.0.0.1:7771"]
fallback = false
[runners.python]
command = ["python3", "-B"]
[runners.wasm]
url = "https://run.corp.test"
[agents]
use = ["claude-code"]
[agents.mine]
project = ".mine/skills"
"#;
        let (read, warnings) = parse(text, "config.toml").unwrap();
        assert_eq!(warnings, []);
        assert_eq!(read.registry.as_deref(), Some("corp"));
        let corp = &read.registries["corp"];
        assert_eq!(corp.url.as_str(), "https://skills.corp.test/");
        assert_eq!(corp.scopes.iter().map(Scope::as_str).collect::<Vec<_>>(), ["acme", "tools"]);
        assert_eq!(corp.ca.as_deref(), Some("corp.pem"));
        assert_eq!(corp.proxy.as_ref().unwrap().as_str(), "http://proxy.corp.test:3128/");
        assert_eq!(read.trust_on_first_use, Some(false));
        assert!(matches!(corp.log_key, Some(LogKey::Fingerprint(_))));
        let mirrors: Vec<&str> = corp.mirrors.iter().map(Url::as_str).collect();
        assert_eq!(mirrors, ["https://near.corp.test/", "http://127.0.0.1:7771/"]);
        assert!(!corp.fallback);
        let python = ConfiguredRunner::Command(vec!["python3".to_owned(), "-B".to_owned()]);
        assert_eq!(read.runners["python"], python);
        assert!(matches!(read.runners["wasm"], ConfiguredRunner::Remote(_)));
        assert_eq!(read.use_agents, ["claude-code"]);
        assert_eq!(read.agents["mine"].project.as_deref(), Some(".mine/skills"));
    }

    #[test]
    fn an_unknown_key_is_told_with_its_line_and_the_nearest_one() {
        let text = "\nregistri = \"x\"\n[registries.a]\nurl = \"https://a\"\nscope = []\n";
        let (read, warnings) = parse(text, "config.toml").unwrap();
        assert_eq!(read.registry, None);
        let told: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "config.toml:2:1: `registri` is not a known key\n  hint: did you mean `registry`?",
                "config.toml:5:1: `scope` is not a known key in `registries.a`\n  hint: did you \
                 mean `scopes`?",
            ]
        );
    }

    #[test]
    fn every_wrong_value_is_told_with_its_place() {
        for (text, mentions) in [
            ("registry = 1", "config.toml:1:12: `registry` is of type integer"),
            ("registries = []", "config.toml:1:14: `registries` is of type array"),
            ("[registries.a]\nscopes = []", "`registries.a` has no `url`"),
            ("[registries.a]\nurl = \"ftp://x\"", "config.toml:2:7: `registries.a.url`"),
            ("[registries.a]\nurl = \"https://${TOKEN}@x\"", "not expanded"),
            ("[registries.a]\nurl = \"https://x\"\nscopes = [\"A\"]", "`a` would be"),
            (
                "[registries.a]\nurl = \"https://x\"\nlog-key = \"abc\"",
                "config.toml:3:11: `registries.a.log-key`: it is neither the fingerprint",
            ),
            ("[registries.a]\nurl = \"https://x\"\nmirrors = \"https://y\"", "a list of texts"),
            (
                "[registries.a]\nurl = \"https://x\"\nmirrors = [\"ftp://y\"]",
                "`registries.a.mirrors`",
            ),
            ("[registries.a]\nurl = \"https://x\"\nfallback = 1", "expected `true` or `false`"),
            ("trust-on-first-use = \"no\"", "expected `true` or `false`"),
            ("[runners.p]\ncommand = []", "names no program"),
            ("[runners.p]", "either `command` or `url`"),
            ("[agents]\nuse = \"x\"", "expected a list of texts"),
            (
                "[registries.b]\nurl = \"https://b\"\nscopes = [\"x\", \"acme\"]\n[registries.a]\nurl = \
                 \"https://a\"\nscopes = [\"acme\"]",
                "config.toml:6:11: the scope `acme` is bound to `registries.a` here, and to \
                 `registries.b` in line 3",
            ),
            ("a = ", "config.toml:1:"),
            ("registry = \"\u{1b}[31m", "not TOML"),
        ] {
            let faults = parse(text, "config.toml").unwrap_err();
            let told = faults.to_string();
            assert!(told.contains(mentions), "{text}: {told}");
            assert!(!told.contains('\u{1b}'));
        }
        let faults = parse("registry = 1\n[runners]\np = 2\n", "c").unwrap_err();
        assert_eq!(faults.diagnostics().len(), 2);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a-z\\[\\]=\"{}.\\n #\u{e9}]{0,60}") {
            let _ = parse(&text, "config.toml");
        }
    }
}
