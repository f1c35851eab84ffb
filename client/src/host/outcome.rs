//! How a call is made, and what it gave back.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::runner::RunOutput;

/// Where a tool's output goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Streams {
    /// It is taken, within the bounds.
    #[default]
    Captured,
    /// It goes to this process's own streams as it is written; nothing of it is held. A script's
    /// is taken all the same.
    Inherited,
}

/// How a call is made.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    /// Where a tool's output goes.
    pub streams: Streams,
    /// Longest run. For a tool [`None`] is [`DEFAULT_TIMEOUT`](skillpkg_schema::capability::DEFAULT_TIMEOUT), and no bound where its streams are
    /// inherited. A script's own timeout can be made shorter by this, never longer.
    pub timeout: Option<Duration>,
    /// Most bytes of output. For a tool [`None`] is [`DEFAULT_MAXIMUM_OUTPUT_BYTES`](skillpkg_schema::capability::DEFAULT_MAXIMUM_OUTPUT_BYTES). A script's
    /// own maximum can be made less by this, never more.
    pub maximum_output_bytes: Option<u64>,
    /// Ends the call when cancelled: the whole process group is killed.
    pub cancellation: CancellationToken,
}

/// What a call that ran to its end gave back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOutcome {
    /// The exit code; 128 and the signal's number where a signal ended it. A script's is 0: any
    /// other is a [`ExecutionFailed`](crate::runner::FailureKind::ExecutionFailed).
    pub exit: i32,
    /// What it wrote to standard output; empty where its streams were inherited.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error; empty where its streams were inherited.
    pub stderr: Vec<u8>,
    /// What was started, word by word; empty where a service ran it.
    pub argv: Vec<String>,
    /// From start to end.
    pub duration: Duration,
    /// What had to be put right in the snapshot before it was run, as sentences: worth telling.
    pub notices: Vec<String>,
}

impl CallOutcome {
    pub(super) fn new(output: RunOutput, notices: Vec<String>) -> Self {
        let RunOutput { exit, stdout, stderr, argv, duration } = output;
        Self { exit, stdout, stderr, argv, duration, notices }
    }
}
