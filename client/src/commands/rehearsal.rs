//! What a registry would say to a publish, asked without sending anything.

use skillpkg::registry::Registry;
use skillpkg::settings::registry_text;
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::name::EMPTY_SCOPE;
use skillpkg_schema::signature::{KeyId, PublicKey};
use skillpkg_schema::wire::WhoAmI;
use skillpkg_schema::{ContentAddress, Manifest, QualifiedName};

use crate::commands::account;
use crate::context::Context;

/// What is to be published.
#[derive(Debug)]
pub(crate) struct Release<'a> {
    /// The manifest.
    pub(crate) manifest: &'a Manifest,
    /// Its address.
    pub(crate) address: ContentAddress,
    /// The keys that it is signed with, as far as this machine has them.
    pub(crate) keys: &'a [PublicKey],
}

/// What came of asking.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Nothing speaks against it.
    Ready {
        /// What there is to tell.
        told: String,
        /// Whether it is there already, with exactly this content.
        is_there: bool,
    },
    /// The registry was not asked, for this reason.
    NotAsked(String),
}

/// Asks the registry of the release all that a publish would be refused for and that can be asked
/// before: its log, token, grants, scope, key, owners, version.
///
/// An error is the refusal that the publish would get. A registry that is not there, cannot be
/// reached or has no token here is not asked, which refuses nothing.
pub(crate) async fn ask(context: &Context, release: &Release<'_>) -> Result<Outcome, Error> {
    let name = &release.manifest.name;
    let registry = match Registry::for_settings(&context.settings, name) {
        Ok(registry) => registry,
        Err(error) if matches!(error.code.as_str(), "no_registry" | "offline") => {
            return Ok(Outcome::NotAsked(error.message));
        }
        Err(error) => return Err(error),
    };
    let url = registry_text(registry.url());
    if !registry.has_token() {
        return Ok(Outcome::NotAsked(format!("there is no token for {url}")));
    }
    // A registry that may not be asked for its log may not be published to either.
    let answer = match account::checked(context, registry.clone()).await {
        Ok(registry) => registry.who_am_i().await,
        Err(error) => Err(error),
    };
    let who = match answer {
        Ok(who) => who,
        Err(error)
            if matches!(
                error.code.as_str(),
                "registry_unreachable" | "registry_timeout" | "answer_too_short"
            ) =>
        {
            return Ok(Outcome::NotAsked(error.message));
        }
        Err(error) => return Err(error),
    };
    check_grants(&who, name)?;
    check_scope(&who, name)?;
    let key = check_keys(&registry, release).await?;
    let (version, is_there) = check_version(&registry, &who, release).await?;
    let told = format!("{url} would take it from {}: {version}{key}", escape(&who.account));
    Ok(Outcome::Ready { told, is_there })
}

fn refused(code: &str, message: String) -> Error {
    Error::new(Kind::Refused, code, message)
}

fn check_grants(who: &WhoAmI, name: &QualifiedName) -> Result<(), Error> {
    let of_scope = format!("{}/*", name.scope().map_or(EMPTY_SCOPE, |scope| scope.as_str()));
    let allows = |grant: &String| {
        grant.strip_prefix("publish:").is_some_and(|pattern| {
            pattern == "*" || pattern == of_scope || pattern == name.to_string()
        })
    };
    if who.grants.iter().any(allows) {
        return Ok(());
    }
    Err(refused("token_lacks_grant", format!("the token does not allow to publish `{name}`"))
        .with_hint("`skillpkg whoami` tells what the token allows"))
}

fn check_scope(who: &WhoAmI, name: &QualifiedName) -> Result<(), Error> {
    match name.scope() {
        Some(scope) if !who.scopes.contains(scope) => {
            let account = escape(&who.account);
            let message = format!("`{account}` is not a member of the scope `{}`", scope.as_str());
            Err(refused("scope_refused", message).with_hint(
                "an owner of the scope invites members: `skillpkg scope invite`; an operator \
                     makes scopes: `skillpkg-registry scope`",
            ))
        }
        _ => Ok(()),
    }
}

