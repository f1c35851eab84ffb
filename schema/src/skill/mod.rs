//! Hard skills and Agent Skills: `SKILL.md` and what it declares.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::capability::Capabilities;
use crate::diagnostic::{Diagnostic, Faults};
use crate::json::Json;
use crate::manifest::Requires;
use crate::path::SkillPath;
use crate::tree::Tree;

/// Which kind of `SKILL.md` it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Dialect {
    /// Its frontmatter says `skill:`.
    Hard,
    /// Its frontmatter says `name:` alone, as agentskills.io has it.
    Agent,
}

/// How strictly resources and scripts are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Rules {
    /// Every resource and script is declared with a description.
    #[default]
    Strict,
    /// Missing descriptions are made of file names, and every file under `references/` is a
    /// resource (`--compat`).
    Compatible,
}

/// A program that tools start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The first word of `run`, `$$` read as `$`; as written where it holds a param.
    pub name: String,
    /// Whether the word holds a param, so that the program is known at the call only.
    pub dynamic: bool,
    /// Ids of the tools that start it.
    pub tools: Vec<String>,
}

/// A parsed `SKILL.md`.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillFile {
    /// Which kind it is.
    pub dialect: Dialect,
    /// `skill` or `name` as written; whoever publishes checks that it is a legal one.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// `version` or `metadata.version` as written.
    pub version: Option<String>,
    /// `license` as written.
    pub license: Option<String>,
    /// `includes`, each without `./` before and `/` behind, in the order written; [`None`] where
    /// the key is absent.
    pub includes: Option<Vec<String>>,
    /// The other frontmatter: scalars as texts, nesting kept.
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// The prose with each tool fence collapsed to `[tool: ID]`.
    pub rendered: String,
    /// In order of appearance.
    pub tools: Vec<Tool>,
    /// What is worth telling.
    pub warnings: Vec<Diagnostic>,
}

/// One `tool` fence.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// 1 to 64 of `A-Z a-z 0-9 _ -`, unique in the skill.
    pub id: String,
    /// What a model is told it does.
    pub description: String,
    /// In the order written.
    pub params: Vec<Param>,
    /// What it runs.
    pub run: Run,
    /// The fence's first line in `SKILL.md`, from 1.
    pub line: usize,
}

/// One param of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    /// `[A-Za-z0-9_]+`.
    pub name: String,
    /// What its values are.
    pub kind: ParamKind,
    /// Carried into the schema and not checked.
    pub format: Option<String>,
    /// The values it may have.
    pub choices: Option<Vec<Json>>,
    /// What a model is told it is.
    pub description: Option<String>,
    /// What it is where absent; a param without one is required.
    pub default: Option<Json>,
}

/// The type of a param.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamKind {
    /// Text.
    String,
    /// A whole number in the range of i64.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
}

/// A run template: argv words in which `$name` is a param and `$$` a dollar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    words: Vec<String>,
}

impl Run {
    /// The words as written, `$` not yet replaced.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }
}

impl Tool {
    /// The JSON Schema of the arguments: closed, as Anthropic, OpenAI and MCP take it.
    pub fn schema(&self) -> Json {
        todo!()
    }
}

/// A skill as its files say: `SKILL.md`, the expanded includes, `skill.json`.
#[derive(Debug, Clone)]
pub struct Skill {
    /// The parsed `SKILL.md`.
    pub file: SkillFile,
    /// Files that `includes` names, sorted by bytes, without `SKILL.md`.
    pub included: Vec<SkillPath>,
    /// Resources and scripts.
    pub capabilities: Capabilities,
    /// What the machine must have.
    pub requires: Requires,
    /// Warnings of every part.
    pub warnings: Vec<Diagnostic>,
}

impl Skill {
    /// Reads the skill in `tree`.
    ///
    /// Checks what only the files can tell: that includes are there and hold no link, that programs
    /// with a relative path are among the files, that resources and scripts are, that no two
    /// capabilities share a name.
    pub fn read(tree: &dyn Tree, rules: Rules) -> Result<Self, Faults> {
        let _ = (tree, rules);
        todo!()
    }
}

/// Parses the bytes of a `SKILL.md`; `file` is what messages call it.
pub fn parse(source: &[u8], file: &str) -> Result<SkillFile, Faults> {
    let _ = (source, file);
    todo!()
}

/// The programs that `tools` start, in order of first appearance.
pub fn programs(tools: &[Tool]) -> Vec<Program> {
    let _ = tools;
    todo!()
}

/// The system text: the rendered prose, the call protocol, the catalogue of tools.
pub fn compile(skill: &SkillFile) -> String {
    let _ = skill;
    todo!()
}

/// A model's answer.
#[derive(Debug, Clone, Copy)]
pub enum Answer<'a> {
    /// What it wrote.
    Text(&'a str),
    /// A call that a host has parsed: `{tool|name|id, args|arguments|input|params}`, or the shape
    /// that Anthropic, OpenAI or MCP sends.
    Structured(&'a Json),
}

/// A call of a tool that its schema accepts.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool's id.
    pub tool: String,
    /// The arguments, coerced, defaults filled in.
    pub args: BTreeMap<String, Json>,
    /// What to spawn.
    pub argv: Vec<String>,
}

/// An answer that calls wrongly, worded for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ResolveError {
    /// Stable, in `snake_case`.
    pub code: &'static str,
    /// Names the tool and the argument, and what was expected.
    pub message: String,
}

/// The call in `answer`; [`None`] where a text holds none.
pub fn resolve(tools: &[Tool], answer: Answer<'_>) -> Result<Option<Call>, ResolveError> {
    let _ = (tools, answer);
    todo!()
}
