//! What a model is told.

use super::SkillFile;
use crate::json::Json;

/// How a call is written, between the prose and the catalogue.
const PROTOCOL: &str = "\
# Calling tools

Each `[tool: ID]` above stands for a tool of the catalogue below. To call one, write one fenced \
block of this form, and nothing after it:

```call
{\"tool\": \"ID\", \"args\": {\"name\": \"value\"}}
```

- One call a turn. The answer to it comes in the next turn.
- `args` is an object that the tool's `input_schema` accepts: every required name, no other than \
the declared ones.
- Where no tool is needed, answer in words and write no such block.

# Tools

One tool a line, as JSON:

";

/// The system text: the rendered prose, the call protocol, the catalogue of tools.
///
/// A skill without tools is its prose alone.
pub fn compile(skill: &SkillFile) -> String {
    compile_with(skill, &[])
}

/// Something beside the tools that a model can call.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogueEntry {
    /// What it is called.
    pub name: String,
    /// What a model is told it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Json,
}

/// As [`compile`], with `others` in the catalogue behind the tools.
pub fn compile_with(skill: &SkillFile, others: &[CatalogueEntry]) -> String {
    let mut system = skill.rendered.clone();
    if skill.tools.is_empty() && others.is_empty() {
        return system;
    }
    system.push_str("\n\n");
    system.push_str(PROTOCOL);
    let tools = skill.tools.iter().map(|tool| CatalogueEntry {
        name: tool.id.clone(),
        description: tool.description.clone(),
        input_schema: tool.schema(),
    });
    for CatalogueEntry { name, description, input_schema } in tools.chain(others.iter().cloned()) {
        let entry = Json::Object(vec![
            ("name".to_owned(), Json::String(name)),
            ("description".to_owned(), Json::String(description)),
            ("input_schema".to_owned(), input_schema),
        ]);
        system.push_str(&entry.canonical());
        system.push('\n');
    }
    system
}
