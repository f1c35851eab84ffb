//! Markdown to HTML of a closed set of elements, within a bound.

use std::fmt::Write as _;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use skillpkg_schema::Manifest;

use super::destination::{self, Destination};
use crate::web::text::{push, write_marked};

/// Elements open at once; what is nested deeper is shown without being set apart.
const DEEPEST: usize = 24;

/// What became of a text of Markdown.
pub(super) struct Rendered {
    pub(super) html: String,
    pub(super) is_cut: bool,
    /// What Markdown takes out of sight.
    pub(super) out_of_sight: Vec<String>,
}

/// Renders Markdown to about `most` bytes of HTML at most, and tells about as many bytes as `sight` of
/// what it takes out of sight.
pub(super) fn render(source: &str, manifest: &Manifest, most: usize, sight: usize) -> Rendered {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut renderer = Renderer::new(source, manifest);
    let (mut is_cut, mut gaps) = (false, Gaps { seen: 0, room: sight, told: Vec::new() });
    for (event, place) in Parser::new_ext(source, options).into_offset_iter() {
        gaps.see(source, &event, &place);
        renderer.event(event, place, most);
        if renderer.html.len() >= most {
            is_cut = true;
            break;
        }
    }
    renderer.close_all();
    if !is_cut {
        gaps.up_to(source, source.len());
    }
    Rendered { html: renderer.html, is_cut: is_cut || gaps.room == 0, out_of_sight: gaps.told }
}

/// What stands between the blocks that are shown: Markdown takes definitions out of sight, those that
/// are used and those that are not.
struct Gaps {
    /// Up to where everything was shown or told.
    seen: usize,
    /// Bytes that may still be told.
    room: usize,
    told: Vec<String>,
}

impl Gaps {
    fn see(&mut self, source: &str, event: &Event<'_>, place: &Range<usize>) {
        // What only holds others shows nothing by itself.
        let holds = matches!(
            event,
            Event::End(_) | Event::Start(Tag::BlockQuote(_) | Tag::List(_) | Tag::Item)
        );
        if !holds {
            self.up_to(source, place.start);
            self.seen = self.seen.max(place.end);
        }
    }

    fn up_to(&mut self, source: &str, end: usize) {
        let gap = source.get(self.seen..end).unwrap_or_default();
        // The marks of quotes and items are shown as such.
        let is_mark = |c: char| c.is_whitespace() || c.is_ascii_digit() || ">-*+.)".contains(c);
        if gap.trim_matches(is_mark).is_empty() {
            return;
        }
        let is_around = |c: char| c.is_whitespace() || c == '>';
        let text = gap.trim_matches(is_around);
        match self.room.checked_sub(text.len()) {
            Some(left) => {
                self.room = left;
                self.told.push(text.to_owned());
            }
            None => self.room = 0,
        }
    }
}

struct Renderer<'m> {
    html: String,
    /// How each element that is open is closed; empty where nothing was written for it.
    open: Vec<Closing>,
    source: &'m str,
    manifest: &'m Manifest,
    /// Where the row of a table ends that is open, and up to where its cells are shown.
    row: Range<usize>,
    /// Elements that are open and not written, since they are nested too deep.
    hidden: usize,
}

/// How an element is closed.
enum Closing {
    Text(&'static str),
    /// A link or a picture, behind which is told where it leads.
    Leads {
        close: &'static str,
        told: String,
    },
    /// A row of the head of a table.
    Head,
}

impl<'m> Renderer<'m> {
    fn new(source: &'m str, manifest: &'m Manifest) -> Self {
        let (html, open) = (String::new(), Vec::new());
        Self { html, open, source, manifest, row: 0..0, hidden: 0 }
    }

