//! A scope that is bound to a registry, and another registry where everybody can publish the same
//! names, newer: nothing of it is ever taken, asked for or spoken of.

use std::fs;
use std::sync::{Arc, Mutex};

use skillpkg_tests::{Answer, Machine, TestContext, relay};

/// A registry of the house, in which `acme/plan` is there once; a public one, in which a stranger
/// has newer versions of it and of `acme/internal`; and a machine whose configuration binds `acme`.
struct House {
    context: TestContext,
    machine: Machine,
    public: String,
    /// What the public registry was asked.
    asked: Arc<Mutex<Vec<String>>>,
    stranger: skillpkg_tests::Registry,
}

impl House {
    fn new() -> Self {
        let context = TestContext::new();
        let ada = context.author("ada");
        context.registry.command(&["scope", "add", "acme", "--owner", "ada", "--private"]);
        context.publish(&ada, "acme/plan", "1.0.0", "of the house", None);
        let (registry, mallory) = context.elsewhere("mallory");
        registry.command(&["scope", "add", "acme", "--owner", "mallory"]);
        for name in ["acme/plan", "acme/internal", "open"] {
            context.publish(&mallory, name, "99.0.0", "of a stranger", None);
        }
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&asked);
        let public = relay(&registry.url(), move |request, _| {
            noted.lock().unwrap().push(request.to_owned());
        });
        let mut machine = context.machine("reader");
        machine.registry = None;
        let house = Self { context, machine, public, asked, stranger: registry };
        let corp = house.context.registry.url();
        house.bind(&corp);
        let token = ada.token.unwrap();
        house.machine.run_with_input(&["login", "--registry", &corp], &token).succeeded();
        house
    }

    /// Writes the configuration, in which `acme` is bound to the registry at `corp`.
    fn bind(&self, corp: &str) {
        let text = format!(
            "registry = \"{}\"\n[registries.corp]\nurl = \"{corp}\"\nscopes = [\"acme\"]\n",
            self.public
        );
        fs::write(&self.machine.configuration, text).unwrap();
    }

    /// Runs it, which fails in this way, and holds that the public registry heard nothing of it.
    #[track_caller]
    fn refused(&self, machine: &Machine, arguments: &[&str], exit: i32, code: &str) -> Answer {
        let mut all = arguments.to_vec();
        all.extend(["--no-input", "--json"]);
        let answer = machine.run(&all).ended_with(exit);
        assert_eq!(answer.error_code(), code, "{}", answer.stderr);
        self.heard_nothing(arguments);
        answer
    }

    #[track_caller]
    fn heard_nothing(&self, arguments: &[&str]) {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap());
        assert!(asked.is_empty(), "{arguments:?}: {asked:?}");
    }
}

/// Everything that may look a name up.
const ASKING: [&[&str]; 5] = [
    &["install", "acme/internal", "-y"],
    &["install", "acme/internal@99", "-y"],
    &["show", "acme/internal"],
    &["cat", "acme/internal", "SKILL.md"],
    &["owner", "list", "acme/internal"],
];

#[test]
fn a_name_that_its_own_registry_lacks_is_looked_for_nowhere_else() {
    let house = House::new();
    let corp = house.context.registry.url();
    for arguments in ASKING {
        let mut all = arguments.to_vec();
        all.extend(["--no-input", "--json"]);
        let answer = house.machine.run(&all).ended_with(1);
        house.heard_nothing(arguments);
        let told = format!("{}{}", answer.stdout, answer.stderr);
        assert!(told.contains("not_found"), "{arguments:?}: {told}");
        assert!(told.contains(&corp) && !told.contains("99.0.0"), "{arguments:?}: {told}");
        if arguments[0] == "install" {
            assert!(told.contains("acme/internal"), "{told}");
        }
    }
}

#[test]
fn a_newer_version_of_a_bound_name_elsewhere_is_never_selected() {
    let house = House::new();
    let machine = &house.machine;
    machine.run(&["install", "acme/plan", "-y"]).succeeded();
    assert_eq!(machine.read(".agents/skills/plan/NOTES.md"), "of the house");
    for arguments in [&["update", "-y"][..], &["sync"], &["show", "acme/plan"]] {
        let answer = machine.run(arguments).succeeded();
        assert!(!answer.stdout.contains("99.0.0"), "{}", answer.stdout);
    }
    house.heard_nothing(&["everything"]);
    house.refused(machine, &["install", "acme/plan@99", "-y"], 1, "version_not_found");
    let lock = machine.read("skillpkg.lock");
    assert!(lock.contains("version = \"1.0.0\"") && lock.contains(&house.context.registry.url()));
    // What is bound to none is the public registry's, and is found there.
    machine.run(&["install", "open", "-y"]).succeeded();
    assert!(!house.asked.lock().unwrap().is_empty());
}

#[test]
fn a_bound_name_whose_registry_fails_or_is_gone_is_asked_for_nowhere_else() {
    let mut house = House::new();
    let failing = relay(&house.context.registry.url(), |_, answer| {
        *answer = b"HTTP/1.1 500 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec();
    });
    house.bind(&failing);
    let machine = house.machine.clone();
    for arguments in ASKING {
        let answer = house.refused(&machine, arguments, 1, "registry_failed");
        assert!(answer.stderr.contains(&failing), "{}", answer.stderr);
    }
    let gone = house.context.registry.url();
    house.bind(&gone);
    house.context.registry.stop();
    for name in ["acme/internal", "acme/plan"] {
        let arguments = ["install", name, "-y"];
        let answer = house.refused(&machine, &arguments, 1, "registry_unreachable");
        assert!(answer.stderr.contains(&gone), "{}", answer.stderr);
    }
}

#[test]
fn no_file_of_a_project_binds_a_scope_otherwise_than_the_user_did() {
    let house = House::new();
    let machine = &house.machine;
    // The stranger's registry under a URL that no configuration names.
    let noted = Arc::clone(&house.asked);
    let public = &relay(&house.stranger.url(), move |request, _| {
        noted.lock().unwrap().push(request.to_owned());
    });
    machine.run(&["install", "acme/plan", "-y"]).succeeded();
    let (lock, corp) = (machine.read("skillpkg.lock"), house.context.registry.url());
    let skills = "[skills]\n\"acme/plan\" = \"*\"\n";
    for (at, project) in [
        format!("registry = \"{public}\"\n{skills}"),
        format!("{skills}[registries.corp]\nurl = \"{public}\"\nscopes = [\"acme\"]\n"),
        format!("{skills}[registries.mine]\nurl = \"{public}\"\nscopes = [\"acme\"]\n"),
        format!("{skills}[scopes]\nacme = \"{public}\"\n"),
    ]
    .into_iter()
    .enumerate()
    {
        let clone = machine.in_project(&house.context.path(format!("clone-{at}")));
        clone.write("skillpkg.toml", &project);
        let answer = clone.run(&["sync", "-y", "--json"]);
        house.heard_nothing(&["sync"]);
        if answer.code == 0 {
            assert_eq!(clone.read(".agents/skills/plan/NOTES.md"), "of the house");
        } else {
            assert_eq!(answer.error_code(), "unknown_key", "{project}: {}", answer.stderr);
        }
    }
    // Nor does a lockfile move what it locks to another registry.
    let clone = machine.in_project(&house.context.path("clone-lock"));
    clone.write("skillpkg.toml", skills);
    clone.write("skillpkg.lock", &lock.replace(&corp, public));
    for arguments in [&["sync", "-y"][..], &["sync", "--frozen", "-y"]] {
        house.refused(&clone, arguments, 5, "registry_changed");
    }
}
