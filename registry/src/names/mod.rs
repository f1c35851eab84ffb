//! What an operator decides about names: which are too much like others, which are deleted, and
//! whose they are.

pub mod deletion;
pub mod judgement;
pub mod likeness;
pub mod pace;
pub mod popular;
pub mod requests;
pub mod transfer;

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{QualifiedName, Version};

use crate::accounts::{self, Account};
use crate::database::Write;
use crate::problem::Refusal;

/// Why an operator's change to names is not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// There is no skill of this name.
    #[error("there is no skill `{0}`")]
    UnknownName(QualifiedName),
    /// The skill has no such version.
    #[error("there is no version {version} of `{name}`")]
    UnknownVersion {
        /// The skill.
        name: QualifiedName,
        /// The version asked for.
        version: Version,
    },
    /// It was deleted before.
    #[error("`{what}` was deleted on {deleted}: {}", escape(reason))]
    Deleted {
        /// The name, or the name and the version.
        what: String,
        /// When.
        deleted: String,
        /// Why.
        reason: String,
    },
    /// A scoped name is its scope's.
    #[error("`{0}` is the members' of its scope; `scope member` changes who they are")]
    OfScope(QualifiedName),
    /// Nobody asked for it.
    #[error("nobody asked for `{0}`; `--user USER` says to whom it is released")]
    NobodyAsked(QualifiedName),
    /// More than one account asked for it.
    #[error(
        "{} asked for `{name}`; `--user USER` says to which of them it is released",
        of_accounts(accounts)
    )]
    ManyAsked {
        /// The name.
        name: QualifiedName,
        /// The accounts.
        accounts: Vec<String>,
    },
    /// A name that has versions.
    #[error("`{0}` is published; `name delete` deletes it, and then it can be refused")]
    InUse(QualifiedName),
    /// There is no advisory with this id.
    #[error("there is no advisory `{}`; `advisory list` shows those there are", escape(.0))]
    UnknownAdvisory(String),
    /// There is no account of this name.
    #[error("there is no account `{}`; `user list` shows those there are", escape(.0))]
    UnknownAccount(String),
    /// The account is closed.
    #[error("the account `{0}` is closed, for good")]
    ClosedAccount(String),
    /// A reason that is none, or a fault of the registry's own.
    #[error("{0}")]
    Refused(String),
    /// The database.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
}

impl ChangeError {
    /// The stable text that programs match on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownName(_) => "unknown_name",
            Self::UnknownVersion { .. } => "unknown_version",
            Self::Deleted { .. } => "already_deleted",
            Self::OfScope(_) => "owned_through_scope",
            Self::NobodyAsked(_) => "nobody_asked",
            Self::ManyAsked { .. } => "many_asked",
            Self::InUse(_) => "name_in_use",
            Self::UnknownAccount(_) => "unknown_account",
            Self::ClosedAccount(_) => "account_closed",
            Self::UnknownAdvisory(_) => "unknown_advisory",
            Self::Refused(_) => "refused",
            Self::Database(_) => "database_failed",
        }
    }
}

/// The account that an operator gives a name to.
async fn receiver(write: &mut Write, account: &str) -> Result<Account, ChangeError> {
    match accounts::find(&mut **write, account).await? {
        Some(Account { closed: Some(_), name, .. }) => Err(ChangeError::ClosedAccount(name)),
        Some(account) => Ok(account),
        None => Err(ChangeError::UnknownAccount(account.to_owned())),
    }
}

fn of_accounts(accounts: &[String]) -> String {
    accounts.iter().map(|account| format!("`{account}`")).collect::<Vec<_>>().join(", ")
}

impl From<Refusal> for ChangeError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal.told_in_full())
    }
}
