//! The rules of contracts, as cases: `vectors/contracts.json`.

use serde::Deserialize;
use skillpkg_schema::contract::Contract;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    schema: String,
    #[serde(default)]
    refused: bool,
    fingerprint: Option<String>,
    #[serde(default)]
    binds: Vec<Bind>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bind {
    args: String,
    effective: Option<String>,
    error: Option<String>,
}

#[expect(clippy::unwrap_used, reason = "a vector that is not read is a failed test")]
fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("vectors/contracts.json")).unwrap()
}

#[test]
fn every_case_of_the_vectors_holds() {
    let cases = cases();
    assert!(cases.len() >= 39);
    for case in cases {
        let name = &case.name;
        let contract = match Contract::compile(&case.schema) {
            Ok(contract) => contract,
            Err(error) => {
                assert!(case.refused, "{name}: {error}");
                continue;
            }
        };
        assert!(!case.refused, "{name} was taken");
        assert_eq!(Some(contract.fingerprint().to_string()), case.fingerprint, "{name}");
        for bind in case.binds {
            let args = &bind.args;
            match contract.bind(args) {
                Ok(effective) => assert_eq!(Some(effective), bind.effective, "{name}: {args}"),
                Err(error) => {
                    let code = Some(error.code.name().to_owned());
                    assert_eq!(code, bind.error, "{name}: {args}: {error}");
                }
            }
        }
    }
}

#[test]
fn the_canonical_text_of_every_case_compiles_to_the_same_contract() {
    for case in cases() {
        if let Ok(contract) = Contract::compile(&case.schema) {
            let again = Contract::compile(contract.canonical()).unwrap();
            assert_eq!(again, contract, "{}", case.name);
            assert_eq!(again.fingerprint(), contract.fingerprint());
        }
    }
}
