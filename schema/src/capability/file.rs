//! `skill.json`: its text, its keys, its resources.

use std::collections::HashMap;
use std::io;

use super::{Capabilities, MOST_FAULTS, Resource, name, script};
use crate::contract::Contract;
use crate::diagnostic::{Diagnostic, escape, nearest};
use crate::json::{self, Bounds, Node, Pointer};
use crate::limits::{MAX_CAPABILITY_FILE_BYTES, MAX_FILES};
use crate::path::SkillPath;
use crate::skill::Rules;
use crate::tree::{Entry, Tree};

/// The name of the file.
pub(super) const FILE: &str = "skill.json";
const KEYS: [&str; 2] = ["resources", "scripts"];
/// Deep enough for a contract, which is the deepest thing in the file.
const DEPTH: usize = 100;
/// Most keys and values: a text of two bytes a value would cost many times its length in memory.
const NODES: usize = 100_000;
/// Most runtimes of which is told that no built-in runner has them.
const MOST_UNUSUAL_RUNTIMES: usize = 5;

/// What the file and the tree declare, and every fault and warning met.
pub(super) fn read(tree: &dyn Tree, rules: Rules) -> (Capabilities, Vec<Diagnostic>) {
    let mut capabilities = Capabilities::default();
    let text = match text_of(tree) {
        Ok(text) => text,
        Err(fault) => return (capabilities, vec![*fault]),
    };
    let parsed = text.as_deref().map(|text| json::parse_node(text, &bounds()));
    let mut reader = Reader {
        tree,
        rules,
        text: text.as_deref().unwrap_or_default(),
        path: Pointer::default(),
        diagnostics: Vec::new(),
        unusual_runtimes: Vec::new(),
        contracts: HashMap::new(),
    };
    match &parsed {
        None => {}
        Some(Ok(node)) => reader.root(node, &mut capabilities),
        Some(Err(error)) => {
            let message = format!("`{FILE}` is not read as JSON: {}", error.reason);
            let place = (error.line, error.column);
            reader.report(Diagnostic::error("invalid_json", message), FILE, Some(place));
        }
    }
    if rules == Rules::Compatible {
        reader.undeclared_references(&mut capabilities);
    }
    capabilities.resources.sort_by(|left, right| left.name.cmp(&right.name));
    capabilities.scripts.sort_by(|left, right| left.name.cmp(&right.name));
    for collision in name::collisions(&capabilities) {
        let message = format!(
            "`{}` and `{}` are both the capability `{}`",
            escape(collision.first.as_str()),
            escape(collision.second.as_str()),
            collision.name
        );
        let hint = "rename one of the files: a capability is named by its file's stem";
        let fault = Diagnostic::error("capability_collision", message).with_hint(hint);
        reader.report(fault, FILE, None);
    }
    // Beside the others: a warning takes no room from the faults.
    reader.diagnostics.extend(reader.unusual_runtimes.into_iter().map(|(_, warning)| warning));
    (capabilities, reader.diagnostics)
}

fn bounds() -> Bounds {
    let bytes = usize::try_from(MAX_CAPABILITY_FILE_BYTES).unwrap_or(usize::MAX);
    Bounds { bytes, depth: DEPTH, nodes: NODES }
}

/// The text of the file; [`None`] where there is none.
fn text_of(tree: &dyn Tree) -> Result<Option<String>, Box<Diagnostic>> {
    let fault = |message: String| {
        Box::new(Diagnostic::error("capability_file_unreadable", message).in_file(FILE))
    };
    let unreadable =
        |error: &io::Error| fault(format!("cannot be read: {}", escape(&error.to_string())));
    match tree.entry(FILE).map_err(|error| unreadable(&error))? {
        None => return Ok(None),
        Some(Entry::File { .. }) => {}
        Some(other) => return Err(fault(format!("`{FILE}` is {}", not_a_file(other)))),
    }
    let bytes = tree.read(FILE, MAX_CAPABILITY_FILE_BYTES).map_err(|error| unreadable(&error))?;
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        fault(format!("it is not UTF-8: the byte at offset {offset} is none"))
    })
}

/// What stands where a regular file is wanted.
pub(super) fn not_a_file(entry: Entry) -> &'static str {
    match entry {
        Entry::Link => "a link, and links are never followed",
        Entry::Directory => "a directory, not a file",
        Entry::File { .. } | Entry::Special => "not a regular file",
    }
}

