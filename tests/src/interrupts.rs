//! Programs that a test interrupts.

use std::ffi::OsStr;
use std::fs;
use std::process::Command;

/// A program that is interrupted by a signal, also where whoever started these tests ignores it, as
/// a shell does for what it runs in the background: what ignores a signal hands that on.
pub fn interruptible(program: impl AsRef<OsStr>) -> Command {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // SIGINT is the second signal.
    if ignored.is_none_or(|mask| mask & 0b10 == 0) {
        return Command::new(program);
    }
    let mut command = Command::new("/usr/bin/env");
    command.arg("--default-signal=INT").arg(program);
    command
}
