//! The one transaction that makes a version visible.

use std::sync::Arc;

use skillpkg_schema::signature::KeyId;
use skillpkg_schema::wire::PublishAnswer;
use skillpkg_schema::{Blake3Digest, Manifest, Sha256Digest};
use sqlx::AnyConnection;

use super::verify::Verified;
use super::{Step, may_publish, rows, store};
use crate::accounts::keys;
use crate::auth::{Caller, Credential};
use crate::clock;
use crate::database::{Truth, Write};
use crate::documents::stored;
use crate::events::{self, Change};
use crate::faces::{held, rendering};
use crate::names::{deletion, judgement, pace};
use crate::problem::{Answer, Code, Refusal};
use crate::skills::{self, Skill, owners, versions};
use crate::state::Registry;

/// Commits a verified version whose objects are put.
///
/// Everything that was decided before is decided again here, under the write lock: who may publish,
/// which keys count, whether the version is there. Cut short, it is absent; when this answers it is
/// committed, and survives a crash of the machine once it is in the log. Answers also with the names whose documents say something else than before.
pub(super) async fn commit(
    registry: &Registry,
    credential: &Arc<Credential>,
    verified: &Verified,
) -> Answer<PublishAnswer> {
    let manifest = &verified.manifest;
    let name = &manifest.name;
    let (policy, popular) = super::popular(registry).await?;
    let mut write = registry.data.database.write_behind().await?;
    may_publish(&mut write, &Caller::Account(Arc::clone(credential)), name).await?;
    let notice = if super::is_new(&mut write, name).await? {
        judgement::settle(&mut write, policy, &popular, credential, name).await?
    } else {
        None
    };
    let skill = match skills::find(&mut write, name).await? {
        Some(skill) => {
            if deletion::changes_hands(&mut write, credential, name, skill).await? {
                let most = registry.options.new_names_per_hour;
                pace::check(&mut write, most, credential, name).await?;
                deletion::take_over(&mut write, credential, name, skill).await?;
            }
            skill
        }
        None => take_name(&mut write, registry, credential, manifest).await?,
    };
    if let Some(answer) = existing_of(&mut write, skill, verified).await? {
        return Ok(answer);
    }
    let key_registered = check_keys(&mut write, credential, skill, verified).await?;
    let version = rows::insert_version(&mut write, credential, skill, verified).await?;
    deletion::revive(&mut write, skill).await?;
    let fresh = rows::insert_blobs(&mut write, version, manifest).await?;
    let address = verified.manifest_digests.sha256.address();
    rendering::record(&mut write, &address, &verified.renderings, false).await?;
    versions::refresh_current(&mut write, name, skill).await?;
    let archive = verified.archive_digests.sha256.address();
    let published = Change::Published {
        name,
        version: &manifest.version,
        address: &address,
        archive: &archive,
        account: &credential.account,
        keys: &verified.key_ids,
    };
    let log_index = events::record(&mut write, Some(credential.account_id), published).await?;
    store::still_there(registry, verified, fresh).await?;
    registry.at(Step::RowsWritten)?;
    registry.log.commit_alone(write).await?;
    registry.at(Step::Committed)?;
    Ok(PublishAnswer {
        name: name.clone(),
        version: manifest.version.clone(),
        address,
        blake3: verified.manifest_digests.blake3.address(),
        archive,
        size: verified.archive_digests.size,
        log_index,
        log_proof: None,
        created: true,
        key_registered,
        findings: verified.findings.clone(),
        warnings: verified.warnings.iter().cloned().chain(notice).collect(),
    })
}

/// The answer with the proof that the version is in the log, once it is: from then on the version is
/// visible, and has survived a crash.
pub(super) async fn with_proof(
    registry: &Registry,
    mut answer: PublishAnswer,
) -> Answer<PublishAnswer> {
    if let Some(index) = answer.log_index {
        answer.log_proof = Some(registry.log.proof_text(index).await?);
    }
    Ok(answer)
}

