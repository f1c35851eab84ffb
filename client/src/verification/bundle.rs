//! Verification of a bundle.

use std::path::Path;

use super::{Problem, ProblemKind, REFUSALS, Report, Verifier};
use crate::bundle::{Carried, Fault, Verified, verify};
use crate::{Error, Kind};

impl Verifier<'_> {
    /// Verifies a bundle: every byte of it, its logs against what is known of them here, documents,
    /// records, archives and signatures. Asks no network; nothing of it stays.
    pub async fn bundle(&self, path: &Path) -> Result<Report, Error> {
        let name = path.to_string_lossy().into_owned();
        let carried = match Carried::open(path) {
            Ok(carried) => carried,
            Err(error) if error.kind == Kind::Verification => {
                let problem = Problem::new(&name, ProblemKind::Digest, "");
                let problems = vec![problem.with_detail(error.message)];
                return Ok(Report { checked: 1, problems, ..Report::default() });
            }
            Err(error) => return Err(error),
        };
        let Verified { checked, faults, forbidden, notices } =
            verify(self.settings, &carried).await?;
        let faults = faults.into_iter().map(|Fault { what, error }| {
            let kind = match error.code.as_str() {
                "signature_refused" | "signer_revoked" => ProblemKind::Signature,
                "digest_mismatch" | "bundle_content" | "bundle_index" => ProblemKind::Digest,
                code if code.starts_with("archive_") => ProblemKind::Digest,
                _ => ProblemKind::Proof,
            };
            let refused = REFUSALS.into_iter().find(|code| *code == error.code);
            let code = refused.filter(|_| error.kind == Kind::Refused);
            let told = match error.hint.filter(|_| code.is_some()) {
                Some(hint) => format!("{}; {hint}", error.message),
                None => error.message,
            };
            Problem { code, ..Problem::new(&what, kind, "").with_detail(told) }
        });
        let forbidden = forbidden.into_iter().map(|Fault { what, error }| {
            let problem = Problem::new(&what, ProblemKind::Policy, "").with_detail(error.message);
            Problem { code: Some("advisory_forbids"), ..problem }
        });
        let problems = faults.chain(forbidden).collect();
        Ok(Report { checked, problems, notices, ..Report::default() })
    }
}
