use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::skill::Rules;
use crate::tree::{MemoryTree, Tree as _};

fn entry(path: &str, content: &str) -> FileEntry {
    let digests = Digests::of(content.as_bytes());
    FileEntry::new(path.parse().unwrap(), Mode::Regular, digests)
}

fn least() -> Manifest {
    Manifest {
        schema: MANIFEST_SCHEMA.to_owned(),
        name: "waitlist".parse().unwrap(),
        version: "1.0.0".parse().unwrap(),
        description: "d".to_owned(),
        license: None,
        dialect: Dialect::Agent,
        files: vec![entry("SKILL.md", "x")],
        tools: Vec::new(),
        resources: Vec::new(),
        scripts: Vec::new(),
        programs: Vec::new(),
        requires: Requires::default(),
        metadata: serde_json::Map::new(),
    }
}

fn script(timeout_seconds: u64, maximum_output_bytes: u64) -> ScriptEntry {
    ScriptEntry {
        name: "run".to_owned(),
        description: "d".to_owned(),
        path: "SKILL.md".parse().unwrap(),
        runtime: "python".to_owned(),
        contract: "{}".to_owned(),
        fingerprint: Sha256Digest::of(b"{}"),
        requires_permission: true,
        timeout_seconds,
        maximum_output_bytes,
    }
}

/// What reading `manifest`'s own bytes is refused for.
fn refusal(manifest: &Manifest) -> ManifestError {
    Manifest::from_bytes(&manifest.to_bytes()).unwrap_err()
}

fn with(change: impl FnOnce(&mut Manifest)) -> Manifest {
    let mut manifest = least();
    change(&mut manifest);
    manifest
}

#[test]
fn each_fault_of_the_files_is_told_apart() {
    let unsorted = with(|one| one.files.push(entry("A.md", "")));
    assert!(matches!(refusal(&unsorted), ManifestError::NotSorted(..)));
    let twice = with(|one| one.files.push(entry("SKILL.md", "")));
    assert!(matches!(refusal(&twice), ManifestError::NotSorted(..)));
    let folded = with(|one| one.files.push(entry("skill.md", "")));
    assert!(matches!(refusal(&folded), ManifestError::Paths(_)));
    let directory = with(|one| one.files.extend([entry("a", ""), entry("a/b", "")]));
    assert!(matches!(refusal(&directory), ManifestError::Paths(_)));
    let none = with(|one| one.files.clear());
    assert_eq!(refusal(&none), ManifestError::NoSkillFile);
    let heavy = with(|one| one.files[0].size = MAX_UNPACKED_BYTES + 1);
    assert_eq!(refusal(&heavy), ManifestError::TooManyBytes(MAX_UNPACKED_BYTES + 1));
    let overflowing = with(|one| {
        let file = FileEntry { size: u64::MAX, ..entry("SKILL.md", "") };
        one.files = vec![FileEntry { path: "A".parse().unwrap(), ..file.clone() }, file];
    });
    // Written as a float would be: what comes out is not what went in.
    assert!(Manifest::from_bytes(&overflowing.to_bytes()).is_err());
    let many = with(|one| {
        one.files = (0..=MAX_FILES).map(|number| entry(&format!("{number:05}"), "")).collect();
    });
    assert_eq!(refusal(&many), ManifestError::TooManyFiles(MAX_FILES + 1));
}

#[test]
fn each_fault_of_the_text_is_told_apart() {
    let bytes = least().to_bytes();
    let text = String::from_utf8(bytes.clone()).unwrap();
    let read = |text: &str| Manifest::from_bytes(text.as_bytes()).unwrap_err();
    assert!(matches!(read(""), ManifestError::Shape(_)));
    assert!(matches!(read("{}"), ManifestError::Shape(_)));
    assert!(matches!(read(&format!("\u{feff}{text}")), ManifestError::Shape(_)));
    assert!(matches!(read(&format!("{text}{text}")), ManifestError::Shape(_)));
    let unknown = text.replacen('{', "{\"a\":1,", 1);
    assert!(matches!(read(&unknown), ManifestError::Shape(_)));
    let duplicate = text.replacen('{', "{\"description\":\"x\",", 1);
    assert!(matches!(read(&duplicate), ManifestError::Shape(_)));
    assert!(matches!(read(&text.replace("\"size\":1", "\"size\":1.0")), ManifestError::Shape(_)));
    assert!(matches!(read(&text.replace("\"size\":1", "\"size\":-1")), ManifestError::Shape(_)));
    assert!(matches!(read(&text.replace("\"644\"", "\"777\"")), ManifestError::Shape(_)));
    for other in ["skillpkg.manifest/2", "skillpkg.manifest/1.0", ""] {
        let error = read(&text.replace(MANIFEST_SCHEMA, other));
        assert_eq!(error, ManifestError::Schema(other.to_owned()));
    }
    for other in [
        format!("{text}\n"),
        format!(" {text}"),
        text.replace("\"d\"", "\"\\u0064\""),
        text.replace("\"metadata\":{}", "\"metadata\":{\"a\":\"1\",\"a\":\"1\"}"),
        text.replace("\"metadata\":{}", "\"metadata\":{\"b\":\"1\",\"a\":\"1\"}"),
    ] {
        assert_eq!(read(&other), ManifestError::NotCanonical, "{other}");
    }
    let long = vec![b' '; MAX_MANIFEST_BYTES + 1];
    let error = Manifest::from_bytes(&long).unwrap_err();
    assert_eq!(error, ManifestError::TooLong(MAX_MANIFEST_BYTES + 1));
    let deep =
        text.replace("\"metadata\":{}", &format!("\"metadata\":{}", "{\"a\":".repeat(1_000)));
    assert!(matches!(read(&deep), ManifestError::Shape(_)));
}

