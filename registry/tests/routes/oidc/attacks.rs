//! Identities that are forged, somebody else's, or of jobs that others can start.

use reqwest::StatusCode;
use serde_json::{Value, json};
use skillpkg_registry::oidc::Pace;
use skillpkg_tests::issuer::{Issuer, now};

use super::{AUDIENCE, Stage};
use crate::support::{TestRegistry, problem};

/// Each of these is refused as an identity, with this in what is told.
async fn refused(stage: &Stage, all: &[(&[(&str, Value)], &str)]) {
    for (changes, said) in all {
        let answer = stage.exchange(&stage.token(changes)).await;
        let told = problem(answer, 403, "identity_refused").await;
        assert!(told.detail.contains(said), "{changes:?}: {}", told.detail);
    }
    // And none of them used anything up.
    stage.given().await;
}

#[tokio::test]
async fn an_identity_for_another_registry_is_refused() {
    let stage = Stage::new().await;
    let other = "https://other.example";
    let all: &[(&[(&str, Value)], &str)] = &[
        (&[("aud", json!(other))], "`aud` is `https://other.example`; expected `https://skills"),
        (&[("aud", json!([AUDIENCE, other]))], "expected `https://skills.example` and nothing"),
        (&[("aud", json!(format!("{AUDIENCE}/")))], "`aud`"),
        (&[("aud", json!("x\u{1b}[31m"))], "`x\\u{1b}[31m`"),
        (&[("aud", Value::Null)], "no claim `aud`"),
    ];
    refused(&stage, all).await;
    // What a request names as its host says nothing.
    let token = stage.token(&[("aud", json!("http://evil.example"))]);
    let body = json!({"token": token, "name": "waitlist"}).to_string();
    let length = body.len();
    let head = format!(
        "POST /v1/oidc/token HTTP/1.1\r\nhost: evil.example\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n"
    );
    let answer = stage.registry.raw(&head, body.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}

#[tokio::test]
async fn an_identity_of_an_issuer_that_is_not_trusted_is_refused() {
    let stage = Stage::new().await;
    let url = stage.issuer.url().to_owned();
    let stranger = Issuer::start();
    let all: &[(&[(&str, Value)], &str)] = &[
        (&[("iss", json!("https://token.actions.githubusercontent.com"))], "`iss` is `https://to"),
        (&[("iss", json!(format!("{url}/")))], &format!("takes identities of `{url}`")),
        (&[("iss", json!(stranger.url()))], "`iss`"),
        (&[("iss", json!([url]))], "`iss` is not a text"),
        (&[("iss", Value::Null)], "no claim `iss`"),
    ];
    refused(&stage, all).await;
    // Signed by a stranger in the name of the issuer, with a key of the same id.
    let answer = stage.exchange(&stranger.token(&stage.claims(&[]))).await;
    let told = problem(answer, 403, "identity_refused").await;
    assert!(told.detail.contains("signature is not of its issuer's key `es`"), "{}", told.detail);
    assert_eq!(stranger.asked(), 0, "nobody is asked but who is trusted");
}

#[tokio::test]
async fn an_identity_that_is_over_or_not_yet_valid_is_refused() {
    let stage = Stage::new().await;
    let all: &[(&[(&str, Value)], &str)] = &[
        (&[("exp", json!(now() - 61))], "`exp` is "),
        (&[("exp", json!(now() + 200_000))], "longer than a day"),
        (&[("exp", json!("soon"))], "`exp` is not a time"),
        (&[("exp", Value::Null)], "no claim `exp`"),
        (&[("nbf", json!(now() + 120))], "`nbf` is "),
        (&[("iat", json!(now() + 120))], "`iat` is "),
    ];
    refused(&stage, all).await;
    // Clocks may differ by less than a minute.
    let near = [("exp", json!(now() - 30)), ("nbf", json!(now() + 30)), ("iat", json!(now() + 30))];
    let taken = stage.exchange(&stage.token(&near)).await;
    assert_eq!(taken.status(), StatusCode::CREATED);
}

#[tokio::test]
async fn the_algorithm_is_the_keys_and_never_what_the_token_says() {
    let stage = Stage::new().await;
    for (header, said) in [
        (json!({"alg": "none", "kid": "es"}), "`none`"),
        (json!({"alg": "none"}), "`none`"),
        // The public key as if it were a secret.
        (json!({"alg": "HS256", "kid": "rs"}), "`HS256`"),
        (json!({"alg": "RS256", "kid": "es"}), "`es` signs by `ES256` alone"),
        (json!({"alg": "ES256", "kid": "rs"}), "`rs` signs by `RS256` alone"),
        (json!({"alg": "EdDSA", "kid": "es"}), "`es` signs by `ES256` alone"),
        (json!({"alg": "ES256", "kid": "es", "crit": ["b64"], "b64": false}), "`crit`"),
    ] {
        let answer = stage.exchange(&stage.issuer.sign(&header, &stage.claims(&[]))).await;
        let told = problem(answer, 403, "identity_refused").await;
        assert!(told.detail.contains(said), "{header}: {}", told.detail);
    }
    // Without a signature, and with one over something else.
    let whole = stage.token(&[]);
    let (signed, _) = whole.rsplit_once('.').unwrap();
    let other = stage.token(&[]);
    let (_, others) = other.rsplit_once('.').unwrap();
    for token in [format!("{signed}."), format!("{signed}.{others}"), signed.to_owned()] {
        problem(stage.exchange(&token).await, 403, "identity_refused").await;
    }
    for (alg, kid) in [("ES256", "es"), ("EdDSA", "ed"), ("RS256", "rs")] {
        let token = stage.issuer.sign(&json!({"alg": alg, "kid": kid}), &stage.claims(&[]));
        assert_eq!(stage.exchange(&token).await.status(), StatusCode::CREATED, "{alg}");
    }
}

#[tokio::test]
async fn a_key_that_the_issuer_does_not_have_is_looked_for_once_a_minute() {
    let stage = Stage::new().await;
    stage.given().await;
    assert_eq!(stage.issuer.asked(), 1);
    for kid in 0..20 {
        let header = json!({"alg": "ES256", "kid": format!("none-{kid}")});
        let answer = stage.exchange(&stage.issuer.sign(&header, &stage.claims(&[]))).await;
        let told = problem(answer, 403, "identity_refused").await;
        assert!(told.detail.contains(&format!("the key `none-{kid}`")), "{}", told.detail);
    }
    assert_eq!(stage.issuer.asked(), 1);
    let header = json!({"alg": "ES256", "kid": "k".repeat(300)});
    let answer = stage.exchange(&stage.issuer.sign(&header, &stage.claims(&[]))).await;
    problem(answer, 403, "identity_refused").await;
}

#[tokio::test]
async fn an_identity_is_taken_once_also_of_two_at_once_and_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let issuer = Issuer::start();
    let mut stage = Stage::start_in(directory.path(), issuer.clone(), Pace::default()).await;
    stage.registry.published(&stage.ana, "waitlist", "1.0.0").await;
    stage.trust("_/waitlist", &stage.issuer.recorded()).await;

    let token = stage.token(&[]);
    let answers = futures_util::future::join_all((0..8).map(|_| stage.exchange(&token))).await;
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status().as_u16()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 403, 403, 403, 403, 403, 403, 403]);
    let again = problem(stage.exchange(&token).await, 403, "identity_refused").await;
    assert!(again.detail.contains("exchanged before"), "{}", again.detail);
    // Other claims under the same id are the same identity, and one without an id is itself.
    let claims = stage.claims(&[("jti", json!("one"))]);
    assert_eq!(stage.exchange(&stage.issuer.token(&claims)).await.status(), 201);
    let other = stage.token(&[("jti", json!("one")), ("run_id", json!("100"))]);
    problem(stage.exchange(&other).await, 403, "identity_refused").await;
    let claims = stage.claims(&[("jti", Value::Null)]);
    let (one, same) = (stage.issuer.token(&claims), stage.issuer.token(&claims));
    assert_ne!(one, same, "two signatures over the same");
    assert_eq!(stage.exchange(&one).await.status(), 201);
    problem(stage.exchange(&same).await, 403, "identity_refused").await;

    stage.registry.stop().await;
    let registry = {
        let options = super::trusting(&[format!("github={}", issuer.url())], Pace::default());
        TestRegistry::start_in(directory.path(), options).await
    };
    let stage = Stage { registry, ..stage };
    for token in [&token, &one] {
        problem(stage.exchange(token).await, 403, "identity_refused").await;
    }
    stage.given().await;
}

