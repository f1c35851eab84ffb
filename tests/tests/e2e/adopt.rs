//! A project moves from another tool to skillpkg: what is exactly a published version is taken over,
//! and nothing else is touched.

use std::fs;
use std::path::Path;

use serde_json::Value;
use skillpkg_tests::{Machine, OtherClient, copy_all};

use crate::faces::{HARD, Stage, agent_skill, borrowed};

/// The project's own client in the project of another.
fn in_project_of(stage: &Stage, client: &OtherClient) -> Machine {
    stage.context.machine("ben").in_project(&client.project)
}

fn adopted(answer: &Value) -> Vec<String> {
    let adopted = answer["adopted"].as_array().unwrap().iter();
    adopted
        .map(|one| {
            format!("{}@{}", one["name"].as_str().unwrap(), one["version"].as_str().unwrap())
        })
        .collect()
}

fn left<'a>(answer: &'a Value, key: &str) -> &'a Value {
    let left = answer["left"].as_array().unwrap();
    left.iter().find(|one| one["key"] == key).unwrap()
}

fn is_ours(path: &Path) -> bool {
    path.read_link().is_ok_and(|target| target.is_absolute())
}

#[test]
fn a_project_of_npx_skills_is_taken_over_and_an_edited_skill_is_kept() {
    let stage = Stage::new();
    let test = "a_project_of_npx_skills_is_taken_over_and_an_edited_skill_is_kept";
    let Some(client) = OtherClient::skills(test, &stage.context.path("skills")) else { return };
    stage.publish("acme/pdf-tools", "1.0.0", &borrowed(&agent_skill("1.0.0")));
    stage.publish("acme/waitlist", "1.0.0", &[("SKILL.md", HARD)]);
    stage.publish("acme/edited", "1.0.0", &[("SKILL.md", &HARD.replace("waitlist", "edited"))]);
    for (name, agents) in [
        ("pdf-tools", &["claude-code", "cursor"][..]),
        ("waitlist", &["claude-code"]),
        ("edited", &["claude-code"]),
    ] {
        let url = format!("{}/s/acme/{name}", stage.url());
        let mut arguments = vec!["add", &url, "-y"];
        for agent in agents {
            arguments.extend(["-a", agent]);
        }
        client.run(&arguments).succeeded();
    }
    stage.publish("acme/pdf-tools", "1.1.0", &borrowed(&agent_skill("1.1.0")));
    let edited = client.project.join(".claude/skills/edited/SKILL.md");
    let mine = format!("{}Mine.\n", fs::read_to_string(&edited).unwrap());
    fs::write(&edited, &mine).unwrap();
    let lock = client.read("skills-lock.json");

    let ben = in_project_of(&stage, &client);
    let before = ben.picture();
    let shown = ben.run(&["adopt", "--dry-run", "--json"]).succeeded().json();
    assert_eq!(adopted(&shown), ["acme/pdf-tools@1.0.0", "acme/waitlist@1.0.0"]);
    assert_eq!(shown["changed"], false);
    let kept = left(&shown, "edited");
    assert_eq!(
        (&kept["code"], &kept["nearest"]["name"]),
        (&"differs".into(), &"acme/edited".into())
    );
    assert_eq!(kept["nearest"]["differing"][0]["path"], "SKILL.md");
    assert_eq!(ben.run(&["adopt", "--json"]).ended_with(5).error_code(), "approval_required");
    assert_eq!(ben.picture(), before);

    let done = ben.run(&["adopt", "-y"]).succeeded();
    assert!(done.stderr.contains("`skills-lock.json` is left as it is"), "{}", done.stderr);
    let at = |path: &str| client.project.join(path);
    for path in [".claude/skills/pdf-tools", ".agents/skills/pdf-tools", ".claude/skills/waitlist"]
    {
        assert!(is_ours(&at(path)), "{path}");
    }
    // What its author published: byte for byte, and executable where it was.
    assert_eq!(client.read(".claude/skills/waitlist/SKILL.md"), HARD);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let script = at(".claude/skills/pdf-tools/scripts/run.sh");
        assert_eq!(script.metadata().unwrap().permissions().mode() & 0o111, 0o111);
    }
    assert_eq!(fs::read_to_string(&edited).unwrap(), mine);
    assert_eq!(client.read("skills-lock.json"), lock);
    let wanted = client.read("skillpkg.toml");
    assert!(wanted.contains("\"acme/pdf-tools\" = \"1.0.0\""), "{wanted}");
    ben.run(&["verify"]).succeeded();
    ben.run(&["sync", "--check"]).succeeded();

    // Again, there is nothing left to do, and what was kept still is.
    let again = ben.run(&["adopt", "-y", "--json"]).succeeded().json();
    assert!(adopted(&again).is_empty());
    assert_eq!(again["present"].as_array().unwrap().len(), 2);
    assert_eq!(left(&again, "edited")["code"], "differs");
    // From here on it is a project like any other.
    ben.run(&["update", "-y"]).succeeded();
    assert!(client.read(".claude/skills/pdf-tools/SKILL.md").contains("# PDF 1.1.0"));
}

