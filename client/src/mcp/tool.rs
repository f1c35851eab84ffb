//! Tools and scripts of active skills as tools of the protocol, and their resources as tools that
//! take nothing.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, JsonObject, ListToolsResult, PaginatedRequestParams, Tool, ToolAnnotations,
};
use serde_json::{Value, json};

use super::catalogue::{Offered, Served};
use super::meta;
use super::page::page;
use super::server::{Shared, internal};
use crate::host::CapabilityKind;

/// Most tools of one page. Several hosts read the first page alone.
const PAGE: usize = 1_000;

/// `tools/list`.
pub(super) fn list(
    shared: &Shared,
    request: Option<PaginatedRequestParams>,
) -> Result<ListToolsResult, ErrorData> {
    let catalogue = shared.look().map_err(|error| internal(&error))?;
    let mut tools: Vec<Tool> =
        catalogue.offered().filter_map(|(served, offered)| of(served, offered)).collect();
    tools.sort_by(|left, right| left.name.cmp(&right.name));
    let (tools, next) = page(tools, |tool| &tool.name, request, PAGE)?;
    let mut result =
        ListToolsResult::with_all_items(tools).with_ttl_ms(0).with_cache_scope(CacheScope::Private);
    result.next_cursor = next;
    Ok(result)
}

/// A capability as a tool. [`None`] where its schema is no object, which no manifest that was
/// verified has.
fn of(served: &Served, offered: &Offered) -> Option<Tool> {
    let Offered { name, capability } = offered;
    let schema: JsonObject = serde_json::from_str(&capability.schema).ok()?;
    let mut own = meta::provenance(&served.contents.skill);
    own.push(("capability", json!(capability.name)));
    own.push(("kind", json!(capability.kind.as_str())));
    own.push(("asks", Value::Bool(capability.requires_permission)));
    let mut tool = Tool::new_with_raw(
        name.clone(),
        Some(capability.description.clone().into()),
        Arc::new(schema),
    )
    .with_title(format!("{}: {}", served.contents.skill.name, capability.name))
    .with_meta(meta::of(own));
    // What runs a program keeps the protocol's defaults, which expect the worst.
    if capability.kind == CapabilityKind::Resource {
        let annotations = ToolAnnotations::new().read_only(true).idempotent(true).open_world(false);
        tool = tool.with_annotations(annotations);
    }
    Some(tool)
}
