//! The commands: one a file.

mod absent;
mod account;
mod activate;
mod adopt;
#[cfg(test)]
mod advice;
mod advisory;
mod agent_rules;
mod agents;
mod attendant;
mod audit;
mod bundle;
mod call;
mod cat;
mod check;
mod compile;
mod completions;
mod contract;
mod deactivate;
mod diff;
mod doctor;
mod elsewhere;
mod exact_version;
mod found;
mod gc;
mod init;
mod input;
mod inspect;
mod inspection;
mod install;
mod installed;
mod invitation;
mod keygen;
mod keys;
mod list;
mod log;
mod login;
mod logout;
mod man;
mod mcp;
mod outdated;
mod owner;
mod pack;
mod packed;
mod packing;
mod passphrase;
mod policy;
mod publish;
mod reason;
mod rehearsal;
mod remove;
mod resolve;
mod scope;
mod search;
mod show;
mod signing;
mod subject;
mod sync;
mod told_to_end;
mod trusted;
mod unyank;
mod update;
mod verify;
mod whoami;
mod yank;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use skillpkg::agents::Reach;
use skillpkg::install::Options;
use skillpkg::{Error, Kind};
use tokio_util::sync::CancellationToken;

use crate::candidates;
use crate::context::{self, Context};
use crate::interruption::{self, Losing};
use crate::output::{Color, Output};

pub(crate) use self::elsewhere::explained;

/// Installs, verifies and runs agent skills.
#[derive(Debug, Parser)]
#[command(name = "skillpkg", version, max_term_width = 100)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    global: GlobalArguments,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options of every command")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that stands alone")]
pub(crate) struct GlobalArguments {
    /// The registry: a URL, or a name of the user's configuration
    #[arg(long, global = true, value_name = "URL|NAME", add = candidates::registries())]
    pub(crate) registry: Option<String>,
    /// Print data as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Tell warnings and errors alone
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Tell more
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// When to use colour: `auto`, `always` or `never`
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub(crate) color: Color,
    /// Never ask
    #[arg(long, global = true)]
    pub(crate) no_input: bool,
}

/// What `pack` and `publish` take.
#[derive(Debug, clap::Args)]
pub(crate) struct PackingArguments {
    /// The version, in place of the one in the file
    #[arg(long)]
    pub(crate) version: Option<String>,
    /// The name, in place of the one in the file
    #[arg(long, value_name = "[SCOPE/]NAME")]
    pub(crate) name: Option<String>,
    /// Pack what looks like a secret
    #[arg(long)]
    pub(crate) allow_secrets: bool,
    /// A PEM file of a key to sign with, in place of this machine's; can be given again
    #[arg(long = "key", value_name = "FILE")]
    pub(crate) keys: Vec<PathBuf>,
    /// Make this machine's signing key where there is none, without asking
    #[arg(short = 'y', long, visible_alias = "yes", conflicts_with = "keys")]
    pub(crate) keygen: bool,
}

/// Where `install` and `sync` place skills.
#[derive(Debug, clap::Args)]
pub(crate) struct PlacingArguments {
    /// An agent to place it for, such as `claude-code`; can be given again
    #[arg(long = "agent", value_name = "AGENT", add = candidates::agents())]
    pub(crate) agents: Vec<String>,
    /// For all projects of this user, in agents' global directories
    #[arg(short = 'g', long)]
    pub(crate) global: bool,
    /// Place copies, which may be edited, instead of links
    #[arg(long)]
    pub(crate) copy: bool,
    /// Replace copies that were edited
    #[arg(long)]
    pub(crate) discard_edits: bool,
}

impl PlacingArguments {
    /// What an install may do, as far as these arguments say.
    pub(crate) fn options(self) -> Options {
        let Self { agents, global, copy, discard_edits } = self;
        Options { agents, copy, discard_edits, ..Options::new(reach(global)) }
    }
}

/// One project, or all of the user's.
pub(crate) fn reach(global: bool) -> Reach {
    if global { Reach::Global } else { Reach::Project }
}

