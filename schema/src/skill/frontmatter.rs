//! Frontmatter: the two dialects, read by one reader.

use serde_json::{Map, Value as JsonValue};

use super::Dialect;
use super::includes::{self, Include};
use super::members::{self, KNOWN};
use super::report::{Place, Report, did_you_mean};
use super::yaml::{Member, Node, Value};
use crate::diagnostic::{Diagnostic, escape};
use crate::limits::MAX_DESCRIPTION_CHARACTERS;
use crate::name::SkillName;
use crate::version::Version;

/// Most bytes of frontmatter.
pub(super) const MAX_BYTES: usize = 128 * 1024;
/// Most characters of a description by the Agent Skills specification.
const MAX_DESCRIPTION: usize = 1024;
/// The code of what is told where no name stands.
pub(super) const NAME_MISSING: &str = "name_missing";
/// Most lines at the start of a file among which misplaced frontmatter is looked for.
const MOST_BEFORE: usize = 50;
/// The keys that have a field of their own; the others are kept as they are.
const FIELDS: [&str; 6] = ["skill", "name", "description", "license", "version", "includes"];

/// The frontmatter of a `SKILL.md`.
#[derive(Debug)]
pub(super) struct Frontmatter {
    pub(super) dialect: Dialect,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) version: Option<String>,
    pub(super) license: Option<String>,
    pub(super) includes: Option<Vec<Include>>,
    pub(super) metadata: Map<String, JsonValue>,
}

/// The two parts of a `SKILL.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    /// What stands between the two `---` lines.
    pub(super) frontmatter: &'a str,
    /// What stands after them.
    pub(super) body: &'a str,
    /// The line on which the body starts, from 1.
    pub(super) body_line: usize,
}

/// Divides the text of a `SKILL.md` at its `---` lines.
pub(super) fn divide(text: &str) -> Result<Parts<'_>, Diagnostic> {
    let is_fence = |line: &str| line.trim_end() == "---";
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| is_fence(line)) else {
        return Err(missing(text));
    };
    let start = first.len();
    let mut end = start;
    for (at, line) in lines.enumerate() {
        if is_fence(line) {
            let frontmatter = text.get(start..end).unwrap_or_default();
            let body = text.get(end + line.len()..).unwrap_or_default();
            return Ok(Parts { frontmatter, body, body_line: at + 3 });
        }
        end += line.len();
    }
    Err(Diagnostic::error(
        "frontmatter_unclosed",
        "the frontmatter never ends: no second `---` line",
    )
    .at_line(1)
    .at_column(1)
    .with_hint("close it with a line that is `---` alone"))
}

/// The file that starts otherwise than with `---`.
fn missing(text: &str) -> Diagnostic {
    let mut lines = text.lines().take(MOST_BEFORE).enumerate();
    let late = lines.find(|(_, line)| line.trim() == "---").map(|(at, _)| at + 1);
    let follows = late.and_then(|line| text.lines().nth(line)).unwrap_or_default();
    let is_frontmatter = KNOWN.iter().any(|key| {
        follows
            .trim_start()
            .strip_prefix(key)
            .is_some_and(|rest| rest.trim_start().starts_with(':'))
    });
    let hint = match late.filter(|_| is_frontmatter) {
        Some(line) => {
            format!("take out what stands before the `---` of line {line}, white space too")
        }
        None => {
            "start the file with `---`, `name: …`, `description: …` and `---`, each on its own \
                 line"
                .to_owned()
        }
    };
    let message = "there is no frontmatter: the first line is not `---`";
    Diagnostic::error("frontmatter_missing", message).at_line(1).at_column(1).with_hint(hint)
}

