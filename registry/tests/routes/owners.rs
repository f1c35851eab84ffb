//! `/v1/skills/{scope}/{name}/owners`, and the invitations that make owners.

use reqwest::{Method, Response, StatusCode};
use serde_json::json;
use skillpkg_registry::accounts::scopes::{self, Role};
use skillpkg_schema::wire::{Invitations, Owners};

use crate::support::{Author, Skill, TestRegistry, json as read, problem};
use crate::watcher::Watcher;

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

async fn transfer(registry: &TestRegistry, name: &str, by: &Author, who: &str) -> Response {
    let path = format!("/v1/skills/{name}/owners");
    let body = json!({"account": who, "transfer": true});
    registry.send(Method::PUT, &path, Some(&by.token), &body).await
}

async fn answer(registry: &TestRegistry, method: Method, name: &str, by: &Author) -> Response {
    let path = format!("/v1/invitations/{name}");
    registry.request(method, &path, Some(&by.token)).send().await.unwrap()
}

async fn accept(registry: &TestRegistry, name: &str, by: &Author) -> Response {
    answer(registry, Method::POST, name, by).await
}

async fn owners(response: Response) -> Vec<String> {
    read::<Owners>(response, StatusCode::OK).await.owners
}

async fn listed(registry: &TestRegistry, name: &str, by: Option<&Author>) -> Owners {
    let token = by.map(|author| author.token.as_str());
    let answer = registry.get(&format!("/v1/skills/{name}/owners"), token).await;
    read(answer, StatusCode::OK).await
}

/// The names that an account is invited to own.
async fn invited(registry: &TestRegistry, account: &Author) -> Vec<String> {
    let answer = registry.get("/v1/invitations", Some(&account.token)).await;
    let invitations: Invitations = read(answer, StatusCode::OK).await;
    invitations.owners.iter().map(|one| one.name.to_string()).collect()
}

/// Changes the rows behind the registry's back.
async fn execute(registry: &TestRegistry, sql: &'static str) {
    let mut write = registry.data().database.write().await.unwrap();
    sqlx::query(sql).execute(&mut *write).await.unwrap();
    write.commit().await.unwrap();
}

#[tokio::test]
async fn an_owner_publishes_invites_and_removes_and_the_last_one_stays() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let ben = registry.author("ben").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    let name = "_/waitlist";
    let packed = Skill::new("waitlist", "1.1.0").pack(&ben);
    problem(registry.publish(&ben, &packed).await, 403, "not_an_owner").await;
    problem(change(&registry, Method::DELETE, name, &ana, "ana").await, 409, "last_owner").await;
    let nobody = change(&registry, Method::PUT, name, &ana, "nobody").await;
    let told = problem(nobody, 409, "no_such_account").await;
    assert_eq!(told.detail, "there is no account `nobody` at this registry");
    for _ in 0..2 {
        let answer = change(&registry, Method::PUT, name, &ana, "ben").await;
        let now: Owners = read(answer, StatusCode::OK).await;
        assert_eq!(now.owners, ["ana"]);
        let [one] = now.invited.as_slice() else { panic!("{now:?}") };
        assert_eq!((one.account.as_str(), one.by.as_str(), one.transfer), ("ben", "ana", false));
    }
    // Who is invited may do nothing yet, and nobody but an owner is told of it.
    problem(registry.publish(&ben, &packed).await, 403, "not_an_owner").await;
    assert!(listed(&registry, name, Some(&ben)).await.invited.is_empty());
    assert!(listed(&registry, name, None).await.invited.is_empty());
    assert_eq!(listed(&registry, name, Some(&ana)).await.invited.len(), 1);
    assert_eq!(invited(&registry, &ben).await, ["waitlist"]);
    assert_eq!(accept(&registry, name, &ben).await.status(), 204);
    problem(accept(&registry, name, &ben).await, 404, "not_found").await;
    assert!(invited(&registry, &ben).await.is_empty());
    assert_eq!(registry.publish(&ben, &packed).await.status(), 201);
    // One that is an owner already is not invited.
    let now: Owners =
        read(change(&registry, Method::PUT, name, &ben, "ana").await, StatusCode::OK).await;
    assert_eq!((now.owners.len(), now.invited.len()), (2, 0));
    let now = owners(change(&registry, Method::DELETE, name, &ben, "ana").await).await;
    assert_eq!(now, ["ben"]);
    let packed = Skill::new("waitlist", "1.2.0").pack(&ana);
    problem(registry.publish(&ana, &packed).await, 403, "not_an_owner").await;
    let recorded = registry.events("waitlist").await;
    let recorded: Vec<(&str, &str)> =
        recorded.iter().map(|(kind, detail)| (kind.as_str(), detail.as_str())).collect();
    assert_eq!(
        recorded,
        [
            ("owner_added", "ana"),
            ("owner_invited", "ben"),
            ("owner_invited", "ben"),
            ("owner_added", "ben"),
            ("owner_removed", "ana"),
        ]
    );
    // Everybody can see who came and went: each is a leaf of the log, and a refusal is none.
    let watcher = Watcher::start(&registry.url).await;
    let kinds = async || {
        let leaves = watcher.leaves().await;
        let kinds = leaves.iter().map(|record| record.subject.kind().to_owned());
        kinds.filter(|kind| kind.starts_with("owner_")).collect::<Vec<_>>()
    };
    assert_eq!(kinds().await, ["owner_added", "owner_added", "owner_removed"]);
}