#[tokio::test]
async fn what_identities_have_used_up_is_forgotten_once_they_are_over() {
    let stage = Stage::new().await;
    stage.given().await;
    let mut write = stage.registry.data().database.write().await.unwrap();
    for query in [
        "UPDATE used_identities SET expires = '2026-01-01T00:00:00Z'",
        "UPDATE tokens SET expires = '2026-01-01T00:00:00Z' WHERE publisher_id IS NOT NULL",
    ] {
        sqlx::query(query).execute(&mut *write).await.unwrap();
    }
    write.commit().await.unwrap();
    stage.given().await;
    for (query, left) in [
        ("SELECT count(*) FROM used_identities", 1_i64),
        ("SELECT count(*) FROM tokens WHERE publisher_id IS NOT NULL", 1),
    ] {
        let readers = stage.registry.data().database.readers();
        let count: i64 = sqlx::query_scalar(query).fetch_one(readers).await.unwrap();
        assert_eq!(count, left, "{query}");
    }
}

#[tokio::test]
async fn a_repository_that_another_owner_has_by_the_same_name_is_no_publisher() {
    let stage = Stage::new().await;
    for (claim, value, said) in [
        ("repository_owner_id", json!("5055"), "`repository_owner_id` is `5055`, expected `4077`"),
        ("repository_owner_id", json!(["4077"]), "`repository_owner_id` is absent"),
        ("repository_owner_id", Value::Null, "`repository_owner_id` is absent, expected `4077`"),
        ("repository", json!("acme/other"), "`repository` is `acme/other`"),
        ("repository", json!("Acme/waitlist"), "`repository` is `Acme/waitlist`"),
        (
            "workflow_ref",
            json!("acme/waitlist/.github/workflows/test.yml@refs/heads/main"),
            "`workflow_file` is `.github/workflows/test.yml`",
        ),
        ("workflow_ref", Value::Null, "`workflow_file` is absent"),
    ] {
        let answer = stage.exchange(&stage.token(&[(claim, value.clone())])).await;
        let told = problem(answer, 403, "publisher_refused").await;
        assert!(told.detail.contains(said), "{claim} {value}: {}", told.detail);
    }
    // A claim of the token's own by the name of what is derived is none.
    let token = stage.token(&[
        ("workflow_ref", json!("acme/waitlist/.github/workflows/test.yml@refs/heads/main")),
        ("workflow_file", json!(".github/workflows/release.yml")),
    ]);
    problem(stage.exchange(&token).await, 403, "publisher_refused").await;
    stage.given().await;
}

