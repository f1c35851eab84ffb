//! Resources: read-only content of five kinds, without parameters.
//!
//! A read goes exactly where the resource says and nowhere else: nothing is searched for by name.

mod failure;
mod read;
#[cfg(test)]
mod tests;

pub use failure::{ResourceError, ResourceFailure};
pub use read::read;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use skillpkg_schema::path::SkillPath;
use skillpkg_schema::{ContentAddress, diagnostic::escape};

/// Most bytes of a resource where a host sets no other bound.
pub const DEFAULT_MAXIMUM_BYTES: u64 = 16 * 1024 * 1024;

/// A closure of a host that makes a resource's content when it is read.
pub type Delegate =
    Arc<dyn Fn() -> BoxFuture<'static, Result<Bytes, ResourceFailure>> + Send + Sync>;

/// One resource.
#[derive(Debug, Clone)]
pub struct Resource {
    /// The capability's name.
    pub name: String,
    /// What a model is told it holds.
    pub description: String,
    /// Where its content is.
    pub source: ResourceSource,
}

/// Where a resource's content is.
#[derive(Clone)]
pub enum ResourceSource {
    /// A small value, held as it is.
    Inline(Bytes),
    /// Made by a closure of the host at each read.
    Delegate(Delegate),
    /// Compiled into the host.
    Embedded(&'static [u8]),
    /// In the content store, under exactly this address.
    Content(ContentAddress),
    /// A file beneath a root that the host approves.
    File {
        /// The root.
        root: PathBuf,
        /// The file beneath it.
        path: SkillPath,
    },
}

impl Resource {
    /// A small value.
    pub fn inline(
        name: impl Into<String>,
        description: impl Into<String>,
        content: impl Into<Bytes>,
    ) -> Self {
        Self::new(name, description, ResourceSource::Inline(content.into()))
    }

    /// What `make` answers with at each read. It fails with a reason alone, so that no secret of
    /// the host gets into a message.
    pub fn delegate<F, Made>(
        name: impl Into<String>,
        description: impl Into<String>,
        make: F,
    ) -> Self
    where
        F: Fn() -> Made + Send + Sync + 'static,
        Made: Future<Output = Result<Bytes, ResourceFailure>> + Send + 'static,
    {
        let delegate: Delegate = Arc::new(move || Box::pin(make()));
        Self::new(name, description, ResourceSource::Delegate(delegate))
    }

    /// Bytes compiled into the host.
    pub fn embedded(
        name: impl Into<String>,
        description: impl Into<String>,
        content: &'static [u8],
    ) -> Self {
        Self::new(name, description, ResourceSource::Embedded(content))
    }

    /// The content of the store at exactly this address.
    pub fn content(
        name: impl Into<String>,
        description: impl Into<String>,
        address: ContentAddress,
    ) -> Self {
        Self::new(name, description, ResourceSource::Content(address))
    }

    /// A file beneath a root that the host approves.
    ///
    /// `path` is relative and `/`-separated; one that is absolute or climbs out is refused with
    /// [`ResourceFailure::AccessDenied`]. No link is followed when it is read.
    pub fn file(
        name: impl Into<String>,
        description: impl Into<String>,
        root: impl Into<PathBuf>,
        path: &str,
    ) -> Result<Self, ResourceError> {
        let name = name.into();
        let path = path.parse().map_err(|_| {
            let detail = format!("`{}` is not a path beneath its root", escape(path));
            ResourceError::new(&name, ResourceFailure::AccessDenied).with_detail(detail)
        })?;
        Ok(Self::new(name, description, ResourceSource::File { root: root.into(), path }))
    }

    fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        source: ResourceSource,
    ) -> Self {
        Self { name: name.into(), description: description.into(), source }
    }
}

impl fmt::Debug for ResourceSource {
    /// Never the content.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline(content) => write!(f, "Inline({} bytes)", content.len()),
            Self::Delegate(_) => f.write_str("Delegate"),
            Self::Embedded(content) => write!(f, "Embedded({} bytes)", content.len()),
            Self::Content(address) => write!(f, "Content({address})"),
            Self::File { root, path } => write!(f, "File({}, {path})", root.display()),
        }
    }
}