#[tokio::test]
async fn nobody_makes_himself_an_owner_or_answers_for_another() {
    let registry = TestRegistry::start().await;
    let [ana, ben, eve] =
        [registry.author("ana").await, registry.author("ben").await, registry.author("eve").await];
    registry.scope("secret", &ana, true).await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    registry.published(&ana, "secret/plan", "1.0.0").await;
    let name = "_/waitlist";
    for who in ["eve", "ben"] {
        let promoted = change(&registry, Method::PUT, name, &eve, who).await;
        problem(promoted, 403, "not_an_owner").await;
        problem(transfer(&registry, name, &eve, who).await, 403, "not_an_owner").await;
        let hidden = change(&registry, Method::PUT, "secret/plan", &eve, who).await;
        let absent = change(&registry, Method::PUT, "secret/none", &eve, who).await;
        assert_eq!(
            problem(hidden, 404, "not_found").await,
            problem(absent, 404, "not_found").await
        );
    }
    read::<Owners>(change(&registry, Method::PUT, name, &ana, "ben").await, StatusCode::OK).await;
    // An invitation that is another's, of what is not there, and of what is hidden: one answer.
    let others = problem(accept(&registry, name, &eve).await, 404, "not_found").await;
    for target in ["_/nothing", "secret/plan", "nobody/none"] {
        let absent = problem(accept(&registry, target, &eve).await, 404, "not_found").await;
        assert_eq!(others, absent, "{target}");
    }
    problem(answer(&registry, Method::DELETE, name, &eve).await, 404, "not_found").await;
    let without_admin = registry.token(&ben, &["read", "publish:*", "yank:*"]).await;
    let limited = Author { token: without_admin, ..ben.clone() };
    problem(accept(&registry, name, &limited).await, 403, "token_lacks_grant").await;
    assert_eq!(invited(&registry, &ben).await, ["waitlist"]);
    // Nobody who is no member owns a skill of a scope.
    let stranger = change(&registry, Method::PUT, "secret/plan", &ana, "eve").await;
    problem(stranger, 409, "no_such_account").await;
    problem(transfer(&registry, name, &ana, "ana").await, 400, "invalid_request").await;
}

#[tokio::test]
async fn an_invitation_is_declined_withdrawn_or_over() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let ben = registry.author("ben").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    let name = "_/waitlist";
    let invite = async || {
        let answer = change(&registry, Method::PUT, name, &ana, "ben").await;
        assert_eq!(answer.status(), 200);
        assert_eq!(invited(&registry, &ben).await, ["waitlist"]);
    };
    invite().await;
    assert_eq!(answer(&registry, Method::DELETE, name, &ben).await.status(), 204);
    problem(accept(&registry, name, &ben).await, 404, "not_found").await;
    invite().await;
    let now = owners(change(&registry, Method::DELETE, name, &ana, "ben").await).await;
    assert_eq!(now, ["ana"]);
    problem(accept(&registry, name, &ben).await, 404, "not_found").await;
    invite().await;
    execute(&registry, "UPDATE owner_invitations SET expires = '1970-01-01T00:00:00Z'").await;
    assert!(invited(&registry, &ben).await.is_empty());
    assert!(listed(&registry, name, Some(&ana)).await.invited.is_empty());
    problem(accept(&registry, name, &ben).await, 404, "not_found").await;
    problem(answer(&registry, Method::DELETE, name, &ben).await, 404, "not_found").await;
    invite().await;
    assert_eq!(accept(&registry, name, &ben).await.status(), 204);
}

