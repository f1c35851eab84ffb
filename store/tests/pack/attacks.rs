//! Directories that would have packing read, or publish, what they should not.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::process::Command;

use skillpkg_schema::signature::SigningKey;
use skillpkg_store::archive::ArchiveError;
use skillpkg_store::attacks::SIGNING_KEY;
use skillpkg_store::pack::{PackOptions, Packing};

use crate::skips::skipped;
use crate::support::{SKILL, packed, plan, refusals, skill, write};

fn one(code: &str, file: &str) -> Vec<(String, Option<String>)> {
    vec![(code.to_owned(), Some(file.to_owned()))]
}

#[test]
fn a_link_is_refused_by_name_and_nothing_is_read_through_it() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("id_rsa");
    fs::write(&secret, "the secret").unwrap();
    let directory = skill(&[("d/a", "a")]);
    let root = directory.path();
    symlink(&secret, root.join("key.pem")).unwrap();
    assert_eq!(refusals(root), one("file_is_link", "key.pem"));
    let told: String = plan(root).unwrap_err().iter().map(ToString::to_string).collect();
    assert!(!told.contains("the secret"));

    fs::remove_file(root.join("key.pem")).unwrap();
    symlink(outside.path(), root.join("d/linked")).unwrap();
    assert_eq!(refusals(root), one("file_is_link", "d/linked"));
    fs::remove_file(root.join("d/linked")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    assert_eq!(refusals(root), one("file_is_link", "dangling"));
}

#[test]
fn a_link_that_is_left_out_is_no_matter() {
    let directory = skill(&[("a", "a"), (".skillignore", "linked\n")]);
    let root = directory.path();
    symlink("/etc/passwd", root.join("linked")).unwrap();
    fs::create_dir_all(root.join("node_modules/.bin")).unwrap();
    symlink("../x", root.join("node_modules/.bin/x")).unwrap();
    assert_eq!(packed(root), [".skillignore", "SKILL.md", "a"]);
}

#[test]
fn the_files_that_packing_itself_reads_are_no_links() {
    let outside = tempfile::tempdir().unwrap();
    let elsewhere = outside.path().join("x");
    fs::write(&elsewhere, SKILL).unwrap();
    for name in ["SKILL.md", ".skillignore", "skill.json"] {
        let directory = skill(&[]);
        let _ = fs::remove_file(directory.path().join(name));
        symlink(&elsewhere, directory.path().join(name)).unwrap();
        assert_eq!(refusals(directory.path()), one("file_is_link", name));
    }
}

#[test]
fn a_pipe_is_refused_without_waiting_for_it() {
    let directory = skill(&[]);
    let made = Command::new("mkfifo").arg(directory.path().join("pipe")).status();
    if !made.is_ok_and(|status| status.success()) {
        return skipped("a_pipe_is_refused_without_waiting_for_it", "`mkfifo`", true);
    }
    assert_eq!(refusals(directory.path()), one("file_is_special", "pipe"));
    fs::write(directory.path().join(".skillignore"), "pipe\n").unwrap();
    assert_eq!(packed(directory.path()), [".skillignore", "SKILL.md"]);
    fs::remove_file(directory.path().join("SKILL.md")).unwrap();
    fs::rename(directory.path().join("pipe"), directory.path().join("SKILL.md")).unwrap();
    assert!(plan(directory.path()).is_err());
}

#[test]
fn a_name_that_is_not_unicode_is_refused_and_shown() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let directory = skill(&[]);
    let name = OsStr::from_bytes(b"a\xff\x1b[31m");
    if fs::write(directory.path().join(name), "").is_err() {
        let test = "a_name_that_is_not_unicode_is_refused_and_shown";
        return skipped(test, "a file system that holds such a name", false);
    }
    let faults = plan(directory.path()).unwrap_err();
    assert_eq!(faults[0].code, "file_name");
    assert!(!faults[0].to_string().contains('\u{1b}'));
}

