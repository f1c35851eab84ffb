//! Spawning a program within bounds: without a shell, in a process group of its own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use skillpkg_schema::diagnostic::escape;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, Command};
use tokio_util::sync::CancellationToken;

use super::group::{Group, exit_code};
use super::{FailureKind, RunFailure, RunOutput};

/// How long output that is already written may take to read once the program has ended. Only a
/// process that left the group and kept the pipe makes it wait at all.
const DRAIN: Duration = Duration::from_secs(1);
/// How often a busy program is tried again, and the pause before each time.
const BUSY_TRIES: u32 = 50;
const BUSY_PAUSE: Duration = Duration::from_millis(10);
/// How much is read at once.
const CHUNK: usize = 16 * 1024;

/// What is spawned.
#[derive(Debug, Clone, Copy)]
pub struct Spawn<'a> {
    /// The program, an absolute path.
    pub program: &'a Path,
    /// Its arguments, each one word of argv.
    pub arguments: &'a [OsString],
    /// The working directory.
    pub directory: &'a Path,
    /// The whole environment.
    pub environment: &'a BTreeMap<String, String>,
}

/// How far a run may go.
#[derive(Debug, Clone)]
pub struct RunBounds {
    /// Longest run; [`None`] for as long as it takes.
    pub timeout: Option<Duration>,
    /// Most bytes of standard output and standard error together.
    pub maximum_output_bytes: u64,
    /// Ends the run when cancelled.
    pub cancellation: CancellationToken,
}

