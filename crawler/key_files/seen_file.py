"""The file of keys seen before: lock it for one job, look keys up, and extend it at the end."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from canonry.canon import Policy, RuleSet, columns
from canonry.canon.policies import preset, released, versioned_name
from canonry.crawler.key_files import key_writer
from canonry.crawler.key_files.key_file import KeyFile, KeyHeader, KeyState, opened_keys
from canonry.crawler.key_files.published_keys import is_published, opened_at, opened_publication
from canonry.crawler.key_files.sorted_keys import Keys, as_keys
from canonry.crawler.named_policies import DEFAULT_POLICY, find_policy
from canonry.crawler.settings import SettingsError

_HELD = 24  # bytes for each key in memory
_NEVER = 1 << 62  # bytes


class SeenFile:
    """The keys of a locked file, and a way to add more. Only one process can have it."""

    def __init__(
        self,
        path: str,
        header: KeyHeader,
        known: KeyFile | None,
        new: IO[bytes] | None = None,
    ) -> None:
        """Use a locked file, or published keys.

        Args:
            path: its name.
            header: of its policy.
            known: the file; None if it does not exist yet.
            new: the temporary file that `key_writer.locked` has yielded; None: it is only read.
        """
        self.path = path
        self.state = KeyState(generation=-1) if known is None else known.state
        self._header = header
        self._known = known
        self._new = new

    @property
    def is_extended(self) -> bool:
        """Return True if it gets the keys of the job; published keys are only read."""
        return self._new is not None

    @property
    def pages(self) -> int:
        """Return how many pages there are to read."""
        return 0 if self._known is None else self._known.pages

    @property
    def held(self) -> int:
        """Return how many bytes of memory all keys take; published ones are never held."""
        return _HELD * self.state.keys if self.is_extended else _NEVER

    def hold(self) -> None:
        """Read all keys into memory, where they are looked up faster."""
        if self._known is not None:
            self._known.hold()

    def among(self, wanted: Keys) -> npt.NDArray[np.bool_]:
        """Return for each of some keys whether it was seen before."""
        if self._known is None:
            return np.zeros(len(wanted), np.bool_)
        return self._known.among(wanted)

    def knows(self, job: str) -> bool:
        """Return True if it tells the keys of a job, one of the last ones, from the others."""
        return job != "" and any(part.job == job for part in self.state.parts)

    def rewind(self, job: str) -> None:
        """Answer as before a known job has added its keys; the file stays as it is."""
        if self._known is not None:
            parts = self.state.parts
            place = [part.job for part in parts].index(job)
            self.state = self._known.state = KeyState(self.state.generation, parts[:place])

    def extend(self, fresh: Path, job: str) -> KeyState:
        """Add keys to the file atomically. This object cannot be used after that.

        Args:
            fresh: a file of sorted keys without a header, none of which was seen.
            job: what adds them; "" if it cannot be repeated.
        """
        if self._new is None:
            raise ValueError("published keys are only read")
        if self._known is None or fresh.stat().st_size:
            chunks = key_writer.keys_in(fresh)
            self.state = key_writer.extend(
                self._new, self.path, self._header, self._known, chunks, job
            )
        return self.state


@contextmanager
def extending(path: str, policy: Policy) -> Iterator[SeenFile]:
    """Lock a file of keys for a job; it need not exist.

    Raises:
        SettingsError: it has the keys of another policy, or another process has locked it.
        KeyFileError: it is no file of keys, or a damaged one.
    """
    real = os.path.realpath(path)
    with ExitStack() as stack:
        new = stack.enter_context(key_writer.locked(real))
        header = KeyHeader(policy.label, policy.fingerprint)
        known = stack.enter_context(opened_keys(path)) if Path(path).exists() else None
        if known is not None:
            check_header(known, header)
        yield SeenFile(real, header, known, new)


@contextmanager
def published(name: str, policy: Policy) -> Iterator[SeenFile]:
    """Open published keys for a job, which only reads them.

    Raises:
        SettingsError: they are of another policy.
        OSError: they cannot be read.
    """
    header = KeyHeader(policy.label, policy.fingerprint)
    with opened_publication(name) as known:
        check_header(known, header)
        yield SeenFile(name, header, known)


def is_seen(
    urls: object, where: str, *, policy: str | Policy = "web", rules: RuleSet | None = None
) -> npt.NDArray[np.bool_]:
    """Return for each URL of a column whether its key is among published keys.

    Args:
        urls: as for `canonry.columns.canonicalize`: a list, an array, a column of a frame.
        where: a folder of published keys, or its URL.
        policy: that of the keys: a preset, or a policy.
        rules: learned ones, if the keys were made under these.

    Returns:
        One truth value for each; False for what is no URL.

    Raises:
        ValueError: the keys are of another policy.
        OSError: they cannot be read, or are damaged.
    """
    asked = preset(policy) if isinstance(policy, str) else policy
    made: Any = columns.canonicalize(urls, policy=asked, rules=rules, columns=("key",))
    keys = made.key if isinstance(made, columns.Columns) else made["key"].to_pylist()
    is_url = np.array([key is not None for key in keys], np.bool_)
    known = as_keys(b"".join(key for key in keys if key is not None))
    with opened_publication(where) as file:
        check_header(file, KeyHeader(asked.label, asked.fingerprint))
        is_url[is_url] = file.among(known)
    return is_url


def check_header(file: KeyFile, wanted: KeyHeader) -> None:
    """Refuse a file whose keys were made under a different policy.

    Raises:
        SettingsError: saying what to do.
    """
    has = file.header
    made_by = versioned_name(has.policy)
    if has.policy != wanted.policy:
        raise SettingsError(
            f"{file.name}: its keys are of policy {made_by}, not "
            f"{versioned_name(wanted.policy)}, and cannot be converted; "
            f"give {_option(has.policy)}, or another file"
        )
    if has.fingerprint != wanted.fingerprint:
        raise SettingsError(
            f"{file.name}: policy {made_by} has changed since its keys were made, but not its "
            "version; undo the change, or give the policy a new version and use another file"
        )


def policy_of_keys(path: str, policy: str | None) -> Policy:
    """Return the policy of a file of keys, or that of a new one.

    Args:
        path: of the file, which need not exist.
        policy: a preset, or a TOML file. A preset without a version means that of the file.

    Raises:
        SettingsError: its keys are of another policy.
    """
    if not is_published(path) and not Path(path).exists():
        return find_policy(policy or DEFAULT_POLICY)
    with opened_at(path) as file:
        made = file.header.policy
        name, _, version = made.partition("/")
        is_preset = name in released() and version in map(str, released()[name])
        if policy is None and not is_preset:
            raise SettingsError(
                f"{path}: its keys are of policy {versioned_name(made)}; give its file: --policy"
            )
        asked = f"{name}@{version}" if is_preset and policy in {None, name} else policy
        found = find_policy(asked or DEFAULT_POLICY)
        check_header(file, KeyHeader(found.label, found.fingerprint))
    return found


def _option(label: str) -> str:
    """Return the option that names a policy."""
    name = versioned_name(label)
    is_preset = label.partition("/")[0] in released()
    return f"--policy {name}" if is_preset else f"--policy with that of {name}"
