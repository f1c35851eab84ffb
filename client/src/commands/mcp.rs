//! `skillpkg mcp`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use skillpkg::host::HostOptions;
use skillpkg::mcp::{Allowed, HttpOptions, PATH, Server, ServerOptions, Token};
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;
use tokio::net::TcpListener;

use crate::commands::told_to_end::told_to_end;
use crate::context::Context;
use crate::output::{self, Output};

/// The variable that a token is given in.
const TOKEN: &str = "SKILLPKG_MCP_TOKEN";

/// Serve the active skills to an agent host that speaks the Model Context Protocol.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: claude mcp add skillpkg -- skillpkg mcp

Without `--listen` it serves the host that started it, on stdin and stdout, for the project that \
it was started in. With it, every host sends the token as `Authorization: Bearer TOKEN`: the one in \
`--token-file`, else in $SKILLPKG_MCP_TOKEN, else in the file that is named at the start. The first \
line on stdout is `listening on URL`.

A tool runs as it was approved when its skill was activated. A script that asks at each call is \
asked for through the host; where the host cannot ask, it runs only if `--allow` names it, or \
`allow` under `[mcp]` in the user configuration.")]
pub(crate) struct Arguments {
    /// Serve over HTTP at this address; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Read the token from this file
    #[arg(long, value_name = "FILE", requires = "listen", conflicts_with = "no_token")]
    token_file: Option<PathBuf>,
    /// Answer every program of this machine, without a token
    #[arg(long, requires = "listen")]
    no_token: bool,
    /// A name that hosts know the server by, beside its address; can be given again
    #[arg(long = "allow-host", value_name = "HOST[:PORT]", requires = "listen")]
    hosts: Vec<String>,
    /// The origin of web pages that may talk to it, such as `https://host.test:443`; can be given
    /// again
    #[arg(long = "allow-origin", value_name = "ORIGIN", requires = "listen")]
    origins: Vec<String>,
    /// Run this script, or every script of this skill (`*`: of every skill), without asking; can be
    /// given again
    #[arg(long, value_name = "[SCOPE/]NAME[:SCRIPT]")]
    allow: Vec<Allowed>,
    /// Kill a call after this many seconds; a script's own timeout can only be made shorter
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    /// The directory of the project, in place of the working directory
    #[arg(long, value_name = "DIR", conflicts_with = "global")]
    pub(crate) project: Option<PathBuf>,
    /// The skills of all projects of this user
    #[arg(short = 'g', long)]
    global: bool,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let Arguments {
        listen,
        token_file,
        no_token,
        hosts,
        origins,
        allow,
        timeout,
        project: _,
        global,
    } = arguments;
    let output = context.output;
    let options = ServerOptions {
        host: HostOptions { global, ..HostOptions::new(context.settings.clone()) },
        allow,
        timeout: timeout.map(Duration::from_secs),
    };
    let server = Server::open(options, Arc::new(move |sentence: &str| output.warn(sentence)))?;
    let stopped = server.clone();
    tokio::spawn(async move {
        told_to_end().await;
        stopped.end();
    });
    let Some(address) = listen else {
        server.serve_streams(std::io::stdin(), std::io::stdout()).await?;
        return Ok(0);
    };
    let token = token(context, token_file.as_deref(), no_token)?;
    let options = HttpOptions::new(address, token)?.with_hosts(hosts)?.with_origins(&origins)?;
    if !address.ip().is_loopback() {
        output.warn("the token and what is called travel unencrypted: put a TLS proxy before it");
    }
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Error::new(Kind::Failed, "listen_failed", format!("cannot listen on {address}: {error}"))
    })?;
    listening(output, &listener)?;
    server.serve_http(listener, options).await?;
    Ok(0)
}

/// The token that clients send; [`None`] where everybody is answered.
fn token(
    context: &Context,
    file: Option<&std::path::Path>,
    no_token: bool,
) -> Result<Option<Token>, Error> {
    if no_token {
        return Ok(None);
    }
    if let Some(file) = file {
        return Token::of_file(file).map(Some);
    }
    if let Some(text) = std::env::var_os(TOKEN).filter(|text| !text.is_empty()) {
        let token = Token::new(&text.to_string_lossy());
        return token.map(Some).map_err(|error| {
            Error::new(Kind::Usage, "token_invalid", format!("`{TOKEN}`: {error}"))
        });
    }
    let home = &context.settings.home;
    let token = Token::kept(home)?;
    let place = Token::place(home);
    context.output.talk(&format!("the token is in `{}`", escape(&place.to_string_lossy())));
    Ok(Some(token))
}

/// Says where it listens, on the first line of stdout.
fn listening(output: Output, listener: &TcpListener) -> Result<(), Error> {
    let address = listener
        .local_addr()
        .map_err(|error| Error::new(Kind::Failed, "listen_failed", error.to_string()))?;
    let url = format!("http://{address}{PATH}");
    if output.json {
        return output::print_json(&serde_json::json!({ "listening": url }));
    }
    output.text(&format!("listening on {url}"))
}
