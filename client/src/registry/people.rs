//! Who owns skills, who is a member of a scope, and who is invited to be either.

use reqwest::Method;
use skillpkg_schema::wire::{
    Invitations, InviteOwner, MemberChange, Members, OwnerChange, Owners, RemoveMember,
};
use skillpkg_schema::{QualifiedName, Scope};
use url::Url;

use super::Registry;
use super::transport::{Ask, Payload, json};
use crate::{Error, Settings};

impl Registry {
    /// The registry that the names of `scope` are asked for at.
    pub fn for_scope(settings: &Settings, scope: &Scope) -> Result<Self, Error> {
        Self::chosen(settings, &settings.registry_for_scope(Some(scope))?)
    }

    /// The owners of a skill, and to its owners who is invited to be one.
    pub async fn owners(&self, name: &QualifiedName) -> Result<Owners, Error> {
        Ok(self.transport.json(Ask::get(self.skill(name, &["owners"]))).await?)
    }

    /// Invites an account to own a skill; with `transfer`, in the place of whoever asks.
    pub async fn invite_owner(
        &self,
        name: &QualifiedName,
        account: &str,
        transfer: bool,
    ) -> Result<Owners, Error> {
        let request = InviteOwner { account: account.to_owned(), transfer };
        let url = self.skill(name, &["owners"]);
        Ok(self.transport.json(Ask::new(Method::PUT, url, json(&request)?)).await?)
    }

    /// Removes an owner, never the last, or takes an invitation back.
    pub async fn remove_owner(&self, name: &QualifiedName, account: &str) -> Result<Owners, Error> {
        let request = OwnerChange { account: account.to_owned() };
        let url = self.skill(name, &["owners"]);
        Ok(self.transport.json(Ask::new(Method::DELETE, url, json(&request)?)).await?)
    }

    /// What the account is invited to.
    pub async fn invitations(&self) -> Result<Invitations, Error> {
        Ok(self.transport.json(Ask::get(self.transport.route(&["invitations"]))).await?)
    }

    /// Accepts an invitation to own a skill, or declines it.
    pub async fn answer_owner_invitation(
        &self,
        name: &QualifiedName,
        accepts: bool,
    ) -> Result<(), Error> {
        let route = ["invitations", name.wire_scope(), name.name().as_str()];
        self.answer_invitation(self.transport.route(&route), accepts).await
    }

    /// Accepts an invitation to be a member of a scope, or declines it.
    pub async fn answer_member_invitation(
        &self,
        scope: &Scope,
        accepts: bool,
    ) -> Result<(), Error> {
        let url = self.transport.route(&["invitations", scope.as_str()]);
        self.answer_invitation(url, accepts).await
    }

    async fn answer_invitation(&self, url: Url, accepts: bool) -> Result<(), Error> {
        let method = if accepts { Method::POST } else { Method::DELETE };
        Ok(self.transport.done(Ask::new(method, url, Payload::Nothing)).await?)
    }

    /// The members of a scope, and who is invited to be one.
    pub async fn members(&self, scope: &Scope) -> Result<Members, Error> {
        Ok(self.transport.json(Ask::get(self.members_of(scope))).await?)
    }

    /// Invites an account to be a member of a scope in this role.
    pub async fn invite_member(
        &self,
        scope: &Scope,
        account: &str,
        role: &str,
    ) -> Result<Members, Error> {
        self.change_member(Method::POST, scope, account, role).await
    }

    /// Gives a member of a scope another role.
    pub async fn set_role(
        &self,
        scope: &Scope,
        account: &str,
        role: &str,
    ) -> Result<Members, Error> {
        self.change_member(Method::PUT, scope, account, role).await
    }

    /// Removes a member of a scope, or takes an invitation back.
    pub async fn remove_member(&self, scope: &Scope, account: &str) -> Result<Members, Error> {
        let request = RemoveMember { account: account.to_owned() };
        let ask = Ask::new(Method::DELETE, self.members_of(scope), json(&request)?);
        Ok(self.transport.json(ask).await?)
    }

    async fn change_member(
        &self,
        method: Method,
        scope: &Scope,
        account: &str,
        role: &str,
    ) -> Result<Members, Error> {
        let request = MemberChange { account: account.to_owned(), role: role.to_owned() };
        let ask = Ask::new(method, self.members_of(scope), json(&request)?);
        Ok(self.transport.json(ask).await?)
    }

    fn members_of(&self, scope: &Scope) -> Url {
        self.transport.route(&["scopes", scope.as_str(), "members"])
    }
}
