//! Edits `skillpkg.toml` so that comments and order stay as their author left them.

use skillpkg_schema::{Diagnostic, Faults, QualifiedName, Requirement};
use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::{PROJECT_FILE, Wanted, requirement_text};

/// The text of a `skillpkg.toml`, to be edited.
#[derive(Debug, Clone)]
pub struct ProjectDocument {
    document: DocumentMut,
    carriage_returns: bool,
}

impl ProjectDocument {
    /// Starts on `text`, which may be empty.
    pub fn parse(text: &str) -> Result<Self, Faults> {
        let document = text.parse::<DocumentMut>().map_err(|error| {
            Diagnostic::error("project_invalid", error.message().trim()).in_file(PROJECT_FILE)
        })?;
        Ok(Self { document, carriage_returns: text.contains("\r\n") })
    }

    /// Puts a skill in, or changes what the file says of it and nothing else.
    pub fn set(&mut self, wanted: &Wanted) -> Result<(), Faults> {
        let skills = self.skills()?;
        let key = wanted.name.to_string();
        let requirement = requirement_text(&wanted.requirement);
        let simple = wanted.placed_as.is_none() && wanted.file.is_none();
        match skills.get_mut(&key) {
            Some(Item::Value(Value::String(text))) if simple => {
                if text.value() != &requirement {
                    let decor = text.decor().clone();
                    let mut value = Value::from(requirement);
                    *value.decor_mut() = decor;
                    skills.insert(&key, Item::Value(value));
                }
            }
            Some(item) if item.is_table_like() => {
                if let Some(table) = item.as_table_like_mut() {
                    fill(table, wanted, &requirement);
                }
            }
            _ if simple => {
                skills.insert(&key, toml_edit::value(requirement));
            }
            _ => {
                let mut table = InlineTable::new();
                fill(&mut table, wanted, &requirement);
                skills.insert(&key, toml_edit::value(table));
            }
        }
        Ok(())
    }

    /// Takes a skill out; says whether it was there.
    pub fn remove(&mut self, name: &QualifiedName) -> Result<bool, Faults> {
        Ok(self.skills()?.remove(&name.to_string()).is_some())
    }

    /// Names the agents that skills are placed for; [`None`] takes the names out.
    pub fn set_agents(&mut self, used: Option<&[String]>) -> Result<(), Faults> {
        if used.is_none() && self.document.get("agents").is_none() {
            return Ok(());
        }
        let item = self.document.entry("agents").or_insert_with(|| Item::Table(Table::new()));
        let Some(agents) = item.as_table_like_mut() else {
            return Err(Diagnostic::error(
                "project_invalid",
                "`agents` must be a table: `[agents]`",
            )
            .in_file(PROJECT_FILE)
            .into());
        };
        let Some(used) = used else {
            agents.remove("use");
            // A table that holds nothing more, and no word of its author's, goes with it.
            if agents.is_empty() && !is_commented(item) {
                self.document.remove("agents");
            }
            return Ok(());
        };
        let mut array: Value = used.iter().collect();
        match agents.get_mut("use") {
            Some(Item::Value(value)) => {
                *array.decor_mut() = value.decor().clone();
                *value = array;
            }
            _ => drop(agents.insert("use", Item::Value(array))),
        }
        Ok(())
    }

    /// The text of the file, with the line ends that it had.
    pub fn to_text(&self) -> String {
        let text = self.document.to_string();
        if self.carriage_returns { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text }
    }

    fn skills(&mut self) -> Result<&mut dyn TableLike, Faults> {
        let item = self.document.entry("skills").or_insert_with(|| Item::Table(Table::new()));
        item.as_table_like_mut().ok_or_else(|| {
            Diagnostic::error("project_invalid", "`skills` must be a table: `[skills]`")
                .in_file(PROJECT_FILE)
                .into()
        })
    }
}

/// Whether somebody wrote a comment before a table.
fn is_commented(item: &Item) -> bool {
    let decor = item.as_table().map(Table::decor);
    let before = decor.and_then(|decor| decor.prefix()).and_then(|prefix| prefix.as_str());
    before.is_some_and(|before| before.contains('#'))
}

