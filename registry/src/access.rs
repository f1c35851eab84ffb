//! Who may do what: one table of the routes, and one decision for each of what they need.
//!
//! A route without a row answers nobody. Which account may see or change a skill is decided by
//! [`decide`] alone, from the need in the route's row, the caller, and the caller's standing.

use axum::http::Method;
use skillpkg_schema::QualifiedName;

use crate::accounts::scopes::Role;
use crate::auth::Caller;
use crate::faces::Face;
use crate::grant::Grant;

/// What a route needs of whoever calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Need {
    /// Nothing: it is about nobody's things, and reads no token.
    Nothing,
    /// To read what it names: anybody what is public, a member with `read` what is private.
    Read,
    /// To read what it names, with a token in the path that grants `read` and nothing else: for
    /// clients that send no header.
    ReadByPath,
    /// A token that allows publishing some name: which one is not said yet.
    PublishSome,
    /// A token that allows publishing the name, of an account that may.
    Publish,
    /// A token that allows yanking the name, of an account that may publish it.
    Yank,
    /// A token that allows `admin`, of an account that may publish the name.
    ManageOwners,
    /// A token that allows `admin`, of an account that may publish the name; where the name is not
    /// there yet, of an owner of its scope.
    ManagePublishers,
    /// A token that grants `read`, of a member of the scope.
    ReadScope,
    /// A token that allows `admin`, of an owner of the scope.
    ManageScope,
    /// A token that allows `admin`, of a member of the scope.
    LeaveScope,
    /// Any token.
    Token,
    /// A token that allows `admin`.
    Admin,
}

/// Whom a route speaks with, and so what counts as a credential there and how it refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Surface {
    /// A program: a token in `Authorization`, and problem documents.
    Api,
    /// A person with a browser: the cookie of a session that was begun with a token, and pages.
    Page,
}

/// One route and what it needs.
#[derive(Debug, Clone)]
pub struct Row {
    /// The method.
    pub method: Method,
    /// The path as the router has it.
    pub path: &'static str,
    /// What it needs.
    pub need: Need,
    /// Whom it speaks with.
    pub surface: Surface,
}

const fn row(method: Method, path: &'static str, need: Need) -> Row {
    Row { method, path, need, surface: Surface::Api }
}

const fn page(method: Method, path: &'static str, need: Need) -> Row {
    Row { method, path, need, surface: Surface::Page }
}

