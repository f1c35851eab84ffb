//! `GET /v1/search`.

use reqwest::StatusCode;
use skillpkg_schema::wire::SearchAnswer;

use crate::support::{Skill, TestRegistry, json, problem};

async fn found(registry: &TestRegistry, query: &str) -> (Vec<String>, u64) {
    let response = registry.get(&format!("/v1/search?{query}"), None).await;
    let answer: SearchAnswer = json(response, StatusCode::OK).await;
    (answer.skills.iter().map(|hit| hit.name.to_string()).collect(), answer.total)
}

#[tokio::test]
async fn names_descriptions_and_tools_are_found_by_their_words() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "waitlist", "1.0.0").await;
    registry.published(&ana, "list-of-guests", "1.0.0").await;
    let mut tool = Skill::new("doorman", "1.0.0");
    tool.files[0].2 = b"---\nskill: doorman\ndescription: Stands at the door.\n---\n\nAsk.\n\n```tool\nid: admit\ndescription: lets one pass whose zebra is striped\nrun: echo $guest\nparams:\n  guest:\n    type: string\n    description: who comes\n```\n".to_vec();
    assert_eq!(registry.publish(&ana, &tool.pack(&ana)).await.status(), 201);
    assert_eq!(found(&registry, "q=waitlist").await.0, ["waitlist"]);
    assert_eq!(found(&registry, "q=wait").await.0, ["waitlist"]);
    assert_eq!(found(&registry, "q=guests+list").await.0, ["list-of-guests"]);
    assert_eq!(found(&registry, "q=ZEBRA").await.0, ["doorman"]);
    assert_eq!(found(&registry, "q=keeps").await.1, 2);
    assert_eq!(found(&registry, "q=nothing+waitlist").await, (Vec::new(), 0));
    let (names, total) = found(&registry, "q=&limit=2&offset=1").await;
    assert_eq!((names.len(), total), (2, 3));
    let response = registry.get("/v1/search?q=doorman", None).await;
    let answer: SearchAnswer = json(response, StatusCode::OK).await;
    assert_eq!(answer.skills[0].capabilities, ["admit"]);
    assert_eq!(answer.skills[0].version.to_string(), "1.0.0");
}

#[tokio::test]
async fn names_come_before_descriptions_and_those_before_what_tools_say() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    let described = |name: &str, description: &str, tool: &str| {
        let mut skill = Skill::new(name, "1.0.0");
        skill.files[0].2 = format!(
            "---\nskill: {name}\ndescription: {description}\n---\n\nAsk.\n\n```tool\nid: \
             ask\ndescription: {tool}\nrun: echo\n```\n"
        )
        .into_bytes();
        skill
    };
    for skill in [
        described("zebra-crossing", "Crosses.", "crosses"),
        described("zebra", "One.", "one"),
        described("atlas", "Maps.", "where a zebra lives"),
        described("beasts", "Tells a zebra from a horse.", "tells"),
    ] {
        assert_eq!(registry.publish(&ana, &skill.pack(&ana)).await.status(), 201);
    }
    let order = ["zebra", "zebra-crossing", "beasts", "atlas"];
    assert_eq!(found(&registry, "q=zebra").await.0, order);
    assert_eq!(found(&registry, "q=zeb&limit=2&offset=1").await.0, order[1..3]);
    assert_eq!(found(&registry, "q=zebra+crosses").await.0, ["zebra-crossing"]);
}

#[tokio::test]
async fn an_exact_name_comes_first_and_then_names_that_begin_with_it() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.scope("tools", &ana, false).await;
    registry.scope("web_kit", &ana, false).await;
    // Found by their scopes, and shorter than what is asked for.
    for name in [
        "tools/edit",
        "tools/web",
        "tools/describe-tool",
        "tool-describe",
        "describe-tools-well",
        "web_kit/tool-describe",
        "web_kit/tool_x",
    ] {
        registry.published(&ana, name, "1.0.0").await;
    }
    for (query, first) in [
        ("describe-tool", &["tools/describe-tool", "describe-tools-well", "tool-describe"][..]),
        ("Describe%20Tool", &["tools/describe-tool", "describe-tools-well", "tool-describe"]),
        ("describe_tool", &["tools/describe-tool", "describe-tools-well", "tool-describe"]),
        ("tools/describe-tool", &["tools/describe-tool"]),
        ("@tools/describe-tool", &["tools/describe-tool"]),
        ("tool-describe", &["tool-describe", "web_kit/tool-describe", "tools/describe-tool"]),
        ("_/tool-describe", &["tool-describe", "tools/describe-tool"]),
        ("web_kit/tool-describe", &["web_kit/tool-describe"]),
        ("web-kit/tool-x", &["web_kit/tool_x"]),
        ("web", &["tools/web"]),
        ("tools/w", &["tools/web", "describe-tools-well"]),
    ] {
        let (names, total) = found(&registry, &format!("q={query}")).await;
        assert!(
            names.starts_with(&first.iter().map(|&name| name.into()).collect::<Vec<_>>()),
            "{query}: {names:?}"
        );
        assert_eq!(names.len() as u64, total, "{query}");
        // A page of one at a time is the same list.
        for (position, name) in names.iter().enumerate() {
            let page = found(&registry, &format!("q={query}&limit=1&offset={position}")).await;
            assert_eq!(page, (vec![name.clone()], total), "{query}");
        }
    }
    let response = registry.get("/apm/v1/search?q=describe-tool&limit=1", None).await;
    let answer: serde_json::Value = json(response, StatusCode::OK).await;
    assert_eq!(answer["results"][0]["id"], "tools/describe-tool");
    let response = registry.get("/clawhub/api/v1/search?q=describe-tool&limit=1", None).await;
    let answer: serde_json::Value = json(response, StatusCode::OK).await;
    assert_eq!(answer["results"][0]["displayName"], "tools/describe-tool");
    let page = registry.get("/?q=describe-tool", None).await.text().await.unwrap();
    let place = |name: &str| page.find(&format!("href=\"/skills/{name}\"")).unwrap_or(usize::MAX);
    assert!(place("tools/describe-tool") < place("_/tool-describe"), "{page}");
}

#[tokio::test]
async fn what_a_query_language_would_obey_is_searched_for_as_text() {
    let registry = TestRegistry::start().await;
    let ana = registry.author("ana").await;
    registry.published(&ana, "near", "1.0.0").await;
    for query in [
        "%22",
        "*",
        "NEAR(",
        "NEAR(a+b,+2)",
        "name:x",
        "^a",
        "a+OR",
        "-",
        "(((",
        "%00",
        "'",
        "%3B--",
        "a*b",
        "%22a",
        "{a+b}:c",
        "AND",
        "\u{202e}",
    ] {
        found(&registry, &format!("q={query}")).await;
    }
    assert_eq!(found(&registry, "q=NEAR(").await.0, ["near"]);
    for wrong in [
        format!("q={}", "a".repeat(10_000)),
        "limit=x".to_owned(),
        "limit=-1".to_owned(),
        "offset=99999999999".to_owned(),
    ] {
        problem(registry.get(&format!("/v1/search?{wrong}"), None).await, 400, "invalid_request")
            .await;
    }
    assert_eq!(found(&registry, "q=near&limit=0").await, (Vec::new(), 1));
    assert_eq!(found(&registry, "q=near&limit=4000000000").await.1, 1);
}
