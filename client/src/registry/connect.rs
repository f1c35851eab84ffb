//! The HTTP client under a registry: which certificates, which proxy, which timeouts.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Proxy};
use rustls::{ClientConfig, RootCertStore};
use url::Url;

use super::error::RegistryError;
use crate::settings::{Connection, registry_text};

/// How long is waited for the other side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// For a connection.
    pub(super) connect: Duration,
    /// For the first byte of an answer.
    pub(super) answer: Duration,
    /// For [`Patience::least_bytes`] of a body, again and again.
    pub(super) window: Duration,
    /// Fewest bytes of a body in a window, unless it ends in it.
    pub(super) least_bytes: u64,
}

impl Default for Patience {
    /// 1 KiB a second over 15 seconds: slower than any line that people work with, faster than a
    /// server that holds on to its clients.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(30),
            window: Duration::from_secs(15),
            least_bytes: 15 * 1024,
        }
    }
}

/// Makes the client. For plain HTTP no certificate is read.
pub(super) fn client(
    url: &Url,
    connection: &Connection,
    patience: Patience,
) -> Result<Client, RegistryError> {
    let setup = |reason: String| RegistryError::Setup { url: registry_text(url).into(), reason };
    let mut builder = Client::builder()
        .user_agent(concat!("skillpkg/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(patience.connect)
        // A redirect would send the token wherever the answer says.
        .redirect(Policy::none())
        // Retries are ours, and few.
        .retry(reqwest::retry::never())
        // No host but the configured ones is asked: a proxy stands in the configuration or is none.
        .no_proxy();
    if let Some(proxy) = &connection.proxy {
        let proxy = Proxy::all(proxy.clone()).map_err(|error| setup(error.to_string()))?;
        builder = builder.proxy(proxy);
    }
    let speaks_tls =
        url.scheme() == "https" || connection.proxy.as_ref().is_some_and(|p| p.scheme() == "https");
    if speaks_tls {
        // A second call finds the first one's provider in place, which is this one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        builder = builder.tls_certs_merge(certificates(connection)?);
    } else {
        // Reading the system's certificates takes longer than a whole request on loopback does.
        let provider = rustls::crypto::ring::default_provider();
        let trusts_nobody = ClientConfig::builder_with_provider(provider.into())
            .with_safe_default_protocol_versions()
            .map_err(|error| setup(error.to_string()))?
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(trusts_nobody);
    }
    builder.build().map_err(|error| setup(super::transport::cause(&error)))
}

fn certificates(connection: &Connection) -> Result<Vec<Certificate>, RegistryError> {
    let Some(file) = &connection.ca else { return Ok(Vec::new()) };
    let refused = |reason: String| RegistryError::Certificates { file: file.clone(), reason };
    let pem = std::fs::read(file).map_err(|error| refused(error.to_string()))?;
    let certificates =
        Certificate::from_pem_bundle(&pem).map_err(|error| refused(error.to_string()))?;
    if certificates.is_empty() {
        return Err(refused("it holds no certificate in PEM".to_owned()));
    }
    Ok(certificates)
}
