//! Properties of reading a skill and of resolving calls, over generated skills and answers.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::coerce::text;
use super::print::print;
use super::{
    Answer, Call, Dialect, Param, ParamKind, Run, SkillFile, Tool, compile, parse, programs,
    resolve,
};
use crate::json::{self, Bounds, Json};

const BOUNDS: Bounds = Bounds { bytes: 1_000_000, depth: 64, nodes: 100_000 };

/// One line of text, white space around it taken away.
fn line() -> impl Strategy<Value = String> {
    "[ -~äß日🎉\u{a0}\u{2028}:#'\"`$]{0,24}".prop_map(|line| line.trim().to_owned())
}

fn full_line() -> impl Strategy<Value = String> {
    line().prop_map(|line| if line.is_empty() { "x".to_owned() } else { line })
}

/// Text of several lines, as quoted YAML holds it.
fn prose() -> impl Strategy<Value = String> {
    "[ -~äß日🎉\n\t\\\\\"]{0,60}".prop_map(|text| format!("a{}", text.trim_end()))
}

fn value(kind: ParamKind) -> BoxedStrategy<Json> {
    match kind {
        ParamKind::String => line().prop_map(Json::String).boxed(),
        ParamKind::Integer => any::<i64>().prop_map(|n| Json::Number(n.to_string())).boxed(),
        ParamKind::Number => {
            "-?(0|[1-9][0-9]{0,5})(\\.[0-9]{1,4})?(e[+-]?[0-9])?".prop_map(Json::Number).boxed()
        }
        ParamKind::Boolean => any::<bool>().prop_map(Json::Bool).boxed(),
    }
}

fn param() -> impl Strategy<Value = Param> {
    let kind = prop_oneof![
        Just(ParamKind::String),
        Just(ParamKind::Integer),
        Just(ParamKind::Number),
        Just(ParamKind::Boolean),
    ];
    let rest = kind.prop_flat_map(|kind| {
        let choices = option::weighted(0.3, vec(value(kind), 1..4));
        (Just(kind), choices, option::of(value(kind)), option::of(line()), option::of(line()))
    });
    rest.prop_map(|(kind, choices, default, format, description)| {
        let choices = choices.map(|choices| {
            let mut unique: Vec<Json> = Vec::new();
            for choice in choices {
                let is_writable = !text(&choice).contains(',') && !text(&choice).is_empty();
                if is_writable && !unique.iter().any(|one| super::coerce::same(one, &choice)) {
                    unique.push(choice);
                }
            }
            unique
        });
        let choices = choices.filter(|choices| !choices.is_empty());
        let default = default.map(|default| match &choices {
            Some(choices) => choices[0].clone(),
            None => default,
        });
        Param { name: String::new(), kind, format, choices, description, default }
    })
}

fn tool() -> impl Strategy<Value = Tool> {
    let params = btree_map("[A-Za-z0-9_]{1,6}", param(), 0..5);
    let literals = vec("[ -#%-~é日]{0,8}", 0..4);
    (full_line(), params, literals).prop_map(|(description, params, literals)| {
        let mut words = vec!["program".to_owned()];
        words.extend(literals);
        words.push("$$0 $ $-".to_owned());
        let params: Vec<Param> =
            params.into_iter().map(|(name, param)| Param { name, ..param }).collect();
        words.extend(params.iter().map(|param| format!("--{}=${}.", param.name, param.name)));
        Tool { id: String::new(), description, params, run: Run::new(words), line: 0 }
    })
}

