//! What a skill requires of the machine beside the programs that its tools name.

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{Diagnostic, Manifest};

use super::program;
use crate::Settings;

/// Every requirement that this machine does not meet; each message names the skill, as it may be
/// one of many that are installed at once.
pub(super) fn unmet(manifest: &Manifest, settings: &Settings) -> Vec<Diagnostic> {
    let requires = &manifest.requires;
    let needed_by = format!("(needed by `{}`)", manifest.name);
    let mut unmet = Vec::new();
    for name in &requires.all {
        if program::on_path(name, &settings.path).is_none() {
            let error = program::ProgramError::NotOnPath(name.clone());
            let message = format!("{error} {needed_by}");
            unmet.push(Diagnostic::error(error.code(), message).with_hint(error.hint()));
        }
    }
    let any = &requires.any;
    if !any.is_empty() && !any.iter().any(|name| program::on_path(name, &settings.path).is_some()) {
        let message =
            format!("this needs one of {}, and none is on your PATH {needed_by}", listed(any));
        unmet.push(Diagnostic::error("program_missing", message).with_hint("install one of them"));
    }
    for name in &requires.env {
        if settings.variable(name).is_none_or(str::is_empty) {
            let name = escape(name);
            let message = format!("this needs the environment variable `{name}` {needed_by}");
            unmet.push(
                Diagnostic::error("requirement_missing", message)
                    .with_hint("set it, then run this again"),
            );
        }
    }
    if !requires.os.is_empty() && !requires.os.iter().any(|name| is_this_system(name)) {
        let message = format!(
            "`{}` is for {} alone, and this machine runs {}",
            manifest.name,
            listed(&requires.os),
            std::env::consts::OS
        );
        unmet.push(Diagnostic::error("requirement_missing", message));
    }
    unmet
}

/// Names in backticks, escaped.
pub(super) fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{}`", escape(name))).collect::<Vec<_>>().join(", ")
}

/// Whether `name` is this operating system; Node's names for macOS and Windows are read too.
fn is_this_system(name: &str) -> bool {
    let name = match name {
        "darwin" => "macos",
        "win32" => "windows",
        other => other,
    };
    name == std::env::consts::OS
}
