//! What is served at one moment: the active skills, under the names that hosts see.

use std::collections::BTreeMap;

use skillpkg_schema::{ContentAddress, QualifiedName, Sha256Digest};

use super::tool_name::{self, Named};
use super::uri;
use crate::Error;
use crate::host::{Capability, Contents, Each, Host};

/// What is served at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Catalogue {
    /// The active skills, sorted by name.
    pub(super) skills: Vec<Served>,
    /// What is not served, and why, as sentences.
    pub(super) left_out: Vec<String>,
}

/// One active skill.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Served {
    /// What it holds.
    pub(super) contents: Contents,
    /// The name of its prompt; [`None`] where no name is left for it.
    pub(super) prompt: Option<String>,
    /// Its tools, scripts and resources that have a name.
    pub(super) tools: Vec<Offered>,
}

/// A capability under the name that hosts see.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Offered {
    /// The name.
    pub(super) name: String,
    /// What it stands for.
    pub(super) capability: Capability,
}

/// What two catalogues differ in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Whether the list of tools does.
    pub(super) tools: bool,
    /// Whether the list of prompts does.
    pub(super) prompts: bool,
    /// Whether the list of resources, or of skills, does.
    pub(super) resources: bool,
    /// URIs whose bytes are others now, or that are gone.
    pub(super) updated: Vec<String>,
}

impl Changes {
    /// Whether nothing differs.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What whoever missed some changes is told: every list may be another one.
    pub(super) fn missed() -> Self {
        Self { tools: true, prompts: true, resources: true, updated: Vec::new() }
    }
}

impl Catalogue {
    /// Looks what is active now. Every manifest is re-hashed.
    pub(super) fn look(host: &Host) -> Result<Self, Error> {
        let mut skills = Vec::new();
        let mut left_out = Vec::new();
        // What cannot work here is not offered and then refused.
        for Each { name, contents } in host.offered()? {
            match contents {
                Ok(contents) => skills.push(contents),
                Err(error) => left_out.push(format!("`{name}` is not served: {error}")),
            }
        }
        Ok(Self::of(skills, left_out))
    }

    fn of(skills: Vec<Contents>, mut left_out: Vec<String>) -> Self {
        let all: Vec<Named<'_>> = skills.iter().flat_map(capabilities).collect();
        let mut names = tool_name::names(&all).into_iter();
        let all: Vec<Named<'_>> = skills.iter().map(|one| named_of(one, None)).collect();
        let prompts = tool_name::names(&all);
        let mut served = Vec::with_capacity(prompts.len());
        for (contents, prompt) in skills.into_iter().zip(prompts) {
            let mut tools = Vec::new();
            for (capability, name) in contents.capabilities.iter().zip(names.by_ref()) {
                match name {
                    Some(name) => tools.push(Offered { name, capability: capability.clone() }),
                    None => left_out.push(format!(
                        "a capability of `{}` is not served: another one has its name",
                        contents.skill.name
                    )),
                }
            }
            served.push(Served { contents, prompt, tools });
        }
        Self { skills: served, left_out }
    }

    /// The skill of this name.
    pub(super) fn skill(&self, name: &QualifiedName) -> Option<&Served> {
        self.skills.iter().find(|served| served.contents.skill.name == *name)
    }

    /// The tool of this name, and its skill.
    pub(super) fn tool(&self, name: &str) -> Option<(&Served, &Offered)> {
        self.offered().find(|(_, offered)| offered.name == name)
    }

    /// Every tool with its skill.
    pub(super) fn offered(&self) -> impl Iterator<Item = (&Served, &Offered)> {
        self.skills.iter().flat_map(|served| served.tools.iter().map(move |one| (served, one)))
    }

    /// What differs from `before`.
    pub(super) fn changes(&self, before: &Self) -> Changes {
        let (now, then) = (self.files(), before.files());
        let changed = |(uri, digest): (&String, &Sha256Digest)| {
            (now.get(uri) != Some(digest)).then(|| uri.clone())
        };
        Changes {
            tools: !self.tool_lines().eq(before.tool_lines()),
            prompts: !self.prompt_lines().eq(before.prompt_lines()),
            resources: now != then || !self.addresses().eq(before.addresses()),
            updated: then.iter().filter_map(changed).collect(),
        }
    }

    fn tool_lines(&self) -> impl Iterator<Item = (ContentAddress, &Offered)> {
        self.offered().map(|(served, offered)| (served.contents.skill.address, offered))
    }

    fn prompt_lines(&self) -> impl Iterator<Item = (&Option<String>, &String)> {
        self.skills.iter().map(|served| (&served.prompt, &served.contents.skill.description))
    }

    fn addresses(&self) -> impl Iterator<Item = ContentAddress> {
        self.skills.iter().map(|served| served.contents.skill.address)
    }

    fn files(&self) -> BTreeMap<String, Sha256Digest> {
        let files = |served: &Served| {
            let skill = served.contents.skill.name.clone();
            let entry = move |file: &skillpkg_schema::manifest::FileEntry| {
                (uri::of_path(&skill, file.path.as_str()), file.sha256)
            };
            served.contents.manifest.files.iter().map(entry).collect::<Vec<_>>()
        };
        self.skills.iter().flat_map(files).collect()
    }
}

fn capabilities(contents: &Contents) -> impl Iterator<Item = Named<'_>> {
    let names = contents.capabilities.iter().map(|capability| capability.name.as_str());
    names.map(|name| named_of(contents, Some(name)))
}

fn named_of<'a>(contents: &'a Contents, capability: Option<&'a str>) -> Named<'a> {
    let skill = &contents.skill;
    Named { skill: &skill.name, placed_as: skill.placed_as.as_str(), capability }
}
