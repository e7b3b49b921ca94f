"""Breaks law modules one small thing at a time and says which faults no test noticed. Run by hand: it takes its time.

Each mutant stands in a copy of the source tree; the working tree is never written to. A mutant is caught when the module's
tests fail on it or do not end. What survives is printed; read it and write the missing test, or see that the change changes
nothing.

    python -m scripts.mutate [MODULE ...] [--limit N]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from scripts.law_modules import PACKAGE, ROOT, law_files, noticing_tests
from scripts.mutants import Mutant, mutants_of

WORKERS = min(os.cpu_count() or 1, 8)
# A mutant may loop for ever; a run this many times as long as the unbroken one counts as noticed.
PATIENCE = 4
START_SECONDS = 10


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.mutate", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("modules", nargs="*", type=Path, help="files to break (all law modules when none is given)")
    parser.add_argument("--limit", type=int, default=0, help="try at most this many mutants a module, evenly spread")
    options = parser.parse_args(arguments)
    files = [path.resolve() for path in options.modules] or law_files()
    if not files:
        print("There is no law module yet.")
        return 1
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(WORKERS):
            tree = Path(folder) / str(number)
            shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__"))
            trees.put(tree)
        survivors = sum(_try_module(path, trees, limit=options.limit) for path in files)
    print(f"{survivors} faults were not noticed.")
    return 1 if survivors else 0


def _try_module(module: Path, trees: SimpleQueue[Path], *, limit: int) -> int:
    """Prints what survives; returns how many did."""
    shown = module.relative_to(ROOT)
    tests = noticing_tests(module)
    tree = trees.get()
    began = time.monotonic()
    unbroken = _tests_pass(tree, tests, seconds=3600)
    seconds = PATIENCE * (time.monotonic() - began) + START_SECONDS
    trees.put(tree)
    if not unbroken:
        print(f"{shown}: its tests fail without any mutant; nothing can be learned.")
        return 1
    mutants = _spread(list(mutants_of(module.read_text(encoding="utf-8"))), limit)

    def is_caught(mutant: Mutant) -> bool:
        return not _survives(mutant, module, trees, tests, seconds=seconds)

    with ThreadPoolExecutor(WORKERS) as pool:
        caught = list(pool.map(is_caught, mutants))
    for mutant, was_caught in zip(mutants, caught, strict=True):
        if not was_caught:
            print(f"{shown}:{mutant.line}: {mutant.what}")
    print(f"{shown}: {sum(caught)} of {len(mutants)} mutants noticed", flush=True)
    return caught.count(False)


def _survives(mutant: Mutant, module: Path, trees: SimpleQueue[Path], tests: list[Path], *, seconds: float) -> bool:
    tree = trees.get()
    target = tree / "src" / "compositor" / module.relative_to(PACKAGE)
    original = target.read_text(encoding="utf-8")
    try:
        target.write_text(mutant.source, encoding="utf-8")
        return _tests_pass(tree, tests, seconds=seconds)
    finally:
        target.write_text(original, encoding="utf-8")
        trees.put(tree)


def _tests_pass(tree: Path, tests: list[Path], *, seconds: float) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["-o", f"pythonpath={tree / 'src'} {ROOT}", *map(str, tests)]
    # Bytecode is keyed by size and second of writing: two mutants can share both, so none is kept.
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _spread(mutants: list[Mutant], limit: int) -> list[Mutant]:
    if not 0 < limit < len(mutants):
        return mutants
    return [mutants[at * len(mutants) // limit] for at in range(limit)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
