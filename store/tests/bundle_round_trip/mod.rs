//! Bytes of any kind as a bundle; what is read must be written again as it was.

use std::io::Cursor;

use skillpkg_store::bundle::{BundleReader, BundleWriter};

/// Reads `bytes` as a bundle; panics where it is written otherwise than it was read. Answers whether
/// it was one.
pub(crate) fn check(bytes: &[u8]) -> bool {
    let Ok(mut reader) = BundleReader::open(Cursor::new(bytes)) else { return false };
    let index = reader.index().clone();
    let Ok(mut writer) = BundleWriter::new(Vec::new(), &index) else {
        panic!("an index that was read is not written");
    };
    for file in &index.files {
        let content = reader.read(&file.path);
        let Ok(content) = content else { panic!("`{}` is not read again", file.path) };
        assert!(writer.add(&file.path, &content).is_ok());
    }
    assert_eq!(writer.finish().ok().as_deref(), Some(bytes));
    true
}