/// Every route.
pub const TABLE: &[Row] = &[
    row(Method::GET, "/healthz", Need::Nothing),
    row(Method::GET, "/readyz", Need::Nothing),
    row(Method::GET, "/openapi.json", Need::Nothing),
    row(Method::GET, "/metrics", Need::Admin),
    row(Method::GET, "/v1/registry", Need::Nothing),
    row(Method::GET, "/v1/skills/{scope}/{name}", Need::Read),
    row(Method::POST, "/v1/index", Need::Read),
    row(Method::GET, "/log/checkpoint", Need::Nothing),
    row(Method::GET, "/log/tile/{*path}", Need::Nothing),
    row(Method::GET, "/v1/log", Need::Nothing),
    row(Method::POST, "/v1/log/proofs", Need::Read),
    row(Method::GET, "/v1/search", Need::Read),
    row(Method::GET, "/v1/manifests/{address}", Need::Read),
    row(Method::HEAD, "/v1/manifests/{address}", Need::Read),
    row(Method::GET, "/v1/manifests/{address}/signatures", Need::Read),
    row(Method::GET, "/v1/archives/{digest}", Need::Read),
    row(Method::HEAD, "/v1/archives/{digest}", Need::Read),
    row(Method::GET, "/v1/blobs/{address}", Need::Read),
    row(Method::HEAD, "/v1/blobs/{address}", Need::Read),
    row(Method::GET, "/relayed/log/checkpoint", Need::Nothing),
    row(Method::GET, "/relayed/log/tile/{*path}", Need::Nothing),
    row(Method::PUT, "/v1/skills/{scope}/{name}/{version}", Need::Publish),
    row(Method::POST, "/v1/skills/{scope}/{name}/advisories", Need::Yank),
    row(Method::DELETE, "/v1/skills/{scope}/{name}/advisories/{advisory}", Need::Yank),
    row(Method::POST, "/v1/skills/{scope}/{name}/{version}/yank", Need::Yank),
    row(Method::POST, "/v1/skills/{scope}/{name}/{version}/unyank", Need::Yank),
    row(Method::GET, "/v1/skills/{scope}/{name}/owners", Need::Read),
    row(Method::PUT, "/v1/skills/{scope}/{name}/owners", Need::ManageOwners),
    row(Method::DELETE, "/v1/skills/{scope}/{name}/owners", Need::ManageOwners),
    row(Method::GET, "/v1/scopes/{scope}/members", Need::ReadScope),
    row(Method::POST, "/v1/scopes/{scope}/members", Need::ManageScope),
    row(Method::PUT, "/v1/scopes/{scope}/members", Need::ManageScope),
    row(Method::DELETE, "/v1/scopes/{scope}/members", Need::ManageScope),
    // Whoever has an invitation may answer it, and to anybody else it is not there.
    row(Method::GET, "/v1/invitations", Need::Admin),
    row(Method::POST, "/v1/invitations/{scope}/{name}", Need::Admin),
    row(Method::DELETE, "/v1/invitations/{scope}/{name}", Need::Admin),
    row(Method::POST, "/v1/invitations/{scope}", Need::Admin),
    row(Method::DELETE, "/v1/invitations/{scope}", Need::Admin),
    row(Method::GET, "/v1/tokens/self", Need::Token),
    row(Method::GET, "/v1/tokens", Need::Admin),
    row(Method::POST, "/v1/tokens", Need::Admin),
    row(Method::DELETE, "/v1/tokens/{id}", Need::Admin),
    row(Method::GET, "/v1/keys", Need::Token),
    row(Method::POST, "/v1/keys", Need::Admin),
    row(Method::DELETE, "/v1/keys/{id}", Need::Admin),
    // Trusted publishers: an identity is what is exchanged, and no token is read there.
    row(Method::GET, "/v1/skills/{scope}/{name}/publishers", Need::ManagePublishers),
    row(Method::POST, "/v1/skills/{scope}/{name}/publishers", Need::ManagePublishers),
    row(Method::DELETE, "/v1/skills/{scope}/{name}/publishers", Need::ManagePublishers),
    row(Method::POST, "/v1/oidc/token", Need::Nothing),
    // Faces: Agent Skills discovery.
    row(Method::GET, "/.well-known/agent-skills/index.json", Need::Nothing),
    row(Method::GET, "/s/{scope}/.well-known/agent-skills/index.json", Need::Read),
    row(Method::GET, "/s/{scope}/{name}/.well-known/agent-skills/index.json", Need::Read),
    row(Method::GET, "/s/{scope}/{name}/{version}/.well-known/agent-skills/index.json", Need::Read),
    row(Method::GET, "/s/{scope}/{name}/{version}/skill.tar.gz", Need::Read),
    row(Method::GET, "/t/{token}/s/{scope}/.well-known/agent-skills/index.json", Need::ReadByPath),
    row(
        Method::GET,
        "/t/{token}/s/{scope}/{name}/.well-known/agent-skills/index.json",
        Need::ReadByPath,
    ),
    row(
        Method::GET,
        "/t/{token}/s/{scope}/{name}/{version}/.well-known/agent-skills/index.json",
        Need::ReadByPath,
    ),
    row(Method::GET, "/t/{token}/s/{scope}/{name}/{version}/skill.tar.gz", Need::ReadByPath),
    // Faces: APM.
    row(Method::GET, "/apm/v1/search", Need::Read),
    row(Method::GET, "/apm/v1/packages/{scope}/{name}/versions", Need::Read),
    row(Method::GET, "/apm/v1/packages/{scope}/{name}/versions/{version}/download", Need::Read),
    row(Method::PUT, "/apm/v1/packages/{scope}/{name}/versions/{version}", Need::Publish),
    // Faces: ClawHub. Whose a skill is stands in the query there.
    row(Method::GET, "/.well-known/clawhub.json", Need::Nothing),
    row(Method::POST, "/clawhub/api/cli/telemetry/install", Need::Nothing),
    row(Method::GET, "/clawhub/api/v1/whoami", Need::Token),
    row(Method::GET, "/clawhub/api/v1/search", Need::Read),
    row(Method::GET, "/clawhub/api/v1/resolve", Need::Read),
    row(Method::GET, "/clawhub/api/v1/download", Need::Read),
    row(Method::GET, "/clawhub/api/v1/skills", Need::Read),
    row(Method::GET, "/clawhub/api/v1/skills/{name}", Need::Read),
    row(Method::GET, "/clawhub/api/v1/skills/{name}/install", Need::Read),
    row(Method::GET, "/clawhub/api/v1/skills/{name}/verify", Need::Read),
    row(Method::GET, "/clawhub/api/v1/skills/{name}/file", Need::Read),
    row(Method::GET, "/clawhub/api/v1/skills/{name}/versions", Need::Read),
    row(Method::GET, "/clawhub/api/v1/skills/{name}/versions/{version}", Need::Read),
    row(Method::DELETE, "/clawhub/api/v1/skills/{name}", Need::Yank),
    row(Method::POST, "/clawhub/api/v1/skills/{name}/undelete", Need::Yank),
    row(Method::DELETE, "/clawhub/api/v1/skills/{name}/versions/{version}", Need::Yank),
    row(Method::POST, "/clawhub/api/v1/skills/{name}/versions/{version}/restore", Need::Yank),
    row(Method::POST, "/clawhub/api/v1/skills/-/upload-url", Need::PublishSome),
    row(Method::POST, "/clawhub/api/v1/uploads/{ticket}", Need::PublishSome),
    row(Method::POST, "/clawhub/api/v1/skills", Need::Publish),
    // Pages: nothing of the API takes their cookie, and they take no token of the API's.
    page(Method::GET, "/", Need::Read),
    page(Method::GET, "/skills/{scope}/{name}", Need::Read),
    page(Method::GET, "/skills/{scope}/{name}/versions", Need::Read),
    page(Method::GET, "/skills/{scope}/{name}/diff", Need::Read),
    page(Method::GET, "/skills/{scope}/{name}/diff/{from}/{to}", Need::Read),
    page(Method::GET, "/skills/{scope}/{name}/{version}", Need::Read),
    page(Method::GET, "/skills/{scope}/{name}/{version}/runs", Need::Read),
    page(Method::GET, "/skills/{scope}/{name}/{version}/files", Need::Read),
    page(Method::GET, "/skills/{scope}/{name}/{version}/files/{*path}", Need::Read),
    page(Method::GET, "/scopes/{scope}", Need::Read),
    page(Method::GET, "/people/{account}", Need::Read),
    page(Method::GET, "/log", Need::Read),
    page(Method::GET, "/log/entries/{index}", Need::Read),
    page(Method::GET, "/sign-in", Need::Nothing),
    page(Method::POST, "/sign-in", Need::Nothing),
    page(Method::POST, "/sign-out", Need::Nothing),
    page(Method::GET, "/static/{name}", Need::Nothing),
];

