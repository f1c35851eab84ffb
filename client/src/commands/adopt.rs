//! `skillpkg adopt`.

use std::path::{Path, PathBuf};

use serde::Serialize;
use skillpkg::adopt::{Differing, Left, Match, Request, Survey, Tool, ToolFile, adopt, survey};
use skillpkg::agents::Reach;
use skillpkg::install::{Options, Report, settle};
use skillpkg::project::PROJECT_FILE;
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{ContentAddress, QualifiedName, Version};

use crate::commands::attendant::Terminal;
use crate::commands::{PlacingArguments, installed};
use crate::context::Context;

/// Take over what `npx skills`, `apm` or `clawhub` installed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg adopt --dry-run")]
pub(crate) struct Arguments {
    /// A project, or one lockfile of another tool in it; the working directory where absent
    path: Option<PathBuf>,
    /// A directory name of a skill; can be given again. Others are left alone
    #[arg(long = "only", value_name = "NAME")]
    only: Vec<String>,
    /// Show what would be taken over, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    placing: PlacingArguments,
    /// Take over without a question, and approve what the skills run
    #[arg(short, long)]
    yes: bool,
    /// Take a skill that another key signed than the one seen first
    #[arg(long)]
    accept_signer: bool,
}

impl Arguments {
    /// The directory that is looked at.
    ///
    /// A file that is no lockfile of another tool is an error.
    pub(crate) fn directory(&self) -> Result<Option<&Path>, Error> {
        let Some(path) = self.path.as_deref() else { return Ok(None) };
        if tool_of(path).is_none() {
            return if path.exists() && !path.is_dir() {
                Err(no_lockfile(path))
            } else {
                Ok(Some(path))
            };
        }
        let is_given = |path: &&Path| !path.as_os_str().is_empty();
        let Some(above) = path.parent().filter(is_given) else { return Ok(None) };
        // The file of `clawhub` lies in a directory of its own.
        let is_hidden =
            above.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let project = if is_hidden { above.parent() } else { Some(above) };
        Ok(project.filter(is_given))
    }
}

fn no_lockfile(path: &Path) -> Error {
    let message = format!(
        "`{}` is neither a directory nor called as a lockfile of another tool",
        escape(&path.to_string_lossy())
    );
    let names: Vec<String> = [Tool::Skills, Tool::Apm, Tool::ClawHub, Tool::GlobalSkills]
        .iter()
        .map(|tool| format!("`{}` of `{}`", tool.file(), tool.name()))
        .collect();
    Error::new(Kind::Usage, "not_a_lockfile", message)
        .with_hint(format!("these are read: {}", names.join(", ")))
}

/// The tool whose lockfile a path is, by its name.
fn tool_of(path: &Path) -> Option<Tool> {
    let name = path.file_name()?.to_str()?;
    match name {
        "skills-lock.json" => Some(Tool::Skills),
        ".skill-lock.json" => Some(Tool::GlobalSkills),
        "apm.lock.yaml" => Some(Tool::Apm),
        "lock.json" => Some(Tool::ClawHub),
        _ => None,
    }
}

#[derive(Serialize)]
struct ShownMatch<'s> {
    name: &'s QualifiedName,
    version: &'s Version,
    address: &'s ContentAddress,
    paths: &'s [String],
    tools: Vec<&'static str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'s [String],
}

#[derive(Serialize)]
struct ShownNearest<'s> {
    name: &'s QualifiedName,
    version: &'s Version,
    differing: &'s [Differing],
}

#[derive(Serialize)]
struct ShownLeft<'s> {
    key: &'s str,
    tools: Vec<&'static str>,
    paths: &'s [String],
    source: Option<&'s str>,
    hash: Option<&'s str>,
    code: &'static str,
    reason: &'s str,
    nearest: Option<ShownNearest<'s>>,
    next: &'s [String],
}

#[derive(Serialize)]
struct ShownFile<'s> {
    tool: &'static str,
    path: String,
    entries: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<&'s str>,
}

