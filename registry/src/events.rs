//! What was changed, by whom, in the order in which it was committed.
//!
//! A new kind of change is a variant of [`Change`], a word of [`Kind`], and its arms in the four
//! functions of [`Change`]: the compiler asks for each. Whatever the log has a `Subject` for becomes
//! a leaf of it, in the transaction that makes the change.

use skillpkg_schema::log::Subject;
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::wire::{Advisory, TrustedPublisher};
use skillpkg_schema::{ContentAddress, QualifiedName, Scope, Version};

use crate::accounts::Actor;
use crate::accounts::scopes::Role;
use crate::clock;
use crate::database::Write;
use crate::log::{self, Leaf};

/// What kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An account was made.
    AccountAdded,
    /// An account was closed; the detail is the reason.
    AccountClosed,
    /// A scope was made.
    ScopeAdded,
    /// An account joined a scope, or has another role there.
    MemberAdded,
    /// An account was invited to a scope.
    MemberInvited,
    /// An invitation to a scope was taken back.
    MemberInvitationWithdrawn,
    /// An invitation to a scope was declined.
    MemberDeclined,
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
    /// An account was invited to be an owner.
    OwnerInvited,
    /// An invitation to be an owner was taken back.
    OwnerInvitationWithdrawn,
    /// An invitation to be an owner was declined.
    OwnerDeclined,
    /// An account became an owner.
    OwnerAdded,
    /// An account is an owner no more.
    OwnerRemoved,
    /// A version was deleted; the detail is the reason.
    VersionDeleted,
    /// A name was deleted with every version; the detail is the reason.
    NameDeleted,
    /// An advisory was published; the detail is its id.
    AdvisoryPublished,
    /// An advisory was taken back; the detail is its id.
    AdvisoryWithdrawn,
    /// Jobs of a build service may publish a skill; the detail is the id of what says so.
    TrustedPublisherAdded,
    /// They may no more; the detail is that id.
    TrustedPublisherRemoved,
}

impl Kind {
    /// The kind's word, as a row holds it.
    pub fn text(self) -> &'static str {
        match self {
            Self::AccountAdded => "account_added",
            Self::AccountClosed => "account_closed",
            Self::ScopeAdded => "scope_added",
            Self::MemberAdded => "member_added",
            Self::MemberInvited => "member_invited",
            Self::MemberInvitationWithdrawn => "member_invitation_withdrawn",
            Self::MemberDeclined => "member_declined",
            Self::MemberRemoved => "member_removed",
            Self::TokenMinted => "token_minted",
            Self::TokenRevoked => "token_revoked",
            Self::KeyAdded => "key_added",
            Self::KeyProven => "key_proven",
            Self::KeyRevoked => "key_revoked",
            Self::Published => "published",
            Self::Yanked => "yanked",
            Self::Unyanked => "unyanked",
            Self::OwnerInvited => "owner_invited",
            Self::OwnerInvitationWithdrawn => "owner_invitation_withdrawn",
            Self::OwnerDeclined => "owner_declined",
            Self::OwnerAdded => "owner_added",
            Self::OwnerRemoved => "owner_removed",
            Self::VersionDeleted => "version_deleted",
            Self::NameDeleted => "name_deleted",
            Self::AdvisoryPublished => "advisory_published",
            Self::AdvisoryWithdrawn => "advisory_withdrawn",
            Self::TrustedPublisherAdded => "trusted_publisher_added",
            Self::TrustedPublisherRemoved => "trusted_publisher_removed",
        }
    }
}

