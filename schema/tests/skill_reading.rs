//! A skill read from its files: includes, programs, capabilities, requirements.

use skillpkg_schema::skill::{Rules, Skill};
use skillpkg_schema::tree::{Entry, MemoryTree, Tree};
use skillpkg_schema::{Faults, diagnostic::Diagnostic};

fn tree(files: &[(&str, &str)]) -> MemoryTree {
    let mut tree = MemoryTree::default();
    for (path, content) in files {
        tree.insert(*path, path.starts_with("bin/") || *path == "go.sh", *content);
    }
    tree
}

fn skill_md(frontmatter: &str, run: &str) -> String {
    let tool = format!("```tool\nid: t\ndescription: d\nrun: {run}\n```\n");
    let tool = if run.is_empty() { "" } else { &tool };
    format!("---\n{frontmatter}\ndescription: d\n---\nProse.\n\n{tool}")
}

fn read(tree: &dyn Tree) -> Result<Skill, Faults> {
    Skill::read(tree, Rules::Strict)
}

fn included(skill: &Skill) -> Vec<&str> {
    skill.included.iter().map(skillpkg_schema::SkillPath::as_str).collect()
}

fn has(diagnostics: &[Diagnostic], code: &str) -> bool {
    diagnostics.iter().any(|one| one.code == code)
}

#[test]
fn a_fault_of_the_file_hides_no_missing_include() {
    for frontmatter in [
        "skill: s\nincludes: ../up.py, gone.py, there.py",
        "skill: s\nincludes: [/abs.py, gone.py]",
        "includes: gone.py",
    ] {
        let source = skill_md(frontmatter, "");
        let tree = tree(&[("SKILL.md", &source), ("there.py", "")]);
        let faults = read(&tree).unwrap_err();
        let codes: Vec<&str> = faults.diagnostics().iter().map(|one| &*one.code).collect();
        assert_eq!(codes.iter().filter(|code| **code == "include_missing").count(), 1, "{codes:?}");
        assert!(codes.len() > 1, "{codes:?}");
    }
}

#[test]
fn includes_that_spaces_separate_are_told_of_commas() {
    let source = skill_md("skill: s\nincludes: a.sh b.md", "");
    let faults = read(&tree(&[("SKILL.md", &source), ("a.sh", ""), ("b.md", "")])).unwrap_err();
    let missing = faults.diagnostics().iter().find(|one| one.code == "include_missing").unwrap();
    assert!(missing.hint.as_deref().unwrap().contains("commas"), "{missing:?}");
}

#[test]
fn includes_expand_to_sorted_files_each_once() {
    let files = [
        ("a.py", ""),
        ("Z", ""),
        ("d/.hidden", ""),
        ("d/e/f", ""),
        ("d-x", ""),
        ("other", ""),
        ("SKILL.md", &*skill_md("skill: s\nincludes: d, ./a.py, d/e/, Z, a.py, d-x, SKILL.md", "")),
    ];
    let skill = read(&tree(&files)).unwrap();
    assert_eq!(included(&skill), ["Z", "a.py", "d-x", "d/.hidden", "d/e/f"]);
    let files = [("b", ""), ("a/c", ""), ("SKILL.md", &skill_md("skill: s\nincludes: .", ""))];
    assert_eq!(included(&read(&tree(&files)).unwrap()), ["a/c", "b"]);
}

#[test]
fn an_include_that_is_no_file_is_refused_at_its_line() {
    for (includes, code) in [
        ("gone", "include_missing"),
        ("a/gone", "include_missing"),
        ("a/b/c", "include_missing"),
        ("con", "file_name"),
        ("trailing.", "file_name"),
    ] {
        let source = skill_md(&format!("skill: s\nincludes: {includes}"), "");
        let faults = read(&tree(&[("SKILL.md", &source), ("a/b", "")])).unwrap_err();
        let first = faults.first();
        assert_eq!((first.code.as_str(), first.line), (code, Some(3)), "{first}");
    }
}

