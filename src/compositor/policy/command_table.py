"""Tables of commands whose effect the client knows, with every flag that may be used (a declared table).

Decides nothing by itself; `commands` reads it. A flag is listed only when it can neither write, nor run another program, nor
reach the network, nor wait for ever.
"""

from __future__ import annotations

import enum

from msgspec import Struct


class Operands(enum.Enum):
    """What the words that are no flags mean."""

    NONE = "none"
    TEXT = "text"
    FORMAT = "format"
    PATHS = "paths"
    """Paths, or words that another system's edition of the program may take for paths: all are judged as such."""
    REVISIONS = "revisions"
    """Names of commits, `commit:path`, or paths."""


class CommandRow(Struct, frozen=True, kw_only=True):
    """What may stand in one command, and where.

    `flags` take no value or, long ones, one behind `=`. `values` always take one. `joined` short flags may hold one in the
    same word, so that the next word is an operand.

    `counts`: `-5` is a flag. `searches`: without a path it works on the current directory. `needs`: operands are harmless
    only beside one of these flags. `least` and `most` count operands.
    """

    operands: Operands
    flags: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    joined: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    counts: bool = False
    searches: bool = False
    least: int = 0
    most: int | None = None


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GREP_FLAGS = _set(
    "-E -F -G -P -i -y -v -w -x -c -l -L -o -q -s -b -H -h -n -T -Z -a -I -r -R -U -z --extended-regexp --fixed-strings "
    "--basic-regexp --perl-regexp --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count --color "
    "--colour --files-with-matches --files-without-match --only-matching --quiet --silent --no-messages --byte-offset "
    "--with-filename --no-filename --line-number --initial-tab --null --text --recursive --line-buffered"
)
_GREP = CommandRow(
    operands=Operands.PATHS,
    flags=_GREP_FLAGS - {"-R"},
    values=_set(
        "-e -f -A -B -C -m -d -D --regexp --file --after-context --before-context --context --max-count --include --exclude "
        "--exclude-dir --exclude-from --label --binary-files --directories --devices"
    ),
    counts=True,
    searches=True,
)
_RG = CommandRow(
    operands=Operands.PATHS,
    flags=_set(
        "-i -s -S -v -w -x -c -l -o -q -n -N -H -I -F -U -P -a -p -u -0 --ignore-case --case-sensitive --smart-case "
        "--invert-match --word-regexp --line-regexp --count --count-matches --files-with-matches --files-without-match "
        "--only-matching --quiet --line-number --no-line-number --with-filename --no-filename --fixed-strings --multiline "
        "--multiline-dotall --pcre2 --text --pretty --hidden --no-ignore --no-ignore-vcs --no-heading --heading --column "
        "--no-column --json --stats --trim --null --vimgrep --no-messages --no-config --type-list --crlf"
    ),
    values=_set(
        "-e -f -A -B -C -m -g -t -T -d -M -E -r -j --file --ignore-file --regexp --after-context --before-context --context --max-count --glob "
        "--iglob --type --type-not --max-depth --max-columns --encoding --replace --threads --sort --sortr --color --colors "
        "--max-filesize --context-separator --path-separator"
    ),
    searches=True,
)
_LOG_FLAGS = _set(
    "-p -u -s -z -q -r -t -w -b -a --patch --no-patch --stat --shortstat --numstat --summary --name-only --name-status "
    "--oneline --graph --all --branches --tags --remotes --decorate --no-decorate --abbrev-commit --no-abbrev-commit "
    "--merges --no-merges --first-parent --reverse --follow --date-order --topo-order --author-date-order --full-history "
    "--no-color --color --raw --cached --staged --check --quiet --exit-code --ignore-all-space --ignore-space-change "
    "--ignore-blank-lines --ignore-space-at-eol --word-diff --color-words --no-renames --find-renames --no-ext-diff "
    "--no-textconv --full-index --patch-with-stat --compact-summary --minimal --patience --histogram --relative "
    "--no-prefix --function-context --text --merge-base --cherry-pick --left-right --no-notes --parents --children "
    "--walk-reflogs -g --left-only --right-only --source --no-walk --date --pretty --format --abbrev "
    "--diff-algorithm --dirstat --unified --ignore-submodules --submodule --diff-filter --since --until --after --before "
    "--author --committer --grep --max-count --skip"
)
_LOG = CommandRow(
    operands=Operands.REVISIONS, flags=_LOG_FLAGS, joined=_set("-n -U -G -S -L -M -C"), counts=True, searches=True
)


