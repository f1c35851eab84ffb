//! The pages of a registry whose public URL has a path, which a proxy takes away.

use skillpkg_registry::faces::Faces;
use skillpkg_registry::state::Options;

use super::{Browser, Got};
use crate::support::{Author, Skill, TestRegistry, json};

const URL: &str = "https://skills.example.org/some/skills";
const PATH: &str = "/some/skills";

async fn beneath() -> (TestRegistry, Author) {
    let faces = Faces { public_url: Some(URL.parse().unwrap()), ..Faces::default() };
    let registry = TestRegistry::start_with(Options { faces, ..Options::default() }).await;
    let ana = registry.author("ana").await;
    registry.scope("acme", &ana, false).await;
    registry.scope("secret", &ana, true).await;
    for name in ["acme/pdf", "secret/plan"] {
        for version in ["1.0.0", "1.1.0"] {
            registry.published(&ana, name, version).await;
        }
    }
    (registry, ana)
}

fn is_beneath(what: &str, got: &Got) {
    let mut found = 0;
    for attribute in [" href=\"/", " src=\"/", " action=\"/"] {
        for (at, _) in got.text.match_indices(attribute) {
            let to = got.text.get(at + attribute.len() - 1..).unwrap().split('"').next().unwrap();
            assert!(to.starts_with(&format!("{PATH}/")), "{what} leads to {to}");
            found += 1;
        }
    }
    assert!(found > 8, "{what}: {}", got.text);
}

#[tokio::test]
async fn all_that_a_page_leads_to_is_beneath_the_path() {
    let (registry, ana) = beneath().await;
    let mut browser = Browser::new(&registry);
    let form = browser.get("/sign-in?to=/skills/secret/plan").await;
    is_beneath("/sign-in", &form);
    let cookie = form.header("set-cookie").to_owned();
    assert!(cookie.starts_with("__Secure-skillpkg-visit="), "{cookie}");
    assert!(cookie.ends_with("; Path=/some/skills; HttpOnly; SameSite=Strict; Secure"), "{cookie}");

    // Signed in from the origin of the URL, which has no path, and sent to a page beneath the path.
    let visit = form.cookie("__Secure-skillpkg-visit").unwrap();
    let token = form.form_token().to_owned();
    let sign_in = |origin: &'static str, to: &'static str| {
        let fields = [("form", token.as_str()), ("token", ana.token.as_str()), ("to", to)];
        let request = browser.post("/sign-in", &fields).header("origin", origin);
        request.header("cookie", format!("__Secure-skillpkg-visit={visit}")).send()
    };
    let other = Got::of(sign_in("https://other.example.org", "/").await.unwrap()).await;
    assert_eq!(other.status, 403);
    is_beneath("a refused form", &other);
    let elsewhere = sign_in("https://skills.example.org", "//evil.example").await.unwrap();
    assert_eq!(elsewhere.headers()["location"], "/some/skills/");
    let sent = sign_in("https://skills.example.org", "/skills/secret/plan").await.unwrap();
    let got = Got::of(sent).await;
    assert_eq!((got.status, got.header("location")), (303, "/some/skills/skills/secret/plan"));
    let session = got.cookie("__Secure-skillpkg-session").unwrap();
    browser.cookie = Some(format!("__Secure-skillpkg-session={session}"));

    for (page, status) in [
        ("/", 200),
        ("/?q=pdf", 200),
        ("/skills/acme/pdf", 200),
        ("/skills/secret/plan", 200),
        ("/skills/acme/pdf/1.0.0", 200),
        ("/skills/acme/pdf/versions", 200),
        ("/skills/acme/pdf/diff/1.0.0/1.1.0", 200),
        ("/skills/acme/pdf/1.0.0/files", 200),
        ("/skills/acme/pdf/1.0.0/files/SKILL.md", 200),
        ("/scopes/acme", 200),
        ("/people/ana", 200),
        ("/log", 200),
        ("/log/entries/0", 200),
        ("/skills/acme/absent", 404),
    ] {
        for browser in [&browser, &Browser::new(&registry)] {
            let got = browser.get(page).await;
            if got.status != status {
                assert!(page.contains("secret") && browser.cookie.is_none(), "{page}");
            }
            is_beneath(page, &got);
        }
    }
    let page = browser.get("/skills/acme/pdf").await.text;
    assert!(page.contains(&format!("--registry {URL}<")), "{page}");
    let chosen = browser.get("/skills/acme/pdf/diff?from=1.0.0&to=1.1.0").await;
    assert_eq!(chosen.header("location"), "/some/skills/skills/acme/pdf/diff/1.0.0/1.1.0");
    let token = browser.get("/").await.form_token().to_owned();
    let out = browser.post("/sign-out", &[("form", &token)]);
    let out = out.header("cookie", browser.cookie.clone().unwrap()).send().await.unwrap();
    assert_eq!(out.headers()["location"], "/some/skills/");
    let ended = out.headers()["set-cookie"].to_str().unwrap();
    assert!(ended.starts_with("__Secure-skillpkg-session=; Path=/some/skills;"), "{ended}");
}

