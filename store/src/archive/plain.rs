//! The same ustar stream without what is ours in it, for readers that know no manifest.

use std::io::{self, Read, Write};

use skillpkg_schema::SkillPath;
use skillpkg_schema::manifest::Mode;

use super::header::{BLOCK_BYTES, END_BYTES, header, padding};

/// Writes regular files as a ustar stream, each header as an archive of the profile has it.
///
/// Every [`SkillPath`] fits a header, so that no reader needs an extension of the format.
#[derive(Debug)]
pub struct PlainTar<W> {
    out: W,
}

impl<W: Write> PlainTar<W> {
    /// Nothing yet.
    pub fn new(out: W) -> Self {
        Self { out }
    }

    /// Writes a file of `size` bytes; content of another length is an error of kind
    /// [`io::ErrorKind::InvalidData`].
    pub fn file(
        &mut self,
        path: &SkillPath,
        mode: Mode,
        size: u64,
        content: &mut dyn Read,
    ) -> io::Result<()> {
        self.out.write_all(&header(path.as_str(), path.ustar_split(), mode.bits(), size))?;
        let written = io::copy(&mut content.take(size.saturating_add(1)), &mut self.out)?;
        if written != size {
            let message = format!("`{path}` is not the {size} bytes that it should be");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        self.out.write_all(&[0; BLOCK_BYTES][..padding(size)])
    }

    /// Ends the stream; answers with what it was written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&[0; END_BYTES])?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_follow_one_another_in_whole_blocks() {
        let mut tar = PlainTar::new(Vec::new());
        let path = |text: &str| text.parse::<SkillPath>().unwrap();
        tar.file(&path("SKILL.md"), Mode::Regular, 3, &mut &b"abc"[..]).unwrap();
        tar.file(&path("run.sh"), Mode::Executable, 0, &mut &b""[..]).unwrap();
        let refused = tar.file(&path("long"), Mode::Regular, 2, &mut &b"abc"[..]).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
        let mut tar = PlainTar::new(Vec::new());
        tar.file(&path("SKILL.md"), Mode::Regular, 3, &mut &b"abc"[..]).unwrap();
        let bytes = tar.finish().unwrap();
        assert_eq!(bytes.len(), 512 + 512 + 1024);
        assert_eq!(&bytes[..8], b"SKILL.md");
        assert_eq!(&bytes[512..516], b"abc\0");
    }
}
