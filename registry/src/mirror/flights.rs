//! One at a time for each thing that is fetched: whoever comes second finds what the first brought.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// Turns by key; a key that nobody has or waits for is forgotten.
#[derive(Debug)]
pub(crate) struct Flights<K>(Mutex<HashMap<K, Weak<Turn<()>>>>);

impl<K> Default for Flights<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq> Flights<K> {
    /// The one turn of `key`, once it is free.
    pub(crate) async fn enter(&self, key: K) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            turns.retain(|_, turn| turn.strong_count() > 0);
            let running = turns.get(&key).and_then(Weak::upgrade);
            running.unwrap_or_else(|| {
                let turn = Arc::default();
                turns.insert(key, Arc::downgrade(&turn));
                turn
            })
        };
        turn.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_key_has_one_turn_and_other_keys_have_theirs() {
        let flights = Flights::default();
        let first = flights.enter("a").await;
        let _other = flights.enter("b").await;
        let wait = tokio::time::timeout(Duration::from_millis(20), flights.enter("a"));
        assert!(wait.await.is_err());
        drop(first);
        let _second = flights.enter("a").await;
        assert_eq!(flights.0.lock().unwrap().len(), 2);
    }
}
