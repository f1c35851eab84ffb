//! What other tools installed above a directory in which they installed nothing.

use std::path::{Path, PathBuf};

use super::files;
use super::spot;
use crate::agents::{Agents, Reach};
use crate::real_path;

/// The nearest directory above `base` in which another tool has a file, or agents have a directory of
/// skills. The user's home directory is no project, nor is anything above it.
pub(super) fn of(base: &Path, user_home: &Path, agents: &Agents) -> Option<PathBuf> {
    let home = real_path::of(user_home).unwrap_or_else(|_| user_home.to_owned());
    let directories = spot::directories(agents, Reach::Project);
    let holds = |above: &&Path| {
        let files = files::places(Reach::Project, above, None);
        files.iter().any(|(_, path)| path.is_file())
            || directories.iter().any(|directory| above.join(directory).is_dir())
    };
    let above = base.ancestors().skip(1);
    above.take_while(|above| *above != home).find(holds).map(Path::to_owned)
}