#[test]
fn what_npx_skills_has_for_all_projects_is_taken_over() {
    let stage = Stage::new();
    let test = "what_npx_skills_has_for_all_projects_is_taken_over";
    let Some(client) = OtherClient::skills(test, &stage.context.path("skills")) else { return };
    stage.publish("acme/waitlist", "1.0.0", &[("SKILL.md", HARD)]);
    let url = format!("{}/s/acme/waitlist", stage.url());
    client.run(&["add", &url, "-g", "-a", "claude-code", "-a", "codex", "-y"]).succeeded();
    let lock = client.home.join(".agents/.skill-lock.json");
    let before = fs::read_to_string(&lock).unwrap();
    let mut ben = in_project_of(&stage, &client);
    ben.user_home.clone_from(&client.home);
    let done = ben.run(&["adopt", "--global", "-y", "--json"]).succeeded().json();
    assert_eq!(adopted(&done), ["acme/waitlist@1.0.0"]);
    for directory in [".agents/skills", ".claude/skills"] {
        let path = client.home.join(directory).join("waitlist");
        assert!(is_ours(&path), "{directory}");
        assert_eq!(fs::read_to_string(path.join("SKILL.md")).unwrap(), HARD);
    }
    assert_eq!(fs::read_to_string(&lock).unwrap(), before);
    assert!(!ben.project.join("skillpkg.toml").exists());
    let again = ben.run(&["adopt", "--global", "--json"]).succeeded().json();
    assert_eq!((adopted(&again).len(), &again["present"][0]), (0, &"waitlist".into()));
}

#[test]
fn a_project_of_apm_is_taken_over_with_its_ranges() {
    let stage = Stage::new();
    let test = "a_project_of_apm_is_taken_over_with_its_ranges";
    let Some(client) = OtherClient::apm(test, &stage.context.path("apm")) else { return };
    stage.publish("acme/pdf-tools", "1.0.0", &borrowed(&agent_skill("1.0.0")));
    stage.publish("acme/waitlist", "1.2.0", &[("SKILL.md", HARD)]);
    client.write(
        "apm.yml",
        &format!(
            "name: demo\nversion: 1.0.0\nregistries:\n  skillpkg:\n    url: {}/apm\n  default: \
             skillpkg\ndependencies:\n  apm:\n    - acme/pdf-tools#~1.0.0\n    - \
             acme/waitlist#1.2.0\n",
            stage.url()
        ),
    );
    client.run(&["install", "--target", "claude"]).succeeded();
    let lock = client.read("apm.lock.yaml");
    let ben = in_project_of(&stage, &client);
    ben.run(&["adopt", "-y"]).succeeded();
    for name in ["pdf-tools", "waitlist"] {
        assert!(is_ours(&client.project.join(".claude/skills").join(name)), "{name}");
    }
    let wanted = client.read("skillpkg.toml");
    assert!(wanted.contains("\"acme/pdf-tools\" = \"~1.0.0\""), "{wanted}");
    assert!(wanted.contains("\"acme/waitlist\" = \"=1.2.0\""), "{wanted}");
    assert_eq!(client.read("apm.lock.yaml"), lock);
    ben.run(&["sync", "--check"]).succeeded();
}

