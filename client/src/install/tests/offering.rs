//! A registry of a test that offers versions, each published when it is told to say.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use skillpkg_schema::address::Digests;
use skillpkg_schema::signature::PublicKey;
use skillpkg_schema::wire::{Document, IndexAnswer, SignerKey, VersionEntry};
use skillpkg_store::archive::{Bounds, Reader};

use crate::settings::{Chosen, RegistryChoice};

/// Answers by path.
type Answers = BTreeMap<String, Vec<u8>>;

/// The registry; it serves as long as the process runs.
pub(super) struct Offering {
    url: String,
    answers: Arc<Mutex<Answers>>,
    document: Document,
}

impl Offering {
    /// One that has nothing yet of a skill called `first`, which `key` signs.
    pub(super) fn start(key: &PublicKey) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answers: Arc<Mutex<Answers>> = Arc::default();
        let shared = Arc::clone(&answers);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        let signer = SignerKey {
            id: key.id(),
            account: "ada".to_owned(),
            pem: key.to_pem(),
            held: false,
            revoked: None,
            revoked_index: None,
            reason: None,
        };
        let document = Document {
            name: "first".parse().unwrap(),
            description: String::new(),
            private: false,
            versions: Vec::new(),
            keys: vec![signer],
            deleted: Vec::new(),
            advisories: Vec::new(),
        };
        Self { url, answers, document }
    }

    pub(super) fn choice(&self) -> RegistryChoice {
        RegistryChoice { url: self.url.parse().unwrap(), chosen: Chosen::ByUser }
    }

    /// Offers one version more.
    pub(super) fn offer(&mut self, archive: &[u8], published: &str) {
        let manifest = Reader::open(archive, Bounds::default()).unwrap().manifest().clone();
        let digests = Digests::of(&manifest.to_bytes());
        let packed = Digests::of(archive).sha256.address();
        self.document.versions.push(VersionEntry {
            version: manifest.version,
            address: digests.sha256.address(),
            blake3: digests.blake3.address(),
            archive: packed,
            size: archive.len() as u64,
            unpacked_size: 0,
            key_ids: self.document.keys.iter().map(|key| key.id).collect(),
            published: published.to_owned(),
            yanked: None,
            log_index: None,
            findings: None,
        });
        let documents = vec![self.document.clone()];
        let answer = IndexAnswer { documents, missing: Vec::new(), views: Vec::new() };
        let mut answers = self.answers.lock().unwrap();
        answers.insert("/v1/index".to_owned(), serde_json::to_vec(&answer).unwrap());
        answers.insert(format!("/v1/archives/{packed}"), archive.to_owned());
    }
}

/// Answers the requests of one connection.
fn serve(stream: TcpStream, answers: &Mutex<Answers>) {
    let mut answer = stream.try_clone().unwrap();
    let mut request = BufReader::new(stream);
    while let Some(path) = read_request(&mut request) {
        let body = answers.lock().unwrap().get(&path).cloned();
        let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
        let body = body.unwrap_or_default();
        let kind = if path == "/v1/index" {
            "application/json"
        } else {
            skillpkg_schema::wire::ARCHIVE_MEDIA_TYPE
        };
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if answer.write_all(&[head.as_bytes(), &body].concat()).is_err() {
            return;
        }
    }
}

/// The path of the next request, whose body is read too; [`None`] at the end.
fn read_request(request: &mut BufReader<TcpStream>) -> Option<String> {
    let mut path = None;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if request.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        path = path.or_else(|| line.split(' ').nth(1).map(str::to_owned));
    }
    let mut body = vec![0; length];
    request.read_exact(&mut body).ok()?;
    path
}
