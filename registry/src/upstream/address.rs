//! Which addresses an upstream may have: those that the whole internet can reach, and no other.
//!
//! What upstream says, and what a name server says, must not make this machine ask its own services,
//! its network's, or its provider's: the ranges are those of IANA's special-purpose registries.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is none that the internet can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Special {
    /// `0.0.0.0/8`, `::`.
    Unspecified,
    /// `127.0.0.0/8`, `::1`.
    Loopback,
    /// `10.0.0.0/8`, `172.16.0.0/12`, `192.168.0.0/16`, `fc00::/7`, `fec0::/10`.
    Private,
    /// `169.254.0.0/16`, `fe80::/10`: where providers keep the credentials of machines.
    LinkLocal,
    /// `100.64.0.0/10`: between a provider and its customers.
    Shared,
    /// `224.0.0.0/4`, `ff00::/8`, and the broadcast address.
    Multicast,
    /// For documents: `192.0.2.0/24` and its kin, `2001:db8::/32`, `3fff::/20`.
    Documentation,
    /// For measuring devices: `198.18.0.0/15`, `2001:2::/48`.
    Benchmarking,
    /// An IPv4 address in an IPv6 one, of a kind that leads into networks of somebody's own.
    Tunnel,
    /// Anything else that is set aside, or given to nobody.
    Reserved,
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "an unspecified address",
            Self::Loopback => "this machine's own address",
            Self::Private => "an address of a private network",
            Self::LinkLocal => "a link-local address",
            Self::Shared => "an address of a provider's inner network",
            Self::Multicast => "a multicast or broadcast address",
            Self::Documentation => "an address for documents",
            Self::Benchmarking => "an address for measuring devices",
            Self::Tunnel => "an address of a tunnel",
            Self::Reserved => "a reserved address",
        })
    }
}

/// What keeps `address` from being one that the internet can reach; [`None`] where nothing does.
pub fn special(address: IpAddr) -> Option<Special> {
    match address {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => special_v6(address),
    }
}

fn special_v4(address: Ipv4Addr) -> Option<Special> {
    let [a, b, c, d] = address.octets();
    Some(match (a, b, c, d) {
        (0, ..) => Special::Unspecified,
        (127, ..) => Special::Loopback,
        (10, ..) | (172, 16..=31, ..) | (192, 168, ..) => Special::Private,
        (169, 254, ..) => Special::LinkLocal,
        (100, 64..=127, ..) => Special::Shared,
        (224..=239, ..) | (255, 255, 255, 255) => Special::Multicast,
        (192, 0, 2, _) | (198, 51, 100, _) | (203, 0, 113, _) => Special::Documentation,
        (198, 18..=19, ..) => Special::Benchmarking,
        // The way into 6to4, which its users have left.
        (192, 88, 99, _) => Special::Tunnel,
        (192, 0, 0, _) | (240..=255, ..) => Special::Reserved,
        _ => return None,
    })
}

