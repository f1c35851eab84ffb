//! The client of a registry's native API.
//!
//! One host is spoken to, the configured one: no redirect is followed, and a token goes nowhere
//! else. Every answer is bounded before it is read, and a body that trickles is given up.

mod advisories;
mod connect;
mod error;
pub mod job;
mod log;
mod near;
mod people;
mod place;
mod publishers;
mod transport;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use reqwest::Method;
use skillpkg_schema::limits::{MAX_ARCHIVE_BYTES, MAX_ENVELOPE_BYTES, MAX_MANIFEST_BYTES};
use skillpkg_schema::signature::{Envelope, KeyId, PublicKey};
use skillpkg_schema::wire::{
    ARCHIVE_MEDIA_TYPE, AddKey, Document, IndexAnswer, IndexRequest, KEY_PROOF_HEADER, Key, Keys,
    MAX_INDEX_NAMES, MintToken, MintedToken, PUBLIC_KEY_HEADER, PublishAnswer, RegistryInformation,
    RevokeKey, SearchAnswer, Tokens, WhoAmI, YankRequest,
};
use skillpkg_schema::{ContentAddress, Manifest, QualifiedName, Version};
use url::Url;

use self::connect::Patience;
use self::error::RegistryError;
pub(crate) use self::log::Indexed;
pub(crate) use self::place::Place;
use self::transport::{Ask, Payload, Transport, json};
use crate::bundle::{Carried, Shelf};
use crate::credentials::Credentials;
use crate::meter::{Meter, Part};
use crate::policy::Policy;
use crate::settings::{Chosen, Connection, RegistryChoice, registry_text};
use crate::{Error, Kind, Settings};

/// Most warnings of an answer that are told.
const MOST_WARNINGS: usize = 100;

/// A registry over HTTP. Cheap to clone; connections are kept and shared.
#[derive(Debug, Clone)]
pub struct Registry {
    transport: Transport,
    /// What a bundle holds of it, where one stands in for it.
    shelf: Option<Shelf>,
    /// Counts what is sent of an archive.
    meter: Meter,
    /// Why the token of the environment is not sent to it, where there is one.
    withheld: Option<&'static str>,
}

impl Registry {
    /// The registry at `url`, spoken to with `token` where there is one. Connects to nothing yet.
    pub fn new(url: Url, token: Option<String>) -> Result<Self, Error> {
        Self::with_connection(url, token, &Connection::default())
    }

    /// As [`Registry::new`], connected to as `connection` says.
    pub fn with_connection(
        url: Url,
        token: Option<String>,
        connection: &Connection,
    ) -> Result<Self, Error> {
        let transport = Transport::new(url, token, connection, Patience::default())?;
        Ok(Self { transport, shelf: None, meter: Meter::default(), withheld: None })
    }

    /// The registry that `name` is asked for at; it never falls through to another.
    pub fn for_settings(settings: &Settings, name: &QualifiedName) -> Result<Self, Error> {
        Self::chosen(settings, &settings.registry_for(name)?)
    }

    /// The registry of a choice, with the token that may go there: the environment's only to a
    /// registry that the user chose, else the one that was kept for exactly this URL.
    ///
    /// Refuses with `offline` where the settings say that no network is asked, and with
    /// `policy_registry` where a policy of the machine or the user does not allow it.
    pub fn chosen(settings: &Settings, choice: &RegistryChoice) -> Result<Self, Error> {
        if let Some(bundle) = &settings.bundle {
            Policy::of_user(settings)?.check_registry(&choice.url)?;
            return Self::carried(bundle, &choice.url);
        }
        if settings.offline {
            let url = registry_text(&choice.url);
            let message = format!("the registry at `{url}` would have to be asked, and is not");
            return Err(Error::new(Kind::Failed, "offline", message));
        }
        Policy::of_user(settings)?.check_registry(&choice.url)?;
        let token = token_for(settings, choice)?;
        let connection = settings.connections.get(&choice.url).cloned().unwrap_or_default();
        let registry = Self::with_connection(choice.url.clone(), token, &connection)?;
        Ok(Self { withheld: withheld(settings, choice), ..registry })
    }

    /// The same, spoken to as nobody.
    pub(crate) fn without_token(&self) -> Self {
        Self { transport: self.transport.without_token(), ..self.clone() }
    }

