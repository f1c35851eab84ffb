//! `skillpkg log`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use skillpkg::bundle::{Carried, is_bundle};
use skillpkg::project::ProjectDirectory;
use skillpkg::registry::Registry;
use skillpkg::settings::RegistryChoice;
use skillpkg::trust::{
    self, Comparison, LogKey, LogSource, LogStatus, Pinned, Side, Verdict, shown_span, shown_time,
};
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{QualifiedName, Reference};

use crate::commands::subject;
use crate::context::Context;

/// Tell what is known of the transparency logs of registries.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg log --json

A registry's log is pinned when the registry is first asked, unless `log-key` in the configuration \
names it. From then on each answer has to continue it.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Compare what two show of a log; exit 3 where there are two histories
    #[command(after_help = "Example: skillpkg log compare https://skills.example.org \
                            /mnt/other/home")]
    Compare {
        /// A registry (URL or name), a checkpoint file, a bundle, or another `$SKILLPKG_HOME`
        first: String,
        /// Another of these
        second: String,
    },
    /// Tell the proof that an installed skill is in its registry's log
    #[command(after_help = "Example: skillpkg log show waitlist")]
    Show {
        /// The installed skill, `[scope/]name[@version]`
        reference: String,
        /// For all projects of this user
        #[arg(short = 'g', long)]
        global: bool,
    },
    /// Pin the log of a registry
    #[command(after_help = "Example: skillpkg log pin https://skills.example.org FINGERPRINT")]
    Pin {
        /// The registry: a URL or a name
        registry: String,
        /// The fingerprint that its operator publishes, or a verifier key, NAME+ID+KEY
        key: Option<String>,
    },
    /// Forget a log; it is pinned anew when its registry is next asked
    #[command(after_help = "Example: skillpkg log forget https://skills.example.org

What was known is moved aside, and its path told.")]
    Forget {
        /// Its origin, or the URL or the name of a registry that it speaks for
        log: Option<String>,
        /// Every log
        #[arg(long, conflicts_with = "log")]
        all: bool,
        /// Without a question
        #[arg(short, long)]
        yes: bool,
    },
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    match arguments.action {
        None => list(context),
        Some(Action::Compare { first, second }) => compare(context, &first, &second).await,
        Some(Action::Show { reference, global }) => show(context, &reference, global),
        Some(Action::Pin { registry, key }) => pin(context, &registry, key.as_deref()).await,
        Some(Action::Forget { log, all, yes }) => forget(context, log.as_deref(), all, yes),
    }
}

fn list(context: &Context) -> Result<u8, Error> {
    #[derive(Serialize)]
    struct Shape<'a> {
        logs: Vec<Log<'a>>,
    }
    #[derive(Serialize)]
    struct Log<'a> {
        #[serde(flatten)]
        status: &'a LogStatus,
        /// Seconds since the log signed its checkpoint.
        age: Option<u64>,
    }
    let logs = trust::logs(&context.settings)?;
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let age = |status: &LogStatus| status.time.map(|time| now.saturating_sub(time));
    for status in &logs {
        context.output.text(&text(status, age(status)))?;
    }
    if logs.is_empty() {
        context.output.talk("no log is known here: none of the registries asked so far keeps one");
    }
    let logs = logs.iter().map(|status| Log { status, age: age(status) }).collect();
    context.output.json(&Shape { logs })?;
    Ok(0)
}

fn text(status: &LogStatus, age: Option<u64>) -> String {
    let mut text = format!("{}\n  fingerprint {}", escape(&status.origin), status.fingerprint);
    let pinned = match status.pinned {
        Pinned::FirstUse => "pinned when it was first seen",
        Pinned::Configuration => "named in the configuration",
        Pinned::User => "pinned by hand",
    };
    let _ = write!(text, ", {pinned}");
    let _ = write!(text, "\n  {} leaves, root {}", status.size, status.root);
    if let (Some(time), Some(age)) = (status.time, age) {
        let _ = write!(text, "\n  signed {}, {} ago", shown_time(time), shown_span(age));
    }
    for registry in &status.registries {
        let relayed = if registry.relayed { " (relayed)" } else { "" };
        let _ = write!(text, "\n  speaks for {}{relayed}", escape(&registry.url));
    }
    for key in &status.keys {
        let _ = write!(text, "\n  key {}", escape(&key.to_string()));
    }
    text
}