#[tokio::test]
async fn an_invitation_of_one_who_owns_the_skill_no_more_is_void() {
    let registry = TestRegistry::start().await;
    let [ana, ben, cleo] =
        [registry.author("ana").await, registry.author("ben").await, registry.author("cleo").await];
    registry.published(&ana, "waitlist", "1.0.0").await;
    let name = "_/waitlist";
    registry.own(&ana, name, &ben).await;
    assert_eq!(change(&registry, Method::PUT, name, &ben, "cleo").await.status(), 200);
    assert_eq!(change(&registry, Method::DELETE, name, &ana, "ben").await.status(), 200);
    assert!(invited(&registry, &cleo).await.is_empty());
    problem(accept(&registry, name, &cleo).await, 404, "not_found").await;
    // Nor does it come back with him.
    execute(&registry, "UPDATE owner_invitations SET created = '1970-01-01T00:00:00Z'").await;
    registry.own(&ana, name, &ben).await;
    problem(accept(&registry, name, &cleo).await, 404, "not_found").await;
    assert_eq!(change(&registry, Method::PUT, name, &ben, "cleo").await.status(), 200);
    assert_eq!(accept(&registry, name, &cleo).await.status(), 204);

    // In a scope: where the inviter, or who is invited, has left it.
    registry.scope("acme", &ana, true).await;
    for member in [&ben, &cleo] {
        registry.member("acme", member, Role::Publisher).await;
    }
    registry.published(&ana, "acme/plan", "1.0.0").await;
    let database = &registry.data().database;
    let demote = async || {
        scopes::add_member(database, "acme", "cleo", Role::Reader).await.unwrap();
        assert_eq!(change(&registry, Method::PUT, "acme/plan", &ben, "cleo").await.status(), 200);
    };
    for leaves in ["ben", "cleo"] {
        demote().await;
        scopes::remove_member(database, "acme", leaves).await.unwrap();
        problem(accept(&registry, "acme/plan", &cleo).await, 404, "not_found").await;
        scopes::add_member(database, "acme", leaves, Role::Publisher).await.unwrap();
    }
}

#[tokio::test]
async fn a_skill_is_handed_on_in_one_step() {
    let registry = TestRegistry::start().await;
    let [ana, ben, cleo] =
        [registry.author("ana").await, registry.author("ben").await, registry.author("cleo").await];
    registry.published(&ana, "waitlist", "1.0.0").await;
    let name = "_/waitlist";
    let now: Owners = read(transfer(&registry, name, &ana, "ben").await, StatusCode::OK).await;
    assert!(now.owners == ["ana"] && now.invited[0].transfer, "{now:?}");
    // Until it is accepted she owns it, and may take it back.
    registry.published(&ana, "waitlist", "1.1.0").await;
    assert_eq!(accept(&registry, name, &ben).await.status(), 204);
    assert_eq!(listed(&registry, name, None).await.owners, ["ben"]);
    let packed = Skill::new("waitlist", "1.2.0").pack(&ana);
    problem(registry.publish(&ana, &packed).await, 403, "not_an_owner").await;
    let recorded = registry.events("waitlist").await;
    let last: Vec<(&str, &str)> =
        recorded.iter().rev().take(3).map(|(kind, who)| (kind.as_str(), who.as_str())).collect();
    assert_eq!(
        last,
        [("owner_removed", "ana"), ("owner_added", "ben"), ("owner_invited", "ben transfer")]
    );
    // To one who owns it too: the one who hands it on goes.
    registry.own(&ben, name, &cleo).await;
    assert_eq!(transfer(&registry, name, &ben, "cleo").await.status(), 200);
    assert_eq!(accept(&registry, name, &cleo).await.status(), 204);
    assert_eq!(listed(&registry, name, None).await.owners, ["cleo"]);
    // What is the scope's is not one member's to hand on.
    registry.scope("acme", &ana, false).await;
    registry.member("acme", &ben, Role::Reader).await;
    registry.published(&ana, "acme/plan", "1.0.0").await;
    problem(transfer(&registry, "acme/plan", &ana, "ben").await, 409, "owned_through_scope").await;
}

