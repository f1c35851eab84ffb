//! Resources that nobody declared: the files under `references/`.

use std::collections::HashSet;

use super::file::{Reader, description_of, not_a_file};
use super::{Capabilities, Resource, name};
use crate::diagnostic::{Diagnostic, escape};
use crate::limits::{MAX_FILES, MAX_PATH_DEPTH};
use crate::path::SkillPath;
use crate::tree::Entry;

/// Where `--compat` finds resources that nobody declared.
const REFERENCES: &str = "references";
impl Reader<'_> {
    /// Adds every file under `references/` that is no resource yet.
    pub(super) fn undeclared_references(&mut self, capabilities: &mut Capabilities) {
        let declared: HashSet<SkillPath> =
            capabilities.resources.iter().map(|resource| resource.path.clone()).collect();
        let mut directories = match self.tree.entry(REFERENCES) {
            Ok(Some(Entry::Directory)) => vec![REFERENCES.to_owned()],
            _ => return,
        };
        let mut found = 0;
        while let Some(directory) = directories.pop() {
            let entries = match self.tree.list(&directory) {
                Ok(entries) => entries,
                Err(error) => {
                    let message = format!("cannot be listed: {}", escape(&error.to_string()));
                    self.report(Diagnostic::error("unreadable_file", message), &directory, None);
                    continue;
                }
            };
            for (name, entry) in entries {
                let text = format!("{directory}/{name}");
                found += 1;
                if found > MAX_FILES || text.split('/').count() > MAX_PATH_DEPTH {
                    let message =
                        format!("more than {MAX_FILES} files, or more than {MAX_PATH_DEPTH} deep");
                    self.report(Diagnostic::error("too_many_files", message), REFERENCES, None);
                    return;
                }
                match entry {
                    Entry::Directory => directories.push(text),
                    Entry::File { .. } => match text.parse::<SkillPath>() {
                        Ok(path) if declared.contains(&path) => {}
                        Ok(path) => capabilities.resources.push(Resource {
                            name: name::of_resource(&path),
                            description: description_of("resource", path.as_str()),
                            path,
                        }),
                        Err(error) => {
                            let fault = Diagnostic::error("invalid_path", error.to_string());
                            self.report(fault, &text, None);
                        }
                    },
                    other => {
                        let message = format!("it is {}", not_a_file(other));
                        self.report(Diagnostic::error("link_refused", message), &text, None);
                    }
                }
            }
        }
    }
}
