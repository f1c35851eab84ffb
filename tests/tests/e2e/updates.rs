//! Updates that one can review: which there are, what each would change, and that asking changes
//! nothing.

use std::fs;

use serde_json::json;
use skillpkg_tests::{Machine, TestContext};

const SKILL: &str = "---\nskill: notes\ndescription: Keeps notes, for a test.\n\
                     includes: keep.sh\n---\n\nAsk the user twice.\n\n\
                     ```tool\nid: keep\ndescription: Keeps a note.\nrun: sh keep.sh $note\n\
                     params:\n  note:\n    type: string\n    description: The note.\n```\n";

fn publish(author: &Machine, version: &str, skill: &str, script: &str) {
    let directory = author.project.join("notes");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("SKILL.md"), skill).unwrap();
    fs::write(directory.join("keep.sh"), script).unwrap();
    author.run(&["publish", "notes", "--version", version]).succeeded();
}

/// Three versions, of which the first is installed elsewhere.
fn three(context: &TestContext) -> (Machine, Machine) {
    let ada = context.author("ada");
    publish(&ada, "1.0.0", SKILL, "echo \"$1\"\n");
    let ben = context.machine("ben");
    ben.run(&["install", "notes@1.0", "-y"]).succeeded();
    let next = SKILL.replace("the user", "the owner");
    publish(&ada, "1.1.0", &next, "echo \"kept $1\"\n");
    publish(&ada, "2.0.0", &next.replace("run: sh", "run: bash"), "echo \"kept $1\"\n");
    (ada, ben)
}

#[test]
fn what_an_update_would_take_and_add_is_told_and_nothing_changes() {
    let context = TestContext::new();
    let (ada, ben) = three(&context);
    let before = ben.picture();

    let answer = ben.run(&["outdated"]).ended_with(6);
    let line = answer.stdout.lines().next().unwrap();
    assert!(
        line.starts_with("notes  1.0.0 -> 1.1.0  newest 2.0.0, which `1.0` does not"),
        "{line}"
    );
    assert!(line.contains("`keep.sh`, which tool `keep` runs, has other content"), "{line}");
    let told = ben.json(&["outdated"]);
    let skill = &told["skills"][0];
    assert_eq!(skill["current"], json!("1.0.0"));
    assert_eq!(skill["fits"], json!("1.1.0"));
    assert_eq!(skill["newest"], json!("2.0.0"));
    assert_eq!(skill["outdated"], json!(true));
    assert_eq!(skill["adds"].as_array().unwrap().len(), 1, "{skill}");

    let rehearsed = ben.run(&["update", "--dry-run"]).succeeded().stdout;
    for text in [
        "notes@1.0.0 -> notes@1.1.0\n",
        "Ask the [-user-]{+owner+} twice.\n",
        "-echo \"$1\"\n+echo \"kept $1\"\n",
    ] {
        assert!(rehearsed.contains(text), "{text}:\n{rehearsed}");
    }
    let rehearsed = ben.json(&["update", "--dry-run"]);
    let moving = &rehearsed["would_update"][0];
    assert_eq!((&moving["before"], &moving["version"]), (&json!("1.0.0"), &json!("1.1.0")));
    assert_eq!(moving["difference"]["same"], json!(false));
    assert_eq!(ben.picture(), before);

    // The summary stands above the question.
    let asked = ben.run(&["update", "--no-input"]).ended_with(5).stderr;
    assert!(asked.contains("what changes in all"), "{asked}");
    assert!(asked.contains("  ~ keep.sh"), "{asked}");

    ada.run(&["yank", "notes@1.0.0", "--reason", "loses notes"]).succeeded();
    let line = ben.run(&["outdated"]).ended_with(6).stdout;
    assert!(line.contains("1.0.0 was yanked: loses notes"), "{line}");

    ben.run(&["update", "--accept-permissions"]).succeeded();
    let line = ben.run(&["outdated"]).ended_with(0).stdout;
    assert!(line.starts_with("notes  1.1.0  newest 2.0.0"), "{line}");
    let all = ben.run(&["update", "--dry-run"]).succeeded();
    assert!(all.stdout.is_empty() && all.stderr.contains("nothing would be updated"));
}

