//! Reads a policy: strictly, since a key that nobody reads forbids nothing.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use regex::RegexBuilder;
use skillpkg_schema::diagnostic::{escape, nearest};
use skillpkg_schema::finding::{FindingKind, Severity};
use skillpkg_schema::log::{NoteKey, SignatureKind};
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::{Diagnostic, Faults, QualifiedName, Scope, SkillName};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::duration::Age;
use super::file::{FILES, NewExecutables, Origin, PolicyFile, Witnesses};
use super::place::{Place, Placed};
use super::rule::Rule;
use super::sources::Whose;
use crate::settings::registry_url;
use crate::text_faults::{TextFaults, of_toml};

/// The scope of names without one.
const NO_SCOPE: &str = "_";
/// Whoever no other key of `[signers]` is of.
pub(super) const ANYBODY: &str = "*";
/// Most bytes that one pattern may take when it is compiled.
const MOST_PATTERN_BYTES: usize = 256 * 1024;

/// The keys of a policy, which are those of the rules and `quorum`.
fn known_keys() -> Vec<&'static str> {
    Rule::ALL.iter().map(|rule| rule.key()).chain(["quorum"]).collect()
}

type Value<'a> = Spanned<DeValue<'a>>;

/// Reads the text of a policy's file, which messages call `file`.
pub(super) fn policy(text: &str, file: &str, whose: Whose) -> Result<PolicyFile, Faults> {
    let root = table(text, file)?;
    read(text, file, whose, &root)
}

/// Reads the `[policy]` of a project's `skillpkg.toml`; [`None`] where it has none.
pub(super) fn policy_of_project(text: &str, file: &str) -> Result<Option<PolicyFile>, Faults> {
    // A key can be spelt with escapes.
    if !text.contains("policy") && !text.contains('\\') {
        return Ok(None);
    }
    let root = table(text, file)?;
    let Some(value) = root.get("policy") else { return Ok(None) };
    match value.get_ref() {
        DeValue::Table(rules) => read(text, file, Whose::Project, rules).map(Some),
        other => {
            let message = format!("`policy` is of type {}; expected a table", other.type_str());
            let fault = Diagnostic::error("policy_invalid", message);
            Err(TextFaults::new(text, file).placed(fault, value.span().start).into())
        }
    }
}

fn table<'t>(text: &'t str, file: &str) -> Result<DeTable<'t>, Faults> {
    DeTable::parse(text).map(Spanned::into_inner).map_err(|error| {
        let (reason, hint) = of_toml(text, &error);
        let fault = Diagnostic::error("policy_invalid", format!("this is not TOML: {reason}"));
        let fault = Diagnostic { hint, ..fault };
        let start = error.span().map_or(0, |span| span.start);
        TextFaults::new(text, file).placed(fault, start).into()
    })
}

fn read(text: &str, file: &str, whose: Whose, table: &DeTable<'_>) -> Result<PolicyFile, Faults> {
    let mut reader = Reader { faults: TextFaults::new(text, file), file: Arc::from(file) };
    let policy = reader.policy(whose, table);
    reader.faults.finish(policy).map(|(policy, _)| policy)
}

struct Reader<'a> {
    faults: TextFaults<'a>,
    file: Arc<str>,
}

