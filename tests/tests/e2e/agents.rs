//! Agents found on a machine and in a project, what goes where for them, and what is told of it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use skillpkg_tests::{Answer, Machine, TestContext};

/// A machine with these programs on PATH besides the system's.
struct Stage {
    context: TestContext,
    machine: Machine,
    path: OsString,
}

impl Stage {
    fn new(programs: &[&str]) -> Self {
        let context = TestContext::new();
        let author = context.author("ada");
        for name in ["reports", "waitlist"] {
            context.publish(&author, name, "1.0.0", name, None);
        }
        let bin = context.path("bin");
        fs::create_dir(&bin).unwrap();
        for program in programs {
            fs::write(bin.join(program), "").unwrap();
            fs::set_permissions(bin.join(program), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = std::env::join_paths([bin, "/usr/bin".into(), "/bin".into()]).unwrap();
        let machine = context.machine("reader");
        Self { context, machine, path }
    }

    fn run(&self, arguments: &[&str]) -> Answer {
        let output = self.machine.command(arguments).env("PATH", &self.path).output().unwrap();
        Answer::of(arguments, &output)
    }

    fn json(&self, arguments: &[&str]) -> Value {
        self.run(&[arguments, &["--json"]].concat()).succeeded().json()
    }

    fn has(&self, path: &str) -> bool {
        self.machine.project.join(path).exists()
    }

    /// The paths of this test are others each time.
    fn settled(&self, text: &str) -> String {
        let root = self.context.path("").canonicalize().unwrap();
        text.replace(root.to_str().unwrap().trim_end_matches('/'), "[ROOT]")
    }
}

fn view<'v>(overview: &'v Value, id: &str) -> &'v Value {
    overview["agents"].as_array().unwrap().iter().find(|view| view["id"] == id).unwrap()
}

#[test]
fn agents_that_are_installed_are_served_in_as_few_directories_as_reach_them() {
    let stage = Stage::new(&["claude", "goose"]);
    fs::create_dir_all(stage.machine.user_home.join(".codex")).unwrap();
    stage.machine.write(".kiro/settings.json", "{}");
    stage.run(&["install", "waitlist", "-y"]).succeeded();
    for directory in [".agents", ".claude", ".kiro"] {
        assert!(stage.has(&format!("{directory}/skills/waitlist")), "{directory}");
    }
    assert!(!stage.has(".codex") && !stage.has(".goose"), "a program `goose` is many things");
    let overview = stage.json(&["agents"]);
    assert_eq!(overview["chosen_by"], "remembered");
    assert_eq!(overview["chosen"], json!(["universal", "claude-code", "codex", "kiro-cli"]));
    assert_eq!(view(&overview, "claude-code")["found"][0]["kind"], "program");
    assert_eq!(view(&overview, "codex")["found"][0]["kind"], "home");
    assert_eq!(view(&overview, "kiro-cli")["found"][0]["kind"], "project");
    assert_eq!(view(&overview, "codex")["skills"][0]["placed"], "waitlist");

    // Somebody makes a directory: no skill goes there by itself.
    stage.machine.write(".goose/config.yaml", "");
    let answer = stage.run(&["install", "reports", "-y"]).succeeded();
    assert!(answer.stderr.contains("skills are not placed for Goose, in use since"));
    assert!(!stage.has(".goose/skills"));
    let overview = stage.json(&["agents"]);
    assert_eq!(overview["unserved"], json!(["goose"]));
    stage.run(&["agents", "reset"]).succeeded();
    assert!(stage.has(".goose/skills/reports") && stage.has(".goose/skills/waitlist"));
    assert_eq!(stage.json(&["agents"])["unserved"], json!([]));
}

