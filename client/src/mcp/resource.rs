//! Files of active skills as resources: each read is of bytes that were just re-hashed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;
use skillpkg_schema::manifest::FileEntry;

use super::catalogue::Served;
use super::page::page;
use super::server::{Shared, internal};
use super::{media_type, meta, uri};

/// Most resources of one page.
const PAGE: usize = 500;

/// `resources/list`: every file of every active skill.
pub(super) fn list(
    shared: &Shared,
    request: Option<PaginatedRequestParams>,
) -> Result<ListResourcesResult, ErrorData> {
    let catalogue = shared.look().map_err(|error| internal(&error))?;
    let mut all: Vec<(String, &Served, &FileEntry)> = Vec::new();
    for served in &catalogue.skills {
        let name = &served.contents.skill.name;
        let files = served.contents.manifest.files.iter();
        all.extend(files.map(|file| (uri::of_path(name, file.path.as_str()), served, file)));
    }
    all.sort_by(|left, right| left.0.cmp(&right.0));
    let (files, next) = page(all, |(uri, ..)| uri, request, PAGE)?;
    let resources =
        files.into_iter().map(|(uri, served, file)| of_file(uri, served, file)).collect();
    let mut result = ListResourcesResult::with_all_items(resources)
        .with_ttl_ms(0)
        .with_cache_scope(CacheScope::Private);
    result.next_cursor = next;
    Ok(result)
}

/// `resources/templates/list`.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let template = ResourceTemplate::new("skill://{scope}/{name}/{+path}", "skill-file")
        .with_description("A file of an active skill; the scope of a name without one is `_`");
    ListResourceTemplatesResult::with_all_items(vec![template])
}

/// A file of a skill as lists have it.
pub(super) fn of_file(uri: String, served: &Served, file: &FileEntry) -> Resource {
    let skill = &served.contents.skill;
    let manifest = &served.contents.manifest;
    let path = file.path.as_str();
    let named = if path == "SKILL.md" { skill.name.name().to_string() } else { path.to_owned() };
    let mut own = meta::provenance(skill);
    own.push(("digest", json!(meta::digest(&file.sha256))));
    let mut resource = Resource::new(uri, named).with_size(file.size).with_meta(meta::of(own));
    if let Some(media_type) = media_type::of_path(path) {
        resource = resource.with_mime_type(media_type);
    }
    let declared = manifest.resources.iter().find(|declared| declared.path == file.path);
    if path == "SKILL.md" {
        resource = resource.with_description(&skill.description);
    } else if let Some(declared) = declared {
        resource = resource.with_description(&declared.description);
    }
    resource
}

/// `resources/read`.
pub(super) fn read(shared: &Shared, wanted: &str) -> Result<ReadResourceResult, ErrorData> {
    let absent = || {
        let message = "there is no file of an active skill at this uri";
        ErrorData::resource_not_found(message, Some(json!({"uri": wanted})))
    };
    let place = uri::parse(wanted).ok_or_else(absent)?;
    let path = place.path.ok_or_else(absent)?;
    let (file, bytes) = shared.host.read_file(&place.skill.to_string(), path.as_str()).map_err(
        |error| match error.code.as_str() {
            "skill_not_active" | "not_found" => absent(),
            _ => internal(&error),
        },
    )?;
    let contents = contents(wanted, &file, &bytes);
    Ok(ReadResourceResult::new(vec![contents]).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
}

/// The bytes of a file: as text where they are UTF-8 without NUL, not one of them changed, since
/// hosts hash the text.
pub(super) fn contents(uri: &str, file: &FileEntry, bytes: &[u8]) -> ResourceContents {
    let known = media_type::of_path(file.path.as_str());
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let contents = match text {
        Some(text) => {
            ResourceContents::text(text, uri).with_mime_type(known.unwrap_or("text/plain"))
        }
        None => ResourceContents::blob(STANDARD.encode(bytes), uri)
            .with_mime_type(known.unwrap_or("application/octet-stream")),
    };
    contents.with_meta(meta::of([("digest", json!(meta::digest(&file.sha256)))]))
}