fn metadata() -> impl Strategy<Value = Map<String, Value>> {
    let key = "x[a-z -]{0,6}";
    let scalar = prose().prop_map(Value::String);
    let value = scalar.prop_recursive(3, 16, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            btree_map(key, inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    btree_map(key, value, 0..3).prop_map(|members| members.into_iter().collect())
}

prop_compose! {
    fn skill()(
        is_hard in any::<bool>(),
        (name, description) in (full_line(), prose()),
        (version, license) in (option::of(full_line()), option::of(full_line())),
        includes in option::of(vec("[a-z][a-z,]{0,5}(/[a-z]{1,5}){0,2}", 0..4)),
        metadata in metadata(),
        tools in btree_map("[A-Za-z0-9_-]{1,8}", tool(), 0..4),
    ) -> SkillFile {
        let tools: Vec<Tool> =
            tools.into_iter().map(|(id, tool)| Tool { id, ..tool }).collect();
        let mut rendered = "First.".to_owned();
        for tool in &tools {
            rendered.push_str("\n\n[tool: ");
            rendered.push_str(&tool.id);
            rendered.push_str("]\n\nThen.");
        }
        let dialect = if is_hard { Dialect::Hard } else { Dialect::Agent };
        let warnings = Vec::new();
        SkillFile {
            dialect, name, description, version, license, includes, metadata, rendered, tools,
            warnings,
        }
    }
}

/// An object of arguments that the schema of `tool` accepts.
fn arguments(tool: &Tool) -> BoxedStrategy<BTreeMap<String, Json>> {
    tool.params.iter().fold(Just(BTreeMap::new()).boxed(), |arguments, param| {
        let name = param.name.clone();
        let value = match param.choices.clone() {
            Some(choices) => prop::sample::select(choices).boxed(),
            None => value(param.kind),
        };
        let value = match param.default {
            Some(_) => option::of(value).boxed(),
            None => value.prop_map(Some).boxed(),
        };
        (arguments, value)
            .prop_map(move |(mut arguments, value)| {
                arguments.extend(value.map(|value| (name.clone(), value)));
                arguments
            })
            .boxed()
    })
}

fn called_tool() -> impl Strategy<Value = (Tool, BTreeMap<String, Json>)> {
    tool().prop_flat_map(|tool| {
        let tool = Tool { id: "t".to_owned(), ..tool };
        (Just(tool.clone()), arguments(&tool))
    })
}

fn call(tool: &str, args: &BTreeMap<String, Json>) -> Json {
    let args = args.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    Json::Object(vec![
        ("tool".to_owned(), Json::String(tool.to_owned())),
        ("args".to_owned(), Json::Object(args)),
    ])
}

fn resolved(tool: &Tool, args: &BTreeMap<String, Json>) -> Option<Call> {
    resolve(std::slice::from_ref(tool), Answer::Structured(&call("t", args))).ok().flatten()
}

const REAL: &str = "---\nname: demo\ndescription: Use when: the user asks\nmetadata:\n  a: [x, {y: z}]\n\
    includes: a, b/c\n---\n\n# Title\n\n> ```tool\n> id: t\n> description: d\n> params:\n>   s:\n>     enum: \
    a, b\n> run:\n>   - echo\n>   - $s\n> ```\n\n```tool\nid: u\ndescription: d\nrun: make $$x\n```\n";

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn a_printed_skill_parses_to_itself(skill in skill()) {
        let printed = print(&skill);
        let mut parsed = match parse(printed.as_bytes(), "SKILL.md") {
            Ok(parsed) => parsed,
            Err(faults) => return Err(TestCaseError::fail(format!("{faults}\n{printed}"))),
        };
        parsed.warnings.clear();
        for tool in &mut parsed.tools {
            tool.line = 0;
        }
        prop_assert_eq!(parsed, skill, "{}", printed);
    }

    #[test]
    fn line_ends_and_a_mark_change_nothing(skill in skill()) {
        let printed = print(&skill);
        let marked = format!("\u{feff}{}", printed.replace('\n', "\r\n"));
        prop_assert_eq!(parse(marked.as_bytes(), "f"), parse(printed.as_bytes(), "f"));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in vec(any::<u8>(), 0..200), text in "\\PC{0,120}") {
        let framed = [b"---\n".as_slice(), &bytes, b"\n---\nbody"].concat();
        for source in [bytes.as_slice(), &framed, text.as_bytes()] {
            let _ = parse(source, "SKILL.md");
        }
    }

    #[test]
    fn no_frontmatter_makes_the_reader_panic(
        text in "([a-z]{0,3}|[ \t]{0,3}|[-:#&*!|>%@`\"'{}\\[\\],?.~<\\\\]|: |- |\n|\n  |é){0,40}",
    ) {
        if let Err(faults) = parse(format!("---\n{text}\n---\nbody").as_bytes(), "SKILL.md") {
            for one in faults.diagnostics() {
                prop_assert!(one.line.is_some() && one.file.is_some(), "{}", one);
            }
        }
    }

    #[test]
    fn no_fence_makes_the_reader_panic(
        text in "(id|run|params|type|enum|default|[a-z$]{0,3}|: |:|- |\n|\n  |\n    |\t|é|`|>){0,40}",
    ) {
        let source = format!("---\nname: a\ndescription: b\n---\n- x\n\n  ```tool\n{text}\n```\n");
        let _ = parse(source.as_bytes(), "SKILL.md");
    }

    #[test]
    fn a_changed_file_is_read_or_refused_with_a_place(
        at in 0..REAL.len(), taken in 0..12_usize, put in "[ -~\n\té]{0,6}",
    ) {
        let end = (at + taken).min(REAL.len());
        let changed = [&REAL.as_bytes()[..at], put.as_bytes(), &REAL.as_bytes()[end..]].concat();
        if let Err(faults) = parse(&changed, "SKILL.md") {
            for one in faults.diagnostics() {
                prop_assert!(one.line.is_some() && one.file.is_some(), "{}", one);
            }
        }
    }

    #[test]
    fn what_the_schema_accepts_is_resolved((tool, args) in called_tool()) {
        let answer = resolve(std::slice::from_ref(&tool), Answer::Structured(&call("t", &args)));
        let call = answer.unwrap().unwrap();
        for param in &tool.params {
            let wanted = args.get(&param.name).or(param.default.as_ref()).unwrap();
            prop_assert!(super::coerce::same(&call.args[&param.name], wanted));
        }
        prop_assert_eq!(call.args.len(), tool.params.len());
    }

    #[test]
    fn what_the_schema_refuses_is_refused((tool, args) in called_tool()) {
        let mut more = args.clone();
        more.insert("no param is called so".to_owned(), Json::Bool(true));
        prop_assert!(resolved(&tool, &more).is_none());
        for param in &tool.params {
            let mut wrong = args.clone();
            wrong.insert(param.name.clone(), Json::Array(Vec::new()));
            prop_assert!(resolved(&tool, &wrong).is_none());
            if param.default.is_none() {
                let mut fewer = args.clone();
                fewer.remove(&param.name);
                prop_assert!(resolved(&tool, &fewer).is_none());
            }
            if param.choices.is_some() {
                let mut other = args.clone();
                other.insert(param.name.clone(), Json::String("no choice, for sure".to_owned()));
                prop_assert!(resolved(&tool, &other).is_none());
            }
        }
    }

    #[test]
    fn a_value_stays_in_its_word_and_is_not_read_again(value in "[ -~\n\t日$]{0,30}") {
        let param = |name: &str| Param {
            name: name.to_owned(),
            kind: ParamKind::String,
            format: None,
            choices: None,
            description: None,
            default: None,
        };
        let words = ["p", "$a", "-$a-$$a$b", "$b"].map(str::to_owned).to_vec();
        let tool = Tool {
            id: "t".to_owned(),
            description: "d".to_owned(),
            params: vec![param("a"), param("b")],
            run: Run::new(words),
            line: 1,
        };
        let args = BTreeMap::from([
            ("a".to_owned(), Json::String(value.clone())),
            ("b".to_owned(), Json::String("$a $$ b".to_owned())),
        ]);
        let wanted =
            ["p".to_owned(), value.clone(), format!("-{value}-$a$a $$ b"), "$a $$ b".to_owned()];
        prop_assert_eq!(resolved(&tool, &args).unwrap().argv, wanted);
    }

    #[test]
    fn a_call_reads_the_same_from_structure_and_text((tool, args) in called_tool()) {
        let tools = [tool];
        let call = call("t", &args);
        let text = call.canonical();
        let wanted = resolve(&tools, Answer::Structured(&call));
        for answer in [
            text.clone(),
            format!("```call\n{text}\n```"),
            format!("So:\n\n```json\n{text}\n```\n"),
            format!("I {{call}} \"{text} now"),
        ] {
            let got = resolve(&tools, Answer::Text(&answer));
            prop_assert_eq!(&got, &wanted, "{}", answer);
        }
    }

    #[test]
    fn no_answer_makes_resolving_panic(
        text in "([{}\\[\\]\",:\\\\`]|\n|```call\n|\"tool\"|\"t\"|\"args\"|1|é| ){0,60}",
    ) {
        let tools = [Tool {
            id: "t".to_owned(),
            description: "d".to_owned(),
            params: Vec::new(),
            run: Run::new(vec!["p".to_owned()]),
            line: 1,
        }];
        let _ = resolve(&tools, Answer::Text(&text));
    }

    #[test]
    fn the_catalogue_is_what_resolving_checks_against(skill in skill()) {
        let system = compile(&skill);
        for tool in &skill.tools {
            let entry = system
                .lines()
                .filter_map(|line| json::parse(line, &BOUNDS).ok())
                .find(|entry| entry.get("name").and_then(Json::as_str) == Some(&tool.id))
                .unwrap();
            let schema = entry.get("input_schema").unwrap().canonical();
            prop_assert_eq!(schema, tool.schema().canonical());
        }
        let started: usize = programs(&skill.tools).iter().map(|one| one.tools.len()).sum();
        prop_assert_eq!(started, skill.tools.len());
    }
}
