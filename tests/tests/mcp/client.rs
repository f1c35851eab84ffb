//! The official client for Python.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::json;
use skillpkg_tests::{binary, skipped};

use crate::http::Http;
use crate::serving::active;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/outside/mcp_client.py");

#[test]
fn the_official_client_is_served_on_both_transports_and_in_both_eras() {
    let test = "the_official_client_is_served_on_both_transports_and_in_both_eras";
    let Some(python) = std::env::var_os("SKILLPKG_TEST_MCP_PYTHON") else {
        return skipped(test, "SKILLPKG_TEST_MCP_PYTHON, a Python with mcp==2.3.0", true);
    };
    let (context, machine) = active();
    let http = Http::start(&machine, &[]);
    let environment: BTreeMap<String, String> = machine
        .command(&["mcp"])
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value?.to_str()?.to_owned())))
        .collect();
    let given = json!({
        "command": binary("skillpkg"),
        "environment": environment,
        "project": machine.project,
        "url": http.url,
        "token": http.token,
    });
    let file = context.path("given.json");
    fs::write(&file, given.to_string()).unwrap();
    let output = Command::new(python).args(["-I", SCRIPT]).arg(&file).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        told,
        "passed: stdio auto\npassed: stdio legacy\npassed: http auto\npassed: http legacy\n"
    );
}
