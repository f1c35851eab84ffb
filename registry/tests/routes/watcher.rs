//! A client that believes nothing: it holds every answer against the log.

use std::collections::BTreeMap;

use reqwest::{Method, StatusCode};
use serde_json::json as value;
use skillpkg_schema::log::{
    Bucket, Checkpoint, Entries, Hash, IdentityChain, Record, Subject, TILE_WIDTH, Tile, TilePath,
    TlogProof, bucket_of, head_key, tile_count, verify_consistency, verify_document,
    verify_inclusion,
};
use skillpkg_schema::wire::{IndexAnswer, Logs, ProofsAnswer, PublishAnswer};
use skillpkg_schema::{QualifiedName, Sha256Digest};

use crate::support::json;

/// What a client knows of a log.
pub(crate) struct Watcher {
    url: String,
    client: reqwest::Client,
    pub(crate) chain: IdentityChain,
    pub(crate) seen: Checkpoint,
}

impl Watcher {
    pub(crate) async fn start(url: &str) -> Self {
        let client = crate::support::client();
        let logs = client.get(format!("{url}/v1/log")).send().await.unwrap();
        let logs: Logs = json(logs, StatusCode::OK).await;
        let chain = IdentityChain::verify(logs.logs[0].identities.clone()).unwrap();
        let seen = verified(&chain, &logs.logs[0].checkpoint);
        Self { url: url.to_owned(), client, chain, seen }
    }

    /// Goes on with the same log elsewhere, as after a start.
    pub(crate) async fn moved(&mut self, url: &str) {
        url.clone_into(&mut self.url);
        let logs = self.client.get(format!("{url}/v1/log")).send().await.unwrap();
        let logs: Logs = json(logs, StatusCode::OK).await;
        self.chain = self.chain.continued(logs.logs[0].identities.clone()).unwrap();
    }

    pub(crate) async fn post(
        &self,
        path: &str,
        token: Option<&str>,
        body: &serde_json::Value,
    ) -> reqwest::Response {
        let request = self.client.request(Method::POST, format!("{}{path}", self.url));
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        request.body(body.to_string()).send().await.unwrap()
    }

    /// Asks for names, and checks every claim of the answer; what was seen moves on with it.
    pub(crate) async fn index(&mut self, names: &[&str], token: Option<&str>) -> IndexAnswer {
        let known = value!([{"origin": self.chain.origin(), "size": self.seen.size}]);
        let body = value!({"names": names, "logs": known});
        let answer = self.post("/v1/index", token, &body).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let bytes = answer.bytes().await.unwrap();
        // The digests are of the bytes as they came.
        let raw: BTreeMap<String, Box<serde_json::value::RawValue>> =
            serde_json::from_slice(&bytes).unwrap();
        let raw: Vec<Box<serde_json::value::RawValue>> =
            serde_json::from_str(raw["documents"].get()).unwrap();
        let answer: IndexAnswer = serde_json::from_slice(&bytes).unwrap();
        let [view] = &answer.views[..] else { panic!("{:?}", answer.views) };
        let next = verified(&self.chain, &view.checkpoint);
        verify_consistency(
            self.seen.size,
            &self.seen.root,
            next.size,
            &next.root,
            &view.consistency.0,
        )
        .unwrap();
        assert_eq!(view.heads.index, next.size - 1);
        let leaf = view.heads.sealed.leaf_hash();
        verify_inclusion(&leaf, view.heads.index, next.size, &next.root, &view.heads.proof.0)
            .unwrap();
        let Subject::Heads { root } = view.heads.sealed.record.subject else {
            panic!("{:?}", view.heads.sealed.record);
        };
        let mut buckets = BTreeMap::new();
        for proven in &view.buckets {
            let bytes: Vec<u8> = proven.heads.0.iter().flat_map(|hash| *hash.as_bytes()).collect();
            let bucket = Bucket::from_bytes(proven.bucket, &bytes).unwrap();
            bucket.verify(proven.bucket, &root, &proven.proof.0).unwrap();
            assert!(buckets.insert(proven.bucket, bucket).is_none());
        }
        let stated = |name: &QualifiedName| -> Option<Option<Hash>> {
            let keys = self.chain.keys();
            view.statements.iter().find_map(|statement| {
                verify_document(statement, self.chain.origin(), next.size, name, keys).ok()
            })
        };
        let listed = |name: &QualifiedName| {
            let key = head_key(name);
            buckets[&bucket_of(&key)].get(&key).copied()
        };
        for (document, raw) in answer.documents.iter().zip(&raw) {
            let digest = Sha256Digest::of(raw.get().as_bytes());
            if document.private {
                assert_eq!(stated(&document.name), Some(Some(digest)));
                assert_eq!(listed(&document.name), None);
            } else {
                assert_eq!(listed(&document.name), Some(digest), "{}", document.name);
            }
        }
        for name in &answer.missing {
            assert_eq!(listed(name), None);
            assert_eq!(stated(name).flatten(), None);
        }
        self.seen = next;
        answer
    }

