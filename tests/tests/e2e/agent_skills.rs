//! `skills` of npm, which speaks Agent Skills discovery, against a running registry.

use skillpkg_tests::{OtherClient, relay};

use crate::faces::{HARD, Stage, agent_skill, borrowed};

fn skills(stage: &Stage, test: &str, directory: &str) -> Option<OtherClient> {
    OtherClient::skills(test, &stage.context.path(directory))
}

#[test]
fn skills_installs_updates_and_restores_from_an_index_of_one_skill() {
    let stage = Stage::new();
    let test = "skills_installs_updates_and_restores_from_an_index_of_one_skill";
    let Some(client) = skills(&stage, test, "skills") else { return };
    let first = agent_skill("1.0.0");
    stage.publish("acme/pdf-tools", "1.0.0", &borrowed(&first));
    let url = format!("{}/s/acme/pdf-tools", stage.url());
    client.run(&["add", &url, "-a", "claude-code", "-y"]).succeeded();
    for (path, text) in &first {
        assert_eq!(client.read(&format!(".claude/skills/pdf-tools/{path}")), *text, "{path}");
    }
    let lock = client.read("skills-lock.json");
    assert!(lock.contains(&url) && lock.contains("\"wellKnownDigest\": \"sha256:"), "{lock}");

    // The same digest as long as the version is the current one, and another with the next.
    client.run(&["update", "-y"]).succeeded();
    assert_eq!(client.read("skills-lock.json"), lock);
    stage.publish("acme/pdf-tools", "1.1.0", &borrowed(&agent_skill("1.1.0")));
    client.run(&["update", "-p", "-y"]).succeeded();
    let updated = client.read(".claude/skills/pdf-tools/SKILL.md");
    assert!(updated.contains("# PDF 1.1.0"), "{updated}");
    assert_ne!(client.read("skills-lock.json"), lock);

    // A version by its number stays what it is.
    let Some(pinned) = skills(&stage, test, "pinned") else { return };
    let url = format!("{}/s/acme/pdf-tools/1.0.0", stage.url());
    pinned.run(&["add", &url, "-a", "claude-code", "-y"]).succeeded();
    assert!(pinned.read(".claude/skills/pdf-tools/SKILL.md").contains("# PDF 1.0.0"));
    assert!(pinned.read("skills-lock.json").contains("1.0.0"));
}

#[test]
fn skills_lists_a_scope_and_the_whole_registry_and_reads_hard_skills() {
    let stage = Stage::new();
    let test = "skills_lists_a_scope_and_the_whole_registry_and_reads_hard_skills";
    let Some(client) = skills(&stage, test, "skills") else { return };
    stage.publish("acme/pdf-tools", "1.0.0", &borrowed(&agent_skill("1.0.0")));
    stage.publish("acme/waitlist", "1.0.0", &[("SKILL.md", HARD)]);
    stage.publish("hush/plans", "1.0.0", &[("SKILL.md", &HARD.replace("waitlist", "plans"))]);
    stage.publish("alone", "1.0.0", &[("SKILL.md", &HARD.replace("waitlist", "alone"))]);

    let listed = client.run(&["add", &stage.url(), "--list"]).succeeded().stdout;
    for (name, is_listed) in
        [("pdf-tools", true), ("waitlist", true), ("alone", true), ("plans", false)]
    {
        assert_eq!(listed.contains(name), is_listed, "{name}: {listed}");
    }
    let scope = format!("{}/s/acme", stage.url());
    client.run(&["add", &scope, "--skill", "waitlist", "-a", "claude-code", "-y"]).succeeded();
    // One line more than was published, and nothing else.
    let served = HARD.replacen("---\n", "---\nname: waitlist\n", 1);
    assert_eq!(client.read(".claude/skills/waitlist/SKILL.md"), served);
    assert!(!client.has(".claude/skills/pdf-tools"));
    client
        .run(&["add", &format!("{}/s/nobody", stage.url()), "-a", "claude-code", "-y"])
        .ended_with(1);
}

#[test]
fn skills_installs_nothing_that_was_changed_on_its_way() {
    let stage = Stage::new();
    let test = "skills_installs_nothing_that_was_changed_on_its_way";
    let Some(client) = skills(&stage, test, "skills") else { return };
    stage.publish("acme/pdf-tools", "1.0.0", &borrowed(&agent_skill("1.0.0")));
    let relay = relay(&stage.url(), |request, bytes| {
        if request.contains("skill.tar.gz") {
            let at = bytes.len() - 24;
            bytes[at] ^= 1;
        }
    });
    client
        .run(&["add", &format!("{relay}/s/acme/pdf-tools"), "-a", "claude-code", "-y"])
        .ended_with(1);
    assert!(!client.has(".claude/skills/pdf-tools"));
}

#[test]
fn skills_reaches_what_is_private_by_a_token_in_the_path_that_can_only_read() {
    let stage = Stage::new();
    let test = "skills_reaches_what_is_private_by_a_token_in_the_path_that_can_only_read";
    let Some(client) = skills(&stage, test, "skills") else { return };
    stage.publish("hush/plans", "1.0.0", &[("SKILL.md", &HARD.replace("waitlist", "plans"))]);
    let add = |url: String| client.run(&["add", &url, "-a", "claude-code", "-y"]);
    add(format!("{}/s/hush/plans", stage.url())).ended_with(1);
    let everything = stage.ada.token.clone().unwrap();
    add(format!("{}/t/{everything}/s/hush/plans", stage.url())).ended_with(1);
    let read = stage.token("ada", &["read"]);
    add(format!("{}/t/{read}/s/hush/plans", stage.url())).succeeded();
    assert!(client.has(".claude/skills/plans/SKILL.md"));
    assert!(client.read("skills-lock.json").contains(&read));
}

