//! A data directory that one process serves.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

use super::{Data, DataError, lock_file};

/// A data directory that this process alone serves.
#[derive(Debug)]
pub struct Claim {
    _file: File,
}

impl Data {
    /// Claims the directory for one server, until the answer is dropped or the process ends, and
    /// clears what an earlier one left half received.
    pub fn claim(&self) -> Result<Claim, DataError> {
        let path = self.root.join("serve.lock");
        let failed = |source| DataError::Io { path: path.clone(), source };
        let mut file = lock_file(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut process = String::new();
                let read = file.take(32).read_to_string(&mut process);
                let process = read.ok().map(|_| process.trim().to_owned());
                let process = process.filter(|text| text.parse::<u32>().is_ok());
                return Err(DataError::Served { path: self.root.clone(), process });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file.set_len(0).map_err(failed)?;
        file.rewind().map_err(failed)?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        file.flush().map_err(failed)?;
        clear(&self.temporary()).map_err(failed)?;
        Ok(Claim { _file: file })
    }
}

fn clear(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_directory_is_claimed_once_and_the_other_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let data = Data::open_or_create(directory.path()).await.unwrap();
        fs::write(data.temporary().join("left"), "half").unwrap();
        let claim = data.claim().unwrap();
        assert!(!data.temporary().join("left").exists());
        let error = data.claim().unwrap_err().to_string();
        assert!(error.contains(&format!("by process {}", std::process::id())), "{error}");
        drop(claim);
        assert!(data.claim().is_ok());
    }
}
