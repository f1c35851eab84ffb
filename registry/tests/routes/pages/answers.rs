//! What every page carries, who may keep it, and what is said where there is none.

use skillpkg_registry::faces::{Face, Faces};
use skillpkg_registry::rates::Limits;
use skillpkg_registry::state::Options;

use super::Browser;
use crate::support::{Skill, TestRegistry};

#[tokio::test]
async fn every_page_carries_what_keeps_a_browser_safe() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "open", "1.0.0").await;
    let browser = Browser::new(&registry);
    for path in [
        "/",
        "/?q=open",
        "/skills/_/open",
        "/skills/_/open/1.0.0",
        "/skills/_/open/1.0.0/files/SKILL.md",
        "/skills/_/open/diff/1.0.0/1.0.0",
        "/people/ana",
        "/log",
        "/log/entries/0",
        "/sign-in",
        "/skills/_/absent",
    ] {
        let got = browser.get(path).await;
        assert_eq!(got.header("content-type"), "text/html; charset=utf-8", "{path}");
        let policy = got.header("content-security-policy");
        for part in [
            "default-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(part), "{path}: {part} is not in {policy}");
        }
        for loose in ["unsafe", "*", "http:", "https:", "data:"] {
            assert!(!policy.contains(loose), "{path}: {loose} is in {policy}");
        }
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(got.header(name), value, "{path}");
        }
        assert!(got.header("vary").contains("cookie"), "{path}");
        assert!(!got.headers.contains_key("access-control-allow-origin"), "{path}");
        // Nothing that the policy would stop, and nothing from elsewhere.
        for part in
            [" style=", "<style", "onclick", "onload", "javascript:", "src=\"http", "href=\"//"]
        {
            assert!(!got.text.contains(part), "{path}: {part}");
        }
        assert_eq!(
            got.text.matches("<script").count(),
            got.text.matches("<script src=\"/static/").count()
        );
    }
    // The API answers as it did.
    let document = browser.get("/v1/skills/_/open").await;
    let policy = "default-src 'none'; frame-ancestors 'none'; sandbox";
    assert_eq!(document.header("content-security-policy"), policy);
}

#[tokio::test]
async fn pages_for_everybody_are_rendered_once_and_asked_for_again() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "open", "1.0.0").await;
    let browser = Browser::new(&registry);
    let path = "/skills/_/open";
    let first = browser.get(path).await;
    assert_eq!(first.header("cache-control"), "public, no-cache");
    let again = browser.request(path).header("if-none-match", first.header("etag")).send().await;
    assert_eq!(again.unwrap().status(), 304);
    // Whoever is signed in has a page of its own, which nobody keeps.
    let signed = Browser::signed_in(&registry, &ana.token).await;
    let own = signed.get(path).await;
    assert_eq!(own.header("cache-control"), "private, no-store");
    assert!(own.headers.get("etag").is_none());
    assert!(own.text.contains("Sign out") && !browser.get(path).await.text.contains("Sign out"));
    // Another document, another page: at once.
    registry.published(&ana, "open", "1.1.0").await;
    let changed = browser.get(path).await;
    assert_ne!(changed.header("etag"), first.header("etag"));
    assert!(changed.text.contains("1.1.0"));
    // What is asked of another host says that host, and is kept for it alone.
    let other = browser.request(path).header("host", "skills.example").send().await.unwrap();
    assert!(other.text().await.unwrap().contains("--registry http://skills.example<"));
    assert!(!browser.get(path).await.text.contains("skills.example"));
}

