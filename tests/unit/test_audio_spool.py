"""Samples that lie on disk."""

from __future__ import annotations

import resource
import tempfile
from pathlib import Path

import numpy as np
import pytest

from murmur_cli.audio.spool import Spool
from murmur_cli.errors import OutputError

SAMPLES = np.linspace(-1, 1, 1000, dtype=np.float32)


def sealed(*blocks: np.ndarray) -> Spool:
    spool = Spool()
    for block in blocks:
        spool.append(block)
    spool.seal()
    return spool


def test_what_is_appended_is_read() -> None:
    with sealed(SAMPLES[:300], SAMPLES[300:300], SAMPLES[300:]) as spool:
        assert spool.n_samples == 1000
        assert np.array_equal(spool.read(0, 1000), SAMPLES)
        assert np.array_equal(spool.read(299, 301), SAMPLES[299:301])
        assert spool.read(1000, 1000).shape == (0,)


def test_every_layout_of_an_array_is_written_in_order() -> None:
    with sealed(SAMPLES[::2], SAMPLES[::-1]) as spool:
        assert np.array_equal(spool.read(0, 1500), np.concatenate([SAMPLES[::2], SAMPLES[::-1]]))


def test_an_empty_spool_can_be_read() -> None:
    with sealed() as spool:
        assert spool.read(0, 0).shape == (0,)


@pytest.mark.parametrize(("start", "end"), [(-1, 5), (5, 4), (0, 1001), (1001, 1001)])
def test_what_lies_outside_is_refused(start: int, end: int) -> None:
    with sealed(SAMPLES) as spool, pytest.raises(ValueError, match="not inside"):
        spool.read(start, end)


def test_reading_gives_views_of_the_file_that_outlive_it() -> None:
    spool = sealed(SAMPLES)
    first, second = spool.read(0, 1000), spool.read(0, 1000)
    assert np.shares_memory(first, second)
    assert first.flags.writeable  # or torch.from_numpy would warn
    spool.close()
    assert np.array_equal(first, SAMPLES)
    with pytest.raises(ValueError, match="closed"):
        spool.read(0, 1)


def test_rescaling_changes_every_sample() -> None:
    long = np.tile(SAMPLES, 2500)  # longer than the block in which it is done
    with sealed(long) as spool:
        spool.rescale(offset=0.25, gain=0.5)
        assert np.allclose(spool.read(0, len(long)), (long - 0.25) * 0.5, atol=1e-7)


def test_the_file_has_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with sealed(SAMPLES):
        assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_an_error_that_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Spool() as spool:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2500, limits[1]))  # bytes: the second half does not fit
        try:
            spool.append(SAMPLES[:500])
            with pytest.raises(OutputError) as caught:
                spool.append(SAMPLES[500:])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.where == str(tmp_path)
    assert "TMPDIR" in str(caught.value)


def test_no_temporary_folder_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(OutputError, match="TMPDIR"):
        Spool()
