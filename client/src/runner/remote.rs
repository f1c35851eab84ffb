//! A runner that hands the effective JSON to a service over HTTP.

use std::time::Instant;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response};
use skillpkg_schema::Sha256Digest;
use skillpkg_schema::diagnostic::escape;
use url::Url;

use super::{FailureKind, RunContext, RunFailure, RunOutput, Runner, Script, ScriptSource};
use crate::{Error, Kind};

/// Names the script in a request.
const SCRIPT: HeaderName = HeaderName::from_static("skillpkg-script");
/// Names the script's runtime in a request.
const RUNTIME: HeaderName = HeaderName::from_static("skillpkg-runtime");
/// The address of the script's bytes in a request, where it has bytes.
const CONTENT: HeaderName = HeaderName::from_static("skillpkg-content");

/// Runs scripts of one runtime by `POST`ing the effective JSON to a URL.
///
/// The request's body is exactly the effective JSON; the headers `skillpkg-script`,
/// `skillpkg-runtime` and `skillpkg-content` (the address of the script's bytes) say what is to be
/// run. The body of an answer with a status of 2xx is the result. Redirects are refused, and
/// nothing of the environment is sent.
#[derive(Debug, Clone)]
pub struct RemoteRunner {
    runtime: String,
    url: Url,
}

impl RemoteRunner {
    /// The runner of `runtime` at `url`, which is of `http` or `https`. Connects to nothing yet.
    pub fn new(runtime: impl Into<String>, url: Url) -> Result<Self, Error> {
        let runtime = runtime.into();
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            let message = format!(
                "the remote runner of `{}` is at `{}`, which is no http or https URL",
                escape(&runtime),
                shown(&url)
            );
            return Err(Error::new(Kind::Usage, "runner_invalid", message));
        }
        Ok(Self { runtime, url })
    }

    /// Where the script is run: a job's own URI where it has one and that lies beneath the runner's.
    fn target(&self, script: &Script) -> Option<Url> {
        let ScriptSource::Uri(job) = &script.reference.source else {
            return Some(self.url.clone());
        };
        let base = self.url.path().trim_end_matches('/');
        let beneath = job
            .path()
            .strip_prefix(base)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        (job.origin() == self.url.origin() && beneath).then(|| job.clone())
    }

    async fn post(&self, context: &RunContext<'_>) -> Result<RunOutput, RunFailure> {
        let started = Instant::now();
        let target = self.target(context.script).ok_or_else(|| {
            let message = format!("{} does not run this job", self.name());
            RunFailure::new(FailureKind::RunnerUnavailable, message)
        })?;
        let answer = client()?
            .post(target)
            .headers(headers(context)?)
            .body(context.input.to_owned())
            .send()
            .await
            .map_err(|error| self.unreachable(&error))?;
        if !answer.status().is_success() {
            let what = if answer.status().is_redirection() {
                "a redirect, which is refused"
            } else {
                "a failure"
            };
            let message = format!(
                "{} answered with {what} (status {})",
                self.name(),
                answer.status().as_u16()
            );
            return Err(RunFailure::new(FailureKind::ExecutionFailed, message));
        }
        let stdout = self.body(answer, context.maximum_output_bytes).await?;
        if std::str::from_utf8(&stdout).is_err() {
            let message = format!("{} answered with what is not UTF-8 text", self.name());
            return Err(RunFailure::new(FailureKind::UnsupportedResult, message));
        }
        Ok(RunOutput {
            exit: 0,
            stdout,
            stderr: Vec::new(),
            argv: Vec::new(),
            duration: started.elapsed(),
        })
    }

    /// The answer's body as long as it is within the bound; no more of it is held.
    async fn body(&self, answer: Response, bound: u64) -> Result<Vec<u8>, RunFailure> {
        let too_large = || {
            let message = format!("{} answered with more than {bound} bytes", self.name());
            RunFailure::new(FailureKind::OutputTooLarge, message)
        };
        if answer.content_length().is_some_and(|length| length > bound) {
            return Err(too_large());
        }
        let mut stream = answer.bytes_stream();
        let mut body = Vec::new();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|error| {
                let message =
                    format!("the answer of {} broke off: {}", self.name(), error.without_url());
                RunFailure::new(FailureKind::ExecutionFailed, message)
            })?;
            if (body.len() as u64).saturating_add(chunk.len() as u64) > bound {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn unreachable(&self, error: &reqwest::Error) -> RunFailure {
        let reason = if error.is_connect() { "cannot be reached" } else { "did not answer" };
        let message = format!("{} {reason}", self.name());
        RunFailure::new(FailureKind::RunnerUnavailable, message)
    }
}

impl Runner for RemoteRunner {
    fn name(&self) -> String {
        format!("remote `{}`", shown(&self.url))
    }

    fn can_run(&self, script: &Script) -> bool {
        script.reference.runtime == self.runtime && self.target(script).is_some()
    }

    fn run<'a>(&'a self, context: RunContext<'a>) -> BoxFuture<'a, Result<RunOutput, RunFailure>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = context.cancellation.cancelled() => {
                    let message = format!("the call of {} was cancelled", self.name());
                    Err(RunFailure::new(FailureKind::Cancelled, message))
                }
                () = tokio::time::sleep(context.timeout) => {
                    let message = format!(
                        "{} did not answer within {} s",
                        self.name(),
                        context.timeout.as_secs_f64()
                    );
                    Err(RunFailure::new(FailureKind::TimedOut, message))
                }
                result = self.post(&context) => result,
            }
        })
    }
}

/// A URL without what may be secret in it: credentials and query.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    escape(url.as_str())
}

fn client() -> Result<Client, RunFailure> {
    // Fails only where the process has a provider already, which then serves.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        // A script may have effects: it is never run twice for one call.
        .retry(reqwest::retry::never())
        // The library reads no environment, and no other host is asked.
        .no_proxy()
        .referer(false)
        .user_agent(concat!("skillpkg/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| {
            let message = format!("cannot speak HTTP: {}", error.without_url());
            RunFailure::new(FailureKind::RunnerUnavailable, message)
        })
}

fn headers(context: &RunContext<'_>) -> Result<HeaderMap, RunFailure> {
    let reference = &context.script.reference;
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let address = match &reference.source {
        ScriptSource::Content(address) | ScriptSource::File { address: Some(address), .. } => {
            Some(address.to_string())
        }
        ScriptSource::Embedded(bytes) => Some(Sha256Digest::of(bytes).address().to_string()),
        ScriptSource::File { address: None, .. } => {
            Some(Sha256Digest::of(&context.script_bytes()?).address().to_string())
        }
        ScriptSource::Uri(_) => None,
    };
    let named = [
        (SCRIPT, Some(context.script.name.clone())),
        (RUNTIME, Some(reference.runtime.clone())),
        (CONTENT, address),
    ];
    for (name, value) in named {
        if let Some(value) = value {
            let value = HeaderValue::try_from(value).map_err(|_| {
                let message = format!("{name} holds what a header cannot");
                RunFailure::new(FailureKind::InvalidContent, message)
            })?;
            headers.insert(name, value);
        }
    }
    Ok(headers)
}