fn special_v6(address: Ipv6Addr) -> Option<Special> {
    let [network @ .., sixth, seventh] = address.segments();
    let embedded = || {
        let [.., a, b, c, d] = address.octets();
        special_v4(Ipv4Addr::new(a, b, c, d))
    };
    match network.into() {
        (0, 0, 0, 0, 0, 0) => Some(match (sixth, seventh) {
            (0, 0) => Special::Unspecified,
            (0, 1) => Special::Loopback,
            // IPv4-compatible, which nothing speaks any more.
            _ => embedded().unwrap_or(Special::Tunnel),
        }),
        // IPv4-mapped, and NAT64 of the well-known prefix: the way of IPv6-only networks.
        (0, 0, 0, 0, 0, 0xffff) | (0x64, 0xff9b, 0, 0, 0, 0) => embedded(),
        // IPv4-translated, NAT64 of a network's own prefix, Teredo, 6to4.
        (0, 0, 0, 0, 0xffff, 0) | (0x64, 0xff9b, 1, ..) | (0x2001, 0, ..) | (0x2002, ..) => {
            Some(Special::Tunnel)
        }
        // ISATAP: an interface id that holds an IPv4 address, under whatever prefix.
        (0x2000..=0x3fff, _, _, _, 0 | 0x200, 0x5efe) => Some(Special::Tunnel),
        (0xfc00..=0xfdff | 0xfec0..=0xfeff, ..) => Some(Special::Private),
        (0xfe80..=0xfebf, ..) => Some(Special::LinkLocal),
        (0xff00..=0xffff, ..) => Some(Special::Multicast),
        (0x2001, 0xdb8, ..) | (0x3fff, 0..=0xfff, ..) => Some(Special::Documentation),
        (0x2001, 2, 0, ..) => Some(Special::Benchmarking),
        // Protocols' own.
        (0x2001, 0..=0x1ff, ..) => Some(Special::Reserved),
        // All that is given out to the internet lies in 2000::/3.
        (0x2000..=0x3fff, ..) => None,
        _ => Some(Special::Reserved),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first and the last address of each range, and what stands beside them.
    const TABLE: &[(&str, Option<Special>)] = &[
        ("0.0.0.0", Some(Special::Unspecified)),
        ("0.255.255.255", Some(Special::Unspecified)),
        ("1.0.0.0", None),
        ("9.255.255.255", None),
        ("10.0.0.0", Some(Special::Private)),
        ("10.255.255.255", Some(Special::Private)),
        ("11.0.0.0", None),
        ("100.63.255.255", None),
        ("100.64.0.0", Some(Special::Shared)),
        ("100.127.255.255", Some(Special::Shared)),
        ("100.128.0.0", None),
        ("126.255.255.255", None),
        ("127.0.0.1", Some(Special::Loopback)),
        ("127.255.255.255", Some(Special::Loopback)),
        ("128.0.0.0", None),
        ("169.253.255.255", None),
        ("169.254.0.0", Some(Special::LinkLocal)),
        ("169.254.169.254", Some(Special::LinkLocal)),
        ("169.254.255.255", Some(Special::LinkLocal)),
        ("169.255.0.0", None),
        ("172.15.255.255", None),
        ("172.16.0.0", Some(Special::Private)),
        ("172.31.255.255", Some(Special::Private)),
        ("172.32.0.0", None),
        ("192.0.0.0", Some(Special::Reserved)),
        ("192.0.0.171", Some(Special::Reserved)),
        ("192.0.0.255", Some(Special::Reserved)),
        ("192.0.1.0", None),
        ("192.0.2.0", Some(Special::Documentation)),
        ("192.0.2.255", Some(Special::Documentation)),
        ("192.0.3.0", None),
        ("192.88.99.0", Some(Special::Tunnel)),
        ("192.88.99.255", Some(Special::Tunnel)),
        ("192.88.100.0", None),
        ("192.167.255.255", None),
        ("192.168.0.0", Some(Special::Private)),
        ("192.168.255.255", Some(Special::Private)),
        ("192.169.0.0", None),
        ("198.17.255.255", None),
        ("198.18.0.0", Some(Special::Benchmarking)),
        ("198.19.255.255", Some(Special::Benchmarking)),
        ("198.20.0.0", None),
        ("198.51.100.0", Some(Special::Documentation)),
        ("198.51.101.0", None),
        ("203.0.113.255", Some(Special::Documentation)),
        ("203.0.114.0", None),
        ("223.255.255.255", None),
        ("224.0.0.0", Some(Special::Multicast)),
        ("239.255.255.255", Some(Special::Multicast)),
        ("240.0.0.0", Some(Special::Reserved)),
        ("255.255.255.254", Some(Special::Reserved)),
        ("255.255.255.255", Some(Special::Multicast)),
        ("::", Some(Special::Unspecified)),
        ("::1", Some(Special::Loopback)),
        // IPv4-compatible: whatever it holds.
        ("::2", Some(Special::Unspecified)),
        ("::127.0.0.1", Some(Special::Loopback)),
        ("::169.254.169.254", Some(Special::LinkLocal)),
        ("::8.8.8.8", Some(Special::Tunnel)),
        // IPv4-mapped: as what it holds.
        ("::ffff:127.0.0.1", Some(Special::Loopback)),
        ("::ffff:7f00:1", Some(Special::Loopback)),
        ("::ffff:0.0.0.0", Some(Special::Unspecified)),
        ("::ffff:10.0.0.1", Some(Special::Private)),
        ("::ffff:100.64.0.1", Some(Special::Shared)),
        ("::ffff:169.254.169.254", Some(Special::LinkLocal)),
        ("::ffff:224.0.0.1", Some(Special::Multicast)),
        ("::ffff:8.8.8.8", None),
        // IPv4-translated.
        ("::ffff:0:127.0.0.1", Some(Special::Tunnel)),
        ("::fffe:127.0.0.1", Some(Special::Reserved)),
        // NAT64.
        ("64:ff9b::127.0.0.1", Some(Special::Loopback)),
        ("64:ff9b::a9fe:a9fe", Some(Special::LinkLocal)),
        ("64:ff9b::192.168.1.1", Some(Special::Private)),
        ("64:ff9b::8.8.8.8", None),
        ("64:ff9b:0:0:0:1:808:808", Some(Special::Reserved)),
        ("64:ff9b:1::8.8.8.8", Some(Special::Tunnel)),
        ("64:ff9b:1:ffff:ffff:ffff:808:808", Some(Special::Tunnel)),
        ("64:ff9b:2::", Some(Special::Reserved)),
        ("100::1", Some(Special::Reserved)),
        ("1fff:ffff::", Some(Special::Reserved)),
        ("2000::", None),
        // Teredo.
        ("2001::1", Some(Special::Tunnel)),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", Some(Special::Tunnel)),
        ("2001:1::1", Some(Special::Reserved)),
        ("2001:2::", Some(Special::Benchmarking)),
        ("2001:2:0:ffff::", Some(Special::Benchmarking)),
        ("2001:2:1::", Some(Special::Reserved)),
        ("2001:10::", Some(Special::Reserved)),
        ("2001:2f:ffff::", Some(Special::Reserved)),
        ("2001:1ff:ffff::", Some(Special::Reserved)),
        ("2001:200::", None),
        ("2001:db7:ffff::", None),
        ("2001:db8::1", Some(Special::Documentation)),
        ("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", Some(Special::Documentation)),
        ("2001:db9::", None),
        // 6to4: whatever it holds.
        ("2002:7f00:1::", Some(Special::Tunnel)),
        ("2002:a9fe:a9fe::1", Some(Special::Tunnel)),
        ("2002:808:808::1", Some(Special::Tunnel)),
        ("2003::", None),
        // ISATAP.
        ("2606:4700::5efe:7f00:1", Some(Special::Tunnel)),
        ("2606:4700::200:5efe:808:808", Some(Special::Tunnel)),
        ("2606:4700::1111", None),
        ("2a00:1450:4001:831::200e", None),
        ("3ffe:ffff::", None),
        ("3fff::", Some(Special::Documentation)),
        ("3fff:fff:ffff::", Some(Special::Documentation)),
        ("3fff:1000::", None),
        ("4000::", Some(Special::Reserved)),
        ("5f00::1", Some(Special::Reserved)),
        ("fbff:ffff::", Some(Special::Reserved)),
        ("fc00::", Some(Special::Private)),
        ("fd00:ec2::254", Some(Special::Private)),
        ("fdff:ffff::", Some(Special::Private)),
        ("fe00::", Some(Special::Reserved)),
        ("fe80::1", Some(Special::LinkLocal)),
        ("febf:ffff::", Some(Special::LinkLocal)),
        ("fec0::1", Some(Special::Private)),
        ("feff:ffff::", Some(Special::Private)),
        ("ff00::", Some(Special::Multicast)),
        ("ff02::1", Some(Special::Multicast)),
        ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some(Special::Multicast)),
    ];

    #[test]
    fn every_special_range_ends_where_it_should() {
        for (text, expected) in TABLE {
            assert_eq!(special(text.parse().unwrap()), *expected, "{text}");
        }
    }

    #[test]
    fn what_the_standard_library_knows_to_be_special_is() {
        for first in 0..=255 {
            for second in [0, 16, 18, 51, 64, 88, 127, 168, 254, 255] {
                let address = Ipv4Addr::new(first, second, 100, 1);
                let known = address.is_loopback()
                    || address.is_private()
                    || address.is_link_local()
                    || address.is_broadcast()
                    || address.is_documentation()
                    || address.is_multicast()
                    || address.is_unspecified();
                assert!(!known || special(IpAddr::V4(address)).is_some(), "{address}");
                let mapped = special(IpAddr::V6(address.to_ipv6_mapped()));
                assert_eq!(mapped, special(IpAddr::V4(address)), "{address}");
                assert!(special(IpAddr::V6(address.to_ipv6_compatible())).is_some(), "{address}");
            }
        }
    }
}
