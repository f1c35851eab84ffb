//! Serving any number of clients over streamable HTTP.

mod sessions;
mod token;

pub use token::{Token, TokenError};

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use skillpkg_schema::diagnostic::escape;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use url::Url;

use self::sessions::Sessions;
use super::handler::Handler;
use super::server::Server;
use crate::{Error, Kind};

/// Where the one endpoint is.
pub const PATH: &str = "/mcp";
/// Most connections at once; more wait to be accepted.
const MOST_CONNECTIONS: usize = 256;
/// How long a connection may take to send the head of a request, or to send none.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Most bytes of the head of a request.
const MOST_HEAD_BYTES: usize = 32 * 1024;
/// Most bytes of a message.
const MOST_BODY_BYTES: usize = 4 * 1024 * 1024;
/// How long answers may take to end once the server is told to stop.
const GRACE: Duration = Duration::from_secs(3);

type Service = StreamableHttpService<Handler, Sessions>;
type Answer = Response<BoxBody<Bytes, Infallible>>;

/// Who is answered.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Without it nobody is; [`None`] for whoever can connect.
    token: Option<Token>,
    /// Authorities that a client may know the server by, beside those of its address.
    hosts: Vec<String>,
    /// Origins of web pages that may talk to it, each with its port, beside those of its address.
    origins: Vec<String>,
}

impl HttpOptions {
    /// Who is answered by a server at `address`.
    ///
    /// Without a token a server is refused at an address that other machines reach.
    pub fn new(address: SocketAddr, token: Option<Token>) -> Result<Self, Error> {
        if token.is_none() && !address.ip().is_loopback() {
            let message =
                format!("a server at {address} without a token would run what anybody asks");
            return Err(Error::new(Kind::Usage, "token_required", message)
                .with_hint("leave `--no-token` out, or listen on 127.0.0.1"));
        }
        Ok(Self { token, hosts: Vec::new(), origins: Vec::new() })
    }

    /// With these names, `HOST` for any port or `HOST:PORT`, that clients may know the server by.
    pub fn with_hosts(mut self, hosts: Vec<String>) -> Result<Self, Error> {
        for host in &hosts {
            if host.contains('@') || host.parse::<Authority>().is_err() {
                let message = format!("`{}` is neither `HOST` nor `HOST:PORT`", escape(host));
                return Err(Error::new(Kind::Usage, "host_invalid", message));
            }
        }
        self.hosts = hosts;
        Ok(self)
    }

    /// With these origins, `SCHEME://HOST[:PORT]`, of web pages that may talk to it.
    pub fn with_origins(mut self, origins: &[String]) -> Result<Self, Error> {
        for text in origins {
            let url = Url::parse(text).ok().filter(|url| {
                matches!(url.scheme(), "http" | "https")
                    && url.as_str() == format!("{}/", url.origin().ascii_serialization())
            });
            let port = url.as_ref().and_then(Url::port_or_known_default);
            let host = url.as_ref().and_then(Url::host_str);
            let (Some(url), Some(host), Some(port)) = (&url, host, port) else {
                let message = format!("`{}` is no origin", escape(text));
                return Err(Error::new(Kind::Usage, "origin_invalid", message)
                    .with_hint("write it as `https://host.test:443`"));
            };
            self.origins.push(format!("{}://{host}:{port}", url.scheme()));
        }
        Ok(self)
    }

    /// What the protocol's library is told.
    fn config(&self, address: SocketAddr) -> StreamableHttpServerConfig {
        let port = address.port();
        let mut hosts = vec![address.to_string()];
        if address.ip().is_loopback() {
            hosts.extend([
                format!("localhost:{port}"),
                format!("127.0.0.1:{port}"),
                format!("[::1]:{port}"),
            ]);
        }
        let mut origins: Vec<String> = hosts.iter().map(|host| format!("http://{host}")).collect();
        hosts.extend(self.hosts.iter().cloned());
        origins.extend(self.origins.iter().cloned());
        StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts)
            .with_allowed_origins(origins)
            .enforce_origin_validation()
            .with_max_request_body_bytes(MOST_BODY_BYTES)
    }
}

