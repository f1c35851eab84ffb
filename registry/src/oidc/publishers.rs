//! Trusted publishers: which jobs of which issuer may publish a skill, in the name of the account that
//! says so.

use std::fmt::Write as _;

use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::{escape, is_unprintable};
use skillpkg_schema::wire::{TrustPublisher, TrustedPublisher};
use sqlx::AnyConnection;

use super::identity::MAX_VALUE_BYTES;
use super::provider::{Claims, Provider};
use super::{Identity, Oidc};
use crate::access::{Need, Standing};
use crate::accounts::{Actor, tokens};
use crate::auth::Caller;
use crate::clock;
use crate::database::{Truth, Write};
use crate::documents::stored;
use crate::events::{self, Change};
use crate::problem::{Answer, Code, Refusal};
use crate::random;
use crate::skills;

/// Most trusted publishers of one name.
const MAX_PUBLISHERS: usize = 20;
/// Most claims of one.
const MAX_CLAIMS: usize = 16;
/// Longest name of a claim, in bytes.
const MAX_CLAIM_BYTES: usize = 128;
/// What is checked of every identity, and cannot be recorded.
const REGISTERED: [&str; 6] = ["iss", "aud", "exp", "nbf", "iat", "jti"];

/// Where the publishers of a name stand: its scope's row, and the name, which may not be there.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The whole name.
    pub name: &'a QualifiedName,
    /// The row of its scope.
    scope: i64,
}

/// A recorded publisher, and the row of its account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// What is told of it.
    pub publisher: TrustedPublisher,
    /// The row of the account that recorded it.
    pub account: i64,
}

/// The name where the caller may say who publishes it: one that is there as an owner of it, one that is
/// not as an owner of its scope. Else the refusal, the same for what is hidden as for what is not there.
pub async fn place<'a>(
    connection: &mut AnyConnection,
    caller: &Caller,
    name: &'a QualifiedName,
) -> Answer<Place<'a>> {
    let refusal = match skills::find_for(connection, caller, Need::ManagePublishers, name).await {
        Ok(skill) => return Ok(Place { name, scope: skill.scope }),
        Err(refusal) if refusal.code() == Code::NotFound => refusal,
        Err(refusal) => return Err(refusal),
    };
    // Whoever owns the scope may publish each skill in it that is there: this one is not.
    let scope: Option<i64> = sqlx::query_scalar(
        "SELECT s.id FROM scopes s JOIN scope_members m ON m.scope_id = s.id
         WHERE s.name = $1 AND s.name <> '_' AND m.account_id = $2 AND m.role = 'owner'",
    )
    .bind(name.wire_scope())
    .bind(caller.account()?.account_id)
    .fetch_optional(connection)
    .await?;
    scope.map(|scope| Place { name, scope }).ok_or(refusal)
}

type Row = (String, String, String, String, String, i64);

fn recorded((id, issuer, claims, added, account, row): Row) -> Recorded {
    // One that this version cannot read has no claims, and is matched by nothing.
    let claims: Claims = serde_json::from_str(&claims).unwrap_or_default();
    Recorded { publisher: TrustedPublisher { id, issuer, claims, account, added }, account: row }
}

/// The trusted publishers of a name, in the order in which they were recorded.
pub async fn of_place(
    connection: &mut AnyConnection,
    place: Place<'_>,
) -> Result<Vec<Recorded>, sqlx::Error> {
    of_name(connection, place.name).await
}

/// The same, of a name whoever asks.
pub(super) async fn of_name(
    connection: &mut AnyConnection,
    name: &QualifiedName,
) -> Result<Vec<Recorded>, sqlx::Error> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT p.id, p.issuer, p.claims, p.added, a.name, a.id FROM trusted_publishers p
         JOIN scopes s ON s.id = p.scope_id JOIN accounts a ON a.id = p.account_id
         WHERE s.name = $1 AND p.name = $2 ORDER BY p.added, p.id",
    )
    .bind(name.wire_scope())
    .bind(name.name().as_str())
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(recorded).collect())
}

