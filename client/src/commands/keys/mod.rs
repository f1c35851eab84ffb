//! `skillpkg keys`.

mod list;
mod passphrase;

use std::path::{Path, PathBuf};

use serde_json::json;
use skillpkg::registry::Registry;
use skillpkg::{Error, Kind, keys};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::signature::PublicKey;
use skillpkg_schema::wire::Key;

use crate::candidates;
use crate::commands::passphrase::public_key;
use crate::commands::signing::opened;
use crate::commands::{account, reason};
use crate::context::Context;

/// Tell the signing keys there are, and which the account has.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg keys list")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

/// What to do with keys.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Action {
    /// Tell the keys on this machine and those that the account has
    #[command(after_help = "Example: skillpkg keys list --json")]
    List,
    /// Register a key with the account, and show that you hold it; the default key where no file
    /// is given
    #[command(after_help = "Example: skillpkg keys add laptop.pem

The key signs that the account holds it, at this registry and no other.")]
    Add {
        /// A PEM file of a private key, which stays where it is
        file: Option<PathBuf>,
    },
    /// Set, change or remove the passphrase of a key
    #[command(after_help = "Example: skillpkg keys passphrase

The present passphrase is asked for, or taken from SKILLPKG_KEY_PASSPHRASE or from the file that
SKILLPKG_KEY_PASSPHRASE_FILE names; the new one is asked for twice.")]
    Passphrase(passphrase::Arguments),
    /// Write the public key that this machine signs with, to give to others
    #[command(after_help = "Example: skillpkg keys export -o ada.pem")]
    Export {
        /// A new file; stdout where absent
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Trust a key of somebody else: archives that it signed are installed without a registry
    #[command(after_help = "Example: skillpkg keys trust ada.pem

Compare the id that it prints with the one that the author tells you.")]
    Trust {
        /// A PEM file of a public or a private key; only the public half is kept
        file: PathBuf,
    },
    /// Trust a key no more
    #[command(after_help = "Example: skillpkg keys distrust 3b6a27bcceb6a42d")]
    Distrust {
        /// The key's id, or enough of its first digits
        id: String,
    },
    /// Revoke a key of the account, for good
    #[command(
        after_help = "Example: skillpkg keys revoke 3b6a27bcceb6a42d --reason \"laptop lost\""
    )]
    Revoke {
        /// The key's id, or at least 8 of its first digits
        #[arg(add = candidates::key_ids())]
        id: String,
        /// Why, for those who have something that it signed
        #[arg(long)]
        reason: Option<String>,
        /// Do not ask; a whole id asks nothing either
        #[arg(short, long)]
        yes: bool,
    },
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    match arguments.action.unwrap_or(Action::List) {
        Action::List => list::run(context).await,
        Action::Add { file } => add(context, file).await,
        Action::Passphrase(arguments) => passphrase::run(context, &arguments),
        Action::Export { output } => export(context, output.as_deref()),
        Action::Trust { file } => trust(context, &file),
        Action::Distrust { id } => distrust(context, &id),
        Action::Revoke { id, reason, yes } => revoke(context, &id, reason.as_deref(), yes).await,
    }
}

async fn add(context: &Context, file: Option<PathBuf>) -> Result<u8, Error> {
    let signing = match file {
        Some(file) => keys::private_key(&file)?,
        None => keys::signing_key(&context.settings)?,
    };
    let signing = opened(context, signing)?;
    let registry = account::registry_with_token(context).await?;
    let before = registry.keys().await?.keys;
    let (proof, notices) = keys::proof::make(&context.settings, &registry, &signing).await?;
    context.output.tell_all(&notices);
    let key = registry.add_key(&signing.public(), &proof.envelope).await?;
    let told = match before.iter().find(|known| known.id == key.id) {
        Some(known) if known.proven => {
            format!("Key {} was registered with the account already: nothing changed.", key.id)
        }
        known => {
            let (account, registry) = (escape(&proof.account), escape(&proof.registry));
            let whose = format!("the account `{account}` at the registry {registry}");
            match known {
                Some(_) => format!("It is shown now that key {} is held by {whose}.", key.id),
                None => format!("Registered key {} with {whose}.", key.id),
            }
        }
    };
    context.output.talk(&told);
    context.output.json(&key)?;
    Ok(0)
}

/// The public half of the key that is signed with, which is opened only where it must be.
fn signing_public_key(context: &Context) -> Result<PublicKey, Error> {
    let key = keys::signing_key(&context.settings)?;
    match key.public() {
        Some(public) => Ok(public),
        None => Ok(opened(context, key)?.public()),
    }
}

