//! Tokens, keys and owners of an account.

use serde_json::json;
use skillpkg_tests::{Machine, TestContext, write_skill};

fn publish(machine: &Machine, version: &str) -> skillpkg_tests::Answer {
    write_skill(&machine.project.join("source"), "waitlist", version, None);
    machine.run(&["publish", "source", "--version", version, "--json"])
}

#[test]
fn a_token_is_kept_by_login_and_forgotten_by_logout() {
    let context = TestContext::new();
    let mut ada = context.author("ada");
    let token = ada.token.take().unwrap();
    assert_eq!(publish(&ada, "1.0.0").ended_with(5).error_code(), "unauthorized");
    let wrong = ada.run_with_input(&["login", "--json"], "skp_wrong").ended_with(5);
    assert_eq!(wrong.error_code(), "unauthorized");
    let kept = ada.run_with_input(&["login", "--json"], &token).succeeded();
    assert_eq!(kept.json(), json!({"account": "ada", "registry": context.registry.url()}));
    assert_eq!(ada.json(&["whoami"])["account"], "ada");
    publish(&ada, "1.0.0").succeeded();
    ada.run(&["logout"]).succeeded();
    assert_eq!(ada.run(&["whoami", "--json"]).ended_with(5).error_code(), "unauthorized");
}

#[test]
fn a_further_key_signs_once_it_is_added_and_no_more_once_it_is_revoked() {
    let context = TestContext::new();
    let ada = context.author("ada");
    publish(&ada, "1.0.0").succeeded();
    let mut laptop = context.machine("laptop");
    laptop.token.clone_from(&ada.token);
    laptop.run(&["keygen"]).succeeded();
    let refused = publish(&laptop, "1.1.0").ended_with(5);
    assert_eq!(refused.error_code(), "key_not_registered");
    assert!(refused.stderr.contains("skillpkg keys add"), "{}", refused.stderr);
    let added = laptop.json(&["keys", "add"]);
    let id = added["id"].as_str().unwrap();
    assert_eq!(added["id"], laptop.json(&["keys"])["local"][0]["id"]);
    publish(&laptop, "1.1.0").succeeded();
    let account = ada.json(&["keys"])["account"].as_array().unwrap().len();
    assert_eq!(account, 2);
    assert_eq!(laptop.json(&["keys", "add"]), added, "added twice is added once");

    let none = ada.run(&["keys", "revoke", "0000000000", "--json"]).ended_with(1);
    assert_eq!(none.error_code(), "key_not_found");
    assert_eq!(
        ada.run(&["keys", "revoke", "", "--json"]).ended_with(2).error_code(),
        "key_ambiguous"
    );
    ada.run(&["keys", "revoke", &id[..12]]).succeeded();
    assert_eq!(publish(&laptop, "1.2.0").ended_with(5).error_code(), "key_revoked");
    let shown = ada.run(&["keys", "list"]).succeeded().stdout;
    assert!(shown.contains("revoked 20") && shown.contains("(signs)"), "{shown}");
}

#[test]
fn an_owner_is_added_publishes_and_is_removed_and_the_last_one_stays() {
    let context = TestContext::new();
    let (ada, bob) = (context.author("ada"), context.author("bob"));
    publish(&ada, "1.0.0").succeeded();
    assert_eq!(publish(&bob, "1.1.0").ended_with(5).error_code(), "not_an_owner");
    let owners = ada.json(&["owner", "add", "waitlist", "bob"]);
    assert_eq!(owners, json!({"name": "waitlist", "owners": ["ada", "bob"]}));
    publish(&bob, "1.1.0").succeeded();
    let reader = context.machine("reader");
    assert_eq!(reader.run(&["owner", "list", "waitlist"]).succeeded().stdout, "ada\nbob\n");
    assert_eq!(
        ada.run(&["owner", "add", "waitlist", "nobody", "--json"]).ended_with(1).error_code(),
        "no_such_account"
    );
    bob.run(&["owner", "remove", "waitlist", "ada"]).succeeded();
    assert_eq!(publish(&ada, "1.2.0").ended_with(5).error_code(), "not_an_owner");
    let last = bob.run(&["owner", "remove", "waitlist", "bob", "--json"]).ended_with(1);
    assert_eq!(last.error_code(), "last_owner");
    let absent = reader.run(&["owner", "list", "nothing", "--json"]).ended_with(1);
    assert_eq!(absent.error_code(), "skill_not_found");
}

#[test]
fn a_project_that_names_a_registry_is_not_given_the_token_of_the_environment() {
    let (context, other) = (TestContext::new(), TestContext::new());
    let mut ada = context.author("ada");
    publish(&ada, "1.0.0").succeeded();
    ada.registry = None;
    ada.write("skillpkg.toml", &format!("registry = \"{}\"\n[skills]\n", other.registry.url()));
    let refused = publish(&ada, "1.0.0").ended_with(5);
    assert_eq!(refused.error_code(), "unauthorized");
    assert!(refused.stderr.contains(&other.registry.url()), "{}", refused.stderr);
    let login = ada.run_with_input(&["login", "--json"], "skp_1").ended_with(5);
    assert_eq!(login.error_code(), "registry_of_project");
}
