//! Reading a line from a terminal without showing it.

use std::io::{self, BufRead as _};

/// Reads a line from stdin, which is a terminal, with its echo off.
#[cfg(unix)]
pub(crate) fn read_line() -> io::Result<String> {
    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    /// Puts the terminal back however reading ends.
    struct Restored(Termios);

    impl Drop for Restored {
        fn drop(&mut self) {
            let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
        }
    }

    let before = tcgetattr(io::stdin())?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    let restored = Restored(before);
    tcsetattr(io::stdin(), OptionalActions::Flush, &hidden)?;
    let line = shown_line();
    drop(restored);
    line
}

/// Refuses: what is typed would be shown.
#[cfg(not(unix))]
pub(crate) fn read_line() -> io::Result<String> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "give the token on stdin, from a file or a pipe",
    ))
}

#[cfg(unix)]
fn shown_line() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line)
}
