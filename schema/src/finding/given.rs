//! Run lines that leave it to whoever calls a tool what runs: its program, its script, or the text
//! that a shell or an interpreter is given.

use super::fetch::is_interpreter;
use super::findings::Sink;
use super::kind::FindingKind;
use super::text::Text;
use crate::skill::{self, Param, ParamKind, Tool, param_names};

/// Words that stand before a program and start it.
const CARRIERS: [&str; 12] = [
    "sudo", "doas", "env", "command", "exec", "nohup", "time", "nice", "stdbuf", "timeout",
    "busybox", "xargs",
];
/// Programs that start what is named behind them, with the word that stands between, if one does.
const LAUNCHERS: [(&str, &[&str]); 14] = [
    ("npx", &[]),
    ("uvx", &[]),
    ("bunx", &[]),
    ("pnpx", &[]),
    ("uv", &["run"]),
    ("pipx", &["run"]),
    ("poetry", &["run"]),
    ("pdm", &["run"]),
    ("pnpm", &["dlx", "exec"]),
    ("npm", &["exec"]),
    ("go", &["run"]),
    ("deno", &["run", "eval"]),
    ("bun", &["run", "x"]),
    ("dotnet", &["script"]),
];
/// Options, in lower case, behind which an interpreter is given what it runs.
const CODE_OPTIONS: [&str; 11] =
    ["-e", "-p", "-r", "-m", "--eval", "--print", "--command", "-command", "-enc", "/c", "/k"];

const PROGRAM: &str = "the program that runs is what a param says";
const SCRIPT: &str = "the script that runs is what a param says";
const CODE: &str = "what a shell or an interpreter runs is what a param says";

/// Adds the run lines of a `SKILL.md`, one for each tool at most.
pub(super) fn find(text: &Text<'_>, sink: &mut Sink<'_>) {
    let whole = text.whole();
    if !whole.contains("run:") || !whole.contains('$') {
        return;
    }
    let Ok(file) = skill::parse_unnamed(whole.as_bytes(), "SKILL.md") else { return };
    for tool in &file.tools {
        let Some((word, message)) = given(tool) else { continue };
        let start = text.lines().nth(tool.line.saturating_sub(1)).map_or(0, |(offset, _)| offset);
        let behind = whole.get(start..).unwrap_or_default();
        let offset = start + behind.find("run:").unwrap_or(0);
        let column = whole.get(offset..).and_then(|run| run.find(word)).unwrap_or(0);
        sink.at(text, FindingKind::RunsParam, offset + column, message);
    }
}

/// The word of a run line that decides what runs and holds a param of any text, and what is said of
/// it.
fn given(tool: &Tool) -> Option<(&str, &'static str)> {
    let words: Vec<&str> = tool.run.words().collect();
    let is_free = |word: &str| {
        param_names(word).any(|name| tool.params.iter().any(|one| one.name == name && is_any(one)))
    };
    program(&words, &is_free).or_else(|| code(&words, &is_free))
}

/// Whether a param takes any text.
fn is_any(param: &Param) -> bool {
    param.kind == ParamKind::String && param.choices.is_none()
}

/// The program or the script, where it is a param.
fn program<'w>(
    words: &[&'w str],
    is_free: &dyn Fn(&str) -> bool,
) -> Option<(&'w str, &'static str)> {
    let mut rest = words.iter().copied();
    let mut carried = false;
    let program = rest.find(|word| {
        let name = plain(word);
        let is_carrier = CARRIERS.contains(&name.as_str());
        let is_before =
            carried && (word.starts_with('-') || word.contains('=') || word.parse::<f64>().is_ok());
        carried |= is_carrier;
        !(is_carrier || is_before)
    })?;
    if is_free(program) {
        return Some((program, PROGRAM));
    }
    let name = plain(program);
    let launcher = LAUNCHERS.iter().find(|(launcher, _)| *launcher == name);
    if launcher.is_none() && !is_interpreter(&name) {
        return None;
    }
    let between = launcher.map_or(&[][..], |(_, between)| between);
    let mut started = between.is_empty();
    for word in rest {
        if !started && between.contains(&word) {
            started = true;
        } else if is_code_option(word) {
            // What stands behind it is no script.
            return None;
        } else if !word.starts_with(['-', '/']) || is_free(word) {
            let is_started = started && is_free(word) && !word.starts_with('-');
            let said = if launcher.is_some() { PROGRAM } else { SCRIPT };
            return is_started.then_some((word, said));
        }
    }
    None
}

