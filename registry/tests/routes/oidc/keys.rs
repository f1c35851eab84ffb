//! The keys of an issuer: how often it is asked for them, and what becomes of answers that are none.

use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::json;
use skillpkg_registry::oidc::Pace;
use skillpkg_tests::issuer::{Answering, Issuer};

use super::{AUDIENCE, Stage, trusting};
use crate::support::{TestRegistry, problem};

/// Keys are kept for a moment, so that a test sees their end.
const BRIEF: Pace = Pace {
    again: Duration::from_millis(600),
    failed: Duration::from_millis(600),
    usual: Duration::from_millis(900),
    least: Duration::from_millis(900),
    most: Duration::from_millis(900),
};

#[tokio::test]
async fn keys_are_asked_for_once_while_they_may_be_kept_however_many_come_at_once() {
    let stage = Stage::new().await;
    let tokens: Vec<String> = (0..12).map(|_| stage.token(&[])).collect();
    let answers = tokens.iter().map(|token| stage.exchange(token));
    for answer in futures_util::future::join_all(answers).await {
        assert_eq!(answer.status(), StatusCode::CREATED);
    }
    assert_eq!(stage.issuer.asked(), 1);
}

#[tokio::test]
async fn an_issuer_that_is_down_is_believed_as_long_as_its_keys_are_kept_and_then_is_503() {
    let stage = Stage::paced(BRIEF).await;
    stage.given().await;
    stage.issuer.answer(Answering::Failing);
    stage.given().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let token = stage.token(&[]);
    let answer = stage.exchange(&token).await;
    assert!(answer.headers()["retry-after"].to_str().unwrap().parse::<u32>().unwrap() >= 1);
    let told = problem(answer, 503, "unavailable").await;
    assert!(told.detail.contains("cannot be asked for its keys"), "{}", told.detail);
    // Left alone for a while, and asked again then; the identity was not used up.
    stage.issuer.answer(Answering::Keys("max-age=60"));
    let asked = stage.issuer.asked();
    problem(stage.exchange(&token).await, 503, "unavailable").await;
    assert_eq!(stage.issuer.asked(), asked);
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(stage.exchange(&token).await.status(), StatusCode::CREATED);
}

#[tokio::test]
async fn a_new_key_is_found_and_keys_that_change_each_time_are_asked_for_no_oftener() {
    let stage = Stage::paced(Pace { most: Duration::from_mins(1), ..BRIEF }).await;
    stage.issuer.answer(Answering::OtherKeys);
    let by =
        |kid: &str| stage.issuer.sign(&json!({"alg": "ES256", "kid": kid}), &stage.claims(&[]));
    assert_eq!(stage.exchange(&by("es1")).await.status(), StatusCode::CREATED);
    let start = Instant::now();
    let mut sent = 0;
    while start.elapsed() < Duration::from_millis(400) {
        problem(stage.exchange(&by(&format!("x{sent}"))).await, 403, "identity_refused").await;
        sent += 1;
    }
    assert!(sent > 1 && stage.issuer.asked() == 1, "{sent} {}", stage.issuer.asked());
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(stage.exchange(&by("es2")).await.status(), StatusCode::CREATED);
    // What it does not have any more counts no more.
    problem(stage.exchange(&by("es1")).await, 403, "identity_refused").await;
    assert_eq!(stage.issuer.asked(), 2);
}

#[tokio::test]
async fn keys_that_do_not_end_or_come_too_slowly_or_are_too_many_are_given_up() {
    let many = json!({"keys": vec![json!({"kty": "oct"}); 65]}).to_string();
    let long = json!({"keys": [], "padding": "x".repeat(300 * 1024)}).to_string();
    let elsewhere = Issuer::start();
    for answering in [
        Answering::Endless,
        Answering::Trickling,
        Answering::Silent,
        Answering::Text(many),
        Answering::Text(long),
        Answering::Text("{".to_owned()),
        Answering::Text("[]".to_owned()),
        Answering::Failing,
        // A host of the registry's own network that nobody listed, at a port that nobody listed.
        Answering::Elsewhere("http://localhost:1/keys".to_owned()),
        Answering::Elsewhere(format!("{}/keys", elsewhere.url())),
        Answering::Elsewhere("http://169.254.169.254/keys".to_owned()),
        Answering::Elsewhere("/keys".to_owned()),
    ] {
        let stage = Stage::new().await;
        stage.issuer.answer(answering.clone());
        let start = Instant::now();
        let answer = stage.exchange(&stage.token(&[])).await;
        assert!(start.elapsed() < Duration::from_secs(6), "{answering:?} {:?}", start.elapsed());
        assert!(answer.headers().contains_key("retry-after"), "{answering:?}");
        let told = problem(answer, 503, "unavailable").await;
        assert!(told.detail.len() < 200, "{}", told.detail);
    }
    assert_eq!(elsewhere.asked(), 0);
}

#[tokio::test]
async fn an_issuer_that_answers_in_the_name_of_another_is_not_believed() {
    let stage = Stage::new().await;
    stage.issuer.call_itself("https://token.actions.githubusercontent.com");
    problem(stage.exchange(&stage.token(&[])).await, 503, "unavailable").await;
    assert_eq!(stage.issuer.asked(), 0);
}

#[tokio::test]
async fn one_issuer_does_not_speak_for_another() {
    let (one, other) = (Issuer::start(), Issuer::start());
    let both = [format!("github={}", one.url()), format!("github={}", other.url())];
    let registry = TestRegistry::start_with(trusting(&both, Pace::default())).await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    let stage = Stage { registry, issuer: one, ana };
    stage.trust("_/waitlist", &stage.issuer.recorded()).await;
    stage.given().await;
    // All that the other says is so, and it is not whom ana trusts.
    let answer = stage.exchange(&other.token(&other.github(AUDIENCE))).await;
    problem(answer, 404, "not_found").await;
    let mut claims = other.github(AUDIENCE);
    claims["iss"] = stage.issuer.url().into();
    problem(stage.exchange(&other.token(&claims)).await, 403, "identity_refused").await;
}
