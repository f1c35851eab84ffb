//! Where a request comes from.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// Most proxies that a request is followed through.
const MOST_PROXIES: usize = 16;

/// The address at the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// The proxies whose word is taken for where a request comes from.
#[derive(Debug)]
pub struct Proxies {
    trusted: Vec<IpNet>,
    warned: AtomicBool,
}

impl Proxies {
    /// Those of these networks.
    pub fn new(trusted: Vec<IpNet>) -> Self {
        Self { trusted, warned: AtomicBool::new(false) }
    }

    /// Whether an address is one of them.
    pub fn holds(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.trusted.iter().any(|network| network.contains(&address))
    }

    /// The party that a request counts for.
    ///
    /// `X-Forwarded-For` is read from its end, where the nearest proxy has written, for as long as
    /// a trusted one stands there: whatever comes before was written by whoever asks. The addresses
    /// of one IPv6 network of 64 bits are one party.
    pub fn client(&self, Peer(peer): Peer, headers: &HeaderMap) -> IpAddr {
        if self.trusted.is_empty() || !self.holds(peer) {
            if headers.contains_key(FORWARDED_FOR)
                && peer.is_loopback()
                && !self.warned.swap(true, Ordering::Relaxed)
            {
                tracing::warn!(
                    %peer,
                    "requests come through a proxy that is not trusted: none of them is counted; \
                     `--trusted-proxy` names it"
                );
            }
            return one_party(peer);
        }
        let mut client = peer;
        let lists = headers.get_all(FORWARDED_FOR).iter().rev();
        let hops = lists.flat_map(|list| list.to_str().unwrap_or_default().rsplit(','));
        for hop in hops.take(MOST_PROXIES) {
            let Some(address) = address(hop.trim()) else { break };
            client = address;
            if !self.holds(address) {
                break;
            }
        }
        one_party(client)
    }
}

/// An address as proxies write it: with a port or without.
fn address(text: &str) -> Option<IpAddr> {
    let plain = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    plain.parse().ok().or_else(with_port)
}

/// The address that stands for all that whoever has this one has as well.
pub(crate) fn one_party(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn client(peer: &str, headers: &[&str]) -> String {
        let trusted = ["10.0.0.0/8", "2001:db8:1::/48"].map(|network| network.parse().unwrap());
        let mut map = HeaderMap::new();
        for header in headers {
            map.append(FORWARDED_FOR, HeaderValue::from_str(header).unwrap());
        }
        let proxies = Proxies::new(trusted.to_vec());
        proxies.client(Peer(peer.parse().unwrap()), &map).to_string()
    }

    #[test]
    fn a_header_is_believed_of_trusted_proxies_alone_and_from_its_end() {
        for (peer, headers, expected) in [
            ("203.0.113.7", &["198.51.100.1"][..], "203.0.113.7"),
            ("127.0.0.1", &["198.51.100.1"], "127.0.0.1"),
            ("10.0.0.1", &["198.51.100.1"], "198.51.100.1"),
            // What a stranger wrote before the proxy did.
            ("10.0.0.1", &["1.2.3.4, 198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", &["1.2.3.4", "198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", &["127.0.0.1, 198.51.100.1, 10.0.0.2"], "198.51.100.1"),
            ("::ffff:10.0.0.1", &["198.51.100.1:443"], "198.51.100.1"),
            ("10.0.0.1", &["[2001:db8:9:9:1::1]:443"], "2001:db8:9:9::"),
            ("2001:db8:1::1", &["2001:db8:9:9:1::1"], "2001:db8:9:9::"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &["unknown"], "10.0.0.1"),
            ("10.0.0.1", &["198.51.100.1, unknown, 10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", &["198.51.100.1,"], "10.0.0.1"),
        ] {
            assert_eq!(client(peer, headers), expected, "{peer} {headers:?}");
        }
        let long = "10.1.1.1, ".repeat(1_000) + "10.1.1.1";
        assert_eq!(client("10.0.0.1", &[&long]), "10.1.1.1");
    }

    #[test]
    fn a_network_of_ipv6_is_one_party_and_this_machine_stays_itself() {
        for (address, party) in [
            ("2001:db8:0:1:2::3", "2001:db8:0:1::"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("::1", "::1"),
            ("192.0.2.1", "192.0.2.1"),
        ] {
            assert_eq!(one_party(address.parse().unwrap()).to_string(), party);
        }
    }
}