#[test]
fn versions_addresses_directories_and_installed_skills_are_held_together() {
    let context = TestContext::new();
    let (ada, ben) = three(&context);
    let versions = ben.json(&["diff", "notes@1.0.0", "notes@=2.0.0"]);
    assert_eq!(versions["adds"][0], json!("program `bash` is new"));
    assert_eq!(versions["after"]["signers"][0]["account"], json!("ada"));

    let address = ben.json(&["show", "notes@=2.0.0"])["address"].as_str().unwrap().to_owned();
    let by_address = ben.json(&["diff", "notes", &address]);
    assert_eq!(by_address["changes"], versions["changes"]);
    assert_eq!(by_address["files"], versions["files"]);

    let directory = ada.project.join("notes");
    let same = ben.json(&["diff", &address, directory.to_str().unwrap()]);
    assert_eq!((&same["changes"], &same["files"]), (&json!([]), &json!([])), "{same}");

    // A whole version is that one, on a machine that has nothing; and nothing is kept of it.
    let eve = context.machine("eve");
    let exact = eve.json(&["diff", "notes@1.0.0", "notes@1.1.0"]);
    let versions = [&exact["before"]["version"], &exact["after"]["version"]];
    assert_eq!(versions, [&json!("1.0.0"), &json!("1.1.0")]);
    let snapshots = eve.home.join("snapshots");
    assert_eq!(fs::read_dir(snapshots).map_or(0, Iterator::count), 0);
}

#[test]
fn a_version_that_a_policy_keeps_back_is_said_to_be() {
    let context = TestContext::new();
    let (_, ben) = three(&context);
    let policy = ben.configuration.with_file_name("policy.toml");
    fs::write(&policy, "version = 1\nminimum-release-age = \"7d\"\n").unwrap();
    // All are young: of what is asked for the newest is taken all the same, as by an update.
    let told = ben.json(&["outdated"]);
    assert_eq!(told["skills"][0]["fits"], json!("1.1.0"), "{told}");
}

#[test]
fn edits_of_a_copy_are_merged_with_what_is_new_and_none_is_lost() {
    let context = TestContext::new();
    let ada = context.author("ada");
    let text = |first: &str, last: &str| {
        format!(
            "---\nname: notes\ndescription: Keeps notes, for a test.\n---\n\n{first}\n\nIn between.\n\
             \nStill there.\n\n{last}\n"
        )
    };
    let publish = |version: &str, skill: &str, guide: &str| {
        let directory = ada.project.join("notes");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("SKILL.md"), skill).unwrap();
        fs::write(directory.join("guide.md"), guide).unwrap();
        ada.run(&["publish", "notes", "--version", version]).succeeded();
    };
    publish("1.0.0", &text("Ask twice.", "Be brief."), "Read.\n");
    let ben = context.machine("ben");
    ben.run(&["install", "notes@1", "--copy", "-y"]).succeeded();
    let copy = ".agents/skills/notes";
    ben.write(format!("{copy}/SKILL.md"), &text("Ask three times.", "Be brief."));
    ben.write(format!("{copy}/guide.md"), "Read it aloud.\n");
    ben.write(format!("{copy}/own.md"), "Mine.\n");
    publish("1.1.0", &text("Ask twice.", "Be very brief."), "Read slowly.\n");

    // Without a word nothing is merged.
    let kept = ben.run(&["update"]).ended_with(6);
    assert!(kept.stderr.contains("`skillpkg update notes --merge`"), "{}", kept.stderr);
    assert_eq!(ben.read(format!("{copy}/guide.md")), "Read it aloud.\n");

    let merged = ben.run(&["update", "--merge", "--json"]).ended_with(6).json();
    let told = &merged["merged"][0];
    assert_eq!(told["merged"], json!(["SKILL.md"]), "{merged}");
    assert_eq!(
        told["conflicts"],
        json!([{ "file": "guide.md", "beside": "guide.md.merge" }]),
        "{merged}"
    );
    let read = |file: &str| ben.read(format!("{copy}/{file}"));
    assert_eq!(read("SKILL.md"), text("Ask three times.", "Be very brief."));
    assert_eq!(read("guide.md"), "Read it aloud.\n");
    assert_eq!(
        read("guide.md.merge"),
        "<<<<<<< yours\nRead it aloud.\n||||||| 1.0.0\nRead.\n=======\nRead slowly.\n>>>>>>> 1.1.0\n"
    );
    assert_eq!(read("own.md"), "Mine.\n");
    let kept = std::path::PathBuf::from(told["kept"].as_str().unwrap());
    assert!(kept.starts_with(&ben.home));
    let before = fs::read_to_string(kept.join("SKILL.md")).unwrap();
    assert_eq!(before, text("Ask three times.", "Be brief."));

    let listed = ben.json(&["list"]);
    assert_eq!(listed["skills"][0]["version"], json!("1.1.0"));
    let modified = json!(["SKILL.md", "guide.md", "guide.md.merge", "own.md"]);
    assert_eq!(listed["skills"][0]["modified"], modified);
    ben.run(&["update", "--merge"]).ended_with(0);
}
