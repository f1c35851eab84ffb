//! Publishing several skills: each whole or not at all, and none held up by another that is refused.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::rc::Rc;

use futures_util::stream::{self, StreamExt as _};
use skillpkg::meter::Unit;
use skillpkg::registry::Registry;
use skillpkg::settings::registry_text;
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;
use tokio::sync::Mutex;

use super::ready::{Maker, Ready};
use super::send::{Sent, registry_of, rehearse, remember, send};
use super::table::{Became, Row, Table};
use super::tell;
use crate::commands::rehearsal::Outcome;
use crate::commands::told_to_end::told_to_end;
use crate::context::Context;
use crate::working::Working;

/// Most skills that are sent at once.
const AT_ONCE: usize = 4;

/// Publishes them, or asks what would become of them; answers with the exit code.
pub(super) async fn run(
    context: &Context,
    maker: Maker<'_>,
    sources: Vec<PathBuf>,
    (dry_run, trusted): (bool, bool),
) -> Result<u8, Error> {
    let mut maker = maker.several(&sources)?;
    let mut made: Vec<(PathBuf, Result<Ready, Error>)> = sources
        .into_iter()
        .map(|source| {
            let ready = maker.make(&source);
            (source, ready)
        })
        .collect();
    refuse_shared_names(&mut made);
    refuse_twice(&made)?;
    let going = Going::new(context, made.len(), trusted);
    let became = if dry_run {
        going.rehearse(&made).await
    } else {
        let sent = going.send(&made).await;
        going.working.take();
        sent
    };
    let mut table = Table { rows: Vec::with_capacity(made.len()), dry_run, error: None };
    for ((source, ready), became) in made.into_iter().zip(became) {
        table.rows.push(Row::new(source, ready.ok(), became));
    }
    if !dry_run {
        table.error = going.remember(&table).await.err();
    }
    table.print(context)
}

/// No two skills go under one name that was made for one of them: each so named is refused, and
/// nothing else is for it.
fn refuse_shared_names(made: &mut [(PathBuf, Result<Ready, Error>)]) {
    let mut named: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (position, (_, ready)) in made.iter().enumerate() {
        if let Ok(ready) = ready {
            named.entry(ready.manifest.name.to_string()).or_default().push(position);
        }
    }
    for (name, positions) in named.into_iter().filter(|(_, positions)| positions.len() > 1) {
        let paths: Vec<PathBuf> =
            positions.iter().filter_map(|one| Some(made.get(*one)?.0.clone())).collect();
        for position in positions {
            let Some((source, ready)) = made.get_mut(position) else { continue };
            if !ready.as_ref().is_ok_and(|ready| ready.is_renamed) {
                continue;
            }
            let other = paths.iter().find(|path| *path != source).unwrap_or(source);
            let message = format!(
                "it would be called `{name}`, and so would `{}`",
                escape(&other.to_string_lossy())
            );
            *ready = Err(Error::new(Kind::Usage, "name_shared", message).with_hint(
                "give it a name of its own in its frontmatter, or publish it by itself with \
                 `--name`",
            ));
        }
    }
}

/// Two directories of one name and version would be one release, and which of them is not ours to
/// pick.
fn refuse_twice(made: &[(PathBuf, Result<Ready, Error>)]) -> Result<(), Error> {
    let mut seen: BTreeMap<String, &Path> = BTreeMap::new();
    for (source, ready) in made {
        let Ok(ready) = ready else { continue };
        let release = format!("{} {}", ready.manifest.name, ready.manifest.version);
        if let Some(first) = seen.insert(release.clone(), source) {
            let shown = |path: &Path| escape(&path.to_string_lossy());
            let message = format!(
                "`{}` and `{}` are both {release}; nothing was sent",
                shown(first),
                shown(source)
            );
            return Err(Error::new(Kind::Usage, "published_twice", message)
                .with_hint("leave one of them out, or give one another name or version"));
        }
    }
    Ok(())
}

/// What is known of one registry while skills go to it.
#[derive(Debug, Default)]
struct Gate {
    /// It, once it has shown its log; or why nothing can be sent to it.
    registry: Option<Result<Registry, Error>>,
    /// Whether it took something: until then skills go one by one, since the first that an account
    /// publishes registers its key.
    has_taken: bool,
}

/// Skills on their way.
struct Going<'a> {
    context: &'a Context,
    /// Whether as a job that is trusted, whatever token there is.
    trusted: bool,
    gates: RefCell<BTreeMap<String, Rc<Mutex<Gate>>>>,
    /// Whether no further skill is to be sent.
    stopped: Cell<bool>,
    /// Of which skills something was sent.
    started: RefCell<Vec<bool>>,
    /// Shows how far it is.
    working: RefCell<Option<Working>>,
}

impl<'a> Going<'a> {
    fn new(context: &'a Context, count: usize, trusted: bool) -> Self {
        Self {
            context,
            trusted,
            gates: RefCell::default(),
            stopped: Cell::new(false),
            started: RefCell::new(vec![false; count]),
            working: RefCell::default(),
        }
    }

