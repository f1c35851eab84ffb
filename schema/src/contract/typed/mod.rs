//! Contracts made from Rust types.

mod normal;

use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{BindError, Contract, ContractError};
use crate::address::Sha256Digest;
use crate::diagnostic::escape;
use crate::difference;

/// The contract of a script whose arguments a Rust host holds as a `T`.
///
/// The schema that [`schemars`] derives for `T` is brought into the form of contracts: types stand
/// where they are used, objects are closed and list their `properties` and `required`, titles and
/// the widths of numbers are dropped. So a type and a hand-written schema that say the same have
/// the same canonical text and the same fingerprint. A default of serde's is the contract's too
/// where the field's type implements [`serde::Serialize`], and is the type's own business where it
/// does not.
///
/// ```
/// use skillpkg_schema::contract::schemars::{self, JsonSchema};
/// use skillpkg_schema::contract::{Contract, TypedContract};
///
/// #[derive(JsonSchema, serde::Deserialize)]
/// #[serde(rename_all = "camelCase")]
/// struct Normalize {
///     input_file: String,
///     #[schemars(range(min = 1, max = 100_000))]
///     #[serde(default = "thousand")]
///     maximum_rows: i64,
/// }
///
/// fn thousand() -> i64 {
///     1000
/// }
///
/// let typed = TypedContract::<Normalize>::new()?;
/// let written = Contract::compile(
///     r#"{"type": "object",
///         "properties": {
///             "inputFile": {"type": "string"},
///             "maximumRows": {"type": "integer", "minimum": 1, "maximum": 100000, "default": 1000}},
///         "required": ["inputFile"],
///         "additionalProperties": false}"#,
/// )?;
/// typed.matches(&written)?;
///
/// let (effective, arguments) = typed.bind(r#"{"inputFile": "sales.csv"}"#)?;
/// assert_eq!(effective, r#"{"inputFile":"sales.csv","maximumRows":1000}"#);
/// assert_eq!((arguments.input_file.as_str(), arguments.maximum_rows), ("sales.csv", 1000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TypedContract<T> {
    contract: Contract,
    bound: PhantomData<fn() -> T>,
}

/// Why arguments do not become a value of the host's type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypedBindError {
    /// The contract does not take them.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The contract takes them and the type does not: a number that is too great for its width,
    /// a check of the type's own.
    #[error("the arguments bind and are no `{type_name}`: {reason}")]
    Type {
        /// The name of the type's schema.
        type_name: String,
        /// What its deserialiser says.
        reason: String,
    },
}

/// A type and a script that do not mean the same contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the contract of `{type_name}` is {expected}, that of the script is {found}: {difference}")]
pub struct ContractMismatch {
    /// The name of the type's schema.
    pub type_name: String,
    /// Fingerprint of the type's contract.
    pub expected: Sha256Digest,
    /// Fingerprint of the other contract.
    pub found: Sha256Digest,
    /// JSON pointer of the first difference, in canonical order.
    pub path: Box<str>,
    /// What stands there in each.
    pub difference: Box<str>,
}

impl<T: JsonSchema + DeserializeOwned> TypedContract<T> {
    /// Makes the contract of `T`.
    ///
    /// # Errors
    ///
    /// Where contracts cannot say what `T` takes: a tuple, a map to any value, a map whose keys are
    /// not strings, a type that holds itself. The error names the place in the type's schema.
    pub fn new() -> Result<Self, ContractError> {
        let name = T::schema_name();
        let settings = SchemaSettings::draft2020_12().for_deserialize().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
        let of_type = |error: ContractError| ContractError {
            message: format!("`{name}` cannot be a contract: {}", error.message),
            line: None,
            column: None,
            ..error
        };
        normal::normalize(&mut schema, "").map_err(of_type)?;
        let contract = Contract::compile(&schema.to_string()).map_err(of_type)?;
        Ok(Self { contract, bound: PhantomData })
    }

    /// The contract.
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// Whether a script's contract is this one.
    pub fn matches(&self, other: &Contract) -> Result<(), ContractMismatch> {
        if self.contract == *other {
            return Ok(());
        }
        let read = |contract: &Contract| {
            serde_json::from_str::<Value>(contract.canonical()).unwrap_or_default()
        };
        let (mine, others) = (read(&self.contract), read(other));
        // Numbers that are written differently may be equal values.
        let (path, said) = match difference::first(Some(&mine), Some(&others)) {
            Some(found) => (found.path.clone(), found.said("the type", "the script")),
            None => (String::new(), "numbers are written differently".to_owned()),
        };
        Err(ContractMismatch {
            type_name: T::schema_name().into_owned(),
            expected: self.contract.fingerprint(),
            found: other.fingerprint(),
            path: path.into(),
            difference: said.into(),
        })
    }

    /// Binds arguments: the effective JSON, and the value that it is.
    pub fn bind(&self, args: &str) -> Result<(String, T), TypedBindError> {
        let effective = self.contract.bind(args)?;
        let value = serde_json::from_str(&effective).map_err(|error| TypedBindError::Type {
            type_name: T::schema_name().into_owned(),
            reason: escape(&error.to_string()),
        })?;
        Ok((effective, value))
    }
}

impl<T> Clone for TypedContract<T> {
    fn clone(&self) -> Self {
        Self { contract: self.contract.clone(), bound: PhantomData }
    }
}

impl<T> fmt::Debug for TypedContract<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Typed{:?}", self.contract)
    }
}

#[cfg(test)]
mod tests;
