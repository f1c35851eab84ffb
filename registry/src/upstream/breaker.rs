//! Leaves an upstream alone that does not answer, and tries now and then with one request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Failures in a row after which it is left alone.
const FAILURES: u32 = 3;
/// How long it is left alone first; each probe that fails doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// How long at most.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Whether upstream is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Yes; it failed this often in a row.
    Closed { failures: u32 },
    /// No, until this moment.
    Open { until: Instant, pause: Duration },
    /// By the one request that finds out.
    Probing { pause: Duration },
}

/// One upstream's.
#[derive(Debug, Clone)]
pub struct Breaker(Arc<Mutex<State>>);

impl Default for Breaker {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(State::Closed { failures: 0 })))
    }
}

/// The right to one request. Dropped without a verdict, as where nobody waits for the answer any
/// more, it says nothing of upstream.
#[derive(Debug)]
pub struct Pass {
    breaker: Breaker,
    is_probe: bool,
    is_settled: bool,
}

impl Breaker {
    /// The right to ask, or how long upstream is left alone yet.
    pub fn enter(&self) -> Result<Pass, Duration> {
        self.enter_at(Instant::now())
    }

    /// Whether upstream is left alone now.
    pub fn is_open(&self) -> bool {
        !matches!(*self.state(), State::Closed { .. })
    }

    fn enter_at(&self, now: Instant) -> Result<Pass, Duration> {
        let mut state = self.state();
        let is_probe = match *state {
            State::Closed { .. } => false,
            State::Open { until, .. } if now < until => return Err(until - now),
            State::Open { pause, .. } => {
                *state = State::Probing { pause };
                true
            }
            State::Probing { pause } => return Err(pause),
        };
        drop(state);
        Ok(Pass { breaker: self.clone(), is_probe, is_settled: false })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    /// Upstream is there.
    pub fn succeeded(mut self) {
        self.is_settled = true;
        let mut state = self.breaker.state();
        // What was asked before it was left alone does not say that it is back.
        if self.is_probe || matches!(*state, State::Closed { .. }) {
            *state = State::Closed { failures: 0 };
        }
    }

    /// Upstream is not there.
    pub fn failed(self) {
        self.failed_at(Instant::now());
    }

    fn failed_at(mut self, now: Instant) {
        self.is_settled = true;
        let mut state = self.breaker.state();
        *state = match *state {
            State::Probing { pause } if self.is_probe => {
                let pause = (pause * 2).min(LONGEST_PAUSE);
                State::Open { until: now + pause, pause }
            }
            State::Closed { failures } if failures + 1 >= FAILURES => {
                State::Open { until: now + FIRST_PAUSE, pause: FIRST_PAUSE }
            }
            State::Closed { failures } => State::Closed { failures: failures + 1 },
            other => other,
        };
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.is_settled || !self.is_probe {
            return;
        }
        let mut state = self.breaker.state();
        // The next one finds out.
        if let State::Probing { pause } = *state {
            *state = State::Open { until: Instant::now(), pause };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(breaker: &Breaker, now: Instant) {
        breaker.enter_at(now).unwrap().failed_at(now);
    }

    #[test]
    fn three_failures_in_a_row_open_it_and_a_success_between_does_not() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        for _ in 0..10 {
            failed(&breaker, now);
            failed(&breaker, now);
            breaker.enter_at(now).unwrap().succeeded();
        }
        assert!(!breaker.is_open());
        for _ in 0..3 {
            failed(&breaker, now);
        }
        assert_eq!(breaker.enter_at(now).unwrap_err(), FIRST_PAUSE);
    }

    #[test]
    fn one_request_finds_out_and_the_pauses_grow_to_their_bound() {
        let (breaker, mut now) = (Breaker::default(), Instant::now());
        for _ in 0..3 {
            failed(&breaker, now);
        }
        let mut pause = FIRST_PAUSE;
        for _ in 0..10 {
            assert!(breaker.enter_at(now + pause / 2).is_err());
            now += pause;
            let probe = breaker.enter_at(now).unwrap();
            for _ in 0..5 {
                assert!(breaker.enter_at(now).is_err(), "one at a time");
            }
            probe.failed_at(now);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        assert_eq!(pause, LONGEST_PAUSE);
        now += pause;
        breaker.enter_at(now).unwrap().succeeded();
        assert!(!breaker.is_open());
        failed(&breaker, now);
        assert!(!breaker.is_open(), "it starts from nothing");
    }

    #[test]
    fn a_probe_that_nobody_waits_for_leaves_the_turn_to_another() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        for _ in 0..3 {
            failed(&breaker, now);
        }
        let later = now + LONGEST_PAUSE;
        drop(breaker.enter_at(later).unwrap());
        breaker.enter_at(later).unwrap().succeeded();
        assert!(!breaker.is_open());
    }

    #[test]
    fn what_was_asked_before_neither_closes_it_nor_prolongs_it() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        let (early, other) = (breaker.enter_at(now).unwrap(), breaker.enter_at(now).unwrap());
        for _ in 0..3 {
            failed(&breaker, now);
        }
        early.succeeded();
        other.failed_at(now + FIRST_PAUSE);
        assert_eq!(breaker.enter_at(now).unwrap_err(), FIRST_PAUSE);
    }
}
