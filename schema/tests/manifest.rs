//! The manifest's bytes and addresses, as cases: `vectors/manifest.json`. Their digests were made
//! by another implementation.

use serde::Deserialize;
use skillpkg_schema::Manifest;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    canonical: String,
    sha256: String,
    blake3: String,
}

#[test]
fn the_golden_manifests_have_their_bytes_and_addresses() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("vectors/manifest.json")).unwrap();
    assert!(!cases.is_empty());
    for Case { name, canonical, sha256, blake3 } in cases {
        let manifest = Manifest::from_bytes(canonical.as_bytes())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(String::from_utf8(manifest.to_bytes()).unwrap(), canonical, "{name}");
        let (by_sha256, by_blake3) = manifest.addresses();
        assert_eq!((by_sha256.to_string(), by_blake3.to_string()), (sha256, blake3), "{name}");
        assert_eq!(manifest.address(), by_sha256);
        assert!(by_blake3.matches(canonical.as_bytes()));
    }
}
