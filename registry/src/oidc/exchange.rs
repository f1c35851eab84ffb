//! A token in exchange for the identity of a job.

use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::wire::ExchangedToken;

use super::error::IdentityError;
use super::publishers::{self, Recorded};
use super::{Identity, Oidc, Provider};
use crate::accounts::tokens::{self, MAX_LABEL, Minting};
use crate::clock;
use crate::database::Write;
use crate::grant::{Grant, Pattern};
use crate::problem::{Answer, Code, Refusal};
use crate::state::Registry;

/// For how many seconds a token is valid that a job was given.
pub const TOKEN_SECONDS: u32 = 15 * 60;

/// Gives a job that is trusted to publish `name` a token for that name, in the name of the account that
/// trusts it.
///
/// That the identity is used and that there is a token for it survive a crash together, or neither does:
/// of two that come at once one is refused.
pub async fn exchange(
    registry: &Registry,
    oidc: &Oidc,
    token: &str,
    name: &QualifiedName,
) -> Answer<ExchangedToken> {
    let identity = oidc.verify(token).await?;
    let mut read = registry.data.database.readers().acquire().await?;
    let all = publishers::of_name(&mut read, name).await?;
    let private = publishers::is_private(&mut read, name).await?;
    drop(read);
    admit(name, &all, private, &identity)?;
    // Again under the lock: what was trusted a moment ago may be removed by now.
    let mut write = registry.data.database.write().await?;
    let all = publishers::of_name(&mut write, name).await?;
    let trusted = admit(name, &all, private, &identity)?;
    let recorded = first_that_may(&mut write, &trusted, name).await?;
    use_up(&mut write, &identity).await?;
    let given = give(&mut write, name, recorded, &identity).await?;
    write.commit().await?;
    Ok(given)
}

/// Those of a name's publishers that the identity is; the refusal where it is none.
///
/// Of a private name a stranger learns as much as of one that is not there.
fn admit<'a>(
    name: &QualifiedName,
    all: &'a [Recorded],
    private: bool,
    identity: &Identity,
) -> Answer<Vec<&'a Recorded>> {
    let of_issuer: Vec<Recorded> =
        all.iter().filter(|one| one.publisher.issuer == identity.issuer).cloned().collect();
    let trusted: Vec<&Recorded> = all
        .iter()
        .filter(|one| one.publisher.issuer == identity.issuer)
        .filter(|one| publishers::is_trusted(&one.publisher, identity))
        .collect();
    if !trusted.is_empty() {
        return Ok(trusted);
    }
    let is_known = of_issuer.iter().any(|one| publishers::is_known(&one.publisher, identity));
    if private && !is_known {
        return Err(Refusal::not_found());
    }
    Err(publishers::refusal(name, &of_issuer, identity))
}

/// The first whose account may publish the name: a token never allows more than its account may do.
async fn first_that_may<'a>(
    write: &mut Write,
    trusted: &[&'a Recorded],
    name: &QualifiedName,
) -> Answer<&'a Recorded> {
    for recorded in trusted {
        if publishers::may_publish(&mut *write, recorded.account, name).await? {
            return Ok(recorded);
        }
    }
    let accounts: Vec<&str> = trusted.iter().map(|one| one.publisher.account.as_str()).collect();
    let detail = format!(
        "the job is trusted by `{}`, who may not publish `{name}` any more: an owner of it can trust \
         the job anew",
        accounts.join("`, `")
    );
    Err(Refusal::new(Code::PublisherRefused, detail))
}

/// Marks the identity as used; refused where it is. What would not be taken any more is forgotten.
async fn use_up(write: &mut Write, identity: &Identity) -> Answer<()> {
    let now = clock::now();
    sqlx::query("DELETE FROM used_identities WHERE expires < $1")
        .bind(&now)
        .execute(&mut **write)
        .await?;
    // Tokens of jobs that are over say nothing to anybody.
    sqlx::query("DELETE FROM tokens WHERE publisher_id IS NOT NULL AND expires < $1")
        .bind(&now)
        .execute(&mut **write)
        .await?;
    let used = sqlx::query(
        "INSERT INTO used_identities (digest, expires) VALUES ($1, $2)
         ON CONFLICT (digest) DO NOTHING",
    )
    .bind(identity.once.to_string())
    // The second in which it ends is still its own.
    .bind(clock::at_unix(identity.until.saturating_add(1)))
    .execute(&mut **write)
    .await?;
    if used.rows_affected() == 0 {
        return Err(IdentityError::Used.into());
    }
    Ok(())
}

async fn give(
    write: &mut Write,
    name: &QualifiedName,
    Recorded { publisher, account }: &Recorded,
    identity: &Identity,
) -> Answer<ExchangedToken> {
    let expires = clock::in_seconds(TOKEN_SECONDS);
    let grants = [Grant::Publish(Pattern::One(name.clone()))];
    let label = label(identity);
    let minting = Minting { label: &label, grants: &grants, expires: Some(&expires) };
    let minted = tokens::mint(write, *account, Some(*account), &minting).await?;
    sqlx::query("UPDATE tokens SET publisher_id = $1 WHERE id = $2")
        .bind(&publisher.id)
        .bind(&minted.token.id)
        .execute(&mut **write)
        .await?;
    Ok(ExchangedToken {
        secret: minted.secret,
        account: publisher.account.clone(),
        name: name.clone(),
        expires,
        publisher: publisher.id.clone(),
    })
}

/// What the token is called: which job has it.
fn label(identity: &Identity) -> String {
    let claim = |claim: &str| identity.claims.get(claim).map_or("", String::as_str);
    let job = match identity.provider {
        Provider::GitHub => format!("{} run {}", claim("repository"), claim("run_id")),
        Provider::GitLab => format!("{} job {}", claim("project_path"), claim("job_id")),
        Provider::Other => claim("sub").to_owned(),
    };
    escape(&format!("job of {job}")).chars().take(MAX_LABEL).collect()
}
