//! A registry that keeps a log, and lies as a test tells it to.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::value::RawValue;
use skillpkg::settings::{Chosen, RegistryChoice};
use skillpkg_schema::QualifiedName;
use skillpkg_schema::address::Digests;
use skillpkg_schema::wire::{
    IndexRequest, Logs, ProofsAnswer, ProofsRequest, RegistryInformation, View,
};
use url::Url;

use crate::log::{Log, Packed};

/// An answer to an index request, before it is sent.
pub(crate) struct Index {
    pub(crate) documents: Vec<Vec<u8>>,
    pub(crate) missing: Vec<QualifiedName>,
    pub(crate) views: Vec<View>,
}

type Lie<T> = Box<dyn Fn(&mut T) + Send>;

/// What the registry has, and how it lies.
pub(crate) struct State {
    pub(crate) log: Log,
    /// The log of another registry that it relays, and speaks by for names without a scope.
    pub(crate) relayed: Option<Log>,
    pub(crate) archives: BTreeMap<String, Vec<u8>>,
    /// Answers as a registry without a log.
    pub(crate) is_silent: bool,
    /// Hangs up on whoever asks.
    pub(crate) is_dead: bool,
    pub(crate) index: Option<Lie<Index>>,
    pub(crate) proofs: Option<Lie<ProofsAnswer>>,
    pub(crate) logs: Option<Lie<Logs>>,
    pub(crate) tile: Option<Lie<Vec<u8>>>,
    /// Paths that were asked for, and the tokens that came with them.
    pub(crate) asked: Vec<(String, Option<String>)>,
}

#[derive(Clone)]
pub(crate) struct Registry {
    pub(crate) url: Url,
    state: Arc<Mutex<State>>,
}

impl Registry {
    pub(crate) fn start(log: Log) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let state = State {
            log,
            relayed: None,
            archives: BTreeMap::new(),
            is_silent: false,
            is_dead: false,
            index: None,
            proofs: None,
            logs: None,
            tile: None,
            asked: Vec::new(),
        };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { url, state }
    }

    /// One whose log has one skill, `waitlist` 1.0.0.
    pub(crate) fn with_waitlist() -> Self {
        let registry = Self::start(Log::new("skillpkg/test"));
        registry.publish("waitlist", "1.0.0");
        registry
    }

    pub(crate) fn choice(&self) -> RegistryChoice {
        RegistryChoice { url: self.url.clone(), chosen: Chosen::ByUser }
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap())
    }

    pub(crate) fn log(&self) -> Log {
        self.change(|state| state.log.clone())
    }

    pub(crate) fn publish(&self, name: &str, version: &str) -> u64 {
        self.change(|state| {
            let packed = crate::log::pack(name, version, &state.log.author);
            state.keep(&packed);
            state.log.publish(&packed)
        })
    }

    pub(crate) fn lie_in_index(&self, lie: impl Fn(&mut Index) + Send + 'static) {
        self.change(|state| state.index = Some(Box::new(lie)));
    }

    pub(crate) fn lie_in_proofs(&self, lie: impl Fn(&mut ProofsAnswer) + Send + 'static) {
        self.change(|state| state.proofs = Some(Box::new(lie)));
    }

    /// The paths that were asked for since this was last called.
    pub(crate) fn asked(&self) -> Vec<String> {
        let asked = self.change(|state| std::mem::take(&mut state.asked));
        asked.into_iter().map(|(path, _)| path).collect()
    }
}

impl State {
    pub(crate) fn keep(&mut self, packed: &Packed) {
        let digest = Digests::of(&packed.bytes).sha256.address().to_string();
        self.archives.insert(digest, packed.bytes.clone());
    }