impl Reader<'_> {
    fn policy(&mut self, whose: Whose, table: &DeTable<'_>) -> PolicyFile {
        let mut policy = PolicyFile::empty(whose);
        let mut witnesses = None;
        let mut quorum = None;
        for (key, value) in table {
            let start = key.span().start;
            let name = key.get_ref().as_ref();
            let Some(rule) = Rule::ALL.into_iter().find(|rule| rule.key() == name) else {
                match name {
                    "quorum" => quorum = Some(value),
                    _ => self.unknown(name, start, "", &known_keys()),
                }
                continue;
            };
            match rule {
                Rule::Registries => {
                    policy.registries = self.list(value, name, origin).map(|found| {
                        let value = found.into_iter().map(|one| one.value).collect();
                        Placed { value, place: self.place(start) }
                    });
                }
                Rule::Scopes => {
                    policy.scopes = self.list(value, name, scope).map(|found| {
                        let value = found.into_iter().map(|one| one.value).collect();
                        Placed { value, place: self.place(start) }
                    });
                }
                Rule::Signers => self.signers(value, &mut policy),
                Rule::MinimumReleaseAge => {
                    policy.minimum_release_age = self.parsed::<Age>(value, name, start);
                }
                Rule::MaximumCheckpointAge => {
                    policy.maximum_checkpoint_age = self.parsed::<Age>(value, name, start);
                }
                Rule::Witnesses => witnesses = Some((start, value)),
                Rule::RequireLog => policy.require_log = self.truth(value, name, start),
                Rule::ForbidPrograms => {
                    policy.forbid_programs = self.list(value, name, program).unwrap_or_default();
                }
                Rule::ForbidRunners => {
                    policy.forbid_runners = self.list(value, name, word).unwrap_or_default();
                }
                Rule::ForbidRun => {
                    policy.forbid_run = self.list(value, name, pattern).unwrap_or_default();
                }
                Rule::NewExecutables => {
                    policy.new_executables = self.new_executables(value, name, start);
                }
                Rule::Findings => self.finding_rules(value, &mut policy),
            }
        }
        policy.witnesses = self.witnesses(witnesses, quorum);
        policy
    }

    fn signers(&mut self, value: &Value<'_>, policy: &mut PolicyFile) {
        let Some(table) = self.table(value, "signers") else { return };
        for (key, value) in table {
            let whom = key.get_ref().as_ref();
            if let Err(reason) = check_whom(whom) {
                let message = format!("`signers`: {reason}");
                self.fault(key.span().start, message, Some(WHOM_HINT));
                continue;
            }
            let at = format!("signers.{}", escape(whom));
            let keys = self.list(value, &at, |text| {
                text.parse::<KeyId>().map_err(|_| {
                    format!(
                        "`{}` is no key id: it is the 64 hexadecimal digits that `skillpkg keys` \
                         and `skillpkg show` tell",
                        escape(text)
                    )
                })
            });
            if let Some(keys) = keys {
                let value = keys.into_iter().map(|key| key.value).collect();
                let place = self.place(key.span().start);
                policy.signers.insert(whom.to_owned(), Placed { value, place });
            }
        }
    }

    fn finding_rules(&mut self, value: &Value<'_>, policy: &mut PolicyFile) {
        let Some(table) = self.table(value, "findings") else { return };
        for (key, value) in table {
            let (name, start) = (key.get_ref().as_ref(), key.span().start);
            let Ok(kind) = name.parse::<FindingKind>() else {
                let kinds = FindingKind::ALL.map(FindingKind::as_str);
                self.unknown(name, start, " in `findings`", &kinds);
                continue;
            };
            let at = format!("findings.{kind}");
            if let Some(severity) = self.parsed::<Severity>(value, &at, start) {
                if severity.value == Severity::Allow {
                    let message =
                        format!("`{at}` permits nothing: a policy only ever refuses more");
                    let hint = "take the line out, or write `refuse`";
                    self.fault(start, message, Some(hint));
                    continue;
                }
                policy.findings.insert(kind, severity);
            }
        }
    }

    fn witnesses(
        &mut self,
        witnesses: Option<(usize, &Value<'_>)>,
        quorum: Option<&Value<'_>>,
    ) -> Option<Witnesses> {
        let Some((start, value)) = witnesses else {
            if let Some(quorum) = quorum {
                let message = "`quorum` stands without `witnesses`, of which it is the number";
                self.fault(quorum.span().start, message, None);
            }
            return None;
        };
        let mut keys: Vec<NoteKey> = Vec::new();
        for Placed { value: key, place } in self.list(value, "witnesses", witness)? {
            // One that stands there twice is one witness.
            if keys.iter().any(|known| known.key() == key.key()) {
                let shown = escape(key.name());
                let message =
                    format!("`witnesses` has the key of `{shown}` twice, in line {}", place.line);
                self.fault(value.span().start, message, None);
                return None;
            }
            keys.push(key);
        }
        // Whoever names witnesses and no number wants each of them.
        let count = match quorum {
            None => keys.len(),
            Some(quorum) => {
                let number = quorum.get_ref().as_integer();
                let number = number
                    .and_then(|number| u32::from_str_radix(number.as_str(), number.radix()).ok())
                    .and_then(|number| usize::try_from(number).ok())
                    .filter(|number| (1..=keys.len()).contains(number));
                let Some(number) = number else {
                    let most = keys.len();
                    let message = format!(
                        "`quorum` is how many of the {most} `witnesses` must have signed: a number \
                         from 1 to {most}"
                    );
                    self.fault(quorum.span().start, message, None);
                    return None;
                };
                number
            }
        };
        if keys.is_empty() {
            self.fault(value.span().start, "`witnesses` names nobody", None);
            return None;
        }
        Some(Witnesses { keys, quorum: count, place: self.place(start) })
    }

    fn new_executables(
        &mut self,
        value: &Value<'_>,
        key: &str,
        start: usize,
    ) -> Option<Placed<NewExecutables>> {
        let found = match self.text(value, key)? {
            "ask" => NewExecutables::Ask,
            "refuse" => NewExecutables::Refuse,
            other => {
                let message = format!("`{key}` is `{}`; expected `ask` or `refuse`", escape(other));
                self.fault(value.span().start, message, None);
                return None;
            }
        };
        Some(Placed { value: found, place: self.place(start) })
    }

    fn truth(&mut self, value: &Value<'_>, key: &str, start: usize) -> Option<Placed<bool>> {
        let found = value.get_ref().as_bool();
        if found.is_none() {
            self.other_type(value, key, "`true` or `false`");
        }
        found.map(|value| Placed { value, place: self.place(start) })
    }

    /// A text that its own parser reads.
    fn parsed<T: FromStr>(
        &mut self,
        value: &Value<'_>,
        key: &str,
        start: usize,
    ) -> Option<Placed<T>>
    where
        T::Err: Display,
    {
        match self.text(value, key)?.parse() {
            Ok(parsed) => Some(Placed { value: parsed, place: self.place(start) }),
            Err(error) => {
                self.fault(value.span().start, format!("`{key}`: {error}"), None);
                None
            }
        }
    }

    /// A list of texts, each read and with its place; [`None`] where one of them is wrong.
    fn list<T>(
        &mut self,
        value: &Value<'_>,
        key: &str,
        mut read: impl FnMut(&str) -> Result<T, String>,
    ) -> Option<Vec<Placed<T>>> {
        let Some(items) = value.get_ref().as_array() else {
            self.other_type(value, key, "a list of texts");
            return None;
        };
        let mut found = Vec::with_capacity(items.len());
        for item in items {
            let start = item.span().start;
            match self.text(item, key).map(&mut read) {
                Some(Ok(value)) => found.push(Placed { value, place: self.place(start) }),
                Some(Err(reason)) => self.fault(start, format!("`{key}`: {reason}"), None),
                None => {}
            }
        }
        (found.len() == items.len()).then_some(found)
    }

    fn text<'v>(&mut self, value: &'v Value<'_>, key: &str) -> Option<&'v str> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.other_type(value, key, "a text in quotes");
        }
        text
    }

    fn table<'v, 'i>(&mut self, value: &'v Value<'i>, key: &str) -> Option<&'v DeTable<'i>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.other_type(value, key, "a table");
        }
        table
    }

    fn other_type(&mut self, value: &Value<'_>, key: &str, expected: &str) {
        let found = value.get_ref().type_str();
        let message = format!("`{key}` is of type {found}; expected {expected}");
        self.fault(value.span().start, message, None);
    }

    fn unknown(&mut self, name: &str, start: usize, within: &str, known: &[&str]) {
        let message = format!("`{}` is not a known rule{within}", escape(name));
        let hint = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known are `{}`", known.join("`, `")),
        };
        self.fault(start, message, Some(&hint));
    }

    fn fault(&mut self, start: usize, message: impl Into<String>, hint: Option<&str>) {
        let mut fault = Diagnostic::error("policy_invalid", message);
        fault.hint = hint.map(str::to_owned);
        self.faults.add(self.faults.placed(fault, start));
    }

    fn place(&self, start: usize) -> Place {
        let placed = self.faults.placed(Diagnostic::error("", ""), start);
        Place { file: Arc::clone(&self.file), line: placed.line.unwrap_or(1) }
    }
}

