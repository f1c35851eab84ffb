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
    let reader = context.machine("reader");
    reader.run(&["install", "waitlist", "-y"]).succeeded();
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
    let told = reader.run(&["verify", stolen]).succeeded();
    assert!(told.stderr.contains("revoked is not known"), "{}", told.stderr);
    fresh.run(&["verify", "--offline"]).succeeded();
}
