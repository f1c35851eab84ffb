//! The registry of commands about the account itself.

use skillpkg::registry::Registry;
use skillpkg::settings::registry_text;
use skillpkg::{Error, Kind};
use skillpkg_schema::{QualifiedName, Scope};

use crate::context::Context;

/// The chosen registry, with a token.
pub(crate) fn registry_with_token(context: &Context) -> Result<Registry, Error> {
    let choice = context.settings.chosen_registry()?;
    with_token(Registry::chosen(&context.settings, &choice)?)
}

/// The registry of `name`, with a token.
pub(crate) fn registry_of(context: &Context, name: &QualifiedName) -> Result<Registry, Error> {
    with_token(Registry::for_settings(&context.settings, name)?)
}

/// The registry of the names of `scope`, with a token.
pub(crate) fn registry_of_scope(context: &Context, scope: &Scope) -> Result<Registry, Error> {
    with_token(Registry::for_scope(&context.settings, scope)?)
}

fn with_token(registry: Registry) -> Result<Registry, Error> {
    if registry.has_token() {
        return Ok(registry);
    }
    let url = registry_text(registry.url());
    let message = format!("this needs a token, and there is none for {url}");
    Err(Error::new(Kind::Refused, "unauthorized", message)
        .with_hint(format!("`skillpkg login --registry {url}` keeps one")))
}
