//! An agent host in fifty lines. The model is whoever writes to standard input.
//!
//! Build it with `cargo build --example host`. Then, in a project with an active skill, run
//! `target/debug/examples/host waitlist` (with the path to where it was built), and type
//! `{"tool": "access", "args": {"user": "x@y.z"}}`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a host talks to its user")]

use std::io::BufRead as _;
use std::process::ExitCode;

use skillpkg::host::{Arguments, CapabilityKind, Host, HostOptions, PermissionRequest};
use skillpkg::settings::Sources;
use skillpkg_schema::skill::Answer;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match converse().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn converse() -> Result<(), Box<dyn std::error::Error>> {
    let sources = Sources {
        registry: None,
        environment: std::env::vars_os().collect(),
        working_directory: std::env::current_dir()?,
        user_home: std::env::home_dir(),
    };
    let (settings, _warnings) = sources.settings()?;
    let host = Host::open(HostOptions::new(settings))?;
    let Some(skill) = std::env::args().nth(1) else {
        for skill in host.skills()? {
            println!("{}: {}", skill.name, skill.description);
        }
        return Ok(());
    };

    // What the model is told: the prose, how to call, the catalogue of tools and scripts, and here
    // the resources whole.
    println!("{}", host.system_text(&skill)?);
    for one in host.capabilities(&skill)? {
        if one.kind == CapabilityKind::Resource {
            println!("{}", host.read_text(&skill, &one.name).await?);
        }
    }

    // What it answers: at most one call, run with what was approved when the skill was activated.
    // A script that wants permission each time is refused here; a host with a user asks.
    let permission = |request: &PermissionRequest| request.approved;
    for answer in std::io::stdin().lock().lines() {
        let called = match host.resolve(&skill, Answer::Text(&answer?)) {
            Ok(None) => continue,
            Ok(Some(call)) => {
                let tool = call.tool.clone();
                host.call(&skill, &tool, &Arguments::from(call), &permission).await
            }
            Err(refused) => Err(refused),
        };
        match called {
            Ok(outcome) => println!("{}", String::from_utf8_lossy(&outcome.stdout)),
            Err(error) => println!("{error}"), // Worded for the model: it goes back to it.
        }
    }
    Ok(())
}