const WHOM_HINT: &str = "a key of `signers` is a scope as `acme`, a skill as `acme/waitlist`, `_` \
                         for names without a scope, `_/waitlist` for one of them, or `*` for the rest";

fn check_whom(whom: &str) -> Result<(), String> {
    let scope_error = |scope: &str| match scope {
        NO_SCOPE => Ok(()),
        scope => scope.parse::<Scope>().map(drop).map_err(|error| error.to_string()),
    };
    match whom.split_once('/') {
        _ if whom == ANYBODY => Ok(()),
        None => scope_error(whom),
        Some((scope, name)) => {
            scope_error(scope)?;
            name.parse::<SkillName>().map(drop).map_err(|error| error.to_string())
        }
    }
}

/// The keys of `[signers]` that a skill may be meant by, the most exact first.
pub(super) fn whoms(name: &QualifiedName) -> [String; 3] {
    let scope = name.wire_scope();
    [format!("{scope}/{}", name.name()), scope.to_owned(), ANYBODY.to_owned()]
}

fn origin(text: &str) -> Result<Origin, String> {
    if text == FILES {
        return Ok(Origin::File);
    }
    registry_url(text).map(Origin::Registry).map_err(|error| error.to_string())
}

fn scope(text: &str) -> Result<String, String> {
    match text {
        NO_SCOPE => Ok(text.to_owned()),
        _ => {
            text.parse::<Scope>().map(|scope| scope.to_string()).map_err(|error| error.to_string())
        }
    }
}