#[test]
fn a_project_of_clawhub_is_taken_over() {
    let stage = Stage::new();
    let test = "a_project_of_clawhub_is_taken_over";
    let directory = stage.context.path("clawhub");
    let Some(client) = OtherClient::clawhub(test, &directory, &stage.url()) else { return };
    stage.publish("acme/pdf-tools", "1.0.0", &borrowed(&agent_skill("1.0.0")));
    stage.publish("acme/waitlist", "1.0.0", &[("SKILL.md", HARD)]);
    client.run(&["install", "@acme/pdf-tools"]).succeeded();
    client.run(&["install", "waitlist"]).succeeded();
    // Where somebody writes skills of their own, of whom no entry tells.
    let own = client.project.join("skills/own");
    copy_all(&client.project.join("skills/waitlist"), &own);
    let ben = in_project_of(&stage, &client);
    let done = ben.run(&["adopt", "-y", "--json"]).succeeded().json();
    assert_eq!(adopted(&done), ["acme/pdf-tools@1.0.0", "acme/waitlist@1.0.0"]);
    for path in ["skills/@acme/pdf-tools", "skills/waitlist", ".agents/skills/pdf-tools"] {
        assert!(is_ours(&client.project.join(path)), "{path}");
    }
    assert!(own.join("SKILL.md").is_file() && !is_ours(&own));
    ben.run(&["sync", "--check"]).succeeded();
}

