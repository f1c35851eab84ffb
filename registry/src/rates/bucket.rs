//! Token buckets, each of them one number.

use std::convert::Infallible;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quick_cache::sync::Cache;

/// Parties remembered at once; whoever has made no request for longest is forgotten first, and
/// begins anew.
const REMEMBERED: usize = 65_536;
const MINUTE: u64 = 60_000_000_000;

/// A bucket a party, each full at first and filled again within a minute.
///
/// What a bucket holds is told by the moment at which it will be full again, so that one atomic
/// number is all there is of it (the generic cell rate algorithm, ITU-T I.371).
#[derive(Debug)]
pub(super) struct Buckets<K> {
    start: Instant,
    /// Nanoseconds in which one request is given back.
    interval: u64,
    /// By party: the moment at which it is full again, in nanoseconds since the start.
    full_again: Cache<K, Arc<AtomicU64>>,
}

impl<K: Hash + Eq + Copy> Buckets<K> {
    /// Buckets of `size` requests; [`None`] where it is 0, which is any number.
    pub(super) fn new(size: u32) -> Option<Self> {
        let interval = MINUTE.checked_div(u64::from(size))?.max(1);
        Some(Self { start: Instant::now(), interval, full_again: Cache::new(REMEMBERED) })
    }

    /// Takes one request of a party's; where it has none, for how long it has to wait.
    pub(super) fn take(&self, party: K) -> Result<(), Duration> {
        let now = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.take_at(party, now)
    }

    fn take_at(&self, party: K, now: u64) -> Result<(), Duration> {
        let full = || Ok::<_, Infallible>(Arc::default());
        let Ok(bucket) = self.full_again.get_or_insert_with(&party, full);
        let taken = bucket.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |full_again| {
            let after = full_again.max(now).saturating_add(self.interval);
            (after.saturating_sub(now) <= MINUTE).then_some(after)
        });
        taken.map(|_| ()).map_err(|full_again| {
            let after = full_again.saturating_add(self.interval);
            Duration::from_nanos(after.saturating_sub(now).saturating_sub(MINUTE))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_bucket_is_emptied_at_once_and_filled_within_a_minute() {
        let buckets = Buckets::new(60).unwrap();
        for _ in 0..60 {
            assert_eq!(buckets.take_at('a', 5), Ok(()));
        }
        let wait = buckets.take_at('a', 5).unwrap_err();
        assert_eq!(wait, Duration::from_secs(1));
        assert_eq!(buckets.take_at('b', 5), Ok(()), "another's is full");
        assert!(buckets.take_at('a', 5 + SECOND - 1).is_err());
        assert_eq!(buckets.take_at('a', 5 + SECOND), Ok(()));
        assert!(buckets.take_at('a', 5 + SECOND).is_err());
        for _ in 0..60 {
            assert_eq!(buckets.take_at('a', 5 + 70 * SECOND), Ok(()));
        }
        assert!(buckets.take_at('a', 5 + 70 * SECOND).is_err());
        assert!(Buckets::<char>::new(0).is_none());
    }

    #[test]
    fn those_who_take_at_once_get_no_more_than_there_is() {
        let buckets = Buckets::new(1_000).unwrap();
        let taken = std::thread::scope(|scope| {
            let takers: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| (0..500).filter(|_| buckets.take_at((), 0).is_ok()).count())
                })
                .collect();
            takers.into_iter().map(|taker| taker.join().unwrap()).sum::<usize>()
        });
        assert_eq!(taken, 1_000);
    }

    #[test]
    fn more_parties_than_are_remembered_take_no_more_memory() {
        let buckets = Buckets::new(10).unwrap();
        for party in 0..3 * REMEMBERED {
            let _ = buckets.take_at(party, 0);
        }
        assert!(buckets.full_again.len() <= REMEMBERED + REMEMBERED / 10);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn whoever_waits_as_long_as_told_is_served_and_nobody_gets_more(
            size in 1_u32..200,
            steps in prop::collection::vec(0_u64..3 * SECOND, 1..200),
        ) {
            let buckets = Buckets::new(size).unwrap();
            let (mut now, mut served) = (0, 0_u64);
            for step in steps {
                now += step;
                match buckets.take_at((), now) {
                    Ok(()) => served += 1,
                    Err(wait) => {
                        now += u64::try_from(wait.as_nanos()).unwrap();
                        prop_assert_eq!(buckets.take_at((), now), Ok(()));
                        served += 1;
                    }
                }
                let most = u64::from(size) + now * u64::from(size) / (60 * SECOND) + 1;
                prop_assert!(served <= most, "{} of {}", served, most);
            }
        }
    }
}
