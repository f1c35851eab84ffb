//! Withdrawing a version or all of them, and taking that back.
//!
//! Nothing is deleted: what is locked somewhere is still restored. What its client calls deleting and
//! hiding is a yank here, with its reason, its leaf of the log and the rights that a yank needs.

use axum::extract::Path;
use serde::Deserialize;
use serde_json::{Value, json};
use skillpkg_schema::{QualifiedName, Version};

use super::{Found, Which};
use crate::access::Need;
use crate::documents::stored;
use crate::problem::{Answer, Code, Refusal};
use crate::routes::asker::Asker;
use crate::routes::extract::{Json, OptionalJson, Query};
use crate::server::to_the_end;
use crate::skills::{self, Skill, versions};

/// Why a version is yanked that was withdrawn by itself.
const ALONE: &str = "withdrawn by its owner";
/// What the reasons start with of versions that were withdrawn all together: these alone come back
/// together.
const TOGETHER: &str = "withdrawn by its owner, with every version";
/// Most versions that are withdrawn in one request.
const MOST: usize = 1_000;

/// What the client says of it. A body of anything else is refused: what was not understood withdraws
/// nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::routes::faces) struct Said {
    owner_handle: Option<String>,
    reason: Option<String>,
    version: Option<String>,
}

impl Said {
    /// Refuses a body that is about something else than its path: a version, or all of them.
    fn check(&self, version: Option<&str>) -> Answer<()> {
        match self.version.as_deref() {
            None => Ok(()),
            said if said == version => Ok(()),
            Some(_) => {
                let detail = "the `version` of the body is not that of the path";
                Err(Refusal::new(Code::InvalidRequest, detail.to_owned()))
            }
        }
    }

    /// The reason of the yanks of every version.
    fn together(&self) -> Answer<String> {
        let reason = match self.reason.as_deref().map(str::trim) {
            None | Some("") => TOGETHER.to_owned(),
            Some(note) => format!("{TOGETHER}: {note}"),
        };
        versions::check_reason(&reason)?;
        Ok(reason)
    }
}

/// What is done to the versions of a skill.
#[derive(Debug)]
enum Change {
    /// One is yanked.
    Yank(Version),
    /// The yank of one is taken back.
    Unyank(Version),
    /// Each that is not yanked is, for this reason.
    YankAll(String),
    /// Those come back that were yanked so.
    UnyankAll,
}

impl Change {
    /// The versions that it is about, and the reason of their yanks.
    async fn of(
        self,
        write: &mut crate::database::Write,
        skill: Skill,
    ) -> Answer<(Vec<Version>, Option<String>)> {
        let (listed, reason) = match self {
            Self::Yank(version) => return Ok((vec![version], Some(ALONE.to_owned()))),
            Self::Unyank(version) => return Ok((vec![version], None)),
            Self::YankAll(reason) => (versions::yanked(write, skill, None).await?, Some(reason)),
            Self::UnyankAll => (versions::yanked(write, skill, Some(TOGETHER)).await?, None),
        };
        if listed.len() > MOST {
            let detail = format!(
                "it has more than {MOST} versions that this is about: yank the newest with \
                 `skillpkg yank`, or ask whoever runs the registry"
            );
            return Err(Refusal::new(Code::TooMany, detail));
        }
        if reason.is_none() && listed.is_empty() {
            let detail = "no version of it was withdrawn with all the others; `skillpkg unyank` takes \
                          back the yank of one";
            return Err(Refusal::new(Code::InvalidRequest, detail));
        }
        let versions = listed.iter().map(|text| stored(text)).collect::<Answer<Vec<Version>>>()?;
        Ok((versions, reason))
    }
}

/// The skill that is meant; whether it is there is decided with the right to it.
async fn named(
    asker: &Asker,
    which: Which,
    said: &Said,
    slug: &str,
    version: Option<&str>,
) -> Found<QualifiedName> {
    said.check(version)?;
    let owner_handle = said.owner_handle.clone().or(which.owner_handle);
    Which { owner_handle, ..Which::default() }.name(asker, slug).await
}

async fn change(asker: Asker, name: QualifiedName, change: Change) -> Answer<Json<Value>> {
    to_the_end(async move {
        let Asker { registry, caller, .. } = asker;
        let actor = caller.account()?.account_id;
        let mut write = registry.data.database.write().await?;
        let skill = skills::find_for(&mut write, &caller, Need::Yank, &name).await?;
        let (versions, reason) = change.of(&mut write, skill).await?;
        versions::set_yanks(&mut write, actor, &name, skill, &versions, reason.as_deref()).await?;
        registry.log.commit(write).await?;
        Ok(Json(json!({"ok": true})))
    })
    .await
}

