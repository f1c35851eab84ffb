//! What every request shares.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use skillpkg_schema::{ContentAddress, SkillName};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinHandle;

use crate::auth::Authenticator;
use crate::contents::Contents;
use crate::data::Data;
use crate::documents::DocumentCache;
use crate::downloads::Downloads;
use crate::faces::uploads::Uploads;
use crate::faces::{Face, Faces};
use crate::log::{Log, LogError, Progress};
use crate::metrics::Metrics;
use crate::mirror::Mirror;
use crate::mirror::flights::Flights;
use crate::names::judgement::Confusable;
use crate::names::popular::Popular;
use crate::oidc::Oidc;
use crate::problem::{Answer, Refusal};
use crate::rates::{self, Rates};
use crate::room::Room;
use crate::skills::publish::{Pace, Step};
use crate::web::Web;

/// Called at each step of a publish; an error ends the publish there, as a crash would.
pub type AtStep = Arc<dyn Fn(Step) -> std::io::Result<()> + Send + Sync>;

/// What an operator sets.
#[derive(Clone)]
pub struct Options {
    /// New bare names that an account may take within an hour; 0 for any number.
    pub new_names_per_hour: u32,
    /// What is done with a new name that reads like a popular one.
    pub confusable_names: Confusable,
    /// Bare names that count as popular whoever uses them.
    pub popular_names: Vec<SkillName>,
    /// How old what is known of popular names may be.
    pub popular_fresh_for: Duration,
    /// How many requests an account and an address may make.
    pub rates: rates::Limits,
    /// How fast an upload must come.
    pub pace: Pace,
    /// Uploads received at once: they take disk, at most the archive bound each.
    pub uploads: usize,
    /// Uploads of one account received at once: slow ones hold up nobody else.
    pub uploads_per_account: usize,
    /// How long a publish waits for its turn.
    pub patience: Duration,
    /// Archives verified at once: each takes memory for a frame's window and a manifest, and disk
    /// for what it unpacks to.
    pub verifications: usize,
    /// The origin of the log, which counts at the first start alone.
    pub origin: Option<String>,
    /// Which protocols of other people's clients are spoken, and how.
    pub faces: Faces,
    /// The issuers whose jobs may publish, where there are any.
    pub oidc: Option<Arc<Oidc>>,
    /// For tests of crashes.
    pub at_step: Option<AtStep>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            new_names_per_hour: 100,
            confusable_names: Confusable::default(),
            popular_names: Vec::new(),
            popular_fresh_for: Duration::from_mins(1),
            rates: rates::Limits::default(),
            pace: Pace::default(),
            uploads: 64,
            uploads_per_account: 4,
            patience: Duration::from_mins(1),
            verifications: 4,
            origin: None,
            faces: Faces::default(),
            oidc: None,
            at_step: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("new_names_per_hour", &self.new_names_per_hour)
            .field("confusable_names", &self.confusable_names)
            .field("rates", &self.rates)
            .field("pace", &self.pace)
            .field("uploads", &self.uploads)
            .field("uploads_per_account", &self.uploads_per_account)
            .field("patience", &self.patience)
            .field("verifications", &self.verifications)
            .field("faces", &self.faces)
            .field("oidc", &self.oidc)
            .finish_non_exhaustive()
    }
}

/// The right to one upload, until it is dropped.
#[derive(Debug)]
pub struct UploadPermit {
    _of_account: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

/// The task of the log's sequencer.
#[derive(Debug)]
struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// The registry that requests are made to; cheap to clone.
#[derive(Debug, Clone)]
pub struct Registry(Arc<Inner>);

/// What a registry consists of.
#[derive(Debug)]
pub struct Inner {
    /// The data directory.
    pub data: Data,
    /// What the operator set.
    pub options: Options,
    /// Who calls.
    pub authenticator: Authenticator,
    /// Documents that are ready.
    pub documents: Arc<DocumentCache>,
    /// Content that is ready.
    pub contents: Contents,
    /// Archives handed out, of which the database does not know yet.
    pub downloads: Downloads,
    /// What is known of the room on its disk.
    pub room: Room,
    /// What it counts of itself.
    pub metrics: Arc<Metrics>,
    /// Requests counted.
    pub rates: Rates,
    /// Names that others must not be taken for.
    pub popular: Popular,
    /// The transparency log.
    pub log: Arc<Log>,
    sequencer: Mutex<Option<Running>>,
    /// Files that are uploaded one by one, until they are published together.
    pub uploads_of_faces: Uploads,
    /// Held by whoever makes a key that is held for an account.
    pub(crate) held_keys: tokio::sync::Mutex<()>,
    /// Containers that are being made, each once.
    pub(crate) renderings: Flights<(ContentAddress, Face)>,
    /// The registry that this one mirrors, where it mirrors one.
    pub mirror: Option<Mirror>,
    /// Pages that are ready, and who is signed in.
    pub web: Web,
    uploads: Arc<Semaphore>,
    /// Of the accounts that upload or wait to.
    account_uploads: Mutex<HashMap<i64, Arc<Semaphore>>>,
    verifications: Arc<Semaphore>,
}

impl std::ops::Deref for Registry {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Registry {
    /// A registry over a data directory that this process has claimed, with its log, which is made
    /// where there is none.
    ///
    /// A task takes what is pending into the log until [`Registry::close`].
    pub async fn open(data: Data, options: Options) -> Result<Self, LogError> {
        Self::open_mirroring(data, options, None).await
    }

