//! What was changed, by whom, in the order in which it was committed.

use crate::clock;
use crate::database::Write;

/// What kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An account was made.
    AccountAdded,
    /// A scope was made.
    ScopeAdded,
    /// An account joined a scope, or has another role there.
    MemberAdded,
    /// An account left a scope.
    MemberRemoved,
    /// A token was made.
    TokenMinted,
    /// A token was revoked.
    TokenRevoked,
    /// A signing key was registered.
    KeyAdded,
    /// The account of a signing key has shown that it holds it.
    KeyProven,
    /// A signing key was revoked.
    KeyRevoked,
    /// A version was published.
    Published,
    /// A version was yanked.
    Yanked,
    /// A yank was taken back.
    Unyanked,
    /// An account became an owner.
    OwnerAdded,
    /// An account is an owner no more.
    OwnerRemoved,
    /// A version was deleted; the detail is the reason.
    VersionDeleted,
    /// A name was deleted with every version; the detail is the reason.
    NameDeleted,
}

impl Kind {
    /// The kind's word, as a row holds it.
    pub fn text(self) -> &'static str {
        match self {
            Self::AccountAdded => "account_added",
            Self::ScopeAdded => "scope_added",
            Self::MemberAdded => "member_added",
            Self::MemberRemoved => "member_removed",
            Self::TokenMinted => "token_minted",
            Self::TokenRevoked => "token_revoked",
            Self::KeyAdded => "key_added",
            Self::KeyProven => "key_proven",
            Self::KeyRevoked => "key_revoked",
            Self::Published => "published",
            Self::Yanked => "yanked",
            Self::Unyanked => "unyanked",
            Self::OwnerAdded => "owner_added",
            Self::OwnerRemoved => "owner_removed",
            Self::VersionDeleted => "version_deleted",
            Self::NameDeleted => "name_deleted",
        }
    }
}

/// Records a change in the transaction that makes it; `account` is [`None`] for an operator.
///
/// Where the change is about an account, `detail` starts with its name; a space ends it.
pub async fn record(
    write: &mut Write,
    account: Option<i64>,
    kind: Kind,
    subject: &str,
    detail: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO events (at, account_id, kind, subject, detail) VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(clock::now())
    .bind(account)
    .bind(kind.text())
    .bind(subject)
    .bind(detail)
    .execute(&mut **write)
    .await?;
    Ok(())
}
