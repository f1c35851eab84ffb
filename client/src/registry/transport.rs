//! One request and its answer, within bounds of bytes and time.

use std::error::Error as _;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt as _, TryStreamExt as _};
use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use skillpkg_schema::wire::{MAX_ANSWER_BYTES, Problem};
use tokio::time::Instant;
use url::Url;

use super::connect::Patience;
use super::error::RegistryError;
use crate::meter::Part;
use crate::settings::{Connection, registry_text};

/// Most bytes of a problem document.
const MAX_PROBLEM_BYTES: u64 = 1024 * 1024;
/// How long is waited before the second and the third attempt.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];
/// The longest that a server's `Retry-After` is obeyed without asking.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long the file of an upload that broke off is held back when it is sent again.
///
/// A server that refuses an upload unread and closes the connection breaks it off before its answer
/// is read. Where nothing is sent, nothing stands in the way of the answer.
const HELD_BACK: Duration = Duration::from_millis(1_500);

/// What is sent.
#[derive(Debug, Clone)]
pub(super) enum Payload {
    /// Nothing.
    Nothing,
    /// A JSON document.
    Json(Bytes),
    /// A file of this many bytes, streamed, and counted as it goes.
    File(PathBuf, u64, Part),
}

/// One request.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    method: Method,
    url: Url,
    headers: Vec<(&'static str, String)>,
    payload: Payload,
    repeatable: bool,
}

impl Ask {
    /// A request that changes nothing, so that it may be sent again.
    pub(super) fn get(url: Url) -> Self {
        let payload = Payload::Nothing;
        Self { method: Method::GET, url, headers: Vec::new(), payload, repeatable: true }
    }

    /// A request that changes something.
    pub(super) fn new(method: Method, url: Url, payload: Payload) -> Self {
        Self { method, url, headers: Vec::new(), payload, repeatable: false }
    }

    /// May be sent again: twice does what once does.
    pub(super) fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// With this header.
    pub(super) fn header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// The bytes of a JSON document.
pub(super) fn json(document: &impl Serialize) -> Result<Payload, RegistryError> {
    let bytes = serde_json::to_vec(document)
        .map_err(|error| RegistryError::Shape { url: String::new(), reason: error.to_string() })?;
    Ok(Payload::Json(bytes.into()))
}

/// A token, which no debug output shows.
#[derive(Clone)]
struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The connections to one registry.
#[derive(Debug, Clone)]
pub(super) struct Transport {
    /// [`None`] for a registry that a bundle stands in for: nothing is ever sent.
    client: Option<Client>,
    base: Url,
    /// The proxy between, as messages show it.
    proxy: Option<String>,
    token: Option<Token>,
    patience: Patience,
}

impl Transport {
    pub(super) fn new(
        base: Url,
        token: Option<String>,
        connection: &Connection,
        patience: Patience,
    ) -> Result<Self, RegistryError> {
        check_token(token.as_deref(), &base)?;
        let client = super::connect::client(&base, connection, patience)?;
        let proxy = connection.proxy.as_ref().map(|proxy| registry_text(proxy).to_owned());
        Ok(Self { client: Some(client), base, proxy, token: token.map(Token), patience })
    }

    /// One that sends nothing.
    pub(super) fn none(base: Url) -> Self {
        let patience = Patience::default();
        Self { client: None, base, proxy: None, token: None, patience }
    }

    pub(super) fn base(&self) -> &Url {
        &self.base
    }

    pub(super) fn without_token(&self) -> Self {
        Self { token: None, ..self.clone() }
    }

    pub(super) fn with_token(&self, token: String) -> Result<Self, RegistryError> {
        check_token(Some(&token), &self.base)?;
        Ok(Self { token: Some(Token(token)), ..self.clone() })
    }

    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// The base URL as messages show it.
    pub(super) fn shown(&self) -> String {
        registry_text(&self.base).to_owned()
    }

    /// The URL of a route of the native API.
    pub(super) fn route(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        // A base of `http` or `https` always has a path to extend.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push("v1").extend(segments);
        }
        url
    }

    /// Asks, and reads a JSON answer.
    pub(super) async fn json<T: DeserializeOwned>(&self, ask: Ask) -> Result<T, RegistryError> {
        let body = self.json_bytes(ask).await?;
        serde_json::from_slice(&body)
            .map_err(|error| RegistryError::Shape { url: self.shown(), reason: error.to_string() })
    }