/// Counts what is written, and keeps it from nobody.
#[derive(Default)]
struct Written(Vec<u8>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_file_that_changes_after_it_was_hashed_leaves_nothing_written() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("same"), "before").unwrap();
    let changes: [fn(&std::path::Path); 5] = [
        |file| fs::write(file, "after!").unwrap(),
        |file| fs::write(file, "before and more").unwrap(),
        |file| fs::write(file, "").unwrap(),
        |file| fs::remove_file(file).unwrap(),
        |file| {
            fs::rename(file, file.with_extension("old")).unwrap();
            symlink(file.with_extension("old"), file).unwrap();
        },
    ];
    for change in changes {
        let directory = skill(&[("a.txt", "before")]);
        let packing = plan(directory.path()).unwrap();
        change(&directory.path().join("a.txt"));
        let key = SigningKey::from_pem(SIGNING_KEY).unwrap();
        let mut out = Written::default();
        let error = packing.write(&packing.sign(&[key]), &mut out).unwrap_err();
        assert!(matches!(error, ArchiveError::Content { .. } | ArchiveError::Io(_)), "{error}");
        assert!(out.0.is_empty());
    }
}

#[test]
fn secrets_are_refused_with_file_and_line_unless_they_are_allowed() {
    let token = format!("ghp_{}", "Zq8Lw3Vt6Yb1Nc5Md9Kf2Hg7Js4Rp0XuAeTi");
    let directory =
        skill(&[("a/run.py", &format!("import os\nkey = '{token}'\n")), (".env", "A=b\n")]);
    let faults = plan(directory.path()).unwrap_err();
    let told: Vec<_> =
        faults.iter().map(|one| (one.code.as_str(), one.file.as_deref(), one.line)).collect();
    let wanted =
        [("secret_found", Some(".env"), None), ("secret_found", Some("a/run.py"), Some(2))];
    assert_eq!(told, wanted);
    assert!(faults.iter().all(|one| !one.to_string().contains(&token)));

    let options = PackOptions { allow_secrets: true, ..PackOptions::default() };
    let packing = Packing::plan(directory.path(), &options).unwrap();
    assert!(packing.manifest().file(".env").is_some());
    let codes: Vec<&str> = packing.warnings().iter().map(|one| one.code.as_str()).collect();
    assert_eq!(codes, ["secret_packed", "secret_packed"]);

    write(directory.path(), ".skillignore", ".env\na/\n", false);
    assert_eq!(packed(directory.path()), [".skillignore", "SKILL.md"]);
}

#[test]
fn version_control_is_never_packed() {
    let directory = skill(&[(".git/config", "[remote]"), ("a", "a"), (".skillignore", "!.git\n")]);
    assert_eq!(packed(directory.path()), [".skillignore", "SKILL.md", "a"]);
    let hard = "---\nskill: h\ndescription: d\nversion: 1\nincludes: .\n---\nRead.\n";
    write(directory.path(), "SKILL.md", hard, false);
    assert_eq!(refusals(directory.path()), one("never_packed", ".git"));
}

#[test]
fn text_that_no_reader_sees_is_refused_in_every_file() {
    let directory = skill(&[("a.md", "Read.\n\u{e006f}\u{e0062}\u{e0065}\u{e0079}")]);
    let faults = plan(directory.path()).unwrap_err();
    let places: Vec<_> =
        faults.iter().map(|one| (one.code.as_str(), one.file.as_deref(), one.line)).collect();
    assert_eq!(places, [("hidden_character", Some("a.md"), Some(2))]);
    write(directory.path(), "a.md", "👩\u{200d}💻 می\u{200c}خواهم", false);
    write(directory.path(), "SKILL.md", &format!("{SKILL}\u{202e}"), false);
    assert_eq!(refusals(directory.path()), one("hidden_character", "SKILL.md"));
    write(directory.path(), "SKILL.md", SKILL, false);
    assert_eq!(packed(directory.path()), ["SKILL.md", "a.md"]);
}
