//! The commands of the guides, run as they stand there, with what they print.
//!
//! `UPDATE_DOCUMENTS=1 cargo test -p skillpkg-tests documents` writes what they print now.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use skillpkg_tests::{Machine, TestContext, binary};

/// Where the guides say that a registry is, and that its data lies.
const SHOWN_URL: &str = "http://127.0.0.1:7770";
const SHOWN_DATA: &str = "/var/lib/skillpkg";
const SHOWN_HOME: &str = "/home/ada";

struct Guide {
    context: TestContext,
    machine: Machine,
}

impl Guide {
    fn new() -> Self {
        let context = TestContext::new();
        let machine = context.machine("ada");
        Self { context, machine }
    }

    /// What a line prints on both streams, as the guide shows it.
    fn run(&self, line: &str) -> String {
        let line = self.as_it_is(line);
        let binaries = binary("skillpkg").parent().unwrap().to_path_buf();
        let path = std::env::var("PATH").unwrap();
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{line}")])
            .env_clear()
            .env("PATH", format!("{}:{path}", binaries.display()))
            .env("HOME", &self.machine.user_home)
            .current_dir(&self.machine.project)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        self.as_it_is_shown(&String::from_utf8(output.stdout).unwrap())
    }

    fn as_it_is(&self, text: &str) -> String {
        text.replace(SHOWN_URL, &self.context.registry.url())
            .replace(SHOWN_DATA, self.context.registry.data().to_str().unwrap())
    }

    fn as_it_is_shown(&self, text: &str) -> String {
        text.replace(&self.context.registry.url(), SHOWN_URL)
            .replace(self.context.registry.data().to_str().unwrap(), SHOWN_DATA)
            .replace(self.machine.user_home.to_str().unwrap(), SHOWN_HOME)
    }

    /// The guide with what each of its commands prints now.
    fn follow(&self, guide: &str) -> String {
        let mut followed = String::new();
        let mut lines = guide.lines();
        while let Some(line) = lines.next() {
            followed.push_str(line);
            followed.push('\n');
            // Longer than any fence that a command prints.
            if line != "````console" {
                continue;
            }
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "````").collect();
            for command in block.iter().filter_map(|line| line.strip_prefix("$ ")) {
                let printed = self.run(command);
                followed.extend(["$ ", command, "\n", &printed]);
                if !printed.is_empty() && !printed.ends_with('\n') {
                    followed.push('\n');
                }
            }
            followed.push_str("````\n");
        }
        followed
    }
}

/// `text` with digests, key ids and times blanked: what differs from run to run.
fn without_what_differs(text: &str) -> String {
    let is_part = |c: char| matches!(c, '0'..='9' | 'a'..='f' | '-' | ':' | 'T' | 'Z');
    let mut rest = text;
    let mut blanked = String::new();
    while !rest.is_empty() {
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        let digits = word.bytes().filter(u8::is_ascii_hexdigit).count();
        let time = word.trim_end_matches(':');
        let is_time = time.len() == 20 && time.ends_with('Z');
        blanked.push_str(if is_time || matches!(digits, 16 | 64) { "…" } else { word });
        let next = after.chars().next().map_or(0, char::len_utf8);
        let (character, after) = after.split_at(next);
        blanked.push_str(character);
        rest = after;
    }
    blanked
}

/// `line` without the years in the ids of advisories.
fn without_years(line: &str) -> String {
    let mut parts = line.split("SKA-");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |kept, part| format!("{kept}SKA-…{}", part.get(4..).unwrap_or_default()))
}

/// The lines of `text` as far as they are the same in every run.
fn comparable(text: &str) -> Vec<String> {
    let blanked = without_what_differs(text);
    // A signature compresses to more or fewer bytes.
    let kept = blanked.lines().map(|line| line.split(", archive of ").next().unwrap_or_default());
    kept.map(without_years).collect()
}

fn guide(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name)
}