/// The commands.
#[derive(Debug, Subcommand)]
enum Command {
    /// Make a skill that passes `check`, ready to publish
    Init(init::Arguments),
    /// Tell every error and warning of skills
    Check(check::Arguments),
    /// Tell what a skill carries: tools, programs, files, resources, scripts
    Inspect(inspect::Arguments),
    /// Print the system text of a skill
    Compile(compile::Arguments),
    /// Read a model's answer on stdin and print the call in it
    Resolve(resolve::Arguments),
    /// Compile a script's input contract, and bind arguments to it
    Contract(contract::Arguments),
    /// Write the signed archive of a skill
    Pack(pack::Arguments),
    /// Make a signing key
    Keygen(keygen::Arguments),
    /// Tell the signing keys there are, and which the account has
    Keys(keys::Arguments),
    /// Keep a token for the registry, read from a prompt or stdin
    Login(login::Arguments),
    /// Forget the token for the registry
    Logout(logout::Arguments),
    /// Tell whose token it is and what it allows
    Whoami(whoami::Arguments),
    /// Check, pack, sign and upload skills
    Publish(publish::Arguments),
    /// Keep a version from being picked anew; who has it locked keeps it
    Yank(yank::Arguments),
    /// Take a yank back
    Unyank(unyank::Arguments),
    /// Say what is wrong with versions of a skill, to everybody who has one of them
    Advisory(advisory::Arguments),
    /// Tell who may publish a skill, invite and remove owners, answer an invitation
    Owner(owner::Arguments),
    /// Say which jobs of a build service may publish a skill, without a token of yours
    Trusted(trusted::Arguments),
    /// Tell the members of a scope, invite and remove some, answer an invitation
    Scope(scope::Arguments),
    /// Find skills
    Search(search::Arguments),
    /// Tell everything known about one skill
    Show(show::Arguments),
    /// Install skills: resolve, fetch, verify, activate and place them
    Install(install::Arguments),
    /// Take over what `npx skills`, `apm` or `clawhub` installed
    Adopt(adopt::Arguments),
    /// Make the project what its lockfile says
    Sync(sync::Arguments),
    /// Write skills with their proofs to one file, for machines without a network
    Bundle(bundle::Arguments),
    /// Move skills to the newest versions that the project asks for
    Update(update::Arguments),
    /// Tell which skills have newer versions, and what these would add
    Outdated(outdated::Arguments),
    /// Tell what changes between two skills, or two versions of one
    Diff(diff::Arguments),
    /// Remove skills from the project
    Remove(remove::Arguments),
    /// Tell the installed skills
    List(list::Arguments),
    /// Tell what goes where for which agent and why, and choose the agents
    Agents(agents::Arguments),
    /// Tell what is known of the transparency logs of registries
    Log(log::Arguments),
    /// Verify an installed skill, ask, and let agents see it
    Activate(activate::Arguments),
    /// Take an installed skill out of the sight of agents
    Deactivate(deactivate::Arguments),
    /// Run a tool or a script of an active skill
    Call(call::Arguments),
    /// Serve the active skills to an agent host that speaks MCP
    Mcp(mcp::Arguments),
    /// Print exact bytes, verified before they are written
    Cat(cat::Arguments),
    /// Hash installed skills or archives again, and check their signatures
    Verify(verify::Arguments),
    /// Hold everything that is installed against the policies
    Audit(audit::Arguments),
    /// Tell the rules that the machine, the user and the project set
    Policy(policy::Arguments),
    /// Tell what is wrong here, and what to do about it
    Doctor(doctor::Arguments),
    /// Remove what no project on this machine uses from the store
    Gc(gc::Arguments),
    /// Print the completions of a shell
    Completions(completions::Arguments),
    /// Write the manual pages of every command
    Man(man::Arguments),
}

/// Runs a command line to its exit code.
pub(crate) fn run(command_line: CommandLine) -> ExitCode {
    let CommandLine { global, command } = command_line;
    match global.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    let output = Output {
        json: global.json,
        quiet: global.quiet,
        verbose: global.verbose,
        input: !global.no_input,
    };
    match start(&global, command, output) {
        Ok(code) => ExitCode::from(code),
        // Whatever failed because of it, and however it says so.
        Err(_) if interruption::is_told() => {
            output.fail(&interruption::failure());
            ExitCode::from(interruption::exit_code())
        }
        Err(error) => {
            output.fail(&error);
            ExitCode::from(error.kind.exit_code())
        }
    }
}

/// How many threads answer the requests of hosts.
const SERVING_THREADS: usize = 2;

