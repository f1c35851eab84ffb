//! The form in which this program writes documents.

use std::sync::LazyLock;

use skillpkg_schema::finding::FindingCount;
use skillpkg_schema::wire::{
    Advisory, DeletedVersion, Document, Effect, SignerKey, VersionEntry, Yank,
};
use skillpkg_schema::{Blake3Digest, Sha256Digest};

/// A text that is another where the same rows give other bytes: the digest of a document with
/// everything that there is in one.
///
/// The log lists the digest of every document's bytes. A program that writes them otherwise than the
/// one before, by a new field, lists them all anew at its first start. Where rows come to be read
/// otherwise, change the number in it.
pub fn form() -> &'static str {
    static FORM: LazyLock<String> = LazyLock::new(|| {
        let bytes = sample().and_then(|sample| serde_json::to_vec(&sample).ok());
        format!("1-{}", Sha256Digest::of(&bytes.unwrap_or_default()))
    });
    &FORM
}

fn sample() -> Option<Document> {
    let (sha256, blake3) = (Sha256Digest::from_bytes([1; 32]), Blake3Digest::from_bytes([2; 32]));
    let text = |text: &str| Some(text.to_owned());
    let version = VersionEntry {
        version: "1.0.0".parse().ok()?,
        address: sha256.address(),
        blake3: blake3.address(),
        archive: sha256.address(),
        size: 1,
        unpacked_size: 2,
        key_ids: vec![sha256.to_string().parse().ok()?],
        published: "p".to_owned(),
        yanked: Some(Yank { reason: "r".to_owned() }),
        log_index: Some(3),
        findings: Some(vec![FindingCount { kind: "k".to_owned(), count: 4 }]),
    };
    let key = SignerKey {
        id: sha256.to_string().parse().ok()?,
        account: "a".to_owned(),
        pem: "p".to_owned(),
        held: true,
        revoked: text("r"),
        revoked_index: Some(5),
        reason: text("r"),
    };
    let deleted = DeletedVersion {
        version: "2.0.0".parse().ok()?,
        address: sha256.address(),
        reason: "r".to_owned(),
        deleted: "d".to_owned(),
    };
    let advisory = Advisory {
        id: "i".to_owned(),
        versions: "*".to_owned(),
        effect: Effect::Warn,
        summary: "s".to_owned(),
        published: "p".to_owned(),
        log_index: Some(6),
    };
    Some(Document {
        name: "scope/name".parse().ok()?,
        description: "d".to_owned(),
        private: true,
        versions: vec![version],
        keys: vec![key],
        deleted: vec![deleted],
        advisories: vec![advisory],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_has_everything_that_a_document_can_have() {
        let json = serde_json::to_value(sample().unwrap()).unwrap();
        assert_eq!(json["versions"][0]["findings"][0]["count"], 4);
        assert_eq!(json["keys"][0]["revoked_index"], 5);
        assert!(form().starts_with("1-"));
    }
}
