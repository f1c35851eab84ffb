//! `skillpkg scope`.

use serde_json::json;
use skillpkg::registry::Registry;
use skillpkg::{Error, Kind};
use skillpkg_schema::Scope;
use skillpkg_schema::diagnostic::{escape, nearest};
use skillpkg_schema::wire::Members;

use crate::commands::{account, invitation};
use crate::context::Context;

/// Tell the members of a scope, invite and remove some, answer an invitation.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg scope invite acme bob --role reader")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// What to do with members.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Action {
    /// Tell the members, and who is invited to be one
    #[command(after_help = "Example: skillpkg scope list acme")]
    List {
        /// The scope
        scope: String,
    },
    /// Invite an account to be a member, which it is once it accepts
    #[command(after_help = "Example: skillpkg scope invite acme bob --role reader")]
    Invite {
        /// The scope
        scope: String,
        /// The account
        account: String,
        /// `reader`, `publisher` or `owner`
        #[arg(long, value_name = "ROLE", default_value = "publisher")]
        role: String,
    },
    /// Remove a member (oneself too), never the last owner, or take an invitation back
    #[command(after_help = "Example: skillpkg scope remove acme bob")]
    Remove {
        /// The scope
        scope: String,
        /// The account
        account: String,
    },
    /// Give a member another role
    #[command(after_help = "Example: skillpkg scope role acme bob publisher")]
    Role {
        /// The scope
        scope: String,
        /// The account
        account: String,
        /// `reader`, `publisher` or `owner`
        role: String,
    },
    /// Accept to be a member
    #[command(after_help = "Example: skillpkg scope accept acme")]
    Accept {
        /// The scope
        scope: String,
    },
    /// Decline to be a member
    #[command(after_help = "Example: skillpkg scope decline acme")]
    Decline {
        /// The scope
        scope: String,
    },
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    match arguments.action {
        Action::List { scope } => {
            let scope = read_scope(&scope)?;
            let members = registry(context, &scope).await?.members(&scope).await;
            tell(context, &scope, members).await
        }
        Action::Invite { scope, account, role } => {
            let scope = read_scope(&scope)?;
            let members =
                registry(context, &scope).await?.invite_member(&scope, &account, &role).await;
            if let Ok(members) = &members {
                let told = invited(members, &scope, &account);
                context.output.talk(&told);
            }
            tell(context, &scope, members).await
        }
        Action::Remove { scope, account } => {
            let scope = read_scope(&scope)?;
            let members = registry(context, &scope).await?.remove_member(&scope, &account).await;
            if members.is_ok() {
                let (account, scope) = (escape(&account), scope.as_str());
                context.output.talk(&format!(
                    "Done: {account} is no member of {scope} any more, and is not invited."
                ));
            }
            tell(context, &scope, members).await
        }
        Action::Role { scope, account, role } => {
            let scope = read_scope(&scope)?;
            let members = registry(context, &scope).await?.set_role(&scope, &account, &role).await;
            if members.is_ok() {
                let (account, role) = (escape(&account), escape(&role));
                context.output.talk(&format!("{account} is a {role} of {}.", scope.as_str()));
            }
            tell(context, &scope, members).await
        }
        Action::Accept { scope } => answer(context, &read_scope(&scope)?, true).await,
        Action::Decline { scope } => answer(context, &read_scope(&scope)?, false).await,
    }
}

async fn registry(context: &Context, scope: &Scope) -> Result<Registry, Error> {
    account::registry_of_scope(context, scope).await
}

fn invited(members: &Members, scope: &Scope, account: &str) -> String {
    let (shown, scope) = (escape(account), scope.as_str());
    match members.invited.iter().find(|one| one.account == account) {
        Some(one) => {
            let (role, until) = (escape(&one.role), escape(&one.expires));
            format!(
                "Invited {shown} to be a {role} of {scope}: it is done once {shown} runs `skillpkg \
                 scope accept {scope}`, until {until}."
            )
        }
        None => format!("{shown} is that already."),
    }
}

async fn tell(
    context: &Context,
    scope: &Scope,
    members: Result<Members, Error>,
) -> Result<u8, Error> {
    let members = match members {
        Ok(members) => members,
        Err(error) => return Err(absent(context, error, scope).await),
    };
    let mut lines: Vec<String> = Vec::new();
    for one in &members.members {
        lines.push(format!("{}\t{}", escape(&one.account), escape(&one.role)));
    }
    for one in &members.invited {
        let (by, until) = (escape(&one.by), escape(&one.expires));
        let (account, role) = (escape(&one.account), escape(&one.role));
        lines.push(format!("{account}\t{role}\t(invited by {by}, until {until})"));
    }
    context.output.text(&lines.join("\n"))?;
    context.output.json(&members)?;
    Ok(0)
}

async fn absent(context: &Context, error: Error, scope: &Scope) -> Error {
    if error.code != "not_found" {
        return error;
    }
    let who = match registry(context, scope).await {
        Ok(registry) => registry.who_am_i().await.ok(),
        Err(_) => None,
    };
    let scopes = who.iter().flat_map(|who| &who.scopes).map(Scope::as_str);
    let near = nearest(scope.as_str(), scopes).map(escape);
    let message = format!("there is no scope `{}` that you are a member of", scope.as_str());
    Error::new(Kind::Failed, "scope_not_found", message).with_hint(match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`skillpkg whoami` tells the scopes of your account".to_owned(),
    })
}

async fn answer(context: &Context, scope: &Scope, accepts: bool) -> Result<u8, Error> {
    registry(context, scope).await?.answer_member_invitation(scope, accepts).await.map_err(
        |error| invitation::explain(error, &format!("be a member of `{}`", scope.as_str())),
    )?;
    context.output.talk(&if accepts {
        format!("You are a member of {}.", scope.as_str())
    } else {
        format!("Declined: you are no member of {}.", scope.as_str())
    });
    context.output.json(&json!({ "scope": scope, "accepted": accepts }))?;
    Ok(0)
}

fn read_scope(text: &str) -> Result<Scope, Error> {
    text.parse().map_err(|error: skillpkg_schema::name::NameError| {
        Error::new(Kind::Usage, "invalid_name", error.to_string())
    })
}
