//! Something between a client and a registry.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// The URL of something that hands on what is asked, and answers with what `change` makes of the
/// registry's answer: it is given the first line of the request and the bytes of the whole answer,
/// whose length must stay.
///
/// One request a connection; it ends with the test's process.
pub fn relay(registry: &str, change: impl Fn(&str, &mut Vec<u8>) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let registry = registry.trim_start_matches("http://").to_owned();
    thread::spawn(move || {
        for peer in listener.incoming() {
            let (mut peer, mut there) = (peer.unwrap(), TcpStream::connect(&registry).unwrap());
            let request = one_request(&mut peer);
            // The registry ends the connection after its answer, so that the end tells its length.
            let line = request.lines().next().unwrap_or_default().to_owned();
            let asked = request.replacen("\r\n", "\r\nconnection: close\r\n", 1);
            there.write_all(asked.as_bytes()).unwrap();
            let mut answer = Vec::new();
            there.read_to_end(&mut answer).unwrap();
            change(&line, &mut answer);
            let _ = peer.write_all(&answer);
        }
    });
    format!("http://{address}")
}

/// A request with its body, which must be text.
fn one_request(peer: &mut TcpStream) -> String {
    let mut request = Vec::new();
    let mut part = vec![0; 64 * 1024];
    loop {
        let length = peer.read(&mut part).unwrap();
        request.extend_from_slice(&part[..length]);
        let text = String::from_utf8_lossy(&request);
        let body = text.split_once("\r\n\r\n").map(|(head, body)| {
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            (length.map_or(0, |length| length.parse().unwrap()), body.len())
        });
        if length == 0 || body.is_some_and(|(wanted, found)| found >= wanted) {
            return text.into_owned();
        }
    }
}