def _plain(flags: str = "", operands: Operands = Operands.PATHS, **more: str | int | bool) -> CommandRow:
    sets = {key: _set(value) for key, value in more.items() if isinstance(value, str)}
    rest = {key: value for key, value in more.items() if not isinstance(value, str)}
    return CommandRow(operands=operands, flags=_set(flags), **sets, **rest)  # type: ignore[arg-type]


READS: dict[tuple[str, ...], CommandRow] = {
    ("basename",): _plain("-a -z", Operands.TEXT, values="-s"),
    ("cat",): _plain("-A -b -E -e -n -s -T -t -u -v --number --number-nonblank --show-all --show-ends --squeeze-blank"),
    # It moves the session, inside its directories only, and rules do not move with it.
    ("cd",): _plain("-L -P", most=1),
    ("cmp",): _plain("-b -l -s --silent --quiet --verbose", values="-n -i --bytes", most=2),
    ("comm",): _plain("-1 -2 -3 -i", most=2),
    ("cut",): _plain(
        "-s -z --complement --only-delimited", values="-b -c -d -f --bytes --characters --delimiter --fields"
    ),
    ("command",): _plain("-v -V", Operands.TEXT),
    ("date",): _plain("-u --utc -R --rfc-email", Operands.FORMAT),
    ("df",): _plain("-h -H -T -k -i -l"),
    ("diff",): _plain(
        "-u -c -q -s -N -w -b -B -i -E -a -y -e -n -d -t -T -p --unified --context --brief --new-file "
        "--ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-case --text --side-by-side --color "
        "--report-identical-files --minimal --no-dereference --strip-trailing-cr --suppress-common-lines",
        values="-U -C -W -x -I -F --exclude --width --label -L",
        least=2,
        most=2,
    ),
    ("dirname",): _plain("-z", Operands.TEXT),
    ("du",): _plain(
        "-a -b -c -h -H -k -m -s -S -x -0 --all --apparent-size --bytes --total --human-readable --summarize "
        "--one-file-system --si",
        values="-d --max-depth -t --threshold --exclude",
        searches=True,
    ),
    ("echo",): _plain("-n -e -E", Operands.TEXT),
    ("egrep",): _GREP,
    ("false",): _plain("", Operands.TEXT),
    ("fgrep",): _GREP,
    ("file",): _plain("-b -h -i -k -N -n -p -r -0 --brief --mime --mime-type --mime-encoding --no-dereference"),
    ("git", "blame"): _plain(
        "-w -s -e -l -t -c -f -n --show-email --porcelain --line-porcelain", Operands.REVISIONS, values="-L"
    ),
    ("git", "branch"): _plain(
        "-a -r -v -vv -l --list --all --remotes --verbose --show-current --no-color --ignore-case",
        Operands.TEXT,
        values="--sort --contains --no-contains --merged --no-merged --points-at --format",
        needs="--list",
    ),
    ("git", "cat-file"): _plain("-p -t -s -e", Operands.REVISIONS),
    ("git", "describe"): _plain(
        "--all --tags --long --always --dirty --exact-match --first-parent", Operands.TEXT, values="--match --exclude"
    ),
    ("git", "diff"): _LOG,
    ("git", "diff-tree"): _LOG,
    ("git", "log"): _LOG,
    ("git", "ls-files"): _plain(
        "-c -d -o -i -s -u -k -m -z -t -v --cached --deleted --others --ignored --stage --unmerged --modified "
        "--exclude-standard --full-name --error-unmatch --directory",
        values="-x --exclude",
    ),
    ("git", "ls-tree"): _plain(
        "-d -r -t -l -z --name-only --name-status --long --full-name --full-tree", Operands.REVISIONS
    ),
    ("git", "merge-base"): _plain("-a --all --is-ancestor --octopus --independent --fork-point", Operands.TEXT),
    ("git", "reflog"): _plain("", Operands.NONE, counts=True, values="-n"),
    ("git", "reflog", "show"): _LOG,
    ("git", "remote"): _plain("-v --verbose", Operands.NONE),
    ("git", "remote", "get-url"): _plain("--push --all", Operands.TEXT),
    ("git", "rev-list"): CommandRow(
        operands=Operands.REVISIONS, flags=_LOG_FLAGS | {"--count", "--objects"}, joined=_set("-n"), counts=True
    ),
    ("git", "rev-parse"): _plain(
        "--verify --short --abbrev-ref --symbolic-full-name --show-toplevel --show-prefix --show-cdup --git-dir "
        "--git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --absolute-git-dir --quiet -q "
        "--is-shallow-repository --branches --tags --all",
        Operands.TEXT,
    ),
    ("git", "shortlog"): _plain("-n -s -e -c --numbered --summary --email", Operands.REVISIONS, least=1),
    ("git", "show"): _LOG,
    ("git", "show-ref"): _plain("--head --heads --tags --hash --verify -d -s -q --quiet", Operands.TEXT),
    ("git", "stash", "list"): _plain("", Operands.NONE, counts=True),
    ("git", "stash", "show"): _plain("-p --stat --name-only --name-status --patch", Operands.TEXT),
    ("git", "status"): _plain(
        "-s -b -v -z -u --short --branch --porcelain --long --verbose --show-stash --ahead-behind --no-ahead-behind "
        "--untracked-files --ignored --ignore-submodules --no-renames --renames"
    ),
    ("git", "tag"): _plain(
        "-l --list --no-color -i --ignore-case",
        Operands.TEXT,
        values="--sort --contains --no-contains --merged --no-merged --points-at --format",
        needs="-l --list",
    ),
    ("git", "worktree", "list"): _plain("-v --verbose --porcelain -z", Operands.NONE),
    ("grep",): _GREP,
    ("head",): _plain("-q -v -z --quiet --verbose", values="-c -n --bytes --lines", counts=True),
    ("id",): _plain("-a -g -G -n -r -u", Operands.TEXT),
    ("ls",): _plain(
        "-a -A -b -B -c -C -d -f -F -g -G -h -H -i -k -l -L -m -n -N -o -p -q -Q -r -R -s -S -t -u -U -v -x -X -Z -1 --all "
        "--almost-all --author --escape --color --directory --classify --file-type --full-time --group-directories-first "
        "--no-group --human-readable --si --inode --literal --reverse --recursive --size --time-style --sort --format --time",
        values="--ignore --hide",
        searches=True,
    ),
    ("md5sum",): _plain("-b -t -z --binary --text --tag"),
    ("nl",): _plain("-p", values="-b -d -f -h -i -l -n -s -v -w"),
    ("nproc",): _plain("--all", Operands.NONE),
    ("od",): _plain("-a -b -c -d -f -i -l -o -s -v -x", values="-A -j -N -t"),
    ("paste",): _plain("-s -z", values="-d"),
    ("pwd",): _plain("-L -P", Operands.NONE),
    ("readlink",): _plain("-f -e -m -n -z"),
    ("realpath",): _plain("-e -m -s -z -q", values="--relative-to --relative-base"),
    ("rev",): _plain(""),
    ("rg",): _RG,
    ("seq",): _plain("-w", Operands.TEXT, values="-f -s", counts=True),
    ("sha1sum",): _plain("-b -t -z --binary --text --tag"),
    ("sha256sum",): _plain("-b -t -z --binary --text --tag"),
    ("sort",): _plain(
        "-b -d -f -g -i -h -M -n -R -r -V -c -C -m -s -u -z --numeric-sort --reverse --unique --version-sort --stable "
        "--ignore-case --human-numeric-sort",
        values="-k -t --key --field-separator",
    ),
    ("stat",): _plain("-L -f -t --dereference --file-system --terse", values="-c --format --printf"),
    ("tac",): _plain("-b -r", values="-s"),
    ("tail",): _plain("-q -v -z --quiet --verbose", values="-c -n --bytes --lines", counts=True),
    ("test",): _plain("-e -f -d -r -w -x -s -L -h -n -z -p -S", Operands.PATHS, most=1),
    ("tr",): _plain("-c -C -d -s -t --complement --delete --squeeze-repeats", Operands.TEXT),
    ("tree",): _plain(
        "-a -d -f -i -q -N -p -s -h -D -F -r -t -v -C -n --dirsfirst --gitignore --noreport --du --prune",
        values="-L -P -I --filelimit",
        searches=True,
    ),
    ("true",): _plain("", Operands.TEXT),
    ("type",): _plain("-a -p -P -t", Operands.TEXT),
    ("uname",): _plain("-a -s -n -r -v -m -p -i -o", Operands.NONE),
    ("uniq",): _plain("-c -d -D -i -u -z --count --repeated --unique --ignore-case", values="-f -s -w", most=1),
    ("wc",): _plain("-c -m -l -L -w --bytes --chars --lines --words --max-line-length"),
    ("which",): _plain("-a", Operands.TEXT),
    ("whoami",): _plain("", Operands.NONE),
}

