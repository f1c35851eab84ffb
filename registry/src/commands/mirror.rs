//! What `serve` takes to mirror another registry.

use std::time::Duration;

use clap::Args;
use skillpkg_registry::data::Data;
use skillpkg_registry::grant::Pattern;
use skillpkg_registry::mirror::{Mirror, Settings};
use skillpkg_registry::upstream::hosts::{AllowedHost, AllowedHosts};
use skillpkg_registry::upstream::{Patience, Upstream};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::log::Hash;
use url::Url;

use super::Failure;

/// Arguments of a mirror.
#[derive(Debug, Args)]
pub(super) struct MirrorArguments {
    /// Mirror the registry at this URL: what it has is fetched, verified and kept
    #[arg(long, value_name = "URL", value_parser = url)]
    mirror: Option<Url>,
    /// A host that upstream or an issuer may be asked at though its address is a private one, also
    /// without TLS; at the usual ports and that of the URL that is configured, unless it says another
    #[arg(long, value_name = "HOST[:PORT]")]
    allow_upstream: Vec<AllowedHost>,
    /// Mirror these names alone: `NAME`, `SCOPE/NAME`, `SCOPE/*`, or `_/*` for all bare names
    #[arg(long, value_name = "NAMES", requires = "mirror", value_parser = pattern)]
    mirror_only: Vec<Pattern>,
    /// How often what is held is compared with upstream
    #[arg(long, value_name = "TIME", requires = "mirror", default_value = "15m", value_parser = time)]
    mirror_every: Duration,
    /// How much of upstream's archives and files is held
    #[arg(long, value_name = "SIZE", requires = "mirror", default_value = "20GiB", value_parser = size)]
    mirror_max_bytes: u64,
    /// Fingerprint of the mirrored registry's log, as `log identity` shows it there; without, the
    /// first contact is believed
    #[arg(long, value_name = "FINGERPRINT", requires = "mirror", value_parser = fingerprint)]
    mirror_log_key: Option<Hash>,
}

impl MirrorArguments {
    /// The hosts that the operator listed.
    pub(super) fn allowed(&self) -> AllowedHosts {
        self.allow_upstream.iter().cloned().collect()
    }

    /// The mirror, where one is asked for; upstream is not asked yet.
    pub(super) async fn open(&self, data: &Data) -> Result<Option<Mirror>, Failure> {
        let Some(base) = &self.mirror else { return Ok(None) };
        let upstream = Upstream::new(base.clone(), self.allowed(), Patience::default())
            .map_err(|error| Failure::Mirror(error.to_string()))?;
        let settings = Settings {
            upstream,
            only: self.mirror_only.clone(),
            every: self.mirror_every,
            max_bytes: self.mirror_max_bytes,
            log_key: self.mirror_log_key,
        };
        let mirror = Mirror::open(data, settings).await;
        mirror.map(Some).map_err(|refusal| Failure::Mirror(refusal.told_in_full()))
    }
}

fn url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("`{}`: {error}", escape(text)))?;
    if url.has_host() {
        Ok(url)
    } else {
        Err("expected the URL of a registry, such as `https://skills.example.org`".to_owned())
    }
}

fn pattern(text: &str) -> Result<Pattern, String> {
    text.parse().map_err(|()| {
        "expected `NAME`, `SCOPE/NAME`, `SCOPE/*`, or `_/*` for all bare names".to_owned()
    })
}

fn fingerprint(text: &str) -> Result<Hash, String> {
    text.parse().map_err(|_| {
        "expected the 64 hexadecimal digits that `skillpkg-registry log identity` shows as \
         `fingerprint`"
            .to_owned()
    })
}

/// A number and one of these units.
fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

fn time(text: &str) -> Result<Duration, String> {
    let seconds = with_unit(text, &[("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)]);
    seconds
        .filter(|seconds| (1..=30 * 86_400).contains(seconds))
        .map(Duration::from_secs)
        .ok_or_else(|| {
            "expected a time up to 30 days, such as `30s`, `15m`, `6h` or `1d`".to_owned()
        })
}

fn size(text: &str) -> Result<u64, String> {
    let units = [("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];
    with_unit(text, &units)
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "expected a size such as `500MiB`, `20GiB` or `1TiB`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_numbers_with_their_units() {
        assert_eq!(time("15m"), Ok(Duration::from_mins(15)));
        assert_eq!(time("1s"), Ok(Duration::from_secs(1)));
        assert_eq!(size("20GiB"), Ok(20 << 30));
        for text in ["", "15", "m", "0s", "31d", "-1m", "1.5h", "15 m", "99999999999999999999d"] {
            assert!(time(text).is_err(), "{text}");
        }
        for text in ["", "20", "GiB", "0MiB", "20GB", "99999999TiB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_upstream_is_the_url_of_a_host() {
        assert!(url("https://skills.example.org/base").is_ok());
        for text in ["skills.example.org", "file:///srv", "mailto:ana@example.org", "https://"] {
            assert!(url(text).is_err(), "{text}");
        }
    }
}
