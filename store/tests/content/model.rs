//! Whatever is done in whatever order, the store answers as a few sets would.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use skillpkg_schema::Sha256Digest;
use skillpkg_store::attacks::Sample;
use skillpkg_store::content::StoreError;

use crate::support::{Home, blob_path, open_up, overwrite, skill};

const FILES: [&str; 3] = ["SKILL.md", "a/own.txt", "shared.txt"];
const SKILLS: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    Ingest(usize),
    Materialise(usize),
    Read(usize, usize),
    Damage(usize, usize),
    Spoil(usize, usize),
    Repair(usize),
    Collect(BTreeSet<usize>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (of, file) = (0..SKILLS, 0..FILES.len());
    let step = prop_oneof![
        3 => of.clone().prop_map(Step::Ingest),
        3 => of.clone().prop_map(Step::Materialise),
        2 => (of.clone(), file.clone()).prop_map(|(of, file)| Step::Read(of, file)),
        1 => (of.clone(), file.clone()).prop_map(|(of, file)| Step::Damage(of, file)),
        1 => (of.clone(), file).prop_map(|(of, file)| Step::Spoil(of, file)),
        1 => of.clone().prop_map(Step::Repair),
        1 => prop::collection::btree_set(of, 0..SKILLS).prop_map(Step::Collect),
    ];
    prop::collection::vec(step, 1..20)
}

/// What a store must answer from.
#[derive(Debug, Default)]
struct Model {
    kept: BTreeSet<usize>,
    /// The trees there are, each with its spoiled files.
    trees: BTreeMap<usize, BTreeSet<usize>>,
    /// The blobs there are, and whether each is whole.
    blobs: BTreeMap<Sha256Digest, bool>,
}

impl Model {
    /// What comes of using a blob: a damaged one is gone afterwards.
    fn take(&mut self, blob: Sha256Digest) -> Result<(), &'static str> {
        match self.blobs.get(&blob) {
            Some(true) => Ok(()),
            Some(false) => {
                self.blobs.remove(&blob);
                Err("damaged")
            }
            None => Err("absent"),
        }
    }
}

fn blob(sample: &Sample, file: usize) -> Sha256Digest {
    sample.manifest.file(FILES[file]).unwrap().sha256
}

fn kind<T>(answer: Result<T, StoreError>) -> Result<T, &'static str> {
    answer.map_err(|error| match error {
        StoreError::Absent(_) => "absent",
        StoreError::Damaged { .. } => "damaged",
        error => panic!("{error}"),
    })
}

fn apply(home: &Home, samples: &[Sample], model: &mut Model, step: &Step) {
    let store = &home.store;
    match step {
        Step::Ingest(of) => {
            let lease = store.lease().unwrap();
            store.ingest(&lease, samples[*of].archive().unwrap().as_slice(), None).unwrap();
            model.kept.insert(*of);
            for file in 0..FILES.len() {
                model.blobs.insert(blob(&samples[*of], file), true);
            }
        }
        Step::Materialise(of) => {
            let lease = store.lease().unwrap();
            let answer = kind(store.materialise(&lease, &samples[*of].manifest)).map(|_| ());
            let wanted = if model.trees.contains_key(of) {
                Ok(())
            } else {
                (0..FILES.len()).try_for_each(|file| model.take(blob(&samples[*of], file)))
            };
            assert_eq!(answer, wanted);
            if answer.is_ok() {
                model.trees.entry(*of).or_default();
            }
        }
        Step::Read(of, file) => {
            let digest = blob(&samples[*of], *file);
            let answer = kind(store.read_blob(&digest.address(), 1000));
            let bytes = samples[*of].files[&FILES[*file].parse().unwrap()].clone();
            assert_eq!(answer, model.take(digest).map(|()| bytes));
        }
        Step::Damage(of, file) => {
            let digest = blob(&samples[*of], *file);
            // A second change could undo the first.
            if model.blobs.get(&digest) == Some(&true) {
                let path = blob_path(store, &samples[*of].manifest, FILES[*file]);
                overwrite(&path, |bytes| bytes[0] ^= 1);
                model.blobs.insert(digest, false);
            }
        }
        Step::Spoil(of, file) => {
            if model.trees.get_mut(of).is_some_and(|spoiled| spoiled.insert(*file)) {
                let tree = store.tree_path(&samples[*of].manifest.address());
                overwrite(&tree.join(FILES[*file]), |bytes| bytes[0] ^= 1);
            }
        }
        Step::Repair(of) => repair(home, samples, model, *of),
        Step::Collect(live) => {
            let addresses: Vec<_> = live.iter().map(|of| samples[*of].manifest.address()).collect();
            store.collect(&addresses).unwrap();
            model.kept.retain(|of| live.contains(of));
            model.trees.retain(|of, _| live.contains(of));
            let wanted: BTreeSet<Sha256Digest> = model
                .kept
                .iter()
                .flat_map(|of| (0..FILES.len()).map(|file| blob(&samples[*of], file)))
                .collect();
            model.blobs.retain(|digest, _| wanted.contains(digest));
        }
    }
}

fn repair(home: &Home, samples: &[Sample], model: &mut Model, of: usize) {
    let lease = home.store.lease().unwrap();
    let lost = home.store.repair_tree(&lease, &samples[of].manifest).unwrap();
    let lost: Vec<&str> = lost.iter().map(skillpkg_schema::SkillPath::as_str).collect();
    let spoiled = match model.trees.get(&of) {
        Some(spoiled) if spoiled.is_empty() => BTreeSet::new(),
        Some(spoiled) => spoiled.clone(),
        None => (0..FILES.len()).collect(),
    };
    if spoiled.is_empty() {
        assert!(lost.is_empty());
        return;
    }
    let mut wanted = Vec::new();
    for (file, path) in FILES.iter().enumerate() {
        // Every blob is used, and the tree's own file where there is none.
        if model.take(blob(&samples[of], file)).is_err() && spoiled.contains(&file) {
            wanted.push(*path);
        }
    }
    assert_eq!(lost, wanted);
    if lost.is_empty() {
        model.trees.insert(of, BTreeSet::new());
    }
}

fn compare(home: &Home, samples: &[Sample], model: &Model) {
    for (of, sample) in samples.iter().enumerate() {
        let address = sample.manifest.address();
        let stored = home.store.stored(&address).unwrap();
        assert_eq!(stored.is_some(), model.kept.contains(&of));
        let problems = home.store.verify_tree(&sample.manifest).unwrap();
        let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
        let wanted: Vec<&str> = match model.trees.get(&of) {
            Some(spoiled) => spoiled.iter().map(|file| FILES[*file]).collect(),
            None => FILES.to_vec(),
        };
        assert_eq!(paths, wanted);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_store_answers_as_its_model_does(steps in steps()) {
        let home = Home::new();
        let samples: Vec<Sample> = ["one", "two", "three"]
            .iter()
            .map(|name| skill(name, &[(FILES[1], name.as_bytes()), (FILES[2], b"shared")]))
            .collect();
        let mut model = Model::default();
        for step in &steps {
            apply(&home, &samples, &mut model, step);
            compare(&home, &samples, &model);
        }
        open_up(home.store.root());
    }
}
