//! Forms and sessions: what another site's page, or an attacker before, can make a browser do.

use super::{Browser, Got};
use crate::support::TestRegistry;

async fn send(request: reqwest::RequestBuilder) -> Got {
    Got::of(request.send().await.unwrap()).await
}

#[tokio::test]
async fn a_form_that_another_site_sends_is_refused() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.scope("secret", &ana, true).await;
    registry.published(&ana, "secret/plan", "1.0.0").await;
    let browser = Browser::signed_in(&registry, &ana.token).await;
    let cookie = browser.cookie.clone().unwrap();
    let token = browser.get("/").await.form_token().to_owned();
    let other = Browser::signed_in(&registry, &ana.token).await;
    let others = other.get("/").await.form_token().to_owned();
    let (zeros, short) = ("0".repeat(64), token.get(..63).unwrap().to_owned());
    // Without the form's token, or with that of another session.
    for wrong in ["", "x", &others, &zeros, &short] {
        let got =
            send(browser.post("/sign-out", &[("form", wrong)]).header("cookie", &cookie)).await;
        assert_eq!(
            (got.status, got.header("content-type")),
            (403, "text/html; charset=utf-8"),
            "{wrong}"
        );
    }
    assert_eq!(send(browser.post("/sign-out", &[]).header("cookie", &cookie)).await.status, 403);
    assert_eq!(send(browser.post("/sign-out", &[("form", &token)])).await.status, 403);
    // With the right one, from elsewhere.
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let request = browser.post("/sign-out", &[("form", &token)]).header("cookie", &cookie);
        assert_eq!(send(request.header(name, value)).await.status, 403, "{name}: {value}");
    }
    assert_eq!(browser.get("/skills/secret/plan").await.status, 200, "it is still signed in");
    // By a link, a form of that method does nothing.
    assert!([404, 405].contains(&browser.get("/sign-out").await.status));
    // From the page itself.
    let request = browser.post("/sign-out", &[("form", &token)]).header("cookie", &cookie);
    let request = request.header("origin", &registry.url).header("sec-fetch-site", "same-origin");
    let got = send(request).await;
    assert_eq!((got.status, got.header("location")), (303, "/"));
    assert!(got.header("set-cookie").contains("Max-Age=0"));
    assert_eq!(browser.get("/skills/secret/plan").await.status, 404);
    assert_eq!(other.get("/skills/secret/plan").await.status, 200, "the other one is");
}

#[tokio::test]
async fn nobody_is_signed_in_as_somebody_else_by_a_form_of_another_site() {
    let registry = TestRegistry::start().await;
    let eve = registry.author("eve").await;
    let browser = Browser::new(&registry);
    let form = browser.get("/sign-in").await;
    let token = form.form_token().to_owned();
    let visit = form.cookie("skillpkg-visit").unwrap();
    let fields = [("form", token.as_str()), ("token", eve.token.as_str()), ("to", "")];
    // The form's token without the browser's cookie, and with the cookie of another.
    assert_eq!(send(browser.post("/sign-in", &fields)).await.status, 403);
    let other = browser.get("/sign-in").await.cookie("skillpkg-visit").unwrap();
    assert_ne!(other, visit);
    let request =
        browser.post("/sign-in", &fields).header("cookie", format!("skillpkg-visit={other}"));
    assert_eq!(send(request).await.status, 403);
    let cookie = format!("skillpkg-visit={visit}");
    let request = browser.post("/sign-in", &fields).header("cookie", &cookie);
    assert_eq!(send(request.header("origin", "https://evil.example")).await.status, 403);
    let request = browser.post("/sign-in", &fields).header("cookie", &cookie);
    assert_eq!(send(request.header("origin", &registry.url)).await.status, 303);
}

#[tokio::test]
async fn a_session_that_was_there_before_is_not_the_one_that_is_signed_in() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.scope("secret", &ana, true).await;
    registry.published(&ana, "secret/plan", "1.0.0").await;
    // A cookie that an attacker gave to the browser, and one of the attacker's own.
    let eve = registry.author("eve").await;
    let attacker = Browser::signed_in(&registry, &eve.token).await;
    let planted = attacker.cookie.clone().unwrap();
    let browser = Browser::new(&registry);
    let form = browser.get("/sign-in").await;
    let visit = form.cookie("skillpkg-visit").unwrap();
    let fields = [("form", form.form_token()), ("token", ana.token.as_str()), ("to", "")];
    let request = browser
        .post("/sign-in", &fields)
        .header("cookie", format!("{planted}; skillpkg-visit={visit}"));
    let got = send(request).await;
    let fresh = got.cookie("skillpkg-session").unwrap();
    assert!(!planted.ends_with(&fresh) && fresh.len() == 64);
    assert_eq!(attacker.get("/skills/secret/plan").await.status, 404);
    let attributes = got.headers.get_all("set-cookie").iter().map(|line| line.to_str().unwrap());
    for line in attributes {
        assert!(line.contains("; Path=/; HttpOnly; SameSite=Strict"), "{line}");
        assert!(!line.contains(&ana.token) && !line.contains("Domain"), "{line}");
    }
    // Each time another one.
    let again = browser.sign_in(&ana.token, "").await.cookie("skillpkg-session").unwrap();
    assert_ne!(again, fresh);
}

#[tokio::test]
async fn signing_in_goes_to_pages_of_this_registry_alone() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let browser = Browser::new(&registry);
    for (to, expected) in [
        ("/skills/_/open", "/skills/_/open"),
        ("/log", "/log"),
        ("https://evil.example/", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/skills/..//evil.example", "/"),
        ("/sign-out", "/"),
        ("javascript:alert(1)", "/"),
        ("/skills/a\r\nset-cookie: a=b", "/"),
    ] {
        let got = browser.sign_in(&ana.token, to).await;
        assert_eq!((got.status, got.header("location")), (303, expected), "{to:?}");
        assert!(got.cookie("a").is_none());
    }
    let form = browser.get("/sign-in?to=https://evil.example/").await;
    assert!(!form.text.contains("evil.example"), "{}", form.text);
}

#[tokio::test]
async fn a_token_that_is_none_or_does_not_read_signs_nobody_in() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let publishes = registry.token(&ana, &["publish:*"]).await;
    let browser = Browser::new(&registry);
    let unknown = format!("skp_{}", "0".repeat(64));
    for (token, told) in [
        ("", "not known here"),
        ("skp_", "not known here"),
        (&unknown, "not known here"),
        (&format!("Bearer {}", ana.token), "not known here"),
        (&publishes, "does not grant"),
    ] {
        let got = browser.sign_in(token, "").await;
        assert_eq!(got.status, 403, "{token}");
        assert!(got.text.contains(told), "{token}: {}", got.text);
        assert!(got.cookie("skillpkg-session").is_none());
        assert!(token.len() < 8 || !got.text.contains(token), "the page repeats the token");
    }
}

#[tokio::test]
async fn no_page_of_another_origin_reads_an_answer() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "open", "1.0.0").await;
    let browser = Browser::signed_in(&registry, &ana.token).await;
    for path in ["/", "/skills/_/open", "/sign-in", "/static/page.js", "/v1/skills/_/open"] {
        let got = send(browser.request(path).header("origin", "https://evil.example")).await;
        assert_eq!(got.status, 200, "{path}");
        let allowed: Vec<_> =
            got.headers.keys().filter(|name| name.as_str().starts_with("access-control")).collect();
        assert!(allowed.is_empty(), "{path}: {allowed:?}");
    }
}
