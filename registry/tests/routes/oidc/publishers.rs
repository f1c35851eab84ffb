//! Who may say which jobs publish, what their tokens allow, and what others learn of it.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use skillpkg_registry::accounts::closing;
use skillpkg_registry::accounts::scopes::{self, Role};
use skillpkg_registry::oidc::Pace;
use skillpkg_registry::rates::Limits;
use skillpkg_registry::state::Options;
use skillpkg_schema::wire::{Document, ExchangedToken, Tokens, TrustedPublishers, WhoAmI};
use skillpkg_tests::issuer::Issuer;

use super::{AUDIENCE, Stage, trusting};
use crate::support::{Skill, TestRegistry, json as read, problem};

const PLACE: &str = "/v1/skills/_/waitlist/publishers";

#[tokio::test]
async fn a_job_that_is_trusted_publishes_the_skill_and_nothing_else_in_its_owners_name() {
    let stage = Stage::new().await;
    let registry = &stage.registry;
    let given = stage.given().await;
    assert_eq!((given.account.as_str(), given.name.to_string().as_str()), ("ana", "waitlist"));
    let who: WhoAmI =
        read(registry.get("/v1/tokens/self", Some(&given.secret)).await, StatusCode::OK).await;
    assert_eq!(
        (who.account.as_str(), &who.grants[..]),
        ("ana", &["publish:waitlist".to_owned()][..])
    );
    assert_eq!(who.expires.as_ref(), Some(&given.expires));
    let minutes = |time: &str| skillpkg_registry::clock::seconds_since(time);
    assert_eq!(minutes(&given.expires), 0, "it ends later than now");
    assert!(given.expires <= skillpkg_registry::clock::in_seconds(15 * 60));

    let packed = Skill::new("waitlist", "1.1.0").pack(&stage.ana);
    let published = registry.publish_as(&given.secret, &stage.ana, &packed).await;
    assert_eq!(published.status(), StatusCode::CREATED);
    let other = Skill::new("other", "1.0.0").pack(&stage.ana);
    let refused = registry.publish_as(&given.secret, &stage.ana, &other).await;
    problem(refused, 403, "token_lacks_grant").await;
    for (method, path) in [
        (Method::GET, "/v1/tokens"),
        (Method::GET, PLACE),
        (Method::POST, "/v1/skills/_/waitlist/1.0.0/yank"),
        (Method::POST, "/v1/skills/_/waitlist/publishers"),
    ] {
        let refused =
            registry.send(method, path, Some(&given.secret), &json!({"reason": "r"})).await;
        problem(refused, 403, "token_lacks_grant").await;
    }
    // No key of the job's comes to count as ana's, and no client that signs nothing publishes for it.
    let stranger = stage.ana.with_key(skillpkg_schema::signature::SigningKey::generate().unwrap());
    let packed = Skill::new("waitlist", "1.2.0").pack(&stranger);
    let refused = registry.publish_as(&given.secret, &stranger, &packed).await;
    problem(refused, 403, "key_not_registered").await;
    let face = "/apm/v1/packages/_/waitlist/versions/1.2.0";
    let refused = registry.request(Method::PUT, face, Some(&given.secret)).body("x").send().await;
    problem(refused.unwrap(), 403, "face_publish_refused").await;
}

#[tokio::test]
async fn a_job_registers_no_key_for_an_account_that_has_none() {
    let stage = Stage::new().await;
    let registry = &stage.registry;
    let ben = registry.author("ben").await;
    registry.scope("acme", &ben, false).await;
    let path = "/v1/skills/acme/waitlist/publishers";
    let recorded = stage.issuer.recorded();
    let trusted = registry.send(Method::POST, path, Some(&ben.token), &recorded).await;
    assert_eq!(trusted.status(), 200);
    let answer = stage.exchange_for("acme/waitlist", &stage.token(&[])).await;
    let given: ExchangedToken = read(answer, StatusCode::CREATED).await;
    let packed = Skill::new("acme/waitlist", "1.0.0").pack(&ben);
    let refused = registry.publish_as(&given.secret, &ben, &packed).await;
    let told = problem(refused, 403, "key_not_registered").await;
    assert!(told.detail.contains("a job registers no key"), "{}", told.detail);
    let keys = registry.send(Method::POST, "/v1/keys", Some(&ben.token), &ben.registration()).await;
    assert_eq!(keys.status(), 201);
    // The name was not there before: whoever owns the scope may say who publishes it first.
    let published = registry.publish_as(&given.secret, &ben, &packed).await;
    assert_eq!(published.status(), 201);
}

