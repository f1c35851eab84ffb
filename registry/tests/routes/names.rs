//! New names that read like those which many use.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use skillpkg_registry::accounts::scopes::Role;
use skillpkg_registry::names::judgement::Confusable;
use skillpkg_registry::names::popular::{POPULAR_DOWNLOADS, POPULAR_VERSIONS};
use skillpkg_registry::names::requests::{self, State};
use skillpkg_registry::state::Options;

use crate::support::{Author, Skill, TestRegistry, problem, published};

async fn registry(confusable_names: Confusable) -> TestRegistry {
    let popular_fresh_for = Duration::ZERO;
    let popular_names = vec!["pandas".parse().unwrap()];
    let options =
        Options { confusable_names, popular_fresh_for, popular_names, ..Options::default() };
    TestRegistry::start_with(options).await
}

/// Publishes `lodash` as somebody whom nobody else of a test knows, and makes it popular.
async fn popular(registry: &TestRegistry) -> Author {
    let author = registry.author("popular").await;
    registry.published(&author, "lodash", "1.0.0").await;
    downloaded(registry, "lodash", POPULAR_DOWNLOADS).await;
    author
}

async fn downloaded(registry: &TestRegistry, name: &str, count: i64) {
    let mut write = registry.data().database.write().await.unwrap();
    sqlx::query(
        "INSERT INTO downloads (skill_id, count) SELECT id, $2 FROM skills WHERE name = $1",
    )
    .bind(name)
    .bind(count)
    .execute(&mut *write)
    .await
    .unwrap();
    write.commit().await.unwrap();
}

async fn listed(registry: &TestRegistry, state: State) -> Vec<(String, Option<String>)> {
    let listed = requests::list(&registry.data().database, &[state]).await.unwrap();
    listed.into_iter().map(|one| (one.name, one.resembles)).collect()
}

/// Names that read like `lodash`.
const ALIKE: [&str; 10] = [
    "lodahs",
    "lodas",
    "loddash",
    "lodssh",
    "lodash-cli",
    "rs-lodash",
    "lodash-skill",
    "lodash2",
    "lodash-js",
    "lodash-py",
];

#[tokio::test]
async fn by_default_a_name_like_a_popular_one_is_published_and_listed_and_its_publisher_told() {
    let registry = registry(Confusable::default()).await;
    popular(&registry).await;
    let mal = registry.author("mal").await;
    for name in ALIKE {
        let answer = registry.publish(&mal, &Skill::new(name, "1.0.0").pack(&mal)).await;
        let answer = published(answer, StatusCode::CREATED).await;
        let warning = answer.warnings.iter().find(|one| one.code == "name_resembles").unwrap();
        assert!(warning.message.contains("`lodash`"), "{warning}");
    }
    assert_eq!(listed(&registry, State::Flagged).await.len(), ALIKE.len());
    for name in ["waitlist", "lodge", "dash", "ledger-lodging"] {
        let answer = registry.publish(&mal, &Skill::new(name, "1.0.0").pack(&mal)).await;
        assert_eq!(published(answer, StatusCode::CREATED).await.warnings, [], "{name}");
    }
    // A second version is no new name.
    let answer = registry.publish(&mal, &Skill::new("lodahs", "1.1.0").pack(&mal)).await;
    assert_eq!(published(answer, StatusCode::CREATED).await.warnings, []);
    assert_eq!(listed(&registry, State::Flagged).await.len(), ALIKE.len());
    let database = &registry.data().database;
    requests::release(database, &"lodahs".parse().unwrap(), None).await.unwrap();
    assert_eq!(listed(&registry, State::Flagged).await.len(), ALIKE.len() - 1);
}

#[tokio::test]
async fn a_registry_that_refuses_names_what_the_name_is_like() {
    let registry = registry(Confusable::Refuse).await;
    let ana = popular(&registry).await;
    let mal = registry.author("mal").await;
    for name in ALIKE {
        let answer = registry.publish(&mal, &Skill::new(name, "1.0.0").pack(&mal)).await;
        let refused = problem(answer, 409, "name_confusable").await;
        assert!(refused.detail.contains("`lodash`"), "{}", refused.detail);
    }
    // One of the operator's list, which is not there: the name itself is free, and none like it.
    problem(
        registry.publish(&mal, &Skill::new("panda", "1.0.0").pack(&mal)).await,
        409,
        "name_confusable",
    )
    .await;
    registry.published(&mal, "pandas", "1.0.0").await;
    // Its owner names things alike.
    registry.published(&ana, "lodash-cli", "1.0.0").await;
    // Within a scope, the scope tells whose it is.
    registry.scope("acme", &mal, false).await;
    registry.published(&mal, "acme/lodahs", "1.0.0").await;
    // A member of a scope of the owner's is of the same house.
    registry.scope("house", &ana, true).await;
    let ben = registry.author("ben").await;
    registry.member("house", &ben, Role::Reader).await;
    registry.published(&ben, "lodash-py", "1.0.0").await;
    assert_eq!(requests::list(&registry.data().database, &[]).await.unwrap(), []);
}

