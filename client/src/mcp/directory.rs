//! `resources/directory/read`: what lies in a directory of a skill.

use std::collections::BTreeMap;

use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, DIRECTORY_MIME_TYPE, PaginatedRequestParams, ReadResourceDirectoryResult, Resource,
};
use serde_json::json;

use super::page::page;
use super::resource::of_file;
use super::server::{Shared, internal};
use super::{meta, uri};

/// Most entries of one page.
const PAGE: usize = 500;

/// The files and directories directly beneath one.
pub(super) fn read(
    shared: &Shared,
    wanted: &str,
    cursor: Option<String>,
) -> Result<ReadResourceDirectoryResult, ErrorData> {
    let absent = || {
        let message = "there is no directory of an active skill at this uri";
        ErrorData::invalid_params(message, Some(json!({"uri": wanted})))
    };
    let place = uri::parse(wanted).ok_or_else(absent)?;
    let catalogue = shared.look().map_err(|error| internal(&error))?;
    let served = catalogue.skill(&place.skill).ok_or_else(absent)?;
    let before = place.path.map_or_else(String::new, |path| format!("{path}/"));
    let mut entries: BTreeMap<String, Resource> = BTreeMap::new();
    for file in &served.contents.manifest.files {
        let Some(rest) = file.path.as_str().strip_prefix(&before) else { continue };
        match rest.split_once('/') {
            None => {
                let uri = uri::of_path(&place.skill, file.path.as_str());
                entries.insert(uri.clone(), of_file(uri, served, file));
            }
            Some((directory, _)) => {
                let uri = uri::of_path(&place.skill, &format!("{before}{directory}"));
                entries.entry(uri.clone()).or_insert_with(|| {
                    Resource::new(uri, directory)
                        .with_mime_type(DIRECTORY_MIME_TYPE)
                        .with_meta(meta::of(meta::provenance(&served.contents.skill)))
                });
            }
        }
    }
    if entries.is_empty() {
        return Err(absent());
    }
    let request = Some(PaginatedRequestParams::default().with_cursor(cursor));
    let entries: Vec<Resource> = entries.into_values().collect();
    let (entries, next) = page(entries, |entry| &entry.uri, request, PAGE)?;
    let mut result = ReadResourceDirectoryResult::with_all_items(entries)
        .with_ttl_ms(0)
        .with_cache_scope(CacheScope::Private);
    result.next_cursor = next;
    Ok(result)
}