#[tokio::test]
async fn a_publisher_that_is_removed_gets_no_token_and_those_it_has_are_revoked() {
    let stage = Stage::new().await;
    let registry = &stage.registry;
    let given = stage.given().await;
    assert_eq!(registry.get("/v1/tokens/self", Some(&given.secret)).await.status(), 200);
    let remove = async |id: &str| {
        registry.send(Method::DELETE, PLACE, Some(&stage.ana.token), &json!({"id": id})).await
    };
    problem(remove("0000000000000000").await, 400, "invalid_request").await;
    let left: TrustedPublishers = read(remove(&given.publisher).await, StatusCode::OK).await;
    assert!(left.publishers.is_empty());
    problem(registry.get("/v1/tokens/self", Some(&given.secret)).await, 401, "unauthorized").await;
    let packed = Skill::new("waitlist", "1.1.0").pack(&stage.ana);
    let refused = registry.publish_as(&given.secret, &stage.ana, &packed).await;
    problem(refused, 401, "unauthorized").await;
    problem(stage.exchange(&stage.token(&[])).await, 404, "not_found").await;
    let kinds: Vec<String> =
        registry.events("waitlist").await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["owner_added", "trusted_publisher_added", "trusted_publisher_removed"]);
}

#[tokio::test]
async fn the_same_again_is_the_one_that_is_there_and_twenty_are_the_most() {
    let stage = Stage::new().await;
    let again = stage.trust("_/waitlist", &stage.issuer.recorded()).await;
    assert_eq!(again.publishers.len(), 1);
    assert_eq!((again.audience.as_str(), again.publishers[0].account.as_str()), (AUDIENCE, "ana"));
    assert_eq!(again.issuers[0].provider, "github");
    let numbered = |number: usize| {
        let mut recorded = stage.issuer.recorded();
        recorded["claims"]["environment"] = format!("e{number}").into();
        recorded
    };
    for number in 1..20 {
        assert_eq!(stage.trust("_/waitlist", &numbered(number)).await.publishers.len(), number + 1);
    }
    let token = Some(stage.ana.token.as_str());
    let refused = stage.registry.send(Method::POST, PLACE, token, &numbered(20)).await;
    problem(refused, 409, "too_many").await;
    // The job is told how it differs from the one that it is nearest to.
    let near = stage.token(&[("environment", json!("e7")), ("repository", json!("acme/new"))]);
    let told = problem(stage.exchange(&near).await, 403, "publisher_refused").await;
    assert!(!told.detail.contains("environment"), "{}", told.detail);
}

