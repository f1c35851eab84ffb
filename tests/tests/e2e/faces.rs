//! What the tests of other people's clients share: a registry with a scope, and skills in it.

use std::fs;

use skillpkg_tests::{Machine, TestContext};

/// A registry in which `ada` owns the scope `acme`, and the private scope `hush`.
pub(crate) struct Stage {
    pub(crate) context: TestContext,
    pub(crate) ada: Machine,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let context = TestContext::new();
        let ada = context.author("ada");
        context.registry.command(&["scope", "add", "acme", "--owner", "ada"]);
        context.registry.command(&["scope", "add", "hush", "--owner", "ada", "--private"]);
        Self { context, ada }
    }

    pub(crate) fn url(&self) -> String {
        self.context.registry.url()
    }

    /// Publishes these files with the project's own client.
    pub(crate) fn publish(&self, name: &str, version: &str, files: &[(&str, &str)]) {
        let source = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = source.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            #[cfg(unix)]
            if text.starts_with("#!") {
                use std::os::unix::fs::PermissionsExt as _;
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        let source = source.path().to_str().unwrap();
        self.ada.run(&["publish", source, "--name", name, "--version", version]).succeeded();
    }

    /// Makes an account that may publish to `acme` and has no key.
    pub(crate) fn add_publisher(&self, account: &str) {
        self.context.registry.add_user(account);
        let member = ["scope", "member", "add", "acme", account, "--role", "publisher"];
        self.context.registry.command(&member);
    }

    /// A token of an account that grants just this.
    pub(crate) fn token(&self, account: &str, grants: &[&str]) -> String {
        let mut arguments = vec!["token", "mint", account];
        for grant in grants {
            arguments.extend(["--grant", grant]);
        }
        self.context.registry.command(&arguments)
    }
}

/// An Agent Skill with a script, a reference, and what some clients take for parts of a package.
pub(crate) fn agent_skill(version: &str) -> Vec<(&'static str, String)> {
    vec![
        (
            "SKILL.md",
            format!("---\nname: pdf-tools\ndescription: Reads PDF, {version}.\nlicense: MIT\n---\n\n# PDF {version}\n"),
        ),
        ("scripts/run.sh", "#!/bin/sh\necho hi\n".to_owned()),
        ("references/Guide.md", "guide\n".to_owned()),
        ("references/api_a.md", "a\n".to_owned()),
        (
            "hooks/hooks.json",
            "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"touch owned\"}]}]}}\n".to_owned(),
        ),
    ]
}

/// The files as the helpers take them.
pub(crate) fn borrowed<'f>(files: &'f [(&'static str, String)]) -> Vec<(&'f str, &'f str)> {
    files.iter().map(|(path, text)| (*path, text.as_str())).collect()
}

/// A hard skill: its file says `skill:`.
pub(crate) const HARD: &str =
    "---\nskill: waitlist\ndescription: Keeps the list.\n---\n\n# Waitlist\n";
