//! Verification of an archive that lies somewhere as a file.

use std::path::Path;

use skillpkg_schema::diagnostic::escape;
use skillpkg_store::archive::{ArchiveError, Bounds, Reader};
use skillpkg_store::content::{Store, StoreError, Stored};

use super::{Problem, ProblemKind, Report, Subject, Verifier};
use crate::project::{Source, io_hint};
use crate::unfinished::{self, UnfinishedDirectory};
use crate::{Error, Kind, regular_file};

impl Verifier<'_> {
    /// Verifies an archive: every header and digest, the manifest derived from the files again,
    /// the signature, the policies. Nothing of it stays.
    pub async fn archive(&self, path: &Path) -> Result<Report, Error> {
        let name = path.to_string_lossy().into_owned();
        let problem = |kind, path: &str| Problem::new(&name, kind, path);
        let (mut problems, mut notices) = (Vec::new(), Vec::new());
        match unpack(path)? {
            Ok(unpacked) => {
                let Unpacked { subject, stored, store, .. } = &unpacked;
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
    /// Where it is, as long as this is held.
    store: Store,
    _directory: UnfinishedDirectory,
}

/// Unpacks into a store of its own, which goes at the end, and derives the manifest from the files
/// again; where the archive is refused, why.
fn unpack(path: &Path) -> Result<Result<Unpacked, String>, Error> {
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
    let temporary = std::env::temp_dir();
    let directory = unfinished::create_directory(&temporary).map_err(|error| {
        let message = format!("`{}`: {error}", escape(&temporary.to_string_lossy()));
        Error { hint: io_hint(&error), ..Error::new(Kind::Failed, "not_written", message) }
    })?;
    let store = Store::open(directory.path())?;
    let lease = store.lease()?;
    let ingested = match store.ingest(&lease, &file, None) {
        Ok(ingested) => ingested,
        Err(StoreError::Archive(ArchiveError::Io(error))) => return Err(failed(error)),
        Err(StoreError::Archive(error)) => return Ok(Err(error.to_string())),
        Err(StoreError::Mismatch(faults)) => return Ok(Err(faults.first().message.clone())),
        Err(error) => return Err(error.into()),
    };
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
    Ok(Ok(Unpacked { subject, stored, store, _directory: directory }))
}
