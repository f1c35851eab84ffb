//! TLS: who is believed to be the registry.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

use super::patience;
use crate::meter::Meter;
use crate::registry::Registry;
use crate::registry::transport::Transport;
use crate::settings::{Connection, registry_url};
use crate::{Error, Kind};

fn certificates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/registry/tests/certificates")
}

/// A registry that shows one certificate and knows one account; answers with its port.
fn serve(certificate: &str) -> u16 {
    let chain = CertificateDer::pem_file_iter(certificates().join(certificate)).unwrap();
    let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(certificates().join("server.key")).unwrap();
    let provider = rustls::crypto::ring::default_provider();
    let config = ServerConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut connection = ServerConnection::new(config.clone()).unwrap();
            let mut encrypted = Stream::new(&mut connection, &mut stream);
            let body = r#"{"account":"ada","grants":[],"scopes":[]}"#;
            let mut asked = [0; 4096];
            if encrypted.read(&mut asked).is_ok() {
                let _ = write!(
                    encrypted,
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\
                     content-length: {}\r\n\r\n{body}",
                    body.len()
                );
            }
        }
    });
    port
}

async fn account(url: &str, ca: Option<&str>) -> Result<String, Error> {
    let connection = Connection { ca: ca.map(|file| certificates().join(file)), proxy: None };
    let transport = Transport::new(registry_url(url).unwrap(), None, &connection, patience())?;
    Ok(Registry { transport, shelf: None, meter: Meter::default(), withheld: None }
        .who_am_i()
        .await?
        .account)
}

#[tokio::test]
async fn a_certificate_is_believed_only_for_its_name_its_time_and_by_an_authority_that_is_trusted()
{
    for (certificate, ca, believed) in [
        ("localhost.pem", Some("authority.pem"), true),
        ("localhost.pem", None, false),
        ("localhost.pem", Some("self-signed.pem"), false),
        ("self-signed.pem", Some("authority.pem"), false),
        ("other.pem", Some("authority.pem"), false),
        ("expired.pem", Some("authority.pem"), false),
    ] {
        let port = serve(certificate);
        for host in ["localhost", "127.0.0.1"] {
            let answer = account(&format!("https://{host}:{port}"), ca).await;
            let what = format!("{certificate} by {ca:?} at {host}: {answer:?}");
            assert_eq!(answer.is_ok(), believed, "{what}");
            if let Err(error) = answer {
                assert_eq!(error.code, "registry_unreachable", "{what}");
                assert!(error.message.contains("certificate"), "{what}");
                assert!(error.hint.unwrap().contains("ca = "));
            }
        }
    }
}

#[tokio::test]
async fn an_old_version_of_tls_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            // A ServerHello of TLS 1.1: version, random, no session, a cipher suite, no compression.
            let mut hello = vec![22, 3, 2, 0, 42, 2, 0, 0, 38, 3, 2];
            hello.extend([7; 32]);
            hello.extend([0, 0x00, 0x2f, 0]);
            let _ = stream.write_all(&hello);
        }
    });
    let error = account(&format!("https://localhost:{port}"), None).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.kind), ("registry_unreachable", Kind::Failed));
    assert!(error.message.contains("peer"), "{error}");
}

#[tokio::test]
async fn who_never_says_how_to_encrypt_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (half, whole) = (b"\x16\x03\x03".as_slice(), b"".as_slice());
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for (stream, said) in listener.incoming().zip([half, whole].into_iter().cycle()) {
            let mut stream = stream.unwrap();
            let _ = stream.write_all(said);
            kept.push(stream);
        }
    });
    for _ in 0..2 {
        let started = std::time::Instant::now();
        let error = account(&format!("https://localhost:{port}"), None).await.unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.kind),
            ("registry_timeout", Kind::Failed),
            "{error}"
        );
        assert!(error.message.contains(&format!("https://localhost:{port}")), "{error}");
        assert!(started.elapsed() < std::time::Duration::from_secs(5), "{:?}", started.elapsed());
    }
}

#[tokio::test]
async fn a_file_that_holds_no_certificate_is_told() {
    for file in ["generate", "absent.pem"] {
        let error = account("https://localhost:1", Some(file)).await.unwrap_err();
        assert_eq!(error.code, "certificates_unreadable", "{file}");
        assert!(error.message.contains(file), "{error}");
    }
}

#[tokio::test]
async fn plain_http_reads_no_certificate() {
    // The file is not there, and is not looked for.
    let error = account("http://127.0.0.1:1", Some("absent.pem")).await.unwrap_err();
    assert_eq!(error.code, "registry_unreachable");
}
