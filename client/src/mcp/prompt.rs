//! Prompts: one an active skill, its prose.

use std::fmt::Write as _;

use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, GetPromptRequestParams, GetPromptResult, ListPromptsResult, PaginatedRequestParams,
    Prompt, PromptArgument, PromptMessage, Role,
};
use serde_json::Value;
use skillpkg_schema::limits::MAX_ARGUMENT_BYTES;

use super::catalogue::Served;
use super::meta;
use super::page::page;
use super::server::{Shared, internal};

/// Most prompts of one page. Several hosts read the first page alone.
const PAGE: usize = 1_000;
/// The argument that a person's words come in.
const TASK: &str = "task";

/// `prompts/list`.
pub(super) fn list(
    shared: &Shared,
    request: Option<PaginatedRequestParams>,
) -> Result<ListPromptsResult, ErrorData> {
    let catalogue = shared.look().map_err(|error| internal(&error))?;
    let mut prompts: Vec<Prompt> = catalogue.skills.iter().filter_map(of_skill).collect();
    prompts.sort_by(|left, right| left.name.cmp(&right.name));
    let (prompts, next) = page(prompts, |prompt| &prompt.name, request, PAGE)?;
    let mut result = ListPromptsResult::with_all_items(prompts)
        .with_ttl_ms(0)
        .with_cache_scope(CacheScope::Private);
    result.next_cursor = next;
    Ok(result)
}

fn of_skill(served: &Served) -> Option<Prompt> {
    let skill = &served.contents.skill;
    let task = PromptArgument::new(TASK)
        .with_description("What to do with the skill")
        .with_required(false);
    let mut prompt =
        Prompt::new(served.prompt.clone()?, Some(skill.description.clone()), Some(vec![task]));
    prompt.title = Some(skill.name.to_string());
    prompt.meta = Some(meta::of(meta::provenance(skill)));
    Some(prompt)
}

/// `prompts/get`: the prose, how its tools are called here, and the words of the person.
pub(super) fn get(
    shared: &Shared,
    request: &GetPromptRequestParams,
) -> Result<GetPromptResult, ErrorData> {
    let catalogue = shared.look().map_err(|error| internal(&error))?;
    let mut skills = catalogue.skills.iter();
    let served = skills
        .find(|served| served.prompt.as_deref() == Some(request.name.as_str()))
        .ok_or_else(|| ErrorData::invalid_params("no active skill has this prompt", None))?;
    let task = task(request)?;
    let skill = &served.contents.skill;
    let mut text = shared.host.prose(&skill.name.to_string()).map_err(|error| internal(&error))?;
    if let Some(legend) = legend(served) {
        text.push_str(&legend);
    }
    let mut messages = vec![PromptMessage::new_text(Role::User, text)];
    messages.extend(task.map(|task| PromptMessage::new_text(Role::User, task)));
    let mut result = GetPromptResult::new(messages);
    result.description = Some(skill.description.clone());
    Ok(result)
}

/// The person's words, where there are any.
fn task(request: &GetPromptRequestParams) -> Result<Option<String>, ErrorData> {
    let arguments = request.arguments.iter().flatten();
    let mut task = None;
    for (name, value) in arguments {
        match value {
            Value::String(text) if name == TASK && text.len() <= MAX_ARGUMENT_BYTES => {
                task = Some(text.clone()).filter(|text| !text.trim().is_empty());
            }
            _ => {
                let message = format!("a prompt takes `{TASK}`, a text, and nothing else");
                return Err(ErrorData::invalid_params(message, None));
            }
        }
    }
    Ok(task)
}

/// Which tools are meant by the names that the prose has; [`None`] where there are none.
fn legend(served: &Served) -> Option<String> {
    if served.tools.is_empty() {
        return None;
    }
    let mut legend = "\n\nThe tools of this skill are called here:\n".to_owned();
    for offered in &served.tools {
        let _ = writeln!(legend, "- `{}`: `{}`", offered.capability.name, offered.name);
    }
    Some(legend)
}
