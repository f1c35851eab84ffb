//! Sends what is ready to its registry, or asks what it would say.

use skillpkg::keys::proof::{self, Proof};
use skillpkg::registry::Registry;
use skillpkg::registry::job::{self, JobIdentity};
use skillpkg::settings::registry_text;
use skillpkg::trust::{check_log, is_falsified};
use skillpkg::{Error, Kind};
use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::signature::PublicKey;
use skillpkg_schema::wire::PublishAnswer;

use super::ready::{Ready, Signer};
use crate::commands::account;
use crate::commands::rehearsal::{self, Outcome, Release};
use crate::commands::signing::opened;
use crate::context::Context;

/// What came of sending a skill.
pub(super) struct Sent {
    pub(super) answer: PublishAnswer,
    /// What showed the registry that the account holds the key, where it did not know that.
    pub(super) proof: Option<Proof>,
}

/// The registry that `name` is published to, with a token unless it is published as a job; it gets neither
/// that nor an identity before its log was checked.
pub(super) async fn registry_of(
    context: &Context,
    name: &QualifiedName,
    trusted: bool,
) -> Result<Registry, Error> {
    let registry = Registry::for_settings(&context.settings, name)?;
    let url = registry_text(registry.url());
    if !registry.has_token() && !is_job(context, trusted, &registry) {
        let message = format!("publishing needs a token, and there is none for {url}");
        let hint = format!(
            "`skillpkg login --registry {url}` keeps one; its operator makes one with \
             `skillpkg-registry user add`"
        );
        return Err(Error::new(Kind::Refused, "unauthorized", message)
            .with_hint(account::beside_withheld(&registry, hint)));
    }
    account::checked(context, registry).await
}

/// Whether it is published as a job: where that is asked for or the job was given an identity, and on
/// GitHub, which offers one to every job that may ask, where there is no token.
fn is_job(context: &Context, trusted: bool, registry: &Registry) -> bool {
    trusted
        || match &context.settings.job {
            Some(JobIdentity::Token(_)) => true,
            Some(JobIdentity::GitHub { .. }) => !registry.has_token(),
            None => false,
        }
}

/// The same registry, spoken to as a job that an owner of `name` trusts.
async fn as_job(
    context: &Context,
    registry: &Registry,
    name: &QualifiedName,
) -> Result<Registry, Error> {
    let trusted = job::trusted(&context.settings, registry, name).await?;
    let (account, until) = (escape(&trusted.account), escape(&trusted.expires));
    context.output.talk(&format!(
        "This job is one that `{account}` trusts to publish {name}, until {until}."
    ));
    Ok(trusted.registry)
}

/// Publishes what is ready: when this answers, the registry has it, whole, or has refused it.
pub(super) async fn send(
    context: &Context,
    registry: &Registry,
    ready: &Ready,
    trusted: bool,
) -> Result<Sent, Error> {
    let (name, version) = (&ready.manifest.name, &ready.manifest.version);
    // A job is given a token for one skill: another for each.
    let registry = if is_job(context, trusted, registry) {
        &as_job(context, registry, name).await?
    } else {
        registry
    };
    let proof = prove(context, registry, &ready.signers).await?;
    let envelope = proof.as_ref().map(|(_, proof)| &proof.envelope);
    let keys = ready.keys();
    let offered = proof.as_ref().map(|(key, _)| key).or(keys.first());
    let answer = registry.publish(name, version, &ready.file, offered, envelope).await?;
    if answer.address != ready.manifest.address() || answer.version != *version {
        let message = format!(
            "the registry at `{}` says that it published {} {}, which is not what was sent",
            registry_text(registry.url()),
            answer.version,
            answer.address
        );
        return Err(Error::new(Kind::Verification, "answer_mismatch", message));
    }
    Ok(Sent { answer, proof: proof.map(|(_, proof)| proof) })
}

/// What the registry would say, asked without sending anything.
pub(super) async fn rehearse(context: &Context, ready: &Ready) -> Result<Outcome, Error> {
    let keys = ready.keys();
    let address = ready.manifest.address();
    let release = Release { manifest: &ready.manifest, address, keys: &keys };
    rehearsal::ask(context, &release).await
}

/// Remembers what the registry's log is once it has the release, so that one which is set back to
/// before it is found out.
pub(super) async fn remember(
    context: &Context,
    registry: &Registry,
    published: &str,
) -> Result<(), Error> {
    match check_log(&context.settings, registry).await {
        Ok(notices) => context.output.tell_all(&notices),
        Err(error) if is_falsified(&error) || error.kind == Kind::Refused => {
            let message = format!("{published} was published, and then: {}", error.message);
            return Err(Error { message, ..error });
        }
        Err(error) => context
            .output
            .warn(&format!("what the log shows since is not remembered here: {}", error.message)),
    }
    Ok(())
}

/// What shows the registry that the account holds one of the keys, where it does not know that yet.
async fn prove(
    context: &Context,
    registry: &Registry,
    signers: &[Signer],
) -> Result<Option<(PublicKey, Proof)>, Error> {
    for signer in signers {
        if proof::is_needed(registry, &signer.public.id()).await? {
            let key = opened(context, signer.key.clone())?;
            let (proof, notices) = proof::make(&context.settings, registry, &key).await?;
            context.output.tell_all(&notices);
            return Ok(Some((signer.public, proof)));
        }
    }
    Ok(None)
}
