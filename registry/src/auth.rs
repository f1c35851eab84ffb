//! Who calls: the token of a request, and the account behind it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use quick_cache::sync::Cache;
use skillpkg_schema::{QualifiedName, Scope};

use crate::accounts::Actor;
use crate::accounts::scopes::{self, Membership, Role};
use crate::accounts::tokens;
use crate::clock;
use crate::database::Database;
use crate::grant::Grant;
use crate::problem::{Answer, Refusal};

/// How long a token is believed without asking the database: a revoked one works no longer.
const BELIEVED: Duration = Duration::from_secs(1);
/// Tokens remembered at once.
const REMEMBERED: usize = 10_000;

/// A valid token, and whose it is.
#[derive(Debug, Clone)]
pub struct Credential {
    /// The token's id.
    pub token: String,
    /// The account's row.
    pub account_id: i64,
    /// The account's name.
    pub account: String,
    /// What the token allows.
    pub grants: Vec<Grant>,
    /// When the token ends, RFC 3339 in UTC.
    pub expires: Option<String>,
    /// The scopes that the account is a member of.
    pub memberships: Vec<Membership>,
    /// The trusted publisher that the token was given to: a job of a build service has it, and no
    /// person.
    pub publisher: Option<String>,
}

impl Credential {
    /// The account, as whoever makes a change.
    pub fn actor(&self) -> Actor<'_> {
        Actor { id: self.account_id, name: &self.account }
    }

    /// What the account may do in this scope.
    pub fn role_in(&self, scope: &Scope) -> Option<Role> {
        let found = self.memberships.iter().find(|membership| membership.scope == *scope);
        found.map(|membership| membership.role)
    }
}

/// Whoever makes a request.
#[derive(Debug, Clone)]
pub enum Caller {
    /// Without a token.
    Anonymous,
    /// With a valid one.
    Account(Arc<Credential>),
    /// With one that could not be asked about, since the database does not answer: whoever it is reads
    /// what is in memory and anybody's, and is told nothing of all else, not even that it is absent.
    Unchecked,
}

impl Caller {
    /// The token and its account, if there is one.
    pub fn credential(&self) -> Option<&Credential> {
        match self {
            Self::Anonymous | Self::Unchecked => None,
            Self::Account(credential) => Some(credential),
        }
    }

    /// The token and its account, or the refusal for want of one.
    pub fn account(&self) -> Answer<&Credential> {
        self.known()?.credential().ok_or_else(|| Refusal::unauthorized(NO_TOKEN))
    }

    /// The caller, where it is known who that is.
    pub fn known(&self) -> Answer<&Self> {
        match self {
            Self::Unchecked => {
                let detail = "the registry's database does not answer, and is needed to tell what \
                              this token may read; try again";
                Err(Refusal::unavailable(detail, 2))
            }
            known => Ok(known),
        }
    }

    /// Whether it may read the private skills of the scope of `name`, if there are any.
    pub fn reads_private(&self, name: &QualifiedName) -> bool {
        name.scope().is_some_and(|scope| self.reads_scope(scope))
    }

    /// Whether it may read what is private in this scope, if it is a private one.
    pub fn reads_scope(&self, scope: &Scope) -> bool {
        self.credential().is_some_and(|credential| {
            credential.grants.contains(&Grant::Read) && credential.role_in(scope).is_some()
        })
    }

    /// The account whose private skills it may read.
    pub fn reader(&self) -> Option<i64> {
        self.credential()
            .filter(|credential| credential.grants.contains(&Grant::Read))
            .map(|credential| credential.account_id)
    }
}

const NO_TOKEN: &str = "this needs a token: send `Authorization: Bearer skp_…`";
const BAD_TOKEN: &str =
    "the token is not known here, is revoked or has expired; `skillpkg login` takes a new one";
const OTHER_SCHEME: &str = "only `Authorization: Bearer skp_…` is understood";

#[derive(Debug, Clone)]
struct Remembered {
    since: Instant,
    credential: Arc<Credential>,
}

/// Finds the account behind a token.
#[derive(Debug)]
pub struct Authenticator {
    database: Database,
    remembered: Cache<String, Remembered>,
}

impl Authenticator {
    /// One that asks `database`.
    pub fn new(database: Database) -> Self {
        Self { database, remembered: Cache::new(REMEMBERED) }
    }

