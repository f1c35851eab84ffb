//! Repair of a snapshot: from what the store still has, else from where it came from.

use std::io::{self, Seek as _};

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::tree::Tree as _;
use skillpkg_store::archive;
use skillpkg_store::content::Stored;

use super::keys::registry_of;
use super::snapshot::stored;
use super::{Problem, ProblemKind, Subject, Verifier};
use crate::meter::Meter;
use crate::project::{ProjectDirectory, Source};
use crate::trust::Places;
use crate::{Error, Kind};

impl Verifier<'_> {
    /// Mends a snapshot as far as it can be. Nothing that is wrong is deleted: it is set aside.
    ///
    /// What cannot be mended is what the next check finds; answers with why it could not be fetched
    /// again, where it could not.
    pub(super) async fn mend(
        &self,
        subject: &Subject,
        problems: &[Problem],
    ) -> Result<Option<Error>, Error> {
        let signed = !problems.iter().any(|problem| problem.kind == ProblemKind::Signature);
        let here = stored(&self.store, &subject.address)?.ok();
        if let Some(stored) = here.filter(|_| signed)
            && self.mend_from_store(&stored)?
        {
            return Ok(None);
        }
        if let Err(error) = self.fetch(subject).await {
            return Ok(Some(error));
        }
        if let Ok(stored) = stored(&self.store, &subject.address)? {
            let lease = self.store.lease()?;
            self.store.repair_tree(&lease, &stored.manifest)?;
        }
        self.store.sync()?;
        Ok(None)
    }

    /// Makes the tree whole from the blobs, and the blobs whole from the tree; whether both are.
    fn mend_from_store(&self, stored: &Stored) -> Result<bool, Error> {
        let manifest = &stored.manifest;
        let lease = self.store.lease()?;
        if !self.store.repair_tree(&lease, manifest)?.is_empty() {
            return Ok(false);
        }
        let whole = manifest
            .files
            .iter()
            .all(|file| self.store.read_blob(&file.sha256.address(), file.size).is_ok());
        if !whole {
            // The archive that the tree makes brings every blob with it.
            let tree = self.store.open_tree(manifest)?;
            let mut packed = tempfile::tempfile().map_err(|error| failed(&error))?;
            archive::write(&mut packed, manifest, &stored.envelope, &mut |entry| {
                let open = tree.open(entry.path.as_str())?;
                Ok(Box::new(open))
            })?;
            packed.rewind().map_err(|error| failed(&error))?;
            self.store.ingest(&lease, &packed, Some(&manifest.address()))?;
        }
        self.store.sync()?;
        Ok(true)
    }

    /// Brings the snapshot's archive into the store again.
    async fn fetch(&self, subject: &Subject) -> Result<(), Error> {
        let address = &subject.address;
        if let Some(Source::File(path)) = &subject.source {
            let project = if self.root == self.settings.home.join("global") {
                ProjectDirectory::open_own(&self.root)?
            } else {
                ProjectDirectory::open(&self.root)?
            };
            let file = project.archive(path).open().map_err(|error| {
                let message = format!("the archive cannot be read: {}", error.message);
                Error { message, ..error }
            })?;
            let lease = self.store.lease()?;
            self.store.ingest(&lease, &file, Some(address))?;
            return Ok(());
        }
        let registry = registry_of(self.settings, &subject.name, subject.source.as_ref())?;
        let (found, _) = self.trust.document(&registry, &subject.name).await?;
        let document = found.map(|found| found.document);
        let versions = document.iter().flat_map(|document| &document.versions);
        let entry =
            versions.into_iter().find(|entry| entry.address == *address).ok_or_else(|| {
                let named = document.as_ref().and_then(|one| one.version(&subject.version));
                if let Some(named) = named.filter(|_| subject.source.is_some()) {
                    let (name, version, has) = (&subject.name, &subject.version, named.address);
                    let message = format!(
                        "the lockfile says that `{name}@{version}` is {address}; the registry says \
                         {has}"
                    );
                    return Error::new(Kind::Verification, "digest_mismatch", message);
                }
                let deleted = document.iter().flat_map(|document| &document.deleted);
                let deleted = deleted.into_iter().find(|entry| entry.address == *address);
                let why = deleted.map_or_else(String::new, |deleted| {
                    format!(" any more: it was deleted: {}", escape(&deleted.reason))
                });
                let message =
                    format!("the registry does not have {address} of `{}`{why}", subject.name);
                Error::new(Kind::Failed, "version_not_found", message)
            })?;
        let places = Places::of(self.settings, &registry)?;
        let bytes = places
            .archive(&entry.archive, entry.size, &Meter::default().part(0), &mut Vec::new())
            .await?;
        let lease = self.store.lease()?;
        self.store.ingest(&lease, bytes.as_ref(), Some(address))?;
        Ok(())
    }
}

fn failed(error: &io::Error) -> Error {
    Error::new(Kind::Failed, "repair_failed", format!("the archive cannot be read: {error}"))
}
