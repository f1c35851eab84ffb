use axum::routing::get;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

/// A server of a long answer at `/long` and a short one at `/`.
async fn start(limits: Limits) -> SocketAddr {
    let router = Router::new()
        .route("/", get(|| async { "here" }))
        .route("/long", get(|| async { vec![7_u8; 64 * 1024 * 1024] }));
    let listener = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, router, std::future::pending(), limits));
    address
}

async fn ask(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// Whatever comes until the connection ends, however it does.
async fn rest(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn who_asks_and_never_reads_gives_way_to_others() {
    let stall = Duration::from_millis(200);
    let address = start(Limits { connections: 2, stall, ..Limits::default() }).await;
    let _deaf = [ask(address, "/long").await, ask(address, "/long").await];
    let answer = rest(ask(address, "/").await).await;
    assert!(answer.ends_with("here"), "{answer}");
}

#[tokio::test]
async fn who_reads_slowly_and_steadily_gets_the_whole_answer() {
    let stall = Duration::from_secs(1);
    let address = start(Limits { stall, ..Limits::default() }).await;
    let mut stream = ask(address, "/long").await;
    let mut buffer = vec![0; 8 * 1024 * 1024];
    let mut length = 0;
    loop {
        let count = timeout(PATIENCE, stream.read(&mut buffer)).await.unwrap().unwrap();
        if count == 0 {
            break;
        }
        length += count;
        if length % 5 == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    assert!(length > 64 * 1024 * 1024, "{length}");
}

#[tokio::test]
async fn an_address_has_so_many_connections() {
    let address = start(Limits { connections_per_address: 2, ..Limits::default() }).await;
    let first = TcpStream::connect(address).await.unwrap();
    let _second = TcpStream::connect(address).await.unwrap();
    let mut third = TcpStream::connect(address).await.unwrap();
    let mut byte = [0];
    let end = timeout(PATIENCE, third.read(&mut byte)).await.unwrap();
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    drop(first);
    // The server learns a moment later that the first is gone.
    for _ in 0..100 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
        if rest(stream).await.ends_with("here") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the place of a connection that ended is not given back");
}
