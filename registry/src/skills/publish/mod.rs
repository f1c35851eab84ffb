//! How a version comes to be: receive, verify all, put the blobs, then one transaction.
//!
//! A crash anywhere before the transaction's commit leaves objects that no row names, never a row
//! that names an object that is not there.

mod commit;
mod receive;
mod rows;
mod staged;
mod store;
mod verify;

use std::sync::Arc;

use axum::body::Body;
use skillpkg_schema::signature::{Envelope, PublicKey};
use skillpkg_schema::wire::PublishAnswer;
use skillpkg_schema::{QualifiedName, Version};

pub use receive::Pace;
pub(crate) use receive::Received;
pub(crate) use rows::{capabilities, search_text};
pub(crate) use staged::Staged;
pub(crate) use store::{put, still_there};
pub(crate) use verify::{SigningKeys, Verified, verify};

use crate::access::{self, Need, Standing};
use crate::auth::{Caller, Credential};
use crate::names::judgement::{self, Confusable};
use crate::names::likeness::Names;
use crate::names::{deletion, pace};
use crate::problem::{Answer, Code, Refusal};
use crate::state::{Registry, UploadPermit};

/// A point in a publish, or in taking it into the log, at which a crash is of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// The archive is received.
    Received,
    /// Everything is verified.
    Verified,
    /// The files of the snapshot are put.
    FilesPut,
    /// The manifest and the archive are put.
    ArchivePut,
    /// Every row is written, none committed.
    RowsWritten,
    /// The version is committed, and no checkpoint covers it.
    Committed,
    /// The pending leaves are sealed, nothing of it committed.
    Sealing,
    /// The pending leaves are sealed.
    Sealed,
    /// The tiles of the sealed leaves are put.
    TilesPut,
    /// Their checkpoint is signed and written.
    Signed,
    /// The version is visible, and nobody was told.
    Settled,
}

impl Step {
    /// Every step, in order.
    pub const ALL: [Self; 11] = [
        Self::Received,
        Self::Verified,
        Self::FilesPut,
        Self::ArchivePut,
        Self::RowsWritten,
        Self::Committed,
        Self::Sealing,
        Self::Sealed,
        Self::TilesPut,
        Self::Signed,
        Self::Settled,
    ];
}

/// What is asked to be published.
#[derive(Debug, Clone)]
pub struct Request {
    /// The name in the path.
    pub name: QualifiedName,
    /// The version in the path.
    pub version: Version,
    /// The key that the request offers.
    pub offered: Option<Offered>,
}

/// The key that a publish offers.
#[derive(Debug, Clone)]
pub struct Offered {
    /// The key.
    pub key: PublicKey,
    /// What is to show that the account holds it.
    pub proof: Option<Envelope>,
}

/// Refuses what can be refused before the body is read: a token that does not allow it, a name that
/// is another's, a scope that the account may not publish to, a key to register of which nothing
/// shows that the account holds it.
pub async fn admit(
    registry: &Registry,
    caller: &Caller,
    name: &QualifiedName,
    offered: Option<&Offered>,
) -> Answer<()> {
    super::refuse(access::decide_unseen(Need::Publish, caller, Some(name)), Need::Publish, name)?;
    if let Some(mirror) = &registry.mirror {
        mirror.check_publish(name).await?;
    }
    let database = &registry.data.database;
    let mut read = database.readers().acquire().await?;
    may_publish(&mut read, caller, name).await?;
    verify::signing_keys(&mut read, &registry.log.origin(), caller.account()?, offered).await?;
    let is_new = is_new(&mut read, name).await?;
    if is_new {
        let most = registry.options.new_names_per_hour;
        pace::check(&mut read, most, caller.account()?, name).await?;
    }
    drop(read);
    if is_new {
        let (policy, popular) = popular(registry).await?;
        judgement::admit(database, policy, &popular, caller.account()?, name).await?;
    }
    Ok(())
}

/// Whether a publish takes the name: it was never there, or it was deleted.
async fn is_new(
    connection: &mut sqlx::AnyConnection,
    name: &QualifiedName,
) -> Result<bool, sqlx::Error> {
    Ok(match super::find(connection, name).await? {
        Some(skill) => deletion::deleted_since(connection, skill).await?.is_some(),
        None => true,
    })
}

/// What is done with confusable names, and the names that they are compared with.
async fn popular(registry: &Registry) -> Result<(Confusable, Arc<Names>), sqlx::Error> {
    let policy = registry.options.confusable_names;
    let names = match policy {
        Confusable::Allow => Arc::default(),
        _ => registry.popular.names(&registry.data.database).await?,
    };
    Ok((policy, names))
}

