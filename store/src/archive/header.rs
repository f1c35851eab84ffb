//! The one header that an entry can have: POSIX ustar with nothing left to choose.

use std::ops::Range;

/// Bytes of a header, and what content is padded to.
pub(crate) const BLOCK_BYTES: usize = 512;

/// Bytes of the end of a stream: two blocks of zeros.
pub(crate) const END_BYTES: usize = 2 * BLOCK_BYTES;

/// Bytes of the name in a header.
pub(crate) const NAME_BYTES: usize = 100;

/// A header, or any other block.
pub(crate) type Block = [u8; BLOCK_BYTES];

/// A field of a header: what messages call it, and where it stands.
struct Field(&'static str, Range<usize>);

/// Every byte of a header belongs to one field; in the order of POSIX.1-1988.
const FIELDS: [Field; 17] = [
    Field("name", 0..100),
    Field("mode", 100..108),
    Field("uid", 108..116),
    Field("gid", 116..124),
    Field("size", 124..136),
    Field("mtime", 136..148),
    Field("checksum", CHECKSUM),
    Field("type flag", 156..157),
    Field("link name", 157..257),
    Field("magic", 257..263),
    Field("version", 263..265),
    Field("user name", 265..297),
    Field("group name", 297..329),
    Field("device major", 329..337),
    Field("device minor", 337..345),
    Field("prefix", 345..500),
    Field("reserved end", 500..512),
];

const CHECKSUM: Range<usize> = 148..156;
const SIZE: Range<usize> = 124..136;

/// The header of a regular file: `path` divided at `split`, owned by nobody, of no time.
///
/// Numbers are octal digits and a NUL, as wide as the field; the checksum is six digits, a NUL and
/// a space; the device numbers are zero, not empty. This is what GNU tar writes under
/// `--format=ustar --mtime=@0 --owner=:0 --group=:0`.
pub(crate) fn header(path: &str, split: usize, mode: u32, size: u64) -> Block {
    let (prefix, name) = match path.split_at_checked(split) {
        Some((prefix, name)) if split > 0 => (prefix, name.trim_start_matches('/')),
        _ => ("", path),
    };
    let mut block = [0; BLOCK_BYTES];
    put(&mut block, 0..100, name.as_bytes());
    put(&mut block, 100..108, format!("{mode:07o}").as_bytes());
    put(&mut block, 108..116, b"0000000");
    put(&mut block, 116..124, b"0000000");
    put(&mut block, SIZE, format!("{size:011o}").as_bytes());
    put(&mut block, 136..148, b"00000000000");
    put(&mut block, CHECKSUM, b"        ");
    put(&mut block, 156..157, b"0");
    put(&mut block, 257..263, b"ustar");
    put(&mut block, 263..265, b"00");
    put(&mut block, 329..337, b"0000000");
    put(&mut block, 337..345, b"0000000");
    put(&mut block, 345..500, prefix.as_bytes());
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    put(&mut block, CHECKSUM, format!("{sum:06o}\0 ").as_bytes());
    block
}

fn put(block: &mut Block, field: Range<usize>, bytes: &[u8]) {
    for (at, byte) in block[field].iter_mut().zip(bytes) {
        *at = *byte;
    }
}

/// The size that a header states, where it is written as [`header`] writes it.
pub(crate) fn stated_size(block: &Block) -> Option<u64> {
    let (digits, end) = block[SIZE].split_at(SIZE.len() - 1);
    if end != [0] {
        return None;
    }
    digits.iter().try_fold(0, |size: u64, digit| match digit {
        b'0'..=b'7' => Some(size * 8 + u64::from(digit - b'0')),
        _ => None,
    })
}

/// The first field in which two headers differ.
///
/// The checksum follows from the others, so it is named only where it alone differs.
pub(crate) fn first_difference(found: &Block, wanted: &Block) -> Option<&'static str> {
    let differs = |Field(_, place): &&Field| found[place.clone()] != wanted[place.clone()];
    let is_checksum = |Field(_, place): &&Field| *place == CHECKSUM;
    let differing = || FIELDS.iter().filter(differs);
    let first = differing().find(|field| !is_checksum(field)).or_else(|| differing().next())?;
    Some(first.0)
}

