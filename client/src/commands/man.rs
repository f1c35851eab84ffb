//! `skillpkg man`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use clap_mangen::Man;
use serde_json::json;
use skillpkg::unfinished::{self, Readers};
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;

use crate::commands::CommandLine;
use crate::context::Context;

/// Write the manual pages of every command
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg man ~/.local/share/man/man1

Where no directory is named, the page of `skillpkg` itself is printed: skillpkg man | man -l -")]
pub(crate) struct Arguments {
    /// A directory, made where it is absent
    directory: Option<PathBuf>,
}

/// One manual page.
struct Page {
    file: String,
    text: Vec<u8>,
}

/// Runs it; answers with the exit code.
pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<u8, Error> {
    let pages = pages(CommandLine::command())?;
    let Some(directory) = &arguments.directory else {
        let first = pages.first().map(|page| String::from_utf8_lossy(&page.text));
        let first = first.unwrap_or_default();
        context.output.exact(&first)?;
        context.output.json(&json!({ "page": first }))?;
        return Ok(0);
    };
    let failed = |path: &Path, error: std::io::Error| {
        Error::new(Kind::Failed, "not_written", error.to_string()).in_file(path.to_string_lossy())
    };
    std::fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
    for page in &pages {
        let path = directory.join(&page.file);
        unfinished::create(directory, Readers::All)
            .and_then(|mut file| {
                file.write_all(&page.text)?;
                file.persist(&path).map_err(|error| error.error)
            })
            .map_err(|error| failed(&path, error))?;
    }
    let shown = escape(&directory.to_string_lossy());
    context.output.talk(&format!("Wrote {} pages into `{shown}`.", pages.len()));
    let files: Vec<&str> = pages.iter().map(|page| page.file.as_str()).collect();
    context.output.json(&json!({ "path": directory.to_string_lossy(), "pages": files }))?;
    Ok(0)
}

/// A page for the command and each beneath it.
fn pages(command: clap::Command) -> Result<Vec<Page>, Error> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add(&command, &mut pages)?;
    Ok(pages)
}

/// Commands hold commands three levels deep, and no input makes it more.
fn add(command: &clap::Command, pages: &mut Vec<Page>) -> Result<(), Error> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let mut text = Vec::new();
    Man::new(command.clone())
        .title(&name)
        .source(concat!("skillpkg ", env!("CARGO_PKG_VERSION")))
        .manual("skillpkg")
        .render(&mut text)
        .map_err(|error| Error::new(Kind::Failed, "page_failed", error.to_string()))?;
    pages.push(Page { file: format!("{name}.1"), text });
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        add(inner, pages)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_of_its_own() {
        let pages = pages(CommandLine::command()).unwrap();
        let mut line = CommandLine::command();
        line.build();
        let mut left = vec![(&line, "skillpkg".to_owned())];
        let mut names = Vec::new();
        while let Some((command, name)) = left.pop() {
            for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
                left.push((inner, format!("{name}-{}", inner.get_name())));
            }
            names.push(name);
        }
        assert!(names.len() > 40, "{names:?}");
        for name in &names {
            let page = pages.iter().find(|page| page.file == format!("{name}.1"));
            let page = page.unwrap_or_else(|| panic!("`{name}` has no page"));
            let text = String::from_utf8(page.text.clone()).unwrap();
            for part in [".SH NAME", ".SH SYNOPSIS", "Example"] {
                assert!(text.contains(part) || name == "skillpkg", "{name}: {part}\n{text}");
            }
        }
        assert_eq!(names.len(), pages.len());
    }
}