fn export(context: &Context, path: Option<&Path>) -> Result<u8, Error> {
    let public = match keys::public_key(&keys::signing_path(&context.settings)) {
        Ok(public) => public,
        Err(_) => signing_public_key(context)?,
    };
    match path {
        Some(path) => {
            keys::export(path, &public)?;
            let shown = escape(&path.to_string_lossy());
            context.output.talk(&format!("Wrote the public key {} to `{shown}`.", public.id()));
        }
        None => context.output.text(public.to_pem().trim_end())?,
    }
    context.output.json(&json!({
        "id": public.id(),
        "public_key": public.to_pem(),
        "path": path.as_ref().map(|path| path.to_string_lossy()),
    }))?;
    Ok(0)
}

fn trust(context: &Context, file: &Path) -> Result<u8, Error> {
    let public = public_key(context, file)?;
    if std::fs::read_to_string(file).is_ok_and(|text| text.contains("PRIVATE KEY")) {
        context.output.warn(&format!(
            "`{}` holds a private key, of which the public half alone is kept: whoever sent it to you \
             has given away what they sign with, and should revoke it",
            escape(&file.to_string_lossy())
        ));
    }
    let path = keys::trust(&context.settings.home, &public)?;
    context.output.talk(&format!(
        "Trusted key {}: what it signed is installed from files too. `skillpkg keys distrust {}` \
         ends that.",
        public.id(),
        public.id().short()
    ));
    context.output.json(&json!({ "id": public.id(), "path": path.to_string_lossy() }))?;
    Ok(0)
}

fn distrust(context: &Context, digits: &str) -> Result<u8, Error> {
    let id = keys::distrust(&context.settings.home, digits)?;
    context.output.talk(&format!("Key {id} is trusted no more."));
    context.output.json(&json!({ "id": id, "trusted": false }))?;
    Ok(0)
}

/// Fewest digits that name a key which is revoked for good.
const FEWEST_DIGITS: usize = 8;
/// Digits of a whole id.
const ALL_DIGITS: usize = 64;

async fn revoke(context: &Context, id: &str, reason: Option<&str>, yes: bool) -> Result<u8, Error> {
    if id.len() < FEWEST_DIGITS {
        let message =
            format!("`{}` is too short: a key is revoked for good, so name it by more", escape(id));
        return Err(Error::new(Kind::Usage, "key_ambiguous", message).with_hint(format!(
            "give at least {FEWEST_DIGITS} digits of its id; `skillpkg keys list` tells the \
             account's keys"
        )));
    }
    let reason = reason.map(reason::read).transpose()?;
    let registry = account::registry_with_token(context).await?;
    let key = find(&registry, id).await?;
    if let Some(when) = &key.revoked {
        let message = format!("key {} was revoked already, at {}", key.id, escape(when));
        return Err(Error::new(Kind::Failed, "key_revoked", message)
            .with_hint("nothing is left to do: a revocation is for good"));
    }
    let question = format!("Revoke key {} of the account, for good?", key.id);
    let refused = "revoking is for good, and nobody can be asked here";
    let otherwise = "`-y` revokes it, and so does its whole id";
    if !yes && id.len() < ALL_DIGITS && !context.output.confirm(&question, refused, otherwise)? {
        let message = "the key was not revoked";
        return Err(Error::new(Kind::Refused, "approval_required", message));
    }
    registry.revoke_key(&key.id, reason).await?;
    context.output.talk(&format!("Revoked key {}: nothing it signs from now on is taken.", key.id));
    let left = registry.keys().await?.keys;
    if left.iter().all(|key| key.revoked.is_some()) {
        context.output.warn(&format!(
            "the account has no usable key left, and cannot publish: {}",
            keys::SIGN_WITH_ANOTHER
        ));
    } else if keys::public_key(&keys::signing_path(&context.settings))
        .is_ok_and(|signing| signing.id() == key.id)
    {
        context.output.warn(&format!(
            "this machine still signs with it: `SKILLPKG_KEY=FILE` signs with another, or {}",
            keys::SIGN_WITH_ANOTHER
        ));
    }
    context.output.json(&json!({ "id": key.id, "revoked": true, "reason": reason }))?;
    Ok(0)
}

/// The account's key whose id starts with `digits`.
async fn find(registry: &Registry, digits: &str) -> Result<Key, Error> {
    let keys = registry.keys().await?.keys;
    let near = keys::near_id(digits, keys.iter().map(|key| &key.id));
    let mut matching = keys.into_iter().filter(|key| key.id.to_string().starts_with(digits));
    let shown = escape(digits);
    let hint = "`skillpkg keys list` tells the account's keys";
    match (matching.next(), matching.next()) {
        (Some(key), None) if !digits.is_empty() => Ok(key),
        (Some(_), _) => {
            let message = format!("`{shown}` is the start of more than one key's id");
            Err(Error::new(Kind::Usage, "key_ambiguous", message).with_hint(hint))
        }
        (None, _) => {
            let message = format!("the account has no key whose id starts with `{shown}`");
            let hint = near.unwrap_or_else(|| hint.to_owned());
            Err(Error::new(Kind::Failed, "key_not_found", message).with_hint(hint))
        }
    }
}
