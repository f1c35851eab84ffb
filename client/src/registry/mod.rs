//! The client of a registry's native API.
//!
//! One host is spoken to, the configured one: redirects to another are refused, and a token goes
//! nowhere else. Every answer is bounded before it is read, and a body that trickles is given up.

use std::path::Path;

use bytes::Bytes;
use skillpkg_schema::signature::{KeyId, PublicKey};
use skillpkg_schema::wire::{
    Document, IndexAnswer, Key, Keys, MintToken, MintedToken, Owners, PublishAnswer, SearchAnswer,
    Tokens, WhoAmI,
};
use skillpkg_schema::{ContentAddress, QualifiedName, Version};
use url::Url;

use crate::Error;

/// A registry over HTTP. Cheap to clone; connections are kept and shared.
#[derive(Debug, Clone)]
pub struct Registry {
    url: Url,
}

impl Registry {
    /// The registry at `url`, spoken to with `token` where there is one. Connects to nothing yet.
    pub fn new(url: Url, token: Option<String>) -> Result<Self, Error> {
        let _ = token;
        Ok(Self { url })
    }

    /// Its base URL.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// One skill's document; [`None`] where there is none, or none that the token may read.
    pub async fn document(&self, name: &QualifiedName) -> Result<Option<Document>, Error> {
        let _ = name;
        todo!()
    }

    /// Many documents in one request (or one each [`skillpkg_schema::wire::MAX_INDEX_NAMES`]).
    pub async fn index(&self, names: &[QualifiedName]) -> Result<IndexAnswer, Error> {
        let _ = names;
        todo!()
    }

    /// The bytes of an archive of `size` bytes, checked against its digest.
    pub async fn archive(&self, archive: &ContentAddress, size: u64) -> Result<Bytes, Error> {
        let _ = (archive, size);
        todo!()
    }

    /// The bytes of a blob of at most `limit` bytes, checked against its address.
    pub async fn blob(&self, blob: &ContentAddress, limit: u64) -> Result<Bytes, Error> {
        let _ = (blob, limit);
        todo!()
    }

    /// Uploads an archive, streaming it from its file.
    pub async fn publish(
        &self,
        name: &QualifiedName,
        version: &Version,
        archive: &Path,
        key: Option<&PublicKey>,
    ) -> Result<PublishAnswer, Error> {
        let _ = (name, version, archive, key);
        todo!()
    }

    /// Yanks a version.
    pub async fn yank(
        &self,
        name: &QualifiedName,
        version: &Version,
        reason: &str,
    ) -> Result<(), Error> {
        let _ = (name, version, reason);
        todo!()
    }

    /// Takes a yank back.
    pub async fn unyank(&self, name: &QualifiedName, version: &Version) -> Result<(), Error> {
        let _ = (name, version);
        todo!()
    }

    /// The owners of a skill.
    pub async fn owners(&self, name: &QualifiedName) -> Result<Owners, Error> {
        let _ = name;
        todo!()
    }

    /// Adds an owner.
    pub async fn add_owner(&self, name: &QualifiedName, account: &str) -> Result<Owners, Error> {
        let _ = (name, account);
        todo!()
    }

    /// Removes an owner, never the last.
    pub async fn remove_owner(&self, name: &QualifiedName, account: &str) -> Result<Owners, Error> {
        let _ = (name, account);
        todo!()
    }

    /// Finds skills by name, description and the text of their tools.
    pub async fn search(&self, query: &str, limit: u32) -> Result<SearchAnswer, Error> {
        let _ = (query, limit);
        todo!()
    }

    /// Whose token it is.
    pub async fn who_am_i(&self) -> Result<WhoAmI, Error> {
        todo!()
    }

    /// The account's signing keys.
    pub async fn keys(&self) -> Result<Keys, Error> {
        todo!()
    }

    /// Registers a signing key.
    pub async fn add_key(&self, key: &PublicKey) -> Result<Key, Error> {
        let _ = key;
        todo!()
    }

    /// Revokes a signing key.
    pub async fn revoke_key(&self, key: &KeyId) -> Result<(), Error> {
        let _ = key;
        todo!()
    }

    /// The account's tokens.
    pub async fn tokens(&self) -> Result<Tokens, Error> {
        todo!()
    }

    /// Makes a token that allows no more than this one.
    pub async fn mint_token(&self, request: &MintToken) -> Result<MintedToken, Error> {
        let _ = request;
        todo!()
    }
}
