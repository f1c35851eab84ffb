//! Archives that come as files, and whose signature counts.

use std::path::PathBuf;

use skillpkg_tests::{Machine, TestContext, write_skill};

/// Packs a version of a skill; answers with the archive.
fn pack(author: &Machine, name: &str, version: &str) -> PathBuf {
    let (source, archive) =
        (format!("source-{version}"), format!("{name}-{version}.skill.tar.zst"));
    write_skill(&author.project.join(&source), name, version, None);
    author.run(&["pack", &source, "--version", version, "-o", &archive]).succeeded();
    author.project.join(archive)
}

fn key_id(machine: &Machine) -> String {
    machine.json(&["keys"])["local"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_revoked_key_vouches_for_what_was_published_with_it_and_for_nothing_else() {
    let mut context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "published", None);
    let (reader, early) = (context.machine("reader"), context.machine("early"));
    for machine in [&reader, &early] {
        machine.run(&["install", "waitlist", "-y"]).succeeded();
    }
    let (published, stolen) =
        (pack(&author, "waitlist", "1.0.0"), pack(&author, "waitlist", "1.1.0"));
    let stolen = stolen.to_str().unwrap();
    reader.run(&["verify", stolen]).succeeded();
    let id = key_id(&author);
    author.run(&["keys", "revoke", &id]).succeeded();

    // One that knows the key, and one that does not.
    for machine in [&reader, &context.machine("newcomer")] {
        let refused = machine.run(&["install", stolen, "-y", "--json"]).ended_with(5);
        assert_eq!(refused.error_code(), "signer_revoked");
        for told in [&id[..16], "`ada`", "revoked on 20"] {
            assert!(refused.stderr.contains(told), "{told}: {}", refused.stderr);
        }
        let verified = machine.run(&["verify", stolen, "--json"]).ended_with(3).json();
        assert_eq!(verified["problems"][0]["code"], "signer_revoked");
    }
    // What the registry lists stays good, from it and from a file with other bytes than those of it.
    let fresh = context.machine("fresh");
    fresh.run(&["install", "waitlist", "-y"]).succeeded();
    fresh.run(&["verify"]).succeeded();
    let other = published.to_str().unwrap();
    assert_eq!(fresh.json(&["verify", other])["problems"][0]["code"], "signer_revoked");

    // Where the registry does not answer, what is known here decides, and that is told.
    context.registry.stop();
    let told = early.run(&["verify", stolen]).succeeded();
    assert!(told.stderr.contains("revoked is not known"), "{}", told.stderr);
    fresh.run(&["verify", "--offline"]).succeeded();
}

#[test]
fn that_a_key_was_revoked_is_remembered_without_the_registry() {
    let mut context = TestContext::new();
    let author = context.author("ada");
    let runs = Some("sh NOTES.md");
    context.publish(&author, "waitlist", "1.0.0", "echo published", runs);
    let source = author.project.join("source");
    write_skill(&source, "waitlist", "echo stolen", runs);
    author.run(&["pack", "source", "--version", "1.1.0", "-o", "w.skill.tar.zst"]).succeeded();
    let stolen = author.project.join("w.skill.tar.zst");
    let stolen = stolen.to_str().unwrap();

    let published = context.machine("reader");
    published.run(&["install", "waitlist", "-y"]).succeeded();
    let taken = published.in_project(&context.path("taken"));
    taken.run(&["install", stolen, "-y"]).succeeded();
    let id = key_id(&author);
    author.run(&["keys", "revoke", &id]).succeeded();
    // Nobody has told this machine yet.
    taken.run(&["verify", "--offline"]).succeeded();
    assert!(taken.json(&["list"])["skills"][0]["revoked"].is_null());
    // An update finds nothing newer, and that.
    published.run(&["update"]).succeeded();
    context.registry.stop();

    for arguments in [&["verify", "--json"][..], &["verify", "--offline", "--json"]] {
        let problems = taken.run(arguments).ended_with(3).json();
        let problem = &problems["problems"][0];
        assert_eq!(problem["kind"], "signature");
        assert_eq!(problem["code"], "signer_revoked");
    }
    let revoked = &taken.json(&["list"])["skills"][0]["revoked"];
    assert_eq!(revoked["key"], id.as_str());
    assert_eq!((&revoked["account"], &revoked["signed_before"]), (&"ada".into(), &false.into()));
    let listed = taken.run(&["list"]).succeeded().stdout;
    assert!(listed.contains("its key was revoked: it is not to be trusted"), "{listed}");
    let called = taken.run(&["call", "waitlist", "go"]).succeeded();
    assert_eq!(called.stdout, "stolen\n");
    for told in ["`ada`, which was revoked on 20", "skillpkg remove waitlist"] {
        assert!(called.stderr.contains(told), "{}", called.stderr);
    }
    let other = published.in_project(&context.path("other"));
    let refused = other.run(&["install", stolen, "-y", "--json"]).ended_with(5);
    assert_eq!(refused.error_code(), "signer_revoked");

    // What the registry took in before stays good, and it is told.
    let verified = published.run(&["verify", "--offline"]).succeeded();
    assert!(verified.stderr.contains("among what the key signed before"), "{}", verified.stderr);
    assert_eq!(published.json(&["list"])["skills"][0]["revoked"]["signed_before"], true);
    let called = published.run(&["call", "waitlist", "go"]).succeeded();
    assert_eq!((called.stdout.as_str(), called.stderr.as_str()), ("published\n", ""));
}

#[test]
fn a_project_that_names_its_own_registry_does_not_hide_that_a_key_was_revoked() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "published", None);
    let mut reader = context.machine("reader");
    let newcomer = context.machine("newcomer");
    // By the environment; and by a configuration, on a machine that trusts the key.
    reader.run(&["install", "waitlist", "-y"]).succeeded();
    author.run(&["keys", "export", "-o", "ada.pem"]).succeeded();
    let public = author.project.join("ada.pem");
    newcomer.run(&["keys", "trust", public.to_str().unwrap()]).succeeded();
    let stolen = pack(&author, "waitlist", "1.1.0");
    author.run(&["keys", "revoke", &key_id(&author)]).succeeded();

    let (registry, mallory) = context.elsewhere("mallory");
    let configured = format!("registry = \"{}\"\n", context.registry.url());
    reader.registry = None;
    for (position, url) in
        ["http://127.0.0.1:9".to_owned(), registry.url(), registry.url()].iter().enumerate()
    {
        if position == 2 {
            // It has a skill of that name, of its own.
            context.publish(&mallory, "waitlist", "1.1.0", "mallory's", None);
        }
        for (machine, configuration) in [(&reader, ""), (&newcomer, configured.as_str())] {
            let mut clone = machine.in_project(&context.path(format!("clone-{position}")));
            clone.registry = None;
            std::fs::write(&clone.configuration, configuration).unwrap();
            std::fs::copy(&stolen, clone.project.join("w.skill.tar.zst")).unwrap();
            let skills = "[skills]\nwaitlist = { file = \"w.skill.tar.zst\" }\n";
            clone.write("skillpkg.toml", &format!("registry = \"{url}\"\n{skills}"));
            let refused = clone.run(&["sync", "-y", "--json"]).ended_with(5);
            assert_eq!(refused.error_code(), "signer_revoked", "{url}");
            let verified = clone.run(&["verify", "w.skill.tar.zst", "--json"]).ended_with(3).json();
            assert_eq!(verified["problems"][0]["code"], "signer_revoked", "{url}");
        }
    }
}

