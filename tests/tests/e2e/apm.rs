//! `apm`, as Python's index has it, against a running registry: by range, frozen, and publishing.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use skillpkg_tests::{OtherClient, skipped};

use crate::faces::{HARD, Stage, agent_skill, borrowed};

fn project(client: &OtherClient, url: &str, dependencies: &[&str]) {
    let dependencies = dependencies.join("\n    - ");
    client.write(
        "apm.yml",
        &format!(
            "name: demo\nversion: 1.0.0\nregistries:\n  skillpkg:\n    url: {url}/apm\n  \
             default: skillpkg\ndependencies:\n  apm:\n    - {dependencies}\n"
        ),
    );
}

#[test]
fn apm_installs_by_range_and_frozen_and_refuses_what_was_changed() {
    let stage = Stage::new();
    let test = "apm_installs_by_range_and_frozen_and_refuses_what_was_changed";
    let Some(client) = OtherClient::apm(test, &stage.context.path("apm")) else { return };
    for version in ["1.0.0", "1.1.0", "1.2.0", "2.0.0", "1.3.0-rc.1"] {
        stage.publish("acme/pdf-tools", version, &borrowed(&agent_skill(version)));
    }
    stage.publish("acme/waitlist", "1.0.0", &[("SKILL.md", HARD)]);
    let reason = ["--reason", "it was wrong"];
    let yank = ["yank", "acme/pdf-tools@1.2.0"];
    stage.ada.run(&[&yank[..], &reason].concat()).succeeded();
    project(&client, &stage.url(), &["acme/pdf-tools#^1.0.0", "Acme/Waitlist#1.0.0"]);

    // Neither the yanked one nor the pre-release, which its ranges would take.
    client.run(&["install", "--target", "claude"]).succeeded();
    for (path, text) in agent_skill("1.1.0") {
        assert_eq!(client.read(&format!(".claude/skills/pdf-tools/{path}")), text, "{path}");
    }
    assert_eq!(client.read(".claude/skills/waitlist/SKILL.md"), HARD);
    // What a skill has in `hooks` is a file of the skill, and no command that the host runs.
    assert!(!client.has(".claude/settings.json"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let script = client.project.join(".claude/skills/pdf-tools/scripts/run.sh");
        assert_eq!(script.metadata().unwrap().permissions().mode() & 0o111, 0o111);
    }

    // On the next machine, from the lock alone: also once it is yanked.
    stage.ada.run(&[&["yank", "acme/pdf-tools@1.1.0"][..], &reason].concat()).succeeded();
    let gone = |directory: &str| std::fs::remove_dir_all(client.project.join(directory)).unwrap();
    let again = || {
        gone("apm_modules");
        gone(".claude");
        client.run(&["install", "--frozen", "--target", "claude"])
    };
    again().succeeded();
    assert!(client.read(".claude/skills/pdf-tools/SKILL.md").contains("# PDF 1.1.0"));
    let lock = client.read("apm.lock.yaml");
    let (before, after) = lock.split_once("resolved_hash: sha256:").unwrap();
    let other = format!("{before}resolved_hash: sha256:0000{}", after.get(4..).unwrap());
    client.write("apm.lock.yaml", &other);
    assert_ne!(again().code, 0);

    client.write("apm.lock.yaml", &lock);
    client.run(&["outdated"]).succeeded();
    client.run(&["update", "--yes", "--target", "claude"]).succeeded();
    assert!(client.read(".claude/skills/pdf-tools/SKILL.md").contains("# PDF 1.0.0"));
    let versions = client.run(&["view", "acme/pdf-tools", "versions"]).succeeded().stdout;
    assert!(versions.contains("2.0.0") && !versions.contains("1.2.0"), "{versions}");
}

/// TLS before a registry, until it is dropped.
struct Tls {
    process: Child,
    url: String,
}

impl Tls {
    fn before(url: &str, test: &str, ca: &Path) -> Option<Self> {
        let python = std::env::var("SKILLPKG_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let available = Command::new(&python).args(["-I", "-c", "import cryptography"]).output();
        if !available.is_ok_and(|output| output.status.success()) {
            skipped(test, "python3 with cryptography", true);
            return None;
        }
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/outside/tls_relay.py");
        let port = url.rsplit(':').next().unwrap();
        let mut process = Command::new(python)
            .args(["-I", script, port])
            .arg(ca)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Some(Self { process, url: format!("https://localhost:{}", line.trim()) })
    }
}

impl Drop for Tls {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn apm_installs_what_is_private_and_publishes_with_a_token_over_tls() {
    let stage = Stage::new();
    let test = "apm_installs_what_is_private_and_publishes_with_a_token_over_tls";
    let Some(mut client) = OtherClient::apm(test, &stage.context.path("apm")) else { return };
    let ca = stage.context.path("ca.pem");
    let Some(tls) = Tls::before(&stage.url(), test, &ca) else { return };
    client.set("REQUESTS_CA_BUNDLE", ca.to_str().unwrap());
    stage.publish("hush/plans", "1.0.0", &[("SKILL.md", &HARD.replace("waitlist", "plans"))]);
    project(&client, &tls.url, &["hush/plans#^1.0.0"]);
    let url = format!("{}/apm", tls.url);
    client.run(&["config", "set", "registry.skillpkg.url", &url]).succeeded();
    let refused = client.run(&["install", "--target", "claude"]);
    assert_ne!(refused.code, 0, "{}", refused.stdout);
    let reader = {
        let mut reader = client.clone();
        reader.set("APM_REGISTRY_TOKEN_SKILLPKG", &stage.token("ada", &["read"]));
        reader
    };
    reader.run(&["install", "--target", "claude"]).succeeded();
    assert!(client.read(".claude/skills/plans/SKILL.md").contains("skill: plans"));

    // The same with a name and a password, which is the token.
    let by_password = |name: &str| {
        std::fs::remove_dir_all(client.project.join("apm_modules")).unwrap();
        std::fs::remove_dir_all(client.project.join(".claude")).unwrap();
        let mut reader = client.clone();
        reader.set("APM_REGISTRY_USER_SKILLPKG", name);
        reader.set("APM_REGISTRY_PASS_SKILLPKG", &stage.token("ada", &["read"]));
        reader.run(&["install", "--frozen", "--target", "claude"])
    };
    by_password("ada").succeeded();
    assert!(client.read(".claude/skills/plans/SKILL.md").contains("skill: plans"));
    assert_ne!(by_password("ben").code, 0);

    // Published by somebody who has no key: the registry holds one.
    stage.add_publisher("ben");
    let mut publisher = client.clone();
    publisher.project = stage.context.path("greeter");
    publisher.set("APM_REGISTRY_TOKEN_SKILLPKG", &stage.token("ben", &["publish:acme/*"]));
    let package = |version: &str| {
        format!(
            "name: greeter\nversion: {version}\ndescription: greets\nlicense: MIT\nregistries:\n  \
             skillpkg:\n    url: {url}\n"
        )
    };
    publisher.write(
        ".apm/skills/greeter/SKILL.md",
        "---\nname: greeter\ndescription: Greets.\n---\n\n# Hi\n",
    );
    publisher.write(".apm/skills/greeter/run.sh", "#!/bin/sh\necho hi\n");
    publisher.write("apm.yml", &package("0.3.0"));
    publisher.run(&["publish", "--package", "acme/greeter"]).succeeded();
    let shown = stage.ada.json(&["show", "acme/greeter"]);
    assert_eq!(shown["versions"][0]["version"], "0.3.0", "{shown}");
    let document = shown.to_string();
    assert!(document.contains("ben"), "{document}");
    stage.ada.run(&["install", "acme/greeter@0.3.0", "--yes"]).succeeded();

    // What would be more than a skill is refused, and said to be.
    publisher.write(".apm/hooks/hooks.json", "{}\n");
    publisher.write("apm.yml", &package("0.4.0"));
    let refused = publisher.run(&["publish", "--package", "acme/greeter"]);
    assert_ne!(refused.code, 0);
    let told = format!("{}{}", refused.stdout, refused.stderr);
    assert!(told.contains("hooks.json"), "{told}");

    // What its author signs is not replaced by what the registry would sign.
    stage.publish("acme/pdf-tools", "1.0.0", &borrowed(&agent_skill("1.0.0")));
    let refused = publisher.run(&["publish", "--package", "acme/pdf-tools"]);
    assert_ne!(refused.code, 0);

    project(&client, &tls.url, &["acme/greeter#^0.3.0"]);
    client.run(&["install", "--target", "claude"]).succeeded();
    assert!(client.has(".claude/skills/greeter/run.sh"));
}
