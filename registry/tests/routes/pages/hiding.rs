//! What one may not see is answered as what is not there, page by page.

use skillpkg_registry::accounts::scopes::Role;

use super::{Browser, Got};
use crate::support::{Skill, TestRegistry};

/// Status, headers and body, without what differs from one request to the next.
fn whole(got: Got) -> (u16, Vec<(String, String)>, String) {
    let headers =
        got.headers.iter().filter(|(name, _)| !["date", "x-request-id"].contains(&name.as_str()));
    let mut headers: Vec<(String, String)> = headers
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    headers.sort();
    (got.status, headers, got.text)
}

#[tokio::test]
async fn on_every_page_the_hidden_answers_as_the_absent() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let hermit = registry.author("hermit").await;
    let stranger = registry.author("stranger").await;
    registry.scope("secret", &ana, true).await;
    registry.member("secret", &hermit, Role::Publisher).await;
    let packed =
        Skill::new("secret/plan", "1.0.0").with_file("plan.md", "The plan.\n").pack(&hermit);
    assert_eq!(registry.publish(&hermit, &packed).await.status(), 201);
    let member = Browser::signed_in(&registry, &ana.token).await;
    let pairs = [
        ("/skills/secret/plan", "/skills/absent/plan"),
        ("/skills/secret/plan", "/skills/secret/none"),
        ("/skills/secret/plan/1.0.0", "/skills/absent/plan/1.0.0"),
        ("/skills/secret/plan/1.0.0/runs", "/skills/absent/plan/1.0.0/runs"),
        ("/skills/secret/plan/1.0.0/files", "/skills/absent/plan/1.0.0/files"),
        ("/skills/secret/plan/1.0.0/files/plan.md", "/skills/absent/plan/1.0.0/files/plan.md"),
        ("/skills/secret/plan/versions", "/skills/absent/plan/versions"),
        ("/skills/secret/plan/diff/1.0.0/1.0.0", "/skills/absent/plan/diff/1.0.0/1.0.0"),
        (
            "/skills/secret/plan/diff?from=1.0.0&to=1.0.0",
            "/skills/absent/plan/diff?from=1.0.0&to=1.0.0",
        ),
        ("/scopes/secret", "/scopes/absent"),
        // Somebody of whom nothing is public.
        ("/people/hermit", "/people/absent"),
    ];
    let others = [Browser::new(&registry), Browser::signed_in(&registry, &stranger.token).await];
    for (hidden, absent) in pairs {
        // A member sees it first, so that whatever is kept is kept.
        assert!([200, 303].contains(&member.get(hidden).await.status), "{hidden}");
        for other in &others {
            let answer = whole(other.get(hidden).await);
            assert_eq!(answer, whole(other.get(absent).await), "{hidden}");
            assert_eq!(answer.0, 404, "{hidden}");
        }
    }
    // Nowhere else is a word of it.
    let size = registry.registry.log.moment().await.size();
    let leaves = (0..size).map(|leaf| format!("/log/entries/{leaf}"));
    let lists = ["/", "/?q=", "/?q=plan", "/log"].map(str::to_owned);
    for path in lists.into_iter().chain(leaves) {
        for other in &others {
            let got = other.get(&path).await;
            assert_eq!(got.status, 200, "{path}");
            for word in ["secret", "The plan", "hermit"] {
                // A search repeats its words, and a key is its account's for everybody.
                let is_key = word == "hermit" && got.text.contains("key added");
                assert!(is_key || !got.text.contains(word), "{path}: {word}");
            }
        }
    }
    let seen = member.get("/?q=plan").await;
    assert!(seen.text.contains("/skills/secret/plan"));
}

#[tokio::test]
async fn a_member_sees_a_blinded_leaf_and_nobody_keeps_what_it_sees() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.scope("secret", &ana, true).await;
    registry.published(&ana, "secret/plan", "1.0.0").await;
    let member = Browser::signed_in(&registry, &ana.token).await;
    for path in ["/", "/?q=plan", "/skills/secret/plan", "/scopes/secret", "/people/ana", "/log"] {
        let got = member.get(path).await;
        assert_eq!((got.status, got.header("cache-control")), (200, "private, no-store"), "{path}");
    }
    let size = registry.registry.log.moment().await.size();
    let mut told = 0;
    for leaf in 0..size {
        let path = format!("/log/entries/{leaf}");
        let (seen, open) = (member.get(&path).await, Browser::new(&registry).get(&path).await);
        told += usize::from(seen.text.contains("secret/plan 1.0.0"));
        assert!(!open.text.contains("secret/plan"));
        assert_eq!(open.header("cache-control"), "public, no-cache");
    }
    assert_eq!(told, 1);
    assert_eq!(member.get(&format!("/log/entries/{size}")).await.status, 404);
}
