//! The params of a tool.

use std::collections::HashSet;

use super::bounds::{MAX_CHOICES, MAX_PARAMS};
use super::coerce::{expected, from_text, same};
use super::lines::{Keyed, keys, known, line_value};
use super::report::{Place, Report, did_you_mean};
use super::run::is_name_character;
use super::{Param, ParamKind};
use crate::diagnostic::{Diagnostic, escape};
use crate::json::Json;

/// The keys of a param.
const KEYS: [&str; 5] = ["type", "format", "enum", "description", "default"];
/// The values of `type`.
const TYPES: [(&str, ParamKind); 4] = [
    ("string", ParamKind::String),
    ("integer", ParamKind::Integer),
    ("number", ParamKind::Number),
    ("boolean", ParamKind::Boolean),
];

/// What other languages call them.
const SYNONYMS: [(&str, &str); 6] = [
    ("int", "integer"),
    ("str", "string"),
    ("text", "string"),
    ("bool", "boolean"),
    ("float", "number"),
    ("double", "number"),
];

impl ParamKind {
    /// The type as JSON Schema names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

/// A name under `params`, and what is declared under it where that is whole.
#[derive(Debug)]
pub(super) struct Declared<'a> {
    pub(super) name: &'a str,
    pub(super) place: Place,
    /// [`None`] where an error was added.
    pub(super) param: Option<Param>,
}

/// Reads what stands under `params`; [`None`] where there are too many, which is told.
pub(super) fn read<'a>(
    params: &Keyed<'_, 'a>,
    whose: &str,
    report: &mut Report<'_>,
) -> Option<Vec<Declared<'a>>> {
    if !params.value.is_empty() {
        report.at(
            params.value_place,
            Diagnostic::error(
                "params_form",
                format!("{whose}: `params` is followed by `{}`", escape(params.value)),
            )
            .with_hint("write each param on its own line beneath, indented; leave `params` away where there are none"),
        );
        return Some(Vec::new());
    }
    let keys = keys(params.beneath, &format!("{whose}, params"), report);
    if let Some(first_over) = keys.get(MAX_PARAMS) {
        let message = format!("{whose}: it has more than {MAX_PARAMS} params");
        let diagnostic = Diagnostic::error("params_too_many", message);
        report.at(first_over.place, diagnostic.with_hint("pass a file, or one text of many parts"));
        return None;
    }
    let mut seen = HashSet::new();
    let mut declared = Vec::new();
    for keyed in keys {
        let name = keyed.key;
        let whose = format!("{whose}, param `{}`", escape(name));
        if !seen.insert(name) {
            let message = format!("{whose}: it is declared twice");
            report.at(keyed.place, Diagnostic::error("param_twice", message));
            continue;
        }
        if !name.chars().all(is_name_character) {
            report.at(
                keyed.place,
                Diagnostic::error("param_name", format!("{whose}: `run` cannot name it"))
                    .with_hint("use only `A-Z a-z 0-9 _`"),
            );
            continue;
        }
        declared.push(Declared { name, place: keyed.place, param: param(&keyed, &whose, report) });
    }
    Some(declared)
}

fn param(keyed: &Keyed<'_, '_>, whose: &str, report: &mut Report<'_>) -> Option<Param> {
    if !keyed.value.is_empty() {
        let value = escape(keyed.value);
        report.at(
            keyed.value_place,
            Diagnostic::error("param_form", format!("{whose}: it is followed by `{value}`"))
                .with_hint(format!("write `type: {value}` on a line beneath, indented")),
        );
        return None;
    }
    let keys = keys(keyed.beneath, whose, report);
    let known = known(&keys, &KEYS, whose, report);
    let find = |key: &str| known.iter().find(|keyed| keyed.key == key).copied();
    let text = |key: &str, report: &mut Report<'_>| {
        find(key).map(|keyed| line_value(keyed, whose, report).to_owned())
    };
    let format = text("format", report);
    let description = text("description", report);
    let kind = match find("type") {
        Some(keyed) => kind(keyed, whose, report),
        None => Some(ParamKind::String),
    };
    let Some(kind) = kind else {
        // Its values are held against no type, and told where none could hold them.
        if let Some(keyed) = find("enum") {
            choices(keyed, ParamKind::String, whose, report);
        }
        return None;
    };
    let mut param = Param {
        name: keyed.key.to_owned(),
        kind,
        format,
        choices: None,
        description,
        default: None,
    };
    if let Some(keyed) = find("enum") {
        param.choices = Some(choices(keyed, kind, whose, report)?);
    }
    if let Some(keyed) = find("default") {
        let given = line_value(keyed, whose, report);
        param.default = from_text(kind, given).filter(|value| is_choice(&param, value));
        if param.default.is_none() {
            report.at(
                keyed.value_place,
                Diagnostic::error(
                    "param_default",
                    format!("{whose}: the default `{}` is not {}", escape(given), expected(&param)),
                ),
            );
            return None;
        }
    }
    Some(param)
}

/// Whether `value` is one of the values that `param` may have.
pub(super) fn is_choice(param: &Param, value: &Json) -> bool {
    param.choices.as_ref().is_none_or(|choices| choices.iter().any(|one| same(one, value)))
}

fn kind(keyed: &Keyed<'_, '_>, whose: &str, report: &mut Report<'_>) -> Option<ParamKind> {
    let given = line_value(keyed, whose, report);
    let kind = TYPES.iter().find(|(name, _)| *name == given).map(|(_, kind)| *kind);
    if kind.is_none() {
        let message = format!(
            "{whose}: the type `{}` is not one of `string`, `integer`, `number`, `boolean`",
            escape(given)
        );
        let synonym = SYNONYMS.iter().find(|(name, _)| *name == given);
        let hint = match synonym {
            Some((_, name)) => Some(format!("write `type: {name}`")),
            None => did_you_mean(given, TYPES.iter().map(|(name, _)| *name)),
        };
        let hint = hint.unwrap_or_else(|| "pass anything else as one `string`".to_owned());
        report.at(keyed.value_place, Diagnostic::error("param_type", message).with_hint(hint));
    }
    kind
}

fn choices(
    keyed: &Keyed<'_, '_>,
    kind: ParamKind,
    whose: &str,
    report: &mut Report<'_>,
) -> Option<Vec<Json>> {
    let given = line_value(keyed, whose, report);
    let mut choices: Vec<Json> = Vec::new();
    let mut seen = HashSet::new();
    let mut refuse = |message: String| {
        report.at(
            keyed.value_place,
            Diagnostic::error("param_enum", message)
                .with_hint("write the values separated by commas: `enum: accept, reject`"),
        );
        None
    };
    if given.split(',').nth(MAX_CHOICES).is_some() {
        return refuse(format!("{whose}: `enum` holds more than {MAX_CHOICES} values"));
    }
    for text in given.split(',').map(str::trim) {
        if text.is_empty() {
            return refuse(format!("{whose}: `enum` holds an empty value"));
        }
        let Some(value) = from_text(kind, text) else {
            return refuse(format!(
                "{whose}: the value `{}` of `enum` is no {}",
                escape(text),
                kind.name()
            ));
        };
        if !seen.insert(text) {
            return refuse(format!("{whose}: `enum` holds `{}` twice", escape(text)));
        }
        choices.push(value);
    }
    Some(choices)
}