#[test]
fn the_agents_of_a_team_are_written_down_and_every_skill_moves() {
    let stage = Stage::new(&[]);
    stage.run(&["install", "waitlist", "reports", "-y"]).succeeded();
    assert!(stage.has(".agents/skills/waitlist"));
    let toml = stage.machine.read("skillpkg.toml");
    stage.machine.write("skillpkg.toml", &format!("# ours\n{toml}"));
    let answer = stage.run(&["agents", "use", "claude-code", "cursor"]).succeeded();
    assert!(answer.stdout.contains(".claude/skills  claude-code, cursor"), "{}", answer.stdout);
    assert!(stage.has(".claude/skills/waitlist") && stage.has(".claude/skills/reports"));
    assert!(!stage.has(".agents/skills/waitlist"));
    let toml = stage.machine.read("skillpkg.toml");
    assert!(toml.starts_with("# ours\n"), "{toml}");
    assert!(toml.ends_with("\n[agents]\nuse = [\"claude-code\", \"cursor\"]\n"), "{toml}");

    // On the machine of somebody else the file decides.
    let other = Stage { machine: stage.context.machine("other"), ..stage };
    other.machine.write("skillpkg.toml", &toml);
    other.run(&["sync", "-y"]).succeeded();
    assert!(other.has(".claude/skills/reports") && !other.has(".agents"));

    let answer = other.run(&["agents", "use", "claud-code"]).ended_with(2);
    assert!(answer.stderr.contains("did you mean `claude-code`?"), "{}", answer.stderr);
    let answer = other.run(&["agents", "use", "claude"]).ended_with(2);
    assert!(answer.stderr.contains("did you mean `claude-code`?"), "{}", answer.stderr);
    other.run(&["agents", "use"]).ended_with(2);
    other.run(&["agents", "reset"]).succeeded();
    assert!(!other.machine.read("skillpkg.toml").contains("agents"));
    assert!(!other.has(".claude") && !other.has(".cursor"));
    assert_eq!(other.json(&["agents"])["chosen"], json!(["universal"]));
    let listed: Vec<Value> = other.json(&["agents"])["agents"].as_array().unwrap().clone();
    let listed: Vec<&str> = listed.iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(listed, ["universal"]);
    assert!(other.run(&["sync", "--check"]).succeeded().stdout.is_empty());
}

#[test]
fn what_goes_where_and_why_is_told_in_words() {
    let stage = Stage::new(&["claude"]);
    fs::create_dir_all(stage.machine.user_home.join(".codex")).unwrap();
    stage.machine.write(".cursor/skills/waitlist/SKILL.md", "theirs");
    stage.machine.write(".windsurf/rules.md", "");
    stage.run(&["install", "waitlist", "-y"]).succeeded();
    let answer = stage.run(&["agents"]).succeeded();
    insta::assert_snapshot!(stage.settled(&answer.stdout));
    let overview = stage.json(&["agents"]);
    insta::assert_snapshot!(
        "agents_json",
        stage.settled(&serde_json::to_string_pretty(view(&overview, "cursor")).unwrap())
    );
    assert!(stage.json(&["agents", "--all"])["agents"].as_array().unwrap().len() >= 75);
}

#[test]
fn the_skills_of_all_projects_have_agents_of_their_own() {
    let stage = Stage::new(&[]);
    for directory in [".claude", ".cursor"] {
        fs::create_dir_all(stage.machine.user_home.join(directory)).unwrap();
    }
    stage.run(&["install", "waitlist", "--global", "-y"]).succeeded();
    let user_home = &stage.machine.user_home;
    assert!(user_home.join(".claude/skills/waitlist").exists());
    assert!(!user_home.join(".cursor/skills").exists(), "Cursor reads that of Claude Code");
    assert!(!user_home.join(".agents").exists());
    stage.run(&["install", "waitlist", "-y"]).succeeded();
    let overview = stage.json(&["agents"]);
    let twice = &view(&overview, "claude-code")["twice"][0];
    assert_eq!(twice["paths"].as_array().unwrap().len(), 2);
    let advice = view(&overview, "claude-code")["advice"][0].as_str().unwrap();
    assert!(advice.contains("`skillpkg remove waitlist --global`"), "{advice}");
    stage.run(&["agents", "use", "codex", "--global"]).succeeded();
    assert!(user_home.join(".agents/skills/waitlist").exists());
    assert!(!user_home.join(".claude/skills/waitlist").exists());
}
