//! `skillpkg init`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use skillpkg::registry::Registry;
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::name::nearest_legal;
use skillpkg_schema::{QualifiedName, SkillName};

use crate::context::Context;

/// Make a skill that passes `check`, ready to publish.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg init my-skill --hard")]
pub(crate) struct Arguments {
    /// Where; the working directory where absent
    directory: Option<PathBuf>,
    /// A hard skill, with a tool
    #[arg(long)]
    hard: bool,
}

/// One file of a new skill.
struct NewFile {
    path: &'static str,
    text: String,
}

/// Runs it; answers with the exit code.
pub(crate) fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let directory = arguments.directory.unwrap_or_else(|| PathBuf::from("."));
    let failed = |path: &Path, error: std::io::Error| {
        Error::new(Kind::Failed, "not_written", error.to_string()).in_file(path.to_string_lossy())
    };
    let made: Vec<PathBuf> = directory
        .ancestors()
        .filter(|above| !above.as_os_str().is_empty())
        .take_while(|above| above.symlink_metadata().is_err())
        .map(Path::to_owned)
        .collect();
    std::fs::create_dir_all(&directory).map_err(|error| failed(&directory, error))?;
    let name = name_of(&directory)?;
    let files = if arguments.hard { hard_skill(&name) } else { agent_skill(&name) };
    for file in &files {
        let path = directory.join(file.path);
        if path.symlink_metadata().is_ok() {
            let message = "it is there already, and nothing is overwritten";
            return Err(Error::new(Kind::Failed, "already_there", message)
                .in_file(path.to_string_lossy())
                .with_hint("name a new directory: `skillpkg init my-skill`"));
        }
    }
    if let Err((path, error)) = write(&directory, &files) {
        // A skill by half would be in the way of the next try.
        for directory in made {
            let _ = std::fs::remove_dir(directory);
        }
        return Err(failed(&path, error));
    }
    let shown = escape(&directory.to_string_lossy());
    context.output.talk(&format!("Made the skill `{name}` in `{shown}`."));
    if called(&directory).is_some_and(|called| called != name.as_str()) {
        context.output.talk("The directory's own name is not one that a skill may have.");
    }
    context.output.talk(&next(context, &name, &shown));
    context.output.json(&json!({
        "name": name.as_str(),
        "version": "0.1.0",
        "dialect": if arguments.hard { "hard" } else { "agent" },
        "path": directory.to_string_lossy(),
        "files": files.iter().map(|file| file.path).collect::<Vec<_>>(),
    }))?;
    Ok(0)
}

/// A word as it is typed in a shell.
fn typed(word: &str) -> String {
    let is_plain = |byte: u8| {
        byte.is_ascii_alphanumeric() || b"-_./:@%+,=~".contains(&byte) || !byte.is_ascii()
    };
    if !word.starts_with(['~', '-']) && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    let dash = if word.starts_with('-') { "./" } else { "" };
    format!("'{dash}{}'", word.replace('\'', r"'\''"))
}

/// What comes after: each command as it is typed, those that are done already left out.
fn next(context: &Context, name: &SkillName, shown: &str) -> String {
    let directory = if shown == "." { String::new() } else { format!(" {}", typed(shown)) };
    let mut lines = vec![
        format!("Edit `{shown}/SKILL.md`, and have it checked: skillpkg check{directory}"),
        format!("Then publish it:\n  skillpkg publish{directory}"),
    ];
    let registry = Registry::for_settings(&context.settings, &QualifiedName::from(name.clone()));
    match registry {
        Ok(registry) if registry.has_token() => {}
        Err(error) if error.code == "no_registry" => {
            lines.insert(
                1,
                format!(
                    "Once, `registry = \"URL\"` in {}, and with a token of that registry's \
                     operator:\n  skillpkg login",
                    context.settings.configuration_shown()
                ),
            );
        }
        _ => {
            let once = "Once, with a token of the registry's operator:\n  skillpkg login";
            lines.insert(1, once.to_owned());
        }
    }
    lines.join("\n")
}

/// Writes the files, all or none of them.
fn write(directory: &Path, files: &[NewFile]) -> Result<(), (PathBuf, std::io::Error)> {
    let mut written = Vec::new();
    for file in files {
        let path = directory.join(file.path);
        let new = std::fs::File::create_new(&path).and_then(|mut new| {
            written.push(path.clone());
            new.write_all(file.text.as_bytes())
        });
        if let Err(error) = new {
            for path in written {
                let _ = std::fs::remove_file(path);
            }
            return Err((path, error));
        }
    }
    Ok(())
}

/// What a directory is called, whatever path leads to it.
fn called(directory: &Path) -> Option<String> {
    Some(directory.canonicalize().ok()?.file_name()?.to_string_lossy().into_owned())
}

/// The directory's name where it is a legal one, else the nearest.
fn name_of(directory: &Path) -> Result<SkillName, Error> {
    let called = called(directory).unwrap_or_default();
    let tries = [
        Some(called.clone()),
        nearest_legal(&called),
        Some(format!("{called}-skill")),
        Some("my-skill".to_owned()),
    ];
    tries.into_iter().flatten().find_map(|text| text.parse().ok()).ok_or_else(|| {
        let message = format!("`{}` can be made no name", escape(&called));
        Error::new(Kind::Failed, "name_refused", message)
    })
}

fn agent_skill(name: &SkillName) -> Vec<NewFile> {
    let text = format!(
        "\
---
name: {name}
description: Explains what this skill is for. Use when somebody asks for an example of a skill.
metadata:
  version: \"0.1.0\"
---

# {name}

Write here what an agent should know and do. Keep it short: what is needed only sometimes goes into
a file of its own under `references/`, named here so that it is read when it is needed.
"
    );
    vec![NewFile { path: "SKILL.md", text }]
}

/// `name` says the same to the agents that know no hard skills, which show none without it.
fn hard_skill(name: &SkillName) -> Vec<NewFile> {
    let text = format!(
        "\
---
skill: {name}
name: {name}
description: Greets somebody by name. Use when somebody wants to be greeted.
version: 0.1.0
includes: hello.sh
---

Greet whoever asks to be greeted, once.

```tool
id: hello
description: greet somebody
params:
  name:
    type: string
    description: whom to greet
run: sh hello.sh $name
```

What the tool prints is the greeting: pass it on as it is.
"
    );
    let script = "\
#!/bin/sh
# Greets whoever is named by the first argument.
set -eu
printf 'Hello, %s.\\n' \"$1\"
"
    .to_owned();
    vec![NewFile { path: "SKILL.md", text }, NewFile { path: "hello.sh", text: script }]
}