    /// Who sent these headers. No token is anonymous; a token that is not valid is refused, even
    /// where none is needed, so that nobody believes to be somebody in vain.
    ///
    /// Cookies, query parameters and other schemes are no credentials. With `passwords` the token may
    /// come as the password of the account that it is of.
    pub async fn caller(&self, headers: &HeaderMap, passwords: bool) -> Answer<Caller> {
        let mut sent = headers.get_all(header::AUTHORIZATION).iter();
        let value = match (sent.next(), sent.next()) {
            (None, _) => return Ok(Caller::Anonymous),
            (Some(value), None) => value,
            (Some(_), Some(_)) => {
                return Err(Refusal::unauthorized("more than one token was sent"));
            }
        };
        let other = || Refusal::unauthorized(OTHER_SCHEME);
        let sent = value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(other)?;
        match sent {
            (scheme, secret) if scheme.eq_ignore_ascii_case("bearer") => {
                self.bearer(secret.trim()).await
            }
            (scheme, encoded) if passwords && scheme.eq_ignore_ascii_case("basic") => {
                let (account, secret) = password(encoded.trim()).ok_or_else(other)?;
                let caller = self.bearer(&secret).await?;
                // Of another account: whoever sends it is mistaken about who that is.
                let is_of = |credential: &Credential| credential.account == account;
                if caller.credential().is_some_and(is_of) {
                    Ok(caller)
                } else {
                    Err(Refusal::unauthorized(BAD_TOKEN))
                }
            }
            _ => Err(other()),
        }
    }

    /// Who has this token; refused where it is not valid.
    pub async fn bearer(&self, secret: &str) -> Answer<Caller> {
        if !secret.starts_with(tokens::PREFIX) || secret.len() > 128 {
            return Err(Refusal::unauthorized(BAD_TOKEN));
        }
        let credential = self.credential(tokens::hash(secret)).await?;
        credential.map(Caller::Account).ok_or_else(|| Refusal::unauthorized(BAD_TOKEN))
    }

    /// The token of this hash and its account; [`None`] where it is unknown, revoked or over.
    pub async fn credential(&self, hash: String) -> Answer<Option<Arc<Credential>>> {
        let remembered = self.remembered.get(&hash);
        let fresh = remembered.filter(|remembered| remembered.since.elapsed() < BELIEVED);
        let credential = match fresh {
            Some(remembered) => Some(remembered.credential),
            None => self.load(hash).await?,
        };
        let is_over = |credential: &Arc<Credential>| {
            credential.expires.as_ref().is_some_and(|end| *end <= clock::now())
        };
        Ok(credential.filter(|credential| !is_over(credential)))
    }

    /// Believes nobody without asking the database again: what an account may do in a scope was
    /// changed, and whoever is told so is not to wait for it.
    pub fn forget(&self) {
        self.remembered.clear();
    }

    async fn load(&self, hash: String) -> Answer<Option<Arc<Credential>>> {
        type Row = (String, i64, String, String, Option<String>, Option<String>, Option<String>);
        let row: Option<Row> = sqlx::query_as(
            "SELECT t.id, t.account_id, a.name, t.grants, t.expires, t.last_used, t.publisher_id
             FROM tokens t JOIN accounts a ON a.id = t.account_id
             WHERE t.hash = $1 AND t.revoked IS NULL",
        )
        .bind(&hash)
        .fetch_optional(self.database.readers())
        .await?;
        let Some((token, account_id, account, grants, expires, last_used, publisher)) = row else {
            self.remembered.remove(&hash);
            return Ok(None);
        };
        let memberships = scopes::of_account(self.database.readers(), account_id).await?;
        let hour = clock::this_hour();
        if last_used.is_none_or(|last_used| last_used < hour) {
            self.note_use(token.clone(), hour);
        }
        let grants = tokens::read_grants(&grants);
        let credential =
            Credential { token, account_id, account, grants, expires, memberships, publisher };
        let credential = Arc::new(credential);
        let remembered = Remembered { since: Instant::now(), credential: Arc::clone(&credential) };
        self.remembered.insert(hash, remembered);
        Ok(Some(credential))
    }

    /// Writes the hour of a use, once an hour and behind the request's back.
    fn note_use(&self, token: String, hour: String) {
        let database = self.database.clone();
        tokio::spawn(async move {
            if let Err(error) = note_use(&database, &token, &hour).await {
                tracing::warn!(%error, "the last use of a token was not noted");
            }
        });
    }
}

/// The name and the password that are sent as one (RFC 7617).
fn password(encoded: &str) -> Option<(String, String)> {
    if encoded.len() > 512 {
        return None;
    }
    let text = String::from_utf8(BASE64.decode(encoded).ok()?).ok()?;
    let (account, secret) = text.split_once(':')?;
    Some((account.to_owned(), secret.to_owned()))
}

async fn note_use(database: &Database, token: &str, hour: &str) -> Result<(), sqlx::Error> {
    let mut write = database.write().await?;
    sqlx::query(
        "UPDATE tokens SET last_used = $1 WHERE id = $2 AND (last_used IS NULL OR last_used < $1)",
    )
    .bind(hour)
    .bind(token)
    .execute(&mut *write)
    .await?;
    write.commit().await
}
