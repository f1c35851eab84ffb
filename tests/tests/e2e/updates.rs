//! Updates that one can review: which there are, what each would change, and that asking changes
//! nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

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

/// All that a machine has, in its home, for its user and in its project: what each path holds, and when
/// it was changed.
fn everything(machine: &Machine) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut directories =
        vec![machine.home.clone(), machine.user_home.clone(), machine.project.clone()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let what = if metadata.is_symlink() {
                fs::read_link(&path).unwrap().to_string_lossy().into_owned()
            } else if metadata.is_dir() {
                directories.push(path.clone());
                String::new()
            } else {
                String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()
            };
            all.insert(path, format!("{:?} {what}", metadata.modified().unwrap()));
        }
    }
    all
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

    let all = everything(&ben);
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
    assert_eq!(everything(&ben), all);
    assert_eq!(ben.picture(), before);

    // Where nothing was ever installed, nothing is made either.
    let eve = context.machine("eve");
    for file in ["skillpkg.toml", "skillpkg.lock"] {
        eve.write(file, &ben.read(file));
    }
    let all = everything(&eve);
    let fresh = eve.json(&["update", "--dry-run"]);
    assert_eq!(fresh["would_update"][0]["version"], json!("1.1.0"), "{fresh}");
    assert_eq!(everything(&eve), all);

    // What changes stands above the question.
    let asked = ben.run(&["update", "--no-input"]).ended_with(5).stderr;
    assert!(asked.contains("what changes in all"), "{asked}");
    assert!(asked.contains("  ~ keep.sh"), "{asked}");
    assert!(asked.contains("  Ask the [-user-]{+owner+} twice."), "{asked}");

    ada.run(&["yank", "notes@1.0.0", "--reason", "loses notes"]).succeeded();
    let line = ben.run(&["outdated"]).ended_with(6).stdout;
    assert!(line.contains("1.0.0 was yanked: loses notes"), "{line}");

    ben.run(&["update", "--accept-permissions"]).succeeded();
    let line = ben.run(&["outdated"]).ended_with(0).stdout;
    assert!(line.starts_with("notes  1.1.0  newest 2.0.0"), "{line}");
    let all = ben.run(&["update", "--dry-run"]).succeeded();
    assert!(all.stdout.is_empty() && all.stderr.contains("nothing would be updated"));

    // What is there was forbidden since, and nothing else will do.
    let advise = ["advisory", "add", "notes@1.1.0", "--effect", "forbid", "--summary", "It leaks"];
    context.registry.command(&advise);
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    let line = ben.run(&["outdated"]).ended_with(6).stdout;
    assert!(line.contains("FORBIDDEN by advisory") && line.contains("It leaks"), "{line}");
    let told = ben.json(&["outdated"]);
    assert_eq!(told["skills"][0]["advisories"][0]["effect"], json!("forbid"), "{told}");
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
fn where_all_versions_are_too_young_the_newest_is_told_as_an_update_would_take_it() {
    let context = TestContext::new();
    let (_, ben) = three(&context);
    let policy = ben.configuration.with_file_name("policy.toml");
    fs::write(&policy, "minimum-release-age = \"7d\"\n").unwrap();
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
    let kept = PathBuf::from(told["kept"].as_str().unwrap());
    assert!(kept.starts_with(&ben.home));
    let before = fs::read_to_string(kept.join("SKILL.md")).unwrap();
    assert_eq!(before, text("Ask three times.", "Be brief."));
    assert_eq!(fs::read_to_string(kept.join("own.md")).unwrap(), "Mine.\n");

    let listed = ben.json(&["list"]);
    assert_eq!(listed["skills"][0]["version"], json!("1.1.0"));
    let modified = json!(["SKILL.md", "guide.md", "guide.md.merge", "own.md"]);
    assert_eq!(listed["skills"][0]["modified"], modified);
    ben.run(&["update", "--merge"]).ended_with(0);
}

#[test]
fn what_changes_is_told_though_nothing_is_asked() {
    let context = TestContext::new();
    let ada = context.author("ada");
    publish(&ada, "1.0.0", SKILL, "echo \"$1\"\n");
    let ben = context.machine("ben");
    ben.run(&["install", "notes@1.0", "-y"]).succeeded();
    publish(&ada, "1.0.1", &SKILL.replace("the user", "the owner"), "echo \"$1\"\n");
    let told = ben.run(&["update", "--no-input"]).succeeded();
    assert!(told.stderr.contains("what changes in notes@1.0.1:\n"), "{}", told.stderr);
    assert!(told.stderr.contains("  Ask the [-user-]{+owner+} twice."), "{}", told.stderr);
    assert_eq!(told.stdout, "updated notes from 1.0.0 to 1.0.1\n");
}

#[test]
fn a_merge_that_is_not_approved_changes_nothing_at_all() {
    let context = TestContext::new();
    let ada = context.author("ada");
    publish(&ada, "1.0.0", SKILL, "echo \"$1\"\n");
    let other = SKILL.replace("skill: notes", "skill: other");
    let directory = ada.project.join("other");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("SKILL.md"), &other).unwrap();
    fs::write(directory.join("keep.sh"), "true\n").unwrap();
    ada.run(&["publish", "other", "--version", "1.0.0"]).succeeded();
    let ben = context.machine("ben");
    ben.run(&["install", "notes@1", "other@1", "--copy", "-y"]).succeeded();
    ben.write(".agents/skills/notes/own.md", "Mine.\n");
    publish(&ada, "1.1.0", &SKILL.replace("run: sh", "run: bash"), "echo \"$1\"\n");
    fs::write(directory.join("SKILL.md"), other.replace("the user", "the owner")).unwrap();
    ada.run(&["publish", "other", "--version", "1.1.0"]).succeeded();

    let before = ben.picture();
    let refused = ben.run(&["update", "--merge", "-y", "--no-input"]).ended_with(5);
    assert!(refused.stderr.contains("program `bash` is new"), "{}", refused.stderr);
    assert_eq!(ben.picture(), before);
    assert!(!ben.home.join("edits").exists());

    let moved =
        ben.run(&["update", "--merge", "--accept-permissions", "--json"]).succeeded().json();
    assert_eq!(moved["updated"].as_array().unwrap().len(), 2, "{moved}");
    assert_eq!(moved["merged"][0]["conflicts"], json!([]), "{moved}");
    assert_eq!(ben.read(".agents/skills/notes/own.md"), "Mine.\n");
}

#[test]
fn a_doctor_finds_nothing_wrong_where_nothing_is_and_changes_nothing() {
    let context = TestContext::new();
    let (_, mut ben) = three(&context);
    let before = everything(&ben);
    let path = |answer: &serde_json::Value| {
        let complaints = answer["complaints"].as_array().unwrap();
        // PATH is that of whoever runs the tests; a hard skill has no name for MCP.
        let told =
            complaints.iter().filter(|one| one["area"] != "path" && one["note"] == json!(false));
        told.map(|one| one["area"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(path(&ben.run(&["doctor", "--json"]).json()), Vec::<String>::new());
    assert_eq!(everything(&ben), before);
    ben.registry = Some("http://127.0.0.1:9".to_owned());
    let answer = ben.run(&["doctor", "--json"]).ended_with(1).json();
    assert!(path(&answer).contains(&"registry".to_owned()), "{answer}");
    assert_eq!(everything(&ben), before);
}
