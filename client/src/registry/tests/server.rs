//! A server that answers what it is told to, byte for byte, and remembers what it was asked.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// One answer, written piece by piece with a pause after each.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) pieces: Vec<Vec<u8>>,
    pub(super) pause: Duration,
}

impl Answer {
    pub(super) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { pieces: vec![bytes.into()], pause: Duration::ZERO }
    }

    pub(super) fn new(status: &str, media_type: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let mut bytes = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {media_type}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        bytes.extend_from_slice(body);
        Self::raw(bytes)
    }

    pub(super) fn json(body: &str) -> Self {
        Self::new("200 OK", "application/json", body)
    }
}

/// A server that answers each connection with these bytes once and ends it; its URL.
pub(super) async fn once(bytes: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let bytes = bytes.clone();
            tokio::spawn(async move {
                if read_request(&mut stream).await.is_some() {
                    let _ = stream.write_all(&bytes).await;
                    let _ = stream.shutdown().await;
                }
            });
        }
    });
    url
}

/// The server; it answers in order, the last answer again and again.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) url: String,
    asked: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    pub(super) async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let remembered = asked.clone();
        let connections: Arc<AtomicUsize> = Arc::default();
        let counted = connections.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let (answers, remembered) = (answers.clone(), remembered.clone());
                tokio::spawn(async move {
                    while let Some(request) = read_request(&mut stream).await {
                        let position = {
                            let mut remembered = remembered.lock().unwrap();
                            remembered.push(request);
                            remembered.len() - 1
                        };
                        let answer = &answers[position.min(answers.len() - 1)];
                        for piece in &answer.pieces {
                            if stream.write_all(piece).await.is_err() {
                                return;
                            }
                            tokio::time::sleep(answer.pause).await;
                        }
                    }
                });
            }
        });
        Self { url, asked, connections }
    }

    /// How many connections were made so far.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The requests so far, each with its body.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// A request's head in lower case and its body; [`None`] at the connection's end.
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
    let head = String::from_utf8_lossy(&bytes[..end]).to_string();
    let length = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(0, |(_, value)| value.parse().unwrap());
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(format!("{head}{}", String::from_utf8_lossy(&bytes[end..])))
}
