#!/usr/bin/env python3
"""How long a step of a VibeVoice takes on a GPU: murmur's slots, transformers' generate(), and what memory allows.

The model has the shape of the published 7B and random weights, made on the GPU; no checkpoint is needed. gpu.sh runs
this on a machine without network.

Examples: python benchmarks/gpu_steps.py · python benchmarks/gpu_steps.py --batch-sizes 8 --runs 1 --json steps.json ·
python benchmarks/gpu_steps.py --shape tiny
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_messages import shorten
from report import ROOT, describe_run, format_report, write_report

sys.path.insert(1, str(ROOT))  # murmur is this checkout's, installed or not

from murmur_cli.errors import DeviceError, MurmurError

if TYPE_CHECKING:
    import torch

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    args = _parse(arguments)
    deadline = time.monotonic() + args.seconds
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        _check_torch()
        n_failed = _run(args, deadline)
    except (ImportError, MurmurError) as error:
        raise SystemExit(f"gpu_steps.py: {shorten(error)}") from error
    except RuntimeError as error:  # what torch raises, of its kernels and of CUDA
        raise SystemExit(f"gpu_steps.py: {shorten(error)}{_keep_traceback(args.json)}") from error
    if n_failed:
        raise SystemExit(f"gpu_steps.py: {n_failed} runs failed; the lines below the table say why")


def _run(args: argparse.Namespace, deadline: float) -> int:
    """Measure and report; returns how many runs failed."""
    import torch  # noqa: PLC0415 - only now is it known that it is there, and recent enough
    from gpu_contestants import describe_device  # noqa: PLC0415
    from gpu_model import SHAPES  # noqa: PLC0415
    from gpu_rounds import examine, measure, plan  # noqa: PLC0415
    from gpu_table import make_details, make_report  # noqa: PLC0415

    device = _choose_device(args.device or ("auto" if args.shape == "tiny" else "cuda"))
    torch.set_num_threads(1)  # of the CPU: more are no help, and waiting ones take time
    about = describe_run({"device": describe_device(device)})  # before the benchmark itself is a load
    if about["commit"].startswith("none") and args.commit:
        about["commit"] = args.commit
    shape = SHAPES[args.shape]
    plans = plan(shape, args.batch_sizes or shape.batch_sizes, device)
    bench, costs = examine(shape, device)
    measurements = list(measure(bench, list(plans.plans), n_runs=args.runs, deadline=deadline))
    report = make_report(about, bench, costs=costs, plans=plans, measurements=measurements)
    print(format_report(report))
    if args.json:
        write_report(args.json, report, make_details(costs, plans, measurements))
    return sum(bool(one.failure) for one in measurements)


def _choose_device(name: str) -> torch.device:
    import torch  # noqa: PLC0415

    from murmur_cli.models.device import choose_device  # noqa: PLC0415

    if name.startswith("cuda") and not torch.cuda.is_available():
        problem = f"there is no CUDA device that torch {torch.__version__} can use"
        raise DeviceError(problem, hint="--shape tiny runs on a CPU, too")
    return choose_device(name)


def _check_torch() -> None:
    """Refuse a torch that is older than transformers wants.

    Raises:
        ImportError: It is, or a package is missing.
    """
    import torch  # noqa: PLC0415
    import transformers  # noqa: PLC0415
    from packaging.requirements import Requirement  # noqa: PLC0415
    from transformers.dependency_versions_table import deps  # noqa: PLC0415

    needed = Requirement(deps["torch"])
    if not needed.specifier.contains(torch.__version__, prereleases=True):
        raise ImportError(
            f"torch {torch.__version__} is too old: transformers {transformers.__version__} needs {needed}"
        )


def _keep_traceback(json_path: Path | None) -> str:
    """Write down where an error came from, beside the report that there will not be."""
    if json_path is None:
        return ""
    path = json_path.with_suffix(".log")
    path.write_text(traceback.format_exc(), encoding="utf-8")
    return f" (traceback: {path})"


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=("7b", "tiny"), default="7b", help="of the model (default: %(default)s)")
    parser.add_argument("--device", help="cuda, cuda:N, cpu or auto (default: cuda; tiny: auto)")
    parser.add_argument("--batch-sizes", nargs="+", type=int, metavar="B", help="(default: 1 8 32; tiny: 1 3)")
    parser.add_argument("--runs", type=int, default=3, help="of each contestant (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=360.0, help="begin no round that would end later"
                        " (default: %(default)s)")  # fmt: skip
    parser.add_argument("--commit", metavar="TEXT", help="what the report names where git knows no commit")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report and every run there")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
