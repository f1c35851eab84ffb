//! What is to be copied to install a skill, for each client.

use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::VersionEntry;

use super::link::segment;
use super::text::Text;
use crate::faces::rendering::{Rendered, recorded};
use crate::faces::{Face, Faces};
use crate::problem::Answer;
use crate::state::Registry;

/// How one client installs a skill.
#[derive(Debug, Clone)]
pub(super) struct Way {
    /// What tells it apart in the page.
    pub(super) id: &'static str,
    /// The client.
    pub(super) client: &'static str,
    /// What to type, line by line.
    pub(super) lines: Vec<String>,
    /// What is to be known.
    pub(super) note: &'static str,
    /// Why this client is not served the version, where it is not.
    pub(super) left_out: Option<Text>,
}

/// What is installed, and from where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'w> {
    pub(super) name: &'w QualifiedName,
    pub(super) entry: &'w VersionEntry,
    /// Whether an install takes this version where none is named.
    pub(super) is_newest: bool,
    pub(super) private: bool,
    /// Where the registry is reached.
    pub(super) base: &'w str,
}

impl Wanted<'_> {
    /// How each client that is served installs it.
    pub(super) async fn ways(&self, registry: &Registry) -> Answer<Vec<Way>> {
        let mut ways = self.all(&registry.options.faces);
        for (face, way) in &mut ways {
            let Some(face) = *face else { continue };
            let readers = registry.data.database.readers();
            if let Some(Rendered::LeftOut(reason)) =
                recorded(readers, &self.entry.address, face).await?
            {
                way.left_out = Some(reason.into());
            }
        }
        Ok(ways.into_iter().map(|(_, way)| way).collect())
    }

    fn all(&self, faces: &Faces) -> Vec<(Option<Face>, Way)> {
        let ways = [
            (None, self.skillpkg()),
            (Some(Face::AgentSkills), self.skills()),
            (Some(Face::Apm), self.apm()),
            (Some(Face::ClawHub), self.clawhub()),
        ];
        ways.into_iter().filter(|(face, _)| face.is_none_or(|face| faces.is_on(face))).collect()
    }

    fn skillpkg(&self) -> Way {
        let Self { name, entry, base, .. } = self;
        let wanted =
            if self.is_newest { name.to_string() } else { format!("'{name}@={}'", entry.version) };
        Way {
            id: "skillpkg",
            client: "skillpkg",
            lines: vec![format!("skillpkg install {wanted} --registry {base}")],
            note: "Checks the signature, the log and every file before anything becomes active.",
            left_out: None,
        }
    }

    fn skills(&self) -> Way {
        let (base, secret) = (self.base, if self.private { "/t/TOKEN" } else { "" });
        let number = self.number();
        let version = if self.is_newest { String::new() } else { format!("/{number}") };
        let (scope, within) = (self.name.wire_scope(), self.name.name());
        Way {
            id: "skills",
            client: "npx skills",
            lines: vec![format!("npx skills add {base}{secret}/s/{scope}/{within}{version}")],
            note: if self.private {
                "TOKEN is one that grants `read` and nothing else: this client writes it into its \
                 lockfile. It checks the digest of what it unpacks, and no signature."
            } else {
                "Checks the digest of what it unpacks, and no signature."
            },
            left_out: None,
        }
    }

    fn apm(&self) -> Way {
        let (base, number) = (self.base, self.number());
        let (scope, within) = (self.name.wire_scope(), self.name.name());
        Way {
            id: "apm",
            client: "apm",
            lines: vec![
                "apm experimental enable registries".to_owned(),
                format!("apm config set registry.skillpkg.url {base}/apm"),
                "apm config set registry.skillpkg.default true".to_owned(),
                format!("apm install '{scope}/{within}#{number}'"),
            ],
            note: "The first three once. Checks the digest of what it unpacks, and no signature.",
            left_out: None,
        }
    }

    fn clawhub(&self) -> Way {
        let (base, number, within) = (self.base, self.number(), self.name.name());
        let owned = match self.name.scope() {
            Some(scope) => format!("@{scope}/{within}"),
            None => within.to_string(),
        };
        Way {
            id: "clawhub",
            client: "clawhub",
            lines: vec![format!(
                "npx clawhub --registry {base}/clawhub install {owned} --version {number}"
            )],
            note: "This client checks neither digest nor signature: it trusts the connection.",
            left_out: None,
        }
    }

    /// The version, as it may stand in a path and in a command.
    fn number(&self) -> String {
        segment(&self.entry.version.to_string()).replace("%2B", "+")
    }
}
