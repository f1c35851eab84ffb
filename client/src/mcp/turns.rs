//! How many calls run at once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Most calls that run at once.
const MOST_RUNNING: u32 = 8;
/// Most calls that run, wait, or are asked about; a further one is refused.
const MOST: usize = 64;

/// How many calls run at once, and how many there are.
#[derive(Debug)]
pub(super) struct Turns {
    running: Arc<Semaphore>,
    all: Arc<Semaphore>,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            running: Arc::new(Semaphore::new(MOST_RUNNING as usize)),
            all: Arc::new(Semaphore::new(MOST)),
        }
    }
}

impl Turns {
    /// A place among the calls, for as long as one is there; [`None`] where there are too many.
    pub(super) fn enter(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.all).try_acquire_owned().ok()
    }

    /// Waits for a turn to run; [`None`] at the end of the server.
    pub(super) async fn take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.running).acquire_owned().await.ok()
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
        let turns = Turns::default();
        let mut places: Vec<_> = (0..MOST).map(|_| turns.enter().unwrap()).collect();
        assert!(turns.enter().is_none());
        places.pop();
        assert!(turns.enter().is_some());

        let mut running = Vec::new();
        for _ in 0..MOST_RUNNING {
            running.push(turns.take().await.unwrap());
        }
        assert!(turns.take().now_or_never().is_none());
        assert!(turns.all_free().now_or_never().is_none());
        drop(running);
        assert!(turns.take().now_or_never().is_some());
        turns.all_free().await;
    }
}
