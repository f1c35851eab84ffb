//! Which log speaks for a name at a registry that shows several.

use std::sync::Arc;

use skillpkg_schema::QualifiedName;
use skillpkg_schema::log::{Hash, bucket_of, head_key};
use url::Url;

use super::ask::{Asked, Trust};
use super::error::{HeadsFault, Refusal};
use super::store::{Kept, KnownLog};
use super::view::{Said, VerifiedView};
use crate::Error;
use crate::registry::{Place, Registry};
use crate::settings::registry_text;

/// The log that speaks for a name at a registry, with its view.
///
/// Where a registry relays the log of another, names without a scope are that one's, and a name
/// that it lists is; a scope of which a log once proved a name stays that log's.
pub(super) fn speaker<'v, 'k>(
    registry: &Url,
    views: &'v [(&'k KnownLog, Arc<VerifiedView>)],
    name: &QualifiedName,
    digest: Option<&Hash>,
    relays: &dyn Fn(&KnownLog) -> bool,
) -> Result<(&'k KnownLog, &'v Arc<VerifiedView>), Error> {
    let text = registry_text(registry);
    let none = || {
        let reason = HeadsFault::NoBucket(bucket_of(&head_key(name)));
        let place = views.first().map(|(_, view)| view.place.clone());
        let place = place.unwrap_or_else(|| Place::registry(registry));
        let origin = views.first().map(|(log, _)| log.origin().to_owned()).unwrap_or_default();
        Error::from(Refusal::Heads { place, origin, reason })
    };
    if let [(log, view)] = views {
        return Ok((log, view));
    }
    let Some(scope) = name.scope() else {
        let mut relayed = views.iter().filter(|(log, _)| relays(log));
        return relayed.next().or(views.first()).map(|(log, view)| (*log, view)).ok_or_else(none);
    };
    let owns = |log: &KnownLog| {
        log.bound(text).is_some_and(|bound| bound.scopes.iter().any(|one| one == scope.as_str()))
    };
    let mut chosen: Option<(&'k KnownLog, &'v Arc<VerifiedView>)> = None;
    for (log, view) in views.iter().rev() {
        let said = view.says(name)?;
        let speaks = match digest {
            Some(_) => matches!(said, Said::Listed(_) | Said::Private(_)),
            None => said != Said::Silent,
        };
        if speaks && (chosen.is_none() || relays(log)) {
            chosen = Some((log, view));
        }
    }
    let Some((log, view)) = chosen else {
        return views.first().map(|(log, view)| (*log, view)).ok_or_else(none);
    };
    match views.iter().map(|(log, _)| *log).find(|log| owns(log)) {
        Some(owner) if owner.origin() != log.origin() && digest.is_some() => {
            Err(Refusal::OtherLog {
                place: view.place.clone(),
                name: name.clone(),
                known: owner.origin().to_owned(),
                found: log.origin().to_owned(),
            }
            .into())
        }
        Some(owner) => {
            let of_owner = views.iter().find(|(log, _)| log.origin() == owner.origin());
            of_owner.map(|(log, view)| (*log, view)).ok_or_else(none)
        }
        None => Ok((log, view)),
    }
}

/// Whether a registry relays a log of another's: what it said itself, else what the bundle says that
/// is asked in its place.
pub(super) fn relays(registry: &Url, place: &Registry, log: &KnownLog) -> bool {
    let told = log.bound(registry_text(registry)).and_then(|bound| bound.relayed);
    told.unwrap_or_else(|| place.shelf().is_some_and(|shelf| shelf.relays(log.origin())))
}

impl Trust<'_> {
    /// Asks a registry which of the logs that speak for it are its own, and remembers what it says.
    pub(super) async fn ask_whose(&self, registry: &Url, place: &Registry) -> Result<(), Error> {
        let infos = place.logs().await?.map(|logs| logs.logs).unwrap_or_default();
        let text = registry_text(registry);
        for log in self.store.logs_of(registry)? {
            let Some(info) = infos.iter().find(|info| info.origin == log.origin()) else {
                continue;
            };
            let mut now = log.clone();
            for bound in now.record.registries.iter_mut().filter(|bound| bound.url == text) {
                bound.relayed = Some(info.relayed);
            }
            // Where another process moved on meanwhile, the next answer tells it again.
            self.store.advance(&log, &now)?;
        }
        Ok(())
    }

    /// Remembers which log proved names of which scopes; whether it is remembered.
    pub(super) fn remember_scopes(&self, registry: &Url, asked: &Asked) -> Result<bool, Error> {
        let text = registry_text(registry);
        for log in self.store.logs_of(registry)? {
            let mut now = log.clone();
            let Some(bound) = now.record.registries.iter_mut().find(|bound| bound.url == text)
            else {
                continue;
            };
            for found in &asked.documents {
                let proves = found.view.as_ref().is_some_and(|view| view.origin() == log.origin());
                let scope = found.document.name.scope().filter(|_| proves);
                bound.scopes.extend(scope.map(|scope| scope.as_str().to_owned()));
            }
            bound.scopes.sort_unstable();
            bound.scopes.dedup();
            if self.store.advance(&log, &now)? == Kept::Raced {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
