//! `GET /v1/manifests/{address}` and its signatures.

use skillpkg_schema::Blake3Digest;
use skillpkg_schema::signature::{Envelope, verify_release};

use crate::support::TestRegistry;

#[tokio::test]
async fn a_manifest_is_answered_in_its_canonical_bytes_by_either_address() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let packed = registry.published(&ana, "waitlist", "1.0.0").await;
    let bytes = packed.manifest.to_bytes();
    for address in [packed.address(), Blake3Digest::of(&bytes).address()] {
        let response = registry.get(&format!("/v1/manifests/{address}"), None).await;
        assert_eq!(response.headers()["content-type"], "application/json");
        assert_eq!(response.bytes().await.unwrap(), bytes);
        let response = registry.get(&format!("/v1/manifests/{address}/signatures"), None).await;
        let envelope = Envelope::from_bytes(&response.bytes().await.unwrap()).unwrap();
        assert_eq!(envelope, packed.envelope);
        let (name, version) = (&packed.manifest.name, &packed.manifest.version);
        let keys = [ana.key.public()];
        assert!(verify_release(&envelope, name, version, &packed.address(), &keys).is_ok());
    }
}
