//! A transparency log in memory, made by the words of the RFC and not by the code that is tested.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use skillpkg_schema::address::Digests;
use skillpkg_schema::log::{
    BUCKETS, Bucket, Checkpoint, Hash, LogIdentity, Note, NoteKey, NoteSigner, Record,
    RotationKeys, Salt, Sealed, SignatureKind, Subject, bucket_of, head_key, leaf_hash, node_hash,
    sign_document, sign_identity,
};
use skillpkg_schema::signature::{Envelope, SigningKey};
use skillpkg_schema::wire::{
    Document, Hashes, LogInfo, Proven, ProvenBucket, SignerKey, VersionEntry, View,
};
use skillpkg_schema::{Manifest, QualifiedName};
use skillpkg_store::pack::{PackOptions, Packing};

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A skill in an archive, signed.
#[derive(Clone)]
pub(crate) struct Packed {
    pub(crate) manifest: Manifest,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn pack(name: &str, version: &str, key: &SigningKey) -> Packed {
    let source = tempfile::tempdir().unwrap();
    let bare = name.rsplit('/').next().unwrap();
    let text = format!(
        "---\nskill: {bare}\nversion: {version}\ndescription: A skill of a test.\n---\n\nRead.\n\n\
         ```tool\nid: greet\ndescription: greets\nrun: echo hello\n```\n"
    );
    std::fs::write(source.path().join("SKILL.md"), text).unwrap();
    let options = PackOptions { name: Some(name.parse().unwrap()), ..PackOptions::default() };
    let packing = Packing::plan(source.path(), &options).unwrap();
    let mut bytes = Vec::new();
    packing.write(&packing.sign(std::slice::from_ref(key)), &mut bytes).unwrap();
    Packed { manifest: packing.manifest().clone(), bytes }
}

/// The tree's hash over leaf hashes (RFC 6962, 2.1).
fn root(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => Hash::of(b""),
        [one] => *one,
        _ => {
            let (left, right) = leaves.split_at(half(leaves.len()));
            node_hash(&root(left), &root(right))
        }
    }
}

fn half(count: usize) -> usize {
    let mut half = 1;
    while half * 2 < count {
        half *= 2;
    }
    half
}

/// `PATH(m, D[n])`.
fn path(index: usize, leaves: &[Hash]) -> Vec<Hash> {
    if leaves.len() <= 1 {
        return Vec::new();
    }
    let (left, right) = leaves.split_at(half(leaves.len()));
    let (mut proof, sibling) = if index < left.len() {
        (path(index, left), root(right))
    } else {
        (path(index - left.len(), right), root(left))
    };
    proof.push(sibling);
    proof
}

/// `PROOF(m, D[n])`.
fn consistency(earlier: usize, leaves: &[Hash]) -> Vec<Hash> {
    fn subproof(earlier: usize, leaves: &[Hash], is_whole: bool) -> Vec<Hash> {
        if earlier == leaves.len() {
            return if is_whole { Vec::new() } else { vec![root(leaves)] };
        }
        let (left, right) = leaves.split_at(half(leaves.len()));
        let (mut proof, sibling) = if earlier <= left.len() {
            (subproof(earlier, left, is_whole), root(right))
        } else {
            (subproof(earlier - left.len(), right, false), root(left))
        };
        proof.push(sibling);
        proof
    }
    if earlier == 0 || earlier >= leaves.len() {
        Vec::new()
    } else {
        subproof(earlier, leaves, true)
    }
}

#[derive(Clone)]
pub(crate) struct Log {
    pub(crate) origin: String,
    pub(crate) signing: SigningKey,
    cosigning: SigningKey,
    pub(crate) rotation: Vec<SigningKey>,
    pub(crate) identities: Vec<Envelope>,
    /// When its checkpoint is signed; now where that is 0.
    pub(crate) time: u64,
    pub(crate) witnesses: Vec<NoteSigner>,
    leaves: Vec<Sealed>,
    hashes: Vec<Hash>,
    pub(crate) skills: BTreeMap<QualifiedName, Document>,
    /// The bytes of each document as of the last commit.
    pub(crate) bytes: BTreeMap<QualifiedName, Vec<u8>>,
    buckets: BTreeMap<u16, Bucket>,
    pub(crate) author: SigningKey,
}

impl Log {
    pub(crate) fn new(origin: &str) -> Self {
        let rotation = vec![SigningKey::generate().unwrap()];
        Self::with_rotation(origin, rotation, 1)
    }

