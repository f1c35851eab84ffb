//! `skillpkg login`.

use std::io::IsTerminal as _;

use serde_json::json;
use skillpkg::credentials::Credentials;
use skillpkg::policy::Policy;
use skillpkg::registry::Registry;
use skillpkg::settings::{Chosen, Connection, is_loopback, registry_text};
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;

use crate::commands::{account, input};
use crate::context::Context;

/// Most bytes that are read for a token.
const MAX_TOKEN_BYTES: u64 = 4096;

/// Keep a token for the registry, read from a prompt or stdin.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg login --registry http://127.0.0.1:7770 < token")]
pub(crate) struct Arguments {}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let Arguments {} = arguments;
    let choice = context.settings.chosen_registry()?;
    let url = registry_text(&choice.url).to_owned();
    if choice.chosen == Chosen::ByProject {
        // Whoever wrote the project's file would get the token (CVE-2025-69262).
        let message = format!("{url} was chosen by this project's `skillpkg.toml`, not by you");
        return Err(Error::new(Kind::Refused, "registry_of_project", message)
            .with_hint(format!("if you mean it: skillpkg login --registry {url}")));
    }
    Policy::of_user(&context.settings)?.check_registry(&choice.url)?;
    if choice.url.scheme() == "http" && !is_loopback(&choice.url) {
        context
            .output
            .warn(&format!("{url} is not encrypted: who listens on the way gets the token"));
    }
    let connection = context.settings.connections.get(&choice.url).cloned();
    let connection = connection.unwrap_or_else(Connection::default);
    let nobody = Registry::with_connection(choice.url.clone(), None, &connection)?;
    let token = read_token(context, &url)?;
    account::checked(context, nobody).await?;
    let registry = Registry::with_connection(choice.url.clone(), Some(token.clone()), &connection)?;
    let who = registry.who_am_i().await.map_err(|error| {
        if error.code != "unauthorized" {
            return error;
        }
        let message = format!("{url} does not know this token; nothing was kept");
        Error { message, ..error }.with_hint(
            "its operator makes one with `skillpkg-registry user add` or `skillpkg-registry token`",
        )
    })?;
    let credentials = Credentials::new(&context.settings.home);
    credentials.keep(&choice.url, &token)?;
    let account = escape(&who.account);
    context.output.talk(&format!("Logged in to {url} as {account}."));
    if context.settings.token.is_some() {
        context.output.warn("`SKILLPKG_TOKEN` is set, and goes before the token that was kept");
    }
    context.output.json(&json!({ "account": who.account, "registry": url }))?;
    Ok(0)
}

fn read_token(context: &Context, url: &str) -> Result<String, Error> {
    let text = if context.output.can_ask() {
        context.output.ask_hidden(&format!("Token for {url}:"))?
    } else if std::io::stdin().is_terminal() {
        let message = "nobody can be asked for the token here";
        return Err(Error::new(Kind::Usage, "token_missing", message)
            .with_hint("give it on stdin: skillpkg login < FILE"));
    } else {
        input::read_stdin("the token", MAX_TOKEN_BYTES)?
    };
    let token = text.trim();
    let message = if token.is_empty() {
        "there is no token on stdin"
    } else if token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(token.to_owned());
    } else {
        "what was given is no token: a token is one word"
    };
    Err(Error::new(Kind::Usage, "token_invalid", message)
        .with_hint("a token starts with `skp_`; the registry's operator makes one"))
}