/// Whether the account may publish the name, whether it is there or not.
async fn may_publish(
    connection: &mut sqlx::AnyConnection,
    caller: &Caller,
    name: &QualifiedName,
) -> Answer<()> {
    if name.scope().is_some() {
        let role = scope_role(connection, caller.account()?, name).await?;
        // One answer for a scope that is not there, a private one and one of others.
        let standing = Standing::of(name, role, false);
        if standing == Standing::Stranger {
            return Err(scope_refused(name));
        }
    }
    let Some(skill) = super::find(connection, name).await? else {
        return first_of_name(connection, caller, name).await;
    };
    let standing = super::standing(connection, caller, name, skill).await?;
    if standing < Standing::Publisher
        && name.scope().is_none()
        && let Some(deleted) = deletion::deleted_since(connection, skill).await?
    {
        let unseen = access::decide_unseen(Need::Publish, caller, Some(name));
        super::refuse(unseen, Need::Publish, name)?;
        return deletion::free_again(name, &deleted);
    }
    let decision = access::decide(Need::Publish, caller, name, skill.private, standing);
    super::refuse(decision, Need::Publish, name)
}

async fn scope_role(
    connection: &mut sqlx::AnyConnection,
    credential: &Credential,
    name: &QualifiedName,
) -> Answer<Option<crate::accounts::scopes::Role>> {
    let scope: Option<i64> = sqlx::query_scalar("SELECT id FROM scopes WHERE name = $1")
        .bind(name.wire_scope())
        .fetch_optional(&mut *connection)
        .await?;
    match scope {
        Some(scope) => Ok(super::owners::role(connection, scope, credential.account_id).await?),
        None => Ok(None),
    }
}

/// A name that is not there: anybody may take a bare one, a publishing member a scoped one, unless
/// it reads like one that is there.
async fn first_of_name(
    connection: &mut sqlx::AnyConnection,
    caller: &Caller,
    name: &QualifiedName,
) -> Answer<()> {
    if name.scope().is_some() {
        let role = scope_role(connection, caller.account()?, name).await?;
        if Standing::of(name, role, false) < Standing::Publisher {
            return Err(scope_refused(name));
        }
    }
    let existing: Option<String> = sqlx::query_scalar(
        "SELECT k.name FROM skills k JOIN scopes s ON s.id = k.scope_id
         WHERE s.name = $1 AND k.collision_key = $2",
    )
    .bind(name.wire_scope())
    .bind(name.name().collision_key())
    .fetch_optional(connection)
    .await?;
    match existing {
        Some(existing) => Err(Refusal::new(
            Code::NameTaken,
            format!(
                "`{}` reads like `{existing}`, which is there; choose another name",
                name.name()
            ),
        )),
        None => Ok(()),
    }
}

fn scope_refused(name: &QualifiedName) -> Refusal {
    let scope = name.wire_scope();
    let detail = format!(
        "`{scope}` is not a scope that your account may publish to; its owners invite members (`skillpkg scope invite`), and an operator makes scopes (`skillpkg-registry scope`)"
    );
    Refusal::new(Code::ScopeRefused, detail)
}

async fn put_and_commit(
    registry: &Registry,
    credential: &Arc<Credential>,
    verified: &verify::Verified,
) -> Answer<PublishAnswer> {
    store::put(registry, verified).await?;
    registry.at(Step::ArchivePut)?;
    registry.log.ready()?;
    let answer = commit::commit(registry, credential, verified).await?;
    registry.metrics.published.one();
    Ok(answer)
}

/// Publishes the archive in `body`; the version is visible when this answers.
pub async fn publish(
    registry: &Registry,
    credential: &Arc<Credential>,
    request: Request,
    body: Body,
) -> Answer<PublishAnswer> {
    // Held to the end: what waits to be verified takes as much disk as what is being received.
    let upload = registry.upload_permit(credential.account_id).await?;
    let received = receive(registry, body).await?;
    publish_received(registry, credential, request, received, upload).await
}

/// Takes a body to a file of its own.
pub(crate) async fn receive(registry: &Registry, body: Body) -> Answer<Received> {
    receive::receive(body, &registry.data.temporary(), registry.options.pace).await
}

/// Publishes an archive that was received, or made here; the version is visible when this answers.
pub(crate) async fn publish_received(
    registry: &Registry,
    credential: &Arc<Credential>,
    request: Request,
    received: Received,
    upload: UploadPermit,
) -> Answer<PublishAnswer> {
    registry.at(Step::Received)?;
    // From here on it runs to its end, whether or not whoever asked still waits: so that what is
    // committed is never left out of the cache's knowledge.
    let (registry, credential) = (registry.clone(), Arc::clone(credential));
    crate::server::to_the_end(async move {
        let _upload = upload;
        let verification = registry.verification_permit().await?;
        let mut read = registry.data.database.readers().acquire().await?;
        let (origin, offered) = (registry.log.origin(), request.offered.as_ref());
        let keys = verify::signing_keys(&mut read, &origin, &credential, offered).await?;
        drop(read);
        let verified = verify::verify(received, request, keys).await?;
        let verified = verified.render(registry.options.faces.on().collect()).await?;
        registry.at(Step::Verified)?;
        let answer = match commit::existing(&registry, &credential, &verified).await? {
            Some(answer) => answer,
            None => put_and_commit(&registry, &credential, &verified).await?,
        };
        // Thousands of files are removed where it holds up nobody.
        tokio::task::spawn_blocking(move || drop(verified));
        // Those that wait for the log hold up none that are to be verified: they share a checkpoint.
        drop(verification);
        commit::with_proof(&registry, answer).await
    })
    .await
}
