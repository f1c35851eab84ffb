//! Every attack gets the answer that is expected of it.

use std::collections::BTreeSet;

use skillpkg_schema::diagnostic::is_unprintable;
use skillpkg_schema::manifest::{Identity, Manifest, Mode, derive};
use skillpkg_schema::signature::{SigningKey, verify_release};
use skillpkg_schema::skill::Rules;
use skillpkg_schema::tree::MemoryTree;
use skillpkg_store::attacks::{self, Attack, RefusedBy, SIGNING_KEY, Sample};

use crate::support::{attacks, small};

fn check(attack: &Attack) -> Result<(), String> {
    let expected = &attack.expected;
    match (attacks::decode(&attack.archive), expected.refused_by) {
        (Err(error), RefusedBy::Reader) => {
            let (code, message) = (error.code(), error.to_string());
            let mentions = expected.mentions.as_deref().unwrap_or_default();
            if expected.code.as_deref() != Some(code) || !message.contains(mentions) {
                return Err(format!("refused otherwise: {code}: {message}"));
            }
            if message.contains(is_unprintable) || message.len() > 1500 {
                return Err(format!("told unsafely: {message:?}"));
            }
            Ok(())
        }
        (Err(error), _) => Err(format!("refused by the reader: {error}")),
        (Ok(_), RefusedBy::Reader) => Err("taken".to_owned()),
        (Ok((read, _)), RefusedBy::Signature) => held(!signed(&read), "its signature verifies"),
        (Ok((read, _)), RefusedBy::Derivation) => {
            held(signed(&read), "its signature does not verify")?;
            held(derived(&read) != read.manifest, "its files give it")
        }
        (Ok((read, _)), RefusedBy::Nobody) => {
            held(read == small() && signed(&read), "read as something else")?;
            held(derived(&read) == read.manifest, "its files do not give it")
        }
    }
}

fn held(is_so: bool, otherwise: &str) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(otherwise.to_owned()) }
}

fn signed(sample: &Sample) -> bool {
    let Sample { manifest, envelope, .. } = sample;
    // What is asked for is the sample's own name and version.
    let asked = small().manifest;
    let key = SigningKey::from_pem(SIGNING_KEY).unwrap().public();
    let address = manifest.address();
    verify_release(envelope, &asked.name, &asked.version, &address, &[key]).is_ok()
}

/// The manifest that the files of a sample give.
fn derived(sample: &Sample) -> Manifest {
    let mut tree = MemoryTree::default();
    for file in &sample.manifest.files {
        let is_executable = file.mode == Mode::Executable;
        tree.insert(file.path.as_str(), is_executable, sample.files[&file.path].clone());
    }
    let Manifest { name, version, files, .. } = sample.manifest.clone();
    derive(&tree, files, &Identity { name, version }, Rules::Strict).unwrap().manifest
}

#[test]
fn every_attack_gets_the_answer_that_is_expected_of_it() {
    let attacks = attacks();
    let wrong: Vec<String> = attacks
        .iter()
        .filter_map(|attack| Some(format!("{}: {}", attack.name, check(attack).err()?)))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), attacks.len(), wrong.join("\n"));
}

#[test]
fn every_expectation_is_of_some_attack_and_names_are_unique() {
    let attacks = attacks();
    let names: BTreeSet<&str> = attacks.iter().map(|attack| attack.name.as_str()).collect();
    assert_eq!(names.len(), attacks.len());
    for expected in attacks::expectations().unwrap() {
        let is_used = attacks.iter().any(|attack| attack.expected == expected);
        assert!(is_used, "`{}` is of no attack", expected.attack);
        assert_eq!(expected.code.is_some(), expected.refused_by == RefusedBy::Reader);
    }
}
