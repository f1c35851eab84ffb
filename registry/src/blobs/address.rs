//! Where objects lie in S3, as an operator says it.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use url::{Host, Url};

/// The longest that S3 may take for one step, unless the address says otherwise.
const PATIENCE: Duration = Duration::from_secs(15);
/// The bounds of what the address may say.
const SECONDS: std::ops::RangeInclusive<u64> = 1..=300;

/// A bucket: `s3://BUCKET[/PREFIX][?endpoint=…&region=…]`.
#[derive(Clone, PartialEq, Eq)]
pub struct BucketAddress {
    /// The bucket.
    pub bucket: String,
    /// What all keys start with: parts between slashes, or nothing.
    pub prefix: String,
    /// `endpoint`: where the service is; Amazon's where this is absent.
    pub endpoint: Option<Url>,
    /// `region`.
    pub region: Option<String>,
    /// `path-style`: whether the bucket stands in the path rather than in the host.
    pub path_style: Option<bool>,
    /// `conditional-put`: whether the service refuses a put where something is there, when asked to.
    pub conditional_put: bool,
    /// `allow-http`: whether an endpoint on another machine may be plain HTTP.
    pub allow_http: bool,
    /// `timeout`: the longest that the service may take for one step.
    pub patience: Duration,
}

/// Why an address of a bucket is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BucketAddressError {
    /// The scheme.
    #[error("`--blobs` takes `s3://BUCKET` or `s3://BUCKET/PREFIX`, and no `{0}:`")]
    Scheme(String),
    /// A secret where everybody sees it.
    #[error(
        "`--blobs` holds credentials: command lines are seen by others; set `AWS_ACCESS_KEY_ID` and \
         `AWS_SECRET_ACCESS_KEY` in the environment instead"
    )]
    Credentials,
    /// The bucket's name.
    #[error(
        "`{0}` is no name of a bucket: 3 to 63 lowercase letters, digits, `-` and `.`; an address of \
         a service goes into `?endpoint=`"
    )]
    Bucket(String),
    /// The prefix.
    #[error(
        "`{0}` is no prefix: letters, digits, `-`, `_` and `.` between single slashes, no part `.` or `..`"
    )]
    Prefix(String),
    /// A parameter that is none.
    #[error(
        "`{0}` is no parameter of `--blobs`: there are `endpoint`, `region`, `path-style`, \
         `conditional-put`, `allow-http` and `timeout`"
    )]
    Parameter(String),
    /// A parameter that is said twice.
    #[error("`{0}` is said twice")]
    Twice(String),
    /// What a parameter says.
    #[error("`{name}` of `--blobs` takes {takes}")]
    Value {
        /// The parameter.
        name: &'static str,
        /// What it takes.
        takes: &'static str,
    },
    /// Plain HTTP to another machine.
    #[error(
        "the endpoint `{0}` is plain HTTP to another machine, which may read and change all that is \
         sent: use `https://`, or add `allow-http=true` where the network between is trusted"
    )]
    PlainHttp(String),
}

impl BucketAddress {
    /// Reads a URL; `variable` answers with the environment variables that stand in for parameters.
    pub fn read(
        url: &Url,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, BucketAddressError> {
        if url.scheme() != "s3" {
            return Err(BucketAddressError::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BucketAddressError::Credentials);
        }
        let bucket = url.host_str().unwrap_or_default().to_owned();
        if !is_bucket(&bucket) || url.port().is_some() || url.fragment().is_some() {
            return Err(BucketAddressError::Bucket(bucket));
        }
        let path = url.path();
        let prefix = path.strip_prefix('/').unwrap_or(path);
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix).to_owned();
        if !prefix.is_empty() && !prefix.split('/').all(is_part) {
            return Err(BucketAddressError::Prefix(prefix));
        }
        let mut address = Self {
            bucket,
            prefix,
            endpoint: None,
            region: None,
            path_style: None,
            conditional_put: true,
            allow_http: false,
            patience: PATIENCE,
        };
        address.take_parameters(url)?;
        let said = |names: &[&str]| {
            names.iter().find_map(|name| variable(name).filter(|value| !value.is_empty()))
        };
        if address.endpoint.is_none()
            && let Some(endpoint) = said(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"])
        {
            address.endpoint = Some(read_endpoint(&endpoint)?);
        }
        if address.region.is_none() {
            address.region = said(&["AWS_REGION", "AWS_DEFAULT_REGION"]);
        }
        address.allow_http |= said(&["AWS_ALLOW_HTTP"]).is_some_and(|value| value == "true");
        match &address.endpoint {
            Some(endpoint)
                if endpoint.scheme() == "http"
                    && !address.allow_http
                    && !is_this_machine(endpoint) =>
            {
                Err(BucketAddressError::PlainHttp(endpoint.origin().ascii_serialization()))
            }
            _ => Ok(address),
        }
    }

    fn take_parameters(&mut self, url: &Url) -> Result<(), BucketAddressError> {
        let mut seen: Vec<String> = Vec::new();
        for (name, value) in url.query_pairs() {
            if seen.contains(&name.to_string()) {
                return Err(BucketAddressError::Twice(name.into_owned()));
            }
            seen.push(name.to_string());
            match &*name {
                "endpoint" => self.endpoint = Some(read_endpoint(&value)?),
                "region" if !value.is_empty() && value.bytes().all(is_of_region) => {
                    self.region = Some(value.into_owned());
                }
                "region" => {
                    let takes = "the name of a region, such as `eu-central-1`";
                    return Err(BucketAddressError::Value { name: "region", takes });
                }
                "path-style" => self.path_style = Some(read_flag("path-style", &value)?),
                "conditional-put" => {
                    self.conditional_put = read_flag("conditional-put", &value)?;
                }
                "allow-http" => self.allow_http = read_flag("allow-http", &value)?,
                "timeout" => {
                    let seconds = value.parse().ok().filter(|seconds| SECONDS.contains(seconds));
                    let seconds = seconds.ok_or(BucketAddressError::Value {
                        name: "timeout",
                        takes: "seconds, from 1 to 300",
                    })?;
                    self.patience = Duration::from_secs(seconds);
                }
                _ => return Err(BucketAddressError::Parameter(name.into_owned())),
            }
        }
        Ok(())
    }

    /// Whether the bucket stands in the path: as most services but Amazon's expect it, and as
    /// certificates need it where the name of a bucket has a dot.
    pub fn is_path_style(&self) -> bool {
        self.path_style.unwrap_or(self.endpoint.is_some() || self.bucket.contains('.'))
    }
}

/// As an operator wrote it, without parameters.
impl fmt::Display for BucketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}", self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

