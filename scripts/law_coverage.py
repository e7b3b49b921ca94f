"""Reads the coverage data of the last run and fails when a law module has less than 95% of its branches and lines covered.

python -m scripts.law_coverage
"""

from __future__ import annotations

import subprocess
import sys

from scripts.law_modules import ROOT, law_files

LEAST_PERCENT = 95


def main() -> int:
    files = law_files()
    short = [path.relative_to(ROOT) for path in files if not _is_covered(str(path.relative_to(ROOT)))]
    for path in short:
        print(f"less than {LEAST_PERCENT}% covered: {path}")
    print(f"{len(files) - len(short)} of {len(files)} law modules are covered to {LEAST_PERCENT}%.")
    return 1 if short else 0


def _is_covered(file: str) -> bool:
    command = [sys.executable, "-m", "coverage", "report", f"--include={file}", f"--fail-under={LEAST_PERCENT}"]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
