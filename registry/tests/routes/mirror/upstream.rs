//! A registry with a log, small enough to lie in any way that a test wants: what it says is signed
//! by its log, and is what the test makes it say.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use skillpkg_schema::log::{
    Bucket, Checkpoint, Edge, Entries, Hash, HeadsTree, LogIdentity, Note, NoteSigner, Record,
    RotationKeys, Sealed, SignatureKind, Subject, TILE_WIDTH, TilePath, bucket_of, head_key,
    root_of, sign_identity,
};
use skillpkg_schema::signature::{Envelope, PublicKey, SigningKey};
use skillpkg_schema::wire::{
    Document, Hashes, IndexRequest, LogInfo, Logs, ProofsAnswer, ProofsRequest, Proven,
    ProvenBucket, SignerKey, VersionEntry, View, Yank,
};
use skillpkg_schema::{QualifiedName, Sha256Digest};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::support::{Author, Packed, Skill};

/// What the log is called.
pub(crate) const ORIGIN: &str = "upstream.test/log";
const NOW: &str = "2026-01-01T00:00:00Z";

/// Changes an answer: the path, and the bytes that would be sent.
pub(crate) type Tampering = Box<dyn Fn(&str, Vec<u8>) -> Vec<u8> + Send>;

/// What it has.
pub(crate) struct Content {
    pub(crate) documents: BTreeMap<QualifiedName, Vec<u8>>,
    parsed: BTreeMap<QualifiedName, Document>,
    objects: BTreeMap<String, Vec<u8>>,
    entries: Vec<Sealed>,
    identities: Vec<Envelope>,
    rotation: SigningKey,
    signers: Vec<NoteSigner>,
    pub(crate) tampering: Tampering,
    /// Answered in the place of everything.
    pub(crate) refusal: Option<StatusCode>,
    asked: Vec<(String, HeaderMap, String)>,
}

/// A running one.
pub(crate) struct FakeUpstream {
    pub(crate) address: SocketAddr,
    pub(crate) author: Author,
    content: Arc<Mutex<Content>>,
    server: Option<JoinHandle<()>>,
}

fn signers() -> Vec<NoteSigner> {
    [SignatureKind::Ed25519, SignatureKind::Cosignature]
        .map(|kind| NoteSigner::new(ORIGIN, kind, SigningKey::generate().unwrap()).unwrap())
        .into()
}

fn identity(number: u64, signers: &[NoteSigner], rotation: &SigningKey) -> Envelope {
    let keys = signers.iter().map(|signer| signer.key().clone()).collect();
    let rotation_keys = RotationKeys { keys: vec![rotation.public().to_pem()], threshold: 1 };
    let identity = LogIdentity::new(ORIGIN, number, keys, rotation_keys).unwrap();
    sign_identity(&identity, std::slice::from_ref(rotation))
}