    /// The same, which mirrors another registry beside.
    pub async fn open_mirroring(
        data: Data,
        options: Options,
        mirror: Option<Mirror>,
    ) -> Result<Self, LogError> {
        let database = &data.database;
        let metrics = Arc::<Metrics>::default();
        let popular = Popular::new(options.popular_names.clone(), options.popular_fresh_for);
        let progress = Arc::new(Progress::new());
        let documents =
            DocumentCache::new(database.clone(), Arc::clone(&progress), metrics.documents.clone());
        let documents = Arc::new(documents);
        let (log, sequencer) = Log::open(
            data.clone(),
            Arc::clone(&documents),
            progress,
            options.origin.as_deref(),
            options.at_step.clone(),
        )
        .await?;
        data.note_blobs().map_err(LogError::Unnoted)?;
        if let Some(mirror) = &mirror {
            mirror.beside(log.origin());
        }
        let web = Web::new(options.faces.public_url.as_ref());
        let (stop, stopped) = oneshot::channel();
        let stopped = async {
            let _: Result<(), _> = stopped.await;
        };
        let sequencer = Running { stop, task: tokio::spawn(sequencer.run(stopped)) };
        Ok(Self(Arc::new(Inner {
            log,
            sequencer: Mutex::new(Some(sequencer)),
            authenticator: Authenticator::new(database.clone()),
            documents,
            contents: Contents::new(database.clone(), data.blobs.clone(), metrics.contents.clone()),
            downloads: Downloads::default(),
            room: Room::default(),
            metrics,
            rates: Rates::new(options.rates.clone()),
            popular,
            uploads_of_faces: Uploads::default(),
            held_keys: tokio::sync::Mutex::default(),
            renderings: Flights::default(),
            web,
            uploads: Arc::new(Semaphore::new(options.uploads)),
            account_uploads: Mutex::default(),
            verifications: Arc::new(Semaphore::new(options.verifications)),
            mirror,
            data,
            options,
        })))
    }

    /// Ends what the registry does by itself, once what it is at is done, and closes the database.
    pub async fn close(&self) {
        let running = self.sequencer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Running { stop, task }) = running {
            let _ = stop.send(());
            if let Err(error) = task.await {
                tracing::warn!(%error, "the log's task ended early");
            }
        }
        self.data.database.close().await;
    }

    /// The right of an account to one upload; refused where none is free for too long.
    pub async fn upload_permit(&self, account: i64) -> Answer<UploadPermit> {
        let of_account = self.uploads_of(account);
        // The account's own turn first: who waits for it keeps nobody else waiting.
        let turn = async {
            let of_account = of_account.acquire_owned().await?;
            let of_all = Arc::clone(&self.uploads).acquire_owned().await?;
            Ok::<_, AcquireError>(UploadPermit { _of_account: of_account, _of_all: of_all })
        };
        match tokio::time::timeout(self.options.patience, turn).await {
            Ok(turn) => turn.map_err(|error| Refusal::internal(&error)),
            Err(_) => Err(Refusal::unavailable("too many publishes at once; try again", 5)),
        }
    }

    fn uploads_of(&self, account: i64) -> Arc<Semaphore> {
        let mut accounts = self.account_uploads.lock().unwrap_or_else(PoisonError::into_inner);
        accounts.retain(|_, uploads| Arc::strong_count(uploads) > 1);
        let most = self.options.uploads_per_account;
        Arc::clone(accounts.entry(account).or_insert_with(|| Arc::new(Semaphore::new(most))))
    }

    /// The right to verify one archive; those that have one are done soon.
    pub async fn verification_permit(&self) -> Answer<OwnedSemaphorePermit> {
        let turn = Arc::clone(&self.verifications).acquire_owned();
        turn.await.map_err(|error| Refusal::internal(&error))
    }

    /// Marks a step of a publish.
    pub fn at(&self, step: Step) -> Answer<()> {
        match &self.options.at_step {
            Some(at_step) => Ok(at_step(step)?),
            None => Ok(()),
        }
    }
}
