"""Where names lead, each folder looked at once: ten thousand files of one folder cost little on a network disk too."""

from __future__ import annotations

import os

__all__ = ["Places"]


class Places:
    """Tells under which names files are the same; what the disk held when it was first asked counts."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}

    def find(self, path: str | os.PathLike[str]) -> str:
        """Give what ``os.path.realpath`` gives."""
        folder, name = os.path.split(os.fspath(path))
        if name in ("", ".", "..") or os.path.islink(path):  # noqa: PTH114 - this is about text, not paths
            return os.path.realpath(path)
        return os.path.join(self.find_folder(folder), name)  # noqa: PTH118 - as above

    def find_folder(self, folder: str) -> str:
        """Give what ``os.path.realpath`` gives for a folder; an empty name is the current one."""
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        return self._folders[folder]
