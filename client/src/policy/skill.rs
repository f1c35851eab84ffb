//! What a policy is held against.

use jiff::Timestamp;
use skillpkg_schema::finding::Finding;
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::{Manifest, QualifiedName};
use url::Url;

use crate::project::Source;

/// Where a skill comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From<'a> {
    /// A registry.
    Registry(&'a Url),
    /// An archive in a file.
    File,
}

impl<'a> std::convert::From<&'a Source> for From<'a> {
    fn from(source: &'a Source) -> Self {
        match source {
            Source::Registry(url) => Self::Registry(url),
            Source::File(_) => Self::File,
        }
    }
}

/// What a skill takes the place of.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Before<'a> {
    /// Nothing: it is new here, or stays as it is.
    Nothing,
    /// Another version, and the commands in its prose that a host may run.
    Version(&'a Manifest, &'a [String]),
    /// Another version, of which the store has lost what it ran.
    Lost,
}

/// One version of a skill, with everything that a policy may rule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Skill<'a> {
    /// Its manifest.
    pub(crate) manifest: &'a Manifest,
    /// Where it comes from.
    pub(crate) from: From<'a>,
    /// The keys whose signatures over it were verified.
    pub(crate) keys: &'a [KeyId],
    /// When it was published, as its registry says; [`None`] where nobody knows.
    pub(crate) published: Option<Timestamp>,
    /// The commands in its prose that a host may run when it reads it.
    pub(crate) prose_commands: &'a [String],
    /// What is worth an eye in its files.
    pub(crate) findings: &'a [Finding],
    /// What it takes the place of.
    pub(crate) before: Before<'a>,
}

impl Skill<'_> {
    pub(super) fn name(&self) -> &QualifiedName {
        &self.manifest.name
    }

    /// `name@version`, for messages.
    pub(super) fn shown(&self) -> String {
        format!("`{}@{}`", self.manifest.name, self.manifest.version)
    }
}
