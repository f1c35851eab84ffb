//! `skillpkg-registry man` and `completions`: what a package of it installs beside it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory as _};

use super::{Arguments, Failure, output};

/// `man`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  skillpkg-registry man /usr/local/share/man/man1")]
pub(super) struct Man {
    /// A directory, made where it is absent
    directory: PathBuf,
}

impl Man {
    /// Writes a page for each command; a page that is there is replaced.
    pub(super) fn run(&self) -> Result<ExitCode, Failure> {
        let directory = &self.directory;
        std::fs::create_dir_all(directory)
            .and_then(|()| clap_mangen::generate_to(Arguments::command(), directory))
            .map_err(|source| {
                let doing = format!("writing pages into {}", directory.display());
                Failure::Io { doing, source }
            })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// `completions`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  skillpkg-registry completions bash")]
pub(super) struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

impl Completions {
    /// Prints the script of a shell.
    pub(super) fn run(&self) -> Result<ExitCode, Failure> {
        let mut script = Vec::new();
        let mut command = Arguments::command();
        clap_complete::generate(self.shell, &mut command, "skillpkg-registry", &mut script);
        output::line(String::from_utf8_lossy(&script).trim_end())?;
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_manual_page() {
        let directory = tempfile::tempdir().unwrap();
        Man { directory: directory.path().join("man1") }.run().unwrap();
        let mut line = Arguments::command();
        line.build();
        let mut left = vec![(&line, "skillpkg-registry".to_owned())];
        let mut count = 0;
        while let Some((command, name)) = left.pop() {
            let inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
            left.extend(inner.map(|inner| (inner, format!("{name}-{}", inner.get_name()))));
            let page = directory.path().join("man1").join(format!("{name}.1"));
            let page = std::fs::read_to_string(&page).unwrap_or_else(|_| panic!("{name}"));
            assert!(page.contains(".SH SYNOPSIS"), "{name}");
            count += 1;
        }
        assert!(count > 20, "{count}");
    }
}