/// A witness's key: one of cosignatures, which are over a time too.
fn witness(text: &str) -> Result<NoteKey, String> {
    let key: NoteKey = text.parse().map_err(|_| {
        format!(
            "`{}` is no witness's key: write it as the witness publishes it, `name+id+key`",
            escape(text)
        )
    })?;
    match key.kind() {
        SignatureKind::Cosignature => Ok(key),
        SignatureKind::Ed25519 => Err(format!(
            "`{}` is a key of notes, and not one with which a witness cosigns",
            escape(key.name())
        )),
    }
}

/// A program is forbidden by its name, wherever it lies.
fn program(text: &str) -> Result<String, String> {
    let text = word(text)?;
    if text.contains(['/', '\\']) {
        let shown = escape(&text);
        return Err(format!(
            "`{shown}` is a path: name the program alone, which is forbidden wherever it lies"
        ));
    }
    Ok(text)
}

fn word(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("a name is empty".to_owned());
    }
    Ok(text.to_owned())
}

fn pattern(text: &str) -> Result<regex::Regex, String> {
    if text.is_empty() {
        return Err("an empty pattern is found in every line".to_owned());
    }
    RegexBuilder::new(text).size_limit(MOST_PATTERN_BYTES).build().map_err(|error| {
        let reason = match error {
            regex::Error::Syntax(reason) => {
                // The last line says what is wrong, those before show where.
                let last = reason.lines().last().unwrap_or_default();
                escape(last.trim_start_matches("error: ").trim())
            }
            regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
            _ => "it cannot be compiled".to_owned(),
        };
        format!("`{}` is no pattern: {reason}", escape(text))
    })
}
