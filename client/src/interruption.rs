//! Ctrl-C, and the other signals that tell a command to end.
//!
//! The first lets go of what is going on where it waits: what was made for the meanwhile goes with
//! it, and what is done in one step, such as the placing of skills, is done whole or not at all. The
//! second ends the process at once. Both end it with 128 and the number of the signal, as a shell
//! tells of a process that a signal ended.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use skillpkg::{Error, Kind};
use tokio_util::sync::CancellationToken;

use crate::output::Output;

/// The code of the failure of what was told to end.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// How long what loses nothing has to end in its own way.
const GRACE: Duration = Duration::from_millis(200);
/// How long a command that answers to signals itself has from the second one on.
const LAST_GRACE: Duration = Duration::from_secs(1);

/// The number of the first signal; 0 where there was none.
static TOLD: AtomicU8 = AtomicU8::new(0);
/// Whether the command that runs answers to signals itself.
static ANSWERED: AtomicBool = AtomicBool::new(false);
/// What to tell somebody who interrupts what runs now.
static ADVICE: Mutex<Option<String>> = Mutex::new(None);

/// Whether this process was told to end.
pub(crate) fn is_told() -> bool {
    TOLD.load(Ordering::SeqCst) != 0
}

/// That the command answers to signals itself, from now on.
pub(crate) fn answered() {
    ANSWERED.store(true, Ordering::SeqCst);
}

/// Whether the command that runs answers to signals itself.
pub(crate) fn is_answered() -> bool {
    ANSWERED.load(Ordering::SeqCst)
}

/// What to tell somebody who interrupts what runs from now on.
pub(crate) fn advise(advice: impl Into<String>) {
    if let Ok(mut told) = ADVICE.lock() {
        *told = Some(advice.into());
    }
}

/// The exit code of a process that was told to end.
pub(crate) fn exit_code() -> u8 {
    TOLD.load(Ordering::SeqCst).saturating_add(128)
}

/// The failure of what was told to end.
pub(crate) fn failure() -> Error {
    let error = Error::new(Kind::Failed, INTERRUPTED, "interrupted");
    match ADVICE.lock().ok().and_then(|advice| advice.clone()) {
        Some(advice) => error.with_hint(advice),
        None => error,
    }
}

/// What becomes of a command where this process is told to end while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Losing {
    /// It only reads: it is ended wherever it is.
    Nothing,
    /// It makes and changes things: it is ended where it waits.
    Something,
}

/// Listens for signals from now on; the token is cancelled by the first.
///
/// Where nothing can be listened to, signals end the process as they do any other.
pub(crate) fn watch(losing: Losing, output: Output) -> CancellationToken {
    let token = CancellationToken::new();
    let cancelled = token.clone();
    let (starting, listens) = std::sync::mpsc::channel::<()>();
    let watching = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            let Some(mut signals) = Signals::listen() else { return };
            drop(starting);
            TOLD.store(signals.next().await, Ordering::SeqCst);
            cancelled.cancel();
            if !ANSWERED.load(Ordering::SeqCst) && losing == Losing::Nothing {
                tokio::time::sleep(GRACE).await;
                end(output);
            }
            signals.next().await;
            if ANSWERED.load(Ordering::SeqCst) {
                tokio::select! {
                    () = tokio::time::sleep(LAST_GRACE) => {}
                    _ = signals.next() => {}
                }
            }
            end(output);
        });
    };
    // Without the thread nobody listens, and signals do what they always do.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(watching);
    // Nothing is sent: it ends once the other side is gone, because it listens or because it cannot.
    let _ = listens.recv();
    token
}

/// Ends the process, with the terminal as it was.
fn end(output: Output) -> ! {
    crate::hidden::restore();
    crate::working::erase();
    output.fail(&failure());
    std::process::exit(i32::from(exit_code()))
}

#[cfg(unix)]
struct Signals {
    interrupt: Option<tokio::signal::unix::Signal>,
    terminate: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    /// Those that are not ignored: whoever started this process in the background, or with `nohup`,
    /// meant it to go on.
    fn listen() -> Option<Self> {
        use tokio::signal::unix::{Signal, SignalKind, signal};
        let ignored = ignored();
        let listen = |kind: SignalKind| -> Option<Signal> {
            let is_ignored = ignored >> (kind.as_raw_value() - 1) & 1 == 1;
            if is_ignored { None } else { signal(kind).ok() }
        };
        let (interrupt, terminate) =
            (listen(SignalKind::interrupt()), listen(SignalKind::terminate()));
        (interrupt.is_some() || terminate.is_some()).then_some(Self { interrupt, terminate })
    }

    /// The number of the next one.
    async fn next(&mut self) -> u8 {
        async fn of(signal: &mut Option<tokio::signal::unix::Signal>) {
            match signal {
                Some(signal) => {
                    signal.recv().await;
                }
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            () = of(&mut self.interrupt) => 2,
            () = of(&mut self.terminate) => 15,
        }
    }
}

/// The signals that this process ignores, a bit each from the first on.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(windows)]
struct Signals {
    interrupt: tokio::signal::windows::CtrlC,
    stop: tokio::signal::windows::CtrlBreak,
}

#[cfg(windows)]
impl Signals {
    fn listen() -> Option<Self> {
        use tokio::signal::windows::{ctrl_break, ctrl_c};
        Some(Self { interrupt: ctrl_c().ok()?, stop: ctrl_break().ok()? })
    }

    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.stop.recv() => {}
        }
        2
    }
}
