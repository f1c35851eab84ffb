//! `skillpkg owner`.

use serde_json::json;
use skillpkg::registry::Registry;
use skillpkg::{Error, Kind};
use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::wire::{Invitations, Owners};

use crate::commands::{absent, account, invitation};
use crate::context::Context;

/// Tell who may publish a skill, invite and remove owners, answer an invitation.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg owner add waitlist ada")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// What to do with owners.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Action {
    /// Tell the owners, and to an owner who is invited to be one
    #[command(after_help = "Example: skillpkg owner list waitlist")]
    List {
        /// The skill
        name: String,
    },
    /// Invite an account to be an owner, which it is once it accepts
    #[command(after_help = "Example: skillpkg owner add waitlist bob")]
    Add {
        /// The skill
        name: String,
        /// The account
        account: String,
    },
    /// Remove an owner, never the last, or take an invitation back
    #[command(after_help = "Example: skillpkg owner remove waitlist bob")]
    Remove {
        /// The skill
        name: String,
        /// The account
        account: String,
    },
    /// Hand a skill on: invite an account to be an owner in your place
    #[command(after_help = "Example: skillpkg owner transfer waitlist bob")]
    Transfer {
        /// The skill
        name: String,
        /// The account
        account: String,
    },
    /// Tell what your account is invited to
    #[command(after_help = "Example: skillpkg owner invitations")]
    Invitations,
    /// Accept to be an owner
    #[command(after_help = "Example: skillpkg owner accept waitlist")]
    Accept {
        /// The skill
        name: String,
    },
    /// Decline to be an owner
    #[command(after_help = "Example: skillpkg owner decline waitlist")]
    Decline {
        /// The skill
        name: String,
    },
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    match arguments.action {
        Action::List { name } => list(context, &read_name(&name)?).await,
        Action::Add { name, account } => invite(context, &read_name(&name)?, &account, false).await,
        Action::Transfer { name, account } => {
            invite(context, &read_name(&name)?, &account, true).await
        }
        Action::Remove { name, account } => remove(context, &read_name(&name)?, &account).await,
        Action::Invitations => invitations(context).await,
        Action::Accept { name } => answer(context, &read_name(&name)?, true).await,
        Action::Decline { name } => answer(context, &read_name(&name)?, false).await,
    }
}

async fn list(context: &Context, name: &QualifiedName) -> Result<u8, Error> {
    let registry = Registry::for_settings(&context.settings, name)?;
    let registry = account::checked(context, registry).await?;
    let owners = registry.owners(name).await;
    tell(context, &registry, name, owners).await
}

async fn invite(
    context: &Context,
    name: &QualifiedName,
    account: &str,
    transfer: bool,
) -> Result<u8, Error> {
    let registry = account::registry_of(context, name).await?;
    let owners = registry.invite_owner(name, account, transfer).await;
    if let Ok(owners) = &owners {
        let shown = escape(account);
        context.output.talk(&match owners.invited.iter().find(|one| one.account == account) {
            Some(invited) => {
                let place = if transfer { " in your place" } else { "" };
                let until = escape(&invited.expires);
                format!(
                    "Invited {shown} to own {name}{place}: it is done once {shown} runs \
                     `skillpkg owner accept {name}`, until {until}."
                )
            }
            None => format!("{shown} is an owner of {name} already."),
        });
    }
    tell(context, &registry, name, owners).await
}

async fn remove(context: &Context, name: &QualifiedName, account: &str) -> Result<u8, Error> {
    let registry = account::registry_of(context, name).await?;
    let owners = registry.remove_owner(name, account).await;
    if owners.is_ok() {
        let account = escape(account);
        context
            .output
            .talk(&format!("Done: {account} does not own {name} any more, and is not invited to."));
    }
    tell(context, &registry, name, owners).await
}

async fn tell(
    context: &Context,
    registry: &Registry,
    name: &QualifiedName,
    owners: Result<Owners, Error>,
) -> Result<u8, Error> {
    let Owners { owners, invited } = match owners {
        Ok(owners) => owners,
        Err(error) => return Err(absent::explain(error, registry, name, None).await),
    };
    let mut lines: Vec<String> = owners.iter().map(|owner| escape(owner)).collect();
    lines.extend(invited.iter().map(|one| {
        let place = if one.transfer { ", in whose place" } else { "" };
        format!(
            "{}  (invited by {}{place}, until {})",
            escape(&one.account),
            escape(&one.by),
            escape(&one.expires)
        )
    }));
    context.output.text(&lines.join("\n"))?;
    context.output.json(&json!({ "name": name, "owners": owners, "invited": invited }))?;
    Ok(0)
}

async fn invitations(context: &Context) -> Result<u8, Error> {
    let registry = account::registry_with_token(context).await?;
    let invitations = registry.invitations().await?;
    context.output.text(&invitation_lines(&invitations).join("\n"))?;
    if invitations.owners.is_empty() && invitations.members.is_empty() {
        context.output.talk("Your account is invited to nothing.");
    }
    context.output.json(&invitations)?;
    Ok(0)
}

fn invitation_lines(invitations: &Invitations) -> Vec<String> {
    let owners = invitations.owners.iter().map(|one| {
        let (by, until) = (escape(&one.by), escape(&one.expires));
        let place = if one.transfer { " in the place of" } else { ", invited by" };
        format!("own {}{place} {by}, until {until}: `skillpkg owner accept {}`", one.name, one.name)
    });
    let members = invitations.members.iter().map(|one| {
        let (by, until, scope) = (escape(&one.by), escape(&one.expires), one.scope.as_str());
        let role = escape(&one.role);
        format!(
            "be a {role} of the scope {scope}, invited by {by}, until {until}: `skillpkg scope \
             accept {scope}`"
        )
    });
    owners.chain(members).collect()
}

async fn answer(context: &Context, name: &QualifiedName, accepts: bool) -> Result<u8, Error> {
    let registry = account::registry_of(context, name).await?;
    registry
        .answer_owner_invitation(name, accepts)
        .await
        .map_err(|error| invitation::explain(error, &format!("own `{name}`")))?;
    context.output.talk(&if accepts {
        format!("You are an owner of {name}.")
    } else {
        format!("Declined: you do not own {name}.")
    });
    context.output.json(&json!({ "name": name, "accepted": accepts }))?;
    Ok(0)
}

fn read_name(text: &str) -> Result<QualifiedName, Error> {
    text.parse().map_err(|error: skillpkg_schema::name::NameError| {
        Error::new(Kind::Usage, "invalid_name", error.to_string())
    })
}