#[tokio::test]
async fn what_would_let_others_publish_is_not_recorded() {
    let stage = Stage::new().await;
    let whole = stage.issuer.recorded();
    let with = |claim: &str, value: Value| {
        let mut recorded = whole.clone();
        let claims = recorded["claims"].as_object_mut().unwrap();
        match value {
            Value::Null => drop(claims.remove(claim)),
            value => drop(claims.insert(claim.to_owned(), value)),
        }
        recorded
    };
    let mut other = whole.clone();
    other["issuer"] = "https://token.actions.githubusercontent.com".into();
    let many: Value = (0..20).map(|n| (format!("c{n}"), json!("x"))).collect();
    let mut too_many = whole.clone();
    too_many["claims"] = many;
    for (recorded, said) in [
        (with("repository_owner_id", Value::Null), "must hold `repository_owner_id`"),
        (with("repository", Value::Null), "must hold `repository`"),
        (with("workflow_file", Value::Null), "must hold `workflow_file`"),
        (with("repository_owner_id", json!("acme")), "cannot be `acme`"),
        (with("workflow_file", json!("release.yml")), "cannot be `release.yml`"),
        (with("repository", json!("waitlist")), "cannot be `waitlist`"),
        (with("aud", json!("x")), "checked of every identity anyway"),
        (with("exp", json!("1")), "checked of every identity anyway"),
        (with("a b", json!("x")), "not the name of a claim"),
        (with("environment", json!("")), "1 to 1024 bytes"),
        (with("environment", json!("a\u{202e}b")), "printable"),
        (other, "no issuer whose identities this registry takes"),
        (too_many, "the most is 16"),
    ] {
        let token = Some(stage.ana.token.as_str());
        let refused = stage.registry.send(Method::POST, PLACE, token, &recorded).await;
        let told = problem(refused, 400, "invalid_request").await;
        assert!(told.detail.contains(said), "{recorded}: {}", told.detail);
    }
}

#[tokio::test]
async fn a_token_never_allows_more_than_whoever_trusted_the_job_may_do() {
    let stage = Stage::new().await;
    let registry = &stage.registry;
    let ben = registry.author("ben").await;
    registry.own(&stage.ana, "_/waitlist", &ben).await;
    let given = stage.given().await;
    // Ben removes ana: what she trusted publishes no more, by a token that it has or a new one.
    let removed = json!({"account": "ana"});
    let path = "/v1/skills/_/waitlist/owners";
    let answer = registry.send(Method::DELETE, path, Some(&ben.token), &removed).await;
    assert_eq!(answer.status(), 200);
    let packed = Skill::new("waitlist", "1.1.0").pack(&stage.ana);
    let refused = registry.publish_as(&given.secret, &stage.ana, &packed).await;
    problem(refused, 403, "not_an_owner").await;
    let told = problem(stage.exchange(&stage.token(&[])).await, 403, "publisher_refused").await;
    assert!(told.detail.contains("trusted by `ana`, who may not"), "{}", told.detail);
    // Ben trusts the same job: from now on it publishes for him.
    let answer =
        registry.send(Method::POST, PLACE, Some(&ben.token), &stage.issuer.recorded()).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(stage.given().await.account, "ben");
    closing::close(&registry.data().database, "ben", None).await.unwrap();
    let told = problem(stage.exchange(&stage.token(&[])).await, 403, "publisher_refused").await;
    assert!(told.detail.contains("`ana`"), "{}", told.detail);
}

#[tokio::test]
async fn a_stranger_learns_of_no_private_name_and_its_own_job_learns_what_differs() {
    let stage = Stage::new().await;
    let registry = &stage.registry;
    registry.scope("secret", &stage.ana, true).await;
    stage.trust("secret/plan", &stage.issuer.recorded()).await;
    let whole = async |name: &str, changes: &[(&str, Value)]| {
        let answer = stage.exchange_for(name, &stage.token(changes)).await;
        let status = answer.status().as_u16();
        let mut headers = answer.headers().clone();
        for changing in ["date", "x-request-id"] {
            headers.remove(changing);
        }
        (status, headers, answer.text().await.unwrap())
    };
    let stranger = [("repository_owner_id", json!("5055")), ("repository", json!("eve/x"))];
    let hidden = whole("secret/plan", &stranger).await;
    assert_eq!(hidden.0, 404);
    for absent in ["secret/none", "nobody/plan", "none"] {
        assert_eq!(hidden, whole(absent, &stranger).await, "{absent}");
    }
    let mine = [("ref", json!("refs/heads/x")), ("repository", json!("acme/y"))];
    let mine = whole("secret/plan", &mine).await;
    assert_eq!(mine.0, 403);
    assert!(mine.2.contains("`repository` is `acme/y`"), "{}", mine.2);
    assert_eq!(whole("secret/plan", &[]).await.0, 201);

    // Members that do not publish, and everybody else, manage none of it; nothing public tells of it.
    let (ben, eve) = (registry.author("ben").await, registry.author("eve").await);
    registry.member("secret", &ben, Role::Reader).await;
    for (author, name) in [(&ben, "plan"), (&eve, "plan"), (&ben, "none"), (&eve, "none")] {
        let path = format!("/v1/skills/secret/{name}/publishers");
        problem(registry.get(&path, Some(&author.token)).await, 404, "not_found").await;
    }
    let checkpoint = registry.registry.log.moment().await.size();
    let tiles = registry.get("/log/tile/entries/000.p/", None).await;
    assert!(tiles.status().is_client_error() && checkpoint > 0);
    let bundle = format!("/log/tile/entries/000.p/{checkpoint}");
    let entries = registry.get(&bundle, None).await.bytes().await.unwrap();
    let entries = String::from_utf8_lossy(&entries).into_owned();
    assert!(entries.contains("\"kind\":\"trusted_publisher_added\""), "that of `waitlist`");
    assert!(!entries.contains("secret"), "{entries}");
}

