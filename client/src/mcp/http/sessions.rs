//! The sessions of the older era of the protocol, no more than there may be.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};

/// Most sessions at once; the one that was silent the longest gives way. A host whose session is
/// gone is told so and starts another.
const MOST: usize = 64;
/// After how long a silent session ends. A host that only listens is silent.
const SILENCE: Duration = Duration::from_hours(12);

/// Sessions in memory, no more than there may be.
#[derive(Debug)]
pub(super) struct Sessions {
    all: LocalSessionManager,
    /// The one that was silent the longest first.
    order: Mutex<Vec<SessionId>>,
}

impl Default for Sessions {
    fn default() -> Self {
        let mut all = LocalSessionManager::default();
        all.session_config.keep_alive = Some(SILENCE);
        Self { all, order: Mutex::default() }
    }
}

impl Sessions {
    /// Notes that a session was heard of; a new one is added.
    fn heard(&self, id: &SessionId, is_new: bool) -> Option<SessionId> {
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        let known = order.iter().position(|one| one == id);
        if let Some(known) = known {
            order.remove(known);
        }
        if known.is_some() || is_new {
            order.push(id.clone());
        }
        (order.len() > MOST).then(|| order.remove(0))
    }

    fn forget(&self, id: &SessionId) {
        self.order.lock().unwrap_or_else(PoisonError::into_inner).retain(|one| one != id);
    }
}

impl SessionManager for Sessions {
    type Error = <LocalSessionManager as SessionManager>::Error;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let (id, transport) = self.all.create_session().await?;
        if let Some(silent) = self.heard(&id, true) {
            self.all.close_session(&silent).await?;
        }
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.all.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.heard(id, false);
        self.all.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.forget(id);
        self.all.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.all.create_stream(id, message).await
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.all.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.all.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.all.resume(id, last_event_id).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_session_that_was_silent_the_longest_gives_way() {
        let sessions = Sessions::default();
        let mut ids = Vec::new();
        for _ in 0..MOST {
            ids.push(sessions.create_session().await.unwrap().0);
        }
        // The first one speaks again, so that the second is the most silent.
        assert!(sessions.has_session(&ids[0]).await.unwrap());
        let (newest, _transport) = sessions.create_session().await.unwrap();
        assert!(!sessions.has_session(&ids[1]).await.unwrap());
        for id in [&ids[0], &ids[2], &newest] {
            assert!(sessions.has_session(id).await.unwrap());
        }
        sessions.close_session(&newest).await.unwrap();
        assert!(!sessions.has_session(&newest).await.unwrap());
        assert_eq!(sessions.all.sessions.read().await.len(), MOST - 1);
        assert_eq!(sessions.order.lock().unwrap().len(), MOST - 1);
    }
}