async fn compare(context: &Context, first: &str, second: &str) -> Result<u8, Error> {
    #[derive(Serialize)]
    struct Shape<'a> {
        ok: bool,
        logs: &'a [Comparison],
    }
    let (first, second) = (source(context, first)?, source(context, second)?);
    let compared = trust::compare(&context.settings, &first, &second).await?;
    let has = |verdict| compared.iter().any(|one| one.verdict == verdict);
    let ok = !has(Verdict::Fork) && !has(Verdict::Unproven);
    context.output.json(&Shape { ok, logs: &compared })?;
    for one in &compared {
        context.output.text(&told(one))?;
    }
    Ok(match (has(Verdict::Fork), ok) {
        (true, _) => Kind::Verification.exit_code(),
        (false, false) => Kind::Failed.exit_code(),
        (false, true) => 0,
    })
}

fn told(one: &Comparison) -> String {
    let Comparison { origin, verdict, first, second, detail, evidence } = one;
    let (smaller, larger) =
        if first.size <= second.size { (first, second) } else { (second, first) };
    let side = |side: &Side| format!("{} ({} leaves, root {})", side.from, side.size, side.root);
    let mut text = match verdict {
        Verdict::Same => format!("same: both show {} leaves, root {}", first.size, first.root),
        Verdict::Continues => {
            format!("{} continues {}, as was proven", side(larger), side(smaller))
        }
        Verdict::Fork => format!("FORK: {} does not continue {}", side(larger), side(smaller)),
        Verdict::Unproven => {
            format!("unproven: whether {} continues {}", side(larger), side(smaller))
        }
    };
    text.insert_str(0, &format!("{}: ", escape(origin)));
    if let Some(detail) = detail {
        let _ = write!(text, "\n  {detail}");
    }
    if let Some(path) = evidence {
        let _ =
            write!(text, "\n  both checkpoints are kept in {}", escape(&path.to_string_lossy()));
    }
    text
}

/// A registry, else what lies at a path.
fn source(context: &Context, text: &str) -> Result<LogSource, Error> {
    let path = Path::new(text);
    let is_registry = text.contains("://") || context.settings.registries.contains_key(text);
    if !is_registry && !path.exists() && text.contains(['/', '.', '\\']) {
        let message = format!(
            "`{}` is neither the name of a configured registry nor a file that is there",
            escape(text)
        );
        return Err(Error::new(Kind::Usage, "file_not_found", message)
            .with_hint("a registry's URL starts with its scheme, `https://` or `http://`"));
    }
    if is_registry || !path.exists() {
        let choice = choice(context, text)?;
        return Ok(LogSource::Registry(Registry::chosen(&context.settings, &choice)?));
    }
    Ok(if path.is_dir() {
        LogSource::Home(PathBuf::from(path))
    } else if is_bundle(path) {
        LogSource::Bundle(Carried::open(path)?)
    } else {
        LogSource::File(PathBuf::from(path))
    })
}

fn choice(context: &Context, text: &str) -> Result<RegistryChoice, Error> {
    let url = context.settings.named_registry(text)?;
    Ok(context.settings.registry_at(&url))
}

