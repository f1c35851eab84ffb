//! What an archive costs its reader: memory for a window and a manifest, whatever it unpacks to.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read};
use std::path::Path;
use std::process::Command;

use skillpkg_schema::address::Digests;
use skillpkg_schema::manifest::{FileEntry, Mode};
use skillpkg_store::archive::{self, Bounds, Reader, Sink};
use skillpkg_store::attacks::Sample;

use crate::support::{attacks, path};

/// The archive that a child process unpacks.
const ARCHIVE: &str = "SKILLPKG_TEST_UNPACKS";
const MIB: u64 = 1024 * 1024;

/// Counts what comes.
#[derive(Default)]
struct Count(u64);

impl Sink for Count {
    fn file(&mut self, _: &FileEntry, content: &mut dyn Read) -> io::Result<()> {
        self.0 += io::copy(content, &mut io::sink())?;
        Ok(())
    }
}

/// The most memory that this process ever had, in bytes.
fn high_water_mark() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
}

/// What a child process of the other tests runs; nothing where nobody asks.
#[test]
fn a_child_unpacks_for_its_parent() {
    let Some(archive) = std::env::var_os(ARCHIVE) else { return };
    let before = high_water_mark();
    let mut count = Count::default();
    let input = File::open(archive).unwrap();
    let result = Reader::open(input, Bounds::default()).and_then(|one| one.unpack(&mut count));
    let (after, unpacked) = (high_water_mark(), count.0);
    println!("costs={} {after} {unpacked} {}", after - before, result.is_ok());
}

/// What unpacking costs a process of its own.
struct Cost {
    /// How much its memory grew.
    growth: u64,
    /// How much memory it had in all.
    total: u64,
    /// How many bytes of files came.
    unpacked: u64,
    is_taken: bool,
}

fn cost(archive: &Path) -> Cost {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory::a_child_unpacks_for_its_parent", "--nocapture"])
        .env(ARCHIVE, archive)
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let line = stdout.lines().find_map(|line| Some(line.split_once("costs=")?.1)).unwrap();
    let parts: Vec<&str> = line.split(' ').collect();
    let number = |place: usize| parts[place].parse().unwrap();
    let is_taken = parts[3] == "true";
    Cost { growth: number(0), total: number(1), unpacked: number(2), is_taken }
}

#[test]
fn an_archive_of_256_mib_unpacks_within_48_mib() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("large.skill.tar.zst");
    let large = 256 * MIB - 1024;
    let zeros = Digests::of_reader(io::repeat(0).take(large)).unwrap();
    let skill = "---\nname: sample\ndescription: A sample.\n---\nRead.\n";
    let mut sample = Sample::new(
        "sample".parse().unwrap(),
        "1.0.0".parse().unwrap(),
        BTreeMap::from([(path("SKILL.md"), (Mode::Regular, skill.into()))]),
    )
    .unwrap();
    sample.manifest.files.push(FileEntry::new(path("zeros.bin"), Mode::Regular, zeros));
    let out = BufWriter::new(File::create(&place).unwrap());
    archive::write(out, &sample.manifest, &sample.envelope, &mut |entry| {
        Ok(match entry.path.as_str() {
            "SKILL.md" => Box::new(skill.as_bytes()),
            _ => Box::new(io::repeat(0).take(large)),
        })
    })
    .unwrap();
    let cost = cost(&place);
    assert!(cost.is_taken);
    assert_eq!(cost.unpacked, large + skill.len() as u64);
    assert!(cost.total < 48 * MIB, "{} KiB", cost.total / 1024);
}

#[test]
fn a_bomb_stops_at_its_bound() {
    let directory = tempfile::tempdir().unwrap();
    let mut tried = 0;
    for attack in attacks() {
        // The large ones; of those at one end of the bounds one is like another.
        if attack.expected.row != "AX-21" || attack.name.split('/').count() > 2 {
            continue;
        }
        let place = directory.path().join("bomb");
        fs::write(&place, &attack.archive).unwrap();
        let cost = cost(&place);
        assert!(cost.growth <= 32 * MIB, "{} costs {} KiB", attack.name, cost.growth / 1024);
        assert!(cost.unpacked <= 64 * 1024, "{} unpacks {}", attack.name, cost.unpacked);
        tried += 1;
    }
    assert!(tried > 10);
}
