//! What commands say: data on stdout, talk on stderr.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::error::ErrorKind;
use serde::Serialize;
use skillpkg_registry::problem::is_disk_full;
use tracing_subscriber::EnvFilter;

use super::Failure;

/// Logs to stderr what `RUST_LOG` asks for, else what an operator must know.
pub(super) fn start_log() {
    let filter = EnvFilter::try_from_default_env()
        // What a pool of connections has to tell is told by whoever asked it for one.
        .unwrap_or_else(|_| EnvFilter::new("warn,skillpkg_registry=info,sqlx_core::pool=off"));
    // What the driver says of a file of passwords repeats the line that it cannot read.
    let filter = match "sqlx_postgres::options::pgpass=off".parse() {
        Ok(silent) => filter.add_directive(silent),
        Err(_) => filter,
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        // It would be told on stderr, which is what does not take it, and a server would fall.
        .log_internal_errors(false)
        .init();
}

/// One line of data, flushed: whoever waits for it through a pipe has it.
pub(super) fn line(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}").and_then(|()| stdout.flush()).map_err(Failure::Stdout)
}

/// One line that is never shown again. Where stdout is thrown away, as it is where whoever started
/// this has closed it, it is not written, and that is a failure.
pub(super) fn secret(text: &str) -> Result<(), Failure> {
    if is_thrown_away() {
        let reason = io::Error::other("it is closed, or thrown away");
        return Err(Failure::Stdout(reason));
    }
    line(text)
}

/// Whether stdout is the device that keeps nothing: what is closed when a program begins is opened as
/// that by its runtime, lest a file takes its place.
#[cfg(unix)]
fn is_thrown_away() -> bool {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    let stdout = io::stdout().as_fd().try_clone_to_owned().map(std::fs::File::from);
    match (stdout.and_then(|stdout| stdout.metadata()), std::fs::metadata("/dev/null")) {
        (Ok(stdout), Ok(null)) => {
            stdout.file_type().is_char_device() && stdout.rdev() == null.rdev()
        }
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_thrown_away() -> bool {
    false
}

/// One document of data.
pub(super) fn json(value: &impl Serialize) -> Result<(), Failure> {
    // Texts, numbers and lists of them: nothing in it that serialisation can refuse.
    line(&serde_json::to_string(value).unwrap_or_default())
}

/// Something worth telling. Where stderr takes nothing, what was asked for is done all the same.
pub(super) fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Tells why a command failed, in the form that was asked for.
pub(super) fn failed(failure: &Failure, as_json: bool) -> ExitCode {
    let told = if is_disk_full(failure) {
        format!("{failure}; the disk is full: make room, then run it again")
    } else {
        failure.to_string()
    };
    match failure {
        // Nobody reads it any more, and nothing else went wrong.
        Failure::Stdout(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        _ if as_json => {
            if document(failure.code(), &told).is_err() {
                tell(&format!("error: {told}"));
            }
        }
        _ => tell(&format!("error: {told}")),
    }
    ExitCode::from(1)
}

/// Tells what is wrong with a command line: as JSON on stdout where that was asked for.
///
/// Help and the version are data; clap tells which is which.
pub(super) fn misunderstood(error: &clap::Error, as_json: bool) -> ExitCode {
    if as_json && error.use_stderr() {
        let told = error.render().to_string();
        let message = match error.kind() {
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "a subcommand is missing",
            _ => told.split("\n\nUsage:").next().unwrap_or(&told),
        };
        let _ = document("usage", message.trim().trim_start_matches("error: "));
    }
    // Printing it is all there is to do: what it could not be printed to is told nothing.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn document(code: &str, message: &str) -> Result<(), Failure> {
    json(&serde_json::json!({"error": {"code": code, "message": message}}))
}
