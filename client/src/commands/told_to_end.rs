//! The signals that end a command which would else go on.

/// Waits until this process is told to end: by `SIGINT`, `SIGTERM` or `SIGHUP`.
#[cfg(unix)]
pub(crate) async fn told_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    crate::interruption::answered();
    let listen = || -> std::io::Result<_> {
        Ok((
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        ))
    };
    match listen() {
        Ok((mut interrupt, mut terminate, mut hangup)) => {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
        }
        Err(_) => std::future::pending().await,
    }
}

/// Waits until this process is told to end: by Ctrl-C, Ctrl-Break or its console's close.
#[cfg(windows)]
pub(crate) async fn told_to_end() {
    use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close};
    crate::interruption::answered();
    let listen = || -> std::io::Result<_> { Ok((ctrl_c()?, ctrl_break()?, ctrl_close()?)) };
    match listen() {
        Ok((mut interrupt, mut terminate, mut close)) => {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = close.recv() => {}
            }
        }
        Err(_) => std::future::pending().await,
    }
}
