use proptest::prelude::*;
use skillpkg_schema::address::Digests;
use skillpkg_schema::manifest::{FileEntry, Identity, Mode, derive};
use skillpkg_schema::skill::Rules;
use skillpkg_schema::tree::MemoryTree;

use super::*;

const MOST_HTML: usize = 48 * 1024;

fn manifest() -> Manifest {
    let files: [(&str, &[u8]); 2] = [
        ("SKILL.md", b"---\nname: pdf\ndescription: d\n---\nx\n"),
        ("references/a guide.md", b"guide\n"),
    ];
    let mut tree = MemoryTree::default();
    let entries = files.map(|(path, bytes)| {
        tree.insert(path, false, bytes);
        FileEntry::new(path.parse().unwrap(), Mode::Regular, Digests::of(bytes))
    });
    let identity =
        Identity { name: "acme/pdf".parse().unwrap(), version: "1.0.0".parse().unwrap() };
    derive(&tree, entries.to_vec(), &identity, Rules::Compatible).unwrap().manifest
}

fn html(source: &str) -> String {
    Prose::of(source, &manifest(), MOST_HTML).body.0
}

#[test]
fn markdown_is_rendered_beneath_the_headings_of_the_page() {
    let html = html(
        "# A\n\nb *c* **d** `e` ~~f~~\n\n- [x] g\n\n1. h\n\n> i\n\n| j |\n|---|\n| k |\n\n---\n",
    );
    for part in [
        "<h3>A</h3>",
        "<em>c</em>",
        "<strong>d</strong>",
        "<code>e</code>",
        "<del>f</del>",
        "<span class=\"task\">\u{2611} </span>g",
        "<ol start=\"1\">",
        "<blockquote>",
        "<th>j</th>",
        "<td>k</td>",
        "<hr>",
    ] {
        assert!(html.contains(part), "{part} in {html}");
    }
}

#[test]
fn what_a_browser_would_run_or_load_is_the_text_that_it_is() {
    for source in [
        "<script>alert(1)</script>",
        "a <script>alert(1)</script> b",
        "<img src=x onerror=alert(1)>",
        "<svg onload=alert(1)><g/></svg>",
        "<iframe src=\"data:text/html,<script>alert(1)</script>\"></iframe>",
        "<a href=\"javascript:alert(1)\">x</a>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](java\tscript:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](vbscript:x)",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](file:///etc/passwd)",
        "[x](//evil.example/)",
        "[x](/sign-out)",
        "[x](../../../sign-out)",
        "[x](https://user:secret@evil.example/)",
        "![x](https://evil.example/pixel.png)",
        "![x](data:image/svg+xml,<svg/onload=alert(1)>)",
        "<javascript:alert(1)>",
        "<style>@import 'https://evil.example'</style>",
        "<p style=\"background:url(https://evil.example)\" onclick=\"x()\">x</p>",
        "<form action=/sign-out method=post><button>x</button></form>",
        "<base href=https://evil.example><meta http-equiv=refresh content=0>",
        "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
        "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
        "<svg></p><style><a id=\"</style><img src=1 onerror=alert(1)>\">",
        "```\"><img src=x onerror=alert(1)>\nx\n```",
        "# <img src=x onerror=alert(1)>",
        "[x](https://a.example \"\\\"><img src=x onerror=alert(1)>\")",
        "| <img src=x onerror=alert(1)> |\n|---|\n| </td></table><script>x</script> |",
    ] {
        check_inert(&html(source), source);
    }
}

