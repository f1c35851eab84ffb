//! Proofs of what is installed no more.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use skillpkg_schema::ContentAddress;

use super::store::TrustStore;
use crate::Error;
use crate::project::io_error;

/// Removes the kept proofs of everything that is not `live`, and what writes that were cut short have
/// left; answers with how many files that were. What is known of the logs stays.
///
/// The caller keeps installs out. A kill leaves proofs that the next call removes.
pub fn collect_proofs(home: &Path, live: &[ContentAddress]) -> Result<u64, Error> {
    let live: BTreeSet<String> = live.iter().map(TrustStore::proof_name).collect();
    let store = TrustStore::new(home);
    let mut removed = 0;
    for log in entries(store.proofs())? {
        if !log.is_dir() {
            continue;
        }
        for path in entries(&log)? {
            let is_live =
                path.file_name().is_some_and(|name| live.contains(&*name.to_string_lossy()));
            if !is_live && path.is_file() {
                fs::remove_file(&path).map_err(|error| io_error(&path, &error))?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}

/// What is in a directory; nothing where there is none.
fn entries(directory: &Path) -> Result<Vec<std::path::PathBuf>, Error> {
    let read = || {
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        entries.map(|entry| entry.map(|entry| entry.path())).collect()
    };
    read().map_err(|error: io::Error| io_error(directory, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_of_what_is_not_live_go_and_all_others_stay() {
        let home = tempfile::tempdir().unwrap();
        let of = |digit: &str| -> ContentAddress {
            format!("sha256:{}", digit.repeat(64)).parse().unwrap()
        };
        assert_eq!(collect_proofs(home.path(), &[]).unwrap(), 0);
        let log = TrustStore::new(home.path()).proofs_of("example.org/log");
        fs::create_dir_all(&log).unwrap();
        for name in [&TrustStore::proof_name(&of("1")), &TrustStore::proof_name(&of("2")), ".new-1"]
        {
            fs::write(log.join(name), "proof").unwrap();
        }
        assert_eq!(collect_proofs(home.path(), &[of("1"), of("3")]).unwrap(), 2);
        let left: Vec<_> = entries(&log).unwrap();
        assert_eq!(left, [log.join(TrustStore::proof_name(&of("1")))]);
    }
}