/// Reads the file and collects what is wrong with it.
pub(super) struct Reader<'a> {
    pub(super) tree: &'a dyn Tree,
    pub(super) rules: Rules,
    pub(super) text: &'a str,
    /// Where in the file the reader is.
    pub(super) path: Pointer<'a>,
    diagnostics: Vec<Diagnostic>,
    /// Runtimes without a built-in runner, each with the warning about its first script.
    unusual_runtimes: Vec<(&'a str, Diagnostic)>,
    /// Contracts that were referred to, so that each is compiled once; [`None`] where one is
    /// refused, which is told once.
    pub(super) contracts: HashMap<SkillPath, Option<Contract>>,
}

impl<'a> Reader<'a> {
    /// Adds a diagnostic, at line and column of `file` where they are known.
    pub(super) fn report(
        &mut self,
        diagnostic: Diagnostic,
        file: &str,
        place: Option<(usize, usize)>,
    ) {
        if self.is_full() {
            return;
        }
        let mut diagnostic = diagnostic.in_file(file);
        if let Some((line, column)) = place {
            diagnostic = diagnostic.at_line(line).at_column(column);
        }
        self.diagnostics.push(diagnostic);
        if self.is_full() {
            let message = format!("more than {MOST_FAULTS} faults; the others are not told");
            self.diagnostics.push(Diagnostic::error("too_many_faults", message).in_file(FILE));
        }
    }

    fn is_full(&self) -> bool {
        self.diagnostics.len() >= MOST_FAULTS
    }

    /// Adds a diagnostic about what stands at the byte `offset` of the file.
    pub(super) fn report_at(&mut self, diagnostic: Diagnostic, offset: usize) {
        if self.is_full() {
            return;
        }
        let pointer = escape(&self.path.to_string());
        let message = format!("{} (at `{pointer}`)", diagnostic.message);
        let place = json::place(self.text, offset);
        self.report(Diagnostic { message, ..diagnostic }, FILE, Some(place));
    }

    /// Adds a warning about a runtime that no built-in runner has: once for each, and for a few.
    pub(super) fn unusual_runtime(&mut self, runtime: &'a str, warning: Diagnostic, offset: usize) {
        let is_told = self.unusual_runtimes.iter().any(|(told, _)| *told == runtime);
        if is_told || self.unusual_runtimes.len() >= MOST_UNUSUAL_RUNTIMES {
            return;
        }
        let (line, column) = json::place(self.text, offset);
        let warning = warning.in_file(FILE).at_line(line).at_column(column);
        self.unusual_runtimes.push((runtime, warning));
    }

    /// Adds an error about what stands at the byte `offset` of the file.
    pub(super) fn fault(&mut self, code: &str, message: impl Into<String>, offset: usize) {
        self.report_at(Diagnostic::error(code, message), offset);
    }

    fn root(&mut self, node: &'a Node, capabilities: &mut Capabilities) {
        let Some(members) = node.members() else {
            self.fault("wrong_type", format!("`{FILE}` must hold an object"), node.start);
            return;
        };
        if is_of_another_tool(node) {
            let message = format!(
                "`{FILE}` is of another tool, as its `name` tells; no resource and no script is \
                 read from it"
            );
            let diagnostic = Diagnostic::warning("capability_file_foreign", message);
            let hint = "to declare some for skillpkg, keep `resources` and `scripts` alone in it";
            self.report(diagnostic.with_hint(hint), FILE, None);
            return;
        }
        for member in members {
            self.path.push_key(&member.key);
            let entries = member.node.members();
            if let Some(first_over) = entries.and_then(|entries| entries.get(MAX_FILES)) {
                let message =
                    format!("it holds more than {MAX_FILES} entries, which is more than files");
                self.fault("too_many_entries", message, first_over.start);
                self.path.pop();
                continue;
            }
            match (member.key.as_str(), entries) {
                ("resources" | "scripts", None) => {
                    let message = format!("`{}` must be an object of paths", member.key);
                    self.fault("wrong_type", message, member.node.start);
                }
                ("resources", Some(entries)) => {
                    for entry in entries {
                        self.path.push_key(&entry.key);
                        capabilities.resources.extend(self.resource(
                            &entry.key,
                            entry.start,
                            &entry.node,
                        ));
                        self.path.pop();
                    }
                }
                ("scripts", Some(entries)) => {
                    for entry in entries {
                        self.path.push_key(&entry.key);
                        let read = script::read(self, &entry.key, entry.start, &entry.node);
                        capabilities.scripts.extend(read);
                        self.path.pop();
                    }
                }
                (key, _) => self.unknown_key(key, &KEYS, member.start, Diagnostic::warning),
            }
            self.path.pop();
        }
    }

