//! Shows that something goes on, and how far it is, where it lasts and a person watches.
//!
//! A thread of its own draws, so that it moves also while the command is busy.

use std::io::{self, IsTerminal as _};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use skillpkg::meter::{Meter, Unit};

use crate::output::Output;

/// How long something lasts before it is shown.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often it is drawn anew.
const PACE: Duration = Duration::from_millis(100);

/// What is drawn now.
static DRAWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Something that goes on; what shows it goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Working {
    /// The meter to count with.
    meter: Meter,
    drawing: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Working {
    /// Shows `what` is going on, where it lasts: on stderr, where that is a terminal, and neither
    /// with `--json` nor `--quiet`.
    pub(crate) fn on(output: Output, what: &'static str) -> Self {
        let meter = Meter::default();
        if output.quiet || output.json || !io::stderr().is_terminal() {
            return Self { meter, drawing: None };
        }
        let (sender, ended) = channel::<()>();
        let counted = meter.clone();
        let draw = move || {
            let lasts = || ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
            if !lasts() {
                return;
            }
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.set_message(what);
            if let Ok(mut drawn) = DRAWN.lock() {
                *drawn = Some(bar);
            }
            let mut styled = "";
            loop {
                if let Ok(drawn) = DRAWN.lock()
                    && let Some(bar) = drawn.as_ref()
                {
                    show(bar, &counted, &mut styled);
                }
                if ended.recv_timeout(PACE) != Err(RecvTimeoutError::Timeout) {
                    return erase();
                }
            }
        };
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(draw);
        Self { meter, drawing: thread.ok().map(|thread| (sender, thread)) }
    }

    /// What counts how far it is.
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.drawing.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

/// Draws how far it is; `styled` is how it was drawn before.
fn show(bar: &ProgressBar, meter: &Meter, styled: &mut &'static str) {
    let counted = meter.read();
    let unit = (counted.total > 0).then_some(counted.unit);
    let template = match unit {
        None => "{spinner} {msg} ({elapsed})",
        Some(Unit::Bytes) => "{spinner} {msg} {bar:30} {bytes}/{total_bytes}",
        Some(Unit::Skills) => "{spinner} {msg} {bar:30} {pos}/{len} skills",
    };
    if *styled != template {
        *styled = template;
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
    }
    if unit.is_some() {
        bar.set_length(counted.total);
        bar.set_position(counted.done.min(counted.total));
    }
    bar.tick();
}

/// Takes away what is drawn.
pub(crate) fn erase() {
    if let Ok(mut drawn) = DRAWN.lock()
        && let Some(bar) = drawn.take()
    {
        bar.finish_and_clear();
    }
}

/// Says something without tearing what is drawn.
pub(crate) fn aside<T>(say: impl FnOnce() -> T) -> T {
    match DRAWN.lock() {
        Ok(drawn) => match drawn.as_ref() {
            Some(bar) => bar.suspend(say),
            None => say(),
        },
        Err(_) => say(),
    }
}
