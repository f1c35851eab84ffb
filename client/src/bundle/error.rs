//! Why a bundle, or what is asked of one, is refused.

use std::path::Path;

use skillpkg_schema::diagnostic::escape;
use skillpkg_store::bundle::BundleError;

use crate::project::io_error;
use crate::{Error, Kind};

/// That a file is no bundle, or not a whole one.
pub(super) fn refused(path: &Path, error: &BundleError) -> Error {
    let kind = match error {
        BundleError::Io(error) => return io_error(path, error),
        _ if error.code() == "format_too_new" => Kind::Failed,
        BundleError::NotBundle { .. } => Kind::Usage,
        _ => Kind::Verification,
    };
    let hint = match kind {
        Kind::Usage => "`skillpkg bundle` makes one",
        Kind::Failed => "use a skillpkg that reads it, or make it with this one",
        _ => {
            "nothing of it was used: copy it again, and where it stays so make it anew with \
             `skillpkg bundle`"
        }
    };
    let message = match error.entry() {
        Some(_) => format!("the bundle is refused: {error}"),
        None => format!("not a bundle: {error}"),
    };
    Error::new(kind, error.code(), message).in_file(path.to_string_lossy()).with_hint(hint)
}

/// That a bundle does not hold something that is asked for.
pub(super) fn lacks(path: &Path, what: &str, holds: &[String]) -> Error {
    let message = format!("the bundle does not hold {what}");
    let hint = if holds.is_empty() {
        "make it anew with `skillpkg bundle`, naming what is wanted".to_owned()
    } else {
        format!(
            "it holds {}; make it anew with `skillpkg bundle`, naming what is wanted",
            holds.join(", ")
        )
    };
    Error::new(Kind::Failed, "bundle_lacks", message)
        .in_file(path.to_string_lossy())
        .with_hint(hint)
}

/// A name of a registry's, quoted.
pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", escape(text))
}
