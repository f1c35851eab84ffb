//! Many processes at once.

use std::process::Child;

use skillpkg_tests::{Answer, Machine, TestContext};

const SKILLS: [&str; 5] = ["one", "two", "three", "four", "five"];

fn published() -> TestContext {
    let context = TestContext::new();
    let author = context.author("ada");
    for name in SKILLS {
        context.publish(&author, name, "1.0.0", name, None);
    }
    context
}

fn start(machine: &Machine, arguments: &[&str]) -> Child {
    machine.command(arguments).spawn().unwrap()
}

fn end(child: Child, arguments: &[&str]) {
    Answer::of(arguments, &child.wait_with_output().unwrap()).succeeded();
}

fn install() -> Vec<&'static str> {
    let mut arguments = vec!["install", "-y"];
    arguments.extend(SKILLS);
    arguments
}

fn has_all(machine: &Machine) {
    for name in SKILLS {
        assert_eq!(machine.read(format!(".agents/skills/{name}/NOTES.md")), name);
    }
    machine.run(&["sync", "--check"]).succeeded();
}

#[test]
fn eight_processes_install_into_eight_projects_of_one_cold_store() {
    let context = published();
    let machine = context.machine("reader");
    let projects: Vec<Machine> = (0..8)
        .map(|number| machine.in_project(&context.path(format!("project-{number}"))))
        .collect();
    let running: Vec<Child> = projects.iter().map(|project| start(project, &install())).collect();
    for child in running {
        end(child, &install());
    }
    projects.iter().for_each(has_all);
    assert_eq!(machine.json(&["gc"])["snapshots"], 0);
    projects.iter().for_each(has_all);
}

#[test]
fn four_processes_work_on_one_project_and_lose_nothing() {
    let context = published();
    let machine = context.machine("reader");
    let commands: Vec<Vec<&str>> =
        SKILLS.iter().take(4).map(|name| vec!["install", "-y", *name]).collect();
    let running: Vec<Child> = commands.iter().map(|command| start(&machine, command)).collect();
    for (child, command) in running.into_iter().zip(&commands) {
        end(child, command);
    }
    let running: Vec<Child> = (0..4).map(|_| start(&machine, &install())).collect();
    for child in running {
        end(child, &install());
    }
    has_all(&machine);
}

#[test]
fn collections_beside_installs_take_nothing_away() {
    let context = published();
    let machine = context.machine("reader");
    let project = machine.in_project(&context.path("other"));
    for _ in 0..6 {
        let running =
            [start(&project, &install()), start(&machine, &["gc"]), start(&machine, &install())];
        for child in running {
            assert!(child.wait_with_output().unwrap().status.success());
        }
        has_all(&project);
        has_all(&machine);
        let mut remove = vec!["remove"];
        remove.extend(SKILLS);
        machine.run(&remove).succeeded();
    }
}