fn start(global: &GlobalArguments, command: Command, output: Output) -> Result<u8, Error> {
    let mut runtime = match &command {
        // What one request reads holds up none of the others.
        Command::Mcp(_) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = runtime
        .worker_threads(SERVING_THREADS)
        .enable_all()
        .build()
        .map_err(|error| Error::new(Kind::Failed, "runtime_failed", error.to_string()))?;
    let directory = match &command {
        Command::Mcp(arguments) => arguments.project.as_deref(),
        Command::Adopt(arguments) => arguments.directory()?,
        _ => None,
    };
    let told = interruption::watch(command.losing(), output);
    let context = match Context::new(global, directory, output) {
        Err(error) if matches!(command, Command::Doctor(_)) => {
            return doctor::tell_unreadable(&error, output);
        }
        context => context?,
    };
    let answer = runtime.block_on(async {
        tokio::select! {
            biased;
            answer = dispatch(command, &context) => answer,
            // Dropped where it waits, it takes along what it made for the meanwhile.
            () = let_go(&told) => Err(interruption::failure()),
        }
    });
    answer.map_err(|error| context::at_home(error, &context.settings))
}

/// Waits until this process is told to end, and the command does not answer to that itself.
async fn let_go(told: &CancellationToken) {
    told.cancelled().await;
    if interruption::is_answered() {
        std::future::pending::<()>().await;
    }
}

impl Command {
    /// What is lost where it is ended wherever it is.
    fn losing(&self) -> Losing {
        match self {
            Self::Check(_)
            | Self::Inspect(_)
            | Self::Compile(_)
            | Self::Resolve(_)
            | Self::Contract(_)
            | Self::Whoami(_)
            | Self::Search(_)
            | Self::Show(_)
            | Self::List(_)
            | Self::Cat(_)
            | Self::Audit(_)
            | Self::Policy(_)
            | Self::Doctor(_)
            | Self::Completions(_) => Losing::Nothing,
            Self::Verify(arguments) if !arguments.repairs() => Losing::Nothing,
            _ => Losing::Something,
        }
    }
}

async fn dispatch(command: Command, context: &Context) -> Result<u8, Error> {
    match command {
        Command::Init(arguments) => init::run(arguments, context),
        Command::Check(arguments) => check::run(&arguments, context),
        Command::Inspect(arguments) => inspect::run(&arguments, context),
        Command::Compile(arguments) => compile::run(&arguments, context),
        Command::Resolve(arguments) => resolve::run(&arguments, context),
        Command::Contract(arguments) => contract::run(&arguments, context),
        Command::Pack(arguments) => pack::run(arguments, context),
        Command::Keygen(arguments) => keygen::run(&arguments, context),
        Command::Keys(arguments) => keys::run(arguments, context).await,
        Command::Login(arguments) => login::run(arguments, context).await,
        Command::Logout(arguments) => logout::run(&arguments, context),
        Command::Whoami(arguments) => whoami::run(arguments, context).await,
        Command::Publish(arguments) => publish::run(arguments, context).await,
        Command::Yank(arguments) => yank::run(arguments, context).await,
        Command::Unyank(arguments) => unyank::run(arguments, context).await,
        Command::Advisory(arguments) => advisory::run(arguments, context).await,
        Command::Owner(arguments) => owner::run(arguments, context).await,
        Command::Trusted(arguments) => trusted::run(arguments, context).await,
        Command::Scope(arguments) => scope::run(arguments, context).await,
        Command::Search(arguments) => search::run(arguments, context).await,
        Command::Show(arguments) => show::run(arguments, context).await,
        Command::Install(arguments) => install::run(arguments, context).await,
        Command::Adopt(arguments) => adopt::run(arguments, context).await,
        Command::Sync(arguments) => sync::run(arguments, context).await,
        Command::Bundle(arguments) => bundle::run(arguments, context).await,
        Command::Update(arguments) => update::run(arguments, context).await,
        Command::Outdated(arguments) => outdated::run(arguments, context).await,
        Command::Diff(arguments) => diff::run(arguments, context).await,
        Command::Remove(arguments) => remove::run(arguments, context).await,
        Command::List(arguments) => list::run(arguments, context).await,
        Command::Agents(arguments) => agents::run(arguments, context),
        Command::Log(arguments) => log::run(arguments, context).await,
        Command::Activate(arguments) => activate::run(arguments, context).await,
        Command::Deactivate(arguments) => deactivate::run(arguments, context),
        Command::Call(arguments) => call::run(arguments, context).await,
        Command::Mcp(arguments) => mcp::run(arguments, context).await,
        Command::Cat(arguments) => cat::run(arguments, context).await,
        Command::Verify(arguments) => verify::run(arguments, context).await,
        Command::Audit(arguments) => audit::run(arguments, context).await,
        Command::Policy(arguments) => policy::run(&arguments, context),
        Command::Doctor(arguments) => doctor::run(arguments, context).await,
        Command::Gc(arguments) => gc::run(arguments, context).await,
        Command::Completions(arguments) => completions::run(&arguments, context),
        Command::Man(arguments) => man::run(&arguments, context),
    }
}
