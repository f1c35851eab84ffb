//! The name and version that a skill is packed as.

use skillpkg_store::pack::{PackOptions, Packing};

use crate::support::directory;

fn packed(frontmatter: &str, options: &PackOptions) -> Result<String, String> {
    let skill = format!("---\n{frontmatter}description: A sample.\n---\nRead.\n");
    let directory = directory(&[("SKILL.md", &skill, false)]);
    match Packing::plan(directory.path(), options) {
        Ok(packing) => Ok(format!("{}@{}", packing.manifest().name, packing.manifest().version)),
        Err(faults) => Err(faults.to_string()),
    }
}

#[test]
fn options_stand_before_the_frontmatter() {
    let options = |name: Option<&str>, version: Option<&str>| PackOptions {
        name: name.map(|name| name.parse().unwrap()),
        version: version.map(|version| version.parse().unwrap()),
        allow_secrets: false,
    };
    for (frontmatter, name, version, wanted) in [
        ("name: a\nversion: 1.10\n", None, None, "a@1.10.0"),
        ("name: a\nmetadata:\n  version: 2\n", None, None, "a@2.0.0"),
        ("skill: a\nversion: 1.0.0\n", Some("acme/b"), Some("3.0.0-rc.1"), "acme/b@3.0.0-rc.1"),
        ("name: My Skill\n", Some("my-skill"), Some("1.0.0"), "my-skill@1.0.0"),
    ] {
        assert_eq!(packed(frontmatter, &options(name, version)).as_deref(), Ok(wanted));
    }
}

#[test]
fn a_name_that_is_none_is_refused_with_the_nearest_and_a_missing_version_with_the_way_out() {
    let options = PackOptions::default();
    for (frontmatter, mentions) in [
        ("name: My Skill\nversion: 1\n", &["`My Skill`", "--name my-skill`"][..]),
        ("name: con\nversion: 1\n", &["`con` is reserved", "--name`"]),
        ("name: a\n", &["no version", "--version 1.0.0`"]),
        ("name: a\nversion: latest\n", &["`latest` is not a version", "--version 1.0.0`"]),
        ("name: A B\n", &["--name a-b`", "--version 1.0.0`"]),
    ] {
        let message = packed(frontmatter, &options).unwrap_err();
        for mention in mentions {
            assert!(message.contains(mention), "{message} does not say {mention}");
        }
    }
}
