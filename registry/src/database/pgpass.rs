//! The file of passwords that the driver reads, for what it does not say of it, or says with the
//! password.

use std::fs;
use std::path::{Path, PathBuf};

/// What to do about a password that a server does not take.
pub(super) fn advice() -> String {
    let named = std::env::var_os("PGPASSFILE").map(PathBuf::from);
    let path = named.or_else(|| std::env::home_dir().map(|home| home.join(".pgpass")));
    let Some(path) = path else {
        return "; is the password in the URL that of the role?".to_owned();
    };
    match fault(&path) {
        Some(fault) => format!("; no password is taken from `{}`: {fault}", path.display()),
        None => format!(
            "; is the password in the URL or in `{}` that of the role, and is its line about this \
             host, port, database and role?",
            path.display()
        ),
    }
}

/// What is wrong with the file, without anything of what is in it.
fn fault(path: &Path) -> Option<String> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return Some(error.to_string()),
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let open = fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0);
        if open {
            return Some("others may read it; `chmod 600` it".to_owned());
        }
    }
    let is_line = |line: &str| line.is_empty() || line.starts_with('#') || colons(line) >= 4;
    let wrong = text.lines().position(|line| !is_line(line))?;
    Some(format!("its line {} is not `host:port:database:user:password`", wrong + 1))
}

/// The colons of a line that part its fields.
fn colons(line: &str) -> usize {
    let mut is_escaped = false;
    let parts = |character: char| {
        let parts = character == ':' && !is_escaped;
        is_escaped = character == '\\' && !is_escaped;
        parts
    };
    line.chars().map(parts).filter(|parts| *parts).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_the_file_is_told_without_what_is_in_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pgpass");
        assert!(fault(&path).unwrap().contains("No such file"));
        let write = |text: &str, mode: u32| {
            fs::write(&path, text).unwrap();
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
            fault(&path)
        };
        assert_eq!(write("# ours\n\n*:*:skillpkg:ana:se\\:cret\n", 0o600), None);
        let told = write("*:*:skillpkg:ana:x\nhost:5432:secret\n", 0o600).unwrap();
        assert!(told.contains("line 2") && !told.contains("secret"), "{told}");
        assert!(write("host\\:5432:x:y:z\n", 0o600).unwrap().contains("line 1"));
        #[cfg(unix)]
        assert!(write("*:*:*:*:x\n", 0o644).unwrap().contains("chmod 600"));
    }
}
