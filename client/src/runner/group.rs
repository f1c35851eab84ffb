//! A child in a process group of its own, which ends with it. On Windows a job object is the group.

use std::io;
use std::process::ExitStatus;

#[cfg(windows)]
use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};
#[cfg(unix)]
use tokio::process::Child;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

/// A child and everything it started that stayed in its process group.
///
/// Dropping it kills the group, so that a call that is given up leaves nothing running.
#[derive(Debug)]
pub(super) struct Group {
    #[cfg(unix)]
    child: Child,
    #[cfg(windows)]
    child: Box<dyn ChildWrapper>,
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

impl Group {
    /// Starts the command as the leader of a new group.
    #[cfg(unix)]
    pub(super) fn spawn(mut command: Command) -> io::Result<Self> {
        let child = command.process_group(0).kill_on_drop(true).spawn()?;
        let leader = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(rustix::process::Pid::from_raw);
        Ok(Self { child, leader })
    }

    /// Starts the command in a new job, which it is in before its first step and which its end, or
    /// that of this process, closes for all in it.
    #[cfg(windows)]
    pub(super) fn spawn(command: Command) -> io::Result<Self> {
        let child = CommandWrap::from(command).wrap(KillOnDrop).wrap(JobObject).spawn()?;
        Ok(Self { child })
    }

    /// The child's pipes, those that it has and that were not taken yet.
    #[cfg(unix)]
    pub(super) fn pipes(
        &mut self,
    ) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        let child = &mut self.child;
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    }

    /// The child's pipes, those that it has and that were not taken yet.
    #[cfg(windows)]
    pub(super) fn pipes(
        &mut self,
    ) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        let child = &mut self.child;
        (child.stdin().take(), child.stdout().take(), child.stderr().take())
    }

    /// Waits until the leader has ended, and leaves it to be reaped by [`Group::end`].
    ///
    /// A leader that is not reaped keeps its number: the group can still be killed without the
    /// danger that the number is another's by then.
    #[cfg(unix)]
    pub(super) async fn ended(&mut self) -> io::Result<()> {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        use tokio::signal::unix::{SignalKind, signal};

        let Some(leader) = self.leader else { return Ok(()) };
        // Listening starts before the first look, so that no end falls between the two.
        let mut child_ended = signal(SignalKind::child())?;
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        loop {
            if waitid(WaitId::Pid(leader), look)?.is_some() {
                return Ok(());
            }
            child_ended.recv().await;
        }
    }

    /// Waits until the leader has ended.
    #[cfg(windows)]
    pub(super) async fn ended(&mut self) -> io::Result<()> {
        self.child.inner_mut().wait().await.map(|_| ())
    }

    /// Kills what is left of the group and reaps the leader; answers with how the leader ended.
    #[cfg(unix)]
    pub(super) async fn end(mut self) -> io::Result<ExitStatus> {
        self.kill();
        let status = self.child.wait().await;
        self.leader = None;
        status
    }

    /// Kills what is left of the group; answers with how the leader ended.
    #[cfg(windows)]
    pub(super) async fn end(mut self) -> io::Result<ExitStatus> {
        self.kill();
        self.child.inner_mut().wait().await
    }

    #[cfg(unix)]
    fn kill(&mut self) {
        if let Some(leader) = self.leader {
            // It fails only where nobody is left in the group.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }

    #[cfg(windows)]
    fn kill(&mut self) {
        // It fails only where nobody is left in the job.
        let _ = self.child.start_kill();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The exit code as a shell tells it: 128 and the signal's number where a signal ended it.
pub(super) fn exit_code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(signal) = status.signal() {
            return signal.saturating_add(128);
        }
    }
    status.code().unwrap_or(1)
}
