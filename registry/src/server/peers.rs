//! How many connections each peer has open.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::rates::one_party;

/// Counts the open connections of each peer address.
#[derive(Debug, Clone)]
pub(super) struct Peers {
    /// Most for one address; 0 for no bound.
    most: usize,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// One connection of a peer, counted until this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    peers: Peers,
    address: IpAddr,
}

impl Peers {
    /// At most `most` connections an address, or any number where it is 0.
    pub(super) fn new(most: usize) -> Self {
        Self { most, open: Arc::default() }
    }

    /// A place for one more connection of `address`; [`None`] where it has enough.
    ///
    /// The addresses of one IPv6 network of 64 bits are one peer: whoever has one has them all.
    pub(super) fn enter(&self, address: IpAddr) -> Option<Place> {
        let address = one_party(address);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(address).or_insert(0);
        if self.most != 0 && *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Place { peers: self.clone(), address })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.peers.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.address) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                open.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_so_many_places_and_each_is_given_back() {
        let peers = Peers::new(2);
        let one: IpAddr = "192.0.2.1".parse().unwrap();
        let first = peers.enter(one).unwrap();
        let mapped = peers.enter("::ffff:192.0.2.1".parse().unwrap()).unwrap();
        assert!(peers.enter(one).is_none());
        assert!(peers.enter("192.0.2.2".parse().unwrap()).is_some());
        drop(first);
        assert!(peers.enter(one).is_some());
        drop(mapped);
        assert!(peers.open.lock().unwrap().is_empty());
    }

    #[test]
    fn a_network_of_ipv6_is_one_peer_and_zero_is_no_bound() {
        let peers = Peers::new(1);
        let _first = peers.enter("2001:db8:0:1::1".parse().unwrap()).unwrap();
        assert!(peers.enter("2001:db8:0:1:2::2".parse().unwrap()).is_none());
        assert!(peers.enter("2001:db8:0:2::1".parse().unwrap()).is_some());
        let peers = Peers::new(0);
        let all: Vec<_> =
            (0..1_000).map(|_| peers.enter("192.0.2.1".parse().unwrap()).unwrap()).collect();
        drop(all);
        assert!(peers.open.lock().unwrap().is_empty());
    }
}
