//! The commands of an operator.

mod advisory;
mod directory;
mod gc;
mod log;
mod man;
mod mirror;
mod name;
mod output;
mod scope;
mod serve;
mod token;
mod user;
mod verify;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use directory::Directory;
use skillpkg_registry::accounts::AccountError;
use skillpkg_registry::data::DataError;
use skillpkg_registry::database::LeaseError;
use skillpkg_registry::log::LogError;
use skillpkg_registry::names::ChangeError;
use skillpkg_registry::names::popular::ListError;
use skillpkg_registry::upkeep::UpkeepError;

/// Serves skills, and manages who may publish them.
#[derive(Debug, Parser)]
#[command(
    name = "skillpkg-registry",
    version,
    about,
    max_term_width = 100,
    after_help = "Example:\n  skillpkg-registry serve --data /var/lib/skillpkg"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a registry until SIGTERM or SIGINT
    Serve(Box<serve::Serve>),
    /// Accounts
    #[command(
        subcommand,
        after_help = "Example:\n  skillpkg-registry user add ana --data /var/lib/skillpkg"
    )]
    User(user::User),
    /// Scopes and their members
    #[command(
        subcommand,
        after_help = "Example:\n  skillpkg-registry scope add acme --owner ana --private --data /var/lib/skillpkg"
    )]
    Scope(scope::Scope),
    /// Names: those that read like others, deleting them, giving them to others
    #[command(
        subcommand,
        after_help = "Example:\n  skillpkg-registry name list --held --data /var/lib/skillpkg"
    )]
    Name(name::Name),
    /// Advisories: what is known to be wrong with versions
    #[command(
        subcommand,
        after_help = "Example:\n  skillpkg-registry advisory list --data /var/lib/skillpkg"
    )]
    Advisory(advisory::Advisory),
    /// The transparency log: who it is, its next keys, and what is wrong with it
    #[command(
        subcommand,
        after_help = "Example:\n  skillpkg-registry log identity --data /var/lib/skillpkg"
    )]
    Log(log::Log),
    /// Tokens of any account
    #[command(
        subcommand,
        after_help = "Example:\n  skillpkg-registry token list ana --data /var/lib/skillpkg"
    )]
    Token(token::Token),
    /// Compare every row with the bytes that it names
    Verify(verify::Verify),
    /// Remove objects that no row names
    Gc(gc::Gc),
    /// Write the manual pages of every command
    Man(man::Man),
    /// Print the completions of a shell
    Completions(man::Completions),
}

/// How a command answers.
#[derive(Debug, Args)]
struct Format {
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// The data directory.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Accounts, scopes, tokens.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// Names.
    #[error(transparent)]
    Name(#[from] ChangeError),
    /// A list of popular names.
    #[error(transparent)]
    Popular(#[from] ListError),
    /// The database.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
    /// `verify` and `gc`.
    #[error(transparent)]
    Upkeep(#[from] UpkeepError),
    /// The registry that is to be mirrored.
    #[error("{0}")]
    Mirror(String),
    /// An issuer that is to be trusted.
    #[error("{0}")]
    Issuer(String),
    /// Another server writes what this one has served.
    #[error(
        "another server has taken over this registry, and one alone serves it: where the other is the one that is meant, leave this one stopped; else stop the other, and start this one again"
    )]
    Overtaken,
    /// What was asked for could not be written to stdout.
    #[error("cannot write to stdout: {0}")]
    Stdout(#[source] std::io::Error),
    /// A secret that nobody was shown, of something that is made.
    #[error("{made}, and its token could not be written to stdout: {source}; {instead}")]
    Unshown {
        /// What is made.
        made: String,
        /// Why nobody was shown it.
        source: std::io::Error,
        /// What to do.
        instead: String,
    },
    /// Anything of the system's.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl Failure {
    /// Where stdout did not take a secret: what is made all the same, and what to do.
    fn or_unshown(self, made: impl Into<String>, instead: impl Into<String>) -> Self {
        match self {
            Self::Stdout(source) => {
                Self::Unshown { made: made.into(), source, instead: instead.into() }
            }
            other => other,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Data(DataError::Served { .. })
            | Self::Overtaken
            | Self::Log(LogError::Lease(LeaseError::Held { .. }) | LogError::Overtaken(_)) => {
                "already_served"
            }
            Self::Data(DataError::Missing(_) | DataError::Empty(_) | DataError::Foreign { .. }) => {
                "no_registry"
            }
            Self::Data(DataError::Lost { .. }) => "database_lost",
            Self::Data(DataError::Elsewhere { .. }) => "other_database",
            Self::Data(DataError::Stored { .. }) => "other_blobs",
            Self::Data(_) => "data_unusable",
            Self::Mirror(_) => "mirror_refused",
            Self::Issuer(_) => "issuer_refused",
            Self::Account(AccountError::Name(_)) => "invalid_name",
            Self::Account(AccountError::Grant(_)) => "invalid_grant",
            Self::Account(AccountError::Taken { .. } | AccountError::ClosedName(_)) => "name_taken",
            Self::Account(AccountError::UnknownAccount(_))
            | Self::Name(ChangeError::UnknownAccount(_)) => "unknown_account",
            Self::Account(AccountError::Closed(_)) => "account_closed",
            Self::Account(AccountError::UnknownKey { .. }) => "unknown_key",
            Self::Account(AccountError::Reason(_)) => "refused",
            Self::Account(AccountError::UnknownScope(_)) => "unknown_scope",
            Self::Account(AccountError::UnknownToken(_)) => "unknown_token",
            Self::Account(AccountError::NotAMember { .. }) => "not_a_member",
            Self::Account(AccountError::LastScopeOwner { .. }) => "last_owner",
            Self::Name(error) => error.code(),
            Self::Popular(_) => "list_unreadable",
            Self::Account(_) | Self::Database(_) => "database_failed",
            Self::Log(_) => "log_failed",
            Self::Upkeep(_) => "upkeep_failed",
            Self::Stdout(_) | Self::Unshown { .. } => "output_failed",
            Self::Io { .. } => "io_failed",
        }
    }
}

/// Runs a command; the code is 0 where it was done, 1 where it failed, 2 where it was not understood,
/// 3 where `verify` found something wrong.
pub(crate) fn run(arguments: Arguments) -> ExitCode {
    output::start_log();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(source) => {
            let doing = "starting".to_owned();
            return output::failed(&Failure::Io { doing, source }, false);
        }
    };
    let (answer, json) = runtime.block_on(async {
        match arguments.command {
            Command::Serve(serve) => (serve.run().await, false),
            Command::User(user) => (user.run().await, user.json()),
            Command::Scope(scope) => (scope.run().await, scope.json()),
            Command::Name(name) => (name.run().await, name.json()),
            Command::Advisory(advisory) => (advisory.run().await, advisory.json()),
            Command::Log(log) => (log.run().await, log.json()),
            Command::Token(token) => (token.run().await, token.json()),
            Command::Verify(verify) => (verify.run().await, verify.json()),
            Command::Gc(gc) => (gc.run().await, gc.json()),
            Command::Man(man) => (man.run(), false),
            Command::Completions(completions) => (completions.run(), false),
        }
    });
    match answer {
        Ok(code) => code,
        Err(failure) => output::failed(&failure, json),
    }
}

/// Tells what is wrong with a command line, as every failure is told with `--json`.
pub(crate) fn misunderstood(error: &clap::Error) -> ExitCode {
    output::misunderstood(error, std::env::args_os().any(|argument| argument == "--json"))
}
