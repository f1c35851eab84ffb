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
    let mut system = skill.rendered.clone();
    if skill.tools.is_empty() {
        return system;
    }
    system.push_str("\n\n");
    system.push_str(PROTOCOL);
    for tool in &skill.tools {
        let entry = Json::Object(vec![
            ("name".to_owned(), Json::String(tool.id.clone())),
            ("description".to_owned(), Json::String(tool.description.clone())),
            ("input_schema".to_owned(), tool.schema()),
        ]);
        system.push_str(&entry.canonical());
        system.push('\n');
    }
    system
}
