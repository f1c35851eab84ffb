//! A directory, its archive, and the same files again.

use std::collections::BTreeMap;

use skillpkg_schema::manifest::Mode;
use skillpkg_schema::signature::{SigningKey, verify_release};
use skillpkg_store::archive::{Bounds, Reader};
use skillpkg_store::attacks::{Collected, SIGNING_KEY};

use crate::support::{archive, directory, packed, plan, skill};

const HARD: &str = "---\nskill: hard\ndescription: A hard one.\nversion: 2.0.0\nincludes: handle.py, \
                    data\n---\nCall it.\n\n```tool\nid: access\ndescription: Gives access.\nrun: \
                    ./handle.py $user\nparams:\n  user:\n    type: string\n```\n";

#[test]
fn a_directory_is_packed_and_unpacked_again() {
    let files = [
        ("SKILL.md", HARD, false),
        ("handle.py", "#!/usr/bin/env python3\n", true),
        ("data/a.sql", "select 1;\n", false),
        ("data/.hidden", "h\n", false),
        ("notes.txt", "not packed\n", false),
    ];
    let directory = directory(&files);
    let packing = plan(directory.path()).unwrap();
    let bytes = archive(&packing);

    let reader = Reader::open(bytes.as_slice(), Bounds::default()).unwrap();
    let manifest = reader.manifest().clone();
    assert_eq!(&manifest, packing.manifest());
    let key = SigningKey::from_pem(SIGNING_KEY).unwrap().public();
    let address = manifest.address();
    verify_release(reader.envelope(), &manifest.name, &manifest.version, &address, &[key]).unwrap();
    let mut unpacked = Collected::default();
    reader.unpack(&mut unpacked).unwrap();

    let wanted: BTreeMap<String, Vec<u8>> = files[..4]
        .iter()
        .map(|(path, content, _)| ((*path).to_owned(), (*content).into()))
        .collect();
    let found: BTreeMap<String, Vec<u8>> =
        unpacked.files.into_iter().map(|(path, content)| (path.to_string(), content)).collect();
    assert_eq!(found, wanted);
    assert_eq!(manifest.tools[0].run, ["./handle.py", "$user"]);
    if cfg!(unix) {
        assert_eq!(manifest.file("handle.py").unwrap().mode, Mode::Executable);
    }
    assert_eq!(manifest.file("SKILL.md").unwrap().mode, Mode::Regular);
}

#[test]
fn what_is_unpacked_packs_to_the_same_snapshot() {
    let first =
        skill(&[("a.md", "a"), ("b/c.txt", "c"), (".skillignore", "*.log\n"), ("x.log", "")]);
    let packing = plan(first.path()).unwrap();
    let bytes = archive(&packing);
    let again = skill(&[]);
    let mut unpacked = Collected::default();
    Reader::open(bytes.as_slice(), Bounds::default()).unwrap().unpack(&mut unpacked).unwrap();
    for (path, content) in &unpacked.files {
        let text = std::str::from_utf8(content).unwrap();
        crate::support::write(again.path(), path.as_str(), text, false);
    }
    assert_eq!(plan(again.path()).unwrap().manifest().address(), packing.manifest().address());
}

#[test]
fn line_ends_and_a_byte_order_mark_are_kept() {
    let text =
        "\u{feff}---\r\nname: sample\r\ndescription: A sample.\r\nversion: 1\r\n---\r\nRead.\r\n";
    let directory = directory(&[("SKILL.md", text, false)]);
    let packing = plan(directory.path()).unwrap();
    let digest = skillpkg_schema::Sha256Digest::of(text.as_bytes());
    assert_eq!(packing.manifest().files[0].sha256, digest);
}

#[test]
fn a_capability_file_that_includes_leaves_out_is_told_and_counts_for_nothing() {
    let hard =
        "---\nskill: hard\ndescription: A hard one.\nversion: 2.0.0\nincludes: a.md\n---\nRead.\n";
    let resources = r#"{"resources":{"a.md":"Reads it."}}"#;
    let files = [("SKILL.md", hard, false), ("a.md", "a", false), ("skill.json", resources, false)];
    let directory = directory(&files);
    let packing = plan(directory.path()).unwrap();
    assert!(packing.manifest().resources.is_empty());
    let codes: Vec<&str> = packing.warnings().iter().map(|one| one.code.as_str()).collect();
    assert_eq!(codes, ["capability_file_not_packed"]);
}

#[test]
fn a_whole_directory_carries_its_capabilities() {
    let resources = r#"{"resources":{"a.md":"Reads it."}}"#;
    let directory = skill(&[("a.md", "a"), ("skill.json", resources)]);
    let packing = plan(directory.path()).unwrap();
    assert_eq!(packing.manifest().resources[0].name, "read_a");
    assert_eq!(packed(directory.path()), ["SKILL.md", "a.md", "skill.json"]);
}

#[test]
fn a_resource_that_is_not_packed_is_an_error() {
    let resources = r#"{"resources":{"a.log":"Reads it."}}"#;
    let files = [("a.log", "a"), ("skill.json", resources), (".skillignore", "*.log\n")];
    let directory = skill(&files);
    assert!(plan(directory.path()).is_err());
}
