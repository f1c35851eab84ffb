//! `/v1/scopes/{scope}/members`, and the invitations that make members.

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use skillpkg_registry::accounts::scopes::{self, Role};
use skillpkg_schema::wire::{Invitations, Members};

use crate::support::{Author, TestRegistry, json as read, problem};

async fn change(registry: &TestRegistry, method: Method, by: &Author, body: &Value) -> Response {
    registry.send(method, "/v1/scopes/acme/members", Some(&by.token), body).await
}

async fn invite(registry: &TestRegistry, by: &Author, who: &str, role: &str) -> Response {
    change(registry, Method::POST, by, &json!({"account": who, "role": role})).await
}

async fn set_role(registry: &TestRegistry, by: &Author, who: &str, role: &str) -> Response {
    change(registry, Method::PUT, by, &json!({"account": who, "role": role})).await
}

async fn remove(registry: &TestRegistry, by: &Author, who: &str) -> Response {
    change(registry, Method::DELETE, by, &json!({"account": who})).await
}

async fn answer(registry: &TestRegistry, method: Method, by: &Author) -> Response {
    registry.request(method, "/v1/invitations/acme", Some(&by.token)).send().await.unwrap()
}

async fn members(response: Response) -> Vec<(String, String)> {
    let members: Members = read(response, StatusCode::OK).await;
    members.members.into_iter().map(|one| (one.account, one.role)).collect()
}

fn pair(account: &str, role: &str) -> (String, String) {
    (account.to_owned(), role.to_owned())
}

#[tokio::test]
async fn an_owner_invites_members_who_read_at_once_what_they_may() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let ben = registry.author("ben").await;
    registry.scope("acme", &ana, true).await;
    registry.published(&ana, "acme/plan", "1.0.0").await;
    let document = async || registry.get("/v1/skills/acme/plan", Some(&ben.token)).await.status();
    assert_eq!(document().await, 404);
    let now: Members = read(invite(&registry, &ana, "ben", "reader").await, StatusCode::OK).await;
    assert_eq!((now.members.len(), now.invited.len()), (1, 1));
    assert_eq!(document().await, 404);
    let listed = registry.get("/v1/invitations", Some(&ben.token)).await;
    let invitations: Invitations = read(listed, StatusCode::OK).await;
    let [one] = invitations.members.as_slice() else { panic!("{invitations:?}") };
    assert_eq!((one.scope.as_str(), one.role.as_str(), one.by.as_str()), ("acme", "reader", "ana"));
    assert_eq!(answer(&registry, Method::POST, &ben).await.status(), 204);
    assert_eq!(document().await, 200);
    problem(answer(&registry, Method::POST, &ben).await, 404, "not_found").await;
    let listed = registry.get("/v1/scopes/acme/members", Some(&ben.token)).await;
    assert_eq!(members(listed).await, [pair("ana", "owner"), pair("ben", "reader")]);
    let now = members(set_role(&registry, &ana, "ben", "publisher").await).await;
    assert_eq!(now[1], pair("ben", "publisher"));
    assert_eq!(members(remove(&registry, &ana, "ben").await).await, [pair("ana", "owner")]);
    assert_eq!(document().await, 404);
    let recorded = registry.events("acme").await;
    let recorded: Vec<(&str, &str)> =
        recorded.iter().map(|(kind, detail)| (kind.as_str(), detail.as_str())).collect();
    assert_eq!(
        recorded,
        [
            ("scope_added", "private"),
            ("member_added", "ana owner"),
            ("member_invited", "ben reader"),
            ("member_added", "ben reader"),
            ("member_added", "ben publisher"),
            ("member_removed", "ben"),
        ]
    );
}

