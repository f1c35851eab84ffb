//! `skillpkg trusted`.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde_json::json;
use skillpkg::registry::Registry;
use skillpkg::settings::registry_text;
use skillpkg::{Error, Kind};
use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::wire::{TrustPublisher, TrustedPublisher, TrustedPublishers};

use crate::commands::{absent, account};
use crate::context::Context;

/// The issuer of github.com.
const GITHUB: &str = "https://token.actions.githubusercontent.com";
/// The issuer of gitlab.com.
const GITLAB: &str = "https://gitlab.com";

/// Say which jobs of a build service may publish a skill, without a token of yours.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg trusted list waitlist")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// What to do with trusted publishers.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Action {
    /// Trust jobs of a build service to publish a skill in your name
    #[command(
        after_help = "Example: skillpkg trusted add waitlist --github acme/waitlist --owner-id 4077 --workflow release.yml"
    )]
    Add(Box<Add>),
    /// Tell the jobs that may publish a skill
    #[command(after_help = "Example: skillpkg trusted list waitlist")]
    List {
        /// The skill
        name: String,
    },
    /// Trust jobs no more; what they hold is revoked
    #[command(after_help = "Example: skillpkg trusted remove waitlist 6d3f0a9be8c1d274")]
    Remove {
        /// The skill
        name: String,
        /// The id that `list` shows
        id: String,
    },
}

/// Which jobs.
#[derive(Debug, clap::Args)]
pub(crate) struct Add {
    /// The skill; one of a scope of yours need not be there yet
    name: String,
    /// Jobs of GitHub Actions in this repository
    #[arg(long, value_name = "OWNER/REPOSITORY", conflicts_with = "gitlab", requires_all = ["owner_id", "workflow"])]
    github: Option<String>,
    /// The number of the repository's owner, as `https://api.github.com/users/OWNER` has it in `id`: a
    /// name can become somebody else's, a number cannot
    #[arg(long, value_name = "NUMBER", requires = "github")]
    owner_id: Option<String>,
    /// The number of the repository
    #[arg(long, value_name = "NUMBER", requires = "github")]
    repository_id: Option<String>,
    /// The file of the workflow, in `.github/workflows`
    #[arg(long, value_name = "FILE", requires = "github")]
    workflow: Option<String>,
    /// Jobs of GitLab CI in this project
    #[arg(long, value_name = "GROUP/PROJECT", requires_all = ["project_id", "namespace_id"])]
    gitlab: Option<String>,
    /// The number of the project
    #[arg(long, value_name = "NUMBER", requires = "gitlab")]
    project_id: Option<String>,
    /// The number of the group or user that the project is of
    #[arg(long, value_name = "NUMBER", requires = "gitlab")]
    namespace_id: Option<String>,
    /// The environment that the job must run in
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    /// The ref that it must run for, as the service has it: `refs/heads/main` on GitHub, `main` on GitLab
    #[arg(long = "ref", value_name = "REF")]
    reference: Option<String>,
    /// What else an identity must say, exactly; can be given again
    #[arg(long = "claim", value_name = "NAME=VALUE")]
    claims: Vec<String>,
    /// The issuer of the identities, where it is not github.com's or gitlab.com's
    #[arg(long, value_name = "URL")]
    issuer: Option<String>,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    match arguments.action {
        Action::Add(add) => trust(context, *add).await,
        Action::List { name } => {
            let name = read_name(&name)?;
            let registry = account::registry_of(context, &name).await?;
            let publishers = registry.trusted_publishers(&name).await;
            tell(context, &registry, &name, publishers).await
        }
        Action::Remove { name, id } => {
            let name = read_name(&name)?;
            let registry = account::registry_of(context, &name).await?;
            let publishers = registry.distrust_publisher(&name, &id).await;
            if publishers.is_ok() {
                context.output.talk(&format!("Done: those jobs publish {name} no more."));
            }
            tell(context, &registry, &name, publishers).await
        }
    }
}

async fn trust(context: &Context, add: Add) -> Result<u8, Error> {
    let name = read_name(&add.name)?;
    let request = request(add)?;
    let registry = account::registry_of(context, &name).await?;
    let publishers = registry.trust_publisher(&name, &request).await;
    if let Ok(told) = &publishers {
        let audience = escape(&told.audience);
        context.output.talk(&format!(
            "Done: such jobs publish {name} in your name, signed with a key of your account. Their \
             identities must be made for `{audience}`."
        ));
    }
    tell(context, &registry, &name, publishers).await
}