#[cfg(unix)]
#[test]
fn links_and_pipes_are_refused_at_every_step() {
    use std::os::unix::fs::symlink;
    for includes in ["link/a", "d", "d/l", ".", "dangling", "sock", "empty"] {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir_all(root.join("d/e")).unwrap();
        std::fs::create_dir(root.join("empty")).unwrap();
        std::fs::write(root.join("d/e/a"), "x").unwrap();
        std::fs::write(root.join("secret"), "x").unwrap();
        symlink("d/e", root.join("link")).unwrap();
        symlink("../secret", root.join("d/l")).unwrap();
        symlink("gone", root.join("dangling")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.join("sock")).unwrap();
        let source = skill_md(&format!("skill: s\nincludes: d/e, {includes}"), "");
        std::fs::write(root.join("SKILL.md"), source).unwrap();
        let tree = skillpkg_schema::tree::DirectoryTree::open(root).unwrap();
        let faults = read(&tree).expect_err(includes);
        let codes: Vec<&str> = faults.diagnostics().iter().map(|one| one.code.as_str()).collect();
        let wanted = match includes {
            "sock" => "file_is_special",
            "empty" => "include_empty",
            _ => "file_is_link",
        };
        assert!(codes.contains(&wanted), "{includes}: {codes:?}");
    }
}

#[test]
fn the_file_itself_must_be_there_and_small() {
    for files in [vec![], vec![("skill.md", "x")], vec![("SKILL.md/x", "x")]] {
        let faults = read(&tree(&files)).unwrap_err();
        assert_eq!(faults.first().code, "skill_file_missing");
    }
    let long = "x".repeat(1024 * 1024 + 1);
    assert_eq!(read(&tree(&[("SKILL.md", &long)])).unwrap_err().first().code, "file_unreadable");
}

#[test]
fn a_program_with_a_relative_path_is_a_packed_file() {
    let script = ("bin/go.sh", "");
    for (frontmatter, run, is_read) in [
        ("skill: s\nincludes: bin", "bin/go.sh x", true),
        ("skill: s\nincludes: bin", "./bin/go.sh x", true),
        ("skill: s", "bin/go.sh", false),
        ("skill: s\nincludes: SKILL.md", "bin/go.sh", false),
        ("skill: s\nincludes: bin", "bin/gone.sh", false),
        ("skill: s\nincludes: bin", "bin/../bin/go.sh", false),
        ("skill: s\nincludes: bin", "~/bin/go.sh", false),
        ("skill: s\nincludes: bin", "bin/", false),
        ("name: s", "bin/go.sh", true),
        ("name: s", "go.sh", true),
        ("skill: s", "uv", true),
    ] {
        let source = skill_md(frontmatter, run);
        let read = read(&tree(&[("SKILL.md", &source), script]));
        assert_eq!(read.is_ok(), is_read, "{frontmatter}: {run}");
        if let Err(faults) = read {
            assert_eq!(faults.first().code, "program_missing");
        }
    }
}

#[test]
fn a_program_that_does_not_travel_or_does_not_run_is_told() {
    let source = skill_md("skill: s", "/usr/bin/env x");
    let skill = read(&tree(&[("SKILL.md", &source)])).unwrap();
    assert!(has(&skill.warnings, "program_absolute"));
    let source = skill_md("name: s", "./go.py");
    let skill = read(&tree(&[("SKILL.md", &source), ("go.py", "")])).unwrap();
    assert!(has(&skill.warnings, "program_not_executable"));
}

#[test]
fn capabilities_are_read_from_packed_files_alone() {
    let json = "{\"resources\": {\"guide.md\": \"The guide.\"}}";
    let files = |frontmatter: &str| {
        tree(&[("SKILL.md", &skill_md(frontmatter, "")), ("skill.json", json), ("guide.md", "x")])
    };
    for (frontmatter, resources) in
        [("name: s", 1), ("skill: s\nincludes: skill.json, guide.md", 1), ("skill: s", 0)]
    {
        let skill = read(&files(frontmatter)).unwrap();
        assert_eq!(skill.capabilities.resources.len(), resources, "{frontmatter}");
        assert_eq!(has(&skill.warnings, "capability_file_not_packed"), resources == 0);
    }
    // The guide is there, but would not be in the archive.
    assert!(read(&files("skill: s\nincludes: skill.json")).is_err());
}

#[test]
fn the_archive_reads_as_the_directory_did() {
    let source = skill_md("skill: s\nincludes: bin, skill.json, guide.md", "bin/go.sh");
    let json = "{\"resources\": {\"guide.md\": \"The guide.\"}}";
    let files =
        [("SKILL.md", &*source), ("skill.json", json), ("guide.md", "x"), ("bin/go.sh", "")];
    let whole = tree(&[&files[..], &[("left/out", ""), ("bin2/x", "")]].concat());
    let (here, there) = (read(&whole).unwrap(), read(&tree(&files)).unwrap());
    assert_eq!(here.file, there.file);
    assert_eq!(here.included, there.included);
    assert_eq!(here.capabilities, there.capabilities);
    assert_eq!(here.warnings, there.warnings);
}

