//! What a leaf changes beside the log: the row that it is about, and the documents that say it.

use skillpkg_schema::QualifiedName;

use crate::database::Write;
use crate::events::Change;

/// Tells the row of a change which leaf is its, and marks the skills whose documents it changes:
/// they are served anew once a checkpoint covers the leaf.
pub async fn touch(write: &mut Write, change: Change<'_>, index: i64) -> Result<(), sqlx::Error> {
    match change {
        Change::Published { name, address, .. } => {
            sqlx::query("UPDATE versions SET log_index = $1 WHERE address = $2")
                .bind(index)
                .bind(address.hex())
                .execute(&mut **write)
                .await?;
            touch_skill(write, name, index).await
        }
        Change::Yanked { name, .. }
        | Change::Unyanked { name, .. }
        | Change::VersionDeleted { name, .. }
        | Change::NameDeleted { name, .. }
        | Change::AdvisoryWithdrawn { name, .. } => touch_skill(write, name, index).await,
        Change::AdvisoryPublished { name, advisory } => {
            sqlx::query("UPDATE advisories SET log_index = $1 WHERE id = $2")
                .bind(index)
                .bind(&advisory.id)
                .execute(&mut **write)
                .await?;
            touch_skill(write, name, index).await
        }
        Change::KeyAdded { key, .. } => {
            sqlx::query("UPDATE keys SET log_index = $1 WHERE id = $2")
                .bind(index)
                .bind(key.to_string())
                .execute(&mut **write)
                .await?;
            touch_signed(write, &key.to_string(), index).await
        }
        Change::KeyRevoked { key, holder, .. } => {
            revoked(write, &key.to_string(), holder.id, index).await
        }
        Change::AccountAdded { .. }
        | Change::AccountClosed { .. }
        | Change::ScopeAdded { .. }
        | Change::MemberAdded { .. }
        | Change::MemberInvited { .. }
        | Change::MemberInvitationWithdrawn { .. }
        | Change::MemberDeclined { .. }
        | Change::MemberRemoved { .. }
        | Change::TokenMinted { .. }
        | Change::TokenRevoked { .. }
        | Change::KeyProven { .. }
        | Change::OwnerInvited { .. }
        | Change::OwnerInvitationWithdrawn { .. }
        | Change::OwnerDeclined { .. }
        | Change::OwnerAdded { .. }
        | Change::OwnerRemoved { .. }
        | Change::TrustedPublisherAdded { .. }
        | Change::TrustedPublisherRemoved { .. } => Ok(()),
    }
}

/// Keeps which leaf says that a key was revoked where the account had registered it.
pub(super) async fn revoked(
    write: &mut Write,
    key: &str,
    account: i64,
    index: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO log_revocations (key_id, account_id, log_index) VALUES ($1, $2, $3)
         ON CONFLICT (key_id, account_id) DO UPDATE SET log_index = excluded.log_index",
    )
    .bind(key)
    .bind(account)
    .bind(index)
    .execute(&mut **write)
    .await?;
    touch_signed(write, key, index).await
}

async fn touch_skill(
    write: &mut Write,
    name: &QualifiedName,
    index: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO log_touched (skill_id, log_index)
         SELECT k.id, $1 FROM skills k JOIN scopes s ON s.id = k.scope_id
         WHERE s.name = $2 AND k.name = $3",
    )
    .bind(index)
    .bind(name.wire_scope())
    .bind(name.name().as_str())
    .execute(&mut **write)
    .await?;
    Ok(())
}

/// The skills of which a key signed a version: their documents tell whose it is, and its revocation.
async fn touch_signed(write: &mut Write, key: &str, index: i64) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO log_touched (skill_id, log_index)
         SELECT DISTINCT v.skill_id, $1 FROM version_keys vk JOIN versions v ON v.id = vk.version_id
         WHERE vk.key_id = $2",
    )
    .bind(index)
    .bind(key)
    .execute(&mut **write)
    .await?;
    Ok(())
}
