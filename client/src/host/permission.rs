//! Permission: who runs a host says yes or no to each call.

use futures_util::future::{BoxFuture, ready};
use skillpkg_schema::diagnostic::escape_whole;
use skillpkg_schema::{ContentAddress, QualifiedName, Version};

use super::CapabilityKind;
use crate::activation::run_line;

/// A call about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRequest {
    /// The skill.
    pub skill: QualifiedName,
    /// Its version.
    pub version: Version,
    /// Its snapshot.
    pub address: ContentAddress,
    /// The tool's id or the script's name.
    pub capability: String,
    /// Which of the two it is.
    pub kind: CapabilityKind,
    /// What will run: a tool's argv, or a script's runner and file.
    pub runs: Vec<String>,
    /// The arguments as they will be handed on: JSON.
    pub input: String,
    /// Whether what its user approved when the skill was activated covers this call. True for
    /// tools, and for scripts that say they need no permission.
    pub approved: bool,
}

impl PermissionRequest {
    /// What will run, as one line for a person: nothing in it is cut, and of a tool's argv each word
    /// is told from the next.
    pub fn runs_text(&self) -> String {
        match self.kind {
            CapabilityKind::Tool => run_line(&self.runs),
            CapabilityKind::Script | CapabilityKind::Resource => {
                let parts: Vec<String> = self.runs.iter().map(|one| escape_whole(one)).collect();
                parts.join(" ")
            }
        }
    }
}

/// Whoever says yes or no. Asked once before each call.
///
/// A function or closure from the request to a `bool` is one:
///
/// ```
/// use skillpkg::host::{Permission, PermissionRequest};
///
/// fn takes(_: &dyn Permission) {}
/// takes(&|request: &PermissionRequest| request.approved);
/// ```
pub trait Permission: Send + Sync {
    /// Whether the call may be made.
    fn permits<'a>(&'a self, request: &'a PermissionRequest) -> BoxFuture<'a, bool>;

    /// Takes notice, just before a permitted call starts, of what is worth telling about it: what
    /// had to be put right in the snapshot, say. A sentence; safe to print. The same ones are in
    /// [`CallOutcome::notices`](super::CallOutcome::notices), which a call that fails has none of.
    fn notice(&self, notice: &str) {
        let _ = notice;
    }
}

impl<F> Permission for F
where
    F: Fn(&PermissionRequest) -> bool + Send + Sync,
{
    fn permits<'a>(&'a self, request: &'a PermissionRequest) -> BoxFuture<'a, bool> {
        Box::pin(ready(self(request)))
    }
}