    /// Asks, and reads the bytes of a JSON answer.
    pub(super) async fn json_bytes(&self, ask: Ask) -> Result<Bytes, RegistryError> {
        let response = self.ask(ask).await?;
        let media_type = media_type(&response);
        if !is_json(&media_type) {
            let status = response.status().as_u16();
            return Err(RegistryError::NotRegistry { url: self.shown(), status, media_type });
        }
        self.body(response, MAX_ANSWER_BYTES).await
    }

    /// Asks, and reads an answer of at most `limit` bytes.
    pub(super) async fn bytes(&self, ask: Ask, limit: u64) -> Result<Bytes, RegistryError> {
        let response = self.ask(ask).await?;
        self.body(response, limit).await
    }

    /// [`Transport::bytes`], counted as they come.
    pub(super) async fn counted_bytes(
        &self,
        ask: Ask,
        limit: u64,
        part: &Part,
    ) -> Result<Bytes, RegistryError> {
        part.anew();
        let response = self.ask(ask).await?;
        self.counted_body(response, limit, |count| part.add(count)).await
    }

    /// Asks, and takes no notice of what a success says.
    pub(super) async fn done(&self, ask: Ask) -> Result<(), RegistryError> {
        let response = self.ask(ask).await?;
        self.body(response, MAX_ANSWER_BYTES).await.map(|_| ())
    }

    /// Sends a request, again where it may be and the failure can pass; answers with a success.
    async fn ask(&self, ask: Ask) -> Result<Response, RegistryError> {
        let mut pauses = PAUSES.into_iter();
        let mut held_back = Duration::ZERO;
        loop {
            let again = if ask.repeatable { pauses.next() } else { None };
            let request = self.request(&ask, held_back).await?;
            let wait = self.patience_for(&ask.payload) + held_back;
            let sent =
                tokio::time::timeout(wait, request.send()).await.map_err(|_| self.silent(wait))?;
            match (sent, again) {
                (Ok(response), Some(pause))
                    if response.status() == StatusCode::SERVICE_UNAVAILABLE =>
                {
                    let wanted = retry_after(&response).map_or(pause, Duration::from_secs);
                    if wanted > LONGEST_PAUSE {
                        return self.success(response).await;
                    }
                    tokio::time::sleep(wanted).await;
                }
                (Ok(response), _) => return self.success(response).await,
                (Err(error), Some(pause)) if error.is_connect() || error.is_request() => {
                    if !error.is_connect() {
                        held_back = HELD_BACK;
                    }
                    // A name that does not resolve or a certificate that is not trusted is no
                    // passing failure, but costs half a second at most.
                    tokio::time::sleep(pause).await;
                }
                (Err(error), _) => return Err(self.not_sent(&error, &ask.payload)),
            }
        }
    }

    /// The request; the file that it carries follows after so long.
    async fn request(
        &self,
        ask: &Ask,
        held_back: Duration,
    ) -> Result<RequestBuilder, RegistryError> {
        let client = self.client.as_ref();
        let client = client.ok_or_else(|| RegistryError::NotAsked { url: self.shown() })?;
        let mut request = client.request(ask.method.clone(), ask.url.clone());
        request = request.header(ACCEPT, "application/json, application/problem+json, */*;q=0.1");
        if let Some(Token(token)) = &self.token {
            request = request.bearer_auth(token);
        }
        for (name, value) in &ask.headers {
            request = request.header(*name, value);
        }
        Ok(match &ask.payload {
            Payload::Nothing => request,
            Payload::Json(bytes) => {
                request.header(CONTENT_TYPE, "application/json").body(bytes.clone())
            }
            Payload::File(path, size, part) => {
                let file = tokio::fs::File::open(path).await.map_err(|error| {
                    RegistryError::File { file: path.clone(), reason: error.to_string() }
                })?;
                part.anew();
                let part = part.clone();
                let pieces = tokio_util::io::ReaderStream::with_capacity(file, 64 * 1024)
                    .inspect_ok(move |piece| part.add(piece.len() as u64));
                let pieces = async move {
                    tokio::time::sleep(held_back).await;
                    pieces
                };
                let pieces = pieces.flatten_stream();
                request.header(CONTENT_LENGTH, *size).body(reqwest::Body::wrap_stream(pieces))
            }
        })
    }

    /// An upload takes its time, and the server checks all of it before it answers.
    fn patience_for(&self, payload: &Payload) -> Duration {
        match payload {
            Payload::File(_, size, _) => {
                self.patience.answer * 2 + Duration::from_secs(size / (16 * 1024))
            }
            _ => self.patience.answer,
        }
    }