#[test]
fn no_number_is_one_that_a_reader_may_round() {
    let greatest = (1_u64 << 53) - 1;
    assert!(
        Manifest::from_bytes(
            &with(|one| one.scripts = vec![script(greatest, greatest)]).to_bytes()
        )
        .is_ok()
    );
    for (timeout, most) in [(greatest + 1, 1), (1, greatest + 1), (greatest + 3, 1)] {
        let error = refusal(&with(|one| one.scripts = vec![script(timeout, most)]));
        assert_eq!(error, ManifestError::NumberTooGreat(timeout.max(most)));
    }
    for value in [json!(1), json!(1.5), json!(null), json!(true), json!(["a", {"b": 1}])] {
        let error = refusal(&with(|one| {
            one.metadata.insert("a".to_owned(), value);
        }));
        assert_eq!(error, ManifestError::Metadata);
    }
}

#[test]
fn values_are_counted_outside_of_texts() {
    assert_eq!(values(br#"{"a":[1,2],"b,[{":"\",[:"}"#), 6);
}

#[test]
fn five_thousand_files_with_the_longest_paths_are_within_the_bounds() {
    let path = |number| format!("{number:04}{}/{}", "x".repeat(96), "y".repeat(100));
    let manifest = with(|one| {
        one.files = (0..MAX_FILES - 1)
            .map(path)
            .chain(["SKILL.md".to_owned()])
            .map(|path| entry(&path, ""))
            .collect();
    });
    assert_eq!(Manifest::from_bytes(&manifest.to_bytes()), Ok(manifest));
}

#[test]
fn metadata_holds_texts_alone() {
    for (json, is_good) in [
        (r#"{"a":["b",{"c":"d"}]}"#, true),
        (r#"{"a":[1]}"#, false),
        (r#"{"a":{"b":true}}"#, false),
        ("null", false),
    ] {
        assert_eq!(is_textual(&serde_json::from_str(json).unwrap()), is_good, "{json}");
    }
}

#[test]
fn a_file_is_found_by_its_path() {
    let manifest = with(|one| one.files.push(entry("a/b", "bc")));
    assert_eq!(manifest.file("a/b").map(|file| file.size), Some(2));
    assert_eq!(manifest.file("a"), None);
    assert_eq!(manifest.unpacked_size(), 3);
}

fn any_metadata() -> impl Strategy<Value = serde_json::Map<String, serde_json::Value>> {
    let text = any::<String>().prop_map(serde_json::Value::String);
    let value = text.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::Array),
            prop::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    });
    prop::collection::btree_map(any::<String>(), value, 0..5)
        .prop_map(|members| members.into_iter().collect())
}

fn any_manifest() -> impl Strategy<Value = Manifest> {
    let files = prop::collection::btree_map("([a-c]{1,3}|[d-f]{1,3}/[a-f]{4})", "[a-z]{0,9}", 0..5);
    let texts = (any::<String>(), prop::option::of(any::<String>()));
    let numbers = (0..1_u64 << 53, 0..1_u64 << 53);
    (files, texts, numbers, any_metadata(), prop::collection::vec(any::<String>(), 0..3)).prop_map(
        |(files, (description, license), (timeout, most), metadata, words)| {
            with(|one| {
                one.files.extend(files.iter().map(|(path, content)| entry(path, content)));
                one.files.sort_by(|left, right| left.path.cmp(&right.path));
                one.description = description;
                one.license = license;
                one.scripts = vec![script(timeout, most)];
                one.metadata = metadata;
                one.requires.all = words.clone();
                one.tools = vec![ToolEntry {
                    id: "t".to_owned(),
                    description: words.concat(),
                    run: words,
                    schema: "{}".to_owned(),
                }];
            })
        },
    )
}

proptest! {
    #[test]
    fn a_manifest_is_read_as_it_is_written(manifest in any_manifest()) {
        prop_assert_eq!(Manifest::from_bytes(&manifest.to_bytes()), Ok(manifest));
    }

    #[test]
    fn changed_bytes_are_refused_or_are_another_manifest_of_exactly_those_bytes(
        manifest in any_manifest(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        kind in 0..3,
    ) {
        let mut bytes = manifest.to_bytes();
        let position = at.index(bytes.len());
        match kind {
            0 => bytes[position] = byte,
            1 => bytes.insert(position, byte),
            _ => {
                bytes.remove(position);
            }
        }
        if let Ok(read) = Manifest::from_bytes(&bytes) {
            prop_assert_eq!(read.to_bytes(), bytes);
        }
    }
}

const SKILL: &str = "---\nskill: waitlist\ndescription: Keeps a waitlist.\nincludes:\n  - handle.py\n  - skill.json\n  - references\n  - scripts\nauthor: A\n---\nUse it.\n\n```tool\nid: access\ndescription: Grants access.\nrun: uv run handle.py $user\nparams:\n  user:\n    description: Who.\n```\n";
const CAPABILITIES: &str = r#"{"resources":{"references/guide.md":"Reads the guide."},"scripts":{"scripts/normalize.py":{"description":"Normalizes.","runtime":"python","parameters":{"type":"object","properties":{},"required":[],"additionalProperties":false}}}}"#;

fn skill() -> MemoryTree {
    let mut tree = MemoryTree::default();
    for (path, content) in [
        ("SKILL.md", SKILL),
        ("handle.py", "print()"),
        ("references/guide.md", "Read me."),
        ("scripts/normalize.py", "pass"),
        ("skill.json", CAPABILITIES),
    ] {
        tree.insert(path, false, content);
    }
    tree
}

fn derived(tree: &MemoryTree) -> Manifest {
    let paths =
        ["SKILL.md", "handle.py", "references/guide.md", "scripts/normalize.py", "skill.json"];
    let files = paths
        .into_iter()
        .map(|path| entry(path, &String::from_utf8(tree.read(path, 1 << 20).unwrap()).unwrap()))
        .collect();
    let identity =
        Identity { name: "acme/waitlist".parse().unwrap(), version: "1.2.0".parse().unwrap() };
    derive(tree, files, &identity, Rules::Strict)
        .unwrap_or_else(|faults| panic!("{faults}"))
        .manifest
}

#[test]
fn a_manifest_that_its_files_give_is_verified() {
    let tree = skill();
    let manifest = derived(&tree);
    assert_eq!(manifest.tools.len() + manifest.resources.len() + manifest.scripts.len(), 3);
    let again = Manifest::from_bytes(&manifest.to_bytes()).unwrap();
    assert_eq!(verify_derived(&tree, &again).unwrap().manifest, manifest);
}

#[test]
fn a_manifest_that_claims_what_its_files_do_not_say_is_refused_by_its_field() {
    type Change = fn(&mut Manifest);
    let tree = skill();
    let manifest = derived(&tree);
    let changes: [(&str, Change); 10] = [
        ("description", |one| one.description.push('!')),
        ("license", |one| one.license = Some("MIT".to_owned())),
        ("dialect", |one| one.dialect = Dialect::Agent),
        ("tools", |one| one.tools[0].run.push("--all".to_owned())),
        ("tools", |one| one.tools.clear()),
        ("resources", |one| one.resources[0].path = "handle.py".parse().unwrap()),
        ("scripts", |one| one.scripts[0].requires_permission = false),
        ("programs", |one| one.programs.clear()),
        ("requires", |one| one.requires.env.push("TOKEN".to_owned())),
        ("metadata", |one| one.metadata.clear()),
    ];
    for (field, change) in changes {
        let mut claimed = manifest.clone();
        change(&mut claimed);
        let faults = verify_derived(&tree, &claimed).unwrap_err();
        let [fault] = faults.diagnostics() else { panic!("{faults}") };
        assert_eq!(fault.code, "manifest_mismatch");
        assert!(fault.message.contains(&format!("`{field}`")), "{faults}");
    }
    let mut both = manifest;
    both.description.clear();
    both.scripts[0].timeout_seconds += 1;
    assert_eq!(verify_derived(&tree, &both).unwrap_err().diagnostics().len(), 2);
}

#[test]
fn a_file_that_no_include_names_is_refused_and_one_of_a_whole_agent_skill_is_not() {
    let mut tree = skill();
    tree.insert("hidden.sh", true, "rm -r /");
    let mut manifest = derived(&tree);
    manifest.files.insert(2, entry("hidden.sh", "rm -r /"));
    let faults = verify_derived(&tree, &manifest).unwrap_err();
    let [fault] = faults.diagnostics() else { panic!("{faults}") };
    assert_eq!(
        (fault.code.as_str(), fault.file.as_deref()),
        ("file_not_included", Some("hidden.sh"))
    );

    let mut tree = MemoryTree::default();
    let text = "---\nname: notes\ndescription: Writes notes.\n---\nWrite them.\n";
    tree.insert("SKILL.md", false, text);
    tree.insert("more.md", false, "More.");
    let files = vec![entry("SKILL.md", text), entry("more.md", "More.")];
    let identity = Identity { name: "notes".parse().unwrap(), version: "1.0.0".parse().unwrap() };
    let derived = derive(&tree, files, &identity, Rules::Strict).unwrap();
    assert!(verify_derived(&tree, &derived.manifest).is_ok());
}
