//! How far the log is signed, for those who wait for it.

use std::time::Duration;

use tokio::sync::watch;

use crate::problem::{Answer, Refusal};

/// How long a change waits to be covered.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, Copy, Default)]
struct State {
    covered: u64,
    /// Attempts that failed, ever.
    failures: u64,
    failing: bool,
    ended: bool,
}

/// How far the log is signed.
#[derive(Debug)]
pub struct Progress(watch::Sender<State>);

impl Progress {
    /// Nothing is.
    pub fn new() -> Self {
        Self(watch::Sender::new(State::default()))
    }

    pub(super) fn advance(&self, covered: u64) {
        self.0.send_if_modified(|state| {
            let is_news = state.covered != covered || state.failing;
            state.covered = covered;
            state.failing = false;
            is_news
        });
    }

    pub(super) fn fail(&self) {
        self.0.send_modify(|state| {
            state.failures = state.failures.wrapping_add(1);
            state.failing = true;
        });
    }

    pub(super) fn end(&self) {
        self.0.send_modify(|state| state.ended = true);
    }

    pub(super) fn ready(&self) -> Answer<()> {
        let State { failing, ended, .. } = *self.0.borrow();
        if failing || ended { Err(refused()) } else { Ok(()) }
    }

    /// Waits until a checkpoint covers the first `upto` leaves; refused where one could not be made.
    pub(super) async fn covers(&self, upto: u64) -> Answer<()> {
        let mut receiver = self.0.subscribe();
        let failures = receiver.borrow().failures;
        let is_over =
            |state: &State| state.covered >= upto || state.failures != failures || state.ended;
        let waited = tokio::time::timeout(PATIENCE, receiver.wait_for(is_over)).await;
        match waited {
            Ok(Ok(state)) if state.covered >= upto => Ok(()),
            _ => Err(refused()),
        }
    }

    /// What tells of the next checkpoint; asked for before whatever it makes out of date is read.
    pub fn next(&self) -> Next {
        let mut receiver = self.0.subscribe();
        receiver.mark_unchanged();
        Next(receiver)
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

/// Tells of the next checkpoint.
#[derive(Debug)]
pub struct Next(watch::Receiver<State>);

impl Next {
    /// Waits for it; refused where it could not be made.
    pub async fn come(mut self) -> Answer<()> {
        let changed = tokio::time::timeout(PATIENCE, self.0.changed()).await;
        let State { failing, ended, .. } = *self.0.borrow();
        match changed {
            Ok(Ok(())) if !failing && !ended => Ok(()),
            _ => Err(refused()),
        }
    }
}

fn refused() -> Refusal {
    Refusal::unavailable("the registry's log cannot be written now; try again", 5)
}