#[test]
fn directories_alone_are_taken_over_and_hostile_files_are_told_and_never_followed() {
    let stage = Stage::new();
    stage.publish("acme/pdf-tools", "1.0.0", &borrowed(&agent_skill("1.0.0")));
    stage.publish("waitlist", "1.0.0", &[("SKILL.md", HARD)]);
    let mut ben = stage.context.machine("ben");
    for (path, text) in agent_skill("1.0.0") {
        ben.write(format!(".claude/skills/pdf-tools/{path}"), &text);
    }
    ben.write(".claude/skills/waitlist/SKILL.md", HARD);
    let mine = "---\nname: own\ndescription: Mine.\n---\n\nMine.\n";
    ben.write(".claude/skills/own/SKILL.md", mine);
    let outside = stage.context.path("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("SKILL.md"), HARD).unwrap();
    let name = outside.file_name().unwrap().to_str().unwrap();
    ben.write(
        "skills-lock.json",
        &format!(
            "{{\"version\":1,\"skills\":{{\"../../{name}\":{{\"source\":\"a/b\"}},\"\\u001b[31m\":{{\"source\":\"a/b\"}}}}}}"
        ),
    );
    ben.write("apm.lock.yaml", "lockfile_version: '1'\nlockfile_version: '1'\n");
    ben.write(".clawhub/lock.json", "{\"version\":1,\"skills\":{\"@../x\":{}}}");

    // The scope of a skill that no lockfile names is looked for in those of the account.
    let nobody = ben.run(&["adopt", "--dry-run", "--json"]).succeeded().json();
    assert_eq!(adopted(&nobody), ["waitlist@1.0.0"]);
    assert_eq!(left(&nobody, "pdf-tools")["code"], "not_published");
    ben.token.clone_from(&stage.ada.token);
    let before = ben.picture();
    let shown = ben.run(&["adopt", "--dry-run"]).succeeded();
    assert!(!shown.stdout.contains('\u{1b}') && !shown.stderr.contains('\u{1b}'));
    assert!(shown.stderr.contains("stands twice at line 2"), "{}", shown.stderr);
    assert_eq!(ben.picture(), before);
    let done = ben.run(&["adopt", "-y", "--json"]).succeeded().json();
    assert_eq!(adopted(&done), ["acme/pdf-tools@1.0.0", "waitlist@1.0.0"]);
    for key in [&format!("../../{name}"), "\u{1b}[31m", "@../x"] {
        assert_eq!(left(&done, key)["code"], "entry_refused");
    }
    let own = left(&done, "own");
    assert_eq!(own["code"], "not_published");
    assert!(own["next"][0].as_str().unwrap().contains("skillpkg publish .claude/skills/own"));
    assert_eq!(ben.read(".claude/skills/own/SKILL.md"), mine);
    assert_eq!(fs::read_to_string(outside.join("SKILL.md")).unwrap(), HARD);
    ben.run(&["sync", "--check"]).succeeded();
}

/// A registry with `waitlist`, and a machine on which another tool has placed it.
fn placed() -> (Stage, Machine) {
    let stage = Stage::new();
    stage.publish("waitlist", "1.0.0", &[("SKILL.md", HARD)]);
    let ben = stage.context.machine("ben");
    ben.write(".claude/skills/waitlist/SKILL.md", HARD);
    (stage, ben)
}

#[test]
fn a_taking_over_that_was_killed_is_finished_by_the_next_one_which_says_so() {
    let (_stage, ben) = placed();
    ben.run(&["adopt", "-y"]).succeeded();
    let link = ben.project.join(".claude/skills/waitlist");
    // As a kill between the journal and the first exchange leaves it.
    let projects = ben.home.join("state/projects");
    let entries = fs::read_dir(&projects).unwrap().map(|entry| entry.unwrap().path());
    let state = entries.filter(|path| path.extension().is_some_and(|one| one == "json"));
    let state = state.collect::<Vec<_>>().remove(0);
    let mut remembered: Value = serde_json::from_slice(&fs::read(&state).unwrap()).unwrap();
    remembered.as_object_mut().unwrap().remove("root");
    let placed = remembered["placed"].as_array().unwrap().clone();
    let step = |placed: &Value| {
        let address = &placed["address"];
        let after =
            serde_json::json!({"address": address, "placement": "link", "discard_edits": false});
        serde_json::json!({"path": placed["path"], "name": placed["name"], "after": after})
    };
    let journal = serde_json::json!({
        "version": 1,
        "steps": placed.iter().map(step).collect::<Vec<_>>(),
        "project": {"after": ben.read("skillpkg.toml")},
        "lock": {"after": ben.read("skillpkg.lock")},
        "state": remembered,
    });
    for one in &placed {
        fs::remove_file(one["path"].as_str().unwrap()).unwrap();
    }
    for file in ["skillpkg.toml", "skillpkg.lock"] {
        fs::remove_file(ben.project.join(file)).unwrap();
    }
    fs::remove_file(&state).unwrap();
    fs::write(state.with_extension("journal"), journal.to_string()).unwrap();

    let looked = ben.run(&["adopt", "--dry-run"]).succeeded();
    assert!(looked.stderr.contains("was cut short here"), "{}", looked.stderr);
    assert!(!link.exists(), "a look finishes nothing");
    let next = ben.run(&["adopt", "-y"]).succeeded();
    assert!(next.stderr.contains("finishing a change that was cut short"), "{}", next.stderr);
    assert!(next.stderr.contains("What was begun is finished"), "{}", next.stderr);
    for untrue in ["No other tool", "Nothing was changed"] {
        assert!(!next.stderr.contains(untrue), "{}", next.stderr);
    }
    assert!(is_ours(&link));
    ben.run(&["sync", "--check"]).succeeded();
    let again = ben.run(&["adopt", "-y"]).succeeded();
    assert!(again.stderr.contains("Nothing was changed"), "{}", again.stderr);
}

#[test]
fn a_skill_file_that_lost_its_byte_order_mark_is_taken_over_with_a_word() {
    let stage = Stage::new();
    stage.publish("waitlist", "1.0.0", &[("SKILL.md", &format!("\u{feff}{HARD}"))]);
    let ben = stage.context.machine("ben");
    // As `skills` writes it, with the line that the registry adds and without.
    let named = HARD.replacen("---\n", "---\nname: waitlist\n", 1);
    for (directory, text) in [(".claude", HARD), (".cursor", named.as_str())] {
        ben.write(format!("{directory}/skills/waitlist/SKILL.md"), text);
    }
    let shown = ben.run(&["adopt", "-y"]).succeeded();
    assert!(shown.stdout.contains("has lost the byte order mark"), "{}", shown.stdout);
    let text = ben.read(".claude/skills/waitlist/SKILL.md");
    assert_eq!(text, format!("\u{feff}{HARD}"), "what was signed, byte for byte");
    ben.run(&["verify"]).succeeded();
}

#[test]
fn a_name_that_nothing_here_has_is_refused_with_the_nearest() {
    let (_stage, ben) = placed();
    let before = ben.picture();
    let refused = ben.run(&["adopt", "--only", "waitlst", "-y"]).ended_with(1);
    assert!(refused.stderr.contains("did you mean `waitlist`?"), "{}", refused.stderr);
    let refused = ben.run(&["adopt", "--only", "waitlist", "--only", "zzz", "-y"]).ended_with(1);
    assert!(refused.stderr.contains("adopt --dry-run"), "{}", refused.stderr);
    assert_eq!(ben.picture(), before);
    for _ in 0..2 {
        ben.run(&["adopt", "--only", "waitlist", "-y"]).succeeded();
    }
}

#[test]
fn what_lies_above_is_told_and_which_project_is_meant() {
    let (_stage, ben) = placed();
    let beneath = ben.in_project(&ben.project.join("packages/web"));
    let told = beneath.run(&["adopt", "--dry-run"]).succeeded();
    let above = format!("`skillpkg adopt {}`", ben.project.display());
    assert!(told.stderr.contains(&above), "{}", told.stderr);
    let there = beneath.run(&["adopt", ben.project.to_str().unwrap(), "-y"]).succeeded();
    assert!(there.stdout.contains("adopted waitlist@1.0.0"), "{}", there.stdout);
    // From then on the project is what has the file, and that is told.
    let told = beneath.run(&["adopt", "--dry-run"]).succeeded();
    let project = format!("The project is `{}`", ben.project.display());
    assert!(told.stderr.contains(&project), "{}", told.stderr);
    assert!(!ben.run(&["adopt"]).succeeded().stderr.contains("The project is"));
}

#[test]
fn a_lockfile_that_is_none_is_told_with_what_to_do() {
    let (_stage, ben) = placed();
    let entry = "{\"version\":1,\"skills\":{\"waitlist\":{\"source\":\"a/b\"}}}";
    ben.write("skills-lock.json", &format!("\u{feff}{entry}"));
    let shown = ben.run(&["adopt", "--dry-run", "--json"]).succeeded().json();
    assert_eq!(shown["files"][0]["entries"], 1, "{shown}");
    assert_eq!(shown["adopted"][0]["tools"][0], "skills");
    for damaged in ["", "{\"version\":1,", "[]"] {
        ben.write("skills-lock.json", damaged);
        let told = ben.run(&["adopt", "--dry-run"]).succeeded();
        assert!(told.stderr.contains("looked at all the same"), "{damaged}: {}", told.stderr);
        assert!(told.stdout.contains("exact     waitlist"), "{damaged}: {}", told.stdout);
        let refused = ben.run(&["adopt", "skills-lock.json", "-y", "--json"]).ended_with(1);
        assert_eq!(refused.error_code(), "lockfile_unread", "{damaged}");
    }
    fs::remove_file(ben.project.join("skills-lock.json")).unwrap();
    fs::create_dir(ben.project.join("skills-lock.json")).unwrap();
    ben.run(&["adopt", "skills-lock.json"]).ended_with(1);
    ben.write("README.md", "");
    let refused = ben.run(&["adopt", "README.md"]).ended_with(2);
    assert!(refused.stderr.contains("`skills-lock.json` of `skills`"), "{}", refused.stderr);
}