/// Reads what stands between the `---` lines; [`None`] where an error was added.
///
/// The includes that are in order go to `named` in either case.
pub(super) fn read(
    text: &str,
    named: &mut Vec<Include>,
    report: &mut Report<'_>,
) -> Option<Frontmatter> {
    if text.len() > MAX_BYTES {
        report.add(
            Diagnostic::error(
                "frontmatter_too_long",
                format!("the frontmatter is {} bytes long; the most is {MAX_BYTES}", text.len()),
            )
            .at_line(1),
        );
        return None;
    }
    let members = members::read(text, report)?;
    let dialect = dialect(&members);
    let metadata: Map<String, JsonValue> = members
        .iter()
        .filter(|member| !is_field(member, dialect))
        .map(|member| (member.key.clone(), json(&member.value)))
        .collect();
    for member in &members {
        if !KNOWN.contains(&member.key.as_str()) {
            report.at(member.place, unknown_key(&member.key));
        }
    }
    let name = name(&members, report);
    let description = description(&members, report);
    let license = lenient_text_of(&members, "license", dialect, report);
    let version = version(&members, dialect, report);
    warn_of_what_is_not_published(&members, name.as_deref(), version.as_deref(), report);
    let includes = find(&members, "includes").map(|member| includes::read(member, report));
    named.extend(includes.iter().flatten().cloned());
    if report.has_errors() {
        return None;
    }
    Some(Frontmatter {
        dialect,
        name: name.unwrap_or_default(),
        description: description?,
        version,
        license,
        includes,
        metadata,
    })
}

fn dialect(members: &[Member]) -> Dialect {
    if find(members, "skill").is_some() { Dialect::Hard } else { Dialect::Agent }
}

/// Whether the member has a field of its own, and is no metadata.
fn is_field(member: &Member, dialect: Dialect) -> bool {
    FIELDS.contains(&member.key.as_str()) && !is_foreign(member, dialect)
}

/// Whether an Agent Skill says something of its own under a key that agents do not read.
fn is_foreign(member: &Member, dialect: Dialect) -> bool {
    let is_text = matches!(member.value.value, Value::Text(_));
    dialect == Dialect::Agent && matches!(member.key.as_str(), "license" | "version") && !is_text
}

fn json(node: &Node) -> JsonValue {
    match &node.value {
        Value::Text(text) => JsonValue::String(text.clone()),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Map(members) => JsonValue::Object(
            members.iter().map(|one| (one.key.clone(), json(&one.value))).collect(),
        ),
    }
}

fn unknown_key(key: &str) -> Diagnostic {
    let message = format!("`{}` is no key of a skill; it is kept as metadata", escape(key));
    let diagnostic = Diagnostic::warning("frontmatter_key", message);
    match did_you_mean(key, KNOWN) {
        Some(hint) => diagnostic.with_hint(hint),
        None => diagnostic,
    }
}

fn find<'a>(members: &'a [Member], key: &str) -> Option<&'a Member> {
    members.iter().find(|member| member.key == key)
}

