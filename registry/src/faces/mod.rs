//! Faces: protocols of other people's clients, spoken over the one store.
//!
//! A face reads what the native API reads, under the same access, and serves each snapshot in a
//! container of its own, which is made of the snapshot's verified files ([`rendering`]). What is
//! published through one is signed with a key that the registry holds for the account ([`held`]), and
//! goes the way of any publish.

pub mod fingerprint;
pub mod frontmatter;
pub mod held;
pub mod intake;
pub mod offer;
pub mod rendering;
pub mod unzip;
pub mod uploads;
pub mod zip;

use std::fmt;
use std::str::FromStr;

use url::Url;

/// A protocol of somebody else's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Face {
    /// Agent Skills discovery 0.2.0, as `npx skills` speaks it.
    AgentSkills,
    /// The APM registry HTTP API, version 1.
    Apm,
    /// The API of `ClawHub`, version 1.
    ClawHub,
}

/// A text that names no face.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected `agent-skills`, `apm` or `clawhub`")]
pub struct FaceError;

impl Face {
    /// Every face.
    pub const ALL: [Self; 3] = [Self::AgentSkills, Self::Apm, Self::ClawHub];

    /// What it is called in options and in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::AgentSkills => "agent-skills",
            Self::Apm => "apm",
            Self::ClawHub => "clawhub",
        }
    }

    /// The face that a path belongs to; [`None`] for the native API.
    pub fn of_path(path: &str) -> Option<Self> {
        let mut parts = path.split('/').skip(1);
        match (parts.next()?, parts.next()) {
            ("s" | "t", Some(_)) | (".well-known", Some("agent-skills")) => Some(Self::AgentSkills),
            ("apm", Some(_)) => Some(Self::Apm),
            // Its client asks for a login at the root of the host, whatever it was told.
            ("clawhub", Some(_)) | (".well-known", Some("clawhub.json")) | ("api", Some("cli")) => {
                Some(Self::ClawHub)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Face {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Face {
    type Err = FaceError;

    fn from_str(text: &str) -> Result<Self, FaceError> {
        Self::ALL.into_iter().find(|face| face.name() == text).ok_or(FaceError)
    }
}

/// What an operator sets of faces.
#[derive(Debug, Clone, Default)]
pub struct Faces {
    /// Those that are turned off: their routes answer as what is not there.
    pub off: Vec<Face>,
    /// Whether nothing may be published through one.
    pub read_only: bool,
    /// What absolute URLs in answers start with; the authority of each request where it is absent.
    pub public_url: Option<Url>,
}

impl Faces {
    /// Whether a face is on.
    pub fn is_on(&self, face: Face) -> bool {
        !self.off.contains(&face)
    }

    /// Those that are on.
    pub fn on(&self) -> impl Iterator<Item = Face> {
        Face::ALL.into_iter().filter(|face| self.is_on(*face))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::TABLE;

    #[test]
    fn a_face_is_read_as_it_is_written() {
        for face in Face::ALL {
            assert_eq!(face.to_string().parse(), Ok(face));
        }
        assert_eq!("mcp".parse::<Face>(), Err(FaceError));
    }

    #[test]
    fn a_path_is_of_one_face_and_the_native_api_is_of_none() {
        for (path, face) in [
            ("/.well-known/agent-skills/index.json", Some(Face::AgentSkills)),
            ("/s/acme/pdf/1.0.0/skill.tar.gz", Some(Face::AgentSkills)),
            ("/t/secret/s/acme/.well-known/agent-skills/index.json", Some(Face::AgentSkills)),
            ("/apm/v1/packages/acme/pdf/versions", Some(Face::Apm)),
            ("/clawhub/api/v1/search", Some(Face::ClawHub)),
            ("/.well-known/clawhub.json", Some(Face::ClawHub)),
            ("/api/cli/device/code", Some(Face::ClawHub)),
            ("/api", None),
            ("/v1/skills/acme/pdf", None),
            ("/skills/acme/pdf", None),
            ("/scopes/s", None),
            ("/s", None),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(Face::of_path(path), face, "{path}");
        }
        for row in TABLE.iter().filter(|row| row.path.starts_with("/v1/")) {
            assert_eq!(Face::of_path(row.path), None);
        }
    }

    #[test]
    fn the_faces_that_are_on_are_those_that_are_not_off() {
        let faces = Faces { off: vec![Face::Apm], ..Faces::default() };
        assert_eq!(faces.on().collect::<Vec<_>>(), [Face::AgentSkills, Face::ClawHub]);
    }
}