fn request(add: Add) -> Result<TrustPublisher, Error> {
    let usage = |message: String| Error::new(Kind::Usage, "invalid_claim", message);
    let issuer = match (add.issuer, &add.github, &add.gitlab) {
        (Some(issuer), ..) => issuer,
        (None, Some(_), _) => GITHUB.to_owned(),
        (None, None, Some(_)) => GITLAB.to_owned(),
        (None, None, None) => {
            return Err(usage("say of which build service the jobs are".to_owned())
                .with_hint("`--github`, `--gitlab`, or `--issuer` with `--claim`"));
        }
    };
    if let Some(repository) = &add.github {
        check_path("--github", "OWNER/REPOSITORY", repository, 2..=2)?;
    }
    if let Some(project) = &add.gitlab {
        check_path("--gitlab", "GROUP/PROJECT", project, 2..=usize::MAX)?;
    }
    for (option, number) in [
        ("--owner-id", &add.owner_id),
        ("--repository-id", &add.repository_id),
        ("--project-id", &add.project_id),
        ("--namespace-id", &add.namespace_id),
    ] {
        if let Some(text) = number {
            check_number(option, text)?;
        }
    }
    let workflow = add
        .workflow
        .map(|file| if file.contains('/') { file } else { format!(".github/workflows/{file}") });
    let mut claims = BTreeMap::new();
    for (claim, value) in [
        ("repository", add.github),
        ("repository_owner_id", add.owner_id),
        ("repository_id", add.repository_id),
        ("workflow_file", workflow),
        ("project_path", add.gitlab),
        ("project_id", add.project_id),
        ("namespace_id", add.namespace_id),
        ("environment", add.environment),
        ("ref", add.reference),
    ] {
        if let Some(value) = value {
            claims.insert(claim.to_owned(), value);
        }
    }
    for text in add.claims {
        let Some((claim, value)) = text.split_once('=') else {
            let shown = escape(&text);
            return Err(usage(format!("`{shown}` is no claim: expected `NAME=VALUE`")));
        };
        if claims.insert(claim.to_owned(), value.to_owned()).is_some() {
            return Err(usage(format!("the claim `{}` is given twice", escape(claim))));
        }
    }
    Ok(TrustPublisher { issuer, claims })
}

/// Refuses what is no path of so many parts, as the service has it.
fn check_path(
    option: &str,
    expected: &str,
    text: &str,
    parts: RangeInclusive<usize>,
) -> Result<(), Error> {
    let is_part = |part: &str| !part.is_empty() && !part.contains([':', ' ']);
    if text.split('/').all(is_part) && parts.contains(&text.split('/').count()) {
        return Ok(());
    }
    let message = format!("`{}` is not what `{option}` takes: expected `{expected}`", escape(text));
    let error = Error::new(Kind::Usage, "invalid_claim", message);
    let path = text.split("://").nth(1).and_then(|rest| rest.split_once('/'));
    Err(match path.map(|(_, path)| path.trim_end_matches('/').trim_end_matches(".git")) {
        Some(path) if path.contains('/') => {
            error.with_hint(format!("without its host: `{option} {}`", escape(path)))
        }
        _ if !text.contains('/') => error.with_hint(format!(
            "`{}` alone does not say which of its repositories: one job of one of them is trusted",
            escape(text)
        )),
        _ => error,
    })
}

/// Refuses what is no number: a name can become somebody else's.
fn check_number(option: &str, text: &str) -> Result<(), Error> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(());
    }
    let message = format!("`{}` is not what `{option}` takes: expected a number", escape(text));
    Err(Error::new(Kind::Usage, "invalid_claim", message).with_hint(
        "the service's API has it as `id`: of GitHub, `https://api.github.com/users/OWNER` and \
         `https://api.github.com/repos/OWNER/REPOSITORY`",
    ))
}

async fn tell(
    context: &Context,
    registry: &Registry,
    name: &QualifiedName,
    publishers: Result<TrustedPublishers, Error>,
) -> Result<u8, Error> {
    let TrustedPublishers { publishers, issuers, audience } = match publishers {
        Ok(publishers) => publishers,
        // Where no issuer is trusted, nothing of it is there.
        Err(error) if error.code == "method_not_allowed" => {
            let url = registry_text(registry.url());
            let message = format!("the registry at `{url}` trusts no build service");
            return Err(Error::new(Kind::Failed, "no_build_service", message).with_hint(
                "its operator names them with `skillpkg-registry serve --oidc-issuer URL`",
            ));
        }
        Err(error) => return Err(absent::explain(error, registry, name, None).await),
    };
    let lines: Vec<String> = publishers.iter().map(line).collect();
    context.output.text(&lines.join("\n"))?;
    if publishers.is_empty() {
        context.output.talk(&format!("No job is trusted to publish {name}."));
    }
    context.output.json(&json!({
        "name": name, "publishers": publishers, "issuers": issuers, "audience": audience,
    }))?;
    Ok(0)
}

fn line(publisher: &TrustedPublisher) -> String {
    let TrustedPublisher { id, issuer, claims, account, added } = publisher;
    let claims = claims.iter().map(|(claim, value)| format!("{}={}", escape(claim), escape(value)));
    let claims = claims.collect::<Vec<_>>().join(" ");
    format!(
        "{}  {}  {claims}  (for {}, since {})",
        escape(id),
        escape(issuer),
        escape(account),
        escape(added)
    )
}

fn read_name(text: &str) -> Result<QualifiedName, Error> {
    text.parse().map_err(|error: skillpkg_schema::name::NameError| {
        Error::new(Kind::Usage, "invalid_name", error.to_string())
    })
}
