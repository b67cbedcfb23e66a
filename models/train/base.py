#!/usr/bin/env python3
"""Gets the float all-MiniLM-L6-v2 that training starts from: `python base.py --out DIR`. Sums are checked."""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "export"))
import export_minilm as E  # noqa: E402


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--out", type=pathlib.Path, required=True)
    args = ap.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    E.fetch(args.out)
    for wheel in args.out.glob("*.whl"):
        wheel.unlink()


if __name__ == "__main__":
    main()
