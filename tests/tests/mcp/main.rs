//! `skillpkg mcp` over the real binary: the official client on both transports and in both eras of
//! the protocol, raw lines and raw requests, and whoever means harm.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper that cannot do its part ends the test"
)]

mod client;
mod http;
mod lines;
mod serving;