#[test]
fn a_file_installs_without_a_registry_where_its_key_is_trusted() {
    let context = TestContext::new();
    let author = context.author("ada");
    let archive = pack(&author, "waitlist", "1.0.0");
    let archive = archive.to_str().unwrap();
    let mut machine = context.machine("reader");
    machine.registry = None;
    let refused = machine.run(&["install", archive, "-y", "--json"]).ended_with(3);
    assert_eq!(refused.error_code(), "signature_refused");
    assert!(refused.stderr.contains("skillpkg keys trust"), "{}", refused.stderr);
    let verified = machine.run(&["verify", archive]).ended_with(3);
    assert!(verified.stdout.contains("skillpkg keys trust"), "{}", verified.stdout);

    let public = author.project.join("ada.pem");
    let public = public.to_str().unwrap();
    author.run(&["keys", "export", "-o", public]).succeeded();
    author.run(&["keys", "export", "-o", public]).ended_with(1);
    let printed = author.run(&["keys", "export"]).succeeded().stdout;
    assert_eq!(printed, std::fs::read_to_string(public).unwrap());
    assert!(printed.contains("PUBLIC KEY"), "{printed}");
    let id = machine.json(&["keys", "trust", public])["id"].as_str().unwrap().to_owned();
    assert_eq!(id, key_id(&author));
    assert_eq!(machine.json(&["keys"])["trusted"][0]["id"], id.as_str());

    machine.run(&["verify", archive]).succeeded();
    machine.run(&["install", archive, "-y"]).succeeded();
    machine.run(&["verify"]).succeeded();
    machine.run(&["keys", "distrust", &id[..12]]).succeeded();
    machine.run(&["verify", archive]).ended_with(3);
    // What it signed is not run any more either, until it is trusted again.
    let refused = machine.run(&["call", "waitlist", "go", "--json"]).ended_with(3);
    assert_eq!(refused.error_code(), "signer_unknown");
    assert!(refused.stderr.contains("skillpkg keys trust"), "{}", refused.stderr);
    machine.run(&["keys", "trust", public]).succeeded();
    let called = machine.run(&["call", "waitlist", "go", "--json"]).ended_with(1);
    assert_eq!(called.error_code(), "capability_not_found");
}

