//! Skills as the extension `io.modelcontextprotocol/skills` (SEP-2640) lists them.

use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, GetSkillResult, ListSkillsResult, PaginatedRequestParams, Skill, SkillFrontmatter,
    SkillResource, SkillResources,
};
use serde_json::{Value, json};
use skillpkg_schema::diagnostic::escape_quoted;
use skillpkg_schema::skill::typed_frontmatter;

use super::catalogue::{Catalogue, Served};
use super::page::page;
use super::server::Shared;
use super::server::internal;
use super::{meta, uri};
use crate::host::{Contents, Host};

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
    let mut all: Vec<(String, &Contents)> = catalogue.skills.iter().map(of_contents).collect();
    all.sort_by(|left, right| left.0.cmp(&right.0));
    // Only what is on the page is read. A skill that cannot be listed leaves its page shorter.
    let (all, next) = page(all, |(uri, _)| uri, request, PAGE)?;
    let mut skills = Vec::with_capacity(all.len());
    for (_, contents) in all {
        match entry(&shared.host, contents) {
            Ok(skill) => skills.push(skill),
            Err(reason) => shared.tell_once(&unlisted(contents, &reason)),
        }
    }
    let mut result = ListSkillsResult::with_all_items(skills)
        .with_ttl_ms(0)
        .with_cache_scope(CacheScope::Private);
    result.next_cursor = next;
    Ok(result)
}

fn of_contents(served: &Served) -> (String, &Contents) {
    (uri::of_path(&served.contents.skill.name, "SKILL.md"), &served.contents)
}

/// The skills of a catalogue that are not listed, and why, as sentences.
pub(super) fn left_out(host: &Host, catalogue: &Catalogue) -> Vec<String> {
    let reason = |served: &Served| {
        let reason = entry(host, &served.contents).err()?;
        Some(unlisted(&served.contents, &reason))
    };
    catalogue.skills.iter().filter_map(reason).collect()
}

fn unlisted(contents: &Contents, reason: &str) -> String {
    format!("`{}` is not in `skills/list`: {reason}", contents.skill.name)
}

/// `skills/get`.
pub(super) fn get(shared: &Shared, wanted: &str) -> Result<GetSkillResult, ErrorData> {
    let absent =
        || ErrorData::invalid_params("there is no skill at this uri", Some(json!({"uri": wanted})));
    let place = uri::parse(wanted).ok_or_else(absent)?;
    if place.path.is_none_or(|path| path.as_str() != "SKILL.md") {
        return Err(absent());
    }
    let found = shared.host.offered_one(&place.skill).map_err(|error| internal(&error))?;
    let contents = found.ok_or_else(absent)?.contents.map_err(|error| {
        shared.tell_once(&format!("`{}` is not served: {error}", place.skill));
        absent()
    })?;
    let skill = entry(&shared.host, &contents)
        .map_err(|reason| ErrorData::invalid_params(reason, Some(json!({"uri": wanted}))))?;
    Ok(GetSkillResult::new(skill).with_ttl_ms(0).with_cache_scope(CacheScope::Private))
}

/// A skill with every field of its frontmatter and the digest of every file, or why hosts could not
/// take it.
fn entry(host: &Host, contents: &Contents) -> Result<Skill, String> {
    let (name, files) = (&contents.skill.name, &contents.manifest.files);
    if files.len() > MOST_FILES {
        return Err(format!("it has {} files, and hosts take at most {MOST_FILES}", files.len()));
    }
    let bytes = files.iter().fold(0, |sum: u64, file| sum.saturating_add(file.size));
    if bytes > MOST_BYTES {
        return Err(format!("it has {bytes} bytes, and hosts take at most {MOST_BYTES}"));
    }
    let file = contents.manifest.file("SKILL.md").ok_or("it has no `SKILL.md`")?;
    let text = host.intact(&contents.manifest, file).map_err(|error| error.to_string())?;
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
    let said = take("name")?;
    let mut frontmatter = SkillFrontmatter::new(said.clone(), take("description")?);
    frontmatter.extra = fields;
    let resources = files.iter().map(|file| {
        let uri = uri::of_path(name, file.path.as_str());
        SkillResource::new(uri, meta::digest(&file.sha256), file.size)
    });
    let mut own = meta::provenance(&contents.skill);
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
    skill.validate().map_err(|error| {
        let published = name.name().as_str();
        if said == published {
            return error.to_string();
        }
        format!(
            "its file calls it `{}`, and hosts compare that with the name that it is published under: \
             `name: {published}` in its frontmatter would do",
            escape_quoted(&said)
        )
    })?;
    Ok(skill)
}
