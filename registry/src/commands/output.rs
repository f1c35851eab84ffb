//! What commands say: data on stdout, talk on stderr.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is where the binary talks")]

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use serde::Serialize;
use tracing_subscriber::EnvFilter;

use super::Failure;

/// Logs to stderr what `RUST_LOG` asks for, else what an operator must know.
pub(super) fn start_log() {
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("warn,skillpkg_registry=info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .init();
}

/// One line of data, flushed: whoever waits for it through a pipe has it.
pub(super) fn line(text: &str) {
    println!("{text}");
    let _ = io::stdout().flush();
}

/// One document of data.
pub(super) fn json(value: &impl Serialize) {
    // Texts, numbers and lists of them: nothing in it that serialisation can refuse.
    line(&serde_json::to_string(value).unwrap_or_default());
}

/// Something worth telling.
pub(super) fn tell(text: &str) {
    eprintln!("{text}");
}

/// Tells why a command failed, in the form that was asked for.
pub(super) fn failed(failure: &Failure, as_json: bool) -> ExitCode {
    if as_json {
        let message = failure.to_string();
        json(&serde_json::json!({"error": {"code": failure.code(), "message": message}}));
    } else {
        eprintln!("error: {failure}");
    }
    ExitCode::from(1)
}
