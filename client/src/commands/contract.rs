//! `skillpkg contract`.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::value::RawValue;
use skillpkg::{Error, Kind};
use skillpkg_schema::Sha256Digest;
use skillpkg_schema::contract::{BindError, Contract, ContractError};
use skillpkg_schema::diagnostic::escape_whole;
use skillpkg_schema::limits::{MAX_ARGUMENT_BYTES, MAX_CONTRACT_BYTES};

use crate::commands::input;
use crate::context::Context;

/// Compile a script's input contract, and bind arguments to it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg contract schema.json --args arguments.json")]
pub(crate) struct Arguments {
    /// The file of the schema; `-` reads stdin
    schema: PathBuf,
    /// A file of arguments to bind; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    args: Option<PathBuf>,
}

#[derive(Serialize)]
struct Compiled {
    fingerprint: Sha256Digest,
    schema: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effective: Option<Box<RawValue>>,
}

/// Runs it; answers with the exit code.
pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<u8, Error> {
    let file = match arguments.schema.to_string_lossy() {
        stdin if stdin == "-" => "stdin".into(),
        file => file,
    };
    let schema = input::read_file(&arguments.schema, MAX_CONTRACT_BYTES as u64)
        .map_err(|error| if error.code == "input_refused" { no_contract(error) } else { error })?;
    let contract = Contract::compile(&schema).map_err(|error| refused(&error, &file))?;
    let effective = match &arguments.args {
        None => None,
        Some(path) => {
            let args = input::read_file(path, MAX_ARGUMENT_BYTES as u64)?;
            Some(contract.bind(&args).map_err(|error| unbound(&error))?)
        }
    };
    let lines = [
        Some(format!("fingerprint {}", contract.fingerprint())),
        Some(format!("schema {}", escape_whole(contract.canonical()))),
        effective.as_deref().map(|text| format!("effective {}", escape_whole(text))),
    ];
    context.output.text(&lines.into_iter().flatten().collect::<Vec<_>>().join("\n"))?;
    context.output.json(&Compiled {
        fingerprint: contract.fingerprint(),
        schema: input::raw_json(contract.canonical().to_owned())?,
        effective: effective.map(input::raw_json).transpose()?,
    })?;
    Ok(0)
}

/// A file that is too long or not UTF-8 is a refused contract like any other.
fn no_contract(error: Error) -> Error {
    Error { code: "contract_refused".to_owned(), path: Some(String::new()), ..error }
}

fn refused(error: &ContractError, file: &str) -> Error {
    let place = |number: Option<usize>| number.and_then(|number| u32::try_from(number).ok());
    let mut told = Error::new(Kind::Failed, "contract_refused", error.to_string()).in_file(file);
    (told.line, told.column) = (place(error.line), place(error.column));
    told.path = Some(error.path.clone());
    told
}

fn unbound(error: &BindError) -> Error {
    let mut told = Error::new(Kind::Failed, error.code.name(), error.to_string());
    told.path = Some(error.path.clone());
    told
}