/// Records a trusted publisher, in the name of `actor`; the same again is the one that is there.
pub async fn add(
    write: &mut Write,
    oidc: &Oidc,
    actor: Actor<'_>,
    place: Place<'_>,
    asked: TrustPublisher,
) -> Answer<()> {
    let provider = oidc.provider(&asked.issuer).ok_or_else(|| {
        let detail = format!(
            "`{}` is no issuer whose identities this registry takes; it takes those of {}",
            escape(&asked.issuer),
            oidc.known()
        );
        Refusal::new(Code::InvalidRequest, detail)
    })?;
    check_claims(provider, &asked.claims)?;
    let present = of_place(&mut *write, place).await?;
    let TrustPublisher { issuer, claims } = asked;
    let is_same = |one: &Recorded| {
        one.account == actor.id && one.publisher.issuer == issuer && one.publisher.claims == claims
    };
    if present.iter().any(is_same) {
        return Ok(());
    }
    if present.len() >= MAX_PUBLISHERS {
        let detail = format!(
            "`{}` has {MAX_PUBLISHERS} trusted publishers, which is the most; remove one first",
            place.name
        );
        return Err(Refusal::new(Code::TooMany, detail));
    }
    let stored = serde_json::to_string(&claims).map_err(|error| Refusal::internal(&error))?;
    let (id, added) = (random::hex::<8>()?, clock::now());
    sqlx::query(
        "INSERT INTO trusted_publishers (id, scope_id, name, account_id, issuer, claims, added)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(&id)
    .bind(place.scope)
    .bind(place.name.name().as_str())
    .bind(actor.id)
    .bind(&issuer)
    .bind(stored)
    .bind(&added)
    .execute(&mut **write)
    .await?;
    let publisher = TrustedPublisher { id, issuer, claims, account: actor.name.to_owned(), added };
    let change = Change::TrustedPublisherAdded { name: place.name, publisher: &publisher };
    events::record(write, Some(actor.id), change).await?;
    Ok(())
}

fn check_claims(provider: Provider, claims: &Claims) -> Answer<()> {
    let refused = |detail: String| Err(Refusal::new(Code::InvalidRequest, detail));
    if claims.len() > MAX_CLAIMS {
        return refused(format!("`claims` holds {}; the most is {MAX_CLAIMS}", claims.len()));
    }
    for (claim, value) in claims {
        let shown = escape(claim);
        if REGISTERED.contains(&claim.as_str()) {
            return refused(format!("the claim `{shown}` is checked of every identity anyway"));
        }
        let is_name = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
        if claim.len() > MAX_CLAIM_BYTES || !is_name(claim) {
            return refused(format!("`{shown}` is not the name of a claim"));
        }
        let length = value.len();
        if !(1..=MAX_VALUE_BYTES).contains(&length) || value.chars().any(is_unprintable) {
            return refused(format!(
                "the value of `{shown}` must hold 1 to {MAX_VALUE_BYTES} bytes, all of them printable"
            ));
        }
        if !provider.can_be(claim, value) {
            let value = escape(value);
            return refused(format!("`{shown}` cannot be `{value}`: no identity says so"));
        }
    }
    let lacks = |claim: &&&str| !claims.contains_key(**claim);
    let missing: Vec<&str> = provider.required().iter().filter(lacks).copied().collect();
    if !missing.is_empty() {
        let missing = missing.join("`, `");
        return refused(format!(
            "`claims` must hold `{missing}`: without, a job that is not meant could publish. Ids are \
             kept by whoever has them when a name changes hands"
        ));
    }
    let more = provider.one_of();
    if !more.is_empty() && more.iter().all(|claim| !claims.contains_key(*claim)) {
        let more = more.join("`, `");
        return refused(format!(
            "`claims` must hold one of `{more}` as well: else a job of any branch could publish"
        ));
    }
    Ok(())
}

/// Removes a trusted publisher, whoever recorded it, and revokes the tokens that it was given.
pub async fn remove(write: &mut Write, actor: Actor<'_>, place: Place<'_>, id: &str) -> Answer<()> {
    let present = of_place(&mut *write, place).await?;
    let Some(found) = present.into_iter().find(|one| one.publisher.id == id) else {
        let detail = format!(
            "`{}` has no trusted publisher `{}`; `skillpkg trusted list {}` shows those it has",
            place.name,
            escape(id),
            place.name
        );
        return Err(Refusal::new(Code::InvalidRequest, detail));
    };
    forget(write, Some(actor.id), place.name, &found).await?;
    Ok(())
}

/// Removes what an account has recorded, since it is closed; answers with how many there were.
pub(crate) async fn remove_of_account(
    write: &mut Write,
    account: i64,
) -> Result<usize, sqlx::Error> {
    let names: Vec<(String, String)> = sqlx::query_as(
        "SELECT DISTINCT s.name, p.name FROM trusted_publishers p
         JOIN scopes s ON s.id = p.scope_id WHERE p.account_id = $1 ORDER BY 1, 2",
    )
    .bind(account)
    .fetch_all(&mut **write)
    .await?;
    let mut removed = 0;
    for (scope, name) in names {
        let name = QualifiedName::from_wire(&scope, &name)
            .map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
        for one in of_name(&mut *write, &name).await? {
            if one.account == account {
                forget(write, None, &name, &one).await?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}

async fn forget(
    write: &mut Write,
    actor: Option<i64>,
    name: &QualifiedName,
    Recorded { publisher, account }: &Recorded,
) -> Result<(), sqlx::Error> {
    let given: Vec<String> =
        sqlx::query_scalar("SELECT id FROM tokens WHERE publisher_id = $1 AND revoked IS NULL")
            .bind(&publisher.id)
            .fetch_all(&mut **write)
            .await?;
    for token in given {
        tokens::revoke(write, *account, actor, &token).await?;
    }
    sqlx::query("DELETE FROM trusted_publishers WHERE id = $1")
        .bind(&publisher.id)
        .execute(&mut **write)
        .await?;
    let change = Change::TrustedPublisherRemoved { name, id: &publisher.id };
    events::record(write, actor, change).await?;
    Ok(())
}

/// Whether the identity is one of a publisher: every claim says what was recorded, and no other thing.
pub(super) fn is_trusted(publisher: &TrustedPublisher, identity: &Identity) -> bool {
    // One without claims would be anybody of the issuer's.
    !publisher.claims.is_empty() && differences(publisher, identity).is_empty()
}

/// Whether the identity has what nobody else can: it is told what differs, where others are told nothing
/// of what is private.
pub(super) fn is_known(publisher: &TrustedPublisher, identity: &Identity) -> bool {
    identity.provider.identifying().iter().all(|claim| {
        let value = publisher.claims.get(*claim);
        value.is_some() && value == identity.claims.get(*claim)
    })
}

fn differences<'a>(
    publisher: &'a TrustedPublisher,
    identity: &'a Identity,
) -> Vec<(&'a str, &'a str, Option<&'a str>)> {
    let claims = publisher.claims.iter().filter_map(|(claim, expected)| {
        let seen = identity.claims.get(claim).map(String::as_str);
        (seen != Some(expected)).then_some((claim.as_str(), expected.as_str(), seen))
    });
    claims.collect()
}

/// What differs from the publisher that the identity is nearest to.
pub(super) fn refusal(
    name: &QualifiedName,
    publishers: &[Recorded],
    identity: &Identity,
) -> Refusal {
    let nearest = publishers.iter().min_by_key(|one| differences(&one.publisher, identity).len());
    let Some(Recorded { publisher, .. }) = nearest else { return Refusal::not_found() };
    let mut detail = format!("the job is not the trusted publisher `{}` of `{name}`", publisher.id);
    for (number, (claim, expected, seen)) in
        differences(publisher, identity).into_iter().enumerate()
    {
        let before = if number == 0 { ": " } else { "; " };
        let (claim, expected) = (escape(claim), escape(expected));
        let seen = seen.map_or("absent".to_owned(), |seen| format!("`{}`", escape(seen)));
        // Writing to a text does not fail.
        let _ = write!(detail, "{before}`{claim}` is {seen}, expected `{expected}`");
    }
    Refusal::new(Code::PublisherRefused, detail)
}

/// Whether an account may publish a name now.
pub(super) async fn may_publish(
    connection: &mut AnyConnection,
    account: i64,
    name: &QualifiedName,
) -> Answer<bool> {
    let scope: Option<(i64, Option<String>)> = sqlx::query_as(
        "SELECT s.id, m.role FROM scopes s
         LEFT JOIN scope_members m ON m.scope_id = s.id AND m.account_id = $1 WHERE s.name = $2",
    )
    .bind(account)
    .bind(name.wire_scope())
    .fetch_optional(&mut *connection)
    .await?;
    let role = scope.and_then(|(_, role)| role).as_deref().map(stored).transpose()?;
    let owner = match skills::find(connection, name).await? {
        Some(skill) => skills::owners::is_owner(connection, skill.id, account).await?,
        None => false,
    };
    Ok(Standing::of(name, role, owner) == Standing::Publisher)
}

/// Whether a scope is private; one that is not there is.
pub(super) async fn is_private(
    connection: &mut AnyConnection,
    name: &QualifiedName,
) -> Result<bool, sqlx::Error> {
    let private: Option<Truth> =
        sqlx::query_scalar("SELECT private = TRUE FROM scopes WHERE name = $1")
            .bind(name.wire_scope())
            .fetch_optional(connection)
            .await?;
    Ok(private.is_none_or(|Truth(private)| private))
}