#[test]
fn the_authors_guide_shows_what_its_commands_print() {
    let path = guide("authors.md");
    let text = fs::read_to_string(&path).unwrap();
    let followed = Guide::new().follow(&text);
    if std::env::var_os("UPDATE_DOCUMENTS").is_some() {
        fs::write(&path, &followed).unwrap();
    }
    for (shown, printed) in comparable(&text).iter().zip(&comparable(&followed)) {
        assert_eq!(
            shown, printed,
            "docs/authors.md shows the first, its command prints the second"
        );
    }
    assert_eq!(text.lines().count(), followed.lines().count());
}

/// One need of the users' guide: what its heading says, and the commands below it.
struct Need {
    heading: String,
    commands: Vec<String>,
}

fn needs(guide: &str) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    let mut lines = guide.lines();
    while let Some(line) = lines.next() {
        if let Some(heading) = line.strip_prefix("### ") {
            needs.push(Need { heading: heading.to_owned(), commands: Vec::new() });
        }
        // Longer than the fence of what is only shown.
        if line == "````sh" {
            let block = lines.by_ref().take_while(|line| *line != "````").map(str::to_owned);
            needs.last_mut().unwrap().commands.extend(block);
        }
    }
    needs.retain(|need| !need.commands.is_empty());
    needs
}

/// The exit code that a command's comment tells; 0 where it tells none.
fn told_exit(command: &str) -> i32 {
    let told = command.split_once("# exits with ").map(|(_, told)| told);
    let digits = |told: &str| told.chars().take_while(char::is_ascii_digit).collect::<String>();
    told.map_or(0, |told| digits(told).parse().unwrap())
}

#[test]
fn the_commands_that_meet_a_need_of_users_do_so() {
    let needs = needs(&fs::read_to_string(guide("users.md")).unwrap());
    assert!(needs.len() > 12);
    let context = TestContext::new();
    let author = context.author("ada");
    for version in ["1.0.0", "1.1.0"] {
        context.publish(&author, "waitlist", version, version, Some("echo hello"));
    }
    let path = format!(
        "{}:{}",
        binary("skillpkg").parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    for (number, Need { heading, commands }) in needs.iter().enumerate() {
        let machine = context.machine(&format!("reader-{number}"));
        match heading.as_str() {
            "I want a skill in my project"
            | "I want to see what a skill may run before I install it" => {}
            "I have just cloned a project" => {
                let colleague = context.machine("colleague");
                colleague.run(&["install", "waitlist", "-y"]).succeeded();
                for file in ["skillpkg.toml", "skillpkg.lock"] {
                    machine.write(file, &colleague.read(file));
                }
            }
            "I want the newest versions" => {
                machine.run(&["install", "waitlist@=1.0.0", "-y"]).succeeded();
                let file = machine.read("skillpkg.toml").replace("=1.0.0", "1");
                machine.write("skillpkg.toml", &file);
            }
            _ => {
                machine.run(&["install", "waitlist", "-y"]).succeeded();
            }
        }
        // What goes to a machine without a network goes to one on which nothing was ever done.
        let mut there = context.machine(&format!("there-{number}"));
        there.registry = None;
        for command in commands {
            let bundle = machine.project.join("skills.bundle");
            let is_carried = command.contains("skills.bundle") && bundle.exists();
            let machine = if is_carried { &there } else { &machine };
            if is_carried {
                fs::copy(bundle, there.project.join("skills.bundle")).unwrap();
            }
            let mut shell = Command::new("sh");
            let of = machine.command(&["--version"]);
            for (name, value) in of.get_envs() {
                if let Some(value) = value {
                    shell.env(name, value);
                }
            }
            let ran = shell
                .args(["-c", command])
                .env("PATH", &path)
                .current_dir(&machine.project)
                .stdin(Stdio::null())
                .output()
                .unwrap();
            assert_eq!(
                ran.status.code(),
                Some(told_exit(command)),
                "{heading}: {command}\n{}{}",
                String::from_utf8_lossy(&ran.stdout),
                String::from_utf8_lossy(&ran.stderr),
            );
        }
    }
}