/// Frontmatter and files that are odd and are published all the same: each is read as it was meant, or
/// the index says why it has it not.
#[test]
fn skills_reads_every_odd_skill_that_an_index_has() {
    let stage = Stage::new();
    let test = "skills_reads_every_odd_skill_that_an_index_has";
    let Some(client) = skills(&stage, test, "skills") else { return };
    let long = format!("references/{}/{}.md", "d".repeat(90), "e".repeat(60));
    let odd: [(&str, &str, &str); 9] = [
        ("bom", "\u{feff}---\nname: bom\ndescription: d\n---\n# x\n", "a.md"),
        ("crlf", "---\r\nname: crlf\r\ndescription: d\r\n---\r\n# x\r\n", "a.md"),
        (
            "hard-crlf",
            "---\r\nskill: hard-crlf\r\ndescription: d\r\nincludes: a.md\r\n---\r\n# x\r\n",
            "a.md",
        ),
        (
            "both",
            "---\nskill: both\nname: both\ndescription: d\nincludes: a.md\n---\n# x\n",
            "a.md",
        ),
        ("7", "---\nskill: 7\ndescription: d\nincludes: a.md\n---\n# x\n", "a.md"),
        ("under_score", "---\nname: under_score\ndescription: d\n---\n# x\n", "bin/tool"),
        ("long", "---\nname: long\ndescription: d\n---\n# x\n", &long),
        ("unicode", "---\nname: unicode\ndescription: d\n---\n# x\n", "references/été.md"),
        ("prose", "---\nname: prose\ndescription: Use when: asked\n---\n# x\n", "a.md"),
    ];
    for (name, skill_file, path) in odd {
        let files = [("SKILL.md", skill_file), (path, "more\n")];
        stage.publish(&format!("acme/{name}"), "1.0.0", &files);
    }
    let url = format!("{}/s/acme", stage.url());
    client.run(&["add", &url, "--skill", "*", "-a", "claude-code", "-y"]).succeeded();
    for (name, _, path) in &odd[..8] {
        let directory = name.replace('_', "-");
        let found = client.read(&format!(".claude/skills/{directory}/{path}"));
        assert_eq!(found, "more\n", "{name}");
    }
    assert!(!client.has(".claude/skills/prose"));
}

#[test]
fn skills_takes_large_and_nested_files_and_one_of_a_name_in_two_scopes() {
    let stage = Stage::new();
    let test = "skills_takes_large_and_nested_files_and_one_of_a_name_in_two_scopes";
    let Some(client) = skills(&stage, test, "skills") else { return };
    let skill = |of: &str| format!("---\nname: pdf-tools\ndescription: Of {of}.\n---\n\n# x\n");
    let large = "0123456789abcdef".repeat(512 * 1024);
    let deep = "a/b/c/d/e/f/g/h/i.md";
    let files = [
        ("SKILL.md", skill("acme")),
        ("large.txt", large.clone()),
        (deep, "deep\n".to_owned()),
        ("scripts/run.sh", "#!/bin/sh\necho hi\n".to_owned()),
    ];
    stage.publish("acme/pdf-tools", "1.0.0", &borrowed(&files));
    let listed = |of: &str| {
        client.run(&["add", &format!("{}{of}", stage.url()), "--list"]).succeeded().stdout
    };
    assert!(listed("").contains("Of acme."));
    // One directory for both: the whole registry's index has the bare one, and each its own index.
    stage.publish("pdf-tools", "1.0.0", &[("SKILL.md", &skill("all"))]);
    let whole = listed("");
    assert!(whole.contains("Of all.") && !whole.contains("Of acme."), "{whole}");
    assert!(listed("/s/acme").contains("Of acme.") && listed("/s/_").contains("Of all."));

    let scope = format!("{}/s/acme", stage.url());
    client.run(&["add", &scope, "--skill", "pdf-tools", "-a", "claude-code", "-y"]).succeeded();
    let at = |path: &str| format!(".claude/skills/pdf-tools/{path}");
    assert_eq!(client.read(&at("large.txt")).len(), large.len());
    assert_eq!(client.read(&at(deep)), "deep\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let script = client.project.join(at("scripts/run.sh")).metadata().unwrap();
        assert_eq!(script.permissions().mode() & 0o111, 0, "the client keeps no executable bit");
    }
    // Nothing newer, and it stays what it is; then it goes.
    client.run(&["check", "-p", "-y"]).succeeded();
    assert!(client.has(&at("SKILL.md")));
    assert!(client.run(&["list"]).succeeded().stdout.contains("pdf-tools"));
    client.run(&["remove", "pdf-tools", "-y"]).succeeded();
    assert!(!client.has(&at("SKILL.md")));
    // A skill that is not in the index is not installed, and that is told.
    client.run(&["add", &scope, "--skill", "other", "-a", "claude-code", "-y"]).ended_with(1);
}
