//! What a person types, or another program writes, read so that a signal ends the waiting.

use std::io;

/// The standard input, read without a buffer: what one reader leaves is there for the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keyboard;

#[cfg(unix)]
impl io::Read for Keyboard {
    /// Fails where this process is told to end while nothing comes.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        use rustix::io::Errno;

        /// How often it is looked whether this process was told to end, in nanoseconds.
        const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        let stdin = io::stdin();
        loop {
            if crate::interruption::is_told() {
                return Err(io::Error::other("interrupted"));
            }
            match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&LOOK)) {
                Ok(0) | Err(Errno::INTR) => continue,
                // What cannot be waited for is read all the same, and tells why it cannot be.
                Ok(_) | Err(_) => {}
            }
            match rustix::io::read(&stdin, &mut *buffer) {
                Err(Errno::INTR) => {}
                read => return Ok(read?),
            }
        }
    }
}

#[cfg(not(unix))]
impl io::Read for Keyboard {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        io::stdin().lock().read(buffer)
    }
}

/// A line of at most `most` bytes, without its end; empty where there is no more.
pub(crate) fn line(input: &mut impl io::Read, most: usize) -> io::Result<String> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while input.read(&mut byte)? == 1 && byte != *b"\n" {
        if line.len() >= most {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long"));
        }
        line.extend(byte);
    }
    String::from_utf8(line)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the line is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_to_its_end_and_no_further() {
        let mut input = &b"yes\nmore\n"[..];
        assert_eq!(line(&mut input, 10).unwrap(), "yes");
        assert_eq!(line(&mut input, 10).unwrap(), "more");
        assert_eq!(line(&mut input, 10).unwrap(), "");
        assert!(line(&mut &b"12345678901"[..], 10).is_err());
        assert!(line(&mut &b"\xff\n"[..], 10).is_err());
    }
}
