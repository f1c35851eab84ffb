//! How far the log is signed, for those who wait for it.

use std::time::Duration;

use tokio::sync::watch;

use super::LogError;
use crate::database::LeaseError;
use crate::problem::{Answer, Refusal, is_disk_full};

/// How long a change waits to be covered.
const PATIENCE: Duration = Duration::from_secs(20);

/// Why the log is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hindrance {
    /// What it is written to does not take it, or this server is ending.
    Storage,
    /// The disk is full.
    Full,
    /// The database does not answer.
    Database,
    /// Another server has the right to write it.
    Held,
    /// Another server has written it: what this one knows is of the past.
    Overtaken,
}

impl Hindrance {
    /// What a failed attempt shows.
    pub(super) fn of(error: &LogError) -> Self {
        match error {
            LogError::Overtaken(_) => Self::Overtaken,
            LogError::Lease(LeaseError::Held { .. }) => Self::Held,
            LogError::Lease(LeaseError::Unreachable(_)) => Self::Database,
            error if is_disk_full(error) => Self::Full,
            _ => Self::Storage,
        }
    }

    fn told(self) -> &'static str {
        match self {
            Self::Storage => "the registry's log cannot be written now",
            Self::Full => "the registry's disk is full, and its operator must make room",
            Self::Database => "the registry's database does not answer",
            Self::Held | Self::Overtaken => {
                "another server has taken this registry over, and this one changes nothing any \
                 more; its log says what to do"
            }
        }
    }

    /// The refusal of a change that was not made.
    pub(super) fn refused(self) -> Refusal {
        Refusal::unavailable(format!("{}; nothing was changed, try again", self.told()), 5)
    }

    /// The refusal to say that a change is visible which is committed.
    fn unseen(self) -> Refusal {
        let detail = format!(
            "{}: what was asked for is kept, and is visible once the log holds it; ask for it again to \
             see whether it is",
            self.told()
        );
        Refusal::unavailable(detail, 5)
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    covered: u64,
    /// Attempts that failed, ever.
    failures: u64,
    /// Why the last one failed, where it did.
    hindrance: Option<Hindrance>,
    ended: bool,
}

impl State {
    fn hindrance(&self) -> Option<Hindrance> {
        self.hindrance.or(self.ended.then_some(Hindrance::Storage))
    }
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
            let is_news = state.covered != covered || state.hindrance.is_some();
            state.covered = covered;
            state.hindrance = None;
            is_news
        });
    }

    pub(super) fn fail(&self, hindrance: Hindrance) {
        self.0.send_modify(|state| {
            state.failures = state.failures.wrapping_add(1);
            state.hindrance = Some(hindrance);
        });
    }

    pub(super) fn end(&self) {
        self.0.send_modify(|state| state.ended = true);
    }

    /// Refuses a change where it is known that it would not become visible.
    pub(super) fn ready(&self) -> Answer<()> {
        match self.0.borrow().hindrance() {
            Some(hindrance) => Err(hindrance.refused()),
            None => Ok(()),
        }
    }

    /// Refuses to call a registry ready whose log is not written, and says why.
    pub(super) fn written(&self) -> Answer<()> {
        match self.0.borrow().hindrance() {
            Some(hindrance) => Err(Refusal::unavailable(hindrance.told(), 5)),
            None => Ok(()),
        }
    }

    /// Waits until another server has overtaken this one, which may be for ever.
    pub(super) async fn overtaken(&self) {
        let mut receiver = self.0.subscribe();
        let is_overtaken = |state: &State| state.hindrance == Some(Hindrance::Overtaken);
        if receiver.wait_for(is_overtaken).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until a checkpoint covers the first `upto` leaves, which are committed; refused where
    /// one could not be made.
    pub(super) async fn covers(&self, upto: u64) -> Answer<()> {
        let mut receiver = self.0.subscribe();
        let failures = receiver.borrow().failures;
        let is_over =
            |state: &State| state.covered >= upto || state.failures != failures || state.ended;
        let waited = tokio::time::timeout(PATIENCE, receiver.wait_for(is_over)).await;
        match waited {
            Ok(Ok(state)) if state.covered >= upto => Ok(()),
            _ => {
                let hindrance = self.0.borrow().hindrance();
                Err(hindrance.unwrap_or(Hindrance::Storage).unseen())
            }
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
        let hindrance = self.0.borrow().hindrance();
        match (changed, hindrance) {
            (Ok(Ok(())), None) => Ok(()),
            (_, hindrance) => {
                let why = hindrance.unwrap_or(Hindrance::Storage).told();
                Err(Refusal::unavailable(format!("{why}; try again"), 5))
            }
        }
    }
}