fn show(context: &Context, reference: &str, global: bool) -> Result<u8, Error> {
    #[derive(Serialize)]
    struct Shape<'a> {
        name: &'a QualifiedName,
        version: String,
        address: String,
        origin: &'a str,
        log_index: u64,
        size: u64,
        time: Option<u64>,
        published: &'a str,
        private: bool,
        path: &'a Path,
    }
    let reference: Reference =
        reference.parse().map_err(|error: skillpkg_schema::reference::ReferenceError| {
            Error::new(Kind::Usage, "invalid_reference", error.to_string())
        })?;
    let settings = &context.settings;
    let root = if global { settings.home.join("global") } else { settings.project.clone() };
    let lock = ProjectDirectory::open(&root)?.read()?.lock;
    let whole = subject::whole_name(&[&root], &reference.name.to_string())?;
    let name = whole.as_ref().unwrap_or(&reference.name);
    let locked = lock.skill(name).filter(|locked| {
        let wanted = reference.requirement.as_ref();
        wanted.is_none_or(|wanted| wanted.matches(&locked.version, &locked.address))
    });
    let Some(locked) = locked else {
        let message = format!("`{}` is not installed in this project", reference.name);
        return Err(Error::new(Kind::Failed, "skill_not_found", message)
            .with_hint("`skillpkg list` tells what is"));
    };
    let Some(proof) = trust::proof(settings, locked)? else {
        let message = format!("no proof of `{name}@{}` is kept", locked.version);
        return Err(Error::new(Kind::Failed, "inclusion_missing", message)
            .with_hint("`skillpkg verify` fetches one where the registry keeps a log"));
    };
    let blinded = if proof.private { ", blinded" } else { "" };
    let time = proof.time.map(|time| format!(", signed {}", shown_time(time)));
    context.output.text(&format!(
        "{name}@{} is leaf {} of {}{blinded}\n  published {}\n  {}\n  proven against {} leaves{}\n  \
         {}",
        locked.version,
        proof.index,
        escape(&proof.origin),
        escape(&proof.published),
        locked.address,
        proof.size,
        time.unwrap_or_default(),
        escape(&proof.path.to_string_lossy()),
    ))?;
    context.output.json(&Shape {
        name,
        version: locked.version.to_string(),
        address: locked.address.to_string(),
        origin: &proof.origin,
        log_index: proof.index,
        size: proof.size,
        time: proof.time,
        published: &proof.published,
        private: proof.private,
        path: &proof.path,
    })?;
    Ok(0)
}

async fn pin(context: &Context, registry: &str, key: Option<&str>) -> Result<u8, Error> {
    let key = key
        .map(LogKey::parse)
        .transpose()
        .map_err(|reason| Error::new(Kind::Usage, "log_key_invalid", reason))?;
    let choice = choice(context, registry)?;
    context.output.tell_all(&trust::pin(&context.settings, &choice, key.as_ref()).await?);
    list(context)
}

fn forget(context: &Context, log: Option<&str>, all: bool, yes: bool) -> Result<u8, Error> {
    #[derive(Serialize)]
    struct Shape {
        forgotten: Vec<PathBuf>,
    }
    let what = match log {
        Some(text) => match context.settings.registries.get(text) {
            Some(url) => url.as_str().to_owned(),
            None => text.to_owned(),
        },
        None if all => "*".to_owned(),
        None => {
            let message = "which log? `skillpkg log` tells them; `--all` means every one";
            return Err(Error::new(Kind::Usage, "usage", message));
        }
    };
    if !trust::is_known(&context.settings, &what)? {
        return Err(unknown(&what));
    }
    let question = format!(
        "Forget what is known of {}? What is shown next is believed from then on.",
        if all { "every log".to_owned() } else { format!("`{}`", escape(&what)) }
    );
    let refused = "nobody can be asked here whether a log is to be forgotten";
    let otherwise = if all {
        "`skillpkg log forget --all -y` forgets them".to_owned()
    } else {
        format!("`skillpkg log forget {} -y` forgets it", escape(&what))
    };
    if !yes && !context.output.confirm(&question, refused, &otherwise)? {
        return Err(Error::new(Kind::Refused, "approval_required", "nothing was forgotten"));
    }
    let forgotten = trust::forget(&context.settings, &what)?;
    if forgotten.is_empty() {
        return Err(unknown(&what));
    }
    for path in &forgotten {
        context.output.text(&format!(
            "forgotten; what was known lies in {}",
            escape(&path.to_string_lossy())
        ))?;
    }
    context.output.json(&Shape { forgotten })?;
    Ok(0)
}

fn unknown(what: &str) -> Error {
    let message = match what {
        "*" => "no log is known here".to_owned(),
        one => format!("no log `{}` is known here", escape(one)),
    };
    Error::new(Kind::Failed, "log_unknown", message)
        .with_hint("`skillpkg log` tells those that are")
}