#[tokio::test]
async fn only_an_owner_changes_members_and_one_owner_stays() {
    let registry = TestRegistry::start().await;
    let [ana, ben, eve] =
        [registry.author("ana").await, registry.author("ben").await, registry.author("eve").await];
    registry.scope("acme", &ana, true).await;
    registry.member("acme", &ben, Role::Publisher).await;
    for by in [&ben, &eve] {
        let (status, code) =
            if by.account == "ben" { (403, "not_an_owner") } else { (404, "not_found") };
        problem(invite(&registry, by, "eve", "owner").await, status, code).await;
        problem(set_role(&registry, by, &by.account, "owner").await, status, code).await;
        problem(remove(&registry, by, "ana").await, status, code).await;
    }
    let path = "/v1/scopes/none/members";
    let body = json!({"account": "ana"});
    let absent = registry.send(Method::DELETE, path, Some(&eve.token), &body).await;
    let absent = problem(absent, 404, "not_found").await;
    let hidden = problem(remove(&registry, &eve, "ana").await, 404, "not_found").await;
    assert_eq!(absent, hidden);
    problem(invite(&registry, &ana, "nobody", "reader").await, 409, "no_such_account").await;
    problem(invite(&registry, &ana, "ben", "reader").await, 409, "already_a_member").await;
    problem(invite(&registry, &ana, "eve", "king").await, 400, "invalid_request").await;
    problem(set_role(&registry, &ana, "eve", "reader").await, 409, "no_such_account").await;
    problem(remove(&registry, &ana, "eve").await, 409, "no_such_account").await;
    assert_eq!(invite(&registry, &ana, "eve", "reader").await.status(), 200);
    let told = set_role(&registry, &ana, "eve", "publisher").await;
    let told = problem(told, 409, "no_such_account").await;
    assert!(told.detail.contains("skillpkg scope invite"), "{}", told.detail);
    assert_eq!(remove(&registry, &ana, "eve").await.status(), 200);
    problem(remove(&registry, &ana, "ana").await, 409, "last_owner").await;
    problem(set_role(&registry, &ana, "ana", "reader").await, 409, "last_owner").await;
    members(set_role(&registry, &ana, "ben", "owner").await).await;
    // Of two who remove each other one is left.
    let (one, other) = tokio::join!(remove(&registry, &ana, "ben"), remove(&registry, &ben, "ana"));
    assert_eq!([one, other].iter().filter(|answer| answer.status() == 200).count(), 1);
    let listed = scopes::list(&registry.data().database).await.unwrap();
    assert_eq!(listed[0].members.len(), 1);
}

#[tokio::test]
async fn a_member_leaves_by_itself_and_needs_a_token_that_may() {
    let registry = TestRegistry::start().await;
    let [ana, ben, eve] =
        [registry.author("ana").await, registry.author("ben").await, registry.author("eve").await];
    registry.scope("acme", &ana, true).await;
    registry.member("acme", &ben, Role::Reader).await;
    problem(remove(&registry, &eve, "eve").await, 404, "not_found").await;
    problem(remove(&registry, &ana, "ana").await, 409, "last_owner").await;
    let reading = Author { token: registry.token(&ben, &["read"]).await, ..ben.clone() };
    problem(remove(&registry, &reading, "ben").await, 403, "token_lacks_grant").await;
    let left = members(remove(&registry, &ben, "ben").await).await;
    assert_eq!(left, [pair("ana", "owner")]);
    problem(remove(&registry, &ben, "ben").await, 404, "not_found").await;
}

#[tokio::test]
async fn an_invitation_to_a_scope_is_declined_withdrawn_or_void() {
    let registry = TestRegistry::start().await;
    let [ana, ben, cleo] =
        [registry.author("ana").await, registry.author("ben").await, registry.author("cleo").await];
    registry.scope("acme", &ana, false).await;
    registry.member("acme", &ben, Role::Owner).await;
    let invited = async || assert_eq!(invite(&registry, &ben, "cleo", "owner").await.status(), 200);
    invited().await;
    assert_eq!(answer(&registry, Method::DELETE, &cleo).await.status(), 204);
    problem(answer(&registry, Method::POST, &cleo).await, 404, "not_found").await;
    invited().await;
    assert_eq!(remove(&registry, &ana, "cleo").await.status(), 200);
    problem(answer(&registry, Method::POST, &cleo).await, 404, "not_found").await;
    invited().await;
    problem(answer(&registry, Method::POST, &ana).await, 404, "not_found").await;
    // He is an owner of the scope no more: what he offered is void.
    members(set_role(&registry, &ana, "ben", "publisher").await).await;
    problem(answer(&registry, Method::POST, &cleo).await, 404, "not_found").await;
    members(set_role(&registry, &ana, "ben", "owner").await).await;
    problem(answer(&registry, Method::POST, &cleo).await, 404, "not_found").await;
    invited().await;
    // An operator's word comes first.
    registry.member("acme", &cleo, Role::Reader).await;
    problem(answer(&registry, Method::POST, &cleo).await, 404, "not_found").await;
}
