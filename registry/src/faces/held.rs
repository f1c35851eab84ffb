//! Keys that the registry holds for accounts which publish through a face.
//!
//! A client of a face signs nothing. What it sends is signed here, with a key of the account's that the
//! registry made and keeps beside the log's keys, in `held/ACCOUNT.pem`. It is registered as any key
//! is, so that the log has its leaf, and told as held wherever it is told.

use std::fs::DirBuilder;
use std::path::Path;

use skillpkg_schema::QualifiedName;
use skillpkg_schema::signature::SigningKey;
use skillpkg_schema::signature::key_proof::prove_key;

use crate::accounts::keys::{self, Added, ProvenKey};
use crate::auth::Credential;
use crate::database::Write;
use crate::log::files;
use crate::problem::{Answer, Code, Refusal};
use crate::skills::Skill;
use crate::state::Registry;

/// The key that signs for the account, made and registered where it has none yet.
///
/// The key is on the disk before it is registered, and registered before it signs; cut short between
/// the two, the next call registers the one that is there.
pub(crate) async fn signer(registry: &Registry, credential: &Credential) -> Answer<SigningKey> {
    let _turn = registry.held_keys.lock().await;
    let path = registry.data.log().join("held").join(format!("{}.pem", credential.account));
    let reading = tokio::task::spawn_blocking(move || read_or_make(&path));
    let key = reading.await.map_err(|error| Refusal::internal(&error))??;
    let id = key.public().id();
    let readers = registry.data.database.readers();
    let present = keys::of_account(readers, credential.account_id).await?;
    match present.iter().find(|present| present.id == id) {
        Some(own) if own.revoked.is_some() => {
            let detail = format!(
                "the key {id}, which this registry held for `{}`, is revoked: publish with \
                 `skillpkg publish`, signed with a key of your own",
                credential.account
            );
            return Err(Refusal::new(Code::KeyRevoked, detail));
        }
        Some(own) if own.held => return Ok(key),
        _ => {}
    }
    let proof = prove_key(&credential.account, &registry.log.origin(), &key);
    let proven = ProvenKey { key: key.public(), proof };
    let mut write = registry.data.database.write().await?;
    match keys::add(&mut write, credential.actor(), &proven).await? {
        Added::Taken => {
            return Err(Refusal::internal(&format!("the held key {id} is another account's")));
        }
        added => added.or_refused(&id)?,
    }
    keys::mark_held(&mut write, &id).await?;
    registry.log.commit(write).await?;
    Ok(key)
}

fn read_or_make(path: &Path) -> Answer<SigningKey> {
    if let Some(pem) = files::read_text(path)? {
        return SigningKey::from_pem(&pem).map_err(|error| Refusal::internal(&error));
    }
    if let Some(directory) = path.parent() {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt as _;
            builder.mode(0o700);
        }
        builder.create(directory)?;
    }
    let key = SigningKey::generate().map_err(|error| Refusal::internal(&error))?;
    let pem = key.to_pem().map_err(|error| Refusal::internal(&error))?;
    files::write(path, pem.as_bytes())?;
    Ok(key)
}

/// Refuses a version signed with a held key where the author signed the newest one: who installs it
/// would be given less than before without a word.
pub(crate) async fn refuse_downgrade(
    write: &mut Write,
    name: &QualifiedName,
    skill: Skill,
) -> Answer<()> {
    if signed_by_author(&mut *write, skill).await? {
        return Err(downgrade(name));
    }
    Ok(())
}

/// Whether the newest version was signed with a key of the author's own.
pub(crate) async fn signed_by_author(
    connection: &mut sqlx::AnyConnection,
    skill: Skill,
) -> Result<bool, sqlx::Error> {
    let own: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM version_keys h JOIN keys k ON k.id = h.key_id
         WHERE k.held = FALSE
         AND h.version_id = (SELECT max(id) FROM versions WHERE skill_id = $1)",
    )
    .bind(skill.id)
    .fetch_one(connection)
    .await?;
    Ok(own > 0)
}

/// The refusal of a version that its author would no longer have signed.
pub(crate) fn downgrade(name: &QualifiedName) -> Refusal {
    let detail = format!(
        "the newest version of `{name}` is signed with its author's own key, and this client signs \
         nothing: publish with `skillpkg publish`"
    );
    Refusal::new(Code::FacePublishRefused, detail)
}
