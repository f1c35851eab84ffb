//! One entry of `scripts`.

use std::time::Duration;

use super::file::{FILE, Reader};
use super::{BUILT_IN_RUNTIMES, DEFAULT_MAXIMUM_OUTPUT_BYTES, DEFAULT_TIMEOUT, Script, name};
use crate::contract::Contract;
use crate::diagnostic::{Diagnostic, escape, nearest};
use crate::json::Node;
use crate::limits::MAX_CONTRACT_BYTES;
use crate::path::SkillPath;
use crate::skill::Rules;

const KEYS: [&str; 6] = [
    "description",
    "runtime",
    "parameters",
    "requiresPermission",
    "timeoutSeconds",
    "maximumOutputBytes",
];
/// The key of `parameters` that refers to a contract in a file of its own.
const REFERENCE: &str = "$hpdContract";
/// Greatest number in a manifest.
const GREATEST: u64 = (1 << 53) - 1;
/// Greatest timeout: far beyond any run, and within what every clock can add.
const GREATEST_TIMEOUT: u64 = 0xffff_ffff;

/// Reads the entry of the script at `key`; [`None`] where a fault was told.
pub(super) fn read<'a>(
    reader: &mut Reader<'a>,
    key: &'a str,
    offset: usize,
    node: &'a Node,
) -> Option<Script> {
    let path = reader.file_of_skill(key, offset);
    let Some(members) = node.members() else {
        let message = format!("the script `{}` must be an object", escape(key));
        reader.fault("wrong_type", message, node.start);
        return None;
    };
    for member in members.iter().filter(|member| !KEYS.contains(&member.key.as_str())) {
        let severity = match reader.rules {
            Rules::Strict => Diagnostic::error,
            Rules::Compatible => Diagnostic::warning,
        };
        reader.path.push_key(&member.key);
        reader.unknown_key(&member.key, &KEYS, member.start, severity);
        reader.path.pop();
    }
    let description = match optional(reader, node, "description", "a string", Node::text) {
        Ok((text, place)) => {
            reader.description(text.unwrap_or_default(), "script", key, place.unwrap_or(offset))
        }
        Err(Told) => None,
    };
    let runtime = runtime(reader, key, offset, node);
    let contract = contract(reader, key, offset, node);
    let permission = optional(reader, node, "requiresPermission", "true or false", Node::truth);
    let timeout = count(reader, node, "timeoutSeconds", GREATEST_TIMEOUT);
    let most = count(reader, node, "maximumOutputBytes", GREATEST);
    let path = path?;
    Some(Script {
        name: name::of_script(&path),
        description: description?,
        path,
        runtime: runtime?,
        contract: contract?,
        requires_permission: permission.ok()?.0.unwrap_or(true),
        timeout: timeout.ok()?.map_or(DEFAULT_TIMEOUT, Duration::from_secs),
        maximum_output_bytes: most.ok()?.unwrap_or(DEFAULT_MAXIMUM_OUTPUT_BYTES),
    })
}

/// A fault was told.
struct Told;

/// The value under `key` and its offset, where the key is there.
fn optional<'a, T>(
    reader: &mut Reader<'a>,
    node: &'a Node,
    key: &'static str,
    expected: &str,
    take: impl FnOnce(&'a Node) -> Option<T>,
) -> Result<(Option<T>, Option<usize>), Told> {
    let Some(value) = node.get(key) else { return Ok((None, None)) };
    if let Some(taken) = take(value) {
        return Ok((Some(taken), Some(value.start)));
    }
    reader.path.push_key(key);
    reader.fault("wrong_type", format!("`{key}` must be {expected}"), value.start);
    reader.path.pop();
    Err(Told)
}

fn runtime<'a>(
    reader: &mut Reader<'a>,
    key: &str,
    offset: usize,
    node: &'a Node,
) -> Option<String> {
    match optional(reader, node, "runtime", "a string", Node::text) {
        Ok((Some(runtime), place)) if !runtime.trim().is_empty() => {
            if !BUILT_IN_RUNTIMES.contains(&runtime) {
                let warning = unusual_runtime(key, runtime);
                reader.unusual_runtime(runtime, warning, place.unwrap_or(offset));
            }
            Some(runtime.to_owned())
        }
        Ok((_, place)) => {
            let message = format!("the script `{}` names no `runtime`", escape(key));
            let hint = "name the kind of runner it needs, such as `python` or `shell`";
            let fault = Diagnostic::error("missing_runtime", message).with_hint(hint);
            reader.report_at(fault, place.unwrap_or(offset));
            None
        }
        Err(Told) => None,
    }
}