#[tokio::test]
async fn a_job_that_a_fork_can_start_is_refused() {
    let stage = Stage::new().await;
    let mut all: Vec<(Vec<(&str, Value)>, &str)> = Vec::new();
    for event in ["pull_request", "pull_request_target", "pull_request_review", "workflow_run"] {
        all.push((vec![("event_name", json!(event))], "`event_name` is"));
    }
    all.push((vec![("event_name", Value::Null)], "no claim `event_name`"));
    for reference in ["refs/pull/7/merge", "refs/pull/7/head"] {
        all.push((vec![("ref", json!(reference))], "`ref` is `refs/pull/7/"));
    }
    all.push((vec![("ref", Value::Null)], "no claim `ref`"));
    let all: Vec<(&[(&str, Value)], &str)> =
        all.iter().map(|(changes, said)| (changes.as_slice(), *said)).collect();
    refused(&stage, &all).await;
}

#[tokio::test]
async fn what_is_no_token_is_refused_and_its_length_is_bounded() {
    let stage = Stage::new().await;
    let good = stage.token(&[]);
    for token in [
        String::new(),
        "skp_0".to_owned(),
        "a.b.c".to_owned(),
        format!("{good}="),
        format!("{good}.{good}"),
        good.replace('.', ""),
        "A".repeat(20_000),
        stage.token(&[("padding", json!("x".repeat(20_000)))]),
    ] {
        problem(stage.exchange(&token).await, 403, "identity_refused").await;
    }
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    let deep: Value = serde_json::from_str(&format!("\"{deep}\"")).unwrap();
    assert_eq!(stage.exchange(&stage.token(&[("deep", deep)])).await.status(), 201);
    assert_eq!(stage.exchange(&good).await.status(), 201);
}