#[tokio::test]
async fn what_other_clients_are_told_is_beneath_the_path() {
    let (registry, ana) = beneath().await;
    let get = async |path: &str| -> serde_json::Value {
        json(registry.get(path, None).await, reqwest::StatusCode::OK).await
    };
    let found = get("/.well-known/clawhub.json").await;
    assert_eq!(found["apiBase"], format!("{URL}/clawhub"));
    let install = get("/clawhub/api/v1/skills/pdf/install").await;
    let url = install["archive"]["downloadUrl"].as_str().unwrap().to_owned();
    assert!(url.starts_with(&format!("{URL}/clawhub/api/v1/download?")), "{url}");
    let verified = get("/clawhub/api/v1/skills/pdf/verify").await;
    assert_eq!(verified["pageUrl"], format!("{URL}/skills/acme/pdf/1.1.0"));
    let file = serde_json::json!({"size": 1, "sha256": "0".repeat(64)});
    let upload = "/clawhub/api/v1/skills/-/upload-url";
    let promised = registry.send(reqwest::Method::POST, upload, Some(&ana.token), &file).await;
    let promised: serde_json::Value = json(promised, reqwest::StatusCode::OK).await;
    let url = promised["uploadUrl"].as_str().unwrap();
    assert!(url.starts_with(&format!("{URL}/clawhub/api/v1/uploads/")), "{url}");
    for index in [
        "/.well-known/agent-skills/index.json",
        "/s/acme/.well-known/agent-skills/index.json",
        "/s/acme/pdf/.well-known/agent-skills/index.json",
    ] {
        let read = get(index).await;
        let url = read["skills"][0]["url"].as_str().unwrap();
        let whole: url::Url = format!("{URL}{index}").parse().unwrap();
        let whole = whole.join(url).unwrap();
        assert_eq!(whole.as_str(), format!("{URL}/s/acme/pdf/1.1.0/skill.tar.gz"), "{index}");
    }
}

#[tokio::test]
async fn what_a_skill_says_of_paths_is_shown_as_it_says_it() {
    let (registry, ana) = beneath().await;
    let said = "---\nname: quoting\ndescription: says ` href=\"/log\"`\n---\n\
                Use `<a href=\"/log\">` and src=\"/x\".\n\n```html\n<a href=\"/log\">\n```\n";
    let mut skill = Skill::new("acme/quoting", "1.0.0");
    skill.files = vec![("SKILL.md".to_owned(), false, said.into())];
    let answer = registry.publish(&ana, &skill.pack(&ana)).await;
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    let browser = Browser::new(&registry);
    for page in ["/skills/acme/quoting", "/skills/acme/quoting/1.0.0/files/SKILL.md"] {
        let shown = browser.get(page).await.text.replace("&quot;", "\"");
        assert!(shown.contains("&lt;a href=\"/log\"&gt;"), "{page}: {shown}");
    }
}
