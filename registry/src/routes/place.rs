//! Where this registry is reached.

use axum::http::{HeaderMap, header};
use url::Url;

use crate::state::Registry;

/// Longest `Host` that is one.
const LONGEST_HOST: usize = 255;

/// The URL without a `/` at its end: as its operator says, else as the request does, which is
/// [`None`] where that names no host.
pub(crate) fn base(registry: &Registry, headers: &HeaderMap) -> Option<String> {
    if let Some(url) = &registry.options.faces.public_url {
        return Some(url.as_str().trim_end_matches('/').to_owned());
    }
    let host = headers.get(header::HOST)?.to_str().ok()?;
    of_host(host)
}

/// The URL of a host as a request names it, and of nothing that says more.
fn of_host(host: &str) -> Option<String> {
    let url = Url::parse(&format!("http://{host}/")).ok().filter(|_| host.len() <= LONGEST_HOST)?;
    let is_host = url.path() == "/"
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none()
        && !host.contains(['@', '/', '\\']);
    is_host.then(|| url.as_str().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_taken_and_nothing_beside_it() {
        for (host, url) in [
            ("localhost:7770", "http://localhost:7770"),
            ("127.0.0.1", "http://127.0.0.1"),
            ("[::1]:80", "http://[::1]"),
            ("skills.example", "http://skills.example"),
        ] {
            assert_eq!(of_host(host).as_deref(), Some(url));
        }
        let long = "a".repeat(300);
        for host in ["", "a/b", "a?b", "a#b", "u@a", "u:p@a", "a b", "a\\b", "a:port", &long] {
            assert_eq!(of_host(host), None, "{host}");
        }
    }
}
