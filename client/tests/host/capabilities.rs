//! Which skills and capabilities a host sees.

use skillpkg::host::{Arguments, CallError, CapabilityKind};
use skillpkg::resource::Resource;
use skillpkg::state::ProjectState;
use skillpkg_schema::skill::Answer;

use crate::support::{Machine, all, texts, with_script, with_tool};

const RUN: &str = "sh handle.sh --$user $times";

#[tokio::test]
async fn capabilities_appear_once_their_skill_is_active_and_go_with_it() {
    let machine = Machine::new();
    let host = machine.host();
    machine.ingest(&texts(&with_script("cat", "")));
    assert_eq!(host.skills().unwrap(), []);
    assert_eq!(host.capabilities("data").unwrap_err().code, "skill_not_active");
    machine.activate(&texts(&with_script("cat", "")));
    machine.activate(&texts(&with_tool(RUN, "echo")));
    let skills = host.skills().unwrap();
    let names: Vec<String> = skills.iter().map(|skill| skill.name.to_string()).collect();
    assert_eq!(names, ["data", "waitlist"]);
    assert_eq!(skills[0].description, "Validates data.");
    let listed = host.capabilities("data").unwrap();
    let listed: Vec<_> =
        listed.iter().map(|one| (one.name.as_str(), one.kind, one.requires_permission)).collect();
    assert_eq!(
        listed,
        [
            ("read_guide", CapabilityKind::Resource, false),
            ("normalize", CapabilityKind::Script, true)
        ]
    );
    for one in host.capabilities("waitlist").unwrap() {
        let schema: serde_json::Value = serde_json::from_str(&one.schema).unwrap();
        assert_eq!(schema["additionalProperties"], false);
    }
    machine.set_state(&ProjectState::default());
    assert_eq!(host.skills().unwrap(), []);
}

#[tokio::test]
async fn a_near_name_is_offered() {
    let machine = Machine::new();
    machine.activate(&texts(&with_tool(RUN, "echo")));
    let host = machine.host();
    let error = host.capabilities("waitlsit").unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean `waitlist`?"));
    let error = host.call("waitlist", "acces", &Arguments::none(), &all).await.unwrap_err();
    let error = skillpkg::Error::from(error);
    assert_eq!(error.code, "capability_not_found");
    assert_eq!(error.hint.as_deref(), Some("did you mean `access`?"));
    let error = host.read("waitlist", "access").await.unwrap_err();
    assert_eq!(error.code, "capability_kind");
}

#[tokio::test]
async fn an_installed_skill_that_is_not_active_says_how_to_activate_it() {
    let machine = Machine::new();
    let digest = "0".repeat(64);
    let lock = format!(
        "version = 1\n\n[[skill]]\nname = \"data\"\nversion = \"1.0.0\"\nfile = \"data.tar\"\n\
         address = \"sha256:{digest}\"\narchive = \"sha256:{digest}\"\nkey = \"{digest}\"\n"
    );
    std::fs::write(machine.settings.project.join("skillpkg.lock"), lock).unwrap();
    let hint = || machine.host().capabilities("data").unwrap_err().hint.unwrap();
    assert_eq!(hint(), "it is locked and missing here: `skillpkg sync` brings what is missing");
    let inactive = vec!["data".parse().unwrap()];
    machine.set_state(&ProjectState { inactive, ..ProjectState::default() });
    assert_eq!(hint(), "it is installed: `skillpkg activate data`");
    let error = machine.host().capabilities("other").unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("to have it: `skillpkg install other`"));
}