/// The text under `key`, trimmed; [`None`] where there is none or nothing in it.
fn text_of(members: &[Member], key: &str, report: &mut Report<'_>) -> Option<String> {
    let member = find(members, key)?;
    match &member.value.value {
        Value::Text(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::List(_) | Value::Map(_) => {
            report.at(
                member.value.place,
                Diagnostic::error(
                    "frontmatter_not_text",
                    format!("`{key}` is a list or a mapping; a text was expected"),
                )
                .with_hint(
                    "write it as one text, in quotes where it starts with `[` or `{`, or on \
                     indented lines under `key: >`",
                ),
            );
            None
        }
    }
}

/// What [`text_of`] answers; what an Agent Skill has there instead of a text stays metadata.
fn lenient_text_of(
    members: &[Member],
    key: &str,
    dialect: Dialect,
    report: &mut Report<'_>,
) -> Option<String> {
    let Some(member) = find(members, key).filter(|member| is_foreign(member, dialect)) else {
        return text_of(members, key, report);
    };
    report.at(
        member.value.place,
        Diagnostic::warning(
            "frontmatter_not_text",
            format!("`{key}` is a list or a mapping and not a text; it is kept as metadata"),
        )
        .with_hint("write it as one text"),
    );
    None
}

/// What the skill calls itself. That it is called nothing is an error only where nobody gives it a
/// name: what is published has one in its manifest.
fn name(members: &[Member], report: &mut Report<'_>) -> Option<String> {
    let place = |key| find(members, key).map(|member| member.value.place);
    let skill = text_of(members, "skill", report);
    let name = text_of(members, "name", report);
    if let (Some(skill), Some(name), Some(place)) = (&skill, &name, place("name"))
        && skill != name
    {
        report.at(
            place,
            Diagnostic::error(
                "name_conflict",
                format!("`skill` is `{}` and `name` is `{}`", escape(skill), escape(name)),
            )
            .with_hint("make them agree, or keep one of them"),
        );
    }
    let given = skill.or(name);
    if given.is_none() && !report.has_errors() {
        let place =
            place("skill").or_else(|| place("name")).unwrap_or(Place { line: 1, column: 1 });
        let near = members.iter().find_map(|member| {
            did_you_mean(&member.key, ["skill", "name"])
                .filter(|_| !KNOWN.contains(&member.key.as_str()))
        });
        report.at(
            place,
            Diagnostic::warning(
                NAME_MISSING,
                "the frontmatter names no skill: `skill` (or `name`) is missing or empty",
            )
            .with_hint(near.unwrap_or_else(|| {
                "add `skill: …` for a hard skill, `name: …` for an Agent Skill, or give a name: \
                 `skillpkg publish --name NAME`"
                    .to_owned()
            })),
        );
    }
    given
}

/// A name or a version that parses here and is refused where it is published.
fn warn_of_what_is_not_published(
    members: &[Member],
    name: Option<&str>,
    version: Option<&str>,
    report: &mut Report<'_>,
) {
    let place = |keys: &[&str]| {
        let member = keys.iter().find_map(|key| find(members, key));
        member.map_or(Place { line: 1, column: 1 }, |member| member.value.place)
    };
    if let Some(Err(error)) = name.map(str::parse::<SkillName>) {
        report.at(
            place(&["skill", "name"]),
            Diagnostic::warning("name_not_published", error.to_string()).with_hint(
                "change it, or publish the skill under another: `skillpkg publish --name NAME`",
            ),
        );
    }
    if let Some(Err(error)) = version.map(Version::parse_lenient) {
        report.at(
            place(&["version", "metadata"]),
            Diagnostic::warning("version_not_published", error.to_string()).with_hint(
                "change it, or publish the skill as another: `skillpkg publish --version VERSION`",
            ),
        );
    }
}

fn description(members: &[Member], report: &mut Report<'_>) -> Option<String> {
    let member = find(members, "description");
    let place = member.map_or(Place { line: 1, column: 1 }, |member| member.value.place);
    let is_text = member.is_none_or(|member| matches!(member.value.value, Value::Text(_)));
    let description = text_of(members, "description", report);
    match &description {
        None if is_text => report.at(
            place,
            Diagnostic::error(
                "description_missing",
                "the frontmatter has no `description`, or nothing in it",
            )
            .with_hint("say what the skill does and when to use it: a model chooses it by that"),
        ),
        Some(text) if text.chars().count() > MAX_DESCRIPTION => {
            let length = text.chars().count();
            let message = format!(
                "`description` is {length} characters long; agents read at most {MAX_DESCRIPTION}"
            );
            let warning = Diagnostic::warning("description_long", message);
            let is_refused = length > MAX_DESCRIPTION_CHARACTERS;
            let hint =
                format!("shorten it: a registry refuses more than {MAX_DESCRIPTION_CHARACTERS}");
            report.at(place, if is_refused { warning.with_hint(hint) } else { warning });
        }
        _ => {}
    }
    description
}

/// `version` or `metadata.version`; where both stand and differ, the dialect's own one.
fn version(members: &[Member], dialect: Dialect, report: &mut Report<'_>) -> Option<String> {
    let top = lenient_text_of(members, "version", dialect, report);
    let nested = match find(members, "metadata").map(|member| &member.value.value) {
        Some(Value::Map(members)) => match find(members, "version") {
            Some(Member { value: Node { value: Value::Text(text), .. }, .. }) => {
                Some(text.trim().to_owned()).filter(|text| !text.is_empty())
            }
            _ => None,
        },
        _ => None,
    };
    if let (Some(top), Some(nested), Some(member)) = (&top, &nested, find(members, "version"))
        && top != nested
    {
        let taken = if dialect == Dialect::Hard { top } else { nested };
        report.at(
            member.value.place,
            Diagnostic::warning(
                "version_conflict",
                format!(
                    "`version` is `{}` and `metadata.version` is `{}`; `{}` is taken",
                    escape(top),
                    escape(nested),
                    escape(taken)
                ),
            )
            .with_hint("keep one of them"),
        );
    }
    match dialect {
        Dialect::Hard => top.or(nested),
        Dialect::Agent => nested.or(top),
    }
}