#[tokio::test]
async fn what_is_trusted_is_in_the_log_and_the_documents_stay_as_they_are() {
    let stage = Stage::new().await;
    let registry = &stage.registry;
    let before: Document =
        read(registry.get("/v1/skills/_/waitlist", None).await, StatusCode::OK).await;
    assert_eq!(before.versions.len(), 1);
    let size = registry.registry.log.moment().await.size();
    let entries = registry.get(&format!("/log/tile/entries/000.p/{size}"), None).await;
    let entries = entries.bytes().await.unwrap();
    let entries = String::from_utf8_lossy(&entries).into_owned();
    let leaf = format!(
        "\"issuer\":\"{}\",\"kind\":\"trusted_publisher_added\",\"name\":\"waitlist\"",
        stage.issuer.url()
    );
    assert!(entries.contains(&leaf), "{entries}");
    assert!(entries.contains("\"repository_owner_id\":\"4077\""));
    // Told in words on the page of the log.
    let page = registry.get("/log", None).await.text().await.unwrap();
    assert!(page.contains("build jobs trusted"), "{page}");
}

#[tokio::test]
async fn a_member_who_leaves_the_scope_takes_what_they_trusted_with_them() {
    let stage = Stage::new().await;
    let registry = &stage.registry;
    let ben = registry.author("ben").await;
    registry.scope("acme", &stage.ana, false).await;
    registry.member("acme", &ben, Role::Publisher).await;
    registry.published(&stage.ana, "acme/waitlist", "1.0.0").await;
    let path = "/v1/skills/acme/waitlist/publishers";
    let trusted =
        registry.send(Method::POST, path, Some(&ben.token), &stage.issuer.recorded()).await;
    assert_eq!(trusted.status(), 200);
    assert_eq!(stage.exchange_for("acme/waitlist", &stage.token(&[])).await.status(), 201);
    scopes::remove_member(&registry.data().database, "acme", "ben").await.unwrap();
    let refused = stage.exchange_for("acme/waitlist", &stage.token(&[])).await;
    problem(refused, 403, "publisher_refused").await;
}

#[tokio::test]
async fn without_an_issuer_nothing_of_it_is_there() {
    let registry = TestRegistry::start_with(Options::default()).await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    let body = json!({"token": "a.b.c", "name": "waitlist"});
    let whole = async |method: &Method, path: &str| {
        let answer = registry.send(method.clone(), path, Some(&ana.token), &body).await;
        (answer.status(), answer.headers().get("allow").cloned(), answer.text().await.unwrap())
    };
    for (method, path, absent) in [
        (Method::GET, PLACE, "/v1/skills/_/waitlist/nothing"),
        (Method::POST, PLACE, "/v1/skills/_/waitlist/nothing"),
        (Method::DELETE, PLACE, "/v1/skills/_/waitlist/nothing"),
        (Method::POST, "/v1/oidc/token", "/v1/oidc/nothing"),
        (Method::GET, "/v1/oidc/token", "/v1/oidc/nothing"),
    ] {
        let answer = whole(&method, path).await;
        assert!(answer.0.is_client_error(), "{method} {path}");
        assert_eq!(answer, whole(&method, absent).await, "{method} {path}");
    }
}

