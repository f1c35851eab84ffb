//! `clawhub` of npm against a running registry: found, installed, updated, published.

use skillpkg_tests::OtherClient;

use crate::faces::{HARD, Stage, agent_skill, borrowed};

#[test]
fn clawhub_finds_installs_verifies_and_updates() {
    let stage = Stage::new();
    let test = "clawhub_finds_installs_verifies_and_updates";
    let directory = stage.context.path("clawhub");
    let Some(client) = OtherClient::clawhub(test, &directory, &stage.url()) else { return };
    let first = agent_skill("1.0.0");
    stage.publish("acme/pdf-tools", "1.0.0", &borrowed(&first));
    stage.publish("acme/waitlist", "1.0.0", &[("SKILL.md", HARD)]);

    for arguments in
        [&["search", "pdf"][..], &["search", "pdf", "--prefix"], &["explore", "--json"]]
    {
        let found = client.run(arguments).succeeded().stdout;
        assert!(found.contains("pdf-tools"), "{arguments:?}: {found}");
    }
    let inspected =
        client.run(&["inspect", "@acme/pdf-tools", "--versions", "--files"]).succeeded();
    assert!(inspected.stdout.contains("references/Guide.md"), "{}", inspected.stdout);
    let file = client.run(&["inspect", "@acme/pdf-tools", "--file", "SKILL.md"]).succeeded().stdout;
    assert!(file.contains("# PDF 1.0.0"), "{file}");

    client.run(&["install", "@acme/pdf-tools"]).succeeded();
    for (path, text) in &first {
        assert_eq!(client.read(&format!("skills/@acme/pdf-tools/{path}")), *text, "{path}");
    }
    client.run(&["install", "@acme/waitlist", "--version", "1.0.0"]).succeeded();
    assert_eq!(client.read("skills/@acme/waitlist/SKILL.md"), HARD);
    let verified = client.run(&["skill", "verify", "@acme/pdf-tools"]).succeeded().stdout;
    assert!(verified.contains("sha256:") && verified.contains("ada"), "{verified}");
    client.run(&["install", "@acme/nothing"]).ended_with(1);

    // An installed version is known by its files, and the next one is offered.
    stage.publish("acme/pdf-tools", "1.1.0", &borrowed(&agent_skill("1.1.0")));
    client.run(&["update", "--all"]).succeeded();
    assert!(client.read("skills/@acme/pdf-tools/SKILL.md").contains("# PDF 1.1.0"));

    // An advisory that warns asks, one that forbids leaves the version out.
    let advise = |effect: &str| {
        let what = ["advisory", "add", "acme/pdf-tools@1.1.0", "--effect", effect];
        stage.context.registry.command(&[&what[..], &["--summary", "It leaks"]].concat());
        std::thread::sleep(std::time::Duration::from_millis(1_500));
    };
    advise("warn");
    client.run(&["uninstall", "@acme/pdf-tools", "--yes"]).succeeded();
    client.run(&["install", "@acme/pdf-tools"]).ended_with(1);
    client.run(&["install", "@acme/pdf-tools", "--force"]).succeeded();
    advise("forbid");
    client.run(&["install", "@acme/pdf-tools", "--force"]).succeeded();
    assert!(client.read("skills/@acme/pdf-tools/SKILL.md").contains("# PDF 1.0.0"));
    client.run(&["install", "@acme/pdf-tools", "--version", "1.1.0", "--force"]).ended_with(1);
}