impl Row {
    /// Whether it answers with what may be in memory, and asks who calls before it asks for anything
    /// else: there one whose token could not be asked about is served what is anybody's.
    pub fn reads_memory(&self) -> bool {
        let paths = [
            "/v1/skills/{scope}/{name}",
            "/v1/manifests/{address}",
            "/v1/archives/{digest}",
            "/v1/blobs/{address}",
        ];
        self.need == Need::Read && paths.contains(&self.path)
    }

    /// Whether a token may come as the password of its account as well (HTTP Basic), since a client of
    /// the route sends one so.
    pub fn takes_passwords(&self) -> bool {
        Face::of_path(self.path) == Some(Face::Apm)
    }

    /// Whether a request for it changes something.
    pub fn changes(&self) -> bool {
        let reads = matches!(self.need, Need::Nothing | Need::Read | Need::ReadByPath);
        !(reads || self.method == Method::GET || self.method == Method::HEAD)
    }
}

/// The row of a route; a `GET` answers `HEAD` as well.
pub fn row_of(method: &Method, path: &str) -> Option<&'static Row> {
    place_of(method, path).map(|(_, row)| row)
}

/// The row of a route, and its place in the table.
pub fn place_of(method: &Method, path: &str) -> Option<(usize, &'static Row)> {
    let of = |method: &Method| {
        TABLE.iter().enumerate().find(|(_, row)| row.method == *method && row.path == path)
    };
    of(method).or_else(|| if *method == Method::HEAD { of(&Method::GET) } else { None })
}

/// The methods that a path takes, in the order of the table.
pub fn methods_of(path: &str) -> Vec<Method> {
    TABLE.iter().filter(|row| row.path == path).map(|row| row.method.clone()).collect()
}

/// What an account is to a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Nothing.
    Stranger,
    /// A member of its scope who may not publish it.
    Reader,
    /// One who may publish it.
    Publisher,
}

impl Standing {
    /// The standing of a member of the scope (`role`) who is among the skill's owners or is not.
    ///
    /// A bare name is its owners'; a scoped one is the publishing members', and an owner's as long
    /// as the owner is a member.
    pub fn of(name: &QualifiedName, role: Option<Role>, owner: bool) -> Self {
        match (name.scope(), role) {
            (None, _) if owner => Self::Publisher,
            (Some(_), Some(role)) if role.publishes() || owner => Self::Publisher,
            (Some(_), Some(_)) => Self::Reader,
            _ => Self::Stranger,
        }
    }
}

/// What is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It is done.
    Allowed,
    /// It answers as what is not there does.
    Hidden,
    /// A token is needed.
    Unauthorized,
    /// The token does not allow it.
    LacksGrant,
    /// The account may not, and may know that the skill is there.
    NotAnOwner,
}

