//! What an active skill can do.

use skillpkg_schema::Manifest;
use skillpkg_schema::diagnostic::nearest;

use super::added::Added;

/// What sort of capability it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CapabilityKind {
    /// A `tool` fence: run as argv.
    Tool,
    /// Read-only content, without parameters.
    Resource,
    /// Runs behind a runner, with JSON on its standard input.
    Script,
}

impl CapabilityKind {
    /// `tool`, `resource` or `script`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Script => "script",
        }
    }
}

/// One capability of an active skill, as a model is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    /// The tool's id, or the name of the resource or script.
    pub name: String,
    /// What it does or holds.
    pub description: String,
    /// What sort it is.
    pub kind: CapabilityKind,
    /// The JSON Schema of its arguments, as canonical text: a closed object, as Anthropic, OpenAI
    /// and MCP take it. A resource's has no properties.
    pub schema: String,
    /// Whether permission is asked before each call beyond what was approved at activation.
    pub requires_permission: bool,
}

/// The schema of what takes no arguments.
const NO_ARGUMENTS: &str =
    r#"{"additionalProperties":false,"properties":{},"required":[],"type":"object"}"#;

/// The capabilities of a manifest, and those that a host adds.
pub(super) fn list(manifest: &Manifest, added: Option<&Added>) -> Vec<Capability> {
    let tools = manifest.tools.iter().map(|tool| Capability {
        name: tool.id.clone(),
        description: tool.description.clone(),
        kind: CapabilityKind::Tool,
        schema: tool.schema.clone(),
        requires_permission: false,
    });
    let resources = manifest
        .resources
        .iter()
        .map(|resource| (&resource.name, &resource.description))
        .chain(
            added
                .into_iter()
                .flat_map(|added| &added.resources)
                .map(|resource| (&resource.name, &resource.description)),
        )
        .map(|(name, description)| Capability {
            name: name.clone(),
            description: description.clone(),
            kind: CapabilityKind::Resource,
            schema: NO_ARGUMENTS.to_owned(),
            requires_permission: false,
        });
    let own_scripts = manifest.scripts.iter().map(|script| Capability {
        name: script.name.clone(),
        description: script.description.clone(),
        kind: CapabilityKind::Script,
        schema: script.contract.clone(),
        requires_permission: script.requires_permission,
    });
    let added_scripts =
        added.into_iter().flat_map(|added| &added.scripts).map(|script| Capability {
            name: script.name.clone(),
            description: script.description.clone(),
            kind: CapabilityKind::Script,
            schema: script.contract.canonical().to_owned(),
            requires_permission: script.requires_permission,
        });
    tools.chain(resources).chain(own_scripts).chain(added_scripts).collect()
}

/// The capability of the list with a name near to the one asked for.
pub(super) fn near<'a>(name: &str, capabilities: &'a [Capability]) -> Option<&'a str> {
    nearest(name, capabilities.iter().map(|capability| capability.name.as_str()))
}
