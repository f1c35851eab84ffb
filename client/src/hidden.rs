//! Reading a line from a terminal without showing it.

use std::io;

/// The terminal as it was, while what is typed is hidden.
#[cfg(unix)]
static BEFORE: std::sync::Mutex<Option<rustix::termios::Termios>> = std::sync::Mutex::new(None);

/// Puts the terminal back, where what is typed is hidden now.
#[cfg(unix)]
pub(crate) fn restore() {
    use rustix::termios::{OptionalActions, tcsetattr};
    if let Ok(mut before) = BEFORE.lock()
        && let Some(before) = before.take()
    {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &before);
    }
}

/// Nothing is ever hidden here.
#[cfg(not(unix))]
pub(crate) fn restore() {}

/// Reads a line from stdin, which is a terminal, with its echo off.
///
/// The keys that would end or stop the process are read here, so that the terminal is as it was
/// before the process ends: Ctrl-C ends it, with its echo back on.
#[cfg(unix)]
pub(crate) fn read_line() -> io::Result<String> {
    use rustix::process::{Signal, getpid, kill_process};
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    /// How often it is looked whether the signal has arrived.
    const LOOKS: u32 = 200;

    /// Puts the terminal back however reading ends.
    struct Restored;

    impl Drop for Restored {
        fn drop(&mut self) {
            restore();
        }
    }

    let before = tcgetattr(io::stdin())?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
    if let Ok(mut kept) = BEFORE.lock() {
        *kept = Some(before);
    }
    let restored = Restored;
    tcsetattr(io::stdin(), OptionalActions::Flush, &hidden)?;
    let line = typed(&mut crate::keyboard::Keyboard);
    drop(restored);
    if line.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {
        // As the terminal would have done: whoever listens for signals hears of it.
        let _ = kill_process(getpid(), Signal::INT);
        for _ in 0..LOOKS {
            if crate::interruption::is_told() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
    line
}

/// Refuses: what is typed would be shown.
#[cfg(not(unix))]
pub(crate) fn read_line() -> io::Result<String> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "what is typed would be shown here: give it on stdin or in a file",
    ))
}

/// A line of keys, as a terminal edits it: with Backspace, Ctrl-U and Ctrl-D. Ctrl-C is an error of
/// kind [`io::ErrorKind::Interrupted`].
#[cfg(unix)]
fn typed(keys: &mut dyn io::Read) -> io::Result<String> {
    /// Far more than any secret: whoever leans on a key fills no memory.
    const MOST_BYTES: usize = 16 * 1024;
    // Of its whole length from the start: growing would leave copies of a secret behind.
    let mut line = Vec::with_capacity(MOST_BYTES);
    let mut key = [0];
    loop {
        match keys.read(&mut key) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        match key[0] {
            b'\r' | b'\n' | 0x04 => break,
            0x03 => return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted")),
            0x08 | 0x7f => {
                // A character is its first byte and those that follow on it.
                while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
            }
            0x15 => line.clear(),
            byte if line.len() < MOST_BYTES => line.push(byte),
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long")),
        }
    }
    String::from_utf8(line)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the line is not UTF-8"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_as_a_terminal_does() {
        for (keys, line) in [
            ("skp_a\n", "skp_a"),
            ("skp_a\rmore", "skp_a"),
            ("x\u{15}skp_b\u{7f}c\n", "skp_c"),
            ("\u{7f}\u{8}a\u{4}b", "a"),
            ("aş✓\u{7f}\u{7f}b\n", "ab"),
            ("", ""),
        ] {
            assert_eq!(typed(&mut keys.as_bytes()).unwrap(), line, "{keys:?}");
        }
    }

    #[test]
    fn ctrl_c_gives_up_what_was_typed_and_a_line_is_bounded() {
        let interrupted = typed(&mut "skp_\u{3}a\n".as_bytes()).unwrap_err();
        assert_eq!(interrupted.kind(), io::ErrorKind::Interrupted);
        let endless = "x".repeat(20_000);
        assert_eq!(typed(&mut endless.as_bytes()).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