fn unusual_runtime(key: &str, runtime: &str) -> Diagnostic {
    let message = format!(
        "the script `{}` needs a runner for `{}`, which each of its users must configure",
        escape(key),
        escape(runtime)
    );
    let built_in = BUILT_IN_RUNTIMES.map(|runtime| format!("`{runtime}`")).join(", ");
    Diagnostic::warning("runtime_unusual", message).with_hint(
        match nearest(runtime, BUILT_IN_RUNTIMES) {
            Some(near) => format!("did you mean `{near}`? There are runners for {built_in}"),
            None => {
                format!("there are runners for {built_in}; say in `SKILL.md` what to configure")
            }
        },
    )
}

/// A whole number above zero.
fn count<'a>(
    reader: &mut Reader<'a>,
    node: &'a Node,
    key: &'static str,
    greatest: u64,
) -> Result<Option<u64>, Told> {
    let expected = format!("a whole number from 1 to {greatest}");
    let (count, _) = optional(reader, node, key, &expected, |value| {
        value.number()?.parse().ok().filter(|count| (1..=greatest).contains(count))
    })?;
    Ok(count)
}

fn contract<'a>(
    reader: &mut Reader<'a>,
    key: &str,
    offset: usize,
    node: &'a Node,
) -> Option<Contract> {
    let Some(parameters) = node.get("parameters") else {
        let message = format!("the script `{}` declares no `parameters`", escape(key));
        let hint = "declare that it takes none: `{\"type\": \"object\", \"properties\": {}, \
                    \"required\": [], \"additionalProperties\": false}`";
        let fault = Diagnostic::error("missing_parameters", message).with_hint(hint);
        reader.report_at(fault, offset);
        return None;
    };
    reader.path.push_key("parameters");
    let contract = match parameters.get(REFERENCE) {
        Some(reference) => referred(reader, parameters, reference),
        None => inline(reader, parameters),
    };
    reader.path.pop();
    contract
}

fn inline<'a>(reader: &mut Reader<'a>, parameters: &'a Node) -> Option<Contract> {
    match Contract::compile_node(reader.text, parameters) {
        Ok(contract) => Some(contract),
        Err(error) => {
            let message = format!(
                "the contract is refused: {} (at `{}`)",
                error.message,
                escape(&format!("{}{}", reader.path, error.path))
            );
            let place = error.line.zip(error.column);
            reader.report(Diagnostic::error("contract_refused", message), FILE, place);
            None
        }
    }
}

/// The contract in the file that `parameters` refers to.
fn referred<'a>(
    reader: &mut Reader<'a>,
    parameters: &'a Node,
    reference: &'a Node,
) -> Option<Contract> {
    let alone = parameters.members().is_some_and(|members| members.len() == 1);
    let (Some(text), true) = (reference.text(), alone) else {
        let message = format!("`{REFERENCE}` must stand alone and name a file of the skill");
        reader.fault("contract_refused", message, reference.start);
        return None;
    };
    let path = reader.file_of_skill(text, reference.start)?;
    if let Some(known) = reader.contracts.get(&path) {
        return known.clone();
    }
    let contract = match compile_file(reader, &path) {
        Ok(contract) => Some(contract),
        Err(fault) => {
            let place = fault.line.zip(fault.column);
            let place = place.map(|(line, column)| (line as usize, column as usize));
            reader.report(*fault, path.as_str(), place);
            None
        }
    };
    reader.contracts.insert(path, contract.clone());
    contract
}

fn compile_file(reader: &Reader<'_>, path: &SkillPath) -> Result<Contract, Box<Diagnostic>> {
    let refused = |message: String| Box::new(Diagnostic::error("contract_refused", message));
    let bytes = reader.tree.read(path.as_str(), MAX_CONTRACT_BYTES as u64).map_err(|error| {
        refused(format!("the contract cannot be read: {}", escape(&error.to_string())))
    })?;
    let text =
        String::from_utf8(bytes).map_err(|_| refused("the contract is not UTF-8".to_owned()))?;
    Contract::compile(&text).map_err(|error| {
        let mut fault =
            Diagnostic::error("contract_refused", format!("the contract is refused: {error}"));
        if let (Some(line), Some(column)) = (error.line, error.column) {
            fault = fault.at_line(line).at_column(column);
        }
        Box::new(fault)
    })
}
