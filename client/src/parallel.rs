//! The same work on many items, on as many threads as there are processors.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::{Error, Kind};

/// Fewest items that are worth a thread.
const FEWEST_OF_A_THREAD: usize = 8;

/// Does `work` on each item; answers in the order of the items.
///
/// The calling thread works too, and each takes the next item once it is done with one. Where the
/// system gives no more threads, there are fewer.
pub(crate) fn map<I: Sync, T: Send>(
    items: &[I],
    work: impl Fn(&I) -> T + Sync,
) -> Result<Vec<T>, Error> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let threads = processors.min(items.len() / FEWEST_OF_A_THREAD).max(1);
    if threads == 1 {
        return Ok(items.iter().map(work).collect());
    }
    let next = AtomicUsize::new(0);
    let share = || {
        let mut done = Vec::with_capacity(items.len() / threads + 1);
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(position) else { return done };
            done.push((position, work(item)));
        }
    };
    let mut all = Vec::with_capacity(items.len());
    let here = processor();
    let share_elsewhere = || {
        leave(here);
        share()
    };
    thread::scope(|scope| -> Result<(), Error> {
        let others: Vec<_> = (1..threads)
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, share_elsewhere).ok())
            .collect();
        // Those that stand behind this thread get to leave.
        thread::yield_now();
        all.extend(share());
        for other in others {
            all.extend(other.join().map_err(|_| ended_early())?);
        }
        Ok(())
    })?;
    all.sort_unstable_by_key(|(position, _)| *position);
    Ok(all.into_iter().map(|(_, answer)| answer).collect())
}

/// The processor that runs this thread now, where the system tells.
#[cfg(target_os = "linux")]
fn processor() -> Option<usize> {
    nix::sched::sched_getcpu().ok()
}

/// Keeps this thread off a processor, where it may run on another.
///
/// On some virtual machines a new thread often starts behind the one that started it, with the
/// other processors idle, and stays there for longer than all of the work takes.
#[cfg(target_os = "linux")]
fn leave(processor: Option<usize>) {
    use nix::sched::{sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;
    let this_thread = Pid::from_raw(0);
    if let Some(processor) = processor
        && let Ok(mut allowed) = sched_getaffinity(this_thread)
        && allowed.unset(processor).is_ok()
    {
        // It is refused where no other is left; the work is done all the same.
        let _ = sched_setaffinity(this_thread, &allowed);
    }
}

#[cfg(not(target_os = "linux"))]
fn processor() -> Option<usize> {
    None
}

#[cfg(not(target_os = "linux"))]
fn leave(_: Option<usize>) {}

/// That a thread ended before its time.
pub(crate) fn ended_early() -> Error {
    Error::new(Kind::Failed, "internal", "a part of the work ended before its time")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_items() {
        for count in [0, 1, 7, 8, 9, 100, 1001] {
            let items: Vec<usize> = (0..count).collect();
            let doubled = map(&items, |item| item * 2).unwrap();
            assert_eq!(doubled, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_part_that_panics_is_an_error_or_a_panic_and_never_a_missing_answer() {
        let items: Vec<usize> = (0..100).collect();
        let caught = std::panic::catch_unwind(|| {
            map(&items, |item| assert!(*item != 50, "of this test")).is_err()
        });
        assert!(caught.unwrap_or(true));
    }
}
