//! The active skills of a project, for hosts that speak the Model Context Protocol.
//!
//! Tools and scripts are tools there, files are resources, each skill is a prompt and, where hosts
//! can take it, an entry of the extension `io.modelcontextprotocol/skills`. Both eras of the protocol
//! are served: sessions up to revision 2025-11-25, single requests from 2026-07-28 on. Everything is
//! read and run through [`crate::host`], and looked up anew at each request.

mod allowed;
mod answer;
mod call;
mod catalogue;
mod chance;
mod directory;
mod handler;
mod http;
mod lines;
mod media_type;
mod meta;
mod notices;
mod page;
mod pending;
mod prompt;
mod question;
mod resource;
mod server;
mod skill;
mod stdio;
mod tool;
mod tool_name;
mod turns;
mod uri;
mod watch;

pub use allowed::{Allowed, AllowedError};
pub use http::{HttpOptions, PATH, Token, TokenError};
pub use server::{Server, ServerOptions, Told, left_out};