impl fmt::Debug for BucketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn read_flag(name: &'static str, value: &str) -> Result<bool, BucketAddressError> {
    match value {
        "true" | "on" => Ok(true),
        "false" | "off" => Ok(false),
        _ => Err(BucketAddressError::Value { name, takes: "`true` or `false`" }),
    }
}

fn read_endpoint(text: &str) -> Result<Url, BucketAddressError> {
    let takes = "an address such as `https://minio.example:9000`, without a path and credentials";
    let refused = BucketAddressError::Value { name: "endpoint", takes };
    let url: Url = text.parse().map_err(|_| refused.clone())?;
    let is_bare = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none();
    if is_bare { Ok(url) } else { Err(refused) }
}

fn is_this_machine(endpoint: &Url) -> bool {
    match endpoint.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
        None => false,
    }
}

fn is_bucket(name: &str) -> bool {
    let is_inner = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.'
    };
    let is_outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    (3..=63).contains(&bytes.len())
        && bytes.iter().copied().all(is_inner)
        && is_outer(bytes.first())
        && is_outer(bytes.last())
        && !name.contains("..")
}

fn is_part(part: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !part.is_empty() && part.bytes().all(is_plain) && part != "." && part != ".."
}

fn is_of_region(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<BucketAddress, BucketAddressError> {
        BucketAddress::read(&text.parse().unwrap(), |_| None)
    }

    #[test]
    fn an_address_is_read_with_all_its_parameters() {
        let plain = read("s3://skills").unwrap();
        assert_eq!((plain.bucket.as_str(), plain.prefix.as_str()), ("skills", ""));
        assert!(!plain.is_path_style() && plain.conditional_put && plain.endpoint.is_none());
        let text = "s3://my.skills/team/a/?endpoint=https://minio.example:9000&region=eu-central-1\
                    &path-style=false&conditional-put=off&timeout=3";
        let full = read(text).unwrap();
        assert_eq!(full.to_string(), "s3://my.skills/team/a");
        assert_eq!(full.endpoint.as_ref().unwrap().as_str(), "https://minio.example:9000/");
        assert_eq!(full.region.as_deref(), Some("eu-central-1"));
        assert!(!full.is_path_style() && !full.conditional_put);
        assert_eq!(full.patience, Duration::from_secs(3));
        assert!(read("s3://skills?endpoint=http://[::1]:9000").unwrap().is_path_style());
    }

    #[test]
    fn the_environment_stands_in_for_parameters_and_not_before_them() {
        let variable = |name: &str| match name {
            "AWS_ENDPOINT_URL" => Some("https://general.example".to_owned()),
            "AWS_ENDPOINT_URL_S3" => Some("https://objects.example".to_owned()),
            "AWS_REGION" => Some("garage".to_owned()),
            _ => None,
        };
        let address = BucketAddress::read(&"s3://skills".parse().unwrap(), variable).unwrap();
        assert_eq!(address.endpoint.unwrap().as_str(), "https://objects.example/");
        assert_eq!(address.region.as_deref(), Some("garage"));
        let url = "s3://skills?endpoint=https://own.example&region=here".parse().unwrap();
        let address = BucketAddress::read(&url, variable).unwrap();
        assert_eq!(address.endpoint.unwrap().as_str(), "https://own.example/");
        assert_eq!(address.region.as_deref(), Some("here"));
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_to_do() {
        for (text, told) in [
            ("file:///srv/objects", "no `file:`"),
            ("s3://key:secret@skills", "AWS_SECRET_ACCESS_KEY"),
            ("s3://Skills", "is no name of a bucket"),
            ("s3://minio.example:9000/skills", "`?endpoint=`"),
            ("s3://ab", "is no name of a bucket"),
            ("s3://skills/a//b", "is no prefix"),
            ("s3://skills/a%2fb", "is no prefix"),
            ("s3://skills?key=secret", "`key` is no parameter"),
            ("s3://skills?region=a&region=b", "said twice"),
            ("s3://skills?path-style=1", "`true` or `false`"),
            ("s3://skills?timeout=0", "from 1 to 300"),
            ("s3://skills?endpoint=minio.example", "such as `https://"),
            ("s3://skills?endpoint=https://a:b@minio.example", "such as `https://"),
            ("s3://skills?endpoint=http://minio.example", "allow-http=true"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
        for text in [
            "s3://skills?endpoint=http://127.0.0.1:9000",
            "s3://skills?endpoint=http://localhost:9000",
            "s3://skills?endpoint=http://minio.example&allow-http=true",
        ] {
            assert!(read(text).is_ok(), "{text}");
        }
    }
}
