//! The pages of a mirror: of what it relays, and of what is its own.

use super::{mirror, settings};
use crate::pages::Browser;
use crate::support::TestRegistry;

#[tokio::test]
async fn a_mirrors_pages_show_what_it_relays_as_its_upstream_does_and_its_own_beside_it() {
    let upstream = TestRegistry::start().await;
    let ana = upstream.author("ana").await;
    upstream.scope("acme", &ana, false).await;
    upstream.scope("secret", &ana, true).await;
    for version in ["1.0.0", "1.1.0"] {
        upstream.published(&ana, "acme/waitlist", version).await;
    }
    upstream.published(&ana, "secret/plan", "1.0.0").await;
    let mirror = mirror(settings(&upstream.url)).await;
    let ben = mirror.author("ben").await;
    mirror.scope("own", &ben, true).await;
    mirror.published(&ben, "own/notes", "1.0.0").await;

    let nobody = Browser::new(&mirror);
    let there = Browser::new(&upstream);
    for page in [
        "/skills/acme/waitlist",
        "/skills/acme/waitlist/1.0.0",
        "/skills/acme/waitlist/1.0.0/runs",
        "/skills/acme/waitlist/versions",
        "/skills/acme/waitlist/diff/1.0.0/1.1.0",
        "/skills/acme/waitlist/1.1.0/files",
        "/skills/acme/waitlist/1.1.0/files/SKILL.md",
    ] {
        let (here, there) = (nobody.get(page).await, there.get(page).await);
        assert_eq!((here.status, there.status), (200, 200), "{page}: {}", here.text);
        // The same words: what is copied names the registry that is looked at.
        let words = |text: &str, url: &str| text.replace(url, "URL");
        let (here, there) = (words(&here.text, &mirror.url), words(&there.text, &upstream.url));
        let main = |text: &str| {
            let (_, behind) = text.split_once("<h1").unwrap();
            behind.split_once("<footer").unwrap().0.to_owned()
        };
        // Signers and leaves are told by whose registry they are.
        if page.contains("/files") {
            assert_eq!(main(&here), main(&there), "{page}");
        }
        assert!(here.contains("waitlist"), "{page}");
    }
    // What is private there is not there here, whoever looks; what is private here is seen by whom it is
    // for.
    let signed = Browser::signed_in(&mirror, &ben.token).await;
    for browser in [&nobody, &signed] {
        assert_eq!(browser.get("/skills/secret/plan").await.status, 404);
        assert_eq!(browser.get("/skills/acme/absent").await.status, 404);
    }
    assert_eq!(nobody.get("/skills/own/notes").await.status, 404);
    assert_eq!(signed.get("/skills/own/notes").await.status, 200);

    // Both are found, and the log that is relayed is named beside the mirror's own.
    let found = nobody.get("/?q=waitlist").await;
    assert!(found.text.contains("/skills/acme/waitlist"), "{}", found.text);
    // Scopes and accounts of elsewhere have no page here, and nothing leads to one.
    assert_eq!(nobody.get("/scopes/acme").await.status, 404);
    for page in ["/skills/acme/waitlist", "/skills/acme/waitlist/versions"] {
        let text = nobody.get(page).await.text;
        assert!(text.contains("ana") && !text.contains("/people/ana"), "{page}");
        assert!(!text.contains("\"/scopes/acme\""), "{page}");
    }
    assert!(signed.get("/skills/own/notes").await.text.contains("\"/scopes/own\""));
    let log = nobody.get("/log").await.text;
    assert!(log.contains("/relayed/log/checkpoint"), "{log}");
    assert_eq!(nobody.get("/relayed/log/checkpoint").await.status, 200);

    // What it holds it shows without its upstream; of what it does not hold it says so.
    let held = nobody.get("/skills/acme/waitlist").await;
    drop(upstream);
    assert_eq!(nobody.get("/skills/acme/waitlist").await.status, held.status);
    let absent = nobody.get("/skills/acme/other").await;
    assert!([502, 503, 404].contains(&absent.status), "{}", absent.status);
    assert_eq!(absent.header("content-type"), "text/html; charset=utf-8");
}
