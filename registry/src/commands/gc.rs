//! `gc`.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use skillpkg_registry::data::Data;
use skillpkg_registry::upkeep;

use super::{Directory, Failure, Format, output};

/// Removes what publishes that were cut short have left. Works while the registry serves.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  skillpkg-registry gc --data /var/lib/skillpkg")]
pub(super) struct Gc {
    /// Spare objects that are younger than this many hours
    #[arg(long, value_name = "HOURS", default_value_t = 24)]
    older_than: u32,
    /// Remove nothing, and tell what would be
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    directory: Directory,
    #[command(flatten)]
    format: Format,
}

impl Gc {
    pub(super) fn json(&self) -> bool {
        self.format.json
    }

    pub(super) async fn run(&self) -> Result<ExitCode, Failure> {
        let data = Data::open(self.directory.places()).await?;
        let age = Duration::from_secs(u64::from(self.older_than) * 3_600);
        let removal = upkeep::remove_orphans(&data, age, self.dry_run).await?;
        if self.format.json {
            output::json(&removal)?;
        } else {
            let did = if self.dry_run { "would be removed" } else { "removed" };
            let upkeep::Removal { removed, bytes, young } = removal;
            output::tell(&format!(
                "{removed} objects of {bytes} bytes {did}; {young} are too young to be"
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}