/// A change, with all that its row and its leaf say.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// An account was made.
    AccountAdded {
        /// Its name.
        account: &'a str,
    },
    /// An account was closed.
    AccountClosed {
        /// Its name.
        account: &'a str,
        /// Why, where it was said.
        reason: Option<&'a str>,
    },
    /// A scope was made.
    ScopeAdded {
        /// The scope.
        scope: &'a Scope,
        /// Whether members alone may read it.
        private: bool,
    },
    /// An account joined a scope, or has another role there.
    MemberAdded {
        /// The scope.
        scope: &'a Scope,
        /// The account.
        account: &'a str,
        /// What it may do.
        role: Role,
    },
    /// An account was invited to a scope.
    MemberInvited {
        /// The scope.
        scope: &'a Scope,
        /// The account.
        account: &'a str,
        /// What it would be.
        role: Role,
    },
    /// An invitation to a scope was taken back.
    MemberInvitationWithdrawn {
        /// The scope.
        scope: &'a Scope,
        /// The account.
        account: &'a str,
    },
    /// An invitation to a scope was declined.
    MemberDeclined {
        /// The scope.
        scope: &'a Scope,
        /// The account.
        account: &'a str,
    },
    /// An account left a scope.
    MemberRemoved {
        /// The scope.
        scope: &'a Scope,
        /// The account.
        account: &'a str,
    },
    /// A token was made.
    TokenMinted {
        /// Its id.
        token: &'a str,
        /// What its owner calls it.
        label: &'a str,
    },
    /// A token was revoked.
    TokenRevoked {
        /// Its id.
        token: &'a str,
    },
    /// A signing key was registered.
    KeyAdded {
        /// The key.
        key: &'a KeyId,
        /// Whose.
        account: &'a str,
    },
    /// The account of a signing key has shown that it holds it.
    KeyProven {
        /// The key.
        key: &'a KeyId,
        /// Whose.
        account: &'a str,
    },
    /// A signing key was revoked.
    KeyRevoked {
        /// The key.
        key: &'a KeyId,
        /// Whose.
        holder: Actor<'a>,
        /// Why, where it was said.
        reason: Option<&'a str>,
    },
    /// A version was published.
    Published {
        /// The whole name.
        name: &'a QualifiedName,
        /// The version.
        version: &'a Version,
        /// SHA-256 address of the snapshot.
        address: &'a ContentAddress,
        /// SHA-256 address of the archive.
        archive: &'a ContentAddress,
        /// Who published it.
        account: &'a str,
        /// The keys whose signatures were verified.
        keys: &'a [KeyId],
    },
    /// A version was yanked, or its reason changed.
    Yanked {
        /// The whole name.
        name: &'a QualifiedName,
        /// The version.
        version: &'a Version,
        /// Why.
        reason: &'a str,
    },
    /// A yank was taken back.
    Unyanked {
        /// The whole name.
        name: &'a QualifiedName,
        /// The version.
        version: &'a Version,
    },
    /// An account was invited to be an owner.
    OwnerInvited {
        /// The whole name.
        name: &'a QualifiedName,
        /// The account.
        account: &'a str,
        /// Whether in the place of whoever invited it.
        transfer: bool,
    },
    /// An invitation to be an owner was taken back.
    OwnerInvitationWithdrawn {
        /// The whole name.
        name: &'a QualifiedName,
        /// The account.
        account: &'a str,
    },
    /// An invitation to be an owner was declined.
    OwnerDeclined {
        /// The whole name.
        name: &'a QualifiedName,
        /// The account.
        account: &'a str,
    },
    /// An account became an owner.
    OwnerAdded {
        /// The whole name.
        name: &'a QualifiedName,
        /// The account.
        account: &'a str,
    },
    /// An account is an owner no more.
    OwnerRemoved {
        /// The whole name.
        name: &'a QualifiedName,
        /// The account.
        account: &'a str,
    },
    /// A version was deleted.
    VersionDeleted {
        /// The whole name.
        name: &'a QualifiedName,
        /// The version.
        version: &'a Version,
        /// Why.
        reason: &'a str,
    },
    /// A name was deleted with every version.
    NameDeleted {
        /// The whole name.
        name: &'a QualifiedName,
        /// Why.
        reason: &'a str,
    },
    /// An advisory was published.
    AdvisoryPublished {
        /// The whole name.
        name: &'a QualifiedName,
        /// The advisory.
        advisory: &'a Advisory,
    },
    /// An advisory was taken back.
    AdvisoryWithdrawn {
        /// The whole name.
        name: &'a QualifiedName,
        /// Its id.
        id: &'a str,
    },
    /// Jobs of a build service may publish a skill.
    TrustedPublisherAdded {
        /// The whole name.
        name: &'a QualifiedName,
        /// Which jobs.
        publisher: &'a TrustedPublisher,
    },
    /// They may no more.
    TrustedPublisherRemoved {
        /// The whole name.
        name: &'a QualifiedName,
        /// What it was referred to by.
        id: &'a str,
    },
}