#[tokio::test]
async fn a_skill_of_which_the_lockfile_says_otherwise_is_not_handed_out_or_run() {
    let machine = Machine::new();
    machine.activate(&texts(&with_tool(RUN, "echo")));
    let host = machine.host();
    assert_eq!(host.skills().unwrap().len(), 1);
    let path = machine.settings.project.join("skillpkg.lock");
    let lock = std::fs::read_to_string(&path).unwrap();
    let other = {
        let start = lock.find("address = \"sha256:").unwrap() + 18;
        format!("{}{}{}", &lock[..start], "0".repeat(64), &lock[start + 64..])
    };
    for (text, code) in [
        (Some("version = 1\n".to_owned()), "lock_outdated"),
        (Some(other), "lock_outdated"),
        (Some(format!("<<<<<<< HEAD\n{lock}=======\n>>>>>>> x\n")), "lock_conflict"),
        (Some("no lockfile".to_owned()), "lock_invalid"),
        (None, "lock_outdated"),
    ] {
        match &text {
            Some(text) => std::fs::write(&path, text).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        let error = host.call("waitlist", "access", &Arguments::none(), &all).await.unwrap_err();
        assert_eq!(skillpkg::Error::from(error).code, code, "{text:?}");
        assert_eq!(host.skills().unwrap_err().code, code, "{text:?}");
        assert_eq!(host.system_text("waitlist").unwrap_err().code, code, "{text:?}");
    }
}

#[tokio::test]
async fn an_added_capability_with_a_name_of_the_skills_own_is_told() {
    let machine = Machine::new();
    machine.activate(&texts(&with_script("cat", "")));
    let mut host = machine.host();
    let resource = Resource::inline("read_guide", "Another.", "x");
    host.add_resource(&"data".parse().unwrap(), resource).unwrap();
    assert_eq!(host.capabilities("data").unwrap_err().code, "capability_conflict");
}

#[tokio::test]
async fn a_models_answer_becomes_a_call() {
    let machine = Machine::new();
    machine.activate(&texts(&with_tool(RUN, "echo")));
    let host = machine.host();
    assert!(host.system_text("waitlist").unwrap().contains("[tool: access]"));
    assert_eq!(host.resolve("waitlist", Answer::Text("Nothing to do.")).unwrap(), None);
    let answer = r#"{"tool": "access", "args": {"user": "x@y.z"}}"#;
    let call = host.resolve("waitlist", Answer::Text(answer)).unwrap().unwrap();
    assert_eq!(call.argv, ["sh", "handle.sh", "--x@y.z", "1"]);
}

#[tokio::test]
async fn a_script_is_in_the_catalogue_and_called_as_a_tool_is() {
    let machine = Machine::new();
    machine.activate(&texts(&with_script("cat", "")));
    let host = machine.host();
    let told = host.system_text("data").unwrap();
    let entry = told.lines().last().unwrap();
    assert!(told.contains("```call"), "{told}");
    assert!(entry.contains(r#""name":"normalize""#) && entry.contains("maximumRows"), "{entry}");

    for answer in [
        r#"{"tool": "normalize", "args": {"inputFile": "a.csv"}}"#,
        "I normalize it.\n```call\n{\"name\": \"normalize\", \"input\": {\"inputFile\": \"a.csv\"}}\n```",
        r#"{"function": {"name": "normalize", "arguments": "{\"inputFile\": \"a.csv\"}"}}"#,
    ] {
        let call = host.resolve("data", Answer::Text(answer)).unwrap().unwrap();
        assert_eq!((call.tool.as_str(), call.argv.len()), ("normalize", 0), "{answer}");
        let arguments = Arguments::from(call);
        let outcome = host.call("data", "normalize", &arguments, &all).await.unwrap();
        assert_eq!(outcome.stdout, br#"{"inputFile":"a.csv","maximumRows":10}"#, "{answer}");
    }
    let wrong = r#"{"tool": "normalize", "args": {"inputFile": "a", "maximumRows": 101}}"#;
    let refused = host.resolve("data", Answer::Text(wrong));
    let Err(CallError::Arguments { code, path, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!((code.as_str(), path.as_deref()), ("number_out_of_range", Some("/maximumRows")));
    let unknown = host.resolve("data", Answer::Text(r#"{"tool": "normalise", "args": {}}"#));
    assert!(unknown.unwrap_err().to_string().contains("did you mean `normalize`?"));
}
