//! What every command gets: settings out of flags, environment, project file and configuration, and
//! the output.

use std::path::Path;

use skillpkg::policy::{PolicySource, Whose};
use skillpkg::settings::Sources;
use skillpkg::{Error, Kind, Settings};
use skillpkg_schema::diagnostic::{Diagnostic, escape};

use crate::commands::GlobalArguments;
use crate::output::Output;

/// What every command gets.
#[derive(Debug)]
pub(crate) struct Context {
    /// Where things are and which registry is asked.
    pub(crate) settings: Settings,
    /// What was met in the user's configuration that is worth a word; it was told.
    pub(crate) warnings: Vec<Diagnostic>,
    /// Where it talks.
    pub(crate) output: Output,
}

/// A failure to make anything at the home, with what says where that is.
pub(crate) fn at_home(error: Error, settings: &Settings) -> Error {
    let home = escape(&settings.home.to_string_lossy());
    let is_nowhere = !settings.home.exists() && error.message.contains(&format!("`{home}"));
    if !is_nowhere {
        return error;
    }
    error.with_hint(format!(
        "nothing can be made at `{home}`: set `SKILLPKG_HOME` to a directory that is there, or whose \
         parent takes another"
    ))
}

impl Context {
    /// Reads the environment, the project's file and the user's configuration; the project is
    /// looked for from `directory`, where one is named, else from the working directory.
    pub(crate) fn new(
        arguments: &GlobalArguments,
        directory: Option<&Path>,
        output: Output,
    ) -> Result<Self, Error> {
        let mut working_directory = std::env::current_dir().map_err(|error| {
            let message = format!("the working directory cannot be found: {error}");
            Error::new(Kind::Failed, "no_working_directory", message)
        })?;
        if let Some(directory) = directory {
            working_directory = directory.canonicalize().map_err(|error| {
                let message = format!("`{}`: {error}", escape(&directory.to_string_lossy()));
                Error::new(Kind::Usage, "no_such_directory", message)
            })?;
        }
        let sources = Sources {
            registry: arguments.registry.clone(),
            environment: std::env::vars_os().collect(),
            working_directory,
            user_home: std::env::home_dir().filter(|home| home.is_absolute()),
        };
        let (mut settings, warnings) = sources.settings()?;
        // One more file that rules as the machine's does; it takes none away.
        if let Some(path) =
            std::env::var_os("SKILLPKG_MACHINE_POLICY").filter(|path| !path.is_empty())
        {
            let path = sources.working_directory.join(path);
            settings.policies.push(PolicySource { path, whose: Whose::Machine, named: true });
        }
        output.warn_all(&warnings);
        Ok(Self { settings, warnings, output })
    }
}