    fn answer(&self, path: &str, body: &[u8]) -> Option<Vec<u8>> {
        match path {
            "/v1/registry" => {
                let identity = self.log.origin.clone();
                Some(serde_json::to_vec(&RegistryInformation { identity }).unwrap())
            }
            "/v1/index" => Some(self.index(&serde_json::from_slice(body).unwrap())),
            "/v1/log" if !self.is_silent => {
                let relayed = self.relayed.iter().map(|log| {
                    let mut info = log.info();
                    info.relayed = true;
                    info
                });
                let mut logs =
                    Logs { logs: [self.log.info()].into_iter().chain(relayed).collect() };
                if let Some(lie) = &self.logs {
                    lie(&mut logs);
                }
                Some(serde_json::to_vec(&logs).unwrap())
            }
            "/v1/log/proofs" => {
                let request: ProofsRequest = serde_json::from_slice(body).unwrap();
                let logs = [&self.log].into_iter().chain(&self.relayed);
                let log = logs.into_iter().find(|log| log.origin == request.origin)?;
                let (there, missing): (Vec<u64>, Vec<u64>) =
                    request.indices.into_iter().partition(|index| *index < request.size);
                let log = log.clone().cut_to(usize::try_from(request.size).unwrap());
                let records = there.into_iter().map(|index| log.proven(index)).collect();
                let mut answer = ProofsAnswer { records, missing };
                if let Some(lie) = &self.proofs {
                    lie(&mut answer);
                }
                Some(serde_json::to_vec(&answer).unwrap())
            }
            _ => {
                if let Some(tile) = path.strip_prefix("/log/") {
                    let mut tile = tile_of(&self.log, tile)?;
                    if let Some(lie) = &self.tile {
                        lie(&mut tile);
                    }
                    return Some(tile);
                }
                self.archives.get(path.strip_prefix("/v1/archives/")?).cloned()
            }
        }
    }

    fn index(&self, request: &IndexRequest) -> Vec<u8> {
        let mut index = Index { documents: Vec::new(), missing: Vec::new(), views: Vec::new() };
        let logs: Vec<&Log> = [&self.log].into_iter().chain(&self.relayed).collect();
        for name in &request.names {
            match logs.iter().find_map(|log| log.bytes.get(name)) {
                Some(bytes) => index.documents.push(bytes.clone()),
                None => index.missing.push(name.clone()),
            }
        }
        for log in logs.into_iter().filter(|_| !self.is_silent) {
            let known = request.logs.iter().flatten().find(|known| known.origin == log.origin);
            let size = known.map_or(0, |known| known.size).min(log.size());
            index.views.push(log.view(size, &request.names));
        }
        if let Some(lie) = &self.index {
            lie(&mut index);
        }
        let raw = |bytes: &Vec<u8>| {
            RawValue::from_string(String::from_utf8(bytes.clone()).unwrap()).unwrap()
        };
        let documents: Vec<Box<RawValue>> = index.documents.iter().map(raw).collect();
        let answer = Answer { documents, missing: &index.missing, views: &index.views };
        serde_json::to_vec(&answer).unwrap()
    }
}

#[derive(serde::Serialize)]
struct Answer<'a> {
    documents: Vec<Box<RawValue>>,
    missing: &'a [QualifiedName],
    views: &'a [View],
}

/// A tile of level 0: the tests' logs have no other.
fn tile_of(log: &Log, path: &str) -> Option<Vec<u8>> {
    let width: usize = path.strip_prefix("tile/0/000.p/")?.parse().unwrap();
    let hashes = log.hashes().get(..width)?;
    Some(hashes.iter().flat_map(|hash| *hash.as_bytes()).collect())
}

fn serve(stream: TcpStream, state: &Mutex<State>) {
    let mut answer = stream.try_clone().unwrap();
    let mut request = BufReader::new(stream);
    while let Some((path, token, body)) = read_request(&mut request) {
        let found = {
            let mut state = state.lock().unwrap();
            state.asked.push((path.clone(), token));
            if state.is_dead {
                return;
            }
            state.answer(&path, &body)
        };
        let status = if found.is_some() { "200 OK" } else { "404 Not Found" };
        let body = found.unwrap_or_else(|| {
            br#"{"type":"t","title":"t","status":404,"code":"not_found","detail":"d"}"#.to_vec()
        });
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if answer.write_all(&[head.as_bytes(), &body].concat()).is_err() {
            return;
        }
    }
}

type Request = (String, Option<String>, Vec<u8>);

fn read_request(request: &mut BufReader<TcpStream>) -> Option<Request> {
    let (mut path, mut token, mut length) = (None, None, 0);
    loop {
        let mut line = String::new();
        if request.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if lower.starts_with("authorization:") {
            token = Some(line.to_owned());
        }
        path = path.or_else(|| line.split(' ').nth(1).map(str::to_owned));
    }
    let mut body = vec![0; length];
    request.read_exact(&mut body).ok()?;
    Some((path?, token, body))
}
