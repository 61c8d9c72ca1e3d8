"""The committed completions and man pages, as the shells and man themselves see them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from murmur_cli.cli.app import app
from murmur_cli.errors import ExitCode
from murmur_cli.models.catalog import load_catalog
from murmur_cli.options import FORMATS

ROOT = Path(__file__).resolve().parents[2]
COMPLETIONS = ROOT / "completions"
PAGES = sorted((ROOT / "man").glob("*.1"))

Complete = Callable[[str], set[str]]
"""What a shell offers when TAB is pressed at the end of a line."""


def _iter_commands(command: TyperCommand | TyperGroup, path: str = "murmur") -> Iterator[tuple[str, TyperCommand]]:
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from _iter_commands(child, f"{path} {name}")


COMMANDS = dict(_iter_commands(typer.main.get_command(app)))


def _long_options(command: TyperCommand) -> set[str]:
    options = [parameter for parameter in command.params if isinstance(parameter, TyperOption) and not parameter.hidden]
    names = {name for option in options for name in [*option.opts, *option.secondary_opts]}
    return {name for name in names if name.startswith("--")} | {"--help"}


def _output(*command: str | Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
        stdin=subprocess.DEVNULL,
        env=os.environ | (env or {}),
    )
    assert done.stderr == ""
    return done.stdout


# --- what each shell offers

_BASH = """
source "$1"
read -ra COMP_WORDS <<<"$2"
[[ $2 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }  # needs a running line editor
$(complete -p murmur | sed -E 's/.* -F ([^ ]+) .*/\\1/')
printf '%s\\n' "${COMPREPLY[@]}"
"""

_FISH = "source $argv[1]; complete -C $argv[2]"

# A zsh of its own in a pseudo-terminal, in which what would be offered is written to a file.
_ZSH = r"""
zmodload zsh/zpty
export COMPLETIONS=$1 OFFERED=$3
zpty child zsh -f -i
zpty -w child '
PROMPT=
fpath=($COMPLETIONS $fpath)
autoload -Uz compinit && compinit -D -u
zstyle ":completion:*" insert-tab false
compadd() {
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
    typeset -a offered
    builtin compadd -A offered "$@"
    print -rl -- $offered >>$OFFERED
}
finish() { print -r -- >$OFFERED.done; exit }
comppostfuncs=(finish)
'
zpty -w -n child "$2"$'\t'
for ((i = 0; i < 400; i++)); do
    [[ -e $OFFERED.done ]] && break
    sleep 0.05
    zpty -r -t child line
done
cat $OFFERED 2>/dev/null
true
"""


def _complete_bash(line: str, folder: Path) -> str:
    return _output("bash", "-c", _BASH, "bash", COMPLETIONS / "murmur.bash", line)


def _complete_fish(line: str, folder: Path) -> str:
    told = _output("fish", "--no-config", "-c", _FISH, COMPLETIONS / "murmur.fish", line, env={"HOME": str(folder)})
    return "\n".join(row.partition("\t")[0] for row in told.splitlines())


def _complete_zsh(line: str, folder: Path) -> str:
    script = folder / "complete.zsh"
    script.write_text(_ZSH)
    return _output("zsh", "-f", script, COMPLETIONS, line, folder / "offered", env={"HOME": str(folder)})


@pytest.fixture(
    params=[
        pytest.param(_complete_bash, id="bash", marks=pytest.mark.program("bash", "sed")),
        pytest.param(_complete_fish, id="fish", marks=pytest.mark.program("fish")),
        pytest.param(_complete_zsh, id="zsh", marks=pytest.mark.program("zsh")),
    ]
)
def complete(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Complete:
    """Ask a shell, with the completions of murmur loaded, what it offers after a line."""

    def ask(line: str) -> set[str]:
        told = request.param(line, tmp_path_factory.mktemp("shell"))
        return {Path(row).name if "/" in row else row for row in told.split("\n")} - {""}

    return ask


@pytest.mark.parametrize("path", COMMANDS)
def test_every_option_is_offered(complete: Complete, path: str) -> None:
    assert {name for name in complete(f"{path} --") if name.startswith("--")} == _long_options(COMMANDS[path])


@pytest.mark.parametrize("path", [path for path, command in COMMANDS.items() if isinstance(command, TyperGroup)])
def test_every_command_is_offered(complete: Complete, path: str) -> None:
    offered = {name for name in complete(f"{path} ") if not name.startswith("-")}
    assert offered == {name for name, child in COMMANDS[path].commands.items() if not child.hidden}


@pytest.mark.parametrize(
    "line", ["murmur batch ", "murmur batch first.wav --quiet -f txt second.wav ", "murmur batch first.wav --output "]
)
def test_files_are_offered(complete: Complete, tmp_path: Path, line: str) -> None:
    (tmp_path / "recording.flac").touch()
    assert complete(f"{line}{tmp_path}/rec") == {"recording.flac"}


def test_choices_are_offered(complete: Complete) -> None:
    assert complete("murmur batch first.wav --format ") == set(FORMATS)
    assert complete("murmur batch --dtype floa") == {"float32", "float16"}
    names = {entry.name for entry in load_catalog()}
    assert complete("murmur models pull whisper-tiny whisper-b") == {name for name in names if "whisper-b" in name}


# --- the files by themselves


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(("bash", "-n", "murmur.bash"), id="bash", marks=pytest.mark.program("bash")),
        pytest.param(
            ("fish", "--no-config", "--no-execute", "murmur.fish"), id="fish", marks=pytest.mark.program("fish")
        ),
        pytest.param(("zsh", "-f", "-n", "_murmur"), id="zsh", marks=pytest.mark.program("zsh")),
    ],
)
def test_the_shell_can_read_it(check: tuple[str, ...]) -> None:
    *command, name = check
    assert _output(*command, COMPLETIONS / name) == ""


@pytest.mark.program("zsh")
def test_zsh_registers_it(tmp_path: Path) -> None:
    assert (COMPLETIONS / "_murmur").read_text().startswith("#compdef murmur\n")
    script = "fpath=($1 $fpath); autoload -Uz compinit; compinit -D -u; print -r -- $_comps[murmur]"
    assert _output("zsh", "-f", "-c", script, "zsh", COMPLETIONS, env={"HOME": str(tmp_path)}) == "_murmur\n"


@pytest.mark.program("bash")
def test_bash_gets_no_function_that_another_program_might_have() -> None:
    script = 'source "$1"; compgen -A function'
    functions = _output("bash", "--norc", "-c", script, "bash", COMPLETIONS / "murmur.bash").split()
    assert functions
    assert [name for name in functions if "murmur" not in name] == []


# --- man pages


def _render(page: Path) -> str:
    plain = {"LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANROFFSEQ": "", "MAN_KEEP_FORMATTING": ""}
    raw = _output("man", "--warnings", "-l", page, env=plain)
    return re.sub(r".\x08", "", raw)


@pytest.mark.program("man")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_man_renders_without_warnings(page: Path) -> None:
    text = _render(page)
    assert re.search(rf"^ +{page.stem} +- +\w", text, re.MULTILINE), "the line that apropos reads"
    told = re.findall(r"^ +(\d+) {2,}\w", text, re.MULTILINE)
    assert told == [str(code.value) for code in ExitCode]


@pytest.mark.program("man")
@pytest.mark.parametrize("path", COMMANDS)
def test_man_names_every_option_of_the_help(path: str, run_murmur: Callable[..., object]) -> None:
    said = run_murmur(*path.split()[1:], "--help").stdout.decode()
    in_help = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", said))
    assert _long_options(COMMANDS[path]) <= in_help
    page = ROOT / "man" / f"{'-'.join(path.split()[:2])}.1"
    in_page = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", _render(page)))
    assert in_help <= in_page


def test_every_page_is_of_a_command() -> None:
    expected = {"murmur.1", *(f"{'-'.join(path.split())}.1" for path in COMMANDS if path.count(" ") == 1)}
    assert {page.name for page in PAGES} == expected