/// What an interpreter is given to run, wherever in the line that starts, where it holds a param.
fn code<'w>(words: &[&'w str], is_free: &dyn Fn(&str) -> bool) -> Option<(&'w str, &'static str)> {
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let name = plain(word);
        if name == "ssh" {
            let mut behind = words.clone().skip_while(|word| word.starts_with('-')).skip(1);
            return behind.find(|word| is_free(word)).map(|word| (word, CODE));
        }
        if !(is_interpreter(&name) || name == "cmd") {
            continue;
        }
        let mut behind = words.clone();
        while let Some(option) = behind.next() {
            if !option.starts_with(['-', '/']) && option != "eval" {
                break;
            }
            if option.contains('=') && is_code_option(option) && is_free(option) {
                return Some((option, CODE));
            }
            if (is_code_option(option) || option == "eval")
                && let Some(text) = behind.clone().next().filter(|text| is_free(text))
            {
                return Some((text, CODE));
            }
        }
    }
    None
}

/// Whether an interpreter runs what stands behind the option: `-c` and shells' `-lc`, `-e`, `--eval`.
fn is_code_option(option: &str) -> bool {
    let option = option.split('=').next().unwrap_or(option).to_ascii_lowercase();
    let letters = option.strip_prefix('-').unwrap_or_default();
    let is_of_shell = !letters.is_empty()
        && letters.len() <= 6
        && letters.ends_with('c')
        && letters.chars().all(|one| one.is_ascii_lowercase());
    is_of_shell || CODE_OPTIONS.contains(&option.as_str())
}

/// The name of a program in lower case, without its directory.
fn plain(word: &str) -> String {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase();
    name.strip_suffix(".exe").map(str::to_owned).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(run: &str) -> Option<(String, &'static str)> {
        // What is not in the line is left undeclared.
        let declared =
            [("any", "string"), ("one", "string\n    enum: a, b"), ("number", "integer")];
        let mut params = String::new();
        for (name, kind) in declared.iter().filter(|(name, _)| run.contains(&format!("${name}"))) {
            params.extend(["  ", name, ":\n    type: ", kind, "\n"]);
        }
        let text = format!(
            "---\nskill: s\ndescription: d\n---\nSay.\n\n```tool\nid: t\ndescription: d\nparams:\n{params}run: {run}\n```\n"
        );
        let file = skill::parse(text.as_bytes(), "SKILL.md").unwrap_or_else(|faults| {
            panic!("{run}: {faults:?}\n{text}");
        });
        given(&file.tools[0]).map(|(word, what)| (word.to_owned(), what))
    }

    #[test]
    fn a_param_that_decides_what_runs_is_told() {
        for (run, word, what) in [
            ("$any", "$any", PROGRAM),
            ("./tools/$any", "./tools/$any", PROGRAM),
            ("sudo -n $any", "$any", PROGRAM),
            ("env MODE=fast $any", "$any", PROGRAM),
            ("npx -y $any", "$any", PROGRAM),
            ("uv run $any", "$any", PROGRAM),
            ("python3 $any", "$any", SCRIPT),
            ("node scripts/$any.js", "scripts/$any.js", SCRIPT),
            ("sh -c $any", "$any", CODE),
            ("bash -lc $any", "$any", CODE),
            ("/bin/sh -e -c $any", "$any", CODE),
            ("uv run python -c $any", "$any", CODE),
            ("python3.12 -m $any", "$any", CODE),
            ("node --eval=$any", "--eval=$any", CODE),
            ("perl -e $any", "$any", CODE),
            ("cmd.exe /c $any", "$any", CODE),
            ("docker exec box bash -c $any", "$any", CODE),
            ("ssh -q host $any", "$any", CODE),
        ] {
            assert_eq!(said(run), Some((word.to_owned(), what)), "{run}");
        }
    }

    #[test]
    fn a_param_that_is_an_argument_is_not() {
        for run in [
            "sh handle.sh $any",
            "uv run handle.py --$any",
            "python3 main.py --file $any",
            "python3 -m pytest $any",
            "node cli.js -e $any",
            "grep -e $any file",
            "sh -c $one",
            "$one",
            "sh -c $number",
            "curl https://x.y/$any",
            "git -c user.name=x commit -m $any",
        ] {
            assert_eq!(said(run), None, "{run}");
        }
    }
}