#[tokio::test]
async fn a_name_that_is_held_is_published_once_it_is_released_and_by_who_asked_alone() {
    let registry = registry(Confusable::Hold).await;
    popular(&registry).await;
    let (mal, eve) = (registry.author("mal").await, registry.author("eve").await);
    let packed = Skill::new("lodash-cli", "1.0.0").pack(&mal);
    for _ in 0..2 {
        let held = problem(registry.publish(&mal, &packed).await, 409, "name_held").await;
        assert!(held.detail.contains("`lodash`"), "{}", held.detail);
        assert!(held.detail.contains("name release lodash-cli"), "{}", held.detail);
    }
    let held = [("lodash-cli".to_owned(), Some("lodash".to_owned()))];
    assert_eq!(listed(&registry, State::Held).await, held);
    let database = &registry.data().database;
    let name = "lodash-cli".parse().unwrap();
    assert_eq!(requests::release(database, &name, None).await.unwrap().unwrap(), "mal");
    // Somebody who waited for it to be free is not given it.
    let eves = Skill::new("lodash-cli", "1.0.0").pack(&eve);
    problem(registry.publish(&eve, &eves).await, 409, "name_held").await;
    published(registry.publish(&mal, &packed).await, StatusCode::CREATED).await;
    problem(registry.publish(&eve, &eves).await, 403, "not_an_owner").await;
    assert_eq!(registry.get("/v1/skills/_/lodash-cli", None).await.status(), 200);
}

#[tokio::test]
async fn a_name_that_an_operator_refuses_is_nobodys_until_it_is_released() {
    let registry = registry(Confusable::Allow).await;
    let ana = popular(&registry).await;
    let mal = registry.author("mal").await;
    let database = &registry.data().database;
    let name = "lodahs".parse().unwrap();
    requests::refuse(database, &name).await.unwrap();
    for author in [&ana, &mal] {
        let packed = Skill::new("lodahs", "1.0.0").pack(author);
        problem(registry.publish(author, &packed).await, 409, "name_refused").await;
    }
    // To one account, or to whoever comes.
    assert_eq!(requests::release(database, &name, None).await.unwrap(), None);
    assert!(requests::release(database, &name, None).await.is_err(), "nobody asked for it");
    assert_eq!(requests::list(database, &[]).await.unwrap(), []);
    requests::refuse(database, &name).await.unwrap();
    requests::release(database, &name, Some("mal")).await.unwrap();
    registry.published(&mal, "lodahs", "1.0.0").await;
    assert!(requests::refuse(database, &name).await.is_err(), "it is published");
}

#[tokio::test]
async fn a_refusal_is_taken_back_for_everybody_whoever_had_asked() {
    let registry = registry(Confusable::Hold).await;
    popular(&registry).await;
    let authors = [registry.author("mal").await, registry.author("eve").await];
    let database = &registry.data().database;
    let name = "lodahs".parse().unwrap();
    for author in &authors {
        let packed = Skill::new("lodahs", "1.0.0").pack(author);
        problem(registry.publish(author, &packed).await, 409, "name_held").await;
    }
    requests::refuse(database, &name).await.unwrap();
    assert_eq!(requests::release(database, &name, None).await.unwrap(), None);
    // They are where they were before they had asked.
    for author in &authors {
        let packed = Skill::new("lodahs", "1.0.0").pack(author);
        problem(registry.publish(author, &packed).await, 409, "name_held").await;
    }
    assert_eq!(listed(&registry, State::Held).await.len(), 2);
}