/// That the account has one of the keys and has not revoked it; answers with what the publish would
/// do with one that it does not have.
async fn check_keys(registry: &Registry, release: &Release<'_>) -> Result<String, Error> {
    let Some(first) = release.keys.first().map(PublicKey::id) else { return Ok(String::new()) };
    let known = match registry.keys().await {
        Ok(keys) => keys.keys,
        // A token that only publishes does not tell the account's keys.
        Err(error) if error.kind == Kind::Refused => {
            return Ok("; it does not tell this token the account's keys".to_owned());
        }
        Err(error) => return Err(error),
    };
    let refusal = |key: KeyId| match known.iter().find(|known| known.id == key) {
        Some(known) if known.revoked.is_some() => Some(("key_revoked", "is revoked")),
        Some(_) => None,
        // An account's first publish registers the key that is offered with it.
        None if known.is_empty() && key == first => None,
        None => Some(("key_not_registered", "is not registered with the account")),
    };
    let keys = || release.keys.iter().map(PublicKey::id);
    if keys().all(|key| refusal(key).is_some())
        && let Some((code, fault)) = refusal(first)
    {
        return Err(key_refused(code, first, fault));
    }
    let mut told = Vec::new();
    if known.is_empty() {
        told.push(format!("; key {} would be registered with the account", first.short()));
    }
    for (key, (_, fault)) in keys().filter_map(|key| Some((key, refusal(key)?))) {
        let key = key.short();
        told.push(format!("; key {key} {fault}, and its signature would count for nothing"));
    }
    Ok(told.concat())
}

fn key_refused(code: &str, key: KeyId, fault: &str) -> Error {
    let message = format!("the key {} that this is signed with {fault}", key.short());
    refused(code, message).with_hint(if code == "key_revoked" {
        skillpkg::keys::SIGN_WITH_ANOTHER
    } else {
        "`skillpkg keys add` registers it, `skillpkg keys` tells which the account has"
    })
}

/// That the version is free, or is this very release, and the skill the account's to publish;
/// answers with which it is, in words, and whether it is this very release.
async fn check_version(
    registry: &Registry,
    who: &WhoAmI,
    release: &Release<'_>,
) -> Result<(&'static str, bool), Error> {
    let (name, version) = (&release.manifest.name, &release.manifest.version);
    let Some(document) = registry.document(name).await? else {
        check_alike(registry, name).await?;
        return Ok(("it would be a new skill", false));
    };
    let owners = registry.owners(name).await?.owners;
    if !owners.contains(&who.account) {
        let account = escape(&who.account);
        let owners: Vec<String> = owners.iter().map(|owner| escape(owner)).collect();
        let message =
            format!("`{account}` is no owner of `{name}`; {} may publish it", owners.join(", "));
        return Err(refused("not_an_owner", message).with_hint(
            "publish it under another name with `--name`, or ask an owner for \
             `skillpkg owner add`",
        ));
    }
    match document.version(version) {
        Some(entry) if entry.address == release.address => {
            Ok(("it is there already with exactly this content, and nothing would change", true))
        }
        Some(_) => {
            let message = format!("{name} {version} is published already, with other content");
            Err(Error::new(Kind::Failed, "version_exists", message)
                .with_hint("a version never changes: publish a new one"))
        }
        None => Ok(("it would be a new version", false)),
    }
}

/// A new name that reads like one that is there is refused.
async fn check_alike(registry: &Registry, name: &QualifiedName) -> Result<(), Error> {
    let start: String = name.name().as_str().chars().take(3).collect();
    let found = registry.search(&start, 100).await?.skills;
    let key = name.name().collision_key();
    let alike = found
        .iter()
        .map(|hit| &hit.name)
        .find(|other| other.scope() == name.scope() && other.name().collision_key() == key);
    match alike {
        Some(other) => {
            let message = format!("`{name}` reads like `{other}`, which is there");
            Err(Error::new(Kind::Failed, "name_taken", message)
                .with_hint("publish it under another name with `--name`"))
        }
        None => Ok(()),
    }
}