#[test]
fn a_project_with_a_file_is_synced_on_a_machine_that_trusts_its_key_and_to_nothing_else() {
    let context = TestContext::new();
    let author = context.author("ada");
    let archive = pack(&author, "waitlist", "1.0.0");
    std::fs::create_dir(author.project.join("vendor")).unwrap();
    let place = "vendor/waitlist.skill.tar.zst";
    std::fs::rename(archive, author.project.join(place)).unwrap();
    author.run(&["install", &format!("./{place}"), "-y"]).succeeded();
    author.run(&["keys", "export", "-o", "ada.pem"]).succeeded();

    let mut machine = context.machine("ci");
    machine.registry = None;
    std::fs::create_dir(machine.project.join("vendor")).unwrap();
    for name in ["skillpkg.toml", "skillpkg.lock", "ada.pem", place] {
        std::fs::copy(author.project.join(name), machine.project.join(name)).unwrap();
    }
    machine.run(&["sync", "--frozen", "-y"]).ended_with(3);
    machine.run(&["keys", "trust", "ada.pem"]).succeeded();
    machine.run(&["sync", "--frozen", "-y"]).succeeded();
    assert_eq!(machine.read(".agents/skills/waitlist/NOTES.md"), "1.0.0");

    // Another archive of the same signer is not the one of the lockfile.
    let other = pack(&author, "waitlist", "1.0.1");
    let third = context.machine("third");
    std::fs::create_dir(third.project.join("vendor")).unwrap();
    for name in ["skillpkg.toml", "skillpkg.lock"] {
        std::fs::copy(author.project.join(name), third.project.join(name)).unwrap();
    }
    std::fs::copy(other, third.project.join(place)).unwrap();
    third.run(&["keys", "trust", author.project.join("ada.pem").to_str().unwrap()]).succeeded();
    let refused = third.run(&["sync", "--frozen", "-y", "--json"]).ended_with(3);
    assert_eq!(refused.error_code(), "archive_other_snapshot");
}

#[test]
fn list_tells_of_a_skill_whose_key_is_trusted_no_more() {
    let context = TestContext::new();
    let author = context.author("ada");
    let archive = pack(&author, "waitlist", "1.0.0");
    author.run(&["keys", "export", "-o", "ada.pem"]).succeeded();
    let mut machine = context.machine("reader");
    machine.registry = None;
    let key = author.project.join("ada.pem");
    machine.run(&["keys", "trust", key.to_str().unwrap()]).succeeded();
    machine.run(&["install", archive.to_str().unwrap(), "-y"]).succeeded();
    let listed = machine.run(&["list"]).succeeded();
    assert!(!listed.stdout.contains("not trusted"), "{}", listed.stdout);
    machine.run(&["keys", "distrust", &key_id(&author)]).succeeded();
    let listed = machine.run(&["list"]).succeeded();
    assert!(listed.stdout.contains("its key is not trusted here"), "{}", listed.stdout);
    assert!(listed.stderr.contains("`skillpkg keys trust FILE.pem`"), "{}", listed.stderr);
    assert_eq!(machine.json(&["list"])["skills"][0]["distrusted"], true);
    machine.run(&["keys", "trust", key.to_str().unwrap()]).succeeded();
    assert!(machine.json(&["list"])["skills"][0].get("distrusted").is_none());
}
