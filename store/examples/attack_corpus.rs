//! Writes every attack on the archive to a directory, as a file each: inputs for fuzzing and for
//! other implementations' tests.

use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).map(PathBuf::from);
    let directory = directory.ok_or("give the directory to write to")?;
    std::fs::create_dir_all(&directory)?;
    for attack in skillpkg_store::attacks::all()? {
        std::fs::write(directory.join(attack.name.replace('/', "-")), attack.archive)?;
    }
    Ok(())
}