#[derive(Serialize)]
struct Shown<'s> {
    /// Whether anything was changed.
    changed: bool,
    adopted: Vec<ShownMatch<'s>>,
    left: Vec<ShownLeft<'s>>,
    /// What we have placed already.
    present: &'s [String],
    files: Vec<ShownFile<'s>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<serde_json::Value>,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let Arguments { path, only, dry_run, placing, yes, accept_signer } = arguments;
    let looked_from = looked_from(path.as_deref());
    let options = Options { approve: yes, accept_signer, ..placing.options() };
    let file = path.as_deref().and_then(|path| Some((tool_of(path)?, path)));
    let file = file.map(|(tool, path)| {
        let path =
            path.canonicalize().map_err(|error| skillpkg::project::io_error(path, &error))?;
        Ok::<_, Error>((tool, path))
    });
    let state_home = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let request = Request { file: file.transpose()?, state_home, only };
    let output = context.output;
    let mut terminal = Terminal::approving(output);
    // What was begun is whole before anybody is told that there is nothing to do.
    let finished = !dry_run && settle(&context.settings, options.reach, &mut terminal)?;
    let found = survey(&context.settings, &options, &request, &mut terminal).await?;
    if request.file.is_some()
        && let Some(error) = found.files.iter().find_map(unread)
    {
        return Err(error);
    }
    let base = found.base.canonicalize().ok();
    if options.reach == Reach::Project && looked_from.is_some() && looked_from != base {
        let base = escape(&found.base.to_string_lossy());
        output.talk(&format!("The project is `{base}`, which has `{PROJECT_FILE}`."));
    }
    preview(context, &found, finished)?;
    if dry_run || found.matched.is_empty() {
        output.json(&shown(&found, finished, None))?;
        output.talk(if finished {
            "What was begun is finished: `skillpkg list` tells what is here."
        } else {
            "Nothing was changed."
        });
        return Ok(0);
    }
    if !yes {
        let count = counted(found.matched.len(), "skill");
        let asked = output.confirm(
            &format!("Put the verified versions of {count} in their place?"),
            &format!("{count} can be taken over, and nobody can be asked here"),
            "`-y` takes them over, and approves what they run; `--dry-run` only shows them",
        );
        let refused = match asked {
            Ok(true) => None,
            Ok(false) => Some(
                Error::new(Kind::Refused, "not_approved", "nothing was changed")
                    .with_hint("`--only NAME` takes over that one alone"),
            ),
            Err(error) => Some(error),
        };
        if let Some(error) = refused {
            return refuse(context, &found, finished, error);
        }
    }
    let report = match adopt(&context.settings, &options, &found, &mut terminal).await {
        Ok(report) => report,
        Err(error) => return refuse(context, &found, finished, error),
    };
    tell(context, &found, &report)?;
    output.json(&shown(&found, true, None))?;
    Ok(0)
}

/// The directory that somebody means who names `path`, or nothing, resolved.
fn looked_from(path: Option<&Path>) -> Option<PathBuf> {
    let meant = match path {
        Some(path) if !path.is_dir() => return None,
        Some(path) => path,
        None => Path::new("."),
    };
    meant.canonicalize().ok()
}

/// That a file which was named is not read.
fn unread(file: &ToolFile) -> Option<Error> {
    let fault = file.fault.as_ref()?;
    let error = Error::new(Kind::Failed, "lockfile_unread", format!("it is not read: {fault}"));
    Some(error.in_file(file.path.to_string_lossy()).with_hint(UNREAD_HINT))
}

/// What to do about a lockfile that is not read.
const UNREAD_HINT: &str = "restore it; without it, `skillpkg adopt` looks at the directories of agents \
                           alone, and finds what is published all the same";

/// Fails, with what was found where that is asked for as JSON.
fn refuse(context: &Context, found: &Survey, finished: bool, error: Error) -> Result<u8, Error> {
    if !context.output.json {
        return Err(error);
    }
    context.output.json(&shown(found, finished, error.to_json().get("error").cloned()))?;
    context.output.warn(&error.to_string());
    Ok(error.kind.exit_code())
}

/// Shows what was found.
fn preview(context: &Context, found: &Survey, finished: bool) -> Result<(), Error> {
    let output = context.output;
    for file in &found.files {
        let path = relative(found, &file.path);
        match &file.fault {
            Some(fault) => output.warn(&format!(
                "`{path}` is not read: {fault}; the directories of agents are looked at all the same"
            )),
            None => output.talk(&format!(
                "`{path}` of `{}` has {}.",
                file.tool.name(),
                counted(file.entries.len(), "entry")
            )),
        }
    }
    for one in &found.matched {
        output.text(&matched(one))?;
    }
    for one in &found.left {
        output.text(&left(one))?;
    }
    if !found.ours.is_empty() {
        let keys: Vec<String> = found.ours.iter().map(|key| escape(key)).collect();
        output.talk(&format!("Here already: {}.", keys.join(", ")));
    }
    let is_nothing = found.matched.is_empty() && found.left.is_empty() && found.ours.is_empty();
    if is_nothing && !finished {
        output.talk("No other tool has installed a skill here.");
    }
    if let Some(above) = &found.above {
        let above = escape(&above.to_string_lossy());
        output.talk(&format!("hint: there is something in `{above}`: `skillpkg adopt {above}`"));
    }
    Ok(())
}