#[tokio::test]
async fn a_page_says_where_the_operator_said_that_it_is() {
    let public_url = Some("https://skills.example.org".parse().unwrap());
    let faces = Faces { public_url, ..Faces::default() };
    let registry = TestRegistry::start_with(Options { faces, ..Options::default() }).await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "open", "1.0.0").await;
    let browser = Browser::new(&registry);
    let asked =
        browser.request("/skills/_/open").header("host", "evil.example").send().await.unwrap();
    let text = asked.text().await.unwrap();
    assert!(
        text.contains("--registry https://skills.example.org<") && !text.contains("evil.example")
    );
    let form = browser.get("/sign-in").await;
    let cookie = form.header("set-cookie");
    assert!(cookie.starts_with("__Host-skillpkg-visit="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
}

#[tokio::test]
async fn a_page_offers_the_clients_that_are_served_and_no_other() {
    let off = vec![Face::Apm, Face::ClawHub];
    let faces = Faces { off, ..Faces::default() };
    let registry = TestRegistry::start_with(Options { faces, ..Options::default() }).await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "open", "1.0.0").await;
    let page = Browser::new(&registry).get("/skills/_/open").await.text;
    assert!(page.contains("id=\"way-skillpkg\"") && page.contains("id=\"way-skills\""));
    assert!(!page.contains("way-apm") && !page.contains("way-clawhub"));
}

#[tokio::test]
async fn assets_are_kept_under_the_name_of_their_bytes() {
    let registry = TestRegistry::start().await;
    let browser = Browser::new(&registry);
    let page = browser.get("/").await;
    for name in ["page.css", "page.js", "theme.js", "mark.svg"] {
        let (_, rest) = page.text.split_once(&format!("/static/{name}?")).unwrap();
        let mark = rest.split('"').next().unwrap();
        let got = browser.get(&format!("/static/{name}?{mark}")).await;
        assert_eq!(got.header("cache-control"), "public, max-age=31536000, immutable", "{name}");
        assert_eq!(got.header("x-content-type-options"), "nosniff");
        let old = browser.get(&format!("/static/{name}?0000")).await;
        assert_eq!(old.header("cache-control"), "public, max-age=86400", "{name}");
        let again = browser.request(&format!("/static/{name}"));
        let again = again.header("if-none-match", got.header("etag")).send().await.unwrap();
        assert_eq!(again.status(), 304);
    }
    assert_eq!(browser.get("/static/mono.woff2").await.header("content-type"), "font/woff2");
    assert_eq!(browser.get("/static/other.css").await.status, 404);
}

#[tokio::test]
async fn what_is_refused_is_a_page_that_says_what_to_do() {
    let registry = TestRegistry::start().await;
    let browser = Browser::new(&registry);
    let absent = browser.get("/skills/_/absent").await;
    assert_eq!((absent.status, absent.header("cache-control")), (404, "private, no-store"));
    assert!(absent.text.contains("Nothing here") && absent.text.contains("/sign-in"));
    // A path that nobody routes: a page for who browses, a problem for who does not.
    let unrouted =
        |accept: &'static str| browser.request("/nothing").header("accept", accept).send();
    let page = unrouted("text/html,*/*").await.unwrap();
    assert_eq!(
        (page.status().as_u16(), page.headers()["content-type"].to_str().unwrap()),
        (404, "text/html; charset=utf-8")
    );
    let problem = unrouted("application/json").await.unwrap();
    assert_eq!(problem.headers()["content-type"], "application/problem+json");
    let api = browser.request("/v1/nothing").header("accept", "text/html").send().await.unwrap();
    assert_eq!(api.headers()["content-type"], "application/problem+json");
    // A fault of the registry's own tells nothing of itself but where to look it up.
    let mut write = registry.data().database.write().await.unwrap();
    sqlx::query("ALTER TABLE owners RENAME TO elsewhere").execute(&mut *write).await.unwrap();
    write.commit().await.unwrap();
    let failed = browser.get("/people/ana").await;
    assert_eq!((failed.status, failed.header("content-type")), (500, "text/html; charset=utf-8"));
    assert!(failed.text.contains("The registry failed") && !failed.text.contains("owners"));
    assert!(failed.text.contains(failed.header("x-request-id")));
    // Too long a form, and a method that a page does not take.
    let long = "x".repeat(10_000);
    let response = browser.post("/sign-in", &[("token", &long)]).send().await.unwrap();
    assert_eq!(response.status(), 413);
    assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8");
}