    fn event(&mut self, event: Event<'_>, place: Range<usize>, most: usize) {
        match event {
            Event::Start(tag) => self.start(tag, place),
            Event::End(end) => self.end(end, most),
            Event::Code(text) => self.around("<code>", &text, "</code>", most),
            Event::InlineHtml(text) => {
                self.around("<span class=\"markup\">", &text, "</span>", most);
            }
            // Of HTML the source itself: what a model reads is what a reader sees.
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.text(&text, most),
            Event::SoftBreak => self.html.push('\n'),
            Event::HardBreak => self.html.push_str("<br>"),
            Event::Rule => self.html.push_str("<hr>"),
            Event::TaskListMarker(done) => {
                let mark = if done { "\u{2611}" } else { "\u{2610}" };
                self.around("<span class=\"task\">", mark, " </span>", most);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>, place: Range<usize>) {
        match tag {
            Tag::TableHead | Tag::TableRow => self.row = place,
            Tag::TableCell => self.row.start = place.end,
            _ => {}
        }
        if self.open.len() >= DEEPEST {
            self.hidden += 1;
            return;
        }
        let (open, close) = match tag {
            Tag::Paragraph => ("<p>", "</p>"),
            Tag::Heading { level, .. } => heading(level),
            Tag::BlockQuote(_) => ("<blockquote>", "</blockquote>"),
            Tag::CodeBlock(kind) => {
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.html.push_str("<span class=\"note\">");
                    push(&mut self.html, &language);
                    self.html.push_str("</span>");
                }
                ("<pre><code>", "</code></pre>")
            }
            Tag::HtmlBlock => ("<pre class=\"markup\"><code>", "</code></pre>"),
            Tag::List(None) => ("<ul>", "</ul>"),
            Tag::List(Some(first)) => {
                let _ = write!(self.html, "<ol start=\"{first}\">");
                ("", "</ol>")
            }
            Tag::Item => ("<li>", "</li>"),
            Tag::Table(_) => ("<table>", "</tbody></table>"),
            Tag::TableHead => {
                self.html.push_str("<thead><tr>");
                self.open.push(Closing::Head);
                return;
            }
            Tag::TableRow => ("<tr>", "</tr>"),
            Tag::TableCell if self.is_in_head() => ("<th>", "</th>"),
            Tag::TableCell => ("<td>", "</td>"),
            Tag::Emphasis => ("<em>", "</em>"),
            Tag::Strong => ("<strong>", "</strong>"),
            Tag::Strikethrough => ("<del>", "</del>"),
            Tag::Link { dest_url, title, .. } => return self.link(&dest_url, &title),
            Tag::Image { dest_url, title, .. } => return self.picture(&dest_url, &title),
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => ("", ""),
        };
        self.html.push_str(open);
        self.open.push(Closing::Text(close));
    }

    /// A link is text and leads where it says behind it: its words may say something else.
    fn link(&mut self, address: &str, title: &str) {
        let (close, mut told) = match destination::of(address, self.manifest) {
            Destination::File { page, told } => {
                self.open_link(&page);
                ("</a>", told)
            }
            Destination::Elsewhere { url, told } => {
                self.open_link(&url);
                ("</a>", told)
            }
            Destination::Nowhere => ("", address.to_owned()),
        };
        add_title(&mut told, title);
        self.open.push(Closing::Leads { close, told });
    }

    /// Pictures are not loaded: from elsewhere they would tell who reads.
    fn picture(&mut self, address: &str, title: &str) {
        self.html.push_str("<span class=\"picture\">");
        let mut told = address.to_owned();
        add_title(&mut told, title);
        self.open.push(Closing::Leads { close: "</span>", told });
    }

    fn open_link(&mut self, address: &str) {
        self.html.push_str("<a href=\"");
        push(&mut self.html, address);
        self.html.push_str("\">");
    }

    fn end(&mut self, end: TagEnd, most: usize) {
        if matches!(end, TagEnd::TableHead | TagEnd::TableRow) {
            self.beyond_last_cell(most);
        }
        if self.hidden > 0 {
            self.hidden -= 1;
            return;
        }
        self.close();
        if end == TagEnd::TableHead {
            self.html.push_str("<tbody>");
        }
    }

    /// Shows what a row has beyond the columns of its table, which Markdown leaves out.
    fn beyond_last_cell(&mut self, most: usize) {
        let beyond = self.source.get(self.row.clone()).unwrap_or_default();
        let beyond = beyond.trim_matches(|c: char| c == '|' || c.is_whitespace());
        if !beyond.is_empty() {
            self.around("<td><span class=\"markup\">", beyond, "</span></td>", most);
        }
    }

    fn close(&mut self) {
        match self.open.pop() {
            Some(Closing::Text(close)) => self.html.push_str(close),
            Some(Closing::Head) => self.html.push_str("</tr></thead>"),
            Some(Closing::Leads { close, told }) => {
                self.html.push_str(close);
                if !told.is_empty() {
                    self.html.push_str(" <span class=\"leads\">");
                    push(&mut self.html, &told);
                    self.html.push_str("</span>");
                }
            }
            None => {}
        }
    }

    fn close_all(&mut self) {
        while !self.open.is_empty() {
            self.close();
        }
    }

    fn is_in_head(&self) -> bool {
        self.open.iter().any(|closing| matches!(closing, Closing::Head))
    }

    fn around(&mut self, open: &str, text: &str, close: &str, most: usize) {
        self.html.push_str(open);
        self.text(text, most);
        self.html.push_str(close);
    }

    /// Text, as much of it as there is room for.
    fn text(&mut self, text: &str, most: usize) {
        let mut before = ' ';
        for character in text.chars() {
            if self.html.len() >= most {
                self.html.push('\u{2026}');
                return;
            }
            let _ = write_marked(&mut self.html, before, character);
            before = character;
        }
    }
}

fn add_title(told: &mut String, title: &str) {
    if !title.is_empty() {
        let separator = if told.is_empty() { "" } else { " " };
        let _ = write!(told, "{separator}\u{201c}{title}\u{201d}");
    }
}

/// Beneath the headings of the page that they stand in.
fn heading(level: HeadingLevel) -> (&'static str, &'static str) {
    match level {
        HeadingLevel::H1 => ("<h3>", "</h3>"),
        HeadingLevel::H2 => ("<h4>", "</h4>"),
        HeadingLevel::H3 => ("<h5>", "</h5>"),
        HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => ("<h6>", "</h6>"),
    }
}