#[tokio::test]
async fn two_names_that_collide_published_at_once_are_one_accounts() {
    let registry = registry(Confusable::Hold).await;
    popular(&registry).await;
    let authors = [registry.author("mal").await, registry.author("eve").await];
    for round in 0..5 {
        let [one, other] = [format!("a-tool-{round}"), format!("a_t00l-{round}")].map(|name| name);
        let first = Skill::new(&one, "1.0.0").pack(&authors[0]);
        let second = Skill::new(&other, "1.0.0").pack(&authors[1]);
        let (first, second) = tokio::join!(
            registry.publish(&authors[0], &first),
            registry.publish(&authors[1], &second)
        );
        let mut statuses = [first.status().as_u16(), second.status().as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409], "{round}");
    }
    // Of two that are like a popular one neither slips in while the other is judged.
    let packed: Vec<_> = authors
        .iter()
        .flat_map(|author| ["lodahs", "lodsah"].map(|name| (author, Skill::new(name, "1.0.0"))))
        .collect();
    let publishes = packed.iter().map(|(author, skill)| async {
        problem(registry.publish(author, &skill.pack(author)).await, 409, "name_held").await
    });
    futures_util::future::join_all(publishes).await;
    assert_eq!(listed(&registry, State::Held).await.len(), 4);
}

#[tokio::test]
async fn a_name_comes_to_be_popular_by_downloads_and_by_age_with_versions() {
    let registry = registry(Confusable::Refuse).await;
    let (ana, mal) = (registry.author("ana").await, registry.author("mal").await);
    let packed = registry.published(&ana, "waitlist", "1.0.0").await;
    let archive = format!("/v1/archives/{}", packed.digests.sha256);
    let count = async || -> i64 {
        registry.registry.downloads.note(&registry.data().database).await.unwrap();
        let database = registry.data().database.readers();
        sqlx::query_scalar("SELECT CAST(coalesce(sum(count), 0) AS BIGINT) FROM downloads")
            .fetch_one(database)
            .await
            .unwrap()
    };
    for _ in 0..3 {
        assert_eq!(registry.get(&archive, None).await.status(), 200);
    }
    let ranged = |range: &'static str| {
        registry.request(Method::GET, &archive, None).header("range", range).send()
    };
    assert_eq!(ranged("bytes=0-9").await.unwrap().status(), 206);
    assert_eq!(count().await, 4);
    // What is no download, or not the start of one, is not counted.
    assert_eq!(ranged("bytes=10-").await.unwrap().status(), 206);
    registry.request(Method::HEAD, &archive, None).send().await.unwrap();
    registry.get("/v1/archives/nothing", None).await;
    assert_eq!(count().await, 4);

    registry.published(&mal, "waitlists", "1.0.0").await;
    let mut write = registry.data().database.write().await.unwrap();
    sqlx::query("UPDATE downloads SET count = $1")
        .bind(POPULAR_DOWNLOADS)
        .execute(&mut *write)
        .await
        .unwrap();
    write.commit().await.unwrap();
    let refused = registry.publish(&mal, &Skill::new("waitlsit", "1.0.0").pack(&mal)).await;
    problem(refused, 409, "name_confusable").await;

    for patch in 0..POPULAR_VERSIONS {
        registry.published(&ana, "reviews", &format!("1.0.{patch}")).await;
    }
    registry.published(&mal, "reveiws", "1.0.0").await;
    let mut write = registry.data().database.write().await.unwrap();
    sqlx::query("UPDATE skills SET created = '2020-01-01T00:00:00Z' WHERE name = 'reviews'")
        .execute(&mut *write)
        .await
        .unwrap();
    write.commit().await.unwrap();
    let refused = registry.publish(&mal, &Skill::new("rveiews", "1.0.0").pack(&mal)).await;
    problem(refused, 409, "name_confusable").await;
}

#[tokio::test]
async fn a_name_of_other_letters_than_ours_is_none() {
    let registry = registry(Confusable::Allow).await;
    let ana = registry.author("ana").await;
    for name in ["lоdash", "ｌodash", "lodash\u{200b}", "😀", "Lodash", "λodash"] {
        let path: String =
            name.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat();
        let path = format!("/v1/skills/_/{path}/1.0.0");
        let request = registry.request(Method::PUT, &path, Some(&ana.token));
        problem(request.body("x").send().await.unwrap(), 400, "invalid_name").await;
    }
    for name in ["skillpkg", "admin", "api", "con", "nul", "com1"] {
        let path = format!("/v1/skills/_/{name}/1.0.0");
        let request = registry.request(Method::PUT, &path, Some(&ana.token));
        problem(request.body("x").send().await.unwrap(), 400, "invalid_name").await;
    }
}
