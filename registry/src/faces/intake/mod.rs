//! From files that a client of a face sends to a version that is published.
//!
//! The files are laid out as a skill's directory and packed by the rules that `skillpkg publish` packs
//! by: what those refuse is refused, and what they leave out is left out. The archive is signed with the
//! key that the registry holds for the account, and goes the way of every other from there.

mod package;

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::signature::SigningKey;
use skillpkg_schema::wire::PublishAnswer;
use skillpkg_schema::{Diagnostic, Faults, QualifiedName, SkillPath, Version};
use skillpkg_store::pack::{PackOptions, Packing};
use tempfile::TempDir;

pub(crate) use package::unpack;

use super::held;
use crate::auth::{Caller, Credential};
use crate::problem::{Answer, Code, Refusal};
use crate::skills;
use crate::skills::publish::{self, Received, Request};
use crate::state::Registry;

/// The directory of a skill that is being sent.
#[derive(Debug)]
pub(crate) struct Intake {
    directory: TempDir,
    files: usize,
}

impl Intake {
    /// An empty one, beneath where things lie that are being received.
    pub(crate) fn create(registry: &Registry) -> Answer<Self> {
        let temporary = registry.data.temporary();
        let directory = tempfile::Builder::new().prefix("intake-").tempdir_in(temporary)?;
        Ok(Self { directory, files: 0 })
    }

    /// A new file of the skill, for whoever asks to write.
    ///
    /// Nothing but a [`SkillPath`] becomes a path here: it climbs nowhere, on any system.
    pub(crate) fn place(&mut self, path: &str, executable: bool) -> Answer<File> {
        let path: SkillPath = path.parse().map_err(|error: skillpkg_schema::path::PathError| {
            refused("path_refused", error.to_string())
        })?;
        let mut place = PathBuf::from(self.directory.path());
        place.extend(path.as_str().split('/'));
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent)?;
        }
        let file = File::create_new(&place).map_err(|error| {
            let collides = error.kind() == std::io::ErrorKind::AlreadyExists;
            if collides {
                refused("path_refused", format!("`{path}` stands there twice"))
            } else {
                error.into()
            }
        })?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = if executable { 0o700 } else { 0o600 };
            file.set_permissions(fs::Permissions::from_mode(mode))?;
        }
        #[cfg(not(unix))]
        let _ = executable;
        self.files += 1;
        Ok(file)
    }

    /// A file of the skill with this content; one whose first line names an interpreter is executable.
    pub(crate) fn copy(&mut self, path: &str, mut content: File) -> Answer<()> {
        let mut start = [0; 2];
        let read = content.read(&mut start)?;
        let start = start.get(..read).unwrap_or_default();
        let mut file = self.place(path, start == b"#!")?;
        file.write_all(start)?;
        std::io::copy(&mut content, &mut file)?;
        Ok(())
    }
}

/// A fault of what was sent.
fn refused(code: &str, message: String) -> Refusal {
    let fault = Diagnostic::error(code, message.clone());
    Refusal::new(Code::ArchiveRefused, message).with_faults(vec![fault])
}

/// Refuses what can be refused before anything is sent: that nothing is published through faces here,
/// a name that is another's, a skill whose author signs it.
pub(crate) async fn admit(
    registry: &Registry,
    caller: &Caller,
    name: &QualifiedName,
) -> Answer<()> {
    publish::admit(registry, caller, name, None).await?;
    admit_any(registry)?;
    if caller.credential().is_some_and(|credential| credential.publisher.is_some()) {
        let detail = "a job of a build service publishes what it has signed, and this client signs \
                      nothing: publish with `skillpkg publish`";
        return Err(Refusal::new(Code::FacePublishRefused, detail));
    }
    let mut read = registry.data.database.readers().acquire().await?;
    if let Some(skill) = skills::find(&mut read, name).await?
        && held::signed_by_author(&mut read, skill).await?
    {
        return Err(held::downgrade(name));
    }
    Ok(())
}

/// Refuses where nothing is published through faces.
pub(crate) fn admit_any(registry: &Registry) -> Answer<()> {
    if registry.options.faces.read_only {
        let detail = "this registry takes no versions from this client: publish with \
                      `skillpkg publish`";
        return Err(Refusal::new(Code::FacePublishRefused, detail));
    }
    Ok(())
}

/// Packs, signs and publishes what was sent; the version is visible when this answers.
pub(crate) async fn publish(
    registry: &Registry,
    credential: &Arc<Credential>,
    intake: Intake,
    name: QualifiedName,
    version: Version,
) -> Answer<PublishAnswer> {
    let upload = registry.upload_permit(credential.account_id).await?;
    let options = PackOptions {
        name: Some(name.clone()),
        version: Some(version.clone()),
        allow_secrets: false,
    };
    let packing = blocking(move || {
        let packing = Packing::plan(intake.directory.path(), &options).map_err(faults)?;
        says_the_same(&packing, &options)?;
        Ok((packing, intake))
    });
    let (packing, intake) = packing.await?;
    let key = held::signer(registry, credential).await?;
    let temporary = registry.data.temporary();
    let received = blocking(move || {
        let received = Received::empty(&temporary)?;
        sign(&packing, &key, &received)?;
        drop(intake);
        Ok(received)
    });
    let request = Request { name, version, offered: None };
    publish::publish_received(registry, credential, request, received.await?, upload).await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Answer<T> + Send + 'static,
) -> Answer<T> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Refusal::internal(&error))?
}

fn sign(packing: &Packing, key: &SigningKey, received: &Received) -> Answer<()> {
    let envelope = packing.sign(std::slice::from_ref(key));
    let archive = BufWriter::new(File::create_new(&received.archive)?);
    packing.write(&envelope, archive).map_err(|error| refused(error.code(), error.to_string()))?;
    Ok(())
}

/// Refuses a skill that calls itself otherwise than it was sent: whoever reads its file would see
/// another name or version than the one that it is found by.
fn says_the_same(packing: &Packing, options: &PackOptions) -> Answer<()> {
    let file = &packing.skill().file;
    if let Some(name) = &options.name
        && file.name != name.name().as_str()
    {
        let name = name.name();
        let detail = if file.name.is_empty() {
            format!("`SKILL.md` names no skill, and it was sent as `{name}`: write `name: {name}`")
        } else {
            let said = escape(&file.name);
            format!("`SKILL.md` says `{said}`, and it was sent as `{name}`: make them agree")
        };
        return Err(refused("name_mismatch", detail));
    }
    if let (Some(said), Some(version)) = (&file.version, &options.version)
        && Version::parse_lenient(said).ok().as_ref() != Some(version)
    {
        let detail = format!(
            "`SKILL.md` says version `{}`, and it was sent as {version}: make them agree",
            escape(said)
        );
        return Err(refused("version_mismatch", detail));
    }
    Ok(())
}

fn faults(faults: Faults) -> Refusal {
    let faults = faults.into_diagnostics();
    let detail = match faults.as_slice() {
        [one] => one.to_string(),
        many => format!("{} faults were found", many.len()),
    };
    Refusal::new(Code::ArchiveRefused, detail).with_faults(faults)
}
