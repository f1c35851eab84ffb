use crate::support::{Canned, Machine, example};

const WHO: &str = r#"{"account":"ada","grants":["read","publish:*"],"scopes":["acme"]}"#;
const JSON: &str = "application/json";

fn registry() -> Canned {
    Canned::start(&[("/v1/tokens/self", "200 OK", JSON, WHO)])
}

#[test]
fn a_token_is_checked_and_then_kept_for_its_owner_alone() {
    let registry = registry();
    let mut machine = Machine::new();
    machine.set("SKILLPKG_REGISTRY", &registry.url);
    let ran = machine.run_with(&["login", "--json"], "skp_secret\n");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(ran.json()["account"], "ada");
    assert!(!ran.shown().contains("skp_secret"));
    let file = machine.home().join("credentials.toml");
    assert!(std::fs::read_to_string(&file).unwrap().contains("skp_secret"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
    }
    let who = machine.ok(&["whoami", "--json"]).json();
    assert_eq!((&who["account"], &who["registry"]), (&"ada".into(), &registry.url.as_str().into()));
    // Of its log it is asked as nobody, and of all else with the token.
    for head in registry.asked() {
        let is_of_log = head.starts_with("POST /v1/index ");
        assert_eq!(head.contains("authorization: Bearer skp_secret"), !is_of_log, "{head}");
    }
    assert!(registry.asked()[0].starts_with("POST /v1/index "));
    machine.ok(&["logout"]);
    assert!(!std::fs::read_to_string(&file).unwrap().contains("skp_secret"));
    let ran = machine.run(&["whoami", "--json"]);
    assert_eq!((ran.code, ran.error_code().as_str()), (5, "unauthorized"));
    assert_eq!(machine.ok(&["logout", "--json"]).json()["removed"], false);
}

#[test]
fn a_token_that_the_registry_does_not_know_is_not_kept() {
    let problem = r#"{"type":"urn:skillpkg:problem:unauthorized","title":"t","status":401,"code":"unauthorized","detail":"no"}"#;
    let registry = Canned::start(&[("/", "401 Unauthorized", "application/problem+json", problem)]);
    let mut machine = Machine::new();
    machine.set("SKILLPKG_REGISTRY", &registry.url);
    let ran = machine.run_with(&["login", "--json"], "skp_wrong");
    assert_eq!((ran.code, ran.error_code().as_str()), (5, "unauthorized"));
    assert!(!machine.home().join("credentials.toml").exists());
    for (stdin, code) in [("", "token_invalid"), ("two words", "token_invalid")] {
        let ran = machine.run_with(&["login", "--json"], stdin);
        assert_eq!((ran.code, ran.error_code().as_str()), (2, code));
    }
}

#[test]
fn a_registry_that_a_project_names_gets_no_token_of_another() {
    let theirs = registry();
    let mut machine = Machine::new();
    machine.set("SKILLPKG_TOKEN", "skp_mine");
    machine.write("skillpkg.toml", format!("registry = \"{}\"\n", theirs.url));
    let ran = machine.run(&["whoami", "--json"]);
    assert_eq!((ran.code, ran.error_code().as_str()), (5, "unauthorized"));
    let hint = ran.json()["error"]["hint"].as_str().unwrap().to_owned();
    assert!(hint.starts_with("`SKILLPKG_TOKEN` is set, and is not sent"), "{hint}");
    assert!(hint.contains("skillpkg login"), "{hint}");
    let _ = machine.run(&["search", "x"]);
    let ran = machine.run_with(&["login", "--json"], "skp_mine");
    assert_eq!((ran.code, ran.error_code().as_str()), (5, "registry_of_project"));
    assert!(theirs.asked().iter().all(|head| !head.contains("authorization")));
    assert!(!theirs.asked().is_empty());
    machine.write("skillpkg.toml", "registry = \"https://${SKILLPKG_TOKEN}.example\"\n");
    let ran = machine.run(&["search", "x", "--json"]);
    assert_eq!(ran.error_code(), "project_invalid");
    assert!(!ran.shown().contains("skp_mine"));
}

#[test]
fn a_registry_is_named_by_the_configuration() {
    let registry = registry();
    let mut machine = Machine::new();
    let file = machine.write(
        "c.toml",
        format!("registry = \"corp\"\n[registries.corp]\nurl = \"{}/\"\n", registry.url),
    );
    machine.set("SKILLPKG_CONFIG", file.to_str().unwrap());
    machine.set("SKILLPKG_TOKEN", "skp_1");
    assert_eq!(machine.ok(&["whoami", "--json"]).json()["account"], "ada");
    machine.ok(&["--registry", "corp", "whoami"]);
    let ran = machine.run(&["--registry", "crop", "whoami"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("did you mean `corp`?"), "{}", ran.stderr);
}

#[test]
fn keys_on_this_machine_are_told_without_a_registry() {
    let machine = Machine::with_key();
    let keys = machine.ok(&["keys", "--json"]).json();
    assert_eq!(keys["local"].as_array().unwrap().len(), 1);
    assert_eq!((&keys["local"][0]["signs"], &keys["account"]), (&true.into(), &().into()));
    insta::assert_snapshot!(machine.ok(&["keys", "list"]).shown());
}

#[test]
fn publishing_without_a_registry_or_a_token_says_what_is_missing() {
    let mut machine = Machine::with_key();
    let ran = machine.run(&["publish", &example("waitlist")]);
    assert_eq!(ran.code, 1);
    insta::assert_snapshot!(ran.shown());
    machine.set("SKILLPKG_REGISTRY", "http://127.0.0.1:1");
    let ran = machine.run(&["publish", &example("waitlist")]);
    assert_eq!(ran.code, 5);
    insta::assert_snapshot!("publish_without_token", ran.shown());
}