fn version_of(text: &str) -> Answer<Version> {
    text.parse().map_err(|_| Refusal::not_found())
}

/// Yanks every version: none is picked anew, and what is locked is still restored.
#[utoipa::path(
    delete,
    path = "/clawhub/api/v1/skills/{name}",
    tag = "clawhub",
    params(("name" = String, Path, description = "The name within the scope"), Which),
    request_body(content_type = "application/json", description = "Perhaps `ownerHandle`, `reason` and `version`"),
    responses(
        (status = 200, content_type = "application/json", description = "Every version is yanked"),
        (status = "4XX", content_type = "text/plain", description = "What was wrong"),
    ),
    security(("token" = [])),
)]
pub(in crate::routes::faces) async fn all(
    asker: Asker,
    Path(slug): Path<String>,
    Query(which): Query<Which>,
    OptionalJson(said): OptionalJson<Said>,
) -> Found<Json<Value>> {
    let said = said.unwrap_or_default();
    let name = named(&asker, which, &said, &slug, None).await?;
    Ok(change(asker, name, Change::YankAll(said.together()?)).await?)
}

/// Takes the yanks back of the versions that were withdrawn all together.
#[utoipa::path(
    post,
    path = "/clawhub/api/v1/skills/{name}/undelete",
    tag = "clawhub",
    params(("name" = String, Path, description = "The name within the scope"), Which),
    request_body(content_type = "application/json", description = "Perhaps `ownerHandle`"),
    responses(
        (status = 200, content_type = "application/json", description = "They are not yanked"),
        (status = "4XX", content_type = "text/plain", description = "What was wrong"),
    ),
    security(("token" = [])),
)]
pub(in crate::routes::faces) async fn restore_all(
    asker: Asker,
    Path(slug): Path<String>,
    Query(which): Query<Which>,
    OptionalJson(said): OptionalJson<Said>,
) -> Found<Json<Value>> {
    let name = named(&asker, which, &said.unwrap_or_default(), &slug, None).await?;
    Ok(change(asker, name, Change::UnyankAll).await?)
}

/// Yanks a version.
#[utoipa::path(
    delete,
    path = "/clawhub/api/v1/skills/{name}/versions/{version}",
    tag = "clawhub",
    params(
        ("name" = String, Path, description = "The name within the scope"),
        ("version" = String, Path, description = "The version"),
        Which,
    ),
    request_body(content_type = "application/json", description = "Perhaps `ownerHandle`"),
    responses(
        (status = 200, content_type = "application/json", description = "It is yanked"),
        (status = "4XX", content_type = "text/plain", description = "What was wrong"),
    ),
    security(("token" = [])),
)]
pub(in crate::routes::faces) async fn one(
    asker: Asker,
    Path((slug, version)): Path<(String, String)>,
    Query(which): Query<Which>,
    OptionalJson(said): OptionalJson<Said>,
) -> Found<Json<Value>> {
    let name = named(&asker, which, &said.unwrap_or_default(), &slug, Some(&version)).await?;
    Ok(change(asker, name, Change::Yank(version_of(&version)?)).await?)
}

/// Takes the yank of a version back.
#[utoipa::path(
    post,
    path = "/clawhub/api/v1/skills/{name}/versions/{version}/restore",
    tag = "clawhub",
    params(
        ("name" = String, Path, description = "The name within the scope"),
        ("version" = String, Path, description = "The version"),
        Which,
    ),
    request_body(content_type = "application/json", description = "Perhaps `ownerHandle`"),
    responses(
        (status = 200, content_type = "application/json", description = "It is not yanked"),
        (status = "4XX", content_type = "text/plain", description = "What was wrong"),
    ),
    security(("token" = [])),
)]
pub(in crate::routes::faces) async fn restore_one(
    asker: Asker,
    Path((slug, version)): Path<(String, String)>,
    Query(which): Query<Which>,
    OptionalJson(said): OptionalJson<Said>,
) -> Found<Json<Value>> {
    let name = named(&asker, which, &said.unwrap_or_default(), &slug, Some(&version)).await?;
    Ok(change(asker, name, Change::Unyank(version_of(&version)?)).await?)
}
