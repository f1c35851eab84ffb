//! Which URLs may be asked for, and which hosts may have addresses of their own network.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use url::{Host, Url};

use super::address::{Special, special};
use super::error::{AddressRefused, UrlRefused};

/// A host as a URL has it: a name in lower case, without a dot at its end, or an address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(String);

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for HostName {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let refused = || HostError(skillpkg_schema::diagnostic::escape(text));
        let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        if let Ok(address) = inner.unwrap_or(text).parse::<Ipv6Addr>() {
            return Ok(Self(address.to_string()));
        }
        if text.contains(['/', '\\', '?', '#', '@', ':', ' ']) {
            return Err(refused());
        }
        let url = Url::parse(&format!("http://{text}/")).map_err(|_| refused())?;
        url.host().map(|host| Self::of(&host)).ok_or_else(refused)
    }
}

impl HostName {
    fn of(host: &Host<&str>) -> Self {
        match host {
            Host::Domain(name) => Self::of_name(name),
            Host::Ipv4(address) => Self(address.to_string()),
            Host::Ipv6(address) => Self(address.to_string()),
        }
    }

    pub(super) fn of_name(name: &str) -> Self {
        Self(name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase())
    }
}

/// Not a host alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no host: give a name or an address, and a port where it has another than usual, such as `skills.internal` or `10.0.0.5:7770`"
)]
pub struct HostError(String);

/// A host, or one port of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AllowedHost {
    host: HostName,
    /// [`None`] for those that its schemes have.
    port: Option<u16>,
}

impl From<HostName> for AllowedHost {
    fn from(host: HostName) -> Self {
        Self { host, port: None }
    }
}

impl FromStr for AllowedHost {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let whole = text.parse::<HostName>();
        let Err(refused) = whole else { return whole.map(Self::from) };
        let Some((host, port)) = text.rsplit_once(':') else { return Err(refused) };
        match (host.parse::<HostName>(), port.parse::<u16>()) {
            (Ok(host), Ok(port)) if port > 0 => Ok(Self { host, port: Some(port) }),
            _ => Err(refused),
        }
    }
}

/// The hosts that the operator listed: they may have any address, and be asked without TLS, at the
/// ports that were listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts(BTreeSet<AllowedHost>);

impl FromIterator<HostName> for AllowedHosts {
    fn from_iter<T: IntoIterator<Item = HostName>>(hosts: T) -> Self {
        hosts.into_iter().map(AllowedHost::from).collect()
    }
}

impl FromIterator<AllowedHost> for AllowedHosts {
    fn from_iter<T: IntoIterator<Item = AllowedHost>>(hosts: T) -> Self {
        Self(hosts.into_iter().collect())
    }
}

impl AllowedHosts {
    /// With the port of the registry's own URL, where its host is listed: whoever lists it means that.
    #[must_use]
    pub fn for_base(mut self, base: &Url) -> Self {
        if let Some(host) = base.host().map(|host| HostName::of(&host))
            && self.lists(&host)
        {
            self.0.insert(AllowedHost { host, port: base.port_or_known_default() });
        }
        self
    }

    fn lists(&self, host: &HostName) -> bool {
        self.0.iter().any(|listed| listed.host == *host)
    }

    /// Whether the port of a URL is one of those that its host is listed with.
    fn allows_port(&self, host: &HostName, url: &Url) -> bool {
        let port = url.port_or_known_default();
        let is_usual = url.port().is_none();
        let allows = |listed: &AllowedHost| match listed.port {
            None => is_usual,
            named => named == port,
        };
        self.0.iter().any(|listed| listed.host == *host && allows(listed))
    }

    /// Checks what can be checked before a name is resolved: scheme, credentials, and an address
    /// that stands in the place of a name.
    ///
    /// No resolver is asked for an address, so this is where one is refused, however it is
    /// spelled: what the URL was read to is what is connected to.
    pub fn check_url(&self, url: &Url) -> Result<(), UrlRefused> {
        let Some(host) = url.host() else { return Err(UrlRefused::NoHost) };
        let name = HostName::of(&host);
        match url.scheme() {
            "https" | "http" if self.lists(&name) && !self.allows_port(&name, url) => {
                // Else a redirect of one service could reach every other on the same machine.
                let (host, port) = (name.to_string(), url.port_or_known_default().unwrap_or(0));
                return Err(UrlRefused::Port { host, port });
            }
            "https" => {}
            "http" if self.lists(&name) => {}
            "http" => return Err(UrlRefused::Plain { host: name.to_string() }),
            other => return Err(UrlRefused::Scheme { scheme: other.to_owned() }),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlRefused::Credentials);
        }
        let address = match host {
            Host::Domain(_) => return Ok(()),
            Host::Ipv4(address) => IpAddr::V4(address),
            Host::Ipv6(address) => IpAddr::V6(address),
        };
        Ok(self.check_addresses(&name, [address])?)
    }

    /// Checks the addresses that a name has. One that is special refuses them all: whoever answers
    /// for the name is not to be trusted with the others.
    pub fn check_addresses(
        &self,
        host: &HostName,
        addresses: impl IntoIterator<Item = IpAddr>,
    ) -> Result<(), AddressRefused> {
        if self.lists(host) {
            return Ok(());
        }
        let found = |address: IpAddr| special(address).map(|special| (address, special));
        match addresses.into_iter().find_map(found) {
            Some((address, special)) => Err(refused(host, address, special)),
            None => Ok(()),
        }
    }
}

