//! The documents that a registry and its clients exchange, as JSON under `/v1`.
//!
//! A reader takes no notice of fields that it does not know; fields are added, never changed.

mod account;
mod advisory;
mod document;
mod log;
mod oidc;
mod problem;
mod publish;
mod registry;
mod scope;
mod search;

pub use account::{
    AddKey, InviteOwner, Invited, Key, Keys, MintToken, MintedToken, OwnerChange, Owners,
    RevokeKey, Token, Tokens, WhoAmI,
};
pub use advisory::{Advisory, Effect, NewAdvisory};
pub use document::{
    DeletedVersion, Document, IndexAnswer, IndexRequest, SignerKey, VersionEntry, Yank, YankRequest,
};
pub use log::{
    Hashes, HashesError, KnownLog, LogInfo, Logs, MAX_PROOFS, ProofsAnswer, ProofsRequest, Proven,
    ProvenBucket, View,
};
pub use oidc::{
    DistrustPublisher, ExchangeIdentity, ExchangedToken, IdentityIssuer, TrustPublisher,
    TrustedPublisher, TrustedPublishers,
};
pub use problem::Problem;
pub use publish::{KEY_PROOF_HEADER, PUBLIC_KEY_HEADER, PublishAnswer};
pub use registry::RegistryInformation;
pub use scope::{
    Invitations, InvitedMember, Member, MemberChange, MemberInvitation, Members, OwnerInvitation,
    RemoveMember,
};
pub use search::{SearchAnswer, SearchHit};

/// Most names in one index request.
pub const MAX_INDEX_NAMES: usize = 1_000;
/// Most bytes of any answer that is not an archive, a blob or a manifest.
pub const MAX_ANSWER_BYTES: u64 = 8 * 1024 * 1024;
/// Media type of an archive.
pub const ARCHIVE_MEDIA_TYPE: &str = "application/vnd.skillpkg.archive+zstd";