fn fill(table: &mut dyn TableLike, wanted: &Wanted, requirement: &str) {
    let mut put = |key: &str, value: Option<String>| match value {
        Some(value) => {
            if table.get(key).and_then(Item::as_str) != Some(value.as_str()) {
                table.insert(key, toml_edit::value(value));
            }
        }
        None => {
            table.remove(key);
        }
    };
    // An archive is its own version; a requirement beside it would only ever disagree.
    let versioned = wanted.file.is_none() || wanted.requirement != Requirement::Latest;
    put("version", versioned.then(|| requirement.to_owned()));
    put("file", wanted.file.clone());
    put("as", wanted.placed_as.as_ref().map(ToString::to_string));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::ProjectFile;
    use proptest::prelude::*;
    use skillpkg_schema::SkillName;

    fn wanted(name: &str, requirement: &str) -> Wanted {
        Wanted {
            name: name.parse().unwrap(),
            requirement: requirement.parse().unwrap(),
            placed_as: None,
            file: None,
        }
    }

    #[test]
    fn a_new_file_is_made_of_nothing() {
        let mut document = ProjectDocument::parse("").unwrap();
        document.set(&wanted("waitlist", "1.2")).unwrap();
        let reports =
            Wanted { placed_as: Some("reports".parse().unwrap()), ..wanted("acme/r", "2") };
        document.set(&reports).unwrap();
        let expected =
            "[skills]\nwaitlist = \"1.2\"\n\"acme/r\" = { version = \"2\", as = \"reports\" }\n";
        assert_eq!(document.to_text(), expected);
    }

    #[test]
    fn comments_and_order_stay() {
        let text = "# ours\n[skills] # all\nz = \"1\"  # last\n# before a\na = { version = \"1\" } # x\n\n[agents]\nuse = [\"codex\"]\n";
        let mut document = ProjectDocument::parse(text).unwrap();
        document.set(&wanted("z", "2.0.1")).unwrap();
        document.set(&wanted("a", "1")).unwrap();
        assert_eq!(document.to_text(), text.replace("z = \"1\"", "z = \"2.0.1\""));
        assert!(document.remove(&"z".parse().unwrap()).unwrap());
        assert!(!document.remove(&"z".parse().unwrap()).unwrap());
        assert!(document.to_text().contains("# before a\na = "));
    }

    #[test]
    fn agents_are_named_and_taken_out_and_comments_stay() {
        let ids = |ids: &[&str]| -> Vec<String> { ids.iter().map(|id| (*id).to_owned()).collect() };
        let text = "# ours\n[skills]\na = \"1\"\n\n# who reads them\n[agents]\nuse = [\"codex\"] # one\n\
                    copy = true\n";
        let mut document = ProjectDocument::parse(text).unwrap();
        document.set_agents(Some(&ids(&["claude-code", "zed"]))).unwrap();
        let expected = text.replace("[\"codex\"]", "[\"claude-code\", \"zed\"]");
        assert_eq!(document.to_text(), expected);
        document.set_agents(None).unwrap();
        let (file, _) = ProjectFile::parse(&document.to_text()).unwrap();
        assert_eq!((file.agents.used, file.agents.copy), (None, Some(true)));
        assert!(document.to_text().contains("# who reads them\n[agents]\n"));

        let mut document = ProjectDocument::parse("[skills]\na = \"1\"\n").unwrap();
        document.set_agents(None).unwrap();
        assert_eq!(document.to_text(), "[skills]\na = \"1\"\n");
        document.set_agents(Some(&ids(&["codex"]))).unwrap();
        assert_eq!(document.to_text(), "[skills]\na = \"1\"\n\n[agents]\nuse = [\"codex\"]\n");
        assert!(ProjectDocument::parse("agents = 1\n").unwrap().set_agents(Some(&[])).is_err());
    }

    #[test]
    fn line_ends_of_windows_stay() {
        let mut document = ProjectDocument::parse("[skills]\r\na = \"1\"\r\n").unwrap();
        document.set(&wanted("b", "2")).unwrap();
        assert_eq!(document.to_text(), "[skills]\r\na = \"1\"\r\nb = \"2\"\r\n");
    }

    #[test]
    fn agents_that_are_named_and_taken_out_again_leave_no_trace_and_no_word_of_others_goes() {
        let named = ["codex".to_owned()];
        for (before, after) in [
            ("[skills]\na = \"1\"\n", "[skills]\na = \"1\"\n"),
            ("", ""),
            ("[skills]\n\n[agents]\nuse = [\"x\"]\n", "[skills]\n"),
            ("[agents]\nuse = []\n\n[skills]\n", "\n[skills]\n"),
            ("[agents]\ncopy = true\n", "[agents]\ncopy = true\n"),
            ("# ours\n[agents]\nuse = [\"x\"]\n", "# ours\n[agents]\n"),
        ] {
            let mut document = ProjectDocument::parse(before).unwrap();
            document.set_agents(Some(&named)).unwrap();
            assert!(document.to_text().contains("use = [\"codex\"]"), "{before}");
            document.set_agents(None).unwrap();
            assert_eq!(document.to_text(), after, "{before}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn what_is_put_in_is_read_back(
            name in "[b-f][a-z0-9]{1,8}",
            scope in prop::option::of("[b-f][a-z0-9]{1,8}"),
            requirement in "(=|\\^|>=)?[1-9][0-9]{0,2}(\\.[1-9][0-9]{0,2}){0,2}|latest",
            directory in prop::option::of("[b-f][a-z0-9]{1,8}"),
            before in "(# note\n)?(\\[skills\\]\nz = \"1\"\n)?",
        ) {
            let name = scope.map_or(name.clone(), |scope| format!("{scope}/{name}"));
            // `con` and its like are nobody's names.
            prop_assume!(name.parse::<QualifiedName>().is_ok());
            let directory = directory.filter(|text| text.parse::<SkillName>().is_ok());
            let mut one = wanted(&name, &requirement);
            one.placed_as = directory.map(|text| text.parse().unwrap());
            let mut document = ProjectDocument::parse(&before).unwrap();
            document.set(&one).unwrap();
            let text = document.to_text();
            let (file, _) = ProjectFile::parse(&text).unwrap();
            prop_assert_eq!(file.skill(&one.name), Some(&one));
            document.set(&one).unwrap();
            prop_assert_eq!(document.to_text(), text);
            document.remove(&one.name).unwrap();
            let (file, _) = ProjectFile::parse(&document.to_text()).unwrap();
            prop_assert_eq!(file.skill(&one.name), None);
        }
    }
}
