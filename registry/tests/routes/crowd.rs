//! A thousand uploads at once that never end: they take neither the memory nor the disk of a
//! registry, and keep nobody else from publishing.
#![cfg(target_os = "linux")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use reqwest::StatusCode;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};

use crate::commands::{Serving, author, registry_in};
use crate::costly::high_water_mark;
use crate::skips::skipped;
use crate::support::{Skill, client};

const UPLOADS: u16 = 1_000;
const MIB: u64 = 1024 * 1024;

/// A connection from one of many addresses of this machine: one of them has a bound of its own.
async fn connect(server: SocketAddr, number: u16) -> std::io::Result<TcpStream> {
    let [high, low] = (number / 4).to_be_bytes();
    let own = Ipv4Addr::new(127, 1, high, low.max(1));
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(IpAddr::V4(own), 0))?;
    socket.connect(server).await
}

/// The bytes of all files beneath a directory.
fn taken(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    entries
        .filter_map(Result::ok)
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => taken(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

#[tokio::test]
async fn a_thousand_uploads_at_once_take_little_and_keep_nobody_from_publishing() {
    let test = "a_thousand_uploads_at_once_take_little_and_keep_nobody_from_publishing";
    let directory = tempfile::tempdir().unwrap();
    registry_in(directory.path()).await;
    let (mal, ana) = (author(directory.path(), "mal"), author(directory.path(), "ana"));
    let serving = Serving::start(directory.path());
    let server: SocketAddr = serving.url.strip_prefix("http://").unwrap().parse().unwrap();
    if let Err(error) = connect(server, 0).await {
        return skipped(test, &format!("further addresses of this machine ({error})"), false);
    }
    let before = high_water_mark(serving.process.id());
    let piece = vec![7; 512 * 1024];
    let mut open = Vec::new();
    for number in 0..UPLOADS {
        let mut stream = match connect(server, number).await {
            Ok(stream) => stream,
            Err(error) => return skipped(test, &format!("a thousand files ({error})"), false),
        };
        let head = format!(
            "PUT /v1/skills/_/w{number}/1.0.0 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: 50000000\r\n\r\n",
            mal.token
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        // As much as it takes: whoever is not received yet sends no more than what fits in between.
        let _ = tokio::time::timeout(Duration::from_millis(5), stream.write_all(&piece)).await;
        open.push(stream);
    }
    let packed = Skill::new("honest", "1.0.0").pack(&ana);
    let publish = client().put(format!("{}{}", serving.url, packed.path()));
    let publish = ana.offer(publish.bearer_auth(&ana.token)).body(packed.archive);
    let published = tokio::time::timeout(Duration::from_secs(20), publish.send()).await;
    assert_eq!(published.unwrap().unwrap().status(), StatusCode::CREATED);
    let received = std::fs::read_dir(directory.path().join("tmp")).unwrap().count();
    // So many of one account are received at once, whatever it opens.
    assert!((1..=4).contains(&received), "{received}");
    let disk = taken(&directory.path().join("tmp"));
    assert!(disk <= 4 * MIB, "{disk} bytes of disk");
    let grown = high_water_mark(serving.process.id()) - before;
    assert!(grown < 128 * MIB, "{} KiB", grown / 1024);
    drop(open);
    serving.kill();
}
