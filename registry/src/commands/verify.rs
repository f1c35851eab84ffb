//! `verify`.

use std::process::ExitCode;

use clap::Args;
use skillpkg_registry::data::Data;
use skillpkg_registry::upkeep;

use super::{Directory, Failure, Format, output};

/// Hashes every archive, manifest and file, and audits the log; the exit code is 3 where something is wrong. Works while
/// the registry serves.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  skillpkg-registry verify --data /var/lib/skillpkg")]
pub(super) struct Verify {
    #[command(flatten)]
    directory: Directory,
    #[command(flatten)]
    format: Format,
}

impl Verify {
    pub(super) fn json(&self) -> bool {
        self.format.json
    }

    pub(super) async fn run(&self) -> Result<ExitCode, Failure> {
        let data = Data::open(self.directory.places()).await?;
        let report = upkeep::verify(&data).await?;
        let ok = report.problems.is_empty();
        if self.format.json {
            output::json(&serde_json::json!({
                "ok": ok,
                "checked": report.checked,
                "leaves": report.leaves,
                "problems": report.problems,
            }))?;
        } else {
            for damage in &report.problems {
                output::line(&format!("{}: {}", damage.subject, damage.detail))?;
            }
            let count = report.problems.len();
            let upkeep::Report { checked, leaves, .. } = report;
            output::tell(&format!(
                "{checked} objects hashed, {leaves} leaves of the log read, {count} problems"
            ));
        }
        Ok(if ok { ExitCode::SUCCESS } else { ExitCode::from(3) })
    }
}