impl Change<'_> {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::AccountAdded { .. } => Kind::AccountAdded,
            Self::AccountClosed { .. } => Kind::AccountClosed,
            Self::ScopeAdded { .. } => Kind::ScopeAdded,
            Self::MemberAdded { .. } => Kind::MemberAdded,
            Self::MemberInvited { .. } => Kind::MemberInvited,
            Self::MemberInvitationWithdrawn { .. } => Kind::MemberInvitationWithdrawn,
            Self::MemberDeclined { .. } => Kind::MemberDeclined,
            Self::MemberRemoved { .. } => Kind::MemberRemoved,
            Self::TokenMinted { .. } => Kind::TokenMinted,
            Self::TokenRevoked { .. } => Kind::TokenRevoked,
            Self::KeyAdded { .. } => Kind::KeyAdded,
            Self::KeyProven { .. } => Kind::KeyProven,
            Self::KeyRevoked { .. } => Kind::KeyRevoked,
            Self::Published { .. } => Kind::Published,
            Self::Yanked { .. } => Kind::Yanked,
            Self::Unyanked { .. } => Kind::Unyanked,
            Self::OwnerInvited { .. } => Kind::OwnerInvited,
            Self::OwnerInvitationWithdrawn { .. } => Kind::OwnerInvitationWithdrawn,
            Self::OwnerDeclined { .. } => Kind::OwnerDeclined,
            Self::OwnerAdded { .. } => Kind::OwnerAdded,
            Self::OwnerRemoved { .. } => Kind::OwnerRemoved,
            Self::VersionDeleted { .. } => Kind::VersionDeleted,
            Self::NameDeleted { .. } => Kind::NameDeleted,
            Self::AdvisoryPublished { .. } => Kind::AdvisoryPublished,
            Self::AdvisoryWithdrawn { .. } => Kind::AdvisoryWithdrawn,
            Self::TrustedPublisherAdded { .. } => Kind::TrustedPublisherAdded,
            Self::TrustedPublisherRemoved { .. } => Kind::TrustedPublisherRemoved,
        }
    }

    /// What its row is about.
    fn subject(&self) -> String {
        match self {
            Self::AccountAdded { account } | Self::AccountClosed { account, .. } => {
                (*account).to_owned()
            }
            Self::ScopeAdded { scope, .. }
            | Self::MemberAdded { scope, .. }
            | Self::MemberInvited { scope, .. }
            | Self::MemberInvitationWithdrawn { scope, .. }
            | Self::MemberDeclined { scope, .. }
            | Self::MemberRemoved { scope, .. } => scope.to_string(),
            Self::TokenMinted { token, .. } | Self::TokenRevoked { token } => (*token).to_owned(),
            Self::KeyAdded { key, .. }
            | Self::KeyProven { key, .. }
            | Self::KeyRevoked { key, .. } => key.to_string(),
            Self::Published { name, version, .. }
            | Self::Yanked { name, version, .. }
            | Self::Unyanked { name, version }
            | Self::VersionDeleted { name, version, .. } => format!("{name}@{version}"),
            Self::OwnerInvited { name, .. }
            | Self::OwnerInvitationWithdrawn { name, .. }
            | Self::OwnerDeclined { name, .. }
            | Self::OwnerAdded { name, .. }
            | Self::OwnerRemoved { name, .. }
            | Self::NameDeleted { name, .. }
            | Self::AdvisoryPublished { name, .. }
            | Self::AdvisoryWithdrawn { name, .. }
            | Self::TrustedPublisherAdded { name, .. }
            | Self::TrustedPublisherRemoved { name, .. } => name.to_string(),
        }
    }

    /// What its row says beside: where it is about an account, that account's name and then a space.
    fn detail(&self) -> String {
        match self {
            Self::AccountAdded { .. } | Self::TokenRevoked { .. } | Self::Unyanked { .. } => {
                String::new()
            }
            Self::AccountClosed { reason, .. } => reason.unwrap_or_default().to_owned(),
            Self::ScopeAdded { private: true, .. } => "private".to_owned(),
            Self::ScopeAdded { private: false, .. } => "public".to_owned(),
            Self::MemberAdded { account, role, .. } | Self::MemberInvited { account, role, .. } => {
                format!("{account} {role}")
            }
            Self::OwnerInvited { account, transfer: true, .. } => format!("{account} transfer"),
            Self::TokenMinted { label, .. } => (*label).to_owned(),
            Self::MemberInvitationWithdrawn { account, .. }
            | Self::MemberDeclined { account, .. }
            | Self::MemberRemoved { account, .. }
            | Self::OwnerInvited { account, .. }
            | Self::OwnerInvitationWithdrawn { account, .. }
            | Self::OwnerDeclined { account, .. }
            | Self::KeyAdded { account, .. }
            | Self::KeyProven { account, .. }
            | Self::OwnerAdded { account, .. }
            | Self::OwnerRemoved { account, .. } => (*account).to_owned(),
            Self::KeyRevoked { holder, reason: None, .. } => holder.name.to_owned(),
            Self::KeyRevoked { holder, reason: Some(reason), .. } => {
                format!("{} {reason}", holder.name)
            }
            Self::Published { address, .. } => address.to_string(),
            Self::Yanked { reason, .. }
            | Self::VersionDeleted { reason, .. }
            | Self::NameDeleted { reason, .. } => (*reason).to_owned(),
            Self::AdvisoryPublished { advisory, .. } => advisory.id.clone(),
            Self::TrustedPublisherAdded { publisher, .. } => publisher.id.clone(),
            Self::AdvisoryWithdrawn { id, .. } | Self::TrustedPublisherRemoved { id, .. } => {
                (*id).to_owned()
            }
        }
    }

    /// What its leaf says, where it has one; `by` is the account that did it.
    fn leaf(&self, by: Option<String>) -> Option<Subject> {
        let owned = |text: &str| text.to_owned();
        Some(match *self {
            Self::AccountAdded { .. }
            | Self::AccountClosed { .. }
            | Self::TokenMinted { .. }
            | Self::TokenRevoked { .. }
            | Self::KeyProven { .. }
            // What is offered is between those two; what comes of it is a change for all.
            | Self::MemberInvited { .. }
            | Self::MemberInvitationWithdrawn { .. }
            | Self::MemberDeclined { .. }
            | Self::OwnerInvited { .. }
            | Self::OwnerInvitationWithdrawn { .. }
            | Self::OwnerDeclined { .. } => return None,
            Self::ScopeAdded { scope, .. } => Subject::ScopeAdded { scope: scope.clone() },
            Self::MemberAdded { scope, account, role } => {
                let role = role.text().to_owned();
                Subject::MemberAdded { scope: scope.clone(), account: owned(account), role, by }
            }
            Self::MemberRemoved { scope, account } => {
                Subject::MemberRemoved { scope: scope.clone(), account: owned(account), by }
            }
            Self::KeyAdded { key, account } => {
                Subject::KeyAdded { account: owned(account), key: *key }
            }
            Self::KeyRevoked { key, holder, reason } => {
                let (account, reason) = (holder.name.to_owned(), reason.map(owned));
                Subject::KeyRevoked { account, key: *key, reason }
            }
            Self::Published { name, version, address, archive, account, keys } => {
                let mut keys = keys.to_vec();
                keys.sort_unstable();
                Subject::Publish {
                    name: name.clone(),
                    version: version.clone(),
                    address: *address,
                    archive: *archive,
                    account: owned(account),
                    keys,
                }
            }
            Self::Yanked { name, version, reason } => {
                let (name, version, reason) = (name.clone(), version.clone(), owned(reason));
                Subject::Yank { name, version, reason, by }
            }
            Self::Unyanked { name, version } => {
                Subject::Unyank { name: name.clone(), version: version.clone(), by }
            }
            Self::OwnerAdded { name, account } => {
                Subject::OwnerAdded { name: name.clone(), account: owned(account), by }
            }
            Self::OwnerRemoved { name, account } => {
                Subject::OwnerRemoved { name: name.clone(), account: owned(account), by }
            }
            Self::VersionDeleted { name, version, reason } => {
                let (name, version, reason) = (name.clone(), version.clone(), owned(reason));
                Subject::VersionDeleted { name, version, reason }
            }
            Self::NameDeleted { name, reason } => {
                Subject::NameDeleted { name: name.clone(), reason: owned(reason) }
            }
            Self::AdvisoryPublished { name, advisory } => Subject::Advisory {
                id: advisory.id.clone(),
                name: name.clone(),
                versions: advisory.versions.clone(),
                effect: advisory.effect,
                summary: advisory.summary.clone(),
                by,
            },
            Self::AdvisoryWithdrawn { name, id } => {
                Subject::AdvisoryWithdrawn { id: owned(id), name: name.clone(), by }
            }
            Self::TrustedPublisherAdded { name, publisher } => {
                let TrustedPublisher { id, issuer, claims, .. } = publisher.clone();
                Subject::TrustedPublisherAdded { id, name: name.clone(), issuer, claims, by }
            }
            Self::TrustedPublisherRemoved { name, id } => {
                Subject::TrustedPublisherRemoved { id: owned(id), name: name.clone(), by }
            }
        })
    }
}

/// Records a change in the transaction that makes it; `actor` is [`None`] for an operator.
///
/// Answers with the index of its leaf, where it has one. The rows that the change is about are there
/// already: they, and the documents that the leaf changes, are told of it.
pub async fn record(
    write: &mut Write,
    actor: Option<i64>,
    change: Change<'_>,
) -> Result<Option<u64>, sqlx::Error> {
    let by = match actor {
        Some(actor) => {
            sqlx::query_scalar("SELECT name FROM accounts WHERE id = $1")
                .bind(actor)
                .fetch_optional(&mut **write)
                .await?
        }
        None => None,
    };
    let index = match change.leaf(by) {
        Some(subject) => Some(log::append(write, Leaf::now(subject)).await?),
        None => None,
    };
    let stored = index.map(|index| i64::try_from(index).unwrap_or(i64::MAX));
    sqlx::query(
        "INSERT INTO events (at, account_id, kind, subject, detail, log_index)
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(clock::now())
    .bind(actor)
    .bind(change.kind().text())
    .bind(change.subject())
    .bind(change.detail())
    .bind(stored)
    .execute(&mut **write)
    .await?;
    if let Some(index) = stored {
        log::touch(write, change, index).await?;
    }
    Ok(index)
}