#[test]
fn tools_resources_and_scripts_share_a_name_space() {
    let source =
        "---\nname: s\ndescription: d\n---\n```tool\nid: read_guide\ndescription: d\nrun: x\n```\n";
    let json = "{\"resources\": {\"guide.md\": \"The guide.\"}}";
    let faults =
        read(&tree(&[("SKILL.md", source), ("skill.json", json), ("guide.md", "x")])).unwrap_err();
    let first = faults.first().to_string();
    assert!(
        first.contains("read_guide") && first.contains("line 5") && first.contains("guide.md"),
        "{first}"
    );
}

#[test]
fn links_of_the_prose_that_lead_nowhere_are_told() {
    let source = "---\nname: s\ndescription: d\n---\n[a](references/a.md) [b](references/b.md#x) \
                  [c](references/) [d](https://x.y) [e](../e.md)\n";
    let skill = read(&tree(&[("SKILL.md", source), ("references/a.md", "")])).unwrap();
    let told: Vec<&str> = skill
        .warnings
        .iter()
        .filter(|one| one.code == "reference_missing")
        .map(|one| one.message.as_str())
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("references/b.md") && told[1].contains("outside"), "{told:?}");
}

#[test]
fn requirements_are_read_in_every_dialect() {
    let nested = "metadata:\n  openclaw:\n    os: [darwin, linux, Win32]\n    requires:\n      bins: \
                  [uv, git]\n      anyBins: [node, bun]\n      env: [TOKEN]";
    let flow = "metadata: {\"clawdbot\": {\"os\": [\"darwin\", \"linux\", \"win32\"], \"requires\": \
                {\"bins\": [\"uv\", \"git\", \"uv\"], \"anyBins\": [\"node\", \"bun\"], \"env\": [\"TOKEN\"]}}}";
    let text = "metadata: '{\"openclaw\": {\"os\": \"macos, linux, windows\", \"requires\": {\"bins\": \
                \"uv, git\", \"anyBins\": [\"node\", \"bun\"], \"env\": [\"TOKEN\"]}}}'";
    for frontmatter in [nested, flow, text] {
        let source = skill_md(&format!("name: s\n{frontmatter}"), "");
        let requires = read(&tree(&[("SKILL.md", &source)])).unwrap().requires;
        assert_eq!(requires.all, ["uv", "git"], "{frontmatter}");
        assert_eq!(requires.any, ["node", "bun"]);
        assert_eq!(requires.env, ["TOKEN"]);
        assert_eq!(requires.os, ["macos", "linux", "windows"]);
    }
    let hermes = skill_md("name: s\nprerequisites:\n  commands: [jq]\n  env_vars: [KEY]", "");
    let requires = read(&tree(&[("SKILL.md", &hermes)])).unwrap().requires;
    assert_eq!((requires.all, requires.env), (vec!["jq".to_owned()], vec!["KEY".to_owned()]));
    for odd in
        ["metadata: x", "metadata: '{'", "metadata: {openclaw: {requires: [a]}}", "metadata: [a]"]
    {
        let source = skill_md(&format!("name: s\n{odd}"), "");
        assert!(read(&tree(&[("SKILL.md", &source)])).unwrap().requires.is_empty(), "{odd}");
    }
}

#[test]
fn a_tree_that_cannot_be_listed_is_an_error_with_the_reason() {
    struct Broken(MemoryTree);
    impl Tree for Broken {
        fn entry(&self, path: &str) -> std::io::Result<Option<Entry>> {
            self.0.entry(path)
        }
        fn list(&self, _: &str) -> std::io::Result<Vec<(String, Entry)>> {
            Err(std::io::Error::other("the disk \u{1b}[31m failed"))
        }
        fn open(&self, path: &str) -> std::io::Result<Box<dyn std::io::Read + Send + '_>> {
            self.0.open(path)
        }
    }
    let source = skill_md("skill: s\nincludes: d", "");
    let faults = read(&Broken(tree(&[("SKILL.md", &source), ("d/x", "")]))).unwrap_err();
    assert!(faults.first().message.contains("the disk \\u{1b}[31m failed"), "{faults}");
}