    /// Tells of a key that is not among `known`.
    pub(super) fn unknown_key(
        &mut self,
        key: &str,
        known: &[&'static str],
        offset: usize,
        severity: fn(&str, String) -> Diagnostic,
    ) {
        let diagnostic = severity("unknown_key", format!("the key `{}` is not known", escape(key)));
        let hint = if let Some(near) = nearest(key, known.iter().copied()) {
            format!("did you mean `{near}`?")
        } else {
            let known: Vec<String> = known.iter().map(|key| format!("`{key}`")).collect();
            format!("the keys are {}", known.join(", "))
        };
        self.report_at(diagnostic.with_hint(hint), offset);
    }

    fn resource(&mut self, key: &'a str, offset: usize, node: &'a Node) -> Option<Resource> {
        let path = self.file_of_skill(key, offset);
        let description = if let Some(text) = node.text() {
            self.description(text, "resource", key, node.start)
        } else {
            let message =
                format!("the resource `{}` must be its description, a string", escape(key));
            self.fault("wrong_type", message, node.start);
            None
        };
        let (path, description) = (path?, description?);
        Some(Resource { name: name::of_resource(&path), description, path })
    }

    /// The description given, or under `--compat` one made of the file's name.
    pub(super) fn description(
        &mut self,
        given: &str,
        kind: &str,
        key: &str,
        offset: usize,
    ) -> Option<String> {
        if !given.trim().is_empty() {
            return Some(given.to_owned());
        }
        let message = format!("the {kind} `{}` has no description", escape(key));
        if self.rules == Rules::Strict {
            let hint = "say in a sentence what it is for: a model chooses by it";
            let fault = Diagnostic::error("missing_description", message).with_hint(hint);
            self.report_at(fault, offset);
            return None;
        }
        let made = description_of(kind, key);
        let warning = Diagnostic::warning(
            "derived_description",
            format!("{message}: took `{}`", escape(&made)),
        );
        self.report_at(warning, offset);
        Some(made)
    }

    /// The path `text` of a regular file of the skill.
    pub(super) fn file_of_skill(&mut self, text: &str, offset: usize) -> Option<SkillPath> {
        let path: SkillPath = match text.parse() {
            Ok(path) => path,
            Err(error) => {
                let hint =
                    "write it relative to the skill's directory, such as `references/guide.md`";
                let fault = Diagnostic::error("invalid_path", error.to_string()).with_hint(hint);
                self.report_at(fault, offset);
                return None;
            }
        };
        let shown = escape(text);
        match self.tree.entry(text) {
            Ok(Some(Entry::File { .. })) => return Some(path),
            Ok(Some(Entry::Link)) => {
                let message = format!("`{shown}` is {}", not_a_file(Entry::Link));
                self.fault("link_refused", message, offset);
            }
            Ok(Some(other)) => {
                self.fault("not_a_file", format!("`{shown}` is {}", not_a_file(other)), offset);
            }
            Ok(None) => {
                self.fault("missing_file", format!("the skill has no file `{shown}`"), offset);
            }
            Err(error) => {
                let reason = escape(&error.to_string());
                self.fault(
                    "unreadable_file",
                    format!("`{shown}` cannot be read: {reason}"),
                    offset,
                );
            }
        }
        None
    }
}

/// Whether the file is a manifest that another tool calls so too: it names the skill, and what it
/// has under our keys, if anything, is nothing that we read.
fn is_of_another_tool(file: &Node) -> bool {
    let is_ours = |key: &str, is_entry: fn(&Node) -> bool| {
        let entries = file.get(key).and_then(Node::members);
        entries.is_some_and(|entries| entries.iter().any(|entry| is_entry(&entry.node)))
    };
    file.get("name").is_some_and(|name| name.text().is_some())
        && !is_ours("resources", |node| node.text().is_some())
        && !is_ours("scripts", |node| node.members().is_some())
}

/// A description made of the file's name.
pub(super) fn description_of(kind: &str, path: &str) -> String {
    let verb = if kind == "script" { "Runs" } else { "Reads" };
    format!("{verb} `{}`.", path.rsplit('/').next().unwrap_or(path))
}
