//! What a registry answers about its logs, unverified.

use bytes::Bytes;
use reqwest::Method;
use serde::Deserialize;
use serde_json::value::RawValue;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::log::Hash;
use skillpkg_schema::wire::{
    Document, IndexRequest, KnownLog, Logs, MAX_ANSWER_BYTES, ProofsAnswer, ProofsRequest, View,
};
use url::Url;

use super::error::RegistryError;
use super::transport::{Ask, json};
use super::{Registry, is_not_found, is_too_large};
use crate::credentials::Credentials;
use crate::policy::Policy;
use crate::{Error, Settings};

/// The documents of an answer with the digests of their bytes, as they came.
#[derive(Debug)]
pub(crate) struct Indexed {
    pub(crate) documents: Vec<(Document, Hash)>,
    pub(crate) missing: Vec<QualifiedName>,
    pub(crate) views: Vec<View>,
    /// The whole answer.
    pub(crate) bytes: Bytes,
}

impl Indexed {
    /// The bytes of each document, as they came.
    pub(crate) fn raw(&self) -> Vec<(Hash, Bytes)> {
        let Ok(answer) = serde_json::from_slice::<RawAnswer<'_>>(&self.bytes) else {
            return Vec::new();
        };
        let raw = answer.documents.into_iter().map(|raw| raw.get().as_bytes());
        raw.map(|bytes| (Hash::of(bytes), self.bytes.slice_ref(bytes))).collect()
    }
}

#[derive(Deserialize)]
struct RawAnswer<'a> {
    #[serde(borrow)]
    documents: Vec<&'a RawValue>,
    missing: Vec<QualifiedName>,
    #[serde(default)]
    views: Vec<View>,
}

impl Registry {
    /// A mirror: spoken to with the token that was kept for exactly its URL, if there is one.
    ///
    /// Refuses with `policy_registry` where a policy of the machine or the user does not allow it.
    pub(crate) fn mirror(settings: &Settings, url: &Url) -> Result<Self, Error> {
        Policy::of_user(settings)?.check_registry(url)?;
        let token = Credentials::new(&settings.home).token(url)?;
        let connection = settings.connections.get(url).cloned().unwrap_or_default();
        Self::with_connection(url.clone(), token, &connection)
    }

    /// Documents with views of logs that prove them, in one request; [`None`] where the answer
    /// would be too long, and fewer names have to be asked for.
    ///
    /// Every document is of a name that was asked for, none twice, and none that is missing.
    pub(crate) async fn index_with_views(
        &self,
        names: &[QualifiedName],
        logs: Vec<KnownLog>,
    ) -> Result<Option<Indexed>, Error> {
        if let Some(shelf) = &self.shelf {
            return shelf.index(names, &logs).map(Some);
        }
        let request = IndexRequest { names: names.to_vec(), logs: Some(logs) };
        let url = self.transport.route(&["index"]);
        let ask = Ask::new(Method::POST, url, json(&request)?).repeatable();
        let bytes = match self.transport.json_bytes(ask).await {
            Err(error) if is_too_large(&error) && names.len() > 1 => return Ok(None),
            answer => answer?,
        };
        let shape = |error: serde_json::Error| RegistryError::Shape {
            url: self.transport.shown(),
            reason: error.to_string(),
        };
        let answer: RawAnswer<'_> = serde_json::from_slice(&bytes).map_err(shape)?;
        let mut documents: Vec<(Document, Hash)> = Vec::with_capacity(answer.documents.len());
        for raw in answer.documents {
            let document: Document = serde_json::from_str(raw.get()).map_err(shape)?;
            if !names.contains(&document.name) || answer.missing.contains(&document.name) {
                return Err(self.other("what is listed", &document.name).into());
            }
            documents.push((document, Hash::of(raw.get().as_bytes())));
        }
        let RawAnswer { missing, views, .. } = answer;
        Ok(Some(Indexed { documents, missing, views, bytes: bytes.clone() }))
    }

    /// Who the logs of the registry say they are; [`None`] where it keeps none.
    pub(crate) async fn logs(&self) -> Result<Option<Logs>, Error> {
        if let Some(shelf) = &self.shelf {
            return shelf.logs().map(Some);
        }
        match self.transport.json(Ask::get(self.transport.route(&["log"]))).await {
            Ok(logs) => Ok(Some(logs)),
            Err(error) if is_not_found(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Proofs that records are in a log, and the whole answer.
    pub(crate) async fn log_proofs(
        &self,
        request: &ProofsRequest,
    ) -> Result<(ProofsAnswer, Bytes), Error> {
        if let Some(shelf) = &self.shelf {
            return shelf.proofs(request);
        }
        let url = self.transport.route(&["log", "proofs"]);
        let ask = Ask::new(Method::POST, url, json(request)?).repeatable();
        let bytes = self.transport.json_bytes(ask).await?;
        let answer = serde_json::from_slice(&bytes).map_err(|error| RegistryError::Shape {
            url: self.transport.shown(),
            reason: error.to_string(),
        })?;
        Ok((answer, bytes))
    }

    /// A file of a log beneath the prefix that the registry gives for it: its checkpoint or a tile;
    /// [`None`] where there is none.
    pub(crate) async fn log_file(
        &self,
        prefix: &str,
        path: &str,
        limit: u64,
    ) -> Result<Option<Bytes>, Error> {
        if let Some(shelf) = &self.shelf {
            return shelf.log_file(prefix, path).map(|bytes| bytes.map(Bytes::from));
        }
        let mut url = self.transport.base().clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            let parts = prefix.split('/').chain(path.split('/'));
            segments.pop_if_empty().extend(parts.filter(|part| !part.is_empty()));
        }
        match self.transport.bytes(Ask::get(url), limit.min(MAX_ANSWER_BYTES)).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(RegistryError::Problem { problem, .. }) if problem.status == 404 => Ok(None),
            Err(RegistryError::NotRegistry { status: 404, .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
