//! The log's formats as cases: `vectors/log.json`, made by `other_log.py`, another implementation
//! of the same texts. The notes and roots below are from Go's `sumdb/note` and from RFC 6962's
//! reference code.

#![expect(clippy::unwrap_used, reason = "a vector that is not read is a failed test")]

mod round_trip;

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::log::{
    Bucket, Checkpoint, CheckpointError, Entries, Hash, HeadsTree, IdentityChain, Note, NoteKey,
    NoteSigner, Record, Sealed, SignatureKind, Subject, TlogProof, bucket_of, empty_heads,
    head_key, leaf_hash, root_of, sign_document, verify_consistency, verify_document,
    verify_inclusion,
};
use skillpkg_schema::signature::{Envelope, SigningKey, sign_release};
use skillpkg_schema::wire::{Hashes, ProvenBucket};

fn vectors() -> Value {
    serde_json::from_str(include_str!("vectors/log.json")).unwrap()
}

fn vector<T: DeserializeOwned>(pointer: &str) -> T {
    serde_json::from_value(vectors().pointer(pointer).unwrap().clone()).unwrap()
}

fn envelope(value: &Value) -> Envelope {
    Envelope::from_bytes(&serde_json_canonicalizer::to_vec(value).unwrap()).unwrap()
}

#[test]
fn a_note_of_another_implementation_verifies() {
    let key: NoteKey =
        "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW".parse().unwrap();
    let note = "If you think cryptography is the answer to your problem,\n\
        then you don't know what your problem is.\n\n\
        \u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
    let read = Note::from_bytes(note.as_bytes()).unwrap();
    assert_eq!(read.verified_by(std::slice::from_ref(&key)).unwrap().len(), 1);
    assert_eq!(read.to_string(), note);
    assert_eq!(
        key.to_string(),
        "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    );
}

#[derive(Deserialize)]
struct NoteCase {
    name: String,
    note: String,
    keys: Vec<NoteKey>,
    verified: Option<Vec<(String, Option<u64>)>>,
}

#[test]
fn notes_verify_under_the_keys_that_signed_them_or_are_refused() {
    for case in vector::<Vec<NoteCase>>("/notes") {
        let verified = Note::from_bytes(case.note.as_bytes())
            .and_then(|note| note.verified_by(&case.keys))
            .map(|all| all.into_iter().map(|one| (one.key.name().to_owned(), one.time)).collect());
        assert_eq!(verified.ok(), case.verified, "{}", case.name);
    }
}

#[test]
fn keys_are_read_as_they_are_written_and_no_other_way() {
    let key = vector::<String>("/keys/0");
    assert_eq!(key.parse::<NoteKey>().unwrap().to_string(), key);
    let (name, rest) = key.split_once('+').unwrap();
    let (id, bytes) = rest.split_once('+').unwrap();
    for wrong in [
        String::new(),
        "+".to_owned(),
        format!("{name}+{id}"),
        format!("{name}+00000000+{bytes}"),
        format!("{name}+{}+{bytes}", id.to_uppercase()),
        format!("other+{id}+{bytes}"),
        format!("{name}+{id}+{}", &bytes[1..]),
        format!(" {key}"),
        format!("{key}\n"),
        // ECDSA, and a key of small order.
        "a+00000000+AgECAw==".to_owned(),
        format!("a+fd5d4bc2+AQEA{}", "A".repeat(41)),
    ] {
        assert!(wrong.parse::<NoteKey>().is_err(), "{wrong:?}");
    }
}

#[test]
fn texts_of_checkpoints_are_taken_or_refused() {
    for text in vector::<Vec<String>>("/texts/taken") {
        let read = Checkpoint::from_text(&text).unwrap();
        assert!(text.starts_with(&read.text()), "{text:?}");
    }
    for text in vector::<Vec<String>>("/texts/refused") {
        assert!(Checkpoint::from_text(&text).is_err(), "{text:?}");
    }
}

#[derive(Deserialize)]
struct Tree {
    size: u64,
    root: Hash,
    inclusion: Vec<Inclusion>,
    consistency: Vec<Consistency>,
}

#[derive(Deserialize)]
struct Inclusion {
    index: u64,
    proof: Vec<Hash>,
}

#[derive(Deserialize)]
struct Consistency {
    from: u64,
    proof: Vec<Hash>,
}

#[test]
fn trees_and_their_proofs_are_those_of_another_implementation() {
    let leaf = |at: u64| leaf_hash(at.to_string().as_bytes());
    let root = |size: u64| root_of(&(0..size).map(leaf).collect::<Vec<_>>());
    for tree in vector::<Vec<Tree>>("/trees") {
        assert_eq!(root(tree.size), tree.root);
        for one in tree.inclusion {
            verify_inclusion(&leaf(one.index), one.index, tree.size, &tree.root, &one.proof)
                .unwrap();
        }
        for one in tree.consistency {
            let before = root(one.from);
            verify_consistency(one.from, &before, tree.size, &tree.root, &one.proof).unwrap();
        }
    }
}

#[test]
fn roots_are_those_of_the_reference_code() {
    let inputs: [&[u8]; 8] = [
        b"",
        b"\x00",
        b"\x10",
        b"\x20\x21",
        b"\x30\x31",
        b"\x40\x41\x42\x43",
        b"\x50\x51\x52\x53\x54\x55\x56\x57",
        b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
    ];
    let leaves: Vec<Hash> = inputs.iter().map(|input| leaf_hash(input)).collect();
    for (size, root) in [
        (0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
        (2, "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"),
        (3, "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"),
        (4, "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"),
        (5, "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"),
        (6, "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"),
        (7, "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"),
        (8, "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"),
    ] {
        assert_eq!(root_of(&leaves[..size]).to_string(), root, "{size}");
    }
}

#[derive(Deserialize)]
struct RecordCase {
    record: String,
    leaf: Hash,
    salt: skillpkg_schema::log::Salt,
    blinded_leaf: Hash,
}

#[test]
fn records_are_read_as_they_are_written_and_no_other_way() {
    for case in vector::<Vec<RecordCase>>("/records") {
        let record = Record::from_bytes(case.record.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(record.to_bytes()).unwrap(), case.record);
        assert!(case.record.contains(&format!("\"kind\":\"{}\"", record.subject.kind())));
        let open = Sealed { record, salt: None };
        assert_eq!(open.leaf_hash(), case.leaf, "{}", case.record);
        let sealed = Sealed { salt: Some(case.salt), ..open };
        assert_eq!(sealed.leaf_hash(), case.blinded_leaf, "{}", case.record);
        let json = serde_json::to_string(&sealed).unwrap();
        assert_eq!(serde_json::from_str::<Sealed>(&json).unwrap(), sealed);
        // What hides it is said nowhere but in its own field.
        assert!(!format!("{sealed:?}").contains(&case.salt.to_string()));
    }
    for record in vector::<Vec<String>>("/refused_records") {
        let start: String = record.chars().take(300).collect();
        assert!(Record::from_bytes(record.as_bytes()).is_err(), "{start:?}");
    }
}

#[test]
fn the_heads_tree_is_that_of_another_implementation() {
    let documents: BTreeMap<QualifiedName, String> = vector("/heads/documents");
    let root: Hash = vector("/heads/root");
    let mut buckets: BTreeMap<u16, Bucket> = BTreeMap::new();
    for (name, document) in &documents {
        let key = head_key(name);
        let bucket = buckets.entry(bucket_of(&key)).or_default();
        bucket.set(key, Some(Hash::of(b"an earlier one")));
        bucket.set(key, Some(Hash::of(document.as_bytes())));
    }
    assert!(buckets.len() < documents.len(), "two share a bucket");
    let leaves = buckets.iter().map(|(number, bucket)| (*number, bucket.leaf_hash()));
    let whole = HeadsTree::new(leaves.clone());
    assert_eq!(whole.root(), root);
    let mut grown = HeadsTree::new([]);
    assert_eq!(grown.root(), empty_heads());
    leaves.for_each(|(number, hash)| grown.set(number, hash));
    assert_eq!(grown.root(), root);

    for proven in vector::<Vec<ProvenBucket>>("/heads/buckets") {
        assert_eq!(whole.proof(proven.bucket), proven.proof.0);
        let bytes: Vec<u8> = proven.heads.0.iter().flat_map(|hash| *hash.as_bytes()).collect();
        let bucket = Bucket::from_bytes(proven.bucket, &bytes).unwrap();
        bucket.verify(proven.bucket, &root, &proven.proof.0).unwrap();
        for (name, document) in &documents {
            let key = head_key(name);
            let listed = bucket.get(&key);
            let digest = Hash::of(document.as_bytes());
            assert_eq!(listed, Some(&digest).filter(|_| bucket_of(&key) == proven.bucket));
        }
        let mut less = bucket.clone();
        if let Some(key) = proven.heads.0.first() {
            assert!(bucket.verify(proven.bucket ^ 1, &root, &proven.proof.0).is_err());
            less.set(*key, None);
            assert!(less.verify(proven.bucket, &root, &proven.proof.0).is_err());
            assert!(Bucket::from_bytes(proven.bucket ^ 1, &bytes).is_err(), "of another bucket");
            assert!(Bucket::from_bytes(proven.bucket, &bytes[1..]).is_err());
            assert!(Bucket::from_bytes(proven.bucket, &[&bytes[..], &bytes[..]].concat()).is_err());
        }
    }
}

#[derive(Deserialize)]
struct ChainCase {
    name: String,
    chain: Vec<Value>,
    taken: bool,
}

#[test]
fn identities_follow_each_other_or_are_refused() {
    let cases: Vec<ChainCase> = vector("/identities/cases");
    let mut longest: Option<IdentityChain> = None;
    for case in cases {
        let chain: Vec<Envelope> = case.chain.iter().map(envelope).collect();
        let verified = IdentityChain::verify(chain.clone());
        assert_eq!(verified.is_ok(), case.taken, "{}: {verified:?}", case.name);
        let Ok(verified) = verified else { continue };
        assert_eq!(verified.fingerprint(), vector::<Hash>("/identities/fingerprint"));
        if let Some(before) = &longest {
            assert_eq!(before.continued(chain).unwrap(), verified);
            // What is shorter takes nothing back.
            assert_eq!(verified.continued(before.envelopes().to_vec()).unwrap(), verified);
        }
        longest = Some(verified);
    }
    let known = longest.unwrap();
    assert_eq!(known.keys_of_all().len(), 3);
    // Another log under the same origin.
    let other = SigningKey::generate().unwrap();
    let signer = NoteSigner::new(known.origin(), SignatureKind::Ed25519, other.clone()).unwrap();
    let rotation =
        skillpkg_schema::log::RotationKeys { keys: vec![other.public().to_pem()], threshold: 1 };
    let keys = vec![signer.key().clone()];
    let identity =
        skillpkg_schema::log::LogIdentity::new(known.origin(), 1, keys, rotation).unwrap();
    let chain = vec![skillpkg_schema::log::sign_identity(&identity, &[other])];
    assert!(known.continued(chain).is_err());
}

#[derive(Deserialize)]
struct ProofCase {
    index: u64,
    leaf: Hash,
    record: String,
    proof: String,
}

#[test]
fn proofs_in_files_are_read_as_they_are_written_and_no_other_way() {
    let keys: Vec<NoteKey> = vector("/keys");
    let (origin, time): (String, u64) = (vector("/origin"), vector("/time"));
    for case in vector::<Vec<ProofCase>>("/proofs/taken") {
        let proof = TlogProof::from_bytes(case.proof.as_bytes()).unwrap();
        assert_eq!(proof.to_string(), case.proof);
        assert_eq!(proof.index, case.index);
        let sealed: Sealed = serde_json::from_slice(proof.extra.as_deref().unwrap()).unwrap();
        assert_eq!(sealed.record.to_bytes(), case.record.as_bytes());
        assert_eq!(sealed.leaf_hash(), case.leaf);
        let verified =
            Checkpoint::verify(proof.checkpoint.as_bytes(), &origin, &keys, &[]).unwrap();
        assert_eq!(verified.time, Some(time));
        let Checkpoint { size, root, .. } = verified.checkpoint;
        verify_inclusion(&case.leaf, proof.index, size, &root, &proof.hashes).unwrap();
    }
    let plain = vector::<String>("/proofs/without_extra");
    let read = TlogProof::from_bytes(plain.as_bytes()).unwrap();
    assert_eq!((read.extra.as_ref(), read.to_string()), (None, plain));
    for proof in vector::<Vec<String>>("/proofs/refused") {
        assert!(TlogProof::from_bytes(proof.as_bytes()).is_err(), "{proof:?}");
    }
}

#[test]
fn a_note_with_a_control_character_is_none_though_its_key_signed_it() {
    let signing = SigningKey::generate().unwrap();
    let key = NoteKey::new("log.test", SignatureKind::Ed25519, signing.public()).unwrap();
    let root = STANDARD.encode([7; 32]);
    for (text, is_note) in [
        (format!("log.test\n1\n{root}\n"), true),
        (format!("log.test\r\n1\r\n{root}\r\n"), false),
        (format!("log.test\n1\n{root}\nmore\u{1b}[2J\n"), false),
        (format!("log.test\n1\n{root}\nmore\0\n"), false),
    ] {
        let signature = [&key.id().to_be_bytes()[..], &signing.sign(text.as_bytes())].concat();
        let note = format!("{text}\n\u{2014} log.test {}\n", STANDARD.encode(signature));
        let read = Note::from_bytes(note.as_bytes());
        assert_eq!(read.is_ok(), is_note, "{text:?}");
        let verified = read.map(|note| note.verified_by(std::slice::from_ref(&key)).unwrap().len());
        assert_eq!(verified.ok(), is_note.then_some(1), "{text:?}");
    }
}

#[test]
fn a_checkpoint_is_believed_of_its_own_log_alone() {
    let keys: Vec<NoteKey> = vector("/keys");
    let origin: String = vector("/origin");
    let note = vector::<String>("/notes/1/note");
    let verify = |note: &str, origin: &str, keys: &[NoteKey]| {
        Checkpoint::verify(note.as_bytes(), origin, keys, &[])
    };
    assert!(verify(&note, &origin, &keys).is_ok());
    let other = verify(&note, "other.example", &keys);
    assert!(matches!(other, Err(CheckpointError::OtherOrigin { .. })), "{other:?}");
    // That a log's cosigner signed is not that the log did.
    let cosigner = verify(&note, &origin, &keys[1..]);
    assert!(matches!(cosigner, Err(CheckpointError::NotSigned(_))), "{cosigner:?}");
    let long = format!("{note}{}", "x".repeat(20_000));
    assert_eq!(verify(&long, &origin, &keys), Err(CheckpointError::TooLong));
    let witness: NoteKey = vector("/witness");
    let verified = Checkpoint::verify(note.as_bytes(), &origin, &keys, &[witness]).unwrap();
    assert_eq!(verified.witnesses.len(), 1);
}

#[test]
fn statements_hold_for_one_document_at_one_size() {
    let keys: Vec<NoteKey> = vector("/keys");
    let (origin, name): (String, QualifiedName) =
        (vector("/origin"), "acme/secret".parse().unwrap());
    for case in vector::<Vec<Value>>("/statements/taken") {
        let document: Option<Hash> = serde_json::from_value(case["document"].clone()).unwrap();
        let read = verify_document(&envelope(&case["envelope"]), &origin, 9, &name, &keys);
        assert_eq!(read, Ok(document));
    }
    for refused in vector::<Vec<Value>>("/statements/refused") {
        let read = verify_document(&envelope(&refused), &origin, 9, &name, &keys);
        assert!(read.is_err(), "{read:?}");
    }
}

#[test]
fn no_signature_stands_in_for_one_of_another_kind() {
    let key = SigningKey::generate().unwrap();
    let (origin, name) = ("log.example", "waitlist".parse::<QualifiedName>().unwrap());
    let log = NoteSigner::new(origin, SignatureKind::Ed25519, key.clone()).unwrap();
    let cosigner = NoteSigner::new(origin, SignatureKind::Cosignature, key.clone()).unwrap();
    let digest = Hash::of(b"x");
    let checkpoint = Checkpoint { origin: origin.to_owned(), size: 1, root: digest };
    let note = Note::unsigned(checkpoint.text()).unwrap();

    // The same bytes of a signature under the id of the other kind.
    let only = |note: &Note| note.signatures()[0].clone();
    let (plain, timed) =
        (only(&note.clone().signed(&log, 7)), only(&note.clone().signed(&cosigner, 7)));
    let mut as_timed = timed.clone();
    as_timed.bytes = [7_u64.to_be_bytes().as_slice(), &plain.bytes].concat();
    assert!(note.clone().with(as_timed).verified_by(&[cosigner.key().clone()]).is_err());
    let mut as_plain = plain.clone();
    as_plain.bytes = timed.bytes[8..].to_vec();
    assert!(note.clone().with(as_plain).verified_by(&[log.key().clone()]).is_err());

    // A release, a statement and a note of one key.
    let version = "1.0.0".parse().unwrap();
    let release = sign_release(&name, &version, digest, std::slice::from_ref(&key));
    assert!(verify_document(&release, origin, 1, &name, &[log.key().clone()]).is_err());
    assert!(IdentityChain::verify(vec![release.clone()]).is_err());
    let statement = sign_document(origin, 1, &name, Some(digest), &key);
    assert!(
        skillpkg_schema::signature::verify_release(
            &statement,
            &name,
            &version,
            &digest.address(),
            &[key.public()]
        )
        .is_err()
    );
    let mut release_in_note = plain;
    let value = serde_json::to_value(&release).unwrap();
    let signature = value["signatures"][0]["sig"].as_str().unwrap().to_owned();
    let decode = |text: &str| text.parse::<Hashes>();
    assert!(decode(&signature).is_ok(), "64 bytes are two hashes");
    let bytes: Vec<u8> =
        decode(&signature).unwrap().0.iter().flat_map(|hash| *hash.as_bytes()).collect();
    release_in_note.bytes = bytes;
    assert!(note.with(release_in_note).verified_by(&[log.key().clone()]).is_err());
}

fn subject() -> impl Strategy<Value = Subject> {
    let text = "\\PC{0,40}";
    prop_oneof![
        (text, proptest::option::of(text)).prop_map(|(reason, by)| Subject::Yank {
            name: "acme/waitlist".parse().unwrap(),
            version: "1.0.0-rc.1+b".parse().unwrap(),
            reason,
            by,
        }),
        text.prop_map(|account| Subject::KeyAdded {
            account,
            key: SigningKey::from_pem(KEY).unwrap().public().id(),
        }),
        any::<[u8; 32]>().prop_map(|root| Subject::Heads { root: Hash::from_bytes(root) }),
        (0_u64..1 << 53)
            .prop_map(|number| Subject::LogIdentity { number, identity: Hash::of(b"") }),
    ]
}

const KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
    -----END PRIVATE KEY-----\n";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_record_is_read_as_it_is_written(at in "\\PC{0,30}", subject in subject(), salt in any::<[u8; 32]>()) {
        let record = Record { at, subject };
        prop_assert_eq!(Record::from_bytes(&record.to_bytes()), Ok(record.clone()));
        let open = Sealed { record: record.clone(), salt: None };
        prop_assert_eq!(open.entry(), record.to_bytes());
        let sealed = Sealed { record, salt: Some(skillpkg_schema::log::Salt::from_bytes(salt)) };
        let entry = Record::from_bytes(&sealed.entry()).unwrap();
        let is_blinded = matches!(entry.subject, Subject::Blinded { .. });
        prop_assert!(is_blinded);
    }

    #[test]
    fn a_bundle_is_read_as_it_is_written_and_cut_nowhere(
        entries in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = Vec::new();
        for entry in &entries {
            Entries::append(&mut bytes, entry).unwrap();
        }
        let read = Entries::from_bytes(&bytes).unwrap();
        prop_assert!(read.iter().eq(entries.iter().map(Vec::as_slice)));
        let at = cut.index(bytes.len() + 1);
        if let Ok(part) = Entries::from_bytes(&bytes[..at]) {
            // Cut between two entries, it is a shorter bundle.
            let length: usize = part.iter().map(|entry| entry.len() + 2).sum();
            prop_assert_eq!(length, at);
        }
    }

    #[test]
    fn bytes_of_anything_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Note::from_bytes(&bytes);
        let _ = TlogProof::from_bytes(&bytes);
        let _ = Record::from_bytes(&bytes);
        let _ = Entries::from_bytes(&bytes);
        let _ = Bucket::from_bytes(0, &bytes);
        let _ = Checkpoint::verify(&bytes, "log", &[], &[]);
    }

    #[test]
    fn a_changed_byte_of_a_checkpoint_is_never_believed(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let keys: Vec<NoteKey> = vector("/keys");
        let note = vector::<String>("/notes/0/note");
        let mut changed = note.clone().into_bytes();
        let at = at.index(changed.len());
        prop_assume!(changed[at] != byte);
        changed[at] = byte;
        prop_assert!(Checkpoint::verify(&changed, "log.example/skills", &keys, &[]).is_err());
    }
}

#[test]
fn the_bounds_of_a_bundle_hold() {
    let mut bytes = Vec::new();
    assert!(Entries::append(&mut bytes, &vec![0; 65_535]).is_ok());
    assert!(Entries::append(&mut bytes, &vec![0; 65_536]).is_err());
    assert!(Entries::from_bytes(&[0; 2 * 256]).is_ok());
    assert!(Entries::from_bytes(&[0; 2 * 257]).is_err());
}

#[test]
fn inputs_that_are_kept_for_fuzzing_hold() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/log");
    let mut read = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        read += usize::from(round_trip::check(&bytes));
    }
    assert!(read >= 6, "each thing is among them");
}