#[test]
fn clawhub_publishes_and_what_it_published_is_signed_by_the_registry() {
    let stage = Stage::new();
    let test = "clawhub_publishes_and_what_it_published_is_signed_by_the_registry";
    let directory = stage.context.path("clawhub");
    let Some(client) = OtherClient::clawhub(test, &directory, &stage.url()) else { return };
    stage.add_publisher("ben");
    let token = stage.token("ben", &["read", "publish:acme/*"]);
    client.run(&["login", "--token", "skp_none"]).ended_with(1);
    client.run(&["login", "--token", &token]).succeeded();
    client.write("greeter/SKILL.md", "---\nname: greeter\ndescription: Greets.\n---\n\n# Hi\n");
    client.write("greeter/scripts/a.sh", "#!/bin/sh\necho hi\n");
    let published = client.run(&["publish", "greeter", "--json"]).succeeded().stdout;
    assert!(published.contains("1.0.0"), "{published}");
    let again = client.run(&["publish", "greeter", "--json"]).succeeded();
    let told = format!("{}{}", again.stdout, again.stderr);
    assert!(!told.contains("1.0.1"), "{told}");
    client
        .write("greeter/SKILL.md", "---\nname: greeter\ndescription: Greets.\n---\n\n# Hi, all\n");
    client.run(&["publish", "greeter", "--version", "1.0.0", "--json"]).ended_with(1);
    client.run(&["publish", "greeter", "--json"]).succeeded();

    // The project's own client installs it, and says who signed.
    let shown = stage.ada.json(&["show", "acme/greeter"]);
    assert!(shown.to_string().contains("1.0.1"), "{shown}");
    stage.ada.run(&["install", "acme/greeter", "--yes"]).succeeded();
    let keys = stage.ada.run(&["show", "acme/greeter"]).succeeded().stdout;
    assert!(keys.contains("the registry for ben"), "{keys}");

    // And no skill of one who signs is taken over.
    stage.publish("acme/pdf-tools", "1.0.0", &borrowed(&agent_skill("1.0.0")));
    client
        .write("pdf-tools/SKILL.md", "---\nname: pdf-tools\ndescription: Other.\n---\n\n# Other\n");
    let refused = client.run(&["publish", "pdf-tools", "--json"]).ended_with(1);
    let told = format!("{}{}", refused.stdout, refused.stderr);
    assert!(told.contains("skillpkg publish"), "{told}");

    client.run(&["install", "@acme/greeter"]).succeeded();
    assert!(client.read("skills/@acme/greeter/SKILL.md").contains("# Hi, all"));
}

fn told(answer: &skillpkg_tests::Answer) -> String {
    format!("{}{}", answer.stdout, answer.stderr)
}

/// `ben`, who may publish to `acme` and yank there, with two versions of `acme/greeter` of his.
fn ben(stage: &Stage, test: &str) -> Option<OtherClient> {
    let mut client = OtherClient::clawhub(test, &stage.context.path("clawhub"), &stage.url())?;
    // Else a login asks the client's own site where it is.
    client.set("CLAWHUB_SITE", &stage.url());
    stage.add_publisher("ben");
    let token = stage.token("ben", &["read", "publish:acme/*", "yank:acme/*"]);
    client.run(&["login", "--token", &token]).succeeded();
    for prose in ["# Hi\n", "# Hi, all\n"] {
        let skill_file = format!("---\nname: greeter\ndescription: Greets.\n---\n\n{prose}");
        client.write("greeter/SKILL.md", &skill_file);
        client.run(&["publish", "greeter", "--json"]).succeeded();
    }
    Some(client)
}

#[test]
fn clawhub_withdraws_by_yanking_and_takes_that_back() {
    let stage = Stage::new();
    let Some(client) = ben(&stage, "clawhub_withdraws_by_yanking_and_takes_that_back") else {
        return;
    };
    let greeter = "@acme/greeter";
    let installs = |version: Option<&str>| {
        let answer = client.run(&["install", greeter, "--force"]);
        match version {
            Some(version) => {
                answer.succeeded();
                let text = client.read("skills/@acme/greeter/SKILL.md");
                assert_eq!(text.contains("# Hi, all"), version == "1.0.1", "{text}");
            }
            None => assert!(told(&answer.ended_with(1)).contains("every version is yanked")),
        }
    };
    installs(Some("1.0.1"));
    client.run(&["delete", greeter, "--version", "1.0.1", "--yes"]).succeeded();
    installs(Some("1.0.0"));
    // It is in the log, with its reason, and is had by who has locked it.
    let shown = stage.ada.json(&["show", "acme/greeter"]).to_string();
    assert!(shown.contains("withdrawn by its owner"), "{shown}");
    stage.ada.run(&["install", "acme/greeter@=1.0.1", "--yes"]).succeeded();

    client.run(&["delete", greeter, "--reason", "it leaks", "--yes"]).succeeded();
    installs(None);
    client.run(&["undelete", greeter, "--yes"]).succeeded();
    installs(Some("1.0.0"));
    client.run(&["undelete", greeter, "--version", "1.0.1", "--yes"]).succeeded();
    installs(Some("1.0.1"));
    client.run(&["hide", "greeter", "--yes"]).succeeded();
    installs(None);
    client.run(&["unhide", "greeter", "--yes"]).succeeded();
    installs(Some("1.0.1"));

    // Of somebody else's, and of what is not there.
    stage.publish("alone", "1.0.0", &[("SKILL.md", &HARD.replace("waitlist", "alone"))]);
    let refused = client.run(&["delete", "alone", "--yes"]).ended_with(1);
    assert!(told(&refused).contains("grants `yank:…`") || told(&refused).contains("token"));
    client.run(&["delete", "@acme/nothing", "--yes"]).ended_with(1);
}