fn refused(host: &HostName, address: IpAddr, special: Special) -> AddressRefused {
    AddressRefused { host: host.to_string(), address, special }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(hosts: &[&str]) -> AllowedHosts {
        hosts.iter().map(|host| host.parse::<AllowedHost>().unwrap()).collect()
    }

    #[test]
    fn a_listed_host_is_asked_at_its_listed_ports_alone() {
        let hosts = allowed(&["skills.internal", "10.0.0.5:7770", "[::1]:8080"]);
        let with_base =
            hosts.clone().for_base(&Url::parse("http://skills.internal:7770/x").unwrap());
        for (url, is_listed, is_base) in [
            ("http://skills.internal/", true, true),
            ("https://skills.internal/", true, true),
            ("https://skills.internal:443/", true, true),
            ("http://skills.internal:7770/", false, true),
            ("https://skills.internal:7770/", false, true),
            ("http://skills.internal:6379/", false, false),
            ("https://skills.internal:6379/", false, false),
            ("http://10.0.0.5:7770/", true, true),
            ("http://0xA.5:7770/", true, true),
            ("http://10.0.0.5/", false, false),
            ("https://10.0.0.5:6379/", false, false),
            ("http://[::1]:8080/", true, true),
            ("http://[::1]:8081/", false, false),
        ] {
            let parsed = Url::parse(url).unwrap();
            assert_eq!(hosts.check_url(&parsed).is_ok(), is_listed, "{url}");
            assert_eq!(with_base.check_url(&parsed).is_ok(), is_base, "{url}");
        }
        for text in ["a:", "a:0", "a:x", "a:65536", "[::1]:", "a:1:2", ":80", "a/b:80"] {
            assert!(text.parse::<AllowedHost>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_host_is_read_as_urls_have_it() {
        for (text, expected) in [
            ("Skills.Internal", "skills.internal"),
            ("skills.internal.", "skills.internal"),
            ("10.0.0.5", "10.0.0.5"),
            ("0x7f.1", "127.0.0.1"),
            ("2130706433", "127.0.0.1"),
            ("::1", "::1"),
            ("[::1]", "::1"),
            ("[0:0::1]", "::1"),
        ] {
            assert_eq!(text.parse::<HostName>().unwrap().to_string(), expected, "{text}");
        }
        for text in [
            "", "a:80", "a:", "a/b", "http://a", "u@a", "a b", "a?b", "a#b", "[::1]:80", "*.a\n/",
            "a\\b",
        ] {
            assert!(text.parse::<HostName>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_schemes_of_the_web_are_asked_and_plain_ones_where_they_are_listed() {
        let hosts = allowed(&["skills.internal", "10.0.0.5", "10.0.0.5:7770"]);
        for url in [
            "https://skills.example.org/",
            "https://skills.example.org:8443/base",
            "http://skills.internal/",
            "http://SKILLS.internal./",
            "http://10.0.0.5:7770/",
            "http://0xA.5/",
            "https://10.0.0.5/",
            "https://[2606:4700::1111]/",
        ] {
            assert_eq!(hosts.check_url(&Url::parse(url).unwrap()), Ok(()), "{url}");
        }
        for url in [
            "http://skills.example.org/",
            "http://10.0.0.6/",
            "file:///etc/passwd",
            "file://skills.internal/etc/passwd",
            "gopher://skills.internal/",
            "ftp://skills.internal/",
            "data:text/plain,x",
            "unix:/run/docker.sock",
            "https://ana@skills.internal/",
            "https://ana:secret@skills.internal/",
            "https://:secret@skills.internal/",
        ] {
            assert!(hosts.check_url(&Url::parse(url).unwrap()).is_err(), "{url}");
        }
    }

    #[test]
    fn an_address_is_refused_however_it_is_spelled() {
        let nothing = AllowedHosts::default();
        for host in [
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "2130706433",
            "0x7f000001",
            "0x7f.0.0.1",
            "0x7F.0x0.0x0.0x1",
            "017700000001",
            "0177.0.0.01",
            "0177.1",
            "127.0.0.1.",
            "%31%32%37.0.0.1",
            "１２７.0.0.1",
            "127。0。0。1",
            "0",
            "0.0.0.0",
            "169.254.169.254",
            "2852039166",
            "0xa9fea9fe",
            "0251.0376.0251.0376",
            "[::1]",
            "[::]",
            "[0:0:0:0:0:0:0:1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[::ffff:a9fe:a9fe]",
            "[64:ff9b::169.254.169.254]",
            "[2002:7f00:1::]",
            "[fd00:ec2::254]",
            "[fe80::1]",
        ] {
            let url = Url::parse(&format!("https://{host}/")).unwrap();
            let refused = nothing.check_url(&url);
            assert!(matches!(refused, Err(UrlRefused::Address(_))), "{host}: {refused:?}");
        }
        // What is no number to a URL is a name, which a resolver is asked for.
        for host in ["localhost", "127.0.0.1.example.org", "0x7f.example.org"] {
            let url = Url::parse(&format!("https://{host}/")).unwrap();
            assert!(nothing.check_url(&url).is_ok(), "{host}");
        }
    }

    #[test]
    fn one_special_address_refuses_all_that_a_name_has() {
        let hosts = allowed(&["skills.internal"]);
        let name = HostName::of_name("skills.example.org");
        let addresses = |texts: &[&str]| -> Vec<IpAddr> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        assert!(hosts.check_addresses(&name, addresses(&["8.8.8.8", "2606:4700::1111"])).is_ok());
        assert!(hosts.check_addresses(&name, addresses(&["8.8.8.8", "127.0.0.1"])).is_err());
        let listed = HostName::of_name("skills.internal.");
        assert!(hosts.check_addresses(&listed, addresses(&["127.0.0.1"])).is_ok());
    }
}
