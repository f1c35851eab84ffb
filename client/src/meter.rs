//! How far something is that lasts: counted where it is done, read where it is shown.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Skills.
    Skills,
    /// Bytes.
    Bytes,
}

/// How far something is. A total of 0 is one that nobody knows yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// What is counted.
    pub unit: Unit,
    /// How much is done.
    pub done: u64,
    /// How much there is to do.
    pub total: u64,
}

/// Counts how far something is. Clones count together, from any thread.
#[derive(Debug, Clone, Default)]
pub struct Meter(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    unit: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
}

impl Meter {
    /// Starts to count, from none of `total`.
    pub fn start(&self, unit: Unit, total: u64) {
        self.0.unit.store(unit as u8, Ordering::Relaxed);
        self.0.done.store(0, Ordering::Relaxed);
        self.0.total.store(total, Ordering::Relaxed);
    }

    /// Counts one thing of so many bytes beside others: it adds to what there is to do.
    #[must_use]
    pub fn part(&self, size: u64) -> Part {
        self.0.unit.store(Unit::Bytes as u8, Ordering::Relaxed);
        self.0.total.fetch_add(size, Ordering::Relaxed);
        Part { meter: self.clone(), done: Arc::default() }
    }

    /// Counts so much more as done.
    pub fn add(&self, more: u64) {
        self.0.done.fetch_add(more, Ordering::Relaxed);
    }

    /// Sets how much is done.
    pub fn set(&self, done: u64) {
        self.0.done.store(done, Ordering::Relaxed);
    }

    /// How far it is.
    pub fn read(&self) -> Reading {
        let unit = match self.0.unit.load(Ordering::Relaxed) {
            0 => Unit::Skills,
            _ => Unit::Bytes,
        };
        Reading {
            unit,
            done: self.0.done.load(Ordering::Relaxed),
            total: self.0.total.load(Ordering::Relaxed),
        }
    }
}

/// Counts one thing of several that a [`Meter`] counts together. Clones count the same one.
#[derive(Debug, Clone)]
pub struct Part {
    meter: Meter,
    done: Arc<AtomicU64>,
}

impl Part {
    /// Counts so many more bytes of it as done.
    pub fn add(&self, more: u64) {
        self.done.fetch_add(more, Ordering::Relaxed);
        self.meter.add(more);
    }

    /// Takes back what was counted of it: it is begun anew.
    pub fn anew(&self) {
        let done = self.done.swap(0, Ordering::Relaxed);
        self.meter.0.done.fetch_sub(done, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_count_together_and_a_start_counts_anew() {
        let meter = Meter::default();
        assert_eq!(meter.read(), Reading { unit: Unit::Skills, done: 0, total: 0 });
        for unit in [Unit::Skills, Unit::Bytes] {
            meter.start(unit, 9);
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    let counting = meter.clone();
                    scope.spawn(move || counting.add(2));
                }
            });
            assert_eq!(meter.read(), Reading { unit, done: 6, total: 9 });
        }
        meter.set(1);
        assert_eq!(meter.read().done, 1);
    }

    #[test]
    fn parts_count_together_and_one_that_is_begun_anew_takes_nothing_from_the_others() {
        let meter = Meter::default();
        let (one, other) = (meter.part(10), meter.part(20));
        one.add(10);
        other.add(5);
        assert_eq!(meter.read(), Reading { unit: Unit::Bytes, done: 15, total: 30 });
        other.anew();
        other.add(20);
        assert_eq!(meter.read(), Reading { unit: Unit::Bytes, done: 30, total: 30 });
    }
}
