use crate::support::{Canned, Machine};

const JSON: &str = "application/json";

#[test]
fn what_a_registry_says_is_escaped() {
    let hit = r#"{"name":"w","version":"1.0.0","description":"a\u001b[2Jb\u202e\u001b]8;;http://x\u0007c\nd","capabilities":["t\u001b[1m"]}"#;
    let search = format!(r#"{{"skills":[{hit}],"total":7}}"#);
    let who = r#"{"account":"a\u001b[31mda","grants":["\u202eread"],"scopes":[]}"#;
    let registry = Canned::start(&[
        ("/v1/search", "200 OK", JSON, &search),
        ("/v1/tokens/self", "200 OK", JSON, who),
        ("/v1/skills/_/w/owners", "200 OK", JSON, r#"{"owners":["\u001b[31mbob"]}"#),
    ]);
    let mut machine = Machine::new();
    machine.set("SKILLPKG_REGISTRY", &registry.url);
    machine.set("SKILLPKG_TOKEN", "skp_1");
    for arguments in [&["search", "w"][..], &["whoami"], &["owner", "list", "w"]] {
        let ran = machine.ok(arguments);
        let shown = ran.shown();
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown:?}");
        assert!(shown.contains("\\u{1b}"), "{shown:?}");
    }
    // Whoever reads JSON gets the text as it is, with every control character escaped by JSON.
    let found = machine.ok(&["search", "w", "--json"]);
    assert!(found.json()["skills"][0]["description"].as_str().unwrap().contains('\u{1b}'));
    assert!(!found.stdout.contains('\u{1b}'));
}

#[test]
fn a_page_a_redirect_and_silence_are_told_apart() {
    let page = Canned::start(&[("/", "200 OK", "text/html", "<html>Sign in</html>")]);
    let elsewhere = Canned::start(&[]);
    let nobody = "http://127.0.0.1:1";
    for (url, code) in [(page.url.as_str(), "not_a_registry"), (nobody, "registry_unreachable")] {
        let ran = Machine::new().run(&["search", "x", "--registry", url, "--json"]);
        assert_eq!((ran.code, ran.error_code().as_str()), (1, code));
        assert!(ran.json()["error"]["message"].as_str().unwrap().contains(url));
    }
    let redirect = Canned::start(&[("/", "302 Found", JSON, "{}")]);
    let ran = Machine::new().run(&["search", "x", "--registry", &redirect.url, "--json"]);
    assert_eq!(ran.error_code(), "registry_redirects");
    assert!(elsewhere.asked().is_empty());
}

#[test]
fn a_skill_that_is_not_there_is_told_with_the_nearest_name() {
    let hit = r#"{"name":"waitlist","version":"1.0.0","description":"d","capabilities":[]}"#;
    let answer = r#"{"documents":[],"missing":["waitlst"]}"#;
    let registry = Canned::start(&[
        ("/v1/search", "200 OK", JSON, &format!(r#"{{"skills":[{hit}],"total":1}}"#)),
        ("/v1/index", "200 OK", JSON, answer),
    ]);
    let ran = Machine::new().run(&["show", "waitlst", "--registry", &registry.url, "--json"]);
    assert_eq!((ran.code, ran.error_code().as_str()), (1, "skill_not_found"));
    assert_eq!(ran.json()["error"]["hint"], "did you mean `waitlist`?");
}

#[test]
fn a_routed_scope_is_asked_for_at_its_registry_alone() {
    let public = Canned::start(&[]);
    let corp = Canned::start(&[("/", "500 Internal Server Error", "text/plain", "down")]);
    let mut machine = Machine::new();
    let file = machine.write(
        "c.toml",
        format!(
            "registry = \"{}\"\n[registries.corp]\nurl = \"{}\"\nscopes = [\"acme\"]\n",
            public.url, corp.url
        ),
    );
    machine.set("SKILLPKG_CONFIG", file.to_str().unwrap());
    let ran = machine.run(&["show", "acme/waitlist", "--json"]);
    assert_eq!((ran.code, ran.error_code().as_str()), (1, "registry_failed"));
    assert!(public.asked().is_empty() && !corp.asked().is_empty());
}