/// What can be decided from the caller alone, before anything is looked up: the same answer for
/// what is there and for what is not.
pub fn decide_unseen(need: Need, caller: &Caller, name: Option<&QualifiedName>) -> Decision {
    let Some(wanted) = granted_by(need, name) else { return Decision::Allowed };
    match caller.credential() {
        None => Decision::Unauthorized,
        Some(credential) if wanted(&credential.grants) => Decision::Allowed,
        Some(_) => Decision::LacksGrant,
    }
}

/// Decides about a skill that is there.
pub fn decide(
    need: Need,
    caller: &Caller,
    name: &QualifiedName,
    private: bool,
    standing: Standing,
) -> Decision {
    let unseen = decide_unseen(need, caller, Some(name));
    if unseen != Decision::Allowed {
        return unseen;
    }
    let reads = caller
        .credential()
        .is_some_and(|credential| credential.grants.contains(&Grant::Read) || need != Need::Read);
    if private && !(reads && standing >= Standing::Reader) {
        return Decision::Hidden;
    }
    match need {
        Need::Publish | Need::Yank | Need::ManageOwners | Need::ManagePublishers
            if standing < Standing::Publisher =>
        {
            Decision::NotAnOwner
        }
        _ => Decision::Allowed,
    }
}

/// Decides about a scope that is there, for a caller of this role in it.
pub fn decide_scope(need: Need, caller: &Caller, role: Option<Role>) -> Decision {
    let unseen = decide_unseen(need, caller, None);
    if unseen != Decision::Allowed {
        return unseen;
    }
    let reads =
        caller.credential().is_some_and(|credential| credential.grants.contains(&Grant::Read));
    match (need, role) {
        (Need::ReadScope, Some(_)) if reads => Decision::Allowed,
        (Need::ManageScope, Some(Role::Owner)) | (Need::LeaveScope, Some(_)) => Decision::Allowed,
        (Need::ManageScope, Some(_)) => Decision::NotAnOwner,
        _ => Decision::Hidden,
    }
}

type Granted<'a> = Box<dyn Fn(&[Grant]) -> bool + 'a>;

/// What a token must grant; [`None`] where no token is needed.
fn granted_by(need: Need, name: Option<&QualifiedName>) -> Option<Granted<'_>> {
    let holds = move |pattern: &crate::grant::Pattern| name.is_none_or(|name| pattern.holds(name));
    match need {
        Need::Nothing | Need::Read => None,
        Need::Token | Need::ReadScope => Some(Box::new(|_| true)),
        Need::ReadByPath => Some(Box::new(|grants| *grants == [Grant::Read])),
        Need::PublishSome => {
            Some(Box::new(|grants| grants.iter().any(|one| matches!(one, Grant::Publish(_)))))
        }
        Need::Admin
        | Need::ManageOwners
        | Need::ManagePublishers
        | Need::ManageScope
        | Need::LeaveScope => Some(Box::new(|grants| grants.contains(&Grant::Admin))),
        Need::Publish => Some(Box::new(move |grants| {
            grants.iter().any(|grant| matches!(grant, Grant::Publish(pattern) if holds(pattern)))
        })),
        Need::Yank => Some(Box::new(move |grants| {
            grants.iter().any(|grant| matches!(grant, Grant::Yank(pattern) if holds(pattern)))
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_its_owners_and_a_scoped_one_its_members() {
        let bare: QualifiedName = "waitlist".parse().unwrap();
        let scoped: QualifiedName = "acme/waitlist".parse().unwrap();
        for (name, role, owner, standing) in [
            (&bare, None, true, Standing::Publisher),
            (&bare, None, false, Standing::Stranger),
            (&scoped, Some(Role::Owner), false, Standing::Publisher),
            (&scoped, Some(Role::Publisher), false, Standing::Publisher),
            (&scoped, Some(Role::Reader), false, Standing::Reader),
            (&scoped, Some(Role::Reader), true, Standing::Publisher),
            // One who has left the scope is nothing to it.
            (&scoped, None, true, Standing::Stranger),
        ] {
            assert_eq!(Standing::of(name, role, owner), standing, "{name} {role:?} {owner}");
        }
    }

    #[test]
    fn a_route_without_a_row_has_none() {
        assert!(row_of(&Method::PATCH, "/v1/keys").is_none());
        assert!(row_of(&Method::GET, "/v1/other").is_none());
        let head = row_of(&Method::HEAD, "/v1/skills/{scope}/{name}");
        assert_eq!(head.map(|row| row.need), Some(Need::Read));
        assert_eq!(methods_of("/v1/keys"), [Method::GET, Method::POST]);
    }
}