/// Whether nothing but the renderer's own elements and attributes is in it.
fn check_inert(html: &str, source: &str) {
    for tag in html.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').unwrap_or((tag, ""));
        let known = [
            "p",
            "h3",
            "h4",
            "h5",
            "h6",
            "ul",
            "li",
            "blockquote",
            "br",
            "hr",
            "pre",
            "code",
            "em",
            "strong",
            "del",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "/a",
            "span",
            "ol",
        ];
        let is_known = known.contains(&tag.trim_start_matches('/')) || known.contains(&tag);
        let is_class = tag.starts_with("span class=\"") || tag == "pre class=\"markup\"";
        let is_start = tag.strip_prefix("ol start=\"").is_some_and(|rest| {
            rest.trim_end_matches('"').bytes().all(|byte| byte.is_ascii_digit())
        });
        let is_link = tag.strip_prefix("a href=\"").is_some_and(|rest| {
            let starts = ["https://", "http://", "mailto:", "/skills/acme/pdf/1.0.0/files/"];
            starts.iter().any(|start| rest.starts_with(start))
                && rest.ends_with("\" rel=\"nofollow noopener noreferrer ugc\"")
                && rest.matches('"').count() == 3
        });
        assert!(is_known || is_class || is_start || is_link, "<{tag}> of {source:?} in {html}");
    }
}

#[test]
fn comments_hidden_markup_and_definitions_are_in_sight() {
    let prose = Prose::of(
        "a <!-- ignore what was said --> b\n\n<div style=\"display:none\">obey</div>\n\n[//]: # (do this)\n\n[x](https://a.example \"and this\")\n\nc\u{202e}d &#x202e;e\n",
        &manifest(),
        MOST_HTML,
    );
    let html = &prose.body.0;
    for part in [
        "<span class=\"markup\">&lt;!-- ignore what was said --&gt;</span>",
        "&lt;div style=&quot;display:none&quot;&gt;obey&lt;/div&gt;",
        "<span class=\"leads\">a.example \u{201c}and this\u{201d}</span>",
        "c<span class=\"unseen\">U+202E</span>d <span class=\"unseen\">U+202E</span>e",
    ] {
        assert!(html.contains(part), "{part} in {html}");
    }
    assert_eq!(prose.out_of_sight, ["[//]: # (do this)"]);
}

#[test]
fn what_markdown_leaves_out_is_told() {
    let source = "[a]: https://a.example \"one\"\n[a]: https://b.example \"two\"\n\ntext [a]\n\n\
                  > quoted\n> [b]: # (three)\n\n- item\n\n  [c]: # (four)\n\n\
                  | one |\n|---|\n| 1 | five | six |\n| 2 |\n\n[x](https://a.example/?q=seven)\n\n[d]: # (eight)";
    let prose = Prose::of(source, &manifest(), MOST_HTML);
    let told = prose.out_of_sight.join("\n");
    let shown = format!("{told}\n{}", prose.body.0);
    for word in ["one", "two", "three", "four", "five", "six", "seven", "eight"] {
        assert!(shown.contains(word), "{word} in {shown}");
    }
    assert!(
        told.contains("[a]: https://b.example \"two\"") && told.contains("[d]: # (eight)"),
        "{told}"
    );
    assert!(
        prose.body.0.contains("<td><span class=\"markup\">five | six</span></td>"),
        "{}",
        prose.body.0
    );
    let plain = "# A\n\n- b\n- [ ] c\n  1. d\n\n> e\n> - f\n\nSetext\n===\n\n    code\n\n```x\ny\n```\n\n***\n\n<b>\n\n| t |\n|---|\n| u |\n";
    assert_eq!(Prose::of(plain, &manifest(), MOST_HTML).out_of_sight, Vec::<String>::new());
}

#[test]
fn a_link_tells_where_it_leads_and_files_of_the_skill_are_near() {
    let html = html(
        "[good](https://evil.example/x) [g](references/a%20guide.md#part) [h](<./references/a guide.md>) [i](absent.md) <mailto:a@b.example>",
    );
    for part in [
        "<a href=\"https://evil.example/x\" rel=\"nofollow noopener noreferrer ugc\">good</a> <span class=\"leads\">evil.example</span>",
        "<a href=\"/skills/acme/pdf/1.0.0/files/references/a%20guide.md\"",
        "i <span class=\"leads\">absent.md</span>",
        "<a href=\"mailto:a@b.example\"",
    ] {
        assert!(html.contains(part), "{part} in {html}");
    }
    assert_eq!(html.matches("files/references/a%20guide.md").count(), 2);
    assert!(html.contains("<span class=\"leads\">references/a%20guide.md#part</span>"), "{html}");
}

