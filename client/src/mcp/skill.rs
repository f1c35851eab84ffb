//! Skills as the extension `io.modelcontextprotocol/skills` (SEP-2640) lists them.

use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, GetSkillResult, ListSkillsResult, PaginatedRequestParams, Skill, SkillFrontmatter,
    SkillResource, SkillResources,
};
use serde_json::{Value, json};
use skillpkg_schema::skill::typed_frontmatter;

use super::catalogue::{Catalogue, Served};
use super::page::page;
use super::server::Shared;
use super::server::internal;
use super::{meta, uri};
use crate::host::Host;

/// Most files of a skill that hosts must take.
const MOST_FILES: usize = 512;
/// Most bytes of a skill that hosts must take.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// Most skills of one page: each lists all of its files.
const PAGE: usize = 50;

/// `skills/list`.
pub(super) fn list(
    shared: &Shared,
    request: Option<PaginatedRequestParams>,
) -> Result<ListSkillsResult, ErrorData> {
    let catalogue = shared.look().map_err(|error| internal(&error))?;
    let mut skills = Vec::new();
    for served in &catalogue.skills {
        match entry(&shared.host, served) {
            Ok(skill) => skills.push(skill),
            Err(reason) => shared.tell_once(&unlisted(served, &reason)),
        }
    }
    skills.sort_by(|left, right| left.uri.cmp(&right.uri));
    let (skills, next) = page(skills, |skill| &skill.uri, request, PAGE)?;
    let mut result = ListSkillsResult::with_all_items(skills)
        .with_ttl_ms(0)
        .with_cache_scope(CacheScope::Private);
    result.next_cursor = next;
    Ok(result)
}

/// The skills of a catalogue that are not listed, and why, as sentences.
pub(super) fn left_out(host: &Host, catalogue: &Catalogue) -> Vec<String> {
    let reason =
        |served: &Served| entry(host, served).err().map(|reason| unlisted(served, &reason));
    catalogue.skills.iter().filter_map(reason).collect()
}

fn unlisted(served: &Served, reason: &str) -> String {
    format!("`{}` is not in `skills/list`: {reason}", served.contents.skill.name)
}

/// `skills/get`.
pub(super) fn get(shared: &Shared, wanted: &str) -> Result<GetSkillResult, ErrorData> {
    let absent =
        || ErrorData::invalid_params("there is no skill at this uri", Some(json!({"uri": wanted})));
    let place = uri::parse(wanted).ok_or_else(absent)?;
    if place.path.is_none_or(|path| path.as_str() != "SKILL.md") {
        return Err(absent());
    }
    let catalogue = shared.look().map_err(|error| internal(&error))?;
    let served = catalogue.skill(&place.skill).ok_or_else(absent)?;
    let skill = entry(&shared.host, served)
        .map_err(|reason| ErrorData::invalid_params(reason, Some(json!({"uri": wanted}))))?;
    Ok(GetSkillResult::new(skill).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
}

/// A skill with every field of its frontmatter and the digest of every file, or why hosts could not
/// take it.
pub(super) fn entry(host: &Host, served: &Served) -> Result<Skill, String> {
    let contents = &served.contents;
    let (name, files) = (&contents.skill.name, &contents.manifest.files);
    if files.len() > MOST_FILES {
        return Err(format!("it has {} files, and hosts take at most {MOST_FILES}", files.len()));
    }
    let bytes = files.iter().fold(0, |sum: u64, file| sum.saturating_add(file.size));
    if bytes > MOST_BYTES {
        return Err(format!("it has {bytes} bytes, and hosts take at most {MOST_BYTES}"));
    }
    let (_, text) =
        host.read_file(&name.to_string(), "SKILL.md").map_err(|error| error.to_string())?;
    let mut fields = typed_frontmatter(&text).map_err(|error| error.to_string())?;
    let mut take = |key: &str| match fields.remove(key) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("the `{key}` of its frontmatter is no text: put it in quotes")),
        None if key == "name" => Err(format!(
            "its frontmatter has no `name`, which the extension asks for; `name: {}` beside \
             `skill:` would do",
            name.name()
        )),
        None => Err(format!("its frontmatter has no `{key}`, which the extension asks for")),
    };
    let mut frontmatter = SkillFrontmatter::new(take("name")?, take("description")?);
    frontmatter.extra = fields;
    let resources = files.iter().map(|file| {
        let uri = uri::of_path(name, file.path.as_str());
        SkillResource::new(uri, meta::digest(&file.sha256), file.size)
    });
    let mut own = meta::provenance(served);
    own.push(("key", json!(contents.key.to_string())));
    if let Some(index) = contents.log_index {
        own.push(("log-index", json!(index)));
    }
    let skill = Skill::new(
        uri::of_path(name, "SKILL.md"),
        frontmatter,
        SkillResources::Files(resources.collect()),
    )
    .with_meta(meta::of(own));
    skill.validate().map_err(|error| error.to_string())?;
    Ok(skill)
}
