//! Tokens, keys and owners of an account.

use serde_json::json;
use skillpkg_tests::{Machine, Registry, TestContext, relay, write_skill};

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
    let asked = ada.run(&["keys", "revoke", &id[..12], "--json"]).ended_with(5);
    assert_eq!(asked.error_code(), "approval_required");
    ada.run(&["keys", "revoke", &id[..12], "-y"]).succeeded();
    assert_eq!(publish(&laptop, "1.2.0").ended_with(5).error_code(), "key_revoked");
    let shown = ada.run(&["keys", "list"]).succeeded().stdout;
    assert!(shown.contains("revoked 20") && shown.contains("(signs)"), "{shown}");
}

#[test]
fn an_owner_is_invited_publishes_and_is_removed_and_the_last_one_stays() {
    let context = TestContext::new();
    let (ada, bob) = (context.author("ada"), context.author("bob"));
    publish(&ada, "1.0.0").succeeded();
    assert_eq!(publish(&bob, "1.1.0").ended_with(5).error_code(), "not_an_owner");
    let invited = ada.run(&["owner", "add", "waitlist", "bob", "--json"]).succeeded();
    assert!(invited.stderr.contains("`skillpkg owner accept waitlist`"), "{}", invited.stderr);
    let invited = invited.json();
    assert_eq!(invited["owners"], json!(["ada"]));
    assert_eq!(invited["invited"][0]["account"], "bob");
    assert_eq!(publish(&bob, "1.1.0").ended_with(5).error_code(), "not_an_owner");
    let shown = bob.run(&["owner", "invitations"]).succeeded().stdout;
    assert!(shown.starts_with("own waitlist, invited by ada, until 20"), "{shown}");
    let accepted = bob.json(&["owner", "accept", "waitlist"]);
    assert_eq!(accepted, json!({"name": "waitlist", "accepted": true}));
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
fn a_skill_is_handed_on_by_those_who_agree_to_it_alone() {
    let context = TestContext::new();
    let (ada, bob, eve) = (context.author("ada"), context.author("bob"), context.author("eve"));
    publish(&ada, "1.0.0").succeeded();
    let code = |machine: &Machine, arguments: &[&str], exit: i32| {
        let mut all = arguments.to_vec();
        all.push("--json");
        machine.run(&all).ended_with(exit).error_code()
    };
    // Eve makes herself no owner, and answers nobody's invitation but her own.
    assert_eq!(code(&eve, &["owner", "add", "waitlist", "eve"], 5), "not_an_owner");
    assert_eq!(code(&eve, &["owner", "transfer", "waitlist", "eve"], 5), "not_an_owner");
    ada.run(&["owner", "transfer", "waitlist", "bob"]).succeeded();
    assert_eq!(code(&eve, &["owner", "accept", "waitlist"], 1), "invitation_not_found");
    assert_eq!(eve.json(&["owner", "invitations"]), json!({"owners": [], "members": []}));
    assert_eq!(eve.json(&["owner", "list", "waitlist"])["invited"], json!([]));
    publish(&ada, "1.1.0").succeeded();
    bob.run(&["owner", "accept", "waitlist"]).succeeded();
    assert_eq!(eve.json(&["owner", "list", "waitlist"])["owners"], json!(["bob"]));
    assert_eq!(publish(&ada, "1.2.0").ended_with(5).error_code(), "not_an_owner");
    publish(&bob, "1.2.0").succeeded();
    // Declined, taken back: nothing changes.
    bob.run(&["owner", "add", "waitlist", "eve"]).succeeded();
    eve.run(&["owner", "decline", "waitlist"]).succeeded();
    bob.run(&["owner", "add", "waitlist", "ada"]).succeeded();
    bob.run(&["owner", "remove", "waitlist", "ada"]).succeeded();
    for (machine, name) in [(&eve, "waitlist"), (&ada, "waitlist"), (&eve, "nothing")] {
        let refused = machine.run(&["owner", "accept", name, "--json"]).ended_with(1);
        assert_eq!(refused.error_code(), "invitation_not_found");
        assert!(refused.stderr.contains("14 days"), "{}", refused.stderr);
    }
}

#[test]
fn the_owners_of_a_scope_invite_its_members() {
    let context = TestContext::new();
    let (ada, bob, eve) = (context.author("ada"), context.author("bob"), context.author("eve"));
    context.registry.command(&["scope", "add", "acme", "--owner", "ada", "--private"]);
    context.publish(&ada, "acme/plan", "1.0.0", "notes", None);
    bob.run(&["show", "acme/plan"]).ended_with(1);
    ada.run(&["scope", "invite", "acme", "bob", "--role", "reader"]).succeeded();
    let stranger = eve.run(&["scope", "list", "acme", "--json"]).ended_with(1);
    assert_eq!(stranger.error_code(), "scope_not_found");
    let stranger = eve.run(&["scope", "accept", "acme", "--json"]).ended_with(1);
    assert_eq!(stranger.error_code(), "invitation_not_found");
    let shown = bob.run(&["owner", "invitations"]).succeeded().stdout;
    assert!(
        shown.starts_with("be a reader of the scope acme, invited by ada, until 20"),
        "{shown}"
    );
    bob.run(&["scope", "accept", "acme"]).succeeded();
    bob.run(&["show", "acme/plan"]).succeeded();
    let refused = bob.run(&["scope", "invite", "acme", "eve", "--json"]).ended_with(5);
    assert_eq!(refused.error_code(), "not_an_owner");
    let members = ada.json(&["scope", "role", "acme", "bob", "publisher"]);
    assert_eq!(members["members"][1], json!({"account": "bob", "role": "publisher"}));
    context.publish(&bob, "acme/plan", "1.1.0", "more", None);
    let listed = bob.run(&["scope", "list", "acme"]).succeeded().stdout;
    assert_eq!(listed, "ada\towner\nbob\tpublisher\n");
    let last = ada.run(&["scope", "remove", "acme", "ada", "--json"]).ended_with(1);
    assert_eq!(last.error_code(), "last_owner");
    ada.run(&["scope", "remove", "acme", "bob"]).succeeded();
    bob.run(&["show", "acme/plan"]).ended_with(1);
}

#[test]
fn a_key_is_registered_with_its_private_half_and_what_it_was_revoked_for_is_shown() {
    let context = TestContext::new();
    let (ada, eve) = (context.author("ada"), context.author("eve"));
    let first = publish(&ada, "1.0.0").succeeded();
    assert!(first.stderr.contains("`ada` at the registry skillpkg/"), "{}", first.stderr);
    ada.run(&["keys", "export", "-o", "ada.pem"]).succeeded();
    let public = ada.project.join("ada.pem");
    let refused = eve.run(&["keys", "add", public.to_str().unwrap(), "--json"]).ended_with(1);
    assert_eq!(refused.error_code(), "key_not_private");
    // What ada signed and never published brings her key into no other account.
    write_skill(&ada.project.join("source"), "guests", "notes", None);
    ada.run(&["pack", "source", "--version", "1.0.0", "-o", "g.skill.tar.zst"]).succeeded();
    let archive = ada.project.join("g.skill.tar.zst");
    let refused = eve.run(&["publish", archive.to_str().unwrap(), "--json"]).ended_with(5);
    assert_eq!(refused.error_code(), "key_not_registered");
    let id = ada.json(&["keys"])["account"][0]["id"].as_str().unwrap().to_owned();
    ada.run(&["keys", "revoke", &id[..16], "--reason", "laptop lost", "-y"]).succeeded();
    let shown = context.machine("reader").run(&["show", "waitlist"]).succeeded().stdout;
    assert!(shown.contains("revoked 20") && shown.contains(": laptop lost"), "{shown}");
    let reader = context.machine("reader").json(&["show", "waitlist"]);
    assert_eq!(reader["signers"][0]["reason"], "laptop lost");
    let listed = ada.run(&["keys", "list"]).succeeded().stdout;
    assert!(listed.contains(": laptop lost"), "{listed}");
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

#[test]
fn a_registry_that_calls_itself_by_anothers_name_is_given_no_proof() {
    let context = TestContext::new();
    let (other, _) = context.elsewhere("other");
    let identity = |registry: &str| {
        let machine = context.machine("asks");
        machine.run(&["log", "pin", registry]).succeeded();
        let logs = machine.json(&["log"]);
        let logs = logs["logs"].as_array().unwrap().clone();
        let speaks = |log: &&serde_json::Value| log["registries"][0]["url"] == registry;
        logs.iter().find(speaks).unwrap()["origin"].as_str().unwrap().to_owned()
    };
    let (own, others) = (identity(&context.registry.url()), identity(&other.url()));
    let lying = relay(&context.registry.url(), move |request, answer| {
        if request.contains(" /v1/registry ") {
            let said = String::from_utf8(answer.clone()).unwrap();
            *answer = said.replace(&own, &others).into_bytes();
        }
    });
    let author = context.author("ada");
    let refused = author.run(&["keys", "add", "--registry", &lying]).ended_with(5);
    assert!(refused.stderr.contains("nothing was signed"), "{}", refused.stderr);
    author.run(&["keys", "add"]).succeeded();
}

#[cfg(unix)]
#[test]
fn in_a_directory_that_others_may_enter_nothing_of_a_registry_is_theirs_to_read() {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("registry");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    let registry = Registry::start(&data);
    registry.add_user("ada");
    let mut directories = vec![data];
    let mut seen = 0;
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            let mode = metadata.permissions().mode() & 0o777;
            assert_eq!(mode & 0o077, 0, "{} is {mode:o}", entry.path().display());
            seen += 1;
            if metadata.is_dir() {
                directories.push(entry.path());
            }
        }
    }
    assert!(seen > 5, "{seen}");
}
