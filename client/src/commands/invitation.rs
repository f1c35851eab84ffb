//! What to say of an invitation that is not there.

use skillpkg::{Error, Kind};

/// Where a registry says no more than that it has no such thing: that no invitation to `what` holds.
pub(crate) fn explain(error: Error, what: &str) -> Error {
    if error.code != "not_found" {
        return error;
    }
    let message = format!("your account has no invitation to {what}");
    Error::new(Kind::Failed, "invitation_not_found", message).with_hint(
        "one holds for 14 days, and only while whoever made it is an owner: ask for another; \
         `skillpkg owner invitations` tells those there are",
    )
}