/// Takes a name that is not there for the account.
async fn take_name(
    write: &mut Write,
    registry: &Registry,
    credential: &Credential,
    manifest: &Manifest,
) -> Answer<Skill> {
    let name = &manifest.name;
    pace::check(write, registry.options.new_names_per_hour, credential, name).await?;
    let (scope, Truth(private)): (i64, Truth) =
        sqlx::query_as("SELECT id, private = TRUE FROM scopes WHERE name = $1")
            .bind(name.wire_scope())
            .fetch_one(&mut **write)
            .await?;
    let id: i64 = sqlx::query_scalar(
        "INSERT INTO skills (scope_id, name, collision_key, creator_id, created)
         VALUES ($1, $2, $3, $4, $5) RETURNING id",
    )
    .bind(scope)
    .bind(name.name().as_str())
    .bind(name.name().collision_key())
    .bind(credential.account_id)
    .bind(clock::now())
    .fetch_one(&mut **write)
    .await?;
    owners::insert(write, id, credential.account_id).await?;
    let added = Change::OwnerAdded { name, account: &credential.account };
    events::record(write, Some(credential.account_id), added).await?;
    Ok(Skill { id, scope, private })
}

/// Version, address by SHA-256 and by BLAKE3, archive, its size, leaf of the log.
type ExistingRow = (String, String, String, String, i64, Option<i64>);

/// The answer where the version is there, asked for before anything is put: a publish that is not
/// to be leaves no objects.
pub(super) async fn existing(
    registry: &Registry,
    credential: &Arc<Credential>,
    verified: &Verified,
) -> Answer<Option<PublishAnswer>> {
    let name = &verified.manifest.name;
    let mut read = registry.data.database.readers().acquire().await?;
    may_publish(&mut read, &Caller::Account(Arc::clone(credential)), name).await?;
    match skills::find(&mut read, name).await? {
        Some(skill) => existing_of(&mut read, skill, verified).await,
        None => Ok(None),
    }
}

/// The answer where the version is there: the same manifest, or a refusal.
async fn existing_of(
    connection: &mut AnyConnection,
    skill: Skill,
    verified: &Verified,
) -> Answer<Option<PublishAnswer>> {
    let manifest = &verified.manifest;
    deletion::refuse_deleted_version(connection, &manifest.name, skill, &manifest.version).await?;
    let row: Option<ExistingRow> = sqlx::query_as(
        "SELECT version, address, blake3, archive, size, log_index FROM versions
         WHERE skill_id = $1 AND version_key = $2",
    )
    .bind(skill.id)
    .bind(versions::key(&manifest.version))
    .fetch_optional(connection)
    .await?;
    let Some((version, address, blake3, archive, size, log_index)) = row else { return Ok(None) };
    if stored::<Sha256Digest>(&address)? != verified.manifest_digests.sha256 {
        let detail = format!(
            "`{}` {version} is there as sha256:{address}; a version never changes: publish a new one",
            manifest.name
        );
        return Err(Refusal::new(Code::VersionExists, detail));
    }
    Ok(Some(PublishAnswer {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        address: stored::<Sha256Digest>(&address)?.address(),
        blake3: stored::<Blake3Digest>(&blake3)?.address(),
        archive: stored::<Sha256Digest>(&archive)?.address(),
        size: size.unsigned_abs(),
        log_index: log_index.map(i64::unsigned_abs),
        log_proof: None,
        created: false,
        key_registered: None,
        findings: verified.findings.clone(),
        warnings: verified.warnings.clone(),
    }))
}

/// Checks that the keys which signed still count; registers the account's first one, and keeps the
/// proof of one that had none. Answers with the key that was registered.
async fn check_keys(
    write: &mut Write,
    credential: &Credential,
    skill: Skill,
    verified: &Verified,
) -> Answer<Option<KeyId>> {
    let present = keys::of_account(&mut **write, credential.account_id).await?;
    let holder = credential.actor();
    // A key that the registry holds is nobody's first: its account may still bring one of its own.
    let is_first = verified.first && present.iter().all(|key| key.held);
    if let Some(proven) = verified.proven.as_ref().filter(|_| is_first) {
        let id = proven.key.id();
        keys::add(write, holder, proven).await?.or_refused(&id)?;
        return Ok(Some(id));
    }
    let counts = |id: &KeyId| present.iter().any(|key| key.id == *id && key.revoked.is_none());
    if !verified.key_ids.iter().all(counts) {
        let detail = "the account's keys were changed meanwhile; publish again";
        return Err(Refusal::new(Code::KeyNotRegistered, detail));
    }
    let is_held = |id: &KeyId| present.iter().any(|key| key.id == *id && key.held);
    if verified.key_ids.iter().all(is_held) {
        held::refuse_downgrade(write, &verified.manifest.name, skill).await?;
    }
    if let Some(proven) = &verified.proven {
        keys::prove(write, holder, proven).await?;
    }
    Ok(None)
}
