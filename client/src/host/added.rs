//! Resources and scripts that a host adds to a skill.

use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;

use super::Host;
use crate::resource::Resource;
use crate::runner::Script;
use crate::{Error, Kind};

/// What a host adds to a skill.
#[derive(Debug, Clone, Default)]
pub(super) struct Added {
    pub(super) resources: Vec<Resource>,
    pub(super) scripts: Vec<Script>,
}

impl Added {
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let resources = self.resources.iter().map(|resource| resource.name.as_str());
        resources.chain(self.scripts.iter().map(|script| script.name.as_str()))
    }
}

impl Host {
    /// Adds a resource of the host to a skill. It can be read while the skill is active.
    ///
    /// Refused where the host has added a capability of the same name to it.
    pub fn add_resource(&mut self, skill: &QualifiedName, resource: Resource) -> Result<(), Error> {
        self.check_free(skill, &resource.name)?;
        self.added.entry(skill.clone()).or_default().resources.push(resource);
        Ok(())
    }

    /// Adds a script of the host to a skill. It can be called while the skill is active.
    ///
    /// Refused where no runner accepts it, or more than one does, and where the host has added a
    /// capability of the same name to the skill.
    pub fn add_script(&mut self, skill: &QualifiedName, script: Script) -> Result<(), Error> {
        self.check_free(skill, &script.name)?;
        self.runners.select(&script).map_err(|error| {
            Error::new(Kind::Requirement, "runner_unavailable", error.to_string())
        })?;
        self.added.entry(skill.clone()).or_default().scripts.push(script);
        Ok(())
    }

    fn check_free(&self, skill: &QualifiedName, name: &str) -> Result<(), Error> {
        let taken =
            self.added.get(skill).is_some_and(|added| added.names().any(|known| known == name));
        if taken { Err(name_taken(skill, name)) } else { Ok(()) }
    }
}

/// A name that two capabilities of a skill would share.
pub(super) fn name_taken(skill: &QualifiedName, name: &str) -> Error {
    let message = format!("`{skill}` has two capabilities called `{}`", escape(name));
    Error::new(Kind::Usage, "capability_conflict", message)
        .with_hint("give the one that the host adds another name")
}
