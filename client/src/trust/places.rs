//! Where a registry is asked: its mirrors first, then itself.

use bytes::Bytes;
use skillpkg_schema::ContentAddress;
use skillpkg_schema::diagnostic::escape;
use url::Url;

use super::Notice;
use super::rules::LogKey;
use crate::meter::Part;
use crate::registry::Registry;
use crate::settings::registry_text;
use crate::{Error, Settings};

/// What a user's configuration says of a registry beyond how it is connected to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RegistryTrust {
    /// `log-key`.
    pub log_key: Option<LogKey>,
    /// `mirrors`: asked first, in this order, each for what the registry has, and no other.
    pub mirrors: Vec<Url>,
    /// `fallback = false`: the registry itself is not asked where its mirrors do not answer.
    pub only_mirrors: bool,
}

/// Where a registry is asked, in order; at least one place.
#[derive(Debug, Clone)]
pub(crate) struct Places(Vec<Registry>);

impl Places {
    /// The mirrors of a registry, then the registry itself unless that is not wanted. A mirror is
    /// spoken to with a token that was kept for exactly its URL, and with no other.
    pub(crate) fn of(settings: &Settings, registry: &Registry) -> Result<Self, Error> {
        let trust = settings.trust.get(registry.url()).filter(|_| registry.shelf().is_none());
        let Some(trust) = trust else { return Ok(Self(vec![registry.clone()])) };
        let mut places = Vec::with_capacity(trust.mirrors.len() + 1);
        for url in &trust.mirrors {
            places.push(Registry::mirror(settings, url)?);
        }
        if places.is_empty() || !trust.only_mirrors {
            places.push(registry.clone());
        }
        Ok(Self(places))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Registry, bool)> {
        let count = self.0.len();
        self.0.iter().enumerate().map(move |(at, place)| (place, at + 1 == count))
    }

    /// An archive from the first place that has it, counted as it comes; what another refused or
    /// falsified is told.
    pub(crate) async fn archive(
        &self,
        archive: &ContentAddress,
        size: u64,
        part: &Part,
        notices: &mut Vec<Notice>,
    ) -> Result<Bytes, Error> {
        let mut failure = None;
        for (place, is_last) in self.iter() {
            match place.counted_archive(archive, size, part).await {
                Ok(bytes) => return Ok(bytes),
                Err(error) if is_last => failure = Some(error),
                Err(error) => notices.push(passed_over(place, &error)),
            }
        }
        Err(failure.unwrap_or_else(crate::parallel::ended_early))
    }
}

/// That a mirror was passed over, and why.
pub(super) fn passed_over(mirror: &Registry, error: &Error) -> Notice {
    Notice::Warn(format!(
        "the mirror `{}` is passed over ({}): {}",
        registry_text(mirror.url()),
        escape(&error.code),
        error.message
    ))
}