impl FakeUpstream {
    pub(crate) async fn start() -> Self {
        let (signers, rotation) = (signers(), SigningKey::generate().unwrap());
        let identities = vec![identity(1, &signers, &rotation)];
        let content = Content {
            documents: BTreeMap::new(),
            parsed: BTreeMap::new(),
            objects: BTreeMap::new(),
            entries: Vec::new(),
            identities,
            rotation,
            signers,
            tampering: Box::new(|_, bytes| bytes),
            refusal: None,
            asked: Vec::new(),
        };
        let author = Author {
            account: "ana".to_owned(),
            token: String::new(),
            key: SigningKey::generate().unwrap(),
            identity: String::new(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut fake =
            Self { address, author, content: Arc::new(Mutex::new(content)), server: None };
        fake.change(Content::heads);
        fake.listen(listener);
        fake
    }

    fn listen(&mut self, listener: TcpListener) {
        let router = Router::new().fallback(answer).with_state(Arc::clone(&self.content));
        self.server =
            Some(tokio::spawn(async move { axum::serve(listener, router).await.unwrap() }));
    }

    /// Is gone: nothing listens.
    pub(crate) async fn vanish(&mut self) {
        let server = self.server.take().unwrap();
        server.abort();
        let _ = server.await;
    }

    /// Is there again.
    pub(crate) async fn come_back(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.listen(listener);
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Content) -> T) -> T {
        change(&mut self.content.lock().unwrap())
    }

    /// The paths that were asked for, each with its method's body behind it.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.change(|content| {
            let all = content.asked.iter();
            all.map(|(path, _, body)| format!("{path} {body}")).collect()
        })
    }

    pub(crate) fn headers(&self) -> Vec<HeaderMap> {
        self.change(|content| content.asked.iter().map(|(_, headers, _)| headers.clone()).collect())
    }

    pub(crate) fn forget_asked(&self) {
        self.change(|content| content.asked.clear());
    }

    /// Publishes a small skill.
    pub(crate) fn publish(&self, name: &str, version: &str) -> Packed {
        let packed = Skill::new(name, version).with_file("notes.md", version).pack(&self.author);
        self.publish_packed(&packed);
        packed
    }

    /// Publishes versions of a skill, and tells the root of all documents once.
    pub(crate) fn publish_many(&self, name: &str, versions: impl Iterator<Item = String>) {
        let key = self.author.key.public();
        for version in versions {
            let packed = Skill::new(name, &version).pack(&self.author);
            self.change(|content| content.add(&packed, &key));
        }
        self.change(Content::heads);
    }

    pub(crate) fn publish_packed(&self, packed: &Packed) {
        let key = self.author.key.public();
        self.change(|content| {
            content.add(packed, &key);
            content.heads();
        });
    }

    /// Yanks a version.
    pub(crate) fn yank(&self, name: &str, at: usize) {
        let name: QualifiedName = name.parse().unwrap();
        self.change(|content| {
            let document = content.parsed.get_mut(&name).unwrap();
            document.versions[at].yanked = Some(Yank { reason: "it is broken".to_owned() });
            content.write(&name);
            content.heads();
        });
    }

    /// Changes a document as only a liar does, and lets the log speak of it.
    pub(crate) fn rewrite(&self, name: &str, change: impl FnOnce(&mut Document)) {
        let name: QualifiedName = name.parse().unwrap();
        self.change(|content| {
            change(content.parsed.get_mut(&name).unwrap());
            content.write(&name);
            content.heads();
        });
    }
}

impl Content {
    fn record(&mut self, subject: Subject) -> u64 {
        let record = Record { at: NOW.to_owned(), subject };
        self.entries.push(Sealed { record, salt: None });
        self.entries.len() as u64 - 1
    }

    fn add(&mut self, packed: &Packed, key: &PublicKey) {
        let manifest = &packed.manifest;
        let bytes = manifest.to_bytes();
        let digests = skillpkg_schema::address::Digests::of(&bytes);
        let index = self.record(Subject::Publish {
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            address: digests.sha256.address(),
            archive: packed.digests.sha256.address(),
            account: "ana".to_owned(),
            keys: vec![key.id()],
        });
        let entry = VersionEntry {
            version: manifest.version.clone(),
            address: digests.sha256.address(),
            blake3: digests.blake3.address(),
            archive: packed.digests.sha256.address(),
            size: packed.digests.size,
            unpacked_size: manifest.unpacked_size(),
            key_ids: vec![key.id()],
            published: NOW.to_owned(),
            yanked: None,
            log_index: Some(index),
            findings: None,
        };
        let document = self.parsed.entry(manifest.name.clone()).or_insert_with(|| Document {
            name: manifest.name.clone(),
            description: manifest.description.clone(),
            private: false,
            versions: Vec::new(),
            keys: vec![SignerKey {
                id: key.id(),
                account: "ana".to_owned(),
                pem: key.to_pem(),
                held: false,
                revoked: None,
                reason: None,
                revoked_index: None,
            }],
            deleted: Vec::new(),
            advisories: Vec::new(),
        });
        document.versions.push(entry);
        self.write(&manifest.name.clone());
        self.objects.insert(
            format!("/v1/archives/{}", packed.digests.sha256.address()),
            packed.archive.clone(),
        );
        for address in [digests.sha256.address(), digests.blake3.address()] {
            self.objects.insert(format!("/v1/manifests/{address}"), bytes.clone());
        }
    }