#[test]
fn clawhub_is_answered_by_each_of_its_commands_or_told_what_to_do() {
    let stage = Stage::new();
    let test = "clawhub_is_answered_by_each_of_its_commands_or_told_what_to_do";
    let Some(mut client) = ben(&stage, test) else { return };
    stage.publish("acme/pdf-tools", "1.0.0", &borrowed(&agent_skill("1.0.0")));
    // Its telemetry is taken, and it goes on in silence.
    client.set("CLAWHUB_DISABLE_TELEMETRY", "0");
    let installed = client.run(&["install", "@acme/pdf-tools"]).succeeded();
    assert!(!told(&installed).to_lowercase().contains("error"), "{}", told(&installed));

    let whoami = client.run(&["whoami"]).succeeded();
    assert!(told(&whoami).contains("acme"), "{}", told(&whoami));
    for sort in ["newest", "updated", "rating", "downloads", "trending"] {
        let found = client.run(&["explore", "--sort", sort, "--limit", "200"]).succeeded().stdout;
        assert!(found.contains("greeter") && found.contains("pdf-tools"), "{sort}: {found}");
    }
    let exact = client.run(&["search", "greeter", "--exact"]).succeeded().stdout;
    assert!(exact.contains("greeter") && !exact.contains("pdf-tools"), "{exact}");
    for of in [&["--tag", "latest"][..], &["--version", "1.0.0", "--json"], &["--files"]] {
        let inspected = client.run(&[&["inspect", "@acme/greeter"][..], of].concat()).succeeded();
        assert!(inspected.stdout.contains("greeter"), "{of:?}: {}", inspected.stdout);
    }
    let listed = client.run(&["list"]).succeeded().stdout;
    assert!(listed.contains("pdf-tools"), "{listed}");
    client.run(&["pin", "@acme/pdf-tools", "--reason", "later"]).succeeded();
    stage.publish("acme/pdf-tools", "1.1.0", &borrowed(&agent_skill("1.1.0")));
    client.run(&["update", "--all"]).succeeded();
    assert!(client.read("skills/@acme/pdf-tools/SKILL.md").contains("# PDF 1.0.0"));
    client.run(&["unpin", "@acme/pdf-tools"]).succeeded();
    client.run(&["update", "--all"]).succeeded();
    assert!(client.read("skills/@acme/pdf-tools/SKILL.md").contains("# PDF 1.1.0"));
    client.run(&["uninstall", "@acme/pdf-tools", "--yes"]).succeeded();

    // What it finds on the disk and the registry has not is published by `sync`.
    client.write("mine/other/SKILL.md", "---\nname: other\ndescription: Other.\n---\n\n# Other\n");
    let sync = ["sync", "--root", "mine", "--all", "--json"];
    let planned = client.run(&[&sync[..], &["--dry-run"]].concat()).succeeded().stdout;
    assert!(planned.contains("\"other\""), "{planned}");
    client.run(&sync).succeeded();
    stage.ada.run(&["show", "acme/other"]).succeeded();

    for (arguments, what) in [
        (&["login"][..], "clawhub login --token"),
        (&["star", "@acme/greeter", "--yes"], "no stars"),
        (&["unstar", "@acme/greeter", "--yes"], "no stars"),
        (&["transfer", "list"], "skillpkg owner add"),
        (&["transfer", "request", "@acme/greeter", "@ada", "--yes"], "skillpkg owner add"),
        (&["skill", "rename", "@acme/greeter", "hello", "--yes"], "publish under the new one"),
        (&["skill", "merge", "@acme/greeter", "@acme/other", "--yes"], "publish under the one"),
        (&["skill", "tag", "@acme/greeter", "1.0.0", "--yes"], "no tags"),
        (&["scan", "--slug", "greeter"], "scans nothing"),
        (&["package", "explore", "x"], "no packages"),
        (&["package", "inspect", "x"], "no packages"),
        (&["publisher", "create", "house"], "skillpkg-registry scope add"),
    ] {
        let refused = client.run(arguments);
        let told = told(&refused);
        assert!(refused.code != 0 && told.contains(what), "{arguments:?}: {} {told}", refused.code);
    }
    client.run(&["logout"]).succeeded();
    client.run(&["whoami"]).ended_with(1);
}
