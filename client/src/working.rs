//! Shows that something goes on, and how far it is, where it lasts and a person watches.
//!
//! A thread of its own draws, so that it moves also while the command is busy.

use std::io::{self, IsTerminal as _};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use skillpkg::meter::{Meter, Reading, Unit};

use crate::output::Output;

/// How long something lasts before it is shown.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often it is drawn anew.
const PACE: Duration = Duration::from_millis(100);

/// What is drawn now.
static DRAWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// How long nothing is said where no bar is drawn, and somebody may wonder.
const SILENCE: Duration = Duration::from_secs(20);

/// Something that goes on; what shows it goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Working {
    counts: Counts,
    telling: Option<(Sender<()>, JoinHandle<()>)>,
}

/// How far it is.
#[derive(Debug, Clone, Default)]
struct Counts {
    /// In what is counted.
    items: Meter,
    /// In bytes that come or go, of all of it together.
    bytes: Meter,
}

impl Working {
    /// Shows `what` is going on, where it lasts: as a bar on stderr where that is a terminal, else
    /// as a line now and then; neither with `--json` nor `--quiet`.
    pub(crate) fn on(output: Output, what: &'static str) -> Self {
        let counts = Counts::default();
        if output.quiet || output.json {
            return Self { counts, telling: None };
        }
        let (sender, ended) = channel::<()>();
        let counted = counts.clone();
        let is_watched = io::stderr().is_terminal();
        let tell = move || {
            if is_watched {
                draw(what, &counted, &ended);
            } else {
                tell_now_and_then(what, &counted, SILENCE, &ended, |line| output.talk(line));
            }
        };
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(tell);
        Self { counts, telling: thread.ok().map(|thread| (sender, thread)) }
    }

    /// What counts how far it is.
    pub(crate) fn meter(&self) -> &Meter {
        &self.counts.items
    }

    /// What counts bytes that come or go meanwhile.
    pub(crate) fn bytes(&self) -> &Meter {
        &self.counts.bytes
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.telling.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

/// Whether it goes on for so long.
fn lasts(ended: &Receiver<()>, time: Duration) -> bool {
    ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout)
}

/// Draws a bar until it ends, and takes it away then.
fn draw(what: &'static str, counts: &Counts, ended: &Receiver<()>) {
    if !lasts(ended, PATIENCE) {
        return;
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_message(what);
    if let Ok(mut drawn) = DRAWN.lock() {
        *drawn = Some(bar);
    }
    let mut styled = "";
    let mut show_now = |is_last: bool| {
        if let Ok(drawn) = DRAWN.lock()
            && let Some(bar) = drawn.as_ref()
        {
            show(bar, counts, &mut styled);
            if is_last {
                bar.force_draw();
            }
        }
    };
    show_now(false);
    while lasts(ended, PACE) {
        show_now(false);
    }
    // What was reached since it was drawn is seen as well.
    show_now(true);
    erase();
}

/// Tells every so often that it goes on, until it ends.
fn tell_now_and_then(
    what: &str,
    counts: &Counts,
    pause: Duration,
    ended: &Receiver<()>,
    tell: impl Fn(&str),
) {
    let start = Instant::now();
    while lasts(ended, pause) {
        tell(&line(what, counts, start.elapsed()));
    }
}

/// How far it is, in words.
fn line(what: &str, counts: &Counts, elapsed: Duration) -> String {
    let Counts { items, bytes } = counts;
    let mut parts = vec![format!("{what}, {} s so far", elapsed.as_secs())];
    for Reading { unit, done, total } in [bytes.read(), items.read()] {
        let done = done.min(total);
        match unit {
            _ if total == 0 => {}
            Unit::Bytes => parts.push(format!("{} of {}", HumanBytes(done), HumanBytes(total))),
            Unit::Skills => parts.push(format!("{done} of {total} skills")),
        }
    }
    parts.join("; ")
}

/// Draws how far it is; `styled` is how it was drawn before.
fn show(bar: &ProgressBar, counts: &Counts, styled: &mut &'static str) {
    let (items, bytes) = (counts.items.read(), counts.bytes.read());
    // Bytes move where a count of few skills stands still.
    let comes = bytes.total > 0 && bytes.done < bytes.total;
    let counted = if comes { bytes } else { items };
    let unit = (counted.total > 0).then_some(counted.unit);
    let template = match unit {
        None => "{spinner} {msg} ({elapsed})",
        Some(Unit::Bytes) => "{spinner} {msg} {bar:30} {bytes}/{total_bytes}{prefix}",
        Some(Unit::Skills) => "{spinner} {msg} {bar:30} {pos}/{len} skills",
    };
    if *styled != template {
        *styled = template;
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
    }
    let beside = comes && items.total > 1 && items.unit == Unit::Skills;
    bar.set_prefix(if beside {
        format!(", {}/{} skills", items.done.min(items.total), items.total)
    } else {
        String::new()
    });
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn whoever_sees_no_bar_is_told_now_and_then_how_far_it_is() {
        let counts = Counts::default();
        assert_eq!(line("Working", &counts, Duration::from_secs(20)), "Working, 20 s so far");
        counts.items.start(Unit::Skills, 3);
        counts.items.add(1);
        let part = counts.bytes.part(4096);
        part.add(2048);
        assert_eq!(
            line("Working", &counts, Duration::from_secs(41)),
            "Working, 41 s so far; 2.00 KiB of 4.00 KiB; 1 of 3 skills"
        );
        let (sender, ended) = channel::<()>();
        let told = RefCell::new(Vec::new());
        let sender = RefCell::new(Some(sender));
        tell_now_and_then("Working", &counts, Duration::from_millis(5), &ended, |line| {
            told.borrow_mut().push(line.to_owned());
            if told.borrow().len() == 2 {
                sender.take();
            }
        });
        assert_eq!(told.borrow().len(), 2);
    }

    #[test]
    fn bytes_are_drawn_while_they_come_and_all_that_is_counted_at_the_end() {
        let counts = Counts::default();
        let bar = ProgressBar::hidden();
        let mut styled = "";
        counts.items.start(Unit::Skills, 3);
        let (one, other) = (counts.bytes.part(1000), counts.bytes.part(3000));
        one.add(1000);
        counts.items.set(1);
        show(&bar, &counts, &mut styled);
        assert!(styled.contains("{bytes}/{total_bytes}"));
        assert_eq!((bar.position(), bar.length()), (1000, Some(4000)));
        assert_eq!(bar.prefix(), ", 1/3 skills");
        other.add(3000);
        counts.items.set(3);
        show(&bar, &counts, &mut styled);
        assert!(styled.contains("{pos}/{len} skills"));
        assert_eq!((bar.position(), bar.length()), (3, Some(3)));
    }
}