impl Spawn<'_> {
    /// Runs it with `input` on standard input, which is closed after, and takes its output.
    ///
    /// The whole process group is killed when the time is up, when more is written than the
    /// maximum, when the run is cancelled, when the future is dropped, and when the program has
    /// ended: nothing that it started and left in its group outlives it. Never more than the
    /// maximum is held in memory. That the program does not read its input is no failure, and
    /// neither is an exit code: that is the caller's to judge.
    pub async fn run(&self, input: &[u8], bounds: &RunBounds) -> Result<RunOutput, RunFailure> {
        let started = Instant::now();
        let piped = |command: &mut Command| {
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        };
        let mut group = self.start(piped).await?;
        let (stdin, stdout, stderr) = group.pipes();
        let left = AtomicU64::new(bounds.maximum_output_bytes);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let status = {
            let mut reading = pin!(async {
                tokio::try_join!(read(stdout, &mut out, &left), read(stderr, &mut err, &left))
            });
            let mut read_all = false;
            let outcome = {
                let mut feeding = pin!(feed(stdin, input));
                let mut ended = pin!(group.ended());
                let mut expired = pin!(expiry(bounds.timeout));
                let mut fed = false;
                loop {
                    tokio::select! {
                        biased;
                        () = bounds.cancellation.cancelled() => break Err(self.cancelled()),
                        result = &mut reading, if !read_all => match result {
                            Ok(_) => read_all = true,
                            Err(refused) => break Err(self.unread(&refused, bounds)),
                        },
                        result = &mut ended => break result.map_err(|error| self.lost(&error)),
                        () = &mut expired => break Err(self.timed_out(bounds)),
                        () = &mut feeding, if !fed => fed = true,
                    }
                }
            };
            // Whatever happened, the group ends here; only then is the outcome looked at.
            let status = group.end().await;
            outcome?;
            let status = status.map_err(|error| self.lost(&error))?;
            if !read_all {
                let drained = tokio::time::timeout(DRAIN, &mut reading).await;
                if let Ok(Err(refused)) = drained {
                    return Err(self.unread(&refused, bounds));
                }
            }
            status
        };
        let duration = started.elapsed();
        Ok(RunOutput {
            exit: exit_code(status),
            stdout: out,
            stderr: err,
            argv: self.argv(),
            duration,
        })
    }

    /// Runs it with nothing on standard input and with this process's own output streams, which
    /// it writes to as it goes; the output that it answers with is empty.
    ///
    /// The process group ends as in [`Spawn::run`]; the output has no bound, for nothing of it is
    /// held.
    pub async fn run_attached(&self, bounds: &RunBounds) -> Result<RunOutput, RunFailure> {
        let started = Instant::now();
        let attached = |command: &mut Command| {
            command.stdin(Stdio::null());
        };
        let mut group = self.start(attached).await?;
        let outcome = tokio::select! {
            biased;
            () = bounds.cancellation.cancelled() => Err(self.cancelled()),
            result = group.ended() => result.map_err(|error| self.lost(&error)),
            () = expiry(bounds.timeout) => Err(self.timed_out(bounds)),
        };
        let status = group.end().await;
        outcome?;
        let exit = status.map(exit_code).map_err(|error| self.lost(&error))?;
        let duration = started.elapsed();
        Ok(RunOutput { exit, stdout: Vec::new(), stderr: Vec::new(), argv: self.argv(), duration })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.program);
        command.args(self.arguments).current_dir(self.directory).env_clear().envs(self.environment);
        command
    }

    /// Starts it. A program that was written a moment ago is busy while a process that another
    /// thread started then still holds it open, which ends when that one has begun.
    async fn start(&self, streams: impl Fn(&mut Command)) -> Result<Group, RunFailure> {
        let mut tries = BUSY_TRIES;
        loop {
            let mut command = self.command();
            streams(&mut command);
            match Group::spawn(command) {
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && tries > 0 => {
                    tries -= 1;
                    tokio::time::sleep(BUSY_PAUSE).await;
                }
                answer => {
                    return answer.map_err(|error| {
                        let message = format!("cannot start `{}`: {error}", self.name());
                        RunFailure::new(FailureKind::RunnerUnavailable, message)
                    });
                }
            }
        }
    }

    fn argv(&self) -> Vec<String> {
        let program = self.program.to_string_lossy().into_owned();
        let arguments = self.arguments.iter().map(|word| word.to_string_lossy().into_owned());
        std::iter::once(program).chain(arguments).collect()
    }

    fn name(&self) -> String {
        escape(&self.program.display().to_string())
    }

    fn cancelled(&self) -> RunFailure {
        let message = format!("`{}` was killed: the call was cancelled", self.name());
        RunFailure::new(FailureKind::Cancelled, message)
    }

    fn timed_out(&self, bounds: &RunBounds) -> RunFailure {
        let seconds = bounds.timeout.unwrap_or_default().as_secs_f64();
        let message = format!("`{}` was killed: it ran longer than {seconds} s", self.name());
        RunFailure::new(FailureKind::TimedOut, message)
    }

    fn unread(&self, refused: &ReadError, bounds: &RunBounds) -> RunFailure {
        match refused {
            ReadError::TooMuch => {
                let message = format!(
                    "`{}` was killed: it wrote more than {} bytes",
                    self.name(),
                    bounds.maximum_output_bytes
                );
                RunFailure::new(FailureKind::OutputTooLarge, message)
            }
            ReadError::Failed(error) => self.lost(error),
        }
    }

    fn lost(&self, error: &io::Error) -> RunFailure {
        let message = format!("`{}` was killed: {error}", self.name());
        RunFailure::new(FailureKind::ExecutionFailed, message)
    }
}

/// Why output was not read to its end.
#[derive(Debug)]
enum ReadError {
    /// There is more than is allowed.
    TooMuch,
    /// The pipe failed.
    Failed(io::Error),
}

/// Reads to the end, as long as what both streams have `left` allows.
async fn read(
    pipe: Option<impl AsyncRead + Unpin>,
    into: &mut Vec<u8>,
    left: &AtomicU64,
) -> Result<(), ReadError> {
    let Some(mut pipe) = pipe else { return Ok(()) };
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = pipe.read(&mut chunk).await.map_err(ReadError::Failed)?;
        let Some(bytes) = chunk.get(..count).filter(|bytes| !bytes.is_empty()) else {
            return Ok(());
        };
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(bytes.len() as u64)
        })
        .map_err(|_| ReadError::TooMuch)?;
        into.extend_from_slice(bytes);
    }
}

/// Writes the input and closes the pipe. A program that ends, or closes its end, without reading
/// has said that it does not want it.
async fn feed(pipe: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut pipe) = pipe {
        let _ = pipe.write_all(input).await;
    }
}

/// Ends when the time is up; never, where there is no bound.
async fn expiry(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => tokio::time::sleep(timeout).await,
        None => std::future::pending().await,
    }
}
