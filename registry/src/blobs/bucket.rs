//! The client of a bucket.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
use object_store::client::{HttpClient, HttpConnector};
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use reqwest::redirect::Policy;
use tokio::sync::Semaphore;

use super::address::BucketAddress;
use super::error::{BlobsError, BucketTrouble};

/// The longest that making a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How often a request that failed is made again.
const RETRIES: usize = 3;
/// Pieces of content in memory at once on their way to the bucket.
const PIECES: usize = 8;
/// The region that is meant where none is said: what most services that are not Amazon's take.
const REGION: &str = "us-east-1";

/// A bucket, or what is beneath a prefix of it.
#[derive(Clone)]
pub(super) struct Bucket {
    pub(super) store: AmazonS3,
    pub(super) address: Arc<BucketAddress>,
    pub(super) pieces: Arc<Semaphore>,
    has_keys: bool,
}

/// Tells nothing of how it is reached.
impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Bucket").field(&self.address).finish()
    }
}

impl Bucket {
    /// Makes the client; asks nothing of the service. `variable` answers with what the environment
    /// says.
    pub(super) fn open(
        address: BucketAddress,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, BlobsError> {
        let connector = Connector(client(&address, &variable)?);
        let said = |name: &str| variable(name).filter(|value| !value.is_empty());
        let mut builder = AmazonS3Builder::new();
        for (name, key) in VARIABLES {
            if let Some(value) = said(name) {
                builder = builder.with_config(key, value);
            }
        }
        if let Some(endpoint) = &address.endpoint {
            builder = builder.with_endpoint(endpoint_of(endpoint, &address)).with_allow_http(true);
        }
        let (patience, backoff) = (address.patience, backoff());
        let store = builder
            .with_bucket_name(&address.bucket)
            .with_region(address.region.as_deref().unwrap_or(REGION))
            .with_virtual_hosted_style_request(!address.is_path_style())
            .with_conditional_put(S3ConditionalPut::ETagMatch)
            // Not every service deletes many at once, and none must allow it.
            .with_disable_bulk_delete(true)
            .with_retry(RetryConfig { backoff, max_retries: RETRIES, retry_timeout: patience })
            .with_http_connector(connector)
            .build()
            .map_err(|error| {
                let trouble = match &error {
                    object_store::Error::Generic { source, .. }
                        if source.to_string().contains("Missing") =>
                    {
                        BucketTrouble::NoCredentials
                    }
                    error => BucketTrouble::of(error),
                };
                BlobsError::Bucket { bucket: address.to_string(), trouble }
            })?;
        let has_keys = said("AWS_ACCESS_KEY_ID").is_some();
        let (address, pieces) = (Arc::new(address), Arc::new(Semaphore::new(PIECES)));
        Ok(Self { store, address, pieces, has_keys })
    }

    /// The key in the bucket of what is named so beneath the prefix.
    pub(super) fn full(&self, key: &Path) -> Path {
        Path::from(self.address.prefix.as_str()).parts().chain(key.parts()).collect()
    }

    pub(super) fn failed(&self, error: &object_store::Error) -> BlobsError {
        if !self.has_keys && is_of_credentials(error) {
            return self.troubled(BucketTrouble::NoCredentials);
        }
        self.troubled(BucketTrouble::of(error))
    }

    pub(super) fn troubled(&self, trouble: BucketTrouble) -> BlobsError {
        BlobsError::Bucket { bucket: self.address.to_string(), trouble }
    }
}

/// What of the environment goes to the client as it stands.
const VARIABLES: [(&str, AmazonS3ConfigKey); 10] = [
    ("AWS_ACCESS_KEY_ID", AmazonS3ConfigKey::AccessKeyId),
    ("AWS_SECRET_ACCESS_KEY", AmazonS3ConfigKey::SecretAccessKey),
    ("AWS_SESSION_TOKEN", AmazonS3ConfigKey::Token),
    ("AWS_WEB_IDENTITY_TOKEN_FILE", AmazonS3ConfigKey::WebIdentityTokenFile),
    ("AWS_ROLE_ARN", AmazonS3ConfigKey::RoleArn),
    ("AWS_ROLE_SESSION_NAME", AmazonS3ConfigKey::RoleSessionName),
    ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", AmazonS3ConfigKey::ContainerCredentialsRelativeUri),
    ("AWS_CONTAINER_CREDENTIALS_FULL_URI", AmazonS3ConfigKey::ContainerCredentialsFullUri),
    ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", AmazonS3ConfigKey::ContainerAuthorizationTokenFile),
    ("AWS_METADATA_ENDPOINT", AmazonS3ConfigKey::MetadataEndpoint),
];

fn backoff() -> BackoffConfig {
    BackoffConfig {
        init_backoff: Duration::from_millis(100),
        max_backoff: Duration::from_secs(2),
        base: 2.0,
    }
}

/// Whether asking for credentials is what failed: of the machine's own service, or of the role's.
fn is_of_credentials(error: &object_store::Error) -> bool {
    let told = format!("{error:?}");
    ["latest/meta-data", "latest/api/token", "AssumeRoleWithWebIdentity"]
        .iter()
        .any(|path| told.contains(path))
}

/// Where the bucket is: in the host of the endpoint, unless its place is the path.
fn endpoint_of(endpoint: &url::Url, address: &BucketAddress) -> String {
    let text = endpoint.as_str().trim_end_matches('/');
    if address.is_path_style() {
        return text.to_owned();
    }
    text.replacen("://", &format!("://{}.", address.bucket), 1)
}

/// The HTTP client: the one that everything else of the program has, with its bounds on time.
fn client(
    address: &BucketAddress,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<reqwest::Client, BlobsError> {
    // A second call finds the first one's provider in place, which is this one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut certificates = Vec::new();
    if let Some(path) = variable("AWS_CA_BUNDLE").filter(|path| !path.is_empty()) {
        let refused = |reason: String| BlobsError::Certificates { path: path.clone(), reason };
        let pem = std::fs::read(&path).map_err(|error| refused(error.to_string()))?;
        certificates = reqwest::Certificate::from_pem_bundle(&pem)
            .map_err(|error| refused(error.to_string()))?;
        if certificates.is_empty() {
            return Err(refused("it holds none".to_owned()));
        }
    }
    reqwest::Client::builder()
        .user_agent(concat!("skillpkg-registry/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT.min(address.patience))
        // Of one step, not of the whole: content goes as fast as whoever asked for it reads.
        .read_timeout(address.patience)
        // What is signed is for one host: a redirect tells of a wrong region.
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        // As with a mirror's upstream: the environment's proxy is whoever's started this.
        .no_proxy()
        .tls_certs_merge(certificates)
        .build()
        .map_err(|error| BlobsError::Client(error.to_string()))
}

/// Hands the client to the object store.
#[derive(Debug)]
struct Connector(reqwest::Client);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.0.clone()))
    }
}