    /// The same, which counts what it sends of an archive.
    #[must_use]
    pub fn metered(self, meter: &Meter) -> Self {
        Self { meter: meter.clone(), ..self }
    }

    /// What a bundle holds of the registry at `url`, asked in its place.
    pub(crate) fn carried(carried: &Arc<Carried>, url: &Url) -> Result<Self, Error> {
        let shelf = Some(carried.shelf(url)?);
        let transport = Transport::none(url.clone());
        Ok(Self { transport, shelf, meter: Meter::default(), withheld: None })
    }

    /// Its base URL.
    pub fn url(&self) -> &Url {
        self.transport.base()
    }

    /// What a bundle holds of it, where one stands in for it.
    pub(crate) fn shelf(&self) -> Option<&Shelf> {
        self.shelf.as_ref()
    }

    /// Who answers: itself, or the bundle that stands in for it.
    pub(crate) fn place(&self) -> Place {
        match &self.shelf {
            Some(bundle) => Place::bundle(bundle.shown(), self.url()),
            None => Place::registry(self.url()),
        }
    }

    /// Why the token in the environment is not sent to it, as a sentence; [`None`] where there is none
    /// or it is.
    pub fn withheld(&self) -> Option<&'static str> {
        self.withheld
    }

    /// Whether it is spoken to with a token.
    pub fn has_token(&self) -> bool {
        self.transport.has_token()
    }

    /// One skill's document; [`None`] where there is none, or none that the token may read.
    pub async fn document(&self, name: &QualifiedName) -> Result<Option<Document>, Error> {
        let answer = self.transport.json::<Document>(Ask::get(self.skill(name, &[]))).await;
        match answer {
            Ok(document) => {
                self.same(name, &document.name)?;
                Ok(Some(document))
            }
            Err(error) if is_not_found(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Many documents in one request (or one each [`MAX_INDEX_NAMES`], and in halves where the
    /// documents are too long for one answer).
    pub async fn index(&self, names: &[QualifiedName]) -> Result<IndexAnswer, Error> {
        let mut all = IndexAnswer { documents: Vec::new(), missing: Vec::new(), views: Vec::new() };
        let mut pending: Vec<&[QualifiedName]> = names.chunks(MAX_INDEX_NAMES).rev().collect();
        while let Some(names) = pending.pop() {
            let request = IndexRequest { names: names.to_vec(), logs: None };
            let url = self.transport.route(&["index"]);
            let ask = Ask::new(Method::POST, url, json(&request)?).repeatable();
            let answer: IndexAnswer = match self.transport.json(ask).await {
                Err(error) if is_too_large(&error) && names.len() > 1 => {
                    let (first, second) = names.split_at(names.len() / 2);
                    pending.extend([second, first]);
                    continue;
                }
                other => other?,
            };
            for document in &answer.documents {
                if !names.contains(&document.name) {
                    return Err(self.other("what is listed", &document.name).into());
                }
            }
            all.documents.extend(answer.documents);
            all.missing.extend(answer.missing);
        }
        Ok(all)
    }

    /// The bytes of an archive of `size` bytes, checked against its digest.
    pub async fn archive(&self, archive: &ContentAddress, size: u64) -> Result<Bytes, Error> {
        self.counted_archive(archive, size, &Meter::default().part(0)).await
    }

    /// [`Registry::archive`], whose bytes are counted as they come.
    pub(crate) async fn counted_archive(
        &self,
        archive: &ContentAddress,
        size: u64,
        part: &Part,
    ) -> Result<Bytes, Error> {
        if let Some(shelf) = &self.shelf {
            return shelf.archive(archive);
        }
        let url = self.transport.route(&["archives", &archive.to_string()]);
        let most = size.min(MAX_ARCHIVE_BYTES);
        let bytes = self.transport.counted_bytes(Ask::get(url), most, part).await?;
        let received = bytes.len() as u64;
        if received < size {
            let url = self.transport.shown();
            return Err(RegistryError::TooShort { url, received, expected: size }.into());
        }
        self.verified(bytes, archive)
    }

    /// The bytes of a blob of at most `limit` bytes, checked against its address.
    pub async fn blob(&self, blob: &ContentAddress, limit: u64) -> Result<Bytes, Error> {
        let url = self.transport.route(&["blobs", &blob.to_string()]);
        let bytes = self.transport.bytes(Ask::get(url), limit).await?;
        self.verified(bytes, blob)
    }

    /// The manifest of a snapshot, checked against its address.
    pub async fn manifest(&self, snapshot: &ContentAddress) -> Result<Manifest, Error> {
        let url = self.transport.route(&["manifests", &snapshot.to_string()]);
        let bytes = self.transport.bytes(Ask::get(url), MAX_MANIFEST_BYTES as u64).await?;
        let bytes = self.verified(bytes, snapshot)?;
        Manifest::from_bytes(&bytes)
            .map_err(|error| Error::new(Kind::Verification, "manifest_refused", error.to_string()))
    }

    /// The signatures over a snapshot's manifest, unverified.
    pub async fn signatures(&self, snapshot: &ContentAddress) -> Result<Envelope, Error> {
        let url = self.transport.route(&["manifests", &snapshot.to_string(), "signatures"]);
        let bytes = self.transport.bytes(Ask::get(url), MAX_ENVELOPE_BYTES as u64).await?;
        Envelope::from_bytes(&bytes)
            .map_err(|error| Error::new(Kind::Verification, "signature_refused", error.to_string()))
    }

    /// Uploads an archive, streaming it from its file. `key` is offered for an account's first
    /// publish to register, and `proof` shows that the account holds it.
    pub async fn publish(
        &self,
        name: &QualifiedName,
        version: &Version,
        archive: &Path,
        key: Option<&PublicKey>,
        proof: Option<&Envelope>,
    ) -> Result<PublishAnswer, Error> {
        let file = archive.to_path_buf();
        let size = std::fs::metadata(archive)
            .map_err(|error| RegistryError::File { file: file.clone(), reason: error.to_string() })?
            .len();
        let url = self.skill(name, &[&version.to_string()]);
        // The same archive again is answered as it was the first time.
        let mut ask = Ask::new(Method::PUT, url, Payload::File(file, size, self.meter.part(size)))
            .repeatable()
            .header("content-type", ARCHIVE_MEDIA_TYPE.to_owned());
        if let Some(key) = key {
            ask = ask.header(PUBLIC_KEY_HEADER, STANDARD.encode(key.to_der()));
        }
        if let Some(proof) = proof {
            ask = ask.header(KEY_PROOF_HEADER, STANDARD.encode(proof.to_bytes()));
        }
        let answer: Result<PublishAnswer, RegistryError> = self.transport.json(ask).await;
        match answer {
            Ok(answer) => {
                self.same(name, &answer.name)?;
                let told = answer.warnings.into_iter().take(MOST_WARNINGS);
                let warnings = told.map(error::printable).collect();
                Ok(PublishAnswer { warnings, ..answer })
            }
            // A server that refuses the token closes the connection in the middle of a long
            // upload, before its answer is read: asking who we are tells the two apart.
            Err(error @ (RegistryError::Unreachable { .. } | RegistryError::BrokenOff { .. })) => {
                match self.who_am_i().await {
                    Err(refused) if refused.kind == Kind::Refused => Err(refused),
                    _ => Err(error.into()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Yanks a version.
    pub async fn yank(
        &self,
        name: &QualifiedName,
        version: &Version,
        reason: &str,
    ) -> Result<(), Error> {
        let request = YankRequest { reason: reason.to_owned() };
        let url = self.skill(name, &[&version.to_string(), "yank"]);
        Ok(self.transport.done(Ask::new(Method::POST, url, json(&request)?)).await?)
    }

    /// Takes a yank back.
    pub async fn unyank(&self, name: &QualifiedName, version: &Version) -> Result<(), Error> {
        let url = self.skill(name, &[&version.to_string(), "unyank"]);
        Ok(self.transport.done(Ask::new(Method::POST, url, Payload::Nothing)).await?)
    }

    /// Finds skills by name, description and the text of their tools.
    pub async fn search(&self, query: &str, limit: u32) -> Result<SearchAnswer, Error> {
        let mut url = self.transport.route(&["search"]);
        url.query_pairs_mut().append_pair("q", query).append_pair("limit", &limit.to_string());
        Ok(self.transport.json(Ask::get(url)).await?)
    }

    /// Whose token it is.
    pub async fn who_am_i(&self) -> Result<WhoAmI, Error> {
        Ok(self.transport.json(Ask::get(self.transport.route(&["tokens", "self"]))).await?)
    }

    /// The account's signing keys.
    pub async fn keys(&self) -> Result<Keys, Error> {
        Ok(self.transport.json(Ask::get(self.transport.route(&["keys"]))).await?)
    }

    /// Registers a signing key, of which `proof` shows that the account holds it.
    pub async fn add_key(&self, key: &PublicKey, proof: &Envelope) -> Result<Key, Error> {
        let proof = Some(STANDARD.encode(proof.to_bytes()));
        let request = AddKey { pem: key.to_pem(), proof };
        let url = self.transport.route(&["keys"]);
        Ok(self.transport.json(Ask::new(Method::POST, url, json(&request)?)).await?)
    }

    /// Revokes a signing key, for a reason where one is given.
    pub async fn revoke_key(&self, key: &KeyId, reason: Option<&str>) -> Result<(), Error> {
        let request = RevokeKey { reason: reason.map(str::to_owned) };
        let url = self.transport.route(&["keys", &key.to_string()]);
        Ok(self.transport.done(Ask::new(Method::DELETE, url, json(&request)?)).await?)
    }

    /// Which registry it says that it is.
    pub async fn information(&self) -> Result<RegistryInformation, Error> {
        Ok(self.transport.json(Ask::get(self.transport.route(&["registry"]))).await?)
    }

    /// The account's tokens.
    pub async fn tokens(&self) -> Result<Tokens, Error> {
        Ok(self.transport.json(Ask::get(self.transport.route(&["tokens"]))).await?)
    }

    /// Makes a token that allows no more than this one.
    pub async fn mint_token(&self, request: &MintToken) -> Result<MintedToken, Error> {
        let url = self.transport.route(&["tokens"]);
        Ok(self.transport.json(Ask::new(Method::POST, url, json(request)?)).await?)
    }

    fn skill(&self, name: &QualifiedName, rest: &[&str]) -> Url {
        let route = ["skills", name.wire_scope(), name.name().as_str()];
        self.transport.route(&[route.as_slice(), rest].concat())
    }

    /// That an answer is about what was asked for.
    fn same(&self, asked: &QualifiedName, answered: &QualifiedName) -> Result<(), RegistryError> {
        if asked == answered { Ok(()) } else { Err(self.other(&asked.to_string(), answered)) }
    }

    fn other(&self, asked: &str, answered: &QualifiedName) -> RegistryError {
        let (asked, answered) = (asked.to_owned(), answered.to_string());
        RegistryError::Other { url: self.transport.shown(), asked, answered }
    }

    fn verified(&self, bytes: Bytes, address: &ContentAddress) -> Result<Bytes, Error> {
        if address.matches(&bytes) {
            return Ok(bytes);
        }
        Err(RegistryError::Digest { url: self.transport.shown(), address: *address }.into())
    }
}

/// The token for a registry.
///
/// One in the environment is for the registry that the user chose, by a flag, the environment or as
/// the default of the configuration, and for no other: where a scope is routed to another one, that
/// gets the token that was kept for it, if there is one.
fn token_for(settings: &Settings, choice: &RegistryChoice) -> Result<Option<String>, Error> {
    match &settings.token {
        Some(token) if withheld(settings, choice).is_none() => Ok(Some(token.clone())),
        _ => Credentials::new(&settings.home).token(&choice.url),
    }
}

/// Why the token in the environment does not go to a registry; [`None`] where there is none or it
/// does.
fn withheld(settings: &Settings, choice: &RegistryChoice) -> Option<&'static str> {
    settings.token.as_ref()?;
    let is_default = settings.registry.as_ref().is_some_and(|chosen| chosen.url == choice.url);
    match choice.chosen {
        Chosen::ByProject => Some(
            "`SKILLPKG_TOKEN` is set, and is not sent to a registry that a project's `skillpkg.toml` \
             names: `SKILLPKG_REGISTRY` or `--registry` says that you mean it",
        ),
        Chosen::ByUser if is_default => None,
        Chosen::ByUser => Some(
            "`SKILLPKG_TOKEN` is set, and goes to the chosen registry alone, not to one that a scope \
             is routed to",
        ),
    }
}

fn is_too_large(error: &RegistryError) -> bool {
    match error {
        RegistryError::Problem { problem, .. } => problem.code == "answer_too_large",
        RegistryError::TooLong { .. } => true,
        _ => false,
    }
}

fn is_not_found(error: &RegistryError) -> bool {
    matches!(error, RegistryError::Problem { problem, .. } if problem.status == 404)
}
