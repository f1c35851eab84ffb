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