    pub(crate) fn with_rotation(origin: &str, rotation: Vec<SigningKey>, threshold: u32) -> Self {
        let mut log = Self {
            origin: origin.to_owned(),
            signing: SigningKey::generate().unwrap(),
            cosigning: SigningKey::generate().unwrap(),
            rotation,
            identities: Vec::new(),
            time: 0,
            witnesses: Vec::new(),
            leaves: Vec::new(),
            hashes: Vec::new(),
            skills: BTreeMap::new(),
            bytes: BTreeMap::new(),
            buckets: BTreeMap::new(),
            author: SigningKey::generate().unwrap(),
        };
        let identity = log.identity(1, threshold);
        log.identities.push(sign_identity(&identity, &log.rotation));
        log.commit();
        log
    }

    /// The identity with this number that the keys make now.
    pub(crate) fn identity(&self, number: u64, threshold: u32) -> LogIdentity {
        let rotation = RotationKeys {
            keys: self.rotation.iter().map(|key| key.public().to_pem()).collect(),
            threshold,
        };
        LogIdentity::new(&self.origin, number, self.keys(), rotation).unwrap()
    }

    pub(crate) fn keys(&self) -> Vec<NoteKey> {
        self.signers().iter().map(|signer| signer.key().clone()).collect()
    }

    pub(crate) fn signers(&self) -> [NoteSigner; 2] {
        let of = |kind, key: &SigningKey| NoteSigner::new(&self.origin, kind, key.clone()).unwrap();
        [of(SignatureKind::Ed25519, &self.signing), of(SignatureKind::Cosignature, &self.cosigning)]
    }

    /// Takes other keys for checkpoints; naming them is for the test.
    pub(crate) fn take_other_keys(&mut self) {
        self.signing = SigningKey::generate().unwrap();
        self.cosigning = SigningKey::generate().unwrap();
    }

    /// The log as it was with its first leaves.
    pub(crate) fn cut_to(mut self, size: usize) -> Self {
        self.leaves.truncate(size);
        self.hashes.truncate(size);
        self
    }

    pub(crate) fn size(&self) -> u64 {
        self.leaves.len() as u64
    }

    pub(crate) fn root(&self) -> Hash {
        root(&self.hashes)
    }

    pub(crate) fn hashes(&self) -> &[Hash] {
        &self.hashes
    }

    /// Appends a record; answers with its leaf.
    pub(crate) fn append(&mut self, subject: Subject, is_private: bool) -> u64 {
        let record = Record { at: "2026-01-01T00:00:00Z".to_owned(), subject };
        let salt = is_private.then(|| Salt::from_bytes([7; 32]));
        let sealed = Sealed { record, salt };
        self.hashes.push(leaf_hash(&sealed.entry()));
        self.leaves.push(sealed);
        self.size() - 1
    }

    /// Publishes a version and commits.
    pub(crate) fn publish(&mut self, packed: &Packed) -> u64 {
        let index = self.record(packed, false);
        self.commit();
        index
    }

    pub(crate) fn record(&mut self, packed: &Packed, is_private: bool) -> u64 {
        let manifest = &packed.manifest;
        let (of_manifest, of_archive) =
            (Digests::of(&manifest.to_bytes()), Digests::of(&packed.bytes));
        let key = self.author.public();
        let index = self.append(
            Subject::Publish {
                name: manifest.name.clone(),
                version: manifest.version.clone(),
                address: of_manifest.sha256.address(),
                archive: of_archive.sha256.address(),
                account: "ada".to_owned(),
                keys: vec![key.id()],
            },
            is_private,
        );
        let entry = serde_json::json!({
            "version": manifest.version,
            "address": of_manifest.sha256.address(),
            "blake3": of_manifest.blake3.address(),
            "archive": of_archive.sha256.address(),
            "size": packed.bytes.len(),
            "unpacked_size": 1,
            "key_ids": [key.id()],
            "published": "2026-01-01T00:00:00Z",
            "log_index": index,
        });
        let entry: VersionEntry = serde_json::from_value(entry).unwrap();
        let name = manifest.name.clone();
        let document = self.skills.entry(name.clone()).or_insert_with(|| Document {
            name,
            description: "A skill of a test.".to_owned(),
            private: is_private,
            versions: Vec::new(),
            keys: vec![SignerKey {
                id: key.id(),
                account: "ada".to_owned(),
                pem: key.to_pem(),
                held: false,
                revoked: None,
                revoked_index: None,
                reason: None,
            }],
            deleted: Vec::new(),
            advisories: Vec::new(),
        });
        document.versions.push(entry);
        index
    }

