//! Something between a registry and its bucket that fails as networks and services do.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is handed on.
    None,
    /// The service says that it fails.
    Failing,
    /// The connection is closed without an answer.
    Reset,
    /// Nothing is answered while this lasts.
    Stalled,
    /// The body of the answer ends early.
    Truncated,
    /// A byte of the body of the answer is another.
    Changed,
    /// A put that must not replace anything is said to be done, whatever is there.
    Unconditional,
}

/// It ends with the test's process.
pub(super) struct Relay {
    pub(super) address: String,
    fault: Arc<Mutex<Fault>>,
    asked: Arc<AtomicUsize>,
}

impl Relay {
    pub(super) fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let fault = Arc::new(Mutex::new(Fault::None));
        let asked = Arc::new(AtomicUsize::new(0));
        let (server, faults, count) = (server.to_owned(), Arc::clone(&fault), Arc::clone(&asked));
        std::thread::spawn(move || {
            for peer in listener.incoming() {
                let (server, faults, count) =
                    (server.clone(), Arc::clone(&faults), Arc::clone(&count));
                std::thread::spawn(move || {
                    let _ = hand_on(peer.unwrap(), &server, &faults, &count);
                });
            }
        });
        Self { address, fault, asked }
    }

    pub(super) fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    /// How many requests there were.
    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// One request a connection, so that each meets the fault of its moment.
fn hand_on(
    mut peer: TcpStream,
    server: &str,
    fault: &Mutex<Fault>,
    asked: &AtomicUsize,
) -> std::io::Result<()> {
    let request = read_request(&mut peer)?;
    asked.fetch_add(1, Ordering::SeqCst);
    let now = *fault.lock().unwrap();
    match now {
        Fault::Failing => {
            let body = "<Error><Code>InternalError</Code></Error>";
            let length = body.len();
            return write!(
                peer,
                "HTTP/1.1 500 Internal Server Error\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
        }
        Fault::Reset => return Ok(()),
        Fault::Stalled => {
            while *fault.lock().unwrap() == Fault::Stalled {
                std::thread::sleep(Duration::from_millis(20));
            }
            return Ok(());
        }
        _ => {}
    }
    let mut there = TcpStream::connect(server)?;
    let end = request.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    there.write_all(&request[..end])?;
    there.write_all(b"connection: close\r\n")?;
    there.write_all(&request[end..])?;
    let mut answer = Vec::new();
    there.read_to_end(&mut answer)?;
    let body = find(&answer, b"\r\n\r\n").map_or(answer.len(), |at| at + 4);
    let is_content = request.starts_with(b"GET ")
        && find(&request[..end], b"list-type").is_none()
        && answer.starts_with(b"HTTP/1.1 20");
    match now {
        Fault::Truncated if is_content => answer.truncate(body + (answer.len() - body) / 2),
        Fault::Changed if is_content && body < answer.len() => answer[body] ^= 1,
        Fault::Unconditional if answer.starts_with(b"HTTP/1.1 412") => {
            answer =
                b"HTTP/1.1 200 OK\r\netag: \"x\"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                    .to_vec();
        }
        _ => {}
    }
    peer.write_all(&answer)
}

fn read_request(peer: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut request = Vec::new();
    let mut part = vec![0; 64 * 1024];
    loop {
        let length = peer.read(&mut part)?;
        if length == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        request.extend_from_slice(&part[..length]);
        let Some(end) = find(&request, b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&request[..end]).to_lowercase();
        let body = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let body: usize = body.map_or(0, |length| length.trim().parse().unwrap());
        if request.len() >= end + 4 + body {
            return Ok(request);
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// A service that answers everything with this; its address.
pub(super) fn always(answer: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answer = answer.to_owned();
    std::thread::spawn(move || {
        for peer in listener.incoming() {
            let mut peer = peer.unwrap();
            if read_request(&mut peer).is_ok() {
                let _ = peer.write_all(answer.as_bytes());
            }
        }
    });
    address
}
