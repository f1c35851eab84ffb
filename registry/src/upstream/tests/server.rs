//! A server that answers what it is told to, byte for byte, and remembers what it was asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// One answer: a head and a body, then `filler` again and again with a pause before each.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    bytes: Vec<u8>,
    filler: Vec<u8>,
    pause: Duration,
}

impl Answer {
    /// Just these bytes, and the connection's end.
    pub(super) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), filler: Vec::new(), pause: Duration::ZERO }
    }

    pub(super) fn new(status: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self::raw(format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}"))
    }

    pub(super) fn ok(body: &str) -> Self {
        Self::new("200 OK", "", body)
    }

    pub(super) fn redirect(status: u16, target: &str) -> Self {
        Self::new(&format!("{status} Moved"), &format!("location: {target}\r\n"), "")
    }

    /// Goes on with this for ever.
    pub(super) fn then(self, filler: &[u8], pause: Duration) -> Self {
        Self { filler: filler.to_vec(), pause, ..self }
    }
}

/// The server; it answers in order, the last answer again and again.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(super) async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let remembered = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, answers.clone(), Arc::clone(&remembered)));
            }
        });
        Self { port, asked }
    }

    /// Its URL, with this host.
    pub(super) fn url(&self, host: &str) -> String {
        format!("http://{host}:{}/", self.port)
    }

    /// The heads of the requests so far, and their bodies.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn converse(mut stream: TcpStream, answers: Vec<Answer>, asked: Arc<Mutex<Vec<String>>>) {
    let Some(request) = read_request(&mut stream).await else { return };
    let position = {
        let mut asked = asked.lock().unwrap();
        asked.push(request);
        asked.len() - 1
    };
    let answer = &answers[position.min(answers.len() - 1)];
    if stream.write_all(&answer.bytes).await.is_err() {
        return;
    }
    while !answer.filler.is_empty() {
        tokio::time::sleep(answer.pause).await;
        if stream.write_all(&answer.filler).await.is_err() {
            return;
        }
    }
}

/// A request's head and body; [`None`] at the connection's end.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(name, _)| *name == "content-length")
        .map_or(0, |(_, value)| value.parse().unwrap());
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(format!("{head}{}", String::from_utf8_lossy(&bytes[end..])))
}