    /// Lists every document as it is now, in a last leaf.
    pub(crate) fn commit(&mut self) {
        for (name, document) in &self.skills {
            // Not as any serialiser writes it: what counts are the bytes.
            let bytes = serde_json::to_string_pretty(document).unwrap().into_bytes();
            if !document.private {
                let key = head_key(name);
                let bucket = self.buckets.entry(bucket_of(&key)).or_default();
                bucket.set(key, Some(Hash::of(&bytes)));
            }
            self.bytes.insert(name.clone(), bytes);
        }
        let root = self.level(16).get(&0).copied().unwrap_or_else(|| empty(16));
        self.append(Subject::Heads { root }, false);
    }

    /// The nodes of a level of the heads tree that are not those of empty buckets.
    fn level(&self, level: u32) -> BTreeMap<u32, Hash> {
        let leaves = self
            .buckets
            .iter()
            .map(|(number, bucket)| (u32::from(*number), leaf_hash(&bucket.to_bytes())));
        let mut nodes: BTreeMap<u32, Hash> = leaves.collect();
        for below in 0..level {
            let at = |index| nodes.get(&index).copied().unwrap_or_else(|| empty(below));
            let parents: Vec<u32> = nodes.keys().map(|index| index / 2).collect();
            nodes = parents
                .into_iter()
                .map(|parent| (parent, node_hash(&at(parent * 2), &at(parent * 2 + 1))))
                .collect();
        }
        nodes
    }

    fn bucket(&self, number: u16) -> ProvenBucket {
        assert!(u64::from(number) < BUCKETS);
        let proof = (0..16)
            .map(|level| {
                let sibling = (u32::from(number) >> level) ^ 1;
                self.level(level).get(&sibling).copied().unwrap_or_else(|| empty(level))
            })
            .collect();
        let bytes = self.buckets.get(&number).map(Bucket::to_bytes).unwrap_or_default();
        let heads = bytes
            .chunks_exact(32)
            .map(|chunk| Hash::from_bytes(chunk.try_into().unwrap()))
            .collect();
        ProvenBucket { bucket: number, heads: Hashes(heads), proof: Hashes(proof) }
    }

    /// The signed checkpoint.
    pub(crate) fn checkpoint(&self) -> String {
        self.sign(self.size(), self.root())
    }

    /// A signed checkpoint that says this.
    pub(crate) fn sign(&self, size: u64, root: Hash) -> String {
        let origin = self.origin.clone();
        let text = Checkpoint { origin, size, root }.text();
        let time = if self.time == 0 { now() } else { self.time };
        let signers = self.signers();
        let all = signers.iter().chain(&self.witnesses);
        let note = Note::unsigned(text).unwrap();
        all.fold(note, |note, signer| note.signed(signer, time)).to_string()
    }

    pub(crate) fn proven(&self, index: u64) -> Proven {
        let at = usize::try_from(index).unwrap();
        let proof = Hashes(path(at, &self.hashes));
        Proven { index, sealed: self.leaves[at].clone(), proof }
    }

    pub(crate) fn consistency(&self, earlier: u64) -> Hashes {
        Hashes(consistency(usize::try_from(earlier).unwrap(), &self.hashes))
    }

    /// A view for whoever knows `earlier` leaves.
    pub(crate) fn view(&self, earlier: u64, names: &[QualifiedName]) -> View {
        let mut numbers: Vec<u16> = names.iter().map(|name| bucket_of(&head_key(name))).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let private = names.iter().filter_map(|name| {
            let bytes = self.bytes.get(name).filter(|_| self.skills[name].private)?;
            let digest = Some(Hash::of(bytes));
            Some(sign_document(&self.origin, self.size(), name, digest, &self.signing))
        });
        View {
            origin: self.origin.clone(),
            checkpoint: self.checkpoint(),
            consistency: self.consistency(earlier),
            heads: self.proven(self.size() - 1),
            buckets: numbers.into_iter().map(|number| self.bucket(number)).collect(),
            statements: private.collect(),
            refreshed: None,
        }
    }

    pub(crate) fn info(&self) -> LogInfo {
        LogInfo {
            origin: self.origin.clone(),
            prefix: "log".to_owned(),
            relayed: false,
            identities: self.identities.clone(),
            checkpoint: self.checkpoint(),
        }
    }
}

/// The hash of a subtree of empty buckets that is `level` levels high.
fn empty(level: u32) -> Hash {
    (0..level).fold(leaf_hash(b""), |hash, _| node_hash(&hash, &hash))
}