# What `acceptEdits` frees beside the editing tools. Recursive copies are left out: they can carry a protected folder along.
EDITS: dict[tuple[str, ...], CommandRow] = {
    ("cp",): _plain("-f -i -n -p -u -v --force --no-clobber --update --verbose", least=2),
    ("mkdir",): _plain("-p -v --parents --verbose", least=1),
    ("mv",): _plain("-f -i -n -u -v --force --no-clobber --update --verbose", least=2),
    ("rm",): _plain("-f -i -v -d --force --verbose --dir", least=1),
    ("rmdir",): _plain("-p -v --parents --verbose", least=1),
    ("touch",): _plain("-a -c -m --no-create", values="-d -t -r --date --reference", least=1),
}

# Tests and actions of `find` that only look, with the number of words each takes.
FIND_TESTS: dict[str, int] = {
    "!": 0, "(": 0, ")": 0, ",": 0, "-a": 0, "-and": 0, "-depth": 0, "-empty": 0, "-executable": 0, "-false": 0, "-ls": 0,
    "-mount": 0, "-noleaf": 0, "-not": 0, "-o": 0, "-or": 0, "-print": 0, "-print0": 0, "-prune": 0, "-quit": 0,
    "-readable": 0, "-true": 0, "-writable": 0, "-xdev": 0,
    "-amin": 1, "-atime": 1, "-cmin": 1, "-ctime": 1, "-group": 1, "-iname": 1, "-inum": 1, "-ipath": 1, "-iregex": 1,
    "-links": 1, "-maxdepth": 1, "-mindepth": 1, "-mmin": 1, "-mtime": 1, "-name": 1, "-newer": 1, "-path": 1, "-perm": 1,
    "-printf": 1, "-regex": 1, "-regextype": 1, "-samefile": 1, "-size": 1, "-type": 1, "-user": 1, "-wholename": 1,
}  # fmt: skip

# What the mode `auto` runs beside reading and editing: commands that build, check or test the project. They run the project's own code.
BUILDS: tuple[tuple[str, ...], ...] = tuple(
    tuple(line.split())
    for line in (
        "cargo build", "cargo check", "cargo clippy", "cargo fmt", "cargo test", "eslint", "go build", "go test", "go vet", "gofmt",
        "make", "mypy", "node --test", "npm run build", "npm run lint", "npm run test", "npm test", "npx eslint", "npx jest",
        "npx prettier", "npx tsc", "npx vitest", "pnpm test", "prettier", "pytest", "python -m mypy", "python -m pytest",
        "python -m unittest", "python3 -m mypy", "python3 -m pytest", "python3 -m unittest", "ruff", "tsc", "tox", "yarn test",
    )
)  # fmt: skip