#[tokio::test]
async fn invitations_are_bounded() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let ben = registry.author("ben").await;
    registry.author("cleo").await;
    for at in 0..2 {
        registry.published(&ana, &format!("skill-{at}"), "1.0.0").await;
    }
    assert_eq!(change(&registry, Method::PUT, "_/skill-0", &ana, "ben").await.status(), 200);
    execute(
        &registry,
        "INSERT INTO accounts (name, collision_key, created)
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
         SELECT 'x' || i, 'x' || i, '1970-01-01T00:00:00Z' FROM n",
    )
    .await;
    execute(
        &registry,
        "INSERT INTO owner_invitations (skill_id, account_id, inviter_id, transfer, created, expires)
         SELECT k.id, x.id, a.id, FALSE, '1970-01-01T00:00:00Z', '9999-01-01T00:00:00Z'
         FROM skills k, accounts x, accounts a
         WHERE k.name = 'skill-0' AND x.name LIKE 'x%' AND a.name = 'ana'",
    )
    .await;
    // A hundred are open: none beside, on whatever skill, though each of them may be made anew.
    problem(change(&registry, Method::PUT, "_/skill-1", &ana, "cleo").await, 409, "too_many").await;
    problem(change(&registry, Method::PUT, "_/skill-0", &ana, "cleo").await, 409, "too_many").await;
    execute(
        &registry,
        "DELETE FROM owner_invitations WHERE account_id = (SELECT max(id) FROM accounts)",
    )
    .await;
    assert_eq!(change(&registry, Method::PUT, "_/skill-0", &ana, "ben").await.status(), 200);
    assert_eq!(accept(&registry, "_/skill-0", &ben).await.status(), 204);
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
        registry.own(&ana, &wire, &ben).await;
        let (one, other) = tokio::join!(
            change(&registry, Method::DELETE, &wire, &ana, "ana"),
            change(&registry, Method::DELETE, &wire, &ben, "ben")
        );
        let done = [one, other].iter().filter(|answer| answer.status() == 200).count();
        assert_eq!(done, 1);
        assert_eq!(listed(&registry, &wire, None).await.owners.len(), 1);
    }
}

#[tokio::test]
async fn a_skill_that_is_handed_on_while_its_owner_is_removed_keeps_one() {
    let registry = TestRegistry::start().await;
    let [ana, ben, cleo] =
        [registry.author("ana").await, registry.author("ben").await, registry.author("cleo").await];
    for round in 0..5 {
        let name = format!("skill-{round}");
        registry.published(&ana, &name, "1.0.0").await;
        let wire = format!("_/{name}");
        registry.own(&ana, &wire, &ben).await;
        assert_eq!(transfer(&registry, &wire, &ana, "cleo").await.status(), 200);
        // Whichever is first: cleo owns it in the place of ana, or ana is gone and cleo's
        // invitation with her.
        let (accepted, removed) = tokio::join!(
            accept(&registry, &wire, &cleo),
            change(&registry, Method::DELETE, &wire, &ben, "ana")
        );
        let now = listed(&registry, &wire, None).await.owners;
        match accepted.status().as_u16() {
            204 => assert_eq!(
                (now, removed.status().as_u16()),
                (vec!["ben".into(), "cleo".into()], 409)
            ),
            404 => assert_eq!((now, removed.status().as_u16()), (vec!["ben".into()], 200)),
            other => panic!("{other}"),
        }
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
    let name = "acme/waitlist";
    assert_eq!(listed(&registry, name, Some(&cleo)).await.owners, ["ana", "ben"]);
    problem(change(&registry, Method::PUT, name, &cleo, "cleo").await, 403, "not_an_owner").await;
    problem(change(&registry, Method::PUT, name, &ana, "dan").await, 409, "no_such_account").await;
    problem(change(&registry, Method::DELETE, name, &ana, "ben").await, 409, "owned_through_scope")
        .await;
    let packed = Skill::new("acme/waitlist", "1.1.0").pack(&cleo);
    problem(registry.publish(&cleo, &packed).await, 403, "not_an_owner").await;
    registry.own(&ben, name, &cleo).await;
    assert_eq!(listed(&registry, name, Some(&ana)).await.owners, ["ana", "ben", "cleo"]);
    assert_eq!(registry.publish(&cleo, &packed).await.status(), 201);
    // An owner of one skill has no other.
    let packed = Skill::new("acme/other", "1.0.0").pack(&cleo);
    problem(registry.publish(&cleo, &packed).await, 403, "scope_refused").await;
    owners(change(&registry, Method::DELETE, name, &ana, "cleo").await).await;
    let packed = Skill::new("acme/waitlist", "1.2.0").pack(&cleo);
    problem(registry.publish(&cleo, &packed).await, 403, "not_an_owner").await;
}
