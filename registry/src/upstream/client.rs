//! The HTTP client under an upstream.

use std::sync::Arc;

use reqwest::Client;
use reqwest::redirect::Policy;
use rustls::{ClientConfig, RootCertStore};
use url::Url;

use super::Patience;
use super::ask::innermost;
use super::hosts::AllowedHosts;
use super::resolver::{CheckedResolver, Lookup};

/// Makes the client. For plain HTTP no certificate is read, and none is trusted.
pub(super) fn make(
    base: &Url,
    lookup: Arc<dyn Lookup>,
    allowed: Arc<AllowedHosts>,
    patience: Patience,
) -> Result<Client, String> {
    let builder = Client::builder()
        .user_agent(concat!("skillpkg-registry/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(patience.connect)
        // The connection goes to an address that was checked, and to no other.
        .dns_resolver(Arc::new(CheckedResolver::new(lookup, allowed)))
        // Each hop is checked before it is followed, which is done by hand.
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        // A proxy would resolve names itself, and the environment is whoever's started this.
        .no_proxy();
    let builder = if base.scheme() == "https" {
        // A second call finds the first one's provider in place, which is this one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        builder.tls_certs_merge([])
    } else {
        let provider = rustls::crypto::ring::default_provider();
        let trusts_nobody = ClientConfig::builder_with_provider(provider.into())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        builder.tls_backend_preconfigured(trusts_nobody)
    };
    builder.build().map_err(|error| innermost(&error))
}
