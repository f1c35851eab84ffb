//! The registry of commands about the account itself.

use skillpkg::registry::Registry;
use skillpkg::settings::registry_text;
use skillpkg::trust::check_log;
use skillpkg::{Error, Kind};
use skillpkg_schema::{QualifiedName, Scope};

use crate::context::Context;

/// The chosen registry, with a token, which it does not get before its log was checked.
pub(crate) async fn registry_with_token(context: &Context) -> Result<Registry, Error> {
    checked(context, chosen_with_token(context)?).await
}

/// The chosen registry, with a token; nothing was asked of it yet.
pub(crate) fn chosen_with_token(context: &Context) -> Result<Registry, Error> {
    let choice = context.settings.chosen_registry()?;
    with_token(Registry::chosen(&context.settings, &choice)?)
}

/// The registry of `name`, with a token, which it does not get before its log was checked.
pub(crate) async fn registry_of(
    context: &Context,
    name: &QualifiedName,
) -> Result<Registry, Error> {
    checked(context, with_token(Registry::for_settings(&context.settings, name)?)?).await
}

/// The registry of the names of `scope`, with a token, which it does not get before its log was
/// checked.
pub(crate) async fn registry_of_scope(context: &Context, scope: &Scope) -> Result<Registry, Error> {
    checked(context, with_token(Registry::for_scope(&context.settings, scope)?)?).await
}

/// The registry, once it has shown the log that it is known by.
pub(crate) async fn checked(context: &Context, registry: Registry) -> Result<Registry, Error> {
    let notices = check_log(&context.settings, &registry).await?;
    context.output.tell_all(&notices);
    Ok(registry)
}

/// The hint, and why the token in the environment is not sent to the registry, where there is one.
pub(crate) fn beside_withheld(registry: &Registry, hint: String) -> String {
    match registry.withheld() {
        Some(reason) => format!("{reason}; {hint}"),
        None => hint,
    }
}

fn with_token(registry: Registry) -> Result<Registry, Error> {
    if registry.has_token() {
        return Ok(registry);
    }
    let url = registry_text(registry.url());
    let message = format!("this needs a token, and there is none for {url}");
    let hint = format!("`skillpkg login --registry {url}` keeps one");
    Err(Error::new(Kind::Refused, "unauthorized", message)
        .with_hint(beside_withheld(&registry, hint)))
}
