//! What a mirror adds to routes: answers of upstream's where there is none of this registry's own.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use skillpkg_schema::log::TilePath;
use skillpkg_schema::wire::{KnownLog, LogInfo, ProofsAnswer, ProofsRequest};
use skillpkg_schema::{ContentAddress, QualifiedName};

use crate::blobs::Kind;
use crate::contents::Located;
use crate::mirror::{Age, Held, Mirror, Relayed, Whose};
use crate::problem::{Answer, Refusal};
use crate::state::Registry;
use crate::upstream::hops::Hops;

/// Since when upstream has not said again what is answered, where that is too long.
const STALE_SINCE: HeaderName = HeaderName::from_static("skillpkg-stale-since");

/// What upstream is asked through for this request.
#[derive(Debug, Clone)]
struct Through(HeaderValue);

/// The way to upstream, on a mirror; on any other registry nothing is there.
pub(crate) struct Passage(Option<(Mirror, HeaderValue)>);

/// Refuses what has come through this mirror before, and remembers the way of what has not.
pub(super) fn check_hops(registry: &Registry, request: &mut axum::extract::Request) -> Answer<()> {
    let Some(mirror) = &registry.mirror else { return Ok(()) };
    let hops = Hops::of(request.headers()).map_err(Refusal::from)?;
    let through = mirror.through(&hops)?;
    request.extensions_mut().insert(Through(through));
    Ok(())
}

impl FromRequestParts<Registry> for Passage {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, registry: &Registry) -> Answer<Self> {
        let Some(mirror) = &registry.mirror else { return Ok(Self(None)) };
        let through = parts.extensions.get::<Through>().cloned();
        let Through(through) =
            through.ok_or_else(|| Refusal::internal(&"a request whose way was not checked"))?;
        Ok(Self(Some((mirror.clone(), through))))
    }
}

impl Passage {
    /// The document of a name that is upstream's.
    pub(crate) async fn skill(&self, name: &QualifiedName) -> Answer<Option<(Held, Age)>> {
        match &self.0 {
            Some((mirror, through)) => mirror.skill(name, through).await,
            None => Ok(None),
        }
    }

    /// Content that is upstream's.
    pub(crate) async fn content(
        &self,
        registry: &Registry,
        kind: Kind,
        address: &ContentAddress,
    ) -> Answer<Option<Located>> {
        match &self.0 {
            Some((mirror, through)) => mirror.content(registry, kind, address, through).await,
            None => Ok(None),
        }
    }

    /// The newest checkpoint of the relayed log.
    pub(super) fn checkpoint(&self) -> Option<String> {
        self.log().map(|log| log.checkpoint)
    }

    /// A file of the relayed log.
    pub(super) async fn tile(&self, path: TilePath) -> Answer<Option<Vec<u8>>> {
        match &self.0 {
            Some((mirror, through)) => mirror.tile(path, through).await,
            None => Ok(None),
        }
    }

    /// The signatures over a snapshot of upstream's that is held.
    pub(super) async fn envelope(&self, address: &str) -> Answer<Option<String>> {
        match &self.0 {
            Some((mirror, _)) => mirror.envelope(address).await,
            None => Ok(None),
        }
    }

    /// Parts names into those that this registry speaks for and those that are upstream's.
    pub(super) async fn part(
        &self,
        names: &[QualifiedName],
    ) -> Answer<(Vec<QualifiedName>, Vec<QualifiedName>)> {
        let Some((mirror, _)) = &self.0 else { return Ok((names.to_vec(), Vec::new())) };
        let (mut own, mut theirs) = (Vec::new(), Vec::new());
        for name in names {
            match mirror.whose(name).await? {
                Whose::Own => own.push(name.clone()),
                Whose::Upstream => theirs.push(name.clone()),
            }
        }
        Ok((own, theirs))
    }

    /// The documents of names that are upstream's, and what proves them where a view of its log is
    /// asked for; without names, the view alone where nothing else is asked for.
    pub(super) async fn index(
        &self,
        theirs: &[QualifiedName],
        logs: Option<&[KnownLog]>,
        is_alone: bool,
    ) -> Answer<Option<Relayed>> {
        let Some((mirror, through)) = &self.0 else { return Ok(None) };
        let origin = mirror.origin();
        let known = logs.and_then(|logs| {
            let known = logs.iter().find(|log| Some(&log.origin) == origin.as_ref());
            known.map(|log| log.size).or((logs.is_empty() || origin.is_none()).then_some(0))
        });
        if theirs.is_empty() && !(is_alone && known.is_some() && origin.is_some()) {
            return Ok(None);
        }
        mirror.index(theirs, known, through).await.map(Some)
    }

    /// Proofs of records of the relayed log; [`None`] where the request is about another log.
    pub(super) async fn proofs(&self, request: &ProofsRequest) -> Answer<Option<ProofsAnswer>> {
        match &self.0 {
            Some((mirror, through)) => mirror.proofs(request, through).await,
            None => Ok(None),
        }
    }

    /// Who the relayed log is.
    pub(crate) fn log(&self) -> Option<LogInfo> {
        let (mirror, _) = self.0.as_ref()?;
        mirror.log(super::relayed_log::PREFIX)
    }
}

/// Tells how old a relayed answer is.
pub(super) fn tell_age(headers: &mut HeaderMap, age: &Age) {
    headers.insert(header::AGE, HeaderValue::from(age.seconds));
    if age.is_stale
        && let Ok(since) = HeaderValue::try_from(&age.since)
    {
        headers.insert(STALE_SINCE, since);
    }
}