impl Server {
    /// Serves whoever connects to `listener` and may, until the server ends. What runs then is
    /// killed.
    pub async fn serve_http(
        &self,
        listener: TcpListener,
        options: HttpOptions,
    ) -> Result<(), Error> {
        let address = listener.local_addr().map_err(|error| {
            Error::new(Kind::Failed, "listen_failed", format!("the address is not known: {error}"))
        })?;
        // The address that was opened is the one that counts.
        HttpOptions::new(address, options.token.clone())?;
        let ending = self.shared.ending.clone();
        let config = options.config(address).with_cancellation_token(ending.child_token());
        let server = self.clone();
        let service = StreamableHttpService::new(
            move || Ok(Handler::new(&server)),
            Arc::new(Sessions::default()),
            config,
        );
        let front = Arc::new(Front { service, token: options.token });
        let graceful = GracefulShutdown::new();
        let turns = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        loop {
            let accepted = tokio::select! {
                () = ending.cancelled() => break,
                accepted = accept(&listener, &turns) => accepted,
            };
            let Some((stream, turn)) = accepted else {
                // Out of descriptors, or a peer that was gone already: neither is the end.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let _ = stream.set_nodelay(true);
            let front = Arc::clone(&front);
            let answer = service_fn(move |request| {
                let front = Arc::clone(&front);
                async move { Ok::<_, Infallible>(front.answer(request).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .max_buf_size(MOST_HEAD_BYTES)
                .serve_connection(TokioIo::new(stream), answer);
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                // A client that goes away has nobody to be told to.
                let _ = connection.await;
                drop(turn);
            });
        }
        drop(listener);
        let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
        self.ended().await;
        Ok(())
    }
}

/// A connection that has its turn.
async fn accept(
    listener: &TcpListener,
    turns: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let turn = Arc::clone(turns).acquire_owned().await.ok()?;
    listener.accept().await.ok().map(|(stream, _)| (stream, turn))
}

/// Lets through who may.
struct Front {
    service: Service,
    token: Option<Token>,
}

impl Front {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        if let Some(token) = &self.token {
            let header = request.headers().get(AUTHORIZATION);
            if !header.is_some_and(|header| token.is_given_by(header.as_bytes())) {
                let mut answer = plain(
                    StatusCode::UNAUTHORIZED,
                    "send the token of this server: `Authorization: Bearer TOKEN`\n",
                );
                answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
                return answer;
            }
        }
        if request.uri().path() != PATH {
            return plain(StatusCode::NOT_FOUND, "the endpoint is /mcp\n");
        }
        self.service.handle(request).await
    }
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = Response::new(Full::from(text).boxed());
    *answer.status_mut() = status;
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_token_only_this_machine_is_served() {
        for (address, served) in [
            ("127.0.0.1:0", true),
            ("127.8.8.8:1", true),
            ("[::1]:0", true),
            ("0.0.0.0:1", false),
            ("192.0.2.1:1", false),
            ("[::]:1", false),
        ] {
            let address: SocketAddr = address.parse().unwrap();
            assert_eq!(HttpOptions::new(address, None).is_ok(), served, "{address}");
            let token = Token::new("0123456789abcdef").unwrap();
            assert!(HttpOptions::new(address, Some(token)).is_ok());
        }
    }

    #[test]
    fn names_and_origins_are_those_that_a_header_can_have() {
        let options = || HttpOptions::new("127.0.0.1:1".parse().unwrap(), None).unwrap();
        for (host, taken) in [
            ("mcp.test", true),
            ("mcp.test:8443", true),
            ("[::1]:80", true),
            ("https://mcp.test", false),
            ("a@b", false),
            ("", false),
        ] {
            assert_eq!(options().with_hosts(vec![host.to_owned()]).is_ok(), taken, "{host}");
        }
        for (origin, taken) in [
            ("https://app.test", Some("https://app.test:443")),
            ("http://app.test:8080", Some("http://app.test:8080")),
            ("http://[::1]:1", Some("http://[::1]:1")),
            ("https://app.test/path", None),
            ("https://u@app.test", None),
            ("app.test", None),
            ("null", None),
            ("file:///x", None),
        ] {
            let read = options().with_origins(&[origin.to_owned()]).ok();
            assert_eq!(
                read.map(|read| read.origins),
                taken.map(|taken| vec![taken.to_owned()]),
                "{origin}"
            );
        }
    }
}