/// How many zeros follow content of `size` bytes.
pub(crate) fn padding(size: u64) -> usize {
    // The remainder is below a block, so it fits.
    let over = usize::try_from(size % BLOCK_BYTES as u64).unwrap_or(0);
    (BLOCK_BYTES - over) % BLOCK_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_header_belongs_to_one_field() {
        let mut next = 0;
        for Field(name, place) in &FIELDS {
            assert_eq!(place.start, next, "{name}");
            next = place.end;
        }
        assert_eq!(next, BLOCK_BYTES);
    }

    #[test]
    fn a_header_is_byte_for_byte_this_one() {
        let block = header("dir/tool.sh", 0, 0o755, 1234);
        let mut wanted = Vec::new();
        wanted.extend_from_slice(b"dir/tool.sh");
        wanted.resize(100, 0);
        let fields = ["0000755", "0000000", "0000000", "00000002322", "00000000000", "011276"];
        wanted.extend_from_slice(fields.join("\0").as_bytes());
        wanted.extend_from_slice(b"\0 0");
        wanted.resize(257, 0);
        wanted.extend_from_slice(b"ustar\x0000");
        wanted.resize(329, 0);
        wanted.extend_from_slice(b"0000000\x000000000");
        wanted.resize(512, 0);
        assert_eq!(block.as_slice(), wanted);
    }

    #[test]
    fn a_long_path_is_divided_into_prefix_and_name() {
        let (prefix, name) = ("p".repeat(90), "n".repeat(90));
        let block = header(&format!("{prefix}/{name}"), 90, 0o644, 0);
        assert_eq!(&block[..90], name.as_bytes());
        assert_eq!(&block[345..435], prefix.as_bytes());
        assert_eq!((block[90], block[435]), (0, 0));
    }

    #[test]
    fn a_size_is_read_as_it_is_written_and_no_other_way() {
        assert_eq!(stated_size(&header("a", 0, 0o644, 0o7_7777)), Some(0o7_7777));
        for size in
            ["0000000001 ", "         1\0", "00000000008\0", "0x000000001\0", "-0000000001\0"]
        {
            let mut block = header("a", 0, 0o644, 0);
            block[SIZE].fill(0);
            put(&mut block, SIZE, size.as_bytes());
            assert_eq!(stated_size(&block), None, "{size:?} was read");
        }
        let mut block = header("a", 0, 0o644, 0);
        // GNU's base-256 form.
        block[124] = 0x80;
        assert_eq!(stated_size(&block), None);
    }

    #[test]
    fn the_field_that_differs_is_named_before_the_checksum_that_follows_from_it() {
        let wanted = header("a", 0, 0o644, 5);
        let mut link = wanted;
        link[156] = b'2';
        link[CHECKSUM.start] ^= 1;
        assert_eq!(first_difference(&link, &wanted), Some("type flag"));
        let mut sum = wanted;
        sum[CHECKSUM.start] ^= 1;
        assert_eq!(first_difference(&sum, &wanted), Some("checksum"));
        assert_eq!(first_difference(&wanted, &wanted), None);
        for at in 0..BLOCK_BYTES {
            let mut changed = wanted;
            changed[at] ^= 0x55;
            assert!(first_difference(&changed, &wanted).is_some(), "byte {at} is not compared");
        }
    }

    #[test]
    fn content_is_padded_to_whole_blocks() {
        for (size, zeros) in [(0, 0), (1, 511), (511, 1), (512, 0), (513, 511)] {
            assert_eq!(padding(size), zeros);
        }
    }
}
