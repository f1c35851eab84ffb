//! Publishing from the job of a build service, which has no token.

use std::fs;
use std::path::Path;

use serde_json::json;
use skillpkg_tests::issuer::Issuer;
use skillpkg_tests::{Answer, Machine, TestContext, write_skill};

/// A registry that trusts an issuer, and ada, who has published `waitlist` there.
struct Stage {
    context: TestContext,
    issuer: Issuer,
    ada: Machine,
}

impl Stage {
    fn new() -> Self {
        let mut context = TestContext::new();
        let issuer = Issuer::start();
        let (url, trusted) = (context.registry.url(), format!("github={}", issuer.url()));
        context.registry.resume_with(&[
            "--public-url",
            &url,
            "--oidc-issuer",
            &trusted,
            "--allow-upstream",
            "127.0.0.1",
        ]);
        let ada = context.author("ada");
        write_skill(&ada.project.join("waitlist"), "waitlist", "one", None);
        ada.run(&["publish", "waitlist", "--version", "1.0.0"]).succeeded();
        Self { context, issuer, ada }
    }

    fn trust(&self) -> String {
        let added = self.ada.run(&[
            "trusted",
            "add",
            "waitlist",
            "--github",
            "acme/waitlist",
            "--owner-id",
            "4077",
            "--workflow",
            "release.yml",
            "--issuer",
            self.issuer.url(),
            "--json",
        ]);
        let added = added.succeeded().json();
        added["publishers"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Publishes a version as a job, which has ada's key and no token, in this environment.
    fn publish(&self, version: &str, more: &[&str], environment: &[(&str, &str)]) -> Answer {
        let job = Machine { token: None, ..self.ada.clone() };
        fs::write(job.project.join("waitlist/NOTES.md"), version).unwrap();
        let arguments = [&["publish", "waitlist", "--version", version, "--json"], more].concat();
        let mut command = job.command(&arguments);
        command.envs(environment.iter().copied());
        Answer::of(&arguments, &command.output().unwrap())
    }

    fn identity(&self, audience: &str) -> String {
        self.issuer.token(&self.issuer.github(audience))
    }
}

/// Whether a text is in a file beneath a directory.
fn holds(directory: &Path, text: &str) -> bool {
    fs::read_dir(directory).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            return holds(&path, text);
        }
        fs::read(&path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
    })
}

#[test]
fn a_job_that_is_trusted_publishes_and_once_it_is_not_publishes_no_more() {
    let stage = Stage::new();
    let url = stage.context.registry.url();
    // As GitHub has it: a place to ask at, and what to ask with.
    let place = format!("{}/request?version=2", stage.issuer.url());
    let github = [
        ("ACTIONS_ID_TOKEN_REQUEST_URL", place.as_str()),
        ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "of-the-runner"),
    ];
    let refused = stage.publish("1.1.0", &[], &github).ended_with(1);
    assert_eq!(refused.error_code(), "not_found");
    assert!(refused.stderr.contains("skillpkg trusted add waitlist"), "{}", refused.stderr);

    let id = stage.trust();
    let published = stage.publish("1.1.0", &[], &github).succeeded();
    assert!(published.stderr.contains("one that `ada` trusts"), "{}", published.stderr);
    let identity = stage.identity(&url);
    let given = [("SKILLPKG_OIDC_TOKEN", identity.as_str())];
    let published_too = stage.publish("1.2.0", &[], &given).succeeded();
    for answer in [&published, &published_too] {
        for secret in ["skp_", "eyJhbGciOiJFUzI1NiIs", "of-the-runner"] {
            let told = format!("{}{}", answer.stdout, answer.stderr);
            assert!(!told.contains(secret), "{secret}: {told}");
            assert!(!holds(&stage.ada.home, secret), "{secret}");
        }
    }
    let again = stage.publish("1.3.0", &[], &given).ended_with(5);
    assert_eq!(again.error_code(), "identity_refused");

    let ben = stage.context.machine("ben");
    ben.run(&["install", "waitlist", "-y"]).succeeded();
    assert_eq!(ben.read(".agents/skills/waitlist/NOTES.md"), "1.2.0");

    let removed = stage.ada.json(&["trusted", "remove", "waitlist", &id]);
    assert_eq!(removed["publishers"], json!([]));
    let refused = stage.publish("1.3.0", &["--trusted"], &github).ended_with(1);
    assert_eq!(refused.error_code(), "not_found");
}

#[test]
fn an_identity_goes_to_the_registry_that_it_is_made_for_and_to_no_other() {
    let stage = Stage::new();
    stage.trust();
    let other = stage.identity("https://other.example");
    let refused = stage.publish("1.1.0", &[], &[("SKILLPKG_OIDC_TOKEN", &other)]).ended_with(5);
    assert_eq!(refused.error_code(), "job_identity_audience");
    assert_eq!(stage.issuer.asked(), 0, "the registry was not asked to look at it");
    let refused = stage.publish("1.1.0", &["--trusted"], &[]).ended_with(5);
    assert_eq!(refused.error_code(), "job_identity_missing");
    assert!(refused.stderr.contains("id-token: write"), "{}", refused.stderr);
    let plain = [
        ("ACTIONS_ID_TOKEN_REQUEST_URL", "http://build.example/x"),
        ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "of-the-runner"),
    ];
    let refused = stage.publish("1.1.0", &[], &plain).ended_with(1);
    assert_eq!(refused.error_code(), "job_identity_failed");
    // Of another repository than the one that is trusted: what differs is told.
    let mut claims = stage.issuer.github(&stage.context.registry.url());
    claims["repository_owner_id"] = json!("5055");
    let token = stage.issuer.token(&claims);
    let refused = stage.publish("1.1.0", &[], &[("SKILLPKG_OIDC_TOKEN", &token)]).ended_with(5);
    assert_eq!(refused.error_code(), "publisher_refused");
    assert!(refused.stderr.contains("`repository_owner_id` is `5055`, expected `4077`"));
}

#[test]
fn what_is_trusted_is_listed_with_what_it_must_say() {
    let stage = Stage::new();
    stage.trust();
    let listed = stage.ada.run(&["trusted", "list", "waitlist"]).succeeded();
    assert!(listed.stdout.contains("repository_owner_id=4077"), "{}", listed.stdout);
    let listed = stage.ada.json(&["trusted", "list", "waitlist"]);
    assert_eq!(listed["audience"], stage.context.registry.url());
    assert_eq!(listed["issuers"][0]["provider"], "github");
    for (arguments, code) in [
        (&["--github", "acme/waitlist"][..], 2),
        (&["--claim", "sub=x"], 2),
        (&["--issuer", "https://ci.example", "--claim", "sub"], 2),
        (&["--issuer", "https://ci.example", "--claim", "sub=x"], 1),
        (&["--gitlab", "a/b", "--project-id", "1", "--namespace-id", "2"], 1),
    ] {
        let arguments = [&["trusted", "add", "waitlist"], arguments].concat();
        stage.ada.run(&arguments).ended_with(code);
    }
    let stranger = stage.context.author("eve");
    assert_eq!(stranger.json(&["trusted", "list", "waitlist"])["error"]["code"], "not_an_owner");
}
