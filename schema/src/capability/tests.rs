use proptest::prelude::*;

use super::*;
use crate::diagnostic::Severity;
use crate::tree::{DirectoryTree, MemoryTree};

const EMPTY: &str =
    r#"{"type":"object","properties":{},"required":[],"additionalProperties":false}"#;

/// A tree with these files and this `skill.json`.
fn tree(files: &[&str], skill_json: &str) -> MemoryTree {
    let mut tree = MemoryTree::default();
    for file in files {
        tree.insert(*file, false, "x");
    }
    tree.insert("skill.json", false, skill_json);
    tree
}

fn script(entry: &str) -> MemoryTree {
    tree(&["scripts/run.py"], &format!(r#"{{"scripts":{{"scripts/run.py":{{{entry}}}}}}}"#))
}

fn whole(more: &str) -> String {
    format!(r#""description":"Runs.","runtime":"python","parameters":{EMPTY}{more}"#)
}

/// The codes of the faults and warnings.
fn codes(tree: &dyn Tree, rules: Rules) -> Vec<String> {
    let diagnostics = match read(tree, rules) {
        Ok((_, warnings)) => warnings,
        Err(faults) => faults.into_diagnostics(),
    };
    diagnostics.into_iter().map(|one| one.code).collect()
}

#[test]
fn a_tree_without_the_file_has_none() {
    for rules in [Rules::Strict, Rules::Compatible] {
        let (capabilities, warnings) = read(&MemoryTree::default(), rules).unwrap();
        assert_eq!((capabilities, warnings), (Capabilities::default(), Vec::new()));
    }
}

#[test]
fn resources_and_scripts_are_read_and_named_by_their_files() {
    let tree = tree(
        &["references/Guide-2.md", "scripts/b.tar.sh", "scripts/A.py", ".env"],
        &format!(
            r#"{{"resources":{{"references/Guide-2.md":"Reads it.",".env":"The environment."}},
               "scripts":{{"scripts/b.tar.sh":{{"description":"B","runtime":"shell","parameters":{EMPTY},
                 "requiresPermission":false,"timeoutSeconds":60,"maximumOutputBytes":512000}},
               "scripts/A.py":{{"description":"A","runtime":"python","parameters":{EMPTY}}}}}}}"#
        ),
    );
    let (capabilities, warnings) = read(&tree, Rules::Strict).unwrap();
    assert_eq!(warnings, []);
    let resources: Vec<(&str, &str)> = capabilities
        .resources
        .iter()
        .map(|resource| (resource.name.as_str(), resource.path.as_str()))
        .collect();
    assert_eq!(resources, [("read__env", ".env"), ("read_guide_2", "references/Guide-2.md")]);
    let [a, b] = capabilities.scripts.as_slice() else { panic!("{capabilities:?}") };
    assert_eq!((a.name.as_str(), b.name.as_str()), ("a", "b_tar"));
    assert!(a.requires_permission && !b.requires_permission);
    assert_eq!((a.timeout, b.timeout), (DEFAULT_TIMEOUT, Duration::from_mins(1)));
    assert_eq!(a.maximum_output_bytes, DEFAULT_MAXIMUM_OUTPUT_BYTES);
    assert_eq!(b.maximum_output_bytes, 512_000);
    assert_eq!(a.contract.canonical(), Contract::compile(EMPTY).unwrap().canonical());
}

#[test]
fn each_fault_has_its_code_and_place() {
    let contract = r#""description":"d","runtime":"python","parameters":"#;
    for (entry, code) in [
        (whole(r#","timeoutSeconds":0"#), "wrong_type"),
        (whole(r#","timeoutSeconds":-1"#), "wrong_type"),
        (whole(r#","timeoutSeconds":1.5"#), "wrong_type"),
        (whole(r#","timeoutSeconds":"60""#), "wrong_type"),
        (whole(r#","timeoutSeconds":1e3"#), "wrong_type"),
        (whole(r#","maximumOutputBytes":0"#), "wrong_type"),
        (whole(r#","maximumOutputBytes":9007199254740992"#), "wrong_type"),
        (whole(r#","requiresPermission":"no""#), "wrong_type"),
        (whole(r#","requiresPermision":false"#), "unknown_key"),
        (whole("").replace("Runs.", " "), "missing_description"),
        (whole("").replace(r#""description":"Runs.","#, ""), "missing_description"),
        (whole("").replace(r#""Runs.""#, "1"), "wrong_type"),
        (whole("").replace(r#""python""#, r#""""#), "missing_runtime"),
        (whole("").replace(r#""runtime":"python","#, ""), "missing_runtime"),
        (whole("").replace(r#""python""#, "null"), "wrong_type"),
        (r#""description":"d","runtime":"python""#.to_owned(), "missing_parameters"),
        (format!("{contract}null"), "contract_refused"),
        (format!("{contract}{{}}"), "contract_refused"),
        (format!(r#"{contract}{{"type":"object"}}"#), "contract_refused"),
        (format!(r#"{contract}{{"$hpdContract":1}}"#), "contract_refused"),
        (format!(r#"{contract}{{"$hpdContract":"a.json","type":"object"}}"#), "contract_refused"),
        (format!(r#"{contract}{{"$hpdContract":"/etc/passwd"}}"#), "invalid_path"),
        (format!(r#"{contract}{{"$hpdContract":"../a.json"}}"#), "invalid_path"),
        (format!(r#"{contract}{{"$hpdContract":"file:///a.json"}}"#), "invalid_path"),
        (format!(r#"{contract}{{"$hpdContract":"contracts/a.json"}}"#), "missing_file"),
        (format!(r#"{contract}{{"$hpdContract":"scripts"}}"#), "not_a_file"),
        (format!(r#"{contract}{{"$hpdContract":"scripts/run.py"}}"#), "contract_refused"),
    ] {
        let faults = read(&script(&entry), Rules::Strict).unwrap_err();
        let first = faults.first();
        assert_eq!(faults.diagnostics().len(), 1, "{entry}: {faults}");
        assert_eq!(first.code, code, "{entry}: {faults}");
        assert!(first.line.is_some() && first.column.is_some(), "{entry}: {faults}");
    }
}

#[test]
fn a_runtime_that_each_user_must_configure_is_a_warning_once() {
    for runtime in super::BUILT_IN_RUNTIMES {
        let entry = whole("").replace(r#""python""#, &format!(r#""{runtime}""#));
        assert!(codes(&script(&entry), Rules::Strict).is_empty(), "{runtime}");
    }
    let (_, warnings) =
        read(&script(&whole("").replace(r#""python""#, r#""ruby""#)), Rules::Strict).unwrap();
    assert_eq!((warnings[0].code.as_str(), warnings[0].line), ("runtime_unusual", Some(1)));
    let hint = warnings[0].hint.as_deref().unwrap();
    assert!(hint.contains("`python`, `shell`, `javascript`, `wasm`"), "{hint}");

    let names: Vec<String> = (0..2 * MOST_FAULTS).map(|number| format!("s{number}.rb")).collect();
    let scripts: Vec<String> = names
        .iter()
        .map(|name| format!(r#""{name}":{{{}}}"#, whole("").replace(r#""python""#, r#""ruby""#)))
        .collect();
    let paths: Vec<&str> = names.iter().map(String::as_str).collect();
    let many = tree(&paths, &format!(r#"{{"scripts":{{{}}}}}"#, scripts.join(",")));
    assert_eq!(codes(&many, Rules::Strict), ["runtime_unusual"]);
}

#[test]
fn the_shape_of_the_file_is_checked() {
    for (text, code) in [
        ("", "invalid_json"),
        ("{\"a\":1,\"a\":2}", "invalid_json"),
        ("[]", "wrong_type"),
        (r#"{"resources":[]}"#, "wrong_type"),
        (r#"{"scripts":null}"#, "wrong_type"),
        (r#"{"resources":{"a.md":{"description":"d"}}}"#, "wrong_type"),
        (r#"{"resources":{"a.md":""}}"#, "missing_description"),
        (r#"{"resources":{"b.md":"d"}}"#, "missing_file"),
        (r#"{"resources":{"d":"d"}}"#, "not_a_file"),
        (r#"{"resources":{"./a.md":"d"}}"#, "invalid_path"),
        (r#"{"scripts":{"a.md":1}}"#, "wrong_type"),
    ] {
        assert_eq!(codes(&tree(&["a.md", "d/x"], text), Rules::Strict), [code], "{text}");
    }
    let mut not_text = tree(&[], "");
    not_text.insert("skill.json", false, b"{\"\xff\":1}".as_slice());
    assert_eq!(codes(&not_text, Rules::Strict), ["capability_file_unreadable"]);
}

#[test]
fn a_key_that_is_not_known_is_told_with_the_nearest() {
    let (_, warnings) = read(&tree(&[], "{\n \"resource\": {}}"), Rules::Strict).unwrap();
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert_eq!(warning.severity, Severity::Warning);
    assert_eq!(warning.hint.as_deref(), Some("did you mean `resources`?"));
    assert_eq!(
        (warning.file.as_deref(), warning.line, warning.column),
        (Some("skill.json"), Some(2), Some(2))
    );
    assert!(warning.message.contains("`/resource`"), "{warning}");
}

#[test]
fn a_manifest_of_another_tool_declares_nothing_and_is_told_once() {
    let files = ["a.py", "b.md"];
    for text in [
        r#"{"name":"x","version":"1.0.0","entry":"a.py","triggers":["y"]}"#,
        r#"{"name":"x","scripts":{"run":"a.py"}}"#,
        r#"{"name":"x","scripts":[{"name":"run","path":"a.py"}],"resources":["b.md"]}"#,
        r#"{"resources":{},"scripts":{},"name":"x"}"#,
        r#"{"resources":{"b":{"path":"b.md"}},"name":"x"}"#,
    ] {
        let (capabilities, warnings) = read(&tree(&files, text), Rules::Strict).unwrap();
        assert!(capabilities.resources.is_empty() && capabilities.scripts.is_empty(), "{text}");
        let told: Vec<&str> = warnings.iter().map(|one| one.code.as_str()).collect();
        assert_eq!(told, ["capability_file_foreign"], "{text}");
    }
    // One entry of ours makes the file ours, with all that is wrong in it.
    let ours = r#"{"name":"x","resources":{"b.md":"Reads b."},"scripts":{"run":"a.py"}}"#;
    assert_eq!(
        codes(&tree(&files, ours), Rules::Strict),
        ["unknown_key", "missing_file", "wrong_type"]
    );
    let nameless = r#"{"scripts":{"a.py":"python"}}"#;
    assert_eq!(codes(&tree(&files, nameless), Rules::Strict), ["wrong_type"]);
}

#[test]
fn every_fault_is_told_at_once_with_its_pointer() {
    let text = r#"{"resources":{"a.md":""},
 "scripts":{"scripts/run.py":{"timeoutSeconds":0,
   "parameters":{"type":"object","properties":{"a":{"type":"text"}},"additionalProperties":false}}}}"#;
    let faults = read(&tree(&["a.md", "scripts/run.py"], text), Rules::Strict).unwrap_err();
    let told: Vec<(&str, Option<u32>)> =
        faults.diagnostics().iter().map(|one| (one.code.as_str(), one.line)).collect();
    assert_eq!(
        told,
        [
            ("missing_description", Some(1)),
            ("missing_description", Some(2)),
            ("missing_runtime", Some(2)),
            ("wrong_type", Some(2)),
            ("contract_refused", Some(3)),
        ]
    );
    let pointer = "`/scripts/scripts~1run.py/parameters/properties/a/type`";
    assert!(faults.diagnostics()[4].message.contains(pointer), "{faults}");
}

#[test]
fn two_capabilities_of_one_name_are_told_both() {
    for files in [
        ["references/guide.md", "docs/Guide.txt"].as_slice(),
        &["references/a-b.md", "references/a_b.md"],
    ] {
        let entries: Vec<String> = files.iter().map(|file| format!(r#""{file}":"d""#)).collect();
        let text = format!(r#"{{"resources":{{{}}}}}"#, entries.join(","));
        let faults = read(&tree(files, &text), Rules::Strict).unwrap_err();
        assert_eq!(faults.first().code, "capability_collision");
        for file in files {
            assert!(faults.first().message.contains(file), "{faults}");
        }
    }
    let text = format!(
        r#"{{"resources":{{"a/run.md":"d"}},"scripts":{{"b/read_run.py":{{{}}}}}}}"#,
        whole("")
    );
    let both = tree(&["a/run.md", "b/read_run.py"], &text);
    assert_eq!(codes(&both, Rules::Strict), ["capability_collision"]);
}

#[test]
fn compatible_rules_make_descriptions_and_find_references() {
    let text = format!(
        r#"{{"resources":{{"references/a.md":" "}},"scripts":{{"scripts/run.py":{{"runtime":"python","parameters":{EMPTY},"label":"x"}}}}}}"#
    );
    let files = ["references/a.md", "references/deep/b.md", "scripts/run.py", "other.md"];
    let (capabilities, warnings) = read(&tree(&files, &text), Rules::Compatible).unwrap();
    let resources: Vec<(&str, &str)> = capabilities
        .resources
        .iter()
        .map(|resource| (resource.name.as_str(), resource.description.as_str()))
        .collect();
    assert_eq!(resources, [("read_a", "Reads `a.md`."), ("read_b", "Reads `b.md`.")]);
    assert_eq!(capabilities.scripts[0].description, "Runs `run.py`.");
    let told: Vec<&str> = warnings.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(told, ["derived_description", "derived_description", "unknown_key"]);

    let mut without = MemoryTree::default();
    without.insert("references/c.md", false, "x");
    assert_eq!(read(&without, Rules::Compatible).unwrap().0.resources.len(), 1);
    assert_eq!(read(&without, Rules::Strict).unwrap().0.resources.len(), 0);
}

#[test]
fn a_contract_in_a_file_of_its_own_is_told_of_by_its_own_lines() {
    let referring = r#"{"scripts":{
        "a.py":{"description":"d","runtime":"python","parameters":{"$hpdContract":"contracts/x.schema.json"}},
        "b.py":{"description":"d","runtime":"python","parameters":{"$hpdContract":"contracts/x.schema.json"}}}}"#;
    let mut files = tree(&["a.py", "b.py"], referring);
    files.insert("contracts/x.schema.json", false, EMPTY);
    let (capabilities, _) = read(&files, Rules::Strict).unwrap();
    assert_eq!(capabilities.scripts.len(), 2);
    assert_eq!(
        capabilities.scripts[0].contract.canonical(),
        Contract::compile(EMPTY).unwrap().canonical()
    );

    files.insert("contracts/x.schema.json", false, "{\n  \"type\": \"array\"}");
    let faults = read(&files, Rules::Strict).unwrap_err();
    let [fault] = faults.diagnostics() else { panic!("{faults}") };
    assert_eq!(
        (fault.code.as_str(), fault.file.as_deref()),
        ("contract_refused", Some("contracts/x.schema.json"))
    );
    assert_eq!(fault.line, Some(1));
}

#[cfg(unix)]
#[test]
fn links_are_refused_wherever_they_stand() {
    use std::os::unix::fs::symlink;
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    std::fs::create_dir_all(root.join("references")).unwrap();
    std::fs::create_dir_all(root.join("contracts")).unwrap();
    let outside = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(root.join("run.py"), "x").unwrap();
    symlink(outside.path(), root.join("references/link.md")).unwrap();
    symlink(outside.path(), root.join("contracts/link.json")).unwrap();
    symlink("references", root.join("linked")).unwrap();
    let text = r#"{"resources":{"references/link.md":"d","linked/link.md":"d"},
        "scripts":{"run.py":{"description":"d","runtime":"python","parameters":{"$hpdContract":"contracts/link.json"}}}}"#;
    std::fs::write(root.join("skill.json"), text).unwrap();
    let tree = DirectoryTree::open(root).unwrap();
    assert_eq!(codes(&tree, Rules::Strict), ["link_refused"; 3]);
    assert_eq!(codes(&tree, Rules::Compatible), ["link_refused"; 4]);
    std::fs::remove_file(root.join("skill.json")).unwrap();
    symlink(outside.path(), root.join("skill.json")).unwrap();
    assert_eq!(codes(&tree, Rules::Strict), ["capability_file_unreadable"]);
}

#[test]
fn a_hostile_file_costs_bounded_work() {
    let keys = |count: usize| {
        let keys: Vec<String> = (0..count).map(|key| format!("\"{key}\":\"\"")).collect();
        format!("{{{}}}", keys.join(","))
    };
    assert_eq!(codes(&tree(&[], &keys(200_000)), Rules::Strict), ["invalid_json"]);
    for kind in ["resources", "scripts"] {
        let entries = |count| format!("{{\"{kind}\":{}}}", keys(count));
        assert_eq!(codes(&tree(&[], &entries(5_001)), Rules::Strict), ["too_many_entries"]);
        let faults = codes(&tree(&[], &entries(5_000)), Rules::Strict);
        assert_eq!(faults.last().map(String::as_str), Some("too_many_faults"));
    }
    let faults = codes(&tree(&[], &keys(40_000)), Rules::Strict);
    assert_eq!(faults.len(), MOST_FAULTS + 1);
    assert_eq!(faults.last().map(String::as_str), Some("too_many_faults"));
    let deep = format!("{{\"scripts\":{}", "[".repeat(1_000_000));
    assert_eq!(codes(&tree(&[], &deep), Rules::Strict), ["invalid_json"]);
}

proptest! {
    #[test]
    fn no_text_makes_reading_panic(text in any::<String>(), at in any::<prop::sample::Index>()) {
        let _ = read(&tree(&["scripts/run.py"], &text), Rules::Strict);
        let whole = format!(r#"{{"resources":{{"a.md":"d"}},"scripts":{{"scripts/run.py":{{{}}}}}}}"#, whole(""));
        let mut characters: Vec<char> = whole.chars().collect();
        characters.remove(at.index(characters.len()));
        let changed: String = characters.into_iter().collect();
        let _ = read(&tree(&["a.md", "scripts/run.py"], &changed), Rules::Compatible);
    }
}
