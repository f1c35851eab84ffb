//! Scopes, their members, and what an account is invited to.

use serde::{Deserialize, Serialize};

use crate::name::{QualifiedName, Scope};

/// A member of a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Member {
    /// The account.
    pub account: String,
    /// `owner`, `publisher` or `reader`.
    pub role: String,
}

/// An account that is invited to be a member of a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InvitedMember {
    /// The account.
    pub account: String,
    /// What it would be.
    pub role: String,
    /// The account that invited it.
    pub by: String,
    /// Until when it may accept, RFC 3339 in UTC.
    pub expires: String,
}

/// The members of a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Members {
    /// The scope.
    pub scope: Scope,
    /// Whether only members may read its skills.
    pub private: bool,
    /// In the order in which they came.
    pub members: Vec<Member>,
    /// Who is invited to be one.
    pub invited: Vec<InvitedMember>,
}

/// Asks that an account be invited to be a member, or that a member have another role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemberChange {
    /// The account.
    pub account: String,
    /// `owner`, `publisher` or `reader`.
    pub role: String,
}

/// Asks that a member be removed, or an invitation be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RemoveMember {
    /// The account.
    pub account: String,
}

/// An invitation to own a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OwnerInvitation {
    /// The skill.
    pub name: QualifiedName,
    /// The account that invited.
    pub by: String,
    /// Until when it may be accepted, RFC 3339 in UTC.
    pub expires: String,
    /// Whether that account owns the skill no more once it is accepted.
    #[serde(default)]
    pub transfer: bool,
}

/// An invitation to be a member of a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemberInvitation {
    /// The scope.
    pub scope: Scope,
    /// `owner`, `publisher` or `reader`.
    pub role: String,
    /// The account that invited.
    pub by: String,
    /// Until when it may be accepted, RFC 3339 in UTC.
    pub expires: String,
}

/// What an account is invited to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Invitations {
    /// To own, oldest first.
    pub owners: Vec<OwnerInvitation>,
    /// To be a member of, oldest first.
    pub members: Vec<MemberInvitation>,
}
