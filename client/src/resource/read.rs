//! Reading a resource.

use std::io;
use std::path::Path;

use bytes::Bytes;
use skillpkg_schema::ContentAddress;
use skillpkg_schema::path::SkillPath;
use skillpkg_schema::tree::{DirectoryTree, Entry, Tree as _};
use skillpkg_store::content::{Store, StoreError};

use super::{Resource, ResourceError, ResourceFailure, ResourceSource};

/// The content of a resource of at most `limit` bytes.
///
/// What has an address is re-hashed before it is handed out; a file is read without following a
/// link.
pub async fn read(resource: &Resource, store: &Store, limit: u64) -> Result<Bytes, ResourceError> {
    let content = match &resource.source {
        ResourceSource::Inline(content) => Ok(content.clone()),
        ResourceSource::Delegate(make) => make().await,
        ResourceSource::Embedded(content) => Ok(Bytes::from_static(content)),
        ResourceSource::Content(address) => stored(store, address, limit),
        ResourceSource::File { root, path } => file(root, path, limit),
    };
    let content = content.map_err(|failure| ResourceError::new(&resource.name, failure))?;
    if content.len() as u64 > limit {
        return Err(ResourceError::new(&resource.name, ResourceFailure::ContentTooLarge));
    }
    Ok(content)
}

fn stored(store: &Store, address: &ContentAddress, limit: u64) -> Result<Bytes, ResourceFailure> {
    store.read_blob(address, limit).map(Bytes::from).map_err(|error| match error {
        StoreError::Absent(_) => ResourceFailure::NotFound,
        StoreError::Damaged { .. } => ResourceFailure::InvalidVersion,
        StoreError::TooLong { .. } => ResourceFailure::ContentTooLarge,
        _ => ResourceFailure::SourceUnavailable,
    })
}

fn file(root: &Path, path: &SkillPath, limit: u64) -> Result<Bytes, ResourceFailure> {
    let tree = DirectoryTree::open(root).map_err(|error| of_io(&error))?;
    match tree.entry(path.as_str()).map_err(|error| of_io(&error))? {
        Some(Entry::File { size, .. }) if size > limit => Err(ResourceFailure::ContentTooLarge),
        Some(Entry::File { .. }) => {
            tree.read(path.as_str(), limit).map(Bytes::from).map_err(|error| of_io(&error))
        }
        Some(Entry::Link) => Err(ResourceFailure::AccessDenied),
        Some(Entry::Directory | Entry::Special) => Err(ResourceFailure::UnsupportedContent),
        None => Err(ResourceFailure::NotFound),
    }
}

fn of_io(error: &io::Error) -> ResourceFailure {
    match error.kind() {
        io::ErrorKind::NotFound => ResourceFailure::NotFound,
        io::ErrorKind::FileTooLarge => ResourceFailure::ContentTooLarge,
        io::ErrorKind::PermissionDenied => ResourceFailure::AccessDenied,
        _ => ResourceFailure::SourceUnavailable,
    }
}
