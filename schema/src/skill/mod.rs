//! Hard skills and Agent Skills: `SKILL.md` and what it declares.

mod answer;
mod bounds;
mod coerce;
mod compile;
mod content;
mod continuation;
mod fence;
mod files;
mod frontmatter;
mod hidden;
mod includes;
mod interpreter;
mod lines;
mod members;
mod missing;
mod number;
mod param;
mod parse;
#[cfg(test)]
mod print;
mod programs;
#[cfg(test)]
mod properties;
mod reading;
mod repair;
mod report;
mod requires;
mod resolve;
mod run;
mod run_files;
mod schema;
mod shell;
mod template;
mod tool;
mod typed;
pub(crate) mod unseen;
mod yaml;

pub(crate) use bounds::is_too_marked;
pub use compile::{CatalogueEntry, compile, compile_with};
pub use content::HIDDEN_CHARACTER;
pub use hidden::hidden_text;
pub use interpreter::{INTERPRETER_LINE_BYTES, Interpreter, interpreter};
pub use missing::missing_skill_file;
pub use parse::{parse, parse_unnamed};
pub use programs::programs;
pub use requires::{Requirements, Unreadable};
pub use resolve::{Answer, Call, ResolveError, Resolved, Written, resolve, resolve_among};
pub(crate) use run::names as param_names;
pub use run_files::run_files;
pub use typed::{TypedError, typed_frontmatter};

use serde::{Deserialize, Serialize};

use crate::capability::Capabilities;
use crate::diagnostic::Diagnostic;
use crate::json::Json;
use crate::manifest::Requires;
use crate::path::SkillPath;

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
    /// `skill` or `name` as written, empty where neither stands and that was no fault; whoever
    /// publishes checks that it is a legal one, or gives another.
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
