//! Archives that a project's files name by a path.

use std::fs::File;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use skillpkg_schema::diagnostic::escape;

use super::{PROJECT_FILE, io_error};
use crate::install::ARCHIVE_ENDING;
use crate::{Error, Kind, real_path, regular_file};

/// An archive that a project's files name.
#[derive(Debug, Clone)]
pub(crate) struct ProjectArchive {
    /// Where the project lies, with every link resolved.
    root: PathBuf,
    /// As the project's files have it: relative, `/`-separated.
    file: String,
    /// Whether its user alone has put there what is in the project.
    is_own: bool,
}

impl ProjectArchive {
    pub(super) fn new(root: &Path, file: &str, is_own: bool) -> Self {
        Self { root: root.to_owned(), file: file.to_owned(), is_own }
    }

    /// Where it is said to be.
    pub(crate) fn path(&self) -> PathBuf {
        self.root.join(&self.file)
    }

    /// Opens it for reading.
    ///
    /// Whoever brought the project decides on what is in it, and not on what is read outside of it:
    /// a link that leads out is refused (`file_outside`). A path that climbs out by its text was
    /// seen by whoever wrote or reviewed it, and is followed to nothing but an archive by its
    /// ending. What a person names on a command line is written down with every link resolved, so
    /// that it is read again.
    pub(crate) fn open(&self) -> Result<File, Error> {
        let path = self.path();
        let failed = |error| io_error(&path, &error);
        let target = real_path::of(&path).map_err(failed)?;
        if self.is_own {
            return regular_file::open(&target).map_err(failed);
        }
        if let Ok(inner) = target.strip_prefix(&self.root) {
            // Beneath the handle, where nothing that is exchanged meanwhile leads out either.
            let root = Dir::open_ambient_dir(&self.root, ambient_authority()).map_err(failed)?;
            return regular_file::open_in(&root, inner).map_err(failed);
        }
        let is_archive = target.to_string_lossy().ends_with(ARCHIVE_ENDING);
        let climbs = climbs_out(&self.file);
        if climbs && is_archive {
            return regular_file::open(&target).map_err(failed);
        }
        Err(self.outside(&target, climbs))
    }

    fn outside(&self, target: &Path, climbs: bool) -> Error {
        let file = escape(&self.file);
        let named_so = target.to_string_lossy().ends_with(ARCHIVE_ENDING);
        let target = escape(&target.to_string_lossy());
        let (leads, hint) = if climbs {
            let leads = format!("leads to `{target}`, which does not end in `{ARCHIVE_ENDING}`");
            (leads, "rename it, or put the archive into the project".to_owned())
        } else {
            let otherwise = if named_so {
                format!("; or `skillpkg install {target}` writes down where it lies")
            } else {
                String::new()
            };
            let leads = format!("leads out of the project by a link, to `{target}`");
            (leads, format!("put the archive itself in the link's place{otherwise}"))
        };
        let message = format!("the archive `{file}` {leads}: nothing is read there");
        Error::new(Kind::Refused, "file_outside", message).in_file(PROJECT_FILE).with_hint(hint)
    }
}

/// Whether a path leaves its directory by its text alone.
fn climbs_out(path: &str) -> bool {
    let mut depth = 0_usize;
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_a_projects_files_name_is_read_in_the_project_and_no_link_leads_out() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let root = home.join("repository/project");
        fs::create_dir_all(root.join("vendor/deep")).unwrap();
        fs::create_dir(home.join("elsewhere")).unwrap();
        for (file, text) in [
            ("repository/project/vendor/inner", "inner"),
            ("repository/shared.skill.tar.zst", "shared"),
            ("elsewhere/secret", "secret"),
            ("elsewhere/other.skill.tar.zst", "other"),
        ] {
            fs::write(home.join(file), text).unwrap();
        }
        for (target, link) in [
            ("../vendor/inner", "vendor/within"),
            ("../../../elsewhere/secret", "vendor/out"),
            ("../../../elsewhere/other.skill.tar.zst", "vendor/out.skill.tar.zst"),
            ("../../../elsewhere", "vendor/away"),
            ("../elsewhere/secret", "../climbed.skill.tar.zst"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        symlink(root.join("vendor/inner"), root.join("vendor/absolute")).unwrap();
        symlink(home.join("elsewhere/secret"), root.join("vendor/deep/absolute")).unwrap();
        let read = |file: &str, is_own: bool| {
            let mut text = String::new();
            ProjectArchive::new(&root, file, is_own).open()?.read_to_string(&mut text).unwrap();
            Ok::<_, Error>(text)
        };
        for (file, text) in [
            ("vendor/inner", "inner"),
            ("vendor/within", "inner"),
            ("vendor/absolute", "inner"),
            ("vendor/deep/../inner", "inner"),
            ("../shared.skill.tar.zst", "shared"),
        ] {
            assert_eq!(read(file, false).unwrap(), text, "{file}");
        }
        for (file, target) in [
            ("vendor/out", "elsewhere/secret"),
            ("vendor/out.skill.tar.zst", "elsewhere/other.skill.tar.zst"),
            ("vendor/away/secret", "elsewhere/secret"),
            ("vendor/deep/absolute", "elsewhere/secret"),
            ("../climbed.skill.tar.zst", "elsewhere/secret"),
        ] {
            let error = read(file, false).unwrap_err();
            assert_eq!((error.kind, error.code.as_str()), (Kind::Refused, "file_outside"));
            let shown = home.join(target);
            assert!(error.message.contains(&format!("`{}`", shown.display())), "{error}");
            assert!(error.hint.is_some());
            assert!(read(file, true).is_ok(), "{file}: a directory of one's own");
        }
        assert_eq!(read("vendor/absent", false).unwrap_err().code, "io_failed");
    }

    #[test]
    fn a_path_climbs_out_where_its_text_says_so() {
        for (path, climbs) in
            [("a", false), ("a/../b", false), ("../a", true), ("a/../../b", true), ("./..", true)]
        {
            assert_eq!(climbs_out(path), climbs, "{path}");
        }
    }
}