    /// Serves bytes at a path.
    pub(crate) fn serve(&mut self, path: String, bytes: Vec<u8>) {
        self.objects.insert(path, bytes);
    }

    /// Serves nothing at a path any more.
    pub(crate) fn withdraw(&mut self, path: &str) {
        self.objects.remove(path);
    }

    fn write(&mut self, name: &QualifiedName) {
        let bytes = serde_json::to_vec(&self.parsed[name]).unwrap();
        self.documents.insert(name.clone(), bytes);
    }

    fn buckets(&self) -> BTreeMap<u16, Bucket> {
        let mut buckets: BTreeMap<u16, Bucket> = BTreeMap::new();
        for (name, bytes) in &self.documents {
            let key = head_key(name);
            let bucket = buckets.entry(bucket_of(&key)).or_default();
            bucket.set(key, Some(Sha256Digest::of(bytes)));
        }
        buckets
    }

    fn tree(&self) -> HeadsTree {
        HeadsTree::new(self.buckets().iter().map(|(number, bucket)| (*number, bucket.leaf_hash())))
    }

    /// Appends the root of all documents.
    pub(crate) fn heads(&mut self) {
        let root = self.tree().root();
        self.record(Subject::Heads { root });
    }

    /// Forgets the last leaves and signs others in their place.
    pub(crate) fn fork(&mut self, leaves: usize) {
        let left = self.entries.len() - leaves;
        self.entries.truncate(left);
        self.record(Subject::ScopeAdded { scope: "forked".parse().unwrap() });
        self.heads();
    }

    /// Signs with keys that the log does not have.
    pub(crate) fn lose_keys(&mut self) {
        self.signers = signers();
    }

    /// Signs with other keys from here on, as the log's identity says.
    pub(crate) fn rotate(&mut self) {
        self.signers = signers();
        let number = self.identities.len() as u64 + 1;
        self.identities.push(identity(number, &self.signers, &self.rotation));
    }

    fn leaves(&self) -> Vec<Hash> {
        self.entries.iter().map(Sealed::leaf_hash).collect()
    }

    /// What is signed of the newest checkpoint.
    pub(crate) fn text(&self) -> String {
        let checkpoint = self.checkpoint();
        checkpoint.split_once("\n\n").map(|(text, _)| format!("{text}\n")).unwrap()
    }

    pub(crate) fn identity(&self) -> Envelope {
        self.identities.last().unwrap().clone()
    }

    /// What is answered about these names now.
    pub(crate) fn answer_to_index(&self, names: &[&str]) -> Vec<u8> {
        let names = names.iter().map(|name| name.parse().unwrap()).collect();
        self.index(&IndexRequest { names, logs: None })
    }

    fn checkpoint(&self) -> String {
        let (size, root) = (self.entries.len() as u64, root_of(&self.leaves()));
        let checkpoint = Checkpoint { origin: ORIGIN.to_owned(), size, root };
        let note = Note::unsigned(checkpoint.text()).unwrap();
        let note =
            self.signers.iter().fold(note, |note, signer| note.signed(signer, 1_767_225_600));
        note.to_string()
    }

    /// As RFC 6962 writes it: slowly, by splitting.
    fn path(&self, index: usize) -> Vec<Hash> {
        fn path(leaves: &[Hash], at: usize) -> Vec<Hash> {
            if leaves.len() < 2 {
                return Vec::new();
            }
            let split = leaves.len().next_power_of_two() / 2;
            let (left, right) = leaves.split_at(split);
            let (mut proof, sibling) = if at < split {
                (path(left, at), root_of(right))
            } else {
                (path(right, at - split), root_of(left))
            };
            proof.push(sibling);
            proof
        }
        path(&self.leaves(), index)
    }

    fn proven(&self, index: usize) -> Proven {
        let (sealed, proof) = (self.entries[index].clone(), Hashes(self.path(index)));
        Proven { index: index as u64, sealed, proof }
    }