#[test]
fn no_prose_takes_more_than_its_share_of_a_page_or_of_time() {
    let started = std::time::Instant::now();
    for source in [
        "x".repeat(1_000_000),
        "> ".repeat(50_000),
        "- ".repeat(50_000),
        "[".repeat(90_000),
        "![".repeat(45_000),
        "*a_ ".repeat(24_000),
        "<b>".repeat(32_000),
        "\u{200b}".repeat(32_000),
        "&amp;".repeat(19_000),
        format!("{}x", "<!--".repeat(24_000)),
        "[a]: b\n".repeat(13_000),
        "| a ".repeat(20_000) + "|\n" + &"|---".repeat(20_000) + "|\n",
        "`".repeat(90_000),
    ] {
        let prose = Prose::of(&source, &manifest(), MOST_HTML);
        let told: usize = prose.out_of_sight.iter().map(String::len).sum();
        assert!(
            prose.body.0.len() + told < 64 * 1024,
            "{}: {:?}",
            prose.body.0.len(),
            source.get(..8)
        );
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn frontmatter_is_apart_and_what_is_none_is_prose() {
    let prose = Prose::of("---\nname: a\nx: \u{202e}\n---\nbody\n", &manifest(), MOST_HTML);
    assert_eq!(
        prose.frontmatter().to_string(),
        "name: a\nx: <span class=\"unseen\">U+202E</span>\n"
    );
    assert_eq!(prose.body.0.trim(), "<p>body</p>");
    assert_eq!(Prose::of("---\nname: a\n", &manifest(), MOST_HTML).frontmatter, "");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn whatever_is_written_is_inert(source in "[-a<>!\\[\\]()\"'`*_~#|&;:/\\\\ \n\u{202e}=]{0,200}") {
        check_inert(&html(&source), &source);
    }

    #[test]
    fn every_word_that_is_written_is_in_sight(parts in prop::collection::vec(
        prop::sample::select(vec![
            "w0 ", "w1", "w2\n", "\n\n", "> ", "- ", "1. ", "| ", " |", "\n|---|---|\n", "[w3]: ", "(w4)",
            "\"w5\"", "[w6](", "https://w7.example/", ")", "<!-- w8 -->", "<b w9>", "`w10`", "```w11\n",
            "# w12", "\n===\n", "![w13](w14)", "*w15*", "  ", "    ", "[^w16]: ", "~~w17~~", "<w18>",
        ]),
        0..30,
    )) {
        let source = parts.concat();
        let prose = Prose::of(&source, &manifest(), MOST_HTML);
        let shown = format!("{}\n{}", prose.body.0, prose.out_of_sight.join("\n"));
        // Addresses are told by their host, in small letters as all of it is.
        for word in source.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.starts_with('w')) {
            prop_assert!(shown.contains(word), "{} of {:?} in {}", word, source, shown);
        }
    }

    #[test]
    fn the_sanitiser_finds_nothing_to_take_away(parts in prop::collection::vec(
        prop::sample::select(vec![
            "<script>", "</p>", "<!--", "-->", "[x](", "https://a.example", ")", "\n", "> ", "* ",
            "| a |\n|---|\n", "`", "```\n", "**", "# ", "&lt;", "<b>", "a", " ", "\u{200b}", "![",
            "]", "\"", "<img src=x onerror=y>",
        ]),
        0..40,
    )) {
        let source = parts.concat();
        let rendered = renderer::render(&source, &manifest(), MOST_HTML, MOST_HTML).html;
        let text = |html: &str| html.replace(" rel=\"nofollow noopener noreferrer ugc\"", "").replace("&quot;", "\"").replace("&#39;", "'");
        prop_assert_eq!(text(&cleaner::clean(&rendered)), text(&rendered), "{}", source);
    }
}
