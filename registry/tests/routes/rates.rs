//! How many requests an account and an address may make.

use reqwest::{Method, Response};
use skillpkg_registry::rates::Limits;
use skillpkg_registry::state::Options;

use crate::support::{TestRegistry, problem};

/// A registry behind a proxy on this machine, whose word it takes.
async fn behind_a_proxy(limits: Limits) -> TestRegistry {
    let proxies = vec!["127.0.0.0/8".parse().unwrap()];
    let rates = Limits { proxies, ..limits };
    TestRegistry::start_with(Options { rates, ..Options::default() }).await
}

async fn ask(registry: &TestRegistry, token: Option<&str>, forwarded_for: &str) -> Response {
    let request = registry.request(Method::GET, "/v1/search?q=x", token);
    request.header("x-forwarded-for", forwarded_for).send().await.unwrap()
}

async fn limited(response: Response) {
    let wait: u32 = response.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    problem(response, 429, "rate_limited").await;
}

#[tokio::test]
async fn an_address_makes_so_many_requests_and_another_is_not_held_up_by_it() {
    let registry = behind_a_proxy(Limits { requests: 5, ..Limits::default() }).await;
    for _ in 0..5 {
        assert_eq!(ask(&registry, None, "198.51.100.1").await.status(), 200);
    }
    limited(ask(&registry, None, "198.51.100.1").await).await;
    // What a stranger writes before the proxy does makes it nobody else.
    limited(ask(&registry, None, "203.0.113.9, 198.51.100.1").await).await;
    assert_eq!(ask(&registry, None, "198.51.100.2").await.status(), 200);
    // One network of IPv6 is one party.
    for _ in 0..5 {
        assert_eq!(ask(&registry, None, "2001:db8:1:1::1").await.status(), 200);
    }
    limited(ask(&registry, None, "2001:db8:1:1:9::9").await).await;
    // Whoever has a token has a count of its own.
    let ana = registry.author("ana").await;
    assert_eq!(ask(&registry, Some(&ana.token), "198.51.100.1").await.status(), 200);
    // Whoever guesses tokens is counted as who has none.
    for _ in 0..5 {
        assert_eq!(ask(&registry, Some("skp_guessed"), "198.51.100.3").await.status(), 401);
    }
    limited(ask(&registry, Some("skp_guessed"), "198.51.100.3").await).await;
}

#[tokio::test]
async fn a_header_of_a_stranger_makes_it_nobody_else() {
    let rates = Limits { requests: 5, loopback: true, ..Limits::default() };
    let registry = TestRegistry::start_with(Options { rates, ..Options::default() }).await;
    for at in 0..5 {
        assert_eq!(ask(&registry, None, &format!("198.51.100.{at}")).await.status(), 200);
    }
    limited(ask(&registry, None, "198.51.100.9").await).await;
}

#[tokio::test]
async fn an_account_makes_so_many_changes_and_goes_on_reading() {
    let registry = behind_a_proxy(Limits { writes: 3, requests: 50, ..Limits::default() }).await;
    let (ana, ben) = (registry.author("ana").await, registry.author("ben").await);
    let other_token = registry.token(&ana, &["read", "admin"]).await;
    let change = async |token: &str| {
        let request = registry.request(Method::DELETE, "/v1/tokens/0123456789abcdef", Some(token));
        request.header("x-forwarded-for", "198.51.100.1").send().await.unwrap()
    };
    for _ in 0..3 {
        assert_eq!(change(&ana.token).await.status(), 404);
    }
    limited(change(&ana.token).await).await;
    // Another token of the account is the same account.
    limited(change(&other_token).await).await;
    assert_eq!(change(&ben.token).await.status(), 404);
    assert_eq!(ask(&registry, Some(&ana.token), "198.51.100.1").await.status(), 200);
}

#[tokio::test]
async fn this_machine_is_not_counted_and_neither_is_anybody_where_nothing_is() {
    let limits = Limits { writes: 1, requests: 1, ..Limits::default() };
    let registry = TestRegistry::start_with(Options { rates: limits, ..Options::default() }).await;
    let unlimited = behind_a_proxy(Limits::none()).await;
    for _ in 0..20 {
        assert_eq!(registry.get("/v1/search?q=x", None).await.status(), 200);
        assert_eq!(ask(&unlimited, None, "198.51.100.1").await.status(), 200);
    }
}