    fn view(&self, names: &[QualifiedName]) -> View {
        let (buckets, tree) = (self.buckets(), self.tree());
        let mut numbers: Vec<u16> = names.iter().map(|name| bucket_of(&head_key(name))).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let proven = |number: u16| {
            let bytes = buckets.get(&number).cloned().unwrap_or_default().to_bytes();
            let (hashes, _) = bytes.as_chunks::<32>();
            let heads = Hashes(hashes.iter().map(|hash| Hash::from_bytes(*hash)).collect());
            ProvenBucket { bucket: number, heads, proof: Hashes(tree.proof(number)) }
        };
        View {
            origin: ORIGIN.to_owned(),
            checkpoint: self.checkpoint(),
            consistency: Hashes::default(),
            heads: self.proven(self.entries.len() - 1),
            buckets: numbers.into_iter().map(proven).collect(),
            statements: Vec::new(),
            refreshed: None,
        }
    }

    fn index(&self, request: &IndexRequest) -> Vec<u8> {
        let mut documents = Vec::new();
        let mut missing = Vec::new();
        for name in &request.names {
            match self.documents.get(name) {
                Some(bytes) => documents.push(String::from_utf8(bytes.clone()).unwrap()),
                None => missing.push(name),
            }
        }
        let missing = serde_json::to_string(&missing).unwrap();
        let views = serde_json::to_string(&[self.view(&request.names)]).unwrap();
        let documents = documents.join(",");
        format!("{{\"documents\":[{documents}],\"missing\":{missing},\"views\":{views}}}").into()
    }

    fn tile(&self, path: &str) -> Option<Vec<u8>> {
        let path = TilePath::parse(path)?;
        let tile = *path.tile();
        let start = usize::try_from(tile.index * TILE_WIDTH).unwrap();
        let end = start + usize::from(tile.width);
        match path {
            TilePath::Hashes(tile) if tile.level == 0 => {
                let leaves = self.leaves();
                let hashes = leaves.get(start..end)?;
                Some(hashes.iter().flat_map(|hash| *hash.as_bytes()).collect())
            }
            TilePath::Hashes(_) => {
                let mut edge = Edge::default();
                let made = edge.append(&self.leaves()).unwrap();
                made.into_iter().find(|made| made.tile == tile).map(|made| made.bytes)
            }
            TilePath::Entries(_) => {
                let mut bundle = Vec::new();
                for entry in self.entries.get(start..end)? {
                    Entries::append(&mut bundle, &entry.entry()).unwrap();
                }
                Some(bundle)
            }
        }
    }

    fn answer(&self, path: &str, body: &[u8]) -> Option<Vec<u8>> {
        if let Some(bytes) = self.objects.get(path) {
            return Some(bytes.clone());
        }
        match path {
            "/v1/log" => {
                let log = LogInfo {
                    origin: ORIGIN.to_owned(),
                    prefix: "log".to_owned(),
                    relayed: false,
                    identities: self.identities.clone(),
                    checkpoint: self.checkpoint(),
                };
                Some(serde_json::to_vec(&Logs { logs: vec![log] }).unwrap())
            }
            "/v1/index" => Some(self.index(&serde_json::from_slice(body).unwrap())),
            "/v1/log/proofs" => {
                let request: ProofsRequest = serde_json::from_slice(body).unwrap();
                let indices = request.indices.iter();
                let records = indices.map(|index| self.proven(usize::try_from(*index).unwrap()));
                let answer = ProofsAnswer { records: records.collect(), missing: Vec::new() };
                Some(serde_json::to_vec(&answer).unwrap())
            }
            path => self.tile(path.strip_prefix("/log/")?),
        }
    }
}

async fn answer(State(content): State<Arc<Mutex<Content>>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let headers = request.headers().clone();
    let body = axum::body::to_bytes(request.into_body(), 1024 * 1024).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&body).into_owned();
    let mut content = content.lock().unwrap();
    content.asked.push((path.clone(), headers, text));
    if let Some(status) = content.refusal {
        return status.into_response();
    }
    match content.answer(&path, &body) {
        Some(bytes) => Body::from(Bytes::from((content.tampering)(&path, bytes))).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