    /// The response where it is a success; else what is wrong.
    async fn success(&self, response: Response) -> Result<Response, RegistryError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let url = self.shown();
        if status.is_redirection() {
            let target = response.headers().get(LOCATION).map(HeaderValue::as_bytes);
            let target = String::from_utf8_lossy(target.unwrap_or_default()).into_owned();
            return Err(RegistryError::Redirect { url, target });
        }
        let retry_after = retry_after(&response);
        let media_type = media_type(&response);
        if is_json(&media_type) {
            let body = self.body(response, MAX_PROBLEM_BYTES).await?;
            if let Ok(problem) = serde_json::from_slice::<Problem>(&body) {
                let problem = Box::new(Problem { status: status.as_u16(), ..problem });
                return Err(RegistryError::Problem { url, problem, retry_after });
            }
        }
        let status = status.as_u16();
        // A registry says in words of its own that it has no such route or no such skill.
        if matches!(status, 400 | 404 | 405 | 410 | 501) {
            return Err(RegistryError::NotRegistry { url, status, media_type });
        }
        Err(RegistryError::Status { url, status })
    }

    /// Reads a body of at most `limit` bytes that comes fast enough.
    async fn body(&self, response: Response, limit: u64) -> Result<Bytes, RegistryError> {
        self.counted_body(response, limit, |_| {}).await
    }

    async fn counted_body(
        &self,
        mut response: Response,
        limit: u64,
        count: impl Fn(u64),
    ) -> Result<Bytes, RegistryError> {
        let too_long = || RegistryError::TooLong { url: self.shown(), limit };
        let announced = response.content_length();
        if announced.is_some_and(|length| length > limit) {
            return Err(too_long());
        }
        let mut body = Vec::new();
        let reserve = usize::try_from(announced.unwrap_or(0)).unwrap_or(usize::MAX);
        body.try_reserve_exact(reserve).map_err(|_| too_long())?;
        let mut window_end = Instant::now() + self.patience.window;
        let mut in_window = 0_u64;
        loop {
            let chunk = tokio::time::timeout_at(window_end, response.chunk()).await;
            match chunk {
                Ok(Ok(None)) => return Ok(body.into()),
                Ok(Ok(Some(chunk))) => {
                    if body.len() as u64 + chunk.len() as u64 > limit {
                        return Err(too_long());
                    }
                    in_window += chunk.len() as u64;
                    count(chunk.len() as u64);
                    body.extend_from_slice(&chunk);
                }
                Ok(Err(error)) => {
                    let (url, proxy, cause) = (self.shown(), self.proxy.clone(), cause(&error));
                    let (received, expected) = (body.len() as u64, announced);
                    return Err(RegistryError::CutOff { url, proxy, received, expected, cause });
                }
                Err(_) => {}
            }
            if Instant::now() >= window_end {
                if in_window < self.patience.least_bytes {
                    let (url, waited) = (self.shown(), self.patience.window);
                    return Err(RegistryError::Slow { url, received: in_window, waited });
                }
                window_end = Instant::now() + self.patience.window;
                in_window = 0;
            }
        }
    }

    /// Why a request was not answered.
    fn not_sent(&self, error: &reqwest::Error, payload: &Payload) -> RegistryError {
        match payload {
            Payload::File(_, size, _) if !error.is_connect() && !error.is_timeout() => {
                let (url, proxy) = (self.shown(), self.proxy.clone());
                RegistryError::BrokenOff { url, proxy, size: *size, cause: cause(error) }
            }
            _ => self.unreachable(error),
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> RegistryError {
        if error.is_timeout() {
            return self.silent(self.patience.connect);
        }
        let (url, proxy) = (self.shown(), self.proxy.clone());
        RegistryError::Unreachable { url, proxy, cause: cause(error) }
    }

    fn silent(&self, waited: Duration) -> RegistryError {
        RegistryError::Silent { url: self.shown(), proxy: self.proxy.clone(), waited }
    }
}

/// Refuses what cannot stand in a header.
fn check_token(token: Option<&str>, base: &Url) -> Result<(), RegistryError> {
    if token.is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())) {
        return Err(RegistryError::Token { url: registry_text(base).to_owned() });
    }
    Ok(())
}

/// The innermost cause: what the operating system or the other side said.
pub(super) fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    let mut inner = error.source();
    while let Some(next) = inner {
        cause = next;
        inner = next.source();
    }
    cause.to_string()
}

fn media_type(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let value = String::from_utf8_lossy(value.unwrap_or_default()).to_ascii_lowercase();
    value.split(';').next().unwrap_or_default().trim().to_owned()
}

fn is_json(media_type: &str) -> bool {
    media_type == "application/json" || media_type.ends_with("+json")
}

/// The seconds of `Retry-After`, where it holds any.
fn retry_after(response: &Response) -> Option<u64> {
    response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()
}