    /// Checks the proof of a publish.
    pub(crate) fn proof(&self, answer: &PublishAnswer) -> Checkpoint {
        let proof = TlogProof::from_bytes(answer.log_proof.as_ref().unwrap().as_bytes()).unwrap();
        assert_eq!(Some(proof.index), answer.log_index);
        let checkpoint = verified(&self.chain, &proof.checkpoint);
        let sealed: skillpkg_schema::log::Sealed =
            serde_json::from_slice(&proof.extra.unwrap()).unwrap();
        let Subject::Publish { name, version, address, archive, .. } = &sealed.record.subject
        else {
            panic!("{:?}", sealed.record);
        };
        assert_eq!((name, version), (&answer.name, &answer.version));
        assert_eq!((address, archive), (&answer.address, &answer.archive));
        let (size, root) = (checkpoint.size, checkpoint.root);
        verify_inclusion(&sealed.leaf_hash(), proof.index, size, &root, &proof.hashes).unwrap();
        checkpoint
    }

    /// Asks for records, and checks their proofs.
    pub(crate) async fn records(
        &self,
        size: u64,
        indices: &[u64],
        token: Option<&str>,
    ) -> ProofsAnswer {
        let body = value!({"origin": self.chain.origin(), "size": size, "indices": indices});
        let answer: ProofsAnswer =
            json(self.post("/v1/log/proofs", token, &body).await, StatusCode::OK).await;
        if size == self.seen.size {
            for proven in &answer.records {
                let leaf = proven.sealed.leaf_hash();
                verify_inclusion(&leaf, proven.index, size, &self.seen.root, &proven.proof.0)
                    .unwrap();
            }
        }
        answer
    }

    pub(crate) async fn get(&self, path: &str) -> reqwest::Response {
        self.client.get(format!("{}{path}", self.url)).send().await.unwrap()
    }

    /// The newest checkpoint, which must not be an older one than what was seen.
    pub(crate) async fn checkpoint(&self) -> Checkpoint {
        let note = self.get("/log/checkpoint").await.text().await.unwrap();
        let checkpoint = verified(&self.chain, &note);
        assert!(checkpoint.size >= self.seen.size);
        checkpoint
    }

    /// Every leaf of the newest checkpoint, from the tiles.
    pub(crate) async fn leaves(&self) -> Vec<Record> {
        let size = self.checkpoint().await.size;
        let mut records = Vec::new();
        for number in 0..tile_count(0, size) {
            let tile = Tile::in_tree(0, number, size).unwrap();
            let path = TilePath::Entries(tile);
            let response = self.get(&format!("/log/{path}")).await;
            assert_eq!(response.status(), StatusCode::OK, "{path}");
            let bytes = response.bytes().await.unwrap();
            let entries = Entries::from_bytes(&bytes).unwrap();
            records.extend(entries.iter().map(|entry| Record::from_bytes(entry).unwrap()));
        }
        assert!(records.len() as u64 <= tile_count(0, size) * TILE_WIDTH);
        records
    }
}

fn verified(chain: &IdentityChain, note: &str) -> Checkpoint {
    let keys = chain.keys_of_all();
    let verified = Checkpoint::verify(note.as_bytes(), chain.origin(), &keys, &[]).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!(now.as_secs().abs_diff(verified.time.unwrap()) < 360);
    verified.checkpoint
}
