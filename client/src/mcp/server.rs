//! What all sessions and requests share.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use rmcp::ErrorData;
use tokio::sync::{Semaphore, broadcast};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::allowed::Allowed;
use super::catalogue::{Catalogue, Changes};
use super::pending::Pending;
use super::turns::Turns;
use super::{skill, watch};
use crate::Error;
use crate::host::{Host, HostOptions};

/// Most requests that read the store at once; more wait.
const MOST_READING: usize = 4;
/// Most changes that a session may lag behind before it is told that everything may have changed.
const MOST_CHANGES: usize = 64;
/// Most different things that are told of skills which are not served as they might be.
const MOST_TOLD: usize = 1_000;

/// Takes what is worth telling whoever runs the server, a sentence each; safe to print.
pub type Told = Arc<dyn Fn(&str) + Send + Sync>;

/// What is served, and how.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The skills and what they run with. Whether each script has a runner is looked at when it is
    /// called.
    pub host: HostOptions,
    /// What may be called without a question, over what the settings allow.
    pub allow: Vec<Allowed>,
    /// Longest run of a call; a script's own timeout can only be made shorter.
    pub timeout: Option<Duration>,
}

/// Serves the active skills of one project to hosts that speak the Model Context Protocol, on any
/// number of connections. Cheap to clone.
#[derive(Clone)]
pub struct Server {
    pub(super) shared: Arc<Shared>,
}

/// What all sessions and requests share.
pub(super) struct Shared {
    pub(super) host: Host,
    pub(super) allow: Vec<Allowed>,
    pub(super) timeout: Option<Duration>,
    /// Calls that run, and those that wait.
    pub(super) turns: Turns,
    /// Questions that clients were given to bring back with an answer.
    pub(super) pending: Pending,
    /// What changed, as it changes.
    pub(super) changes: broadcast::Sender<Changes>,
    /// Cancelled when the server is told to end.
    pub(super) stopping: CancellationToken,
    /// Cancelled then, and when nobody is there any more: nothing that was started outlives it.
    pub(super) ending: CancellationToken,
    /// What runs beside requests.
    pub(super) tasks: TaskTracker,
    reading: Semaphore,
    told: Told,
    already_told: Mutex<BTreeSet<String>>,
}

impl Server {
    /// Opens the store and starts to watch what is active.
    ///
    /// Wants a Tokio runtime with its drivers on. A skill that may not be seen is told and left out;
    /// only a store, a state or a policy that cannot be read fails.
    pub fn open(options: ServerOptions, told: Told) -> Result<Self, Error> {
        let ServerOptions { mut host, mut allow, timeout } = options;
        host.check_runners = false;
        allow.extend(host.settings.allow.iter().cloned());
        let stopping = CancellationToken::new();
        let shared = Arc::new(Shared {
            host: Host::open(host)?,
            allow,
            timeout,
            turns: Turns::default(),
            pending: Pending::default(),
            changes: broadcast::channel(MOST_CHANGES).0,
            ending: stopping.child_token(),
            stopping,
            tasks: TaskTracker::new(),
            reading: Semaphore::new(MOST_READING),
            told,
            already_told: Mutex::default(),
        });
        let seen = shared.look()?;
        for one in skill::left_out(&shared.host, &seen) {
            shared.tell_once(&one);
        }
        shared.tasks.spawn(watch::watch(Arc::clone(&shared), seen));
        Ok(Self { shared })
    }

    /// Ends every call, and the process group of each. Whoever serves returns soon after.
    pub fn end(&self) {
        self.shared.stopping.cancel();
    }

    /// Waits until nothing runs any more that was started for a request, at most for a moment.
    pub(super) async fn ended(&self) {
        self.end();
        self.shared.tasks.close();
        let patience = Duration::from_secs(2);
        let _ = tokio::time::timeout(patience, self.shared.turns.all_free()).await;
        let _ = tokio::time::timeout(patience, self.shared.tasks.wait()).await;
    }
}

/// What of the active skills a server would leave out, and why, as sentences.
pub fn left_out(host: &Host) -> Result<Vec<String>, Error> {
    let catalogue = Catalogue::look(host)?;
    let unlisted = skill::left_out(host, &catalogue);
    Ok(catalogue.left_out.into_iter().chain(unlisted).collect())
}

impl Shared {
    /// What is active now; tells what is left out, once.
    pub(super) fn look(&self) -> Result<Catalogue, Error> {
        let catalogue = Catalogue::look(&self.host)?;
        for one in &catalogue.left_out {
            self.tell_once(one);
        }
        Ok(catalogue)
    }

    /// Tells whoever runs the server.
    pub(super) fn tell(&self, sentence: &str) {
        (self.told)(sentence);
    }

    /// Tells it where it was not told before.
    pub(super) fn tell_once(&self, sentence: &str) {
        let is_new = {
            let mut told = self.already_told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.len() >= MOST_TOLD {
                told.clear();
            }
            told.insert(sentence.to_owned())
        };
        if is_new {
            self.tell(sentence);
        }
    }

    /// Runs what reads the store on a thread where that may take its time. One that panics is an
    /// answer like others.
    pub(super) async fn read<T, F>(self: &Arc<Self>, body: F) -> Result<T, ErrorData>
    where
        T: Send + 'static,
        F: FnOnce(&Self) -> Result<T, ErrorData> + Send + 'static,
    {
        let Ok(_turn) = self.reading.acquire().await else { return Err(lost()) };
        let shared = Arc::clone(self);
        tokio::task::spawn_blocking(move || body(&shared)).await.unwrap_or_else(|_| Err(lost()))
    }
}

/// Answers also where `body` panics: a request without an answer would hang its client.
pub(super) async fn answered<T>(
    body: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    AssertUnwindSafe(body).catch_unwind().await.unwrap_or_else(|_| Err(lost()))
}

fn lost() -> ErrorData {
    ErrorData::internal_error("the request was lost within the server: a fault of skillpkg", None)
}

/// A failure of this library as a protocol's error.
pub(super) fn internal(error: &Error) -> ErrorData {
    let code = serde_json::json!({ "code": error.code });
    ErrorData::internal_error(error.to_string(), Some(code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    #[tokio::test]
    async fn a_panic_is_an_answer_and_the_server_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let host = HostOptions::new(Settings::new(at("home"), at("user"), at("project")));
        let options = ServerOptions { host, allow: Vec::new(), timeout: None };
        let server = Server::open(options, Arc::new(|_: &str| {})).unwrap();
        for _ in 0..2 * MOST_READING {
            let lost = server.shared.read(|_| -> Result<(), _> { panic!("on purpose") }).await;
            assert_eq!(lost.unwrap_err().code.0, -32603);
        }
        assert_eq!(server.shared.read(|_| Ok(1)).await.unwrap(), 1);
        let lost =
            answered(async { Err(Vec::<ErrorData>::new().remove(0)) as Result<(), _> }).await;
        assert_eq!(lost.unwrap_err().code.0, -32603);
        server.ended().await;
    }

    #[tokio::test]
    async fn what_is_left_out_is_told_once() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let host = HostOptions::new(Settings::new(at("home"), at("user"), at("project")));
        let told = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&told);
        let told_to: Told = Arc::new(move |one: &str| kept.lock().unwrap().push(one.to_owned()));
        let options = ServerOptions { host, allow: Vec::new(), timeout: None };
        let server = Server::open(options, told_to).unwrap();
        for sentence in ["one", "two", "one"] {
            server.shared.tell_once(sentence);
        }
        assert_eq!(*told.lock().unwrap(), ["one", "two"]);
    }
}
