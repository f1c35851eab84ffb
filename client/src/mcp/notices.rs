//! Tells clients that lists and resources have changed, in both eras of the protocol.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{ServiceError, SubscriptionContext};
use rmcp::{ErrorData, Peer, RoleServer};
use serde_json::json;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use super::catalogue::Changes;
use super::server::{Shared, internal};
use super::uri;

/// Most resources that one session watches.
const MOST_WATCHED: usize = 1_000;

/// The resources that a session of the older era watches. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Watched {
    uris: Arc<Mutex<HashSet<String>>>,
}

impl Watched {
    /// Watches one more resource, which must be there.
    pub(super) fn add(&self, shared: &Shared, wanted: &str) -> Result<(), ErrorData> {
        let absent = || {
            let message = "there is no file of an active skill at this uri";
            ErrorData::resource_not_found(message, Some(json!({"uri": wanted})))
        };
        let place = uri::parse(wanted).ok_or_else(absent)?;
        let catalogue = shared.look().map_err(|error| internal(&error))?;
        let served = catalogue.skill(&place.skill).ok_or_else(absent)?;
        let path = place.path.ok_or_else(absent)?;
        served.contents.manifest.file(path.as_str()).ok_or_else(absent)?;
        let mut uris = self.uris.lock().unwrap_or_else(PoisonError::into_inner);
        if uris.len() >= MOST_WATCHED && !uris.contains(wanted) {
            let message = format!("a session watches at most {MOST_WATCHED} resources");
            return Err(ErrorData::invalid_params(message, None));
        }
        uris.insert(wanted.to_owned());
        Ok(())
    }

    /// Watches it no longer.
    pub(super) fn remove(&self, uri: &str) {
        self.uris.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    fn of(&self, changes: &Changes) -> Vec<String> {
        let uris = self.uris.lock().unwrap_or_else(PoisonError::into_inner);
        changes.updated.iter().filter(|uri| uris.contains(*uri)).cloned().collect()
    }
}

/// The next change. Whoever fell behind is told that everything may have changed; [`None`] at the
/// end.
async fn next(changes: &mut Receiver<Changes>) -> Option<Changes> {
    match changes.recv().await {
        Ok(changes) => Some(changes),
        Err(RecvError::Lagged(_)) => Some(Changes::missed()),
        Err(RecvError::Closed) => None,
    }
}

/// Tells a session of the older era each change until it is `gone`, or cannot be told.
pub(super) async fn forward(
    shared: Arc<Shared>,
    peer: Peer<RoleServer>,
    watched: Watched,
    gone: CancellationToken,
) {
    let mut changes = shared.changes.subscribe();
    loop {
        let change = tokio::select! {
            () = gone.cancelled() => return,
            () = shared.ending.cancelled() => return,
            change = next(&mut changes) => change,
        };
        let Some(change) = change else { return };
        if tell(&peer, &change, &watched.of(&change)).await.is_err() {
            return;
        }
    }
}

async fn tell(
    peer: &Peer<RoleServer>,
    change: &Changes,
    updated: &[String],
) -> Result<(), ServiceError> {
    if change.tools {
        peer.notify_tool_list_changed().await?;
    }
    if change.prompts {
        peer.notify_prompt_list_changed().await?;
    }
    if change.resources {
        peer.notify_resource_list_changed().await?;
    }
    for uri in updated {
        peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
    }
    Ok(())
}

/// Tells a subscription each change that it asked for, until it ends.
pub(super) async fn listen(shared: &Shared, context: &SubscriptionContext) {
    let mut changes = shared.changes.subscribe();
    let sink = context.sink();
    loop {
        let change = tokio::select! {
            () = context.cancelled() => return,
            () = shared.ending.cancelled() => return,
            change = next(&mut changes) => change,
        };
        let Some(change) = change else { return };
        // What was not asked for is an error of its own, which says nothing of the others; a client
        // that is gone cancels.
        if change.tools {
            let _ = sink.notify_tool_list_changed().await;
        }
        if change.prompts {
            let _ = sink.notify_prompt_list_changed().await;
        }
        if change.resources {
            let _ = sink.notify_resource_list_changed().await;
        }
        for uri in change.updated {
            let _ = sink.notify_resource_updated(uri).await;
        }
    }
}
