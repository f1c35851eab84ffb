//! How many calls run at once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Most calls that run at once.
const MOST_RUNNING: u32 = 8;
/// Most calls that run or wait; a further one is refused.
const MOST_WAITING: usize = 64;

/// How many calls run at once, and how many wait.
#[derive(Debug)]
pub(super) struct Turns {
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// A call's turn: while it is held the call may run.
#[derive(Debug)]
pub(super) struct Turn {
    _running: OwnedSemaphorePermit,
    _waiting: OwnedSemaphorePermit,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            running: Arc::new(Semaphore::new(MOST_RUNNING as usize)),
            waiting: Arc::new(Semaphore::new(MOST_WAITING)),
        }
    }
}

impl Turns {
    /// Waits for a turn; [`None`] where too many wait already.
    pub(super) async fn take(&self) -> Option<Turn> {
        let waiting = Arc::clone(&self.waiting).try_acquire_owned().ok()?;
        let running = Arc::clone(&self.running).acquire_owned().await.ok()?;
        Some(Turn { _running: running, _waiting: waiting })
    }

    /// Waits until no call runs.
    pub(super) async fn all_free(&self) {
        let _ = self.running.acquire_many(MOST_RUNNING).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[tokio::test]
    async fn eight_run_others_wait_and_the_sixty_fifth_is_refused() {
        let turns = Arc::new(Turns::default());
        let mut running = Vec::new();
        for _ in 0..MOST_RUNNING {
            running.push(turns.take().await.unwrap());
        }
        let mut waiting: Vec<_> = (0..56).map(|_| Box::pin(turns.take())).collect();
        for one in &mut waiting {
            assert!(one.now_or_never().is_none());
        }
        assert!(turns.take().await.is_none());
        drop(running);
        assert!(turns.take().await.is_some());
    }
}
