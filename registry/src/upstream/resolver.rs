//! Resolves names, and hands on only addresses that were checked: the connection goes to one of
//! them, so that a name which has another address a moment later leads nowhere else.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::hosts::{AllowedHosts, HostName};

/// Most addresses of one name that are tried.
const MAX_ADDRESSES: usize = 16;

/// Asks for the addresses of a name.
pub trait Lookup: Send + Sync {
    /// The addresses that `host` has now.
    fn lookup(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// As the system resolves names.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Between the HTTP client and a lookup.
pub(super) struct CheckedResolver {
    lookup: Arc<dyn Lookup>,
    allowed: Arc<AllowedHosts>,
}

impl CheckedResolver {
    pub(super) fn new(lookup: Arc<dyn Lookup>, allowed: Arc<AllowedHosts>) -> Self {
        Self { lookup, allowed }
    }
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.lookup.lookup(name.as_str().to_owned());
        let allowed = Arc::clone(&self.allowed);
        Box::pin(async move {
            let addresses = found.await?;
            allowed
                .check_addresses(&HostName::of_name(name.as_str()), addresses.iter().copied())?;
            let checked = addresses.into_iter().take(MAX_ADDRESSES);
            // The port is the URL's.
            let checked = checked.map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(checked.collect::<Vec<_>>().into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use super::*;
    use crate::upstream::error::AddressRefused;

    /// Answers each question with the next of its answers.
    struct Rebinding(Mutex<VecDeque<Vec<IpAddr>>>);

    impl Lookup for Rebinding {
        fn lookup(&self, _: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            let next = self.0.lock().unwrap().pop_front();
            Box::pin(async move { next.ok_or_else(|| io::Error::other("asked once too often")) })
        }
    }

    fn resolver(answers: &[&[&str]], allowed: &[&str]) -> CheckedResolver {
        let answers = answers.iter().map(|answer| {
            let addresses = answer.iter().map(|text| text.parse().unwrap());
            addresses.collect::<Vec<IpAddr>>()
        });
        let allowed = allowed.iter().map(|host| host.parse::<HostName>().unwrap());
        CheckedResolver::new(
            Arc::new(Rebinding(Mutex::new(answers.collect()))),
            Arc::new(allowed.collect()),
        )
    }

    async fn resolve(resolver: &CheckedResolver, host: &str) -> Result<Vec<String>, String> {
        match resolver.resolve(host.parse().unwrap()).await {
            Ok(addresses) => Ok(addresses.map(|address| address.to_string()).collect()),
            Err(error) => {
                let refused = error.downcast::<AddressRefused>().unwrap();
                Err(refused.address.to_string())
            }
        }
    }

    #[tokio::test]
    async fn a_name_that_moves_to_this_machine_is_refused_there_and_asked_once_each_time() {
        let resolver = resolver(&[&["8.8.8.8"], &["127.0.0.1"], &["8.8.4.4"]], &[]);
        let host = "skills.example.org";
        assert_eq!(resolve(&resolver, host).await, Ok(vec!["8.8.8.8:0".to_owned()]));
        assert_eq!(resolve(&resolver, host).await, Err("127.0.0.1".to_owned()));
        assert_eq!(resolve(&resolver, host).await, Ok(vec!["8.8.4.4:0".to_owned()]));
    }

    #[tokio::test]
    async fn a_name_with_one_special_address_has_none() {
        let both = resolver(&[&["8.8.8.8", "::ffff:169.254.169.254"]], &[]);
        let refused = resolve(&both, "skills.example.org").await;
        assert_eq!(refused, Err("::ffff:169.254.169.254".to_owned()));
    }

    #[tokio::test]
    async fn a_listed_name_may_have_any_address() {
        let listed = resolver(&[&["127.0.0.1"], &["10.0.0.5"]], &["Skills.Internal"]);
        assert!(resolve(&listed, "skills.internal").await.is_ok());
        assert!(resolve(&listed, "skills.internal.").await.is_ok());
        let many: Vec<String> = (0..200).map(|last| format!("8.8.8.{last}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let many = resolver(&[&many], &[]);
        assert_eq!(resolve(&many, "a.example.org").await.unwrap().len(), MAX_ADDRESSES);
    }
}