#[tokio::test]
async fn too_many_requests_are_told_with_when_to_come_again() {
    let rates = Limits { requests: 3, loopback: true, ..Limits::default() };
    let registry = TestRegistry::start_with(Options { rates, ..Options::default() }).await;
    let browser = Browser::new(&registry);
    for _ in 0..3 {
        assert_eq!(browser.get("/").await.status, 200);
    }
    let refused = browser.get("/").await;
    assert_eq!(refused.status, 429);
    assert!(refused.text.contains("Too many requests"));
    let after = refused.header("retry-after").to_owned();
    assert!(refused.text.contains(&format!("Try again in {after} seconds")), "{after}");
}

#[tokio::test]
async fn a_page_tells_everything_that_is_known_of_a_version() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let skill = |version: &str, run: &str| {
        let mut skill = Skill::new("w", version);
        let text = format!(
            "---\nskill: w\ndescription: Keeps a list.\nlicense: MIT\n---\n\nWords.\n\n```tool\nid: go\ndescription: goes\n\
             params:\n  user:\n    type: string\n    description: who\nrun: {run}\n```\n"
        );
        skill.files[0].2 = text.into_bytes();
        skill
    };
    for (version, run) in [("1.0.0", "sh old.sh $user"), ("1.1.0", "python3 new.py '$user' a$user")]
    {
        let packed = skill(version, run).pack(&ana);
        assert_eq!(registry.publish(&ana, &packed).await.status(), 201);
    }
    let body = serde_json::json!({"reason": "It <b>lost</b> people."});
    let yanked = registry
        .send(reqwest::Method::POST, "/v1/skills/_/w/1.0.0/yank", Some(&ana.token), &body)
        .await;
    assert_eq!(yanked.status(), 204);
    let browser = Browser::new(&registry);
    let newest = browser.get("/skills/_/w").await.text;
    for part in [
        "<span class=\"word\">python3</span>",
        "<span class=\"word filled\">a$user</span>",
        "Keeps a list.",
        "/log/entries/",
        "/people/ana",
        "MIT",
        "<span class=\"unit\">npx</span> <span class=\"unit\">skills</span> <span class=\"unit\">add</span>",
        "/s/_/w</span>",
        "/skills/_/w/diff/1.0.0/1.1.0",
        "installed by default",
    ] {
        assert!(newest.contains(part), "{part} in {newest}");
    }
    let old = browser.get("/skills/_/w/1.0.0").await.text;
    for part in [
        "This version was yanked",
        "It &lt;b&gt;lost&lt;/b&gt; people.",
        "w@=1.0.0",
        "<span class=\"word\">old.sh</span>",
    ] {
        assert!(old.contains(part), "{part} in {old}");
    }
    let difference = browser.get("/skills/_/w/diff/1.0.0/1.1.0").await.text;
    for part in [
        "<del><code class=\"run\"><span class=\"word\">sh</span>",
        "<ins><code class=\"run\"><span class=\"word\">python3</span>",
    ] {
        assert!(difference.contains(part), "{part} in {difference}");
    }
    let unchosen = browser.get("/skills/_/w/diff").await;
    assert_eq!(unchosen.header("location"), "/skills/_/w/diff/1.0.0/1.1.0");
    let chosen = browser.get("/skills/_/w/diff?from=1.1.0&to=1.0.0").await;
    assert_eq!((chosen.status, chosen.header("location")), (303, "/skills/_/w/diff/1.1.0/1.0.0"));
    assert_eq!(
        browser.get("/skills/_/w/diff?from=1.1.0&to=9.9.9").await.header("location"),
        "/skills/_/w/diff/1.1.0/9.9.9"
    );
    assert_eq!(browser.get("/skills/_/w/diff/1.1.0/9.9.9").await.status, 404);
    assert_eq!(browser.get("/skills/_/w/1.0.0/files/absent").await.status, 404);
    let versions = browser.get("/skills/_/w/versions").await.text;
    assert!(versions.contains("1.1.0") && versions.contains("yanked"));
    let file = browser.get("/skills/_/w/1.0.0/files/SKILL.md").await.text;
    assert!(file.contains("<li id=\"L2\"><code>skill: w\n</code></li>"), "{file}");
}
