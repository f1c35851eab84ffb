//! Entries of which nothing is here.

use std::collections::BTreeSet;

use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;

use super::entry::Place;
use super::known::Known;
use super::left::Left;
use super::matching::Names;
use super::spot::Spot;
use super::survey::Work;

impl Work<'_> {
    /// Entries of which nothing is here.
    pub(super) fn absent(
        &self,
        spots: &[Spot],
        ours: &BTreeSet<(usize, usize)>,
    ) -> Vec<(usize, usize)> {
        let here: BTreeSet<(usize, usize)> = spots
            .iter()
            .flat_map(|spot| spot.entries.iter().copied())
            .chain(ours.iter().copied())
            .collect();
        let mut absent = Vec::new();
        for (file, tool_file) in self.files().iter().enumerate() {
            for (position, entry) in tool_file.entries.iter().enumerate() {
                if !here.contains(&(file, position)) && self.is_wanted(&[&entry.key]) {
                    absent.push((file, position));
                }
            }
        }
        absent
    }

    pub(super) fn tell_absent(&mut self, at: (usize, usize), names: &Names, known: &Known) {
        let Some((tool, entry)) = self.entry(at) else { return };
        let has = |name: &&QualifiedName| known.document(name).is_some();
        let next = match names.all().find(has) {
            Some(name) => {
                let version = entry.version.as_ref();
                let version = version
                    .filter(|version| {
                        known.document(name).is_some_and(|one| one.version(version).is_some())
                    })
                    .map_or_else(String::new, |version| format!("@{version}"));
                vec![format!("`skillpkg install {name}{version}` installs it")]
            }
            None => vec![format!("`{}` installs it, where it is wanted", tool.name())],
        };
        let place = match &entry.place {
            Place::Named(name) => {
                format!("no directory of an agent here has `{}`", escape(name.as_str()))
            }
            Place::At(paths) => {
                let shown: Vec<String> =
                    paths.iter().map(|path| format!("`{}`", escape(path.as_str()))).collect();
                format!("there is no skill of an agent at {}", shown.join(", "))
            }
        };
        let one = Left {
            tools: BTreeSet::from([tool]),
            source: entry.source.clone(),
            hash: entry.hash.clone(),
            next,
            ..Left::new(&entry.key, "not_here", place)
        };
        self.survey.left.push(one);
    }
}
