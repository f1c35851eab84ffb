//! A registry that offers one archive as `acme/sample` 1.0.0 and vouches for whatever it is.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use skillpkg::settings::{Chosen, RegistryChoice};
use skillpkg_schema::address::Digests;
use skillpkg_schema::signature::SigningKey;
use skillpkg_schema::wire::{Document, IndexAnswer, SignerKey, VersionEntry};
use skillpkg_store::archive::{Bounds, Reader};
use skillpkg_store::attacks::{SIGNING_KEY, Sample};

/// What it offers.
#[derive(Default)]
struct Offer {
    index: Vec<u8>,
    archive: Vec<u8>,
}

/// The registry; it serves as long as the process runs.
pub(crate) struct Registry {
    url: String,
    offer: Arc<Mutex<Offer>>,
}

impl Registry {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let offer: Arc<Mutex<Offer>> = Arc::default();
        let offered = Arc::clone(&offer);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let offered = Arc::clone(&offered);
                std::thread::spawn(move || serve(stream, &offered));
            }
        });
        Self { url, offer }
    }

    pub(crate) fn choice(&self) -> RegistryChoice {
        RegistryChoice { url: self.url.parse().unwrap(), chosen: Chosen::ByUser }
    }

    /// Offers another archive from here on: by its own digest, as the snapshot that it says it is,
    /// signed with the key of the sample.
    pub(crate) fn offer(&self, archive: &[u8]) {
        let sample = Sample::small().unwrap().manifest;
        let said = Reader::open(archive, Bounds::default()).map(|reader| reader.manifest().clone());
        let manifest = said.unwrap_or_else(|_| sample.clone());
        let digests = Digests::of(&manifest.to_bytes());
        let key = SigningKey::from_pem(SIGNING_KEY).unwrap().public();
        let document = Document {
            name: sample.name,
            description: String::new(),
            private: false,
            versions: vec![VersionEntry {
                version: sample.version,
                address: digests.sha256.address(),
                blake3: digests.blake3.address(),
                archive: Digests::of(archive).sha256.address(),
                size: archive.len() as u64,
                unpacked_size: 0,
                key_ids: vec![key.id()],
                published: "2026-01-01T00:00:00Z".to_owned(),
                yanked: None,
                log_index: None,
                findings: None,
            }],
            keys: vec![SignerKey {
                id: key.id(),
                account: "mallory".to_owned(),
                pem: key.to_pem(),
                held: false,
                revoked: None,
                revoked_index: None,
                reason: None,
            }],
            deleted: Vec::new(),
            advisories: Vec::new(),
        };
        let answer =
            IndexAnswer { documents: vec![document], missing: Vec::new(), views: Vec::new() };
        let index = serde_json::to_vec(&answer).unwrap();
        *self.offer.lock().unwrap() = Offer { index, archive: archive.to_owned() };
    }
}

/// Answers the requests of one connection.
fn serve(stream: TcpStream, offered: &Mutex<Offer>) {
    let mut answer = stream.try_clone().unwrap();
    let mut request = BufReader::new(stream);
    while let Some(path) = read_request(&mut request) {
        let (kind, body) = {
            let offer = offered.lock().unwrap();
            if path == "/v1/index" {
                ("application/json", offer.index.clone())
            } else {
                ("application/octet-stream", offer.archive.clone())
            }
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        // In one piece, which is not held back. Whoever has heard enough hangs up.
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
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        path = path.or_else(|| line.split(' ').nth(1).map(str::to_owned));
    }
    let mut body = vec![0; length];
    request.read_exact(&mut body).ok()?;
    path
}
