//! Archives that are taken, as GNU tar, bsdtar and Python's tarfile read them: the same entries with
//! the same bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use skillpkg_schema::Sha256Digest;
use skillpkg_schema::manifest::Mode;
use skillpkg_store::archive::{ENVELOPE_PATH, MANIFEST_PATH};
use skillpkg_store::attacks::{Sample, decode, tar_stream};

use crate::skips::skipped;
use crate::support::{attacks, small};

/// An entry: path, whether it is executable, and content.
type Entries = Vec<(String, bool, Vec<u8>)>;

/// Archives that the reader takes, each by its name.
fn taken() -> &'static BTreeMap<&'static str, &'static [u8]> {
    static TAKEN: LazyLock<BTreeMap<&str, &[u8]>> = LazyLock::new(|| {
        // The largest of them tell no more than the small ones.
        let small = attacks().iter().filter(|one| one.archive.len() < 1 << 20);
        let taken = small.filter(|one| decode(&one.archive).is_ok());
        taken.map(|one| (one.name.as_str(), one.archive.as_slice())).collect()
    });
    assert!(TAKEN.len() > 10);
    &TAKEN
}

fn entries(archive: &[u8]) -> Entries {
    let (Sample { manifest, envelope, files }, _) = decode(archive).unwrap();
    let ours = [(MANIFEST_PATH, manifest.to_bytes()), (ENVELOPE_PATH, envelope.to_bytes())];
    let ours = ours.into_iter().map(|(path, content)| (path.to_owned(), false, content));
    let files = manifest.files.iter().map(|file| {
        let is_executable = file.mode == Mode::Executable;
        (file.path.as_str().to_owned(), is_executable, files[&file.path].clone())
    });
    ours.chain(files).collect()
}

/// Whether a tool that `test` needs is at hand: it starts, and its `--version` says `says`.
fn is_at_hand(test: &str, program: &str, says: &str) -> bool {
    let output = Command::new(program).arg("--version").output();
    let is_at_hand = output.is_ok_and(|output| {
        output.status.success() && String::from_utf8_lossy(&output.stdout).contains(says)
    });
    if !is_at_hand {
        let says = if says.is_empty() { String::new() } else { format!(" ({says})") };
        skipped(test, &format!("`{program}`{says}"), true);
    }
    is_at_hand
}

/// What a program prints; it must end well.
fn output(command: &mut Command) -> Vec<u8> {
    let output = command.env("LC_ALL", "C.UTF-8").output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
    assert!(told.is_empty(), "{command:?}: {told}");
    output.stdout
}

/// The files beneath `root`, and nothing else is there.
#[cfg(unix)]
fn files_beneath(root: &Path) -> BTreeMap<String, (bool, Vec<u8>)> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut files = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_dir() {
                pending.push(path);
                continue;
            }
            assert!(metadata.is_file());
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let is_executable = metadata.permissions().mode() & 0o111 != 0;
            files.insert(name, (is_executable, fs::read(&path).unwrap()));
        }
    }
    files
}

#[cfg(unix)]
fn compare_with_tar(program: &str, decompress: &[&str], list: &[&str]) {
    for (name, archive) in taken() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("x.skill.tar.zst");
        fs::write(&place, archive).unwrap();
        let wanted = entries(archive);

        let listed = output(Command::new(program).args(decompress).args(list).arg(&place));
        let listed = String::from_utf8(listed).unwrap();
        let names: Vec<&str> = wanted.iter().map(|(path, ..)| path.as_str()).collect();
        assert_eq!(listed.lines().collect::<Vec<_>>(), names, "{name}");

        let root = directory.path().join("out");
        fs::create_dir(&root).unwrap();
        output(
            Command::new(program)
                .args(decompress)
                .arg("-x")
                .arg("-C")
                .arg(&root)
                .arg("-f")
                .arg(&place),
        );
        let wanted: BTreeMap<_, _> = wanted
            .into_iter()
            .map(|(path, is_executable, content)| (path, (is_executable, content)))
            .collect();
        assert_eq!(files_beneath(&root), wanted, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn gnu_tar_reads_what_we_read() {
    let test = "gnu_tar_reads_what_we_read";
    if is_at_hand(test, "tar", "GNU tar") && is_at_hand(test, "zstd", "") {
        compare_with_tar("tar", &["--zstd"], &["--quoting-style=literal", "-tf"]);
    }
}

#[cfg(unix)]
#[test]
fn bsdtar_reads_what_we_read() {
    if is_at_hand("bsdtar_reads_what_we_read", "bsdtar", "libzstd") {
        compare_with_tar("bsdtar", &[], &["-tf"]);
    }
}

const PYTHON: &str = r#"
import hashlib, sys, tarfile
sys.stdout.reconfigure(encoding="utf-8")
for place in sys.argv[1:]:
    with tarfile.open(place, "r:") as archive:
        for member in archive:
            content = archive.extractfile(member).read()
            assert member.isreg() and member.type == b"0", member
            assert (member.uid, member.gid, member.uname, member.gname) == (0, 0, "", "")
            assert (member.mtime, member.devmajor, member.devminor) == (0, 0, 0)
            assert (member.linkname, member.pax_headers) == ("", {})
            print(oct(member.mode), hashlib.sha256(content).hexdigest(), member.name)
        assert archive.offset == archive.fileobj.seek(0, 2) - 1024, "something follows the end"
    print("end")
"#;

#[test]
fn pythons_tarfile_reads_what_we_read() {
    if !is_at_hand("pythons_tarfile_reads_what_we_read", "python3", "Python 3") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut places = Vec::new();
    let mut wanted = String::new();
    for (number, archive) in taken().values().enumerate() {
        let place = directory.path().join(format!("{number}.tar"));
        fs::write(&place, tar_stream(archive).unwrap()).unwrap();
        places.push(place);
        for (path, is_executable, content) in entries(archive) {
            let mode = if is_executable { "0o755" } else { "0o644" };
            wanted.extend([mode, " ", &Sha256Digest::of(&content).to_string(), " ", &path, "\n"]);
        }
        wanted += "end\n";
    }
    let printed = output(Command::new("python3").args(["-c", PYTHON]).args(&places));
    assert_eq!(String::from_utf8(printed).unwrap(), wanted);
}

/// GNU tar, told to leave nothing to chance, writes our stream byte for byte.
#[cfg(unix)]
#[test]
fn gnu_tar_writes_what_we_write() {
    use std::os::unix::fs::PermissionsExt as _;
    if !is_at_hand("gnu_tar_writes_what_we_write", "tar", "GNU tar") {
        return;
    }
    let archive = small().archive().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let mut names = String::new();
    for (path, is_executable, content) in entries(&archive) {
        let place = root.join(&path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, content).unwrap();
        let mode = if is_executable { 0o755 } else { 0o644 };
        fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
        names.push_str(&path);
        names.push('\n');
    }
    fs::write(root.join("names"), names).unwrap();
    let written = output(
        Command::new("tar")
            .args(["--format=ustar", "--mtime=@0", "--owner=:0", "--group=:0", "--numeric-owner"])
            .args(["--blocking-factor=1", "--no-recursion", "--verbatim-files-from", "-T", "names"])
            .args(["-c", "-f", "-"])
            .current_dir(root),
    );
    assert!(written == tar_stream(&archive).unwrap(), "GNU tar writes other bytes");
}
