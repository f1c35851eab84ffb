//! Published skills pack, and none of them for what looks like a secret and is not.

use std::path::PathBuf;

use skillpkg_store::pack::{PackOptions, Packing};

use crate::skips::skipped;

#[test]
fn published_skills_pack() {
    let corpus = std::env::var_os("SKILLPKG_CORPUS").unwrap_or("../../shared/corpus".into());
    let mut pending = vec![PathBuf::from(corpus)];
    let mut packed = 0;
    while let Some(directory) = pending.pop() {
        if !directory.join("SKILL.md").is_file() {
            let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
            pending.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir()));
            continue;
        }
        let options = PackOptions {
            name: Some("sample".parse().unwrap()),
            version: Some("1.0.0".parse().unwrap()),
            allow_secrets: false,
        };
        match Packing::plan(&directory, &options) {
            Ok(packing) => {
                assert!(packing.manifest().file("SKILL.md").is_some());
                packed += 1;
            }
            Err(faults) => {
                let one = faults.first();
                // A skill that is wrong is another matter than a secret found where there is none.
                assert_ne!(one.code, "secret_found", "{}: {one}", directory.display());
                assert_ne!(one.code, "hidden_character", "{}: {one}", directory.display());
            }
        }
    }
    if packed == 0 {
        skipped("published_skills_pack", "published skills in `SKILLPKG_CORPUS`", false);
    }
}
