//! `/v1/skills/{scope}/{name}/owners`.

use reqwest::{Method, Response, StatusCode};
use serde_json::json;
use skillpkg_registry::accounts::scopes::Role;
use skillpkg_schema::wire::Owners;

use crate::support::{Author, Skill, TestRegistry, json as read, problem};

async fn change(
    registry: &TestRegistry,
    method: Method,
    name: &str,
    by: &Author,
    who: &str,
) -> Response {
    let path = format!("/v1/skills/{name}/owners");
    registry.send(method, &path, Some(&by.token), &json!({"account": who})).await
}

async fn owners(response: Response) -> Vec<String> {
    read::<Owners>(response, StatusCode::OK).await.owners
}

#[tokio::test]
async fn an_owner_publishes_adds_and_removes_and_the_last_one_stays() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let ben = registry.author("ben").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    let packed = Skill::new("waitlist", "1.1.0").pack(&ben);
    problem(registry.publish(&ben, &packed).await, 403, "not_an_owner").await;
    // Nobody makes himself an owner.
    problem(change(&registry, Method::PUT, "_/waitlist", &ben, "ben").await, 403, "not_an_owner")
        .await;
    problem(change(&registry, Method::DELETE, "_/waitlist", &ana, "ana").await, 409, "last_owner")
        .await;
    problem(
        change(&registry, Method::PUT, "_/waitlist", &ana, "nobody").await,
        409,
        "no_such_account",
    )
    .await;
    for _ in 0..2 {
        let now = owners(change(&registry, Method::PUT, "_/waitlist", &ana, "ben").await).await;
        assert_eq!(now, ["ana", "ben"]);
    }
    assert_eq!(registry.publish(&ben, &packed).await.status(), 201);
    let now = owners(change(&registry, Method::DELETE, "_/waitlist", &ben, "ana").await).await;
    assert_eq!(now, ["ben"]);
    let packed = Skill::new("waitlist", "1.2.0").pack(&ana);
    problem(registry.publish(&ana, &packed).await, 403, "not_an_owner").await;
    let listed = owners(registry.get("/v1/skills/_/waitlist/owners", None).await).await;
    assert_eq!(listed, ["ben"]);
}

#[tokio::test]
async fn two_removals_at_once_leave_an_owner() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let ben = registry.author("ben").await;
    for round in 0..5 {
        let name = format!("skill-{round}");
        registry.published(&ana, &name, "1.0.0").await;
        let wire = format!("_/{name}");
        change(&registry, Method::PUT, &wire, &ana, "ben").await;
        let (one, other) = tokio::join!(
            change(&registry, Method::DELETE, &wire, &ana, "ana"),
            change(&registry, Method::DELETE, &wire, &ben, "ben")
        );
        let done = [one, other].iter().filter(|answer| answer.status() == 200).count();
        assert_eq!(done, 1);
        let listed = owners(registry.get(&format!("/v1/skills/{wire}/owners"), None).await).await;
        assert_eq!(listed.len(), 1);
    }
}

#[tokio::test]
async fn a_scoped_skill_is_the_publishing_members() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let ben = registry.author("ben").await;
    let cleo = registry.author("cleo").await;
    registry.author("dan").await;
    registry.scope("acme", &ana, true).await;
    registry.member("acme", &ben, Role::Publisher).await;
    registry.member("acme", &cleo, Role::Reader).await;
    registry.published(&ben, "acme/waitlist", "1.0.0").await;
    let listed =
        owners(registry.get("/v1/skills/acme/waitlist/owners", Some(&cleo.token)).await).await;
    assert_eq!(listed, ["ana", "ben"]);
    let name = "acme/waitlist";
    problem(change(&registry, Method::PUT, name, &cleo, "cleo").await, 403, "not_an_owner").await;
    problem(change(&registry, Method::PUT, name, &ana, "dan").await, 409, "no_such_account").await;
    problem(change(&registry, Method::DELETE, name, &ana, "ben").await, 409, "owned_through_scope")
        .await;
    let packed = Skill::new("acme/waitlist", "1.1.0").pack(&cleo);
    problem(registry.publish(&cleo, &packed).await, 403, "not_an_owner").await;
    let now = owners(change(&registry, Method::PUT, name, &ben, "cleo").await).await;
    assert_eq!(now, ["ana", "ben", "cleo"]);
    assert_eq!(registry.publish(&cleo, &packed).await.status(), 201);
    // An owner of one skill has no other.
    let packed = Skill::new("acme/other", "1.0.0").pack(&cleo);
    problem(registry.publish(&cleo, &packed).await, 403, "scope_refused").await;
    owners(change(&registry, Method::DELETE, name, &ana, "cleo").await).await;
    let packed = Skill::new("acme/waitlist", "1.2.0").pack(&cleo);
    problem(registry.publish(&cleo, &packed).await, 403, "not_an_owner").await;
}
