//! Little-endian fields.

use super::UnzipError;

/// Little-endian fields of a header, taken one after another.
pub(super) struct Fields<'b>(pub(super) &'b [u8]);

impl<'b> Fields<'b> {
    pub(super) fn take(&mut self, length: usize) -> Result<&'b [u8], UnzipError> {
        let (taken, rest) =
            self.0.split_at_checked(length).ok_or(UnzipError::Shape("it is cut short"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn short(&mut self) -> Result<u16, UnzipError> {
        Ok(self.take(2)?.iter().rev().fold(0, |number, byte| (number << 8) | u16::from(*byte)))
    }

    pub(super) fn long(&mut self) -> Result<u32, UnzipError> {
        Ok(self.take(4)?.iter().rev().fold(0, |number, byte| (number << 8) | u32::from(*byte)))
    }
}
