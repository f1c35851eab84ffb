//! A proxy before a registry that has a path of its host, and no host of its own.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, OnceLock};
use std::thread;

/// Hands on what is asked for beneath a path, without that path, and answers 404 to all else; it ends
/// with the test's process.
#[derive(Debug)]
pub struct Prefixed {
    url: String,
    registry: Arc<OnceLock<String>>,
}

impl Prefixed {
    /// One at a free port, for a path such as `/some/skills`; its registry is named later, since that is
    /// told this URL when it starts.
    pub fn new(path: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}{path}", listener.local_addr().unwrap());
        let registry = Arc::new(OnceLock::<String>::new());
        let (known, path) = (Arc::clone(&registry), path.to_owned());
        thread::spawn(move || {
            for peer in listener.incoming() {
                let (peer, known, path) = (peer.unwrap(), Arc::clone(&known), path.clone());
                // A client that goes away is no fault of the test's.
                thread::spawn(move || hand_on(peer, known.get().unwrap(), &path));
            }
        });
        Self { url, registry }
    }

    /// Where clients find the registry.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Names the registry that stands behind.
    pub fn before(&self, registry: &str) {
        let address = registry.trim_start_matches("http://").to_owned();
        self.registry.set(address).expect("it stands before one registry");
    }
}

/// One request, after whose answer the registry ends the connection.
fn hand_on(mut peer: TcpStream, registry: &str, path: &str) -> Option<()> {
    let mut read = Vec::new();
    let mut part = vec![0; 64 * 1024];
    let end = loop {
        let length = peer.read(&mut part).ok().filter(|length| *length > 0)?;
        read.extend_from_slice(part.get(..length)?);
        if let Some(at) = read.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
    };
    let head = String::from_utf8(read.get(..end)?.to_vec()).ok()?;
    let (line, fields) = head.split_once("\r\n")?;
    let (method, target) = line.split_once(' ')?;
    let beneath = target.strip_prefix(path).filter(|rest| rest.starts_with('/'));
    let Some(beneath) = beneath else {
        let nothing = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        return peer.write_all(nothing.as_bytes()).ok();
    };
    let is_connection = |field: &&str| field.to_ascii_lowercase().starts_with("connection:");
    let fields: Vec<&str> = fields.split("\r\n").filter(|field| !is_connection(field)).collect();
    let head = format!("{method} {beneath}\r\nconnection: close\r\n{}", fields.join("\r\n"));
    let mut there = TcpStream::connect(registry).ok()?;
    there.write_all(head.as_bytes()).ok()?;
    there.write_all(read.get(end..)?).ok()?;
    let (mut more, mut onward) = (peer.try_clone().ok()?, there.try_clone().ok()?);
    thread::spawn(move || std::io::copy(&mut more, &mut onward));
    std::io::copy(&mut there, &mut peer).ok()?;
    peer.shutdown(Shutdown::Both).ok()
}