#[tokio::test]
async fn other_build_services_are_held_to_claims_of_their_own() {
    let issuer = Issuer::start();
    let registry =
        TestRegistry::start_with(trusting(&[format!("gitlab={}", issuer.url())], Pace::default()))
            .await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    let stage = Stage { registry, issuer, ana };
    let claims = json!({"project_path": "acme/waitlist", "project_id": "7", "namespace_id": "3"});
    let mut recorded = json!({"issuer": stage.issuer.url(), "claims": claims});
    let token = Some(stage.ana.token.as_str());
    let refused = stage.registry.send(Method::POST, PLACE, token, &recorded).await;
    let told = problem(refused, 400, "invalid_request").await;
    assert!(
        told.detail.contains("one of `ref`, `ref_protected`, `environment`"),
        "{}",
        told.detail
    );
    recorded["claims"]["ref_protected"] = "true".into();
    stage.trust("_/waitlist", &recorded).await;
    let job = [
        ("project_path", json!("acme/waitlist")),
        ("project_id", json!("7")),
        ("namespace_id", json!("3")),
        ("ref_protected", json!("true")),
        ("pipeline_source", json!("push")),
        ("event_name", Value::Null),
    ];
    let with = |claim: &'static str, value: Value| {
        let mut changed = job.to_vec();
        changed.push((claim, value));
        stage.token(&changed)
    };
    problem(
        stage.exchange(&with("pipeline_source", json!("merge_request_event"))).await,
        403,
        "identity_refused",
    )
    .await;
    for (claim, value) in [
        ("namespace_id", json!("4")),
        ("project_id", json!("8")),
        ("ref_protected", json!("false")),
    ] {
        problem(stage.exchange(&with(claim, value)).await, 403, "publisher_refused").await;
    }
    assert_eq!(stage.exchange(&stage.token(&job)).await.status(), 201);
}

#[tokio::test]
async fn the_tokens_of_jobs_are_among_the_accounts_and_can_be_revoked() {
    let stage = Stage::new().await;
    let given = stage.given().await;
    let tokens = stage.registry.get("/v1/tokens", Some(&stage.ana.token)).await;
    let tokens: Tokens = read(tokens, StatusCode::OK).await;
    let job = tokens.tokens.iter().find(|token| token.label.starts_with("job of")).unwrap();
    assert_eq!(job.label, "job of acme/waitlist run 99");
    assert_eq!(job.expires.as_ref(), Some(&given.expires));
    let path = format!("/v1/tokens/{}", job.id);
    let revoked =
        stage.registry.request(Method::DELETE, &path, Some(&stage.ana.token)).send().await;
    assert_eq!(revoked.unwrap().status(), 204);
}

#[tokio::test]
async fn exchanges_count_for_the_address_that_they_come_from() {
    let issuer = Issuer::start();
    let options = trusting(&[format!("github={}", issuer.url())], Pace::default());
    let rates = Limits { requests: 3, loopback: true, ..Limits::default() };
    let registry = TestRegistry::start_with(Options { rates, ..options }).await;
    let ana = registry.author("ana").await;
    let stage = Stage { registry, issuer, ana };
    for _ in 0..3 {
        problem(stage.exchange("a.b.c").await, 403, "identity_refused").await;
    }
    let refused = stage.exchange(&stage.token(&[])).await;
    assert!(refused.headers().contains_key("retry-after"));
    problem(refused, 429, "rate_limited").await;
}
