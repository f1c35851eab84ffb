//! From a model's answer to the call in it.

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::json::{self, Bounds, Json};
use skillpkg_schema::limits::{MAX_ARGUMENT_BYTES, MAX_CONTRACT_BYTES};
use skillpkg_schema::skill::{Answer, Call, CatalogueEntry, Resolved, Written, resolve_among};

use super::{CallError, Capability, Host};
use crate::runner::Script;
use crate::{Error, Kind};

/// How a script's schema and its effective arguments are read: both were made here.
fn bounds(bytes: usize) -> Bounds {
    Bounds { bytes: bytes.saturating_mul(4), depth: 200, nodes: bytes }
}

impl Host {
    /// The call in a model's answer; [`None`] where it makes none. An error is worded for the
    /// model. Runs nothing: the call's `tool` and `args` go to [`Host::call`].
    ///
    /// Tools and scripts are called alike. The arguments of a script are bound by its contract,
    /// defaults filled in; its `argv` is empty, since a runner decides what is spawned.
    pub fn resolve(&self, skill: &str, answer: Answer<'_>) -> Result<Option<Call>, CallError> {
        let snapshot = self.active_snapshot(skill)?;
        let tools = snapshot.skill_file()?.tools;
        let mut scripts = snapshot.scripts()?;
        if let Some(added) = self.added.get(&snapshot.manifest.name) {
            scripts.extend(added.scripts.iter().cloned());
        }
        let names: Vec<&str> = scripts.iter().map(|script| script.name.as_str()).collect();
        match resolve_among(&tools, &names, answer)? {
            None => Ok(None),
            Some(Resolved::Tool(call)) => Ok(Some(call)),
            Some(Resolved::Other(written)) => {
                let script = scripts.iter().find(|script| script.name == written.tool);
                let script = script.ok_or_else(|| {
                    let message = format!("there is no script `{}`", escape(&written.tool));
                    CallError::arguments("unknown_tool", message)
                })?;
                bind(script, written).map(Some)
            }
        }
    }
}

/// The call of a script, its arguments as its contract has them.
fn bind(script: &Script, written: Written) -> Result<Call, CallError> {
    let given = Json::Object(written.arguments).canonical();
    let effective = script.contract.bind(&given)?;
    if let Ok(Json::Object(members)) = json::parse(&effective, &bounds(MAX_ARGUMENT_BYTES)) {
        Ok(Call { tool: written.tool, args: members.into_iter().collect(), argv: Vec::new() })
    } else {
        let message = format!("the arguments of `{}` are no object", escape(&script.name));
        Err(CallError::arguments("invalid_json_kind", message))
    }
}

/// A script as the catalogue of the system text has it.
pub(super) fn catalogue_entry(script: Capability) -> Result<CatalogueEntry, Error> {
    let input_schema =
        json::parse(&script.schema, &bounds(MAX_CONTRACT_BYTES)).map_err(|error| {
            let message = format!("the contract of `{}`: {error}", escape(&script.name));
            Error::new(Kind::Verification, "contract_refused", message)
        })?;
    Ok(CatalogueEntry { name: script.name, description: script.description, input_schema })
}
