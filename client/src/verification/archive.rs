//! Verification of an archive that lies somewhere as a file.

use std::path::Path;

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::manifest::verify_derived;
use skillpkg_store::archive::{ArchiveError, Bounds, Reader};
use skillpkg_store::content::{Store, StoreError, Stored};
use tempfile::TempDir;

use super::{Problem, ProblemKind, Report, Subject, Verifier};
use crate::project::{Source, io_hint};
use crate::{Error, Kind, regular_file};

impl Verifier<'_> {
    /// Verifies an archive: every header and digest, the manifest derived from the files again,
    /// the signature, the policies. Nothing of it stays.
    pub async fn archive(&self, path: &Path) -> Result<Report, Error> {
        let name = path.to_string_lossy().into_owned();
        let problem = |kind, path: &str| Problem::new(&name, kind, path);
        let (mut problems, mut notices) = (Vec::new(), Vec::new());
        let read = unpack_and_derive(path)?;
        match read {
            Ok(unpacked) => {
                let Unpacked { subject, stored, derived, store, .. } = &unpacked;
                if let Some(detail) = derived {
                    problems.push(problem(ProblemKind::Digest, "").with_detail(detail));
                }
                let vouched = self.vouched(&self.keys()?, subject, &stored.envelope).await?;
                notices.extend(vouched.notices);
                problems
                    .extend(vouched.problem.map(|found| Problem { name: name.clone(), ..found }));
                let source = Source::File(name.clone());
                problems.extend(self.forbidden_of(
                    store,
                    &name,
                    stored,
                    &subject.address,
                    &source,
                )?);
            }
            Err(detail) => problems.push(problem(ProblemKind::Digest, "").with_detail(detail)),
        }
        Ok(Report { checked: 1, problems, notices, ..Report::default() })
    }
}

struct Unpacked {
    subject: Subject,
    stored: Stored,
    /// In what the manifest differs from the files.
    derived: Option<String>,
    /// Where it is, as long as this is held.
    store: Store,
    _directory: TempDir,
}

/// Unpacks into a store of its own, which goes at the end; where the archive is refused, why.
fn unpack_and_derive(path: &Path) -> Result<Result<Unpacked, String>, Error> {
    let shown = || escape(&path.to_string_lossy());
    let failed = |error: std::io::Error| {
        let message = format!("`{}` cannot be read: {error}", shown());
        Error { hint: io_hint(&error), ..Error::new(Kind::Failed, "file_unreadable", message) }
    };
    let file = regular_file::open(path).map_err(failed)?;
    // The head alone first, so that what is no archive costs no store.
    match Reader::open(&file, Bounds::default()) {
        Ok(_) => {}
        Err(ArchiveError::Io(error)) => return Err(failed(error)),
        Err(error) => return Ok(Err(error.to_string())),
    }
    let file = regular_file::open(path).map_err(failed)?;
    let directory = tempfile::tempdir().map_err(failed)?;
    let store = Store::open(directory.path())?;
    let lease = store.lease()?;
    let ingested = match store.ingest(&lease, &file, None) {
        Ok(ingested) => ingested,
        Err(StoreError::Archive(ArchiveError::Io(error))) => return Err(failed(error)),
        Err(StoreError::Archive(error)) => return Ok(Err(error.to_string())),
        Err(error) => return Err(error.into()),
    };
    store.materialise(&lease, &ingested.manifest)?;
    let files = store.open_tree(&ingested.manifest)?;
    let derived = verify_derived(&files, &ingested.manifest)
        .err()
        .map(|faults| faults.first().message.clone());
    drop(lease);
    let subject = Subject {
        name: ingested.manifest.name.clone(),
        version: ingested.manifest.version.clone(),
        address: ingested.address,
        key: None,
        source: None,
        seen: false,
        from_file: true,
    };
    let stored = Stored { manifest: ingested.manifest, envelope: ingested.envelope };
    Ok(Ok(Unpacked { subject, stored, derived, store, _directory: directory }))
}