    fn gate(&self, url: &str) -> Rc<Mutex<Gate>> {
        Rc::clone(self.gates.borrow_mut().entry(url.to_owned()).or_default())
    }

    async fn rehearse(&self, made: &[(PathBuf, Result<Ready, Error>)]) -> Vec<Became> {
        let asked = made.iter().map(|(_, ready)| async move {
            match ready {
                Err(error) => Became::Refused(error.clone()),
                Ok(ready) => match rehearse(self.context, ready).await {
                    Ok(Outcome::Ready { is_there: true, .. }) => Became::Unchanged(None),
                    Ok(Outcome::Ready { is_there: false, .. }) => Became::New(None),
                    Ok(Outcome::NotAsked(reason)) => Became::NotAsked(reason),
                    Err(error) => Became::Refused(error),
                },
            }
        });
        // One after another: the log of a registry is looked at before each.
        stream::iter(asked).buffered(1).collect().await
    }

    /// Sends them, few at a time; what came of each, in the order given.
    ///
    /// Told to end, it lets what is being sent arrive and begins no more; told again, it waits for
    /// nothing.
    async fn send(&self, made: &[(PathBuf, Result<Ready, Error>)]) -> Vec<Became> {
        let sent = made.iter().enumerate().map(|(position, (source, ready))| async move {
            match ready {
                Err(error) => Became::Refused(error.clone()),
                Ok(ready) => match self.send_one(position, ready).await {
                    Ok(None) => Became::NotSent,
                    Ok(Some((sent, url))) => {
                        if let Some(working) = self.working.borrow().as_ref() {
                            working.meter().add(1);
                        }
                        tell(self.context, source, ready, &sent, &url);
                        let created = sent.answer.created;
                        let sent = Some((Box::new(sent), url));
                        if created { Became::New(sent) } else { Became::Unchanged(sent) }
                    }
                    Err(error) => Became::Refused(error),
                },
            }
        });
        let working = Working::on(self.context.output, "Sending");
        let parts: u64 = made.iter().filter(|(_, ready)| ready.is_ok()).count() as u64;
        working.meter().start(Unit::Skills, parts);
        self.working.replace(Some(working));
        let mut sending = pin!(stream::iter(sent).buffered(AT_ONCE));
        let mut became = Vec::with_capacity(made.len());
        let mut ending = Box::pin(told_to_end());
        loop {
            tokio::select! {
                next = sending.next() => match next {
                    Some(next) => became.push(next),
                    None => break,
                },
                () = &mut ending => {
                    if self.stopped.replace(true) {
                        break;
                    }
                    ending = Box::pin(told_to_end());
                    self.context.output.show(
                        "Stopping: what is being sent arrives first. Once more, and nothing is waited for.",
                    );
                }
            }
        }
        let started = self.started.borrow();
        for (position, (_, ready)) in made.iter().enumerate().skip(became.len()) {
            became.push(match ready {
                Err(error) => Became::Refused(error.clone()),
                Ok(_) if started.get(position) == Some(&true) => Became::Unknown,
                Ok(_) => Became::NotSent,
            });
        }
        became
    }

    /// Sends one; [`None`] where it was told to end before.
    async fn send_one(
        &self,
        position: usize,
        ready: &Ready,
    ) -> Result<Option<(Sent, String)>, Error> {
        let name = &ready.manifest.name;
        let choice = self.context.settings.registry_for(name)?;
        let url = registry_text(&choice.url).to_owned();
        let gate = self.gate(&url);
        let mut gate = gate.lock().await;
        if self.stopped.get() {
            return Ok(None);
        }
        let registry = if let Some(known) = &gate.registry {
            known.clone()
        } else {
            let registry = registry_of(self.context, name, self.trusted).await;
            let working = self.working.borrow();
            let counting = |registry: Registry| match working.as_ref() {
                Some(working) => registry.metered(working.bytes()),
                None => registry,
            };
            gate.registry.insert(registry.map(counting)).clone()
        }?;
        if let Some(started) = self.started.borrow_mut().get_mut(position) {
            *started = true;
        }
        let sent = if gate.has_taken {
            drop(gate);
            send(self.context, &registry, ready, self.trusted).await
        } else {
            let sent = send(self.context, &registry, ready, self.trusted).await;
            gate.has_taken = sent.is_ok();
            drop(gate);
            sent
        };
        if let Err(error) = &sent
            && matches!(
                error.code.as_str(),
                "registry_unreachable" | "registry_timeout" | "answer_too_short"
            )
        {
            // Whoever does not answer is not asked again for each of the others.
            self.gate(&url).lock().await.registry = Some(Err(error.clone()));
        }
        Ok(Some((sent?, url)))
    }

    /// Remembers what the log of each registry is that took something.
    async fn remember(&self, table: &Table) -> Result<(), Error> {
        let gates: Vec<_> =
            self.gates.borrow().iter().map(|(url, gate)| (url.clone(), Rc::clone(gate))).collect();
        for (url, gate) in gates {
            let gate = gate.lock().await;
            let published = table.published_to(&url);
            if let (Some(Ok(registry)), Some(published)) = (&gate.registry, published) {
                remember(self.context, registry, &published).await?;
            }
        }
        Ok(())
    }
}
