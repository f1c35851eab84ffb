//! What every command gets: settings out of flags, environment, project file and configuration, and
//! the output.

use skillpkg::{Error, Settings};

use crate::commands::GlobalArguments;
use crate::output::Output;

/// What every command gets.
#[derive(Debug)]
pub(crate) struct Context {
    /// Where things are and which registry is asked.
    pub(crate) settings: Settings,
    /// Where it talks.
    pub(crate) output: Output,
}

impl Context {
    /// Reads the environment, the project's file and the user's configuration.
    pub(crate) fn new(arguments: &GlobalArguments, output: Output) -> Result<Self, Error> {
        let _ = (arguments, output);
        todo!()
    }
}
