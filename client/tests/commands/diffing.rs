use serde_json::json;

use crate::support::Machine;

const BEFORE: &str = "---\nskill: notes\nversion: 1.0.0\ndescription: Keeps notes, for a test.\n\
                      includes: keep.sh\n---\n\nAsk the user twice.\n\n\
                      ```tool\nid: keep\ndescription: Keeps a note.\nrun: sh keep.sh $note\n\
                      params:\n  note:\n    type: string\n    description: The note.\n```\n";

fn two(machine: &Machine) {
    machine.write("before/SKILL.md", BEFORE);
    machine.write("before/keep.sh", "#!/bin/sh\necho \"$1\"\n");
    let after = BEFORE
        .replace("1.0.0", "1.1.0")
        .replace("the user", "the owner")
        .replace("sh keep.sh $note", "bash keep.sh --all $note")
        .replace("The note.", "The whole note.");
    machine.write("after/SKILL.md", after);
    machine.write("after/keep.sh", "#!/bin/sh\necho \"kept \u{1b}[2J$1\"\n");
}

#[test]
fn what_skills_may_do_is_told_before_their_files() {
    let machine = Machine::new();
    two(&machine);
    let told = machine.ok(&["diff", "before", "after"]).stdout;
    let at = |text: &str| told.find(text).unwrap_or_else(|| panic!("{text}:\n{told}"));
    let order = [
        "notes@1.0.0 -> notes@1.1.0\n",
        "\nAdds\n  + program `bash` is new\n",
        "\nPrograms\n  + bash\n  - sh\n",
        "\nRun lines of tools\n  ~ keep\n    - sh keep.sh $note\n    + bash keep.sh --all $note\n",
        "\nParams of tools\n  ~ keep.note\n",
        "\nFiles\n  ~ SKILL.md",
        "Ask the [-user-]{+owner+} twice.\n",
        "\n-echo \"$1\"\n+echo \"kept \\u{1b}[2J$1\"\n",
    ];
    let places: Vec<usize> = order.iter().map(|text| at(text)).collect();
    assert!(places.is_sorted(), "{places:?}\n{told}");
    assert!(!told.contains('\u{1b}'));

    let summary = machine.ok(&["diff", "before", "after", "--summary"]).stdout;
    assert!(summary.contains("~ keep.sh") && !summary.contains("twice"), "{summary}");
}

#[test]
fn a_difference_is_an_exit_code_only_where_that_is_asked_for() {
    let machine = Machine::new();
    two(&machine);
    assert_eq!(machine.run(&["diff", "before", "after"]).code, 0);
    assert_eq!(machine.run(&["diff", "before", "after", "--exit-code"]).code, 6);
    let same = machine.run(&["diff", "before", "before", "--exit-code", "--json"]);
    assert_eq!((same.code, &same.json()["same"]), (0, &json!(true)));
    assert_eq!(machine.run(&["diff", "before", "nothing-here"]).code, 1);
}

#[test]
fn an_archive_is_held_against_the_directory_it_came_from() {
    let machine = Machine::with_key();
    two(&machine);
    machine.ok(&["pack", "before", "-o", "before.skill.tar.zst", "-q"]);
    let same = machine.ok(&["diff", "before.skill.tar.zst", "before", "--json"]).json();
    assert_eq!(same["same"], json!(true), "{same}");
    assert_eq!(same["before"]["signers"][0]["verified"], json!(true));
    assert_eq!(same["after"]["signers"], json!(null));

    let told = machine.ok(&["diff", "before.skill.tar.zst", "after", "--json"]).json();
    let file = told["files"].as_array().unwrap().iter().find(|file| file["path"] == "keep.sh");
    assert_eq!(
        file.unwrap()["hunks"],
        json!([{ "before": 1, "after": 1, "pieces": [
            { "is": "same", "text": "#!/bin/sh\n" },
            { "is": "removed", "text": "echo \"$1\"\n" },
            { "is": "added", "text": "echo \"kept \u{1b}[2J$1\"\n" },
        ] }])
    );

    // One byte of it is another.
    let path = machine.work().join("before.skill.tar.zst");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let refused = machine.run(&["diff", "before.skill.tar.zst", "after"]);
    assert!(matches!(refused.code, 1 | 3), "{}", refused.shown());
    assert!(refused.stdout.is_empty(), "{}", refused.stdout);
}

#[cfg(unix)]
#[test]
fn what_cannot_be_told_as_text_is_said_to_be_so_and_never_printed() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let machine = Machine::new();
    for (side, byte) in [("before", 1_u8), ("after", 2)] {
        let text = "---\nname: notes\nversion: 1.0.0\ndescription: Keeps notes.\n---\n\nKeep.\n";
        machine.write(&format!("{side}/SKILL.md"), text);
        machine.write(&format!("{side}/binary"), [0, byte]);
        machine.write(&format!("{side}/latin.md"), [b'e', 0xe0 + byte, b'\n']);
        machine.write(&format!("{side}/long.txt"), vec![b'a' + byte; 1024 * 1024 + 1]);
        machine.write(&format!("{side}/many.txt"), format!("{byte}\n").repeat(40_000));
        machine.write(&format!("{side}/ends.md"), if byte == 1 { "a\nb\n" } else { "a\r\nb\r\n" });
        let script = machine.write(&format!("{side}/run.sh"), "#!/bin/sh\n");
        let mode = if byte == 1 { 0o644 } else { 0o755 };
        std::fs::set_permissions(script, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let told = machine.ok(&["diff", "before", "after", "--json"]).json();
    let files = told["files"].as_array().unwrap();
    let content: Vec<(&str, &str)> = files
        .iter()
        .map(|file| (file["path"].as_str().unwrap(), file["content"].as_str().unwrap()))
        .collect();
    assert_eq!(
        content,
        [
            ("binary", "binary"),
            ("ends.md", "words"),
            ("latin.md", "binary"),
            ("long.txt", "too_long"),
            ("many.txt", "words"),
            ("run.sh", "same"),
        ]
    );
    assert_eq!((&files[4]["cut"], &files[1]["cut"]), (&json!(true), &json!(null)));
    assert!(told.to_string().len() < 512 * 1024);
    let lines = machine.ok(&["diff", "before", "after"]).stdout;
    assert!(!lines.contains('\r') && !lines.contains('\0'), "a control character is printed");
    assert!(lines.contains("~ run.sh  644 10 bytes -> 755 10 bytes"), "{}", &lines[..400]);

    // A link in a directory is nothing that could be packed, and is not followed.
    symlink("/etc/passwd", machine.work().join("after/link.md")).unwrap();
    let refused = machine.run(&["diff", "before", "after"]);
    assert_eq!(refused.code, 1, "{}", refused.shown());
    assert!(refused.stderr.contains("link.md") && !refused.stderr.contains("root:"));
}
