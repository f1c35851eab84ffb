//! What an operator decides of names, with the real binary, while the registry serves.

use std::process::Stdio;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::Value;
use skillpkg_schema::wire::Document;

use crate::commands::{Serving, answered, author, command, done, registry_in, run};
use crate::support::{Skill, client, json};

#[tokio::test]
async fn a_name_that_waits_is_listed_released_and_refused_while_the_registry_serves() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    registry_in(&data).await;
    let mal = author(&data, "mal");
    let list = directory.path().join("popular.txt");
    std::fs::write(&list, "# used by many\nlodash\nwaitlist\n").unwrap();
    let mut serve = command(&data, &["serve", "--listen", "127.0.0.1:0"]);
    serve.args(["--confusable-names", "hold", "--popular-names"]).arg(&list);
    let serving = Serving::of(&mut serve);
    let publish = async |name: &str| {
        let packed = Skill::new(name, "1.0.0").pack(&mal);
        let request = client().put(format!("{}{}", serving.url, packed.path()));
        let request = mal.offer(request.bearer_auth(&mal.token));
        let answer = request.body(packed.archive).send().await.unwrap();
        let status = answer.status().as_u16();
        let answer: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        (status, answer["code"].as_str().unwrap_or_default().to_owned())
    };
    for name in ["lodahs", "waitlist-cli"] {
        assert_eq!(publish(name).await, (409, "name_held".to_owned()));
    }
    let held = answered(&data, &["name", "list", "--held"], 0);
    let names = held["names"].as_array().unwrap();
    assert_eq!(names.len(), 2);
    assert_eq!(names[0]["account"], "mal");
    assert_eq!(
        (&names[0]["likeness"], &names[0]["state"]),
        (&"swaps_letters".into(), &"held".into())
    );
    assert!(done(&data, &["name", "list"]).contains("waitlist-cli\theld\tmal\taffixes\twaitlist"));
    assert_eq!(answered(&data, &["name", "list", "--flagged"], 0)["names"], Value::Array(vec![]));
    let released = answered(&data, &["name", "release", "waitlist-cli"], 0);
    assert_eq!(released["released_to"], "mal");
    assert_eq!(publish("waitlist-cli").await.0, 201);
    assert_eq!(answered(&data, &["name", "refuse", "lodahs"], 0)["refused"], true);
    assert_eq!(publish("lodahs").await, (409, "name_refused".to_owned()));
    assert_eq!(answered(&data, &["name", "refuse", "lodash-x"], 0)["refused"], true);
    let taken_back = answered(&data, &["name", "release", "lodash-x"], 0);
    assert_eq!(taken_back["released_to"], Value::Null);
    let in_use = answered(&data, &["name", "refuse", "waitlist-cli"], 1);
    assert_eq!(in_use["error"]["code"], "name_in_use");
    let nobody = answered(&data, &["name", "release", "nothing"], 1);
    assert_eq!(nobody["error"]["code"], "nobody_asked");
    serving.kill();
    std::fs::write(&list, "Lodash\n").unwrap();
    let refused = serve.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("line 1: `Lodash` is not a name"));
    for scope in ["acme", "acmes"] {
        done(&data, &["scope", "add", scope, "--owner", "mal"]);
    }
    let like = answered(&data, &["scope", "add", "acem", "--owner", "mal"], 0);
    assert_eq!(like["resembles"], Value::Array(vec![]), "four letters are too few");
    let like = answered(&data, &["scope", "add", "acmse", "--owner", "mal"], 0);
    assert_eq!(like["resembles"][0], "acmes");
}

#[tokio::test]
async fn a_version_and_a_name_are_deleted_while_the_registry_serves() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    registry_in(&data).await;
    let ana = author(&data, "ana");
    done(&data, &["user", "add", "ben"]);
    let serving = Serving::start(&data);
    for version in ["1.0.0", "1.1.0"] {
        let packed = Skill::new("waitlist", version).pack(&ana);
        let request = client().put(format!("{}{}", serving.url, packed.path()));
        let request = ana.offer(request.bearer_auth(&ana.token));
        assert_eq!(request.body(packed.archive).send().await.unwrap().status(), 201);
    }
    let versions = async || {
        let url = format!("{}/v1/skills/_/waitlist", serving.url);
        let document: Document =
            json(client().get(url).send().await.unwrap(), StatusCode::OK).await;
        (document.versions.len(), document.deleted.len())
    };
    assert_eq!(versions().await, (2, 0));
    let reason = ["--reason", "it sends keys away"];
    let deleted =
        answered(&data, &[&["name", "delete", "waitlist@1.0.0"], &reason[..]].concat(), 0);
    assert_eq!(deleted["versions"], 1, "{deleted}");
    let again = answered(&data, &[&["name", "delete", "waitlist@1.0.0"], &reason[..]].concat(), 1);
    assert_eq!(again["error"]["code"], "already_deleted");
    let unknown = answered(&data, &[&["name", "delete", "nothing"], &reason[..]].concat(), 1);
    assert_eq!(unknown["error"]["code"], "unknown_name");
    assert_eq!(run(&data, &["name", "delete", "waitlist"]).status.code(), Some(2));
    let whole = answered(&data, &[&["name", "delete", "waitlist"], &reason[..]].concat(), 0);
    assert_eq!((&whole["versions"], &whole["version"]), (&Value::from(1), &Value::Null));
    let given = answered(&data, &["name", "transfer", "waitlist", "ben"], 0);
    assert_eq!(given["owner"], "ben");
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(versions().await, (0, 2));
    done(&data, &["gc", "--older-than", "0"]);
    assert_eq!(answered(&data, &["verify"], 0)["checked"], 0);
    serving.kill();
}