fn matched(one: &Match) -> String {
    let Match { name, version, address, .. } = one;
    let mut lines = vec![format!("exact     {name} {version}  {address}")];
    lines.extend(one.paths.iter().map(|path| format!("    {}", escape(path))));
    lines.extend(one.notes.iter().map(|note| format!("    {note}")));
    lines.join("\n")
}

fn left(one: &Left) -> String {
    const MOST_FILES: usize = 10;
    let mut lines = vec![format!("left      {}: {}", escape(&one.key), one.reason)];
    lines.extend(one.paths.iter().map(|path| format!("    {}", escape(path))));
    if let Some(source) = &one.source {
        let tools: Vec<&str> = one.tools.iter().map(|tool| tool.name()).collect();
        lines.push(format!("    {} has it from {}", tools.join(", "), escape(source)));
    }
    if let Some(hash) = &one.hash {
        lines.push(format!("    its digest there is {}", escape(hash)));
    }
    let differing = one.nearest.iter().flat_map(|nearest| &nearest.differing);
    let count = differing.clone().count();
    for file in differing.take(MOST_FILES) {
        let how = match file.kind {
            skillpkg::adopt::How::Modified => "other content",
            skillpkg::adopt::How::Missing => "missing here",
            skillpkg::adopt::How::Extra => "only here",
        };
        lines.push(format!("    {}: {how}", escape(&file.path)));
    }
    if count > MOST_FILES {
        lines.push(format!("    and {} more", count - MOST_FILES));
    }
    lines.extend(one.next.iter().map(|next| format!("    next: {next}")));
    lines.join("\n")
}

/// Tells what was done, and what the other tools still have.
fn tell(context: &Context, found: &Survey, report: &Report) -> Result<(), Error> {
    let output = context.output;
    if !output.json {
        installed::tell_as("adopted", report, output)?;
    }
    for file in &found.files {
        let listed = found.matched.iter().any(|one| one.tools.contains(&file.tool));
        if listed {
            output.talk(&format!(
                "`{}` is left as it is: take out there what skillpkg has now, so that `{}` does not \
                 write over it.",
                relative(found, &file.path),
                file.tool.name()
            ));
        }
    }
    Ok(())
}

fn relative(found: &Survey, path: &Path) -> String {
    escape(&path.strip_prefix(&found.base).unwrap_or(path).to_string_lossy())
}

fn counted(count: usize, what: &str) -> String {
    match (count, what) {
        (1, what) => format!("1 {what}"),
        (count, "entry") => format!("{count} entries"),
        (count, what) => format!("{count} {what}s"),
    }
}

fn shown(found: &Survey, changed: bool, error: Option<serde_json::Value>) -> Shown<'_> {
    let names = |tools: &std::collections::BTreeSet<Tool>| {
        tools.iter().map(|tool| tool.name()).collect::<Vec<_>>()
    };
    Shown {
        changed,
        adopted: found
            .matched
            .iter()
            .map(|one| ShownMatch {
                name: &one.name,
                version: &one.version,
                address: &one.address,
                paths: &one.paths,
                tools: names(&one.tools),
                notes: &one.notes,
            })
            .collect(),
        left: found
            .left
            .iter()
            .map(|one| ShownLeft {
                key: &one.key,
                tools: names(&one.tools),
                paths: &one.paths,
                source: one.source.as_deref(),
                hash: one.hash.as_deref(),
                code: one.code,
                reason: &one.reason,
                nearest: one.nearest.as_ref().map(|nearest| ShownNearest {
                    name: &nearest.name,
                    version: &nearest.version,
                    differing: &nearest.differing,
                }),
                next: &one.next,
            })
            .collect(),
        present: &found.ours,
        files: found
            .files
            .iter()
            .map(|file| ShownFile {
                tool: file.tool.name(),
                path: file
                    .path
                    .strip_prefix(&found.base)
                    .unwrap_or(&file.path)
                    .to_string_lossy()
                    .into_owned(),
                entries: file.entries.len(),
                fault: file.fault.as_deref(),
            })
            .collect(),
        error,
    }
}
